package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/twmb/franz-go/pkg/kgo"
)

const power = `(id) => at("broker-" + id)?.dataset.power`

// powered is an expression: a broker's box shows a state.
func powered(id int, state string) string {
	return fmt.Sprintf(`(%s)(%d) === %q`, power, id, state)
}

func TestPageShowsThreeBrokersAlive(t *testing.T) {
	v := open(t)
	v.wait(`[1, 2, 3].every((id) => (` + power + `)(id) === "up")`)
	v.wait(`text("vital-brokers-up").endsWith("3 of 3")`)
	v.wait(`[101, 102, 103].filter(
		(id) => text("controller-state-" + id) === "active").length === 1`)
	v.wait(`at("event-list").querySelectorAll("[data-kind=NodeStarted]").length >= 6`)
}

func TestPageKnowsWhatHappenedBeforeItOpened(t *testing.T) {
	v := open(t)
	v.topic("orders")
	v.command("send orders key=order-1 value=hello times=3")
	for range 2 { // a page that is loaded again has lost nothing
		v.wait(`highwater.first() === 0`)
		v.wait(`at("event-list").querySelector("[data-kind=TopicCreated]")`)
		seekTo(v, 1)
		v.checkFold("the first event")
		v.do(chromedp.Reload())
		v.wait(`globalThis.highwater?.status() === "open" && highwater.seq() > 0`)
	}
}

// seekTo moves the scrubber as a person with a keyboard or a mouse does.
func seekTo(v *visit, seq int) {
	v.t.Helper()
	evaluate[bool](v, fmt.Sprintf(`(at("seek").value = %d,
		at("seek").dispatchEvent(new Event("input", { bubbles: true })))`, seq))
}

func TestPageStateEqualsTheFoldWhereverOneLooks(t *testing.T) {
	v := open(t)
	v.topic("orders")
	v.command("send orders key=order-1 value=hello times=20")
	v.command("kill 3")
	v.wait(powered(3, "down"))
	v.command("restart 3")
	v.wait(powered(3, "up"))
	v.wait(`highwater.first() === 0 && highwater.gaps() === 0`)
	last := v.checkFold("live")
	before := last
	for i := range 12 {
		v.click("back")
		at := v.checkFold(fmt.Sprintf("back %d", i))
		if i > 0 && at >= before {
			t.Fatalf("a step back led from event %d to %d", before, at)
		}
		before = at
	}
	for i := range 6 {
		v.click("step")
		if at := v.checkFold(fmt.Sprintf("step %d", i)); at <= before {
			t.Fatalf("a step led from event %d to %d", before, at)
		} else {
			before = at
		}
	}
	for i := range 10 {
		seq := 1 + last*i/10
		seekTo(v, seq)
		if at := v.checkFold("seek"); at != seq {
			t.Errorf("the scrubber asked for event %d, the page shows %d", seq, at)
		}
	}
	v.click("live")
	v.wait(fmt.Sprintf(`at("live").getAttribute("aria-pressed") === "true" &&
		highwater.seq() > %d`, last))
	v.checkFold("live again")
}

func TestPageStateEqualsTheFoldAfterADropInAFlood(t *testing.T) {
	v := open(t)
	v.topic("orders")
	client := kafka(v, "flood")
	var flood sync.WaitGroup
	for i := range 20_000 {
		flood.Add(1)
		client.Produce(t.Context(), order(i), func(_ *kgo.Record, err error) {
			defer flood.Done()
			if err != nil {
				t.Error(err)
			}
		})
		if i%5000 == 2500 {
			evaluate[*int](v, `highwater.drop()`)
			v.wait(`highwater.status() !== "open"`)
		}
	}
	flood.Wait()
	v.wait(`highwater.status() === "open" && at("leo-orders-0-1")?.dataset.value === "20000"`)
	last := v.checkFold("live")
	first := evaluate[int](v, `highwater.first()`)
	for i := range 10 {
		seekTo(v, first+(last-first)*i/10)
		v.checkFold("seek")
		v.click("step")
		v.checkFold("step")
	}
}

func kafka(v *visit, name string, options ...kgo.Opt) *kgo.Client {
	v.t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(strings.Split(v.brokers(), ",")...),
		kgo.ClientID(name), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerLinger(0),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(100 * 1e6)}, options...)...)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(client.Close)
	return client
}

func order(i int) *kgo.Record {
	return &kgo.Record{Topic: "orders", Key: fmt.Appendf(nil, "order-%d", i),
		Value: fmt.Appendf(nil, "%d", i)}
}

// load is an idempotent producer that goes on until it is stopped.
type load struct {
	mu    sync.Mutex
	acked []string
	news  chan int // how many records were acknowledged so far; only the latest is kept
}

func (l *load) run(ctx context.Context, t *testing.T, client *kgo.Client) {
	for i := 0; ctx.Err() == nil; i++ {
		// The context only stops the loop: a record that was begun must end, one way or the other.
		result := client.ProduceSync(context.Background(), order(i))
		if err := result.FirstErr(); err != nil {
			t.Errorf("record %d: %v", i, err)
			return
		}
		l.mu.Lock()
		l.acked = append(l.acked, string(result[0].Record.Value))
		select {
		case <-l.news:
		default:
		}
		l.news <- len(l.acked)
		l.mu.Unlock()
	}
}

// more waits until so many further records were acknowledged.
func (l *load) more(t *testing.T, n int) {
	t.Helper()
	l.mu.Lock()
	want := len(l.acked) + n
	l.mu.Unlock()
	for {
		select {
		case got := <-l.news:
			if got >= want {
				return
			}
		case <-t.Context().Done():
			t.Fatal("the producer stands still")
		}
	}
}

func TestKillButtonOnTheLeaderLosesNothing(t *testing.T) {
	v := open(t)
	v.topic("orders")
	l := &load{news: make(chan int, 1)}
	client := kafka(v, "checkout")
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { l.run(ctx, t, client) })
	l.more(t, 100)
	v.wait(`at("client-checkout")`)
	v.click("kill-1")
	v.wait(powered(1, "down"))
	v.wait(`text("vital-brokers-up").endsWith("2 of 3")`)
	l.more(t, 100)
	v.wait(`!at("leader-orders-0").closest("section").dataset.testid.endsWith("-1")`)
	v.click("restart-1")
	v.wait(powered(1, "up"))
	l.more(t, 100)
	v.wait(`at("isr-orders-0").dataset.value.split(",").length === 3`)
	stop()
	running.Wait()
	checkRead(t, v, l.acked)
	v.checkFold("after the restart")
}

// checkRead reads the topic back: all that was acknowledged, once, in order.
func checkRead(t *testing.T, v *visit, acked []string) {
	t.Helper()
	reader := kafka(v, "billing", kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		"orders": {0: kgo.NewOffset().AtStart()}}))
	var read []string
	for len(read) < len(acked) {
		fetches := reader.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v", len(read), len(acked), err)
		}
		fetches.EachRecord(func(r *kgo.Record) { read = append(read, string(r.Value)) })
	}
	if !slices.Equal(read, acked) {
		for i := range acked {
			if read[i] != acked[i] {
				t.Fatalf("at offset %d lies record %s, acknowledged was %s", i, read[i], acked[i])
			}
		}
		t.Fatalf("%d records were acknowledged, %d read", len(acked), len(read))
	}
}

func TestSentRecordIsFollowedToThreeReplicas(t *testing.T) {
	v := open(t)
	v.topic("orders")
	v.command("send orders key=order-1 value=a")
	v.command("send orders key=order-2 value=b")
	v.fill("send-topic", "orders")
	v.fill("send-key", "order-3")
	v.fill("send-value", `{"id":3,"amt":30}`)
	v.click("send")
	for id := 1; id <= 3; id++ {
		v.wait(fmt.Sprintf(`at("record-orders-0-%d-2")?.matches(".followed.wet") &&
			text("record-orders-0-%d-2").includes("order-3")`, id, id))
		v.wait(fmt.Sprintf(`at("station-b%d")?.dataset.status === "here"`, id))
	}
	v.wait(`text("followed") === "order-3" && at("station-committed").dataset.status === "here"`)
	v.wait(`at("send-key").value === "order-4"`)
	v.click("record-orders-0-2-2")
	v.wait(`at("batch-fields")?.querySelectorAll(".field").length >= 13`)
	v.wait(`text("inspector").includes("CRC-32C agrees")`)
}

func TestFollowerThatIsCutOffKeepsTheRecordUncommitted(t *testing.T) {
	v := open(t)
	v.topic("orders")
	for _, pair := range []string{"1-2", "1-3"} {
		v.click("cut-" + pair)
		v.wait(`at("cut-` + pair + `").getAttribute("aria-pressed") === "true"`)
	}
	v.fill("send-topic", "orders")
	v.fill("send-key", "order-3")
	v.click("send")
	v.wait(`at("record-orders-0-1-0")?.matches(".followed.dry")`)
	v.wait(`at("station-committed").dataset.status === "ahead" && !at("record-orders-0-2-0")`)
	v.wait(`text("waits-1").includes("produce waits")`)
	for _, pair := range []string{"1-2", "1-3"} {
		v.click("cut-" + pair)
		v.wait(`at("cut-` + pair + `").getAttribute("aria-pressed") === "false"`)
	}
	v.wait(`at("record-orders-0-3-0")?.matches(".followed.wet")`)
	v.checkFold("healed")
}

func TestTimeIsPausedSteppedAndResumed(t *testing.T) {
	v := open(t)
	v.topic("orders")
	v.click("pause")
	v.wait(`!at("play").hidden && text("clock") !== ""`)
	v.wait(`document.getElementById("lens").textContent === "time stands still"`)
	before := evaluate[int](v, `highwater.seq()`)
	v.click("step")
	v.wait(fmt.Sprintf(`highwater.seq() > %d`, before))
	v.checkFold("stepped")
	v.click("play")
	v.wait(`!at("pause").hidden`)
	after := evaluate[int](v, `highwater.seq()`)
	v.wait(fmt.Sprintf(`highwater.seq() > %d + 50`, after))
}

func TestPageWorksWithoutAMouse(t *testing.T) {
	v := open(t)
	v.topic("orders")
	v.keys("2")
	v.wait(`at("broker-2").matches(".picked") && at("broker-2").contains(document.activeElement)`)
	v.keys("k")
	v.wait(powered(2, "down"))
	v.keys("r")
	v.wait(powered(2, "up"))
	v.keys("x")
	v.wait(`at("cut-1-2").getAttribute("aria-pressed") === "true"`)
	v.keys("x")
	v.wait(`at("cut-1-2").getAttribute("aria-pressed") === "false"`)
	evaluate[*int](v, `document.activeElement.blur()`)
	v.keys(kb.ArrowLeft)
	v.wait(`at("past")`)
	seq := evaluate[int](v, `highwater.seq()`)
	v.keys(kb.ArrowRight)
	v.wait(fmt.Sprintf(`highwater.seq() > %d`, seq))
	v.keys("l")
	v.wait(`!at("past") && at("live").getAttribute("aria-pressed") === "true"`)
	v.keys(" ")
	v.wait(`!at("play").hidden`)
	v.keys(" ")
	v.wait(`!at("pause").hidden`)
	v.keys("s")
	v.wait(`document.activeElement === at("send-key")`)
	v.fill("send-key", "order-3")
	v.keys(kb.Enter)
	v.wait(`at("record-orders-0-3-0")?.matches(".followed.wet")`)
	evaluate[*int](v, `at("record-orders-0-3-0").focus()`)
	v.keys(kb.Enter)
	v.wait(`document.getElementById("app").dataset.inspector === "open"`)
	v.keys(kb.Escape)
	v.wait(`document.getElementById("app").dataset.inspector === "shut"`)
	v.keys("?")
	v.wait(`at("legend").open`)
	v.keys(kb.Escape)
	v.wait(`!at("legend").open`)
	v.keys("/")
	v.wait(`document.activeElement === at("command")`)
	v.fill("command", "kill 3")
	v.keys(kb.Enter)
	v.wait(powered(3, "down"))
}

func TestCommandBarSaysWhereTheMistakeIs(t *testing.T) {
	v := open(t)
	v.click("open-command")
	v.wait(`document.activeElement === at("command")`)
	v.keys("kil 3" + kb.Enter)
	v.wait(`!at("command-error").hidden && text("command-error").includes("did you mean kill?")`)
	v.fill("command", "kill 7")
	v.keys(kb.Enter)
	v.wait(`document.getElementById("command-where").textContent === "kill 7\n     ^"`)
	v.fill("command", "topic orders partitions=3 rf=3")
	v.keys(kb.Enter)
	v.wait(`at("tab-orders-2")`)
}

func TestCommandBarCompletesAndSaysWhatACommandTakes(t *testing.T) {
	v := open(t)
	v.topic("orders")
	v.click("open-command")
	v.wait(`document.activeElement === at("command")`)
	v.keys("po")
	v.wait(`text("command-ideas").startsWith("poll")`)
	v.keys("w")
	v.wait(`text("command-ideas").startsWith("power-cut")`)
	v.keys(kb.Tab)
	v.wait(`at("command").value === "power-cut "`)
	v.wait(`text("command-usage").startsWith("power-cut NODE")`)
	v.keys("10")
	v.wait(`text("command-ideas").includes("103") && !text("command-ideas").includes("power")`)
	v.keys(kb.Tab) // three words begin so: nothing is decided yet
	v.wait(`at("command").value === "power-cut 10"`)
	v.fill("command", "send or")
	v.wait(`text("command-ideas") === "orders"`)
	v.keys(kb.Tab + "acks=a" + kb.Tab)
	v.wait(`at("command").value === "send orders acks=all "`)
}

func TestThemeIsChosenAndKept(t *testing.T) {
	v := open(t)
	ground := `getComputedStyle(document.body).backgroundColor`
	theme := `document.documentElement.dataset.theme`
	first := evaluate[string](v, theme)
	shade := evaluate[string](v, ground)
	v.click("toggle-theme")
	v.wait(fmt.Sprintf(`%s !== %q && %s !== %q`, theme, first, ground, shade))
	v.do(chromedp.Reload())
	v.wait(`globalThis.highwater?.status() === "open"`)
	v.wait(fmt.Sprintf(`%s !== %q`, theme, first))
}

func TestPageRunsNoScriptFromOutside(t *testing.T) {
	v := open(t)
	v.topic("orders")
	payloads := []string{`<img src=x onerror="window.pwned=1">`, `"><script>window.pwned=1</script>`,
		`<svg onload=window.pwned=1>`, `javascript:window.pwned=1`, `{{7*7}}${window.pwned=1}`}
	for i, payload := range payloads {
		client := kafka(v, payload)
		r := &kgo.Record{Topic: "orders", Key: []byte(payload), Value: []byte(payload)}
		if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
		v.wait(fmt.Sprintf(`text("record-orders-0-1-%d").includes(%q)`, i, payload))
		v.fill("send-topic", payload)
		v.fill("send-key", payload)
		v.click("send")
		v.wait(`at("toast")`)
		v.click(fmt.Sprintf("record-orders-0-1-%d", i))
		v.wait(`at("batch-fields")`)
		v.fill("event-filter", payload)
		v.fill("event-filter", " ")
	}
	v.wait(`text("producers").includes("<img")`)
	if evaluate[bool](v, `"pwned" in window ||
		document.querySelector("main img, main script, aside img, [onerror], [onload]") !== null`) {
		t.Error("what a client sent became a part of the page")
	}
}
