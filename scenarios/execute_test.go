package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/client"
	"highwater/cluster/event"
)

// run executes a command and lets time pass until it has ended.
func run(t *testing.T, w *fakeWorld, e *Executor, text string) (Result, *Error) {
	t.Helper()
	ended := 0
	var result Result
	var problem *Error
	e.Execute(text, "test", func(r Result, err *Error) { ended++; result, problem = r, err })
	w.RunWhile(func() bool { return ended == 0 }, w.now+time.Hour)
	if ended != 1 {
		t.Fatalf("%s: ended %d times", text, ended)
	}
	return result, problem
}

func TestExpressionsSeeTheCluster(t *testing.T) {
	for text, want := range map[string]any{
		`isr("t-0") == [1,2,3]`:                   true,
		`isr("t-0") == [1,2]`:                     false,
		`elr("t-0") == []`:                        true,
		`leader("t-0")`:                           int64(2),
		`epoch("t-0") >= 5 && epoch("t-0") < 6`:   true,
		`hw("t-0")`:                               int64(7),
		`lso("t-0") + lso(2,"t-0")`:               int64(9),
		`txn("billing")`:                          "Ongoing",
		`txn("nobody")`:                           nil,
		`hw(1,"t-0")`:                             int64(6),
		`leo(leader("t-0"),"t-0") - hw("t-0")`:    int64(1),
		`leo("t-0") == 8`:                         true,
		`hw(3,"t-0")`:                             nil, // broker 3 is down
		`hw(3,"t-0") == none`:                     true,
		`hw(3,"t-0") < 100 || hw(3,"t-0") >= 0`:   false,
		`alive(3) || fenced(2)`:                   false,
		`alive(controller())`:                     true,
		`controller == 102`:                       true,
		`isr("nope-0")`:                           nil,
		`isr("t-1") == none`:                      true,
		`count("t-0") == 2`:                       true,
		`values("t-0") == ["a","b"]`:              true,
		`keys("t-0") == [none, none]`:             true,
		`partitions("t") + 1`:                     int64(2),
		`1 + 2 - 4 == -1`:                         true,
		`!false && (true || false)`:               true,
		`"a" != "b" && [1,["x"]] == [1,["x"]]`:    true,
		`alive(1) && (isr("nope-0") == [1])`:      false,
		`leader("t-0") == 2 || hw("t-0") == "no"`: true,
	} {
		w, e := newFake()
		w.values = []string{"a", "b"}
		w.cluster.down[3] = true
		parsed, err := parseExpression(text, 0)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		x := &execution{Executor: e, client: w}
		x.read(parsed, time.Second, func(reads map[string]readBack) {
			got, _, err := x.evaluate(parsed, reads)
			if err != nil || !equal(got, want) {
				t.Errorf("%s is %s, want %s (%v)", text, show(got), show(want), err)
			}
		})
	}
}

func TestExpressionsOfTheWrongTypeAreRefusedWhereTheyAre(t *testing.T) {
	for text, position := range map[string]int{
		`expect leader("t-0")`:         7,
		`expect alive(1) && hw("t-0")`: 19,
		`expect hw("t-0") < "x"`:       19,
		`expect -"x" == 1`:             8,
		`expect !3`:                    8,
		`expect alive(isr("t-0"))`:     13,
	} {
		w, e := newFake()
		_, err := run(t, w, e, text)
		if err == nil || err.Kind != Input || err.Position != position {
			t.Errorf("%s: %+v, want position %d", text, err, position)
		}
	}
}

func TestFaultsReachTheCluster(t *testing.T) {
	for text, want := range map[string]string{
		`kill 3`:                   "kill 3",
		`kill leader("t-0")`:       "kill 2",
		`kill controller`:          "kill 102",
		`power-cut 1`:              "power-cut 1",
		`stop 101`:                 "stop 101",
		`pause 1`:                  "pause 1",
		`resume 1`:                 "resume 1",
		`cut 1-3`:                  "cut 1 3 true",
		`cut leader("t-0")>3`:      "cut 2 3 false",
		`heal`:                     "heal all",
		`heal 1>3`:                 "heal 1 3 false",
		`delay 1-3 15ms`:           "delay 1 3 true 15ms",
		`disk 2 slow=50ms`:         "disk 2 slow 50ms",
		`disk 2 ok`:                "disk 2 none 0s",
		`clock 2 +1h`:              "clock 2 1h0m0s 1000",
		`clock 2 rate=0.5`:         "clock 2 0s 500",
		`clock 2 -1h rate=2`:       "clock 2 -1h0m0s 2000",
		`delete-topic t`:           "delete t",
		`config t retention.ms=10`: "alter t [{retention.ms 10}]",
		`elect t-0 unclean`:        "elect t-0 true",
		`topic t partitions=2 replicas=1,3 retention.ms=5`: "create {Name:t Partitions:2 " +
			"ReplicationFactor:0 Replicas:[[1 3] [1 3]] Settings:[{Name:retention.ms Value:5}]}",
	} {
		w, e := newFake()
		if _, err := run(t, w, e, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got := strings.Join(w.cluster.did, "; "); got != want {
			t.Errorf("%s did %q, want %q", text, got, want)
		}
	}
}

func TestRestartAllStartsWhatIsDown(t *testing.T) {
	w, e := newFake()
	w.cluster.down[3], w.cluster.down[101] = true, true
	if _, err := run(t, w, e, "restart all"); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(w.cluster.did); got != "[restart 101 restart 3]" {
		t.Errorf("did %s", got)
	}
	if _, err := run(t, w, e, "restart all"); err == nil || err.Kind != Refused {
		t.Errorf("with all running: %v", err)
	}
}

func TestWhatCannotBeDoneNowIsRefusedWithAReason(t *testing.T) {
	for text, want := range map[string]Error{
		`kill 3`:                              {Refused, "broker 3 is down", -1, "restart 3", ""},
		`kill 7`:                              {Input, "there is no node 7", 5, "1, 2, 3, 101, 102, 103", ""},
		`kill leader("x-0")`:                  {Refused, "is none now", 5, "", ""},
		`send tt value=x`:                     {Refused, `no topic "tt"`, 5, "t", ""},
		`send t partition=4`:                  {Refused, "no partition 4", 17, "it has 1", ""},
		`read t partition=1`:                  {Refused, "no partition 1", 17, "it has 1", ""},
		`send t value=x nowait`:               {Input, "needs a producer", 15, "by=NAME", ""},
		`send t acks=1 idempotent=true`:       {Input, "needs acks=all", 12, "", ""},
		`topic n partitions=2 replicas=1;2;3`: {Input, "3 lists of replicas", 30, "", ""},
	} {
		w, e := newFake()
		w.cluster.down[3] = true
		_, err := run(t, w, e, text)
		if err == nil || err.Kind != want.Kind || err.Position != want.Position ||
			!strings.Contains(err.Message, want.Message) || !strings.Contains(err.Hint, want.Hint) {
			t.Errorf("%s: got %+v, want %+v", text, err, want)
		}
	}
}

func TestOutcomesAreCompared(t *testing.T) {
	refused := client.SendResult{Code: kerr.NotEnoughReplicas.Code}
	good := client.SendResult{Landed: client.Landings{{Partition: 0, First: 3, Last: 4, Records: 2}},
		Acknowledged: 2}
	for _, row := range []struct {
		text   string
		result client.SendResult
		ok     bool
	}{
		{`send t`, good, true},
		{`send t -> ok`, good, true},
		{`send t -> NOT_ENOUGH_REPLICAS`, good, false},
		{`send t`, refused, false},
		{`send t -> ok`, refused, false},
		{`send t -> NOT_ENOUGH_REPLICAS`, refused, true},
		{`send t -> NOT_ENOUGH_REPLICAS_AFTER_APPEND`, refused, false},
		{`send t -> NOT_LEADER_OR_FOLLOWER`,
			client.SendResult{Code: kerr.NotLeaderForPartition.Code}, true},
	} {
		w, e := newFake()
		w.result = row.result
		_, err := run(t, w, e, row.text)
		if (err == nil) != row.ok || err != nil && err.Kind != Failed {
			t.Errorf("%s after %+v: %v", row.text, row.result, err)
		}
	}
}

func TestSendPassesOnWhatWasWritten(t *testing.T) {
	w, e := newFake()
	if _, err := run(t, w, e, `send t key=k value="" acks=0 times=5 timeout=3s`); err != nil {
		t.Fatal(err)
	}
	got := w.sent[0]
	if *got.Key != "k" || *got.Value != "" || got.Acks != 0 || got.Times != 5 ||
		got.TimeoutMs != 3000 || got.Partition != -1 || got.Idempotent {
		t.Errorf("got %+v", got)
	}
}

func TestWaitLooksAgainUntilItHolds(t *testing.T) {
	w, e := newFake()
	w.After(3*time.Second, func() { w.cluster.isr = []event.NodeID{1} })
	_, err := run(t, w, e, `wait isr("t-0") == [1] within 30s`)
	if err != nil || w.now < 3*time.Second || w.now > 3*time.Second+2*pollEvery {
		t.Errorf("after %v: %v", w.now, err)
	}
}

func TestWaitFailsAfterItsTimeAndSaysWhatItSaw(t *testing.T) {
	w, e := newFake()
	_, err := run(t, w, e, `wait isr("t-0") == [1] within 2s`)
	if err == nil || err.Kind != Failed || w.now != 2*time.Second ||
		!strings.Contains(err.Message, `isr("t-0") was [1,2,3]`) {
		t.Errorf("after %v: %v", w.now, err)
	}
}

func TestWaitReadsAgainForValues(t *testing.T) {
	w, e := newFake()
	w.After(time.Second, func() { w.values = []string{"x"} })
	if _, err := run(t, w, e, `wait values("t-0") == ["x"]`); err != nil {
		t.Error(err)
	}
}

func TestFailedExpectSaysWhatItSaw(t *testing.T) {
	w, e := newFake()
	_, err := run(t, w, e, `expect hw("t-0") == 1 && leo(1,"t-0") == 8`)
	if err == nil || err.Kind != Failed || err.Position != 7 ||
		!strings.Contains(err.Message, `hw("t-0") was 7`) || strings.Contains(err.Message, "leo(") &&
		strings.Contains(err.Message, "leo(1,\"t-0\") was") {
		t.Errorf("got %v", err)
	}
	_, err = run(t, w, e, `expect hw("tt-0") == 1`)
	if err == nil || !strings.Contains(err.Message, "there is no partition tt-0, did you mean t-0?") {
		t.Errorf("got %v", err)
	}
}

func TestSleepTakesVirtualTime(t *testing.T) {
	w, e := newFake()
	if _, err := run(t, w, e, "sleep 5s"); err != nil || w.now != 5*time.Second {
		t.Errorf("after %v: %v", w.now, err)
	}
}

func TestCommandIsTheCauseOfItsEffects(t *testing.T) {
	w, e := newFake()
	log, now := event.NewLog(), int64(0)
	em := event.NewEmitter(log, &now, 0)
	e.config.Events = em
	var during event.Seq
	e.config.Client = func() Client { return w }
	seq := e.Execute("kill 1", "page", func(Result, *Error) { during = em.Cause })
	if seq == 0 || during != seq || w.cause != seq || em.Cause != 0 {
		t.Errorf("seq %d, during %d, client %d, after %d", seq, during, w.cause, em.Cause)
	}
	chunk := log.Swap(&event.Chunk{})
	ran := chunk.CommandRan(&chunk.Records[0])
	if len(chunk.Records) != 1 || ran.Command != "kill 1" || ran.By != "page" {
		t.Errorf("emitted %+v", ran)
	}
	if e.Execute("kil 1", "page", func(Result, *Error) {}); log.Pending() != 0 {
		t.Error("a text that is no command left an event")
	}
}

// Whoever did not give a command learns from the events that it failed.
func TestFailedCommandLeavesAnEvent(t *testing.T) {
	w, e := newFake()
	log, now := event.NewLog(), int64(0)
	em := event.NewEmitter(log, &now, 0)
	e.config.Events = em
	e.config.Client = func() Client { return w }
	seq := e.Execute("kill 9", "page", func(Result, *Error) {})
	e.Execute("step", "page", func(Result, *Error) {}) // there is no pacer
	chunk := log.Swap(&event.Chunk{})
	if len(chunk.Records) != 3 {
		t.Fatalf("emitted %d events", len(chunk.Records))
	}
	r := &chunk.Records[1]
	failed := chunk.CommandFailed(r)
	if failed.Command != "kill 9" || !strings.Contains(failed.Error, "9") || r.Cause != seq {
		t.Errorf("emitted %+v because of %d", failed, r.Cause)
	}
}

// fakePacer writes down what it was asked for.
type fakePacer struct{ did []string }

func (p *fakePacer) PauseTime() error  { p.did = append(p.did, "pause"); return nil }
func (p *fakePacer) ResumeTime() error { p.did = append(p.did, "resume"); return nil }
func (p *fakePacer) Live() error       { return errors.New("time is paused") }
func (p *fakePacer) Step(n int) error  { p.did = append(p.did, fmt.Sprint("step ", n)); return nil }
func (p *fakePacer) Slow(f float64) error {
	p.did = append(p.did, fmt.Sprint("slow ", f))
	return nil
}

func TestPacingCommandsReachThePacer(t *testing.T) {
	w, e := newFake()
	for _, text := range []string{"pause-time", "step 3", "live"} { // nobody paces: nothing happens
		if _, err := run(t, w, e, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	p := &fakePacer{}
	e.config.Pacer = p
	for _, text := range []string{"pause-time", "step 3", "slow 2.5", "resume-time"} {
		if _, err := run(t, w, e, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if got := strings.Join(p.did, ","); got != "pause,step 3,slow 2.5,resume" {
		t.Errorf("did %s", got)
	}
	if _, err := run(t, w, e, "live"); err == nil || err.Kind != Refused {
		t.Errorf("got %v", err)
	}
}

func TestCompletionOffersWhatMayComeNext(t *testing.T) {
	w, e := newFake()
	if _, err := run(t, w, e, "kill 2"); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"ki":                   "kill",
		"kill ":                "1",
		"kill 10":              "101",
		"send ":                "t",
		"send t ac":            "acks=",
		"send t acks=a":        "acks=all",
		"topic x min.ins":      "min.insync.replicas=",
		"heal al":              "all",
		"disk 2 sl":            "slow=50ms",
		"expect is":            "isr",
		"wait alive(1) w":      "within",
		"read t from=l":        "from=latest",
		"elect t":              "t-0",
		"restart a":            "all",
		"restart ":             "2",
		"cut 1-":               "1-2",
		"elect t-0 unc":        "unclean",
		"send t isolation=com": "",
		"nonsense x":           "",
	} {
		got := e.Complete(line)
		if want == "" && len(got) > 0 || want != "" && (len(got) == 0 || got[0] != want) {
			t.Errorf("%q: %v, want %q first", line, got, want)
		}
	}
}

func TestScenarioEndsAtTheFirstStepThatFails(t *testing.T) {
	w, e := newFake()
	s, mistakes := ParseScenario("x.hw", []byte("kill 1\nexpect alive(1)\nkill 2\n"))
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	p := &Player{World: w, Executor: e, Ready: func() []string { return nil }}
	r := p.Run(context.Background(), s)
	if r.OK || len(r.Steps) != 2 || !r.Steps[0].OK || r.Steps[1].OK || r.Checks != 0 {
		t.Errorf("got %+v", r)
	}
	var b strings.Builder
	if err := WriteJUnit(&b, []Report{r}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `tests="2" failures="1"`) {
		t.Errorf("JUnit: %s", b.String())
	}
}

func TestScenarioDoesNotBeginOnAClusterThatIsNotReady(t *testing.T) {
	w, e := newFake()
	p := &Player{World: w, Executor: e, Ready: func() []string { return []string{"broker 1 sleeps"} }}
	r := p.Run(context.Background(), &Scenario{})
	if r.OK || !strings.Contains(r.Failure, "broker 1 sleeps") || w.now != bootMax {
		t.Errorf("after %v: %+v", w.now, r)
	}
}
