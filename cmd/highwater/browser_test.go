package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const (
	// waitMax bounds every wait for the page. It is long because a busy machine is slow, and costs
	// nothing when all is well.
	waitMax    = 40 * time.Second
	browserMax = 3 * time.Minute
)

// visit is a real browser that looks at a cluster of its own.
type visit struct {
	t    *testing.T
	ctx  context.Context
	main *mainWorld
	page string
	// world is the id of the one that the page looks at.
	world string

	mu       sync.Mutex
	problems []string // what the page wrote to its console as an error
}

// browserPath finds a browser. Without one these tests prove nothing, which CI must not hide.
func browserPath(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("there is no Chromium here: install one, the page is tested in it")
	}
	t.Skip("SKIPPED: there is no Chromium here, so nobody looked at the page")
	return ""
}

// open starts a cluster and a browser, and returns when the page follows the cluster.
func open(t *testing.T, args ...string) *visit {
	t.Helper()
	return openIn(t, "", args...)
}

// openIn opens a browser with one more switch, "" for none.
func openIn(t *testing.T, browserSwitch string, args ...string) *visit {
	t.Helper()
	browserPath(t)
	m := startForTest(t, args...)
	// Whoever asks for a world by its name gets it, and no story on the first visit.
	return visitPage(t, m, m.pageAddress()+"?world=main", browserSwitch)
}

// visitPage opens a browser of its own on a page of a program that runs.
func visitPage(t *testing.T, m *mainWorld, page, browserSwitch string) *visit {
	t.Helper()
	path := browserPath(t)
	v := &visit{t: t, main: m, page: page, world: "main"}
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path),
		chromedp.Flag("headless", "new"), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1280, 800),
		chromedp.UserDataDir(t.TempDir())}
	for _, name := range []string{"disable-quic", "disable-background-networking",
		"disable-component-update", "disable-sync"} {
		options = append(options, chromedp.Flag(name, true))
	}
	if browserSwitch != "" {
		options = append(options, chromedp.Flag(browserSwitch, true))
	}
	ctx, cancel := context.WithTimeout(t.Context(), browserMax)
	t.Cleanup(cancel)
	allocator, cancelAllocator := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancelAllocator)
	tab, cancelTab := chromedp.NewContext(allocator)
	t.Cleanup(cancelTab)
	v.ctx = tab
	messages := chromedp.Console(tab)
	go v.listen(messages)
	v.do(chromedp.EmulateViewport(1280, 720), chromedp.Navigate(v.page))
	v.wait(`globalThis.highwater?.status() === "open" && highwater.seq() > 0`)
	t.Cleanup(v.checkConsole)
	return v
}

// startForTest runs a cluster in memory with its page, on free ports.
func startForTest(t *testing.T, args ...string) *mainWorld {
	t.Helper()
	flags, err := parseServe(append([]string{"--http", "127.0.0.1:0", "--kafka",
		"127.0.0.1:0,127.0.0.1:0,127.0.0.1:0", "--memory"}, args...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	m, err := startMain(flags, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.close(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	if err := m.untilReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// listen keeps what the page complains about. A refused command is an answer of status 400, which
// browsers log as a network error of their own.
func (v *visit) listen(messages func(func(chromedp.ConsoleMessage, error) bool)) {
	for m, err := range messages {
		if err != nil {
			return
		}
		if m.Source == "network" || m.Type != "error" && !m.IsException() {
			continue
		}
		v.mu.Lock()
		v.problems = append(v.problems, m.String())
		v.mu.Unlock()
	}
}

// checkConsole fails for any error on the console: a script's, or one of the content policy.
func (v *visit) checkConsole() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, problem := range v.problems {
		v.t.Errorf("the page's console: %s", problem)
	}
}

func (v *visit) do(steps ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	if err := chromedp.Do(v.ctx, steps...); err != nil {
		v.t.Fatal(err)
	}
}

// evaluate runs an expression in the page.
func evaluate[T any](v *visit, expression string) T {
	v.t.Helper()
	value, err := chromedp.Run(v.ctx, chromedp.Evaluate[T](prelude(expression)))
	if err != nil {
		v.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// prelude gives expressions a short way to elements by their test ids.
func prelude(expression string) string {
	return "(() => { const at = (id) => document.querySelector(`[data-testid=\"${id}\"]`);" +
		" const text = (id) => at(id)?.textContent ?? ''; return (" + expression + ") })()"
}

// wait looks at every frame until an expression is true.
func (v *visit) wait(expression string) {
	v.t.Helper()
	script := fmt.Sprintf(`new Promise((resolve) => {
		const until = performance.now() + %d;
		const look = () => {
			let holds = false;
			try { holds = Boolean(%s); } catch {}
			if (holds || performance.now() > until) resolve(holds);
			else requestAnimationFrame(look);
		};
		look();
	})`, waitMax.Milliseconds(), prelude(expression))
	look := chromedp.Evaluate[bool](script, chromedp.EvalAwaitPromise)
	holds, err := chromedp.Run(v.ctx, look)
	for err != nil && strings.Contains(err.Error(), "navigated") {
		holds, err = chromedp.Run(v.ctx, look) // the page went to another one meanwhile
	}
	if err != nil {
		v.t.Fatalf("waiting for %s: %v", expression, err)
	}
	if !holds {
		v.t.Fatalf("never true: %s\nthe page says: %s\nlast events: %s", expression,
			evaluate[string](v, `text("caption") + " | " + text("toasts")`),
			evaluate[string](v, `text("event-list").slice(0, 800)`))
	}
}

// click presses an element as a mouse does, so that nothing may lie over it.
func (v *visit) click(testID string) {
	v.t.Helper()
	v.wait(fmt.Sprintf(`at(%q) && !at(%q).disabled`, testID, testID))
	ctx, cancel := context.WithTimeout(v.ctx, waitMax)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Click(byTestID(testID))); err != nil {
		v.t.Fatalf("click %s: %v", testID, err)
	}
}

func byTestID(id string) chromedp.CSS { return chromedp.CSS(`[data-testid="` + id + `"]`) }

// fill replaces what a field holds by typing.
func (v *visit) fill(testID, text string) {
	v.t.Helper()
	evaluate[*int](v, fmt.Sprintf(`(at(%q).focus(), at(%q).select(), null)`, testID, testID))
	v.keys(text)
}

func (v *visit) keys(keys string) {
	v.t.Helper()
	v.do(chromedp.KeyEvent(keys))
}

// command runs one command as the page would, but from outside.
func (v *visit) command(text string) {
	v.t.Helper()
	body, err := json.Marshal(map[string]string{"command": text})
	if err != nil {
		v.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost,
		v.api("commands"), bytes.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Highwater-Token", v.main.token)
	if status, answer := v.send(request); status != http.StatusOK {
		v.t.Fatalf("%s: %d %s", text, status, answer)
	}
}

func (v *visit) api(what string) string {
	return "http://" + v.main.listener.Addr().String() + "/api/worlds/" + v.world + "/" + what
}

func (v *visit) send(request *http.Request) (int, []byte) {
	v.t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		v.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return response.StatusCode, answer
}

// checkFold compares what the page believes at the moment it shows with the server's own fold.
func (v *visit) checkFold(moment string) (seq int) {
	v.t.Helper()
	mine := []byte(evaluate[string](v, `JSON.stringify(highwater.state())`))
	var head struct {
		Seq string `json:"seq"`
	}
	if err := json.Unmarshal(mine, &head); err != nil {
		v.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet,
		v.api("state?at="+head.Seq), nil)
	if err != nil {
		v.t.Fatal(err)
	}
	status, theirs := v.send(request)
	if status != http.StatusOK {
		v.t.Fatalf("%s: the state at %s: %d %s", moment, head.Seq, status, theirs)
	}
	var got, want map[string]any
	if err := json.Unmarshal(mine, &got); err != nil {
		v.t.Fatal(err)
	}
	if err := json.Unmarshal(theirs, &want); err != nil {
		v.t.Fatal(err)
	}
	for name := range want {
		if !reflect.DeepEqual(got[name], want[name]) {
			v.t.Errorf("%s: at event %s %s differs: the page has\n%.600s\nthe server\n%.600s",
				moment, head.Seq, name, jsonText(got[name]), jsonText(want[name]))
		}
	}
	if len(got) != len(want) {
		v.t.Errorf("%s: at event %s the page has %d parts, the server %d", moment, head.Seq,
			len(got), len(want))
	}
	seq, err = strconv.Atoi(head.Seq)
	if err != nil {
		v.t.Fatal(err)
	}
	return seq
}

func jsonText(value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// topic creates one with its partitions led by broker 1, and waits until the page shows it.
func (v *visit) topic(name string) {
	v.t.Helper()
	v.command("topic " + name + " replicas=1,2,3 min.insync.replicas=2")
	v.wait(fmt.Sprintf(`at("isr-%s-0")?.dataset.value.split(",").length === 3`, name))
}

func (v *visit) brokers() string {
	var list []string
	for _, id := range v.main.cluster.Brokers() {
		list = append(list, v.main.cluster.Addresses()[id])
	}
	return strings.Join(list, ",")
}
