package world

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"highwater/cluster/event"
)

// tape is a sink that keeps every event as text.
type tape struct{ lines []string }

func (s *tape) Publish(full *event.Chunk) *event.Chunk {
	for i := range full.Records {
		s.lines = append(s.lines, string(full.AppendJSON(nil, &full.Records[i])))
	}
	full.Reset()
	return full
}

// echo answers every call with its body, or keeps it when held.
type echo struct {
	env   *Env
	hold  bool
	calls []*Call
	gone  []event.NodeID
}

func (n *echo) Deliver(call *Call) {
	n.calls = append(n.calls, call)
	if !n.hold {
		call.Reply(call.Body)
	}
}

func (n *echo) Disconnected(id event.NodeID) { n.gone = append(n.gone, id) }

// two makes a world of two echoing nodes.
func two(t *testing.T, config Config) (*World, *tape) {
	t.Helper()
	s := &tape{}
	config.Events, config.PanicThrough = s, true
	w := New(config)
	for _, id := range []event.NodeID{1, 2} {
		w.Add(Spec{ID: id, Role: "echo", Start: func(env *Env) (Node, error) {
			return &echo{env: env}, nil
		}})
		if err := w.StartNode(id); err != nil {
			t.Fatal(err)
		}
	}
	return w, s
}

func echoing(w *World, id event.NodeID) *echo { return w.Node(id).(*echo) }

// ask sends a request from 1 to 2 and returns what it will have ended with.
func ask(w *World, body any, timeout time.Duration) *result {
	r := &result{at: -1}
	echoing(w, 1).env.Request(2, "Echo", body, timeout, func(body any, err error) {
		r.body, r.err, r.at = body, err, w.Now()
	})
	return r
}

type result struct {
	body any
	err  error
	at   time.Duration
}

func TestRequestTakesTheLatencyOfBothDirections(t *testing.T) {
	w, _ := two(t, Config{Latency: 5 * time.Millisecond})
	w.Delay(2, 1, 7*time.Millisecond)
	r := ask(w, "hello", time.Second)
	w.RunFor(time.Second)
	if r.body != "hello" || r.err != nil || r.at != 12*time.Millisecond {
		t.Errorf("answered %v, %v at %v; want hello at 12ms", r.body, r.err, r.at)
	}
}

func TestCutLinkHoldsMessagesInOrderUntilItHeals(t *testing.T) {
	w, _ := two(t, Config{})
	w.Cut(1, 2)
	first, second := ask(w, 1, time.Minute), ask(w, 2, time.Minute)
	w.RunFor(10 * time.Second)
	if first.at >= 0 || second.at >= 0 {
		t.Fatal("a message passed a cut link")
	}
	w.Heal(1, 2)
	w.RunFor(time.Second)
	got := []any{echoing(w, 2).calls[0].Body, echoing(w, 2).calls[1].Body}
	if !slices.Equal(got, []any{1, 2}) || first.err != nil || second.body != 2 {
		t.Errorf("after healing 2 got %v, the answers are %+v and %+v", got, first, second)
	}
}

func TestTimeoutResetsTheConnectionAndLosesWhatWasUnderWay(t *testing.T) {
	w, _ := two(t, Config{})
	w.Cut(1, 2)
	late, other := ask(w, 1, time.Second), ask(w, 2, time.Minute)
	w.RunFor(2 * time.Second)
	if !errors.Is(late.err, ErrTimedOut) || late.at != time.Second {
		t.Errorf("the late request ended with %v at %v", late.err, late.at)
	}
	if !errors.Is(other.err, ErrDisconnected) {
		t.Errorf("the other request of the connection ended with %v", other.err)
	}
	w.Heal(1, 2)
	w.RunFor(time.Second)
	if n := len(echoing(w, 2).calls); n != 0 {
		t.Errorf("%d messages of the old connection arrived", n)
	}
	if r := ask(w, 3, time.Second); r.at >= 0 {
		t.Error("answered before it ran")
	} else if w.RunFor(time.Second); r.body != 3 {
		t.Errorf("the new connection gave %v, %v", r.body, r.err)
	}
}

func TestKillResetsConnectionsAndSilencesTheIncarnation(t *testing.T) {
	w, _ := two(t, Config{Latency: time.Millisecond})
	echoing(w, 2).hold = true
	r := ask(w, "x", time.Minute)
	fired := false
	echoing(w, 2).env.After("never", time.Second, func() { fired = true })
	w.RunFor(10 * time.Millisecond)
	old := echoing(w, 2)
	w.StopNode(2, Stopping{How: "kill"})
	old.calls[0].Reply("from the grave")
	w.RunFor(time.Minute)
	if !errors.Is(r.err, ErrDisconnected) || r.at != 11*time.Millisecond || fired {
		t.Errorf("ended with %v at %v, timer fired: %v", r.err, r.at, fired)
	}
	refused := ask(w, "y", time.Minute)
	w.RunFor(time.Second)
	if !errors.Is(refused.err, ErrDisconnected) {
		t.Errorf("asking a dead node gave %v, %v", refused.body, refused.err)
	}
	if err := w.StartNode(2); err != nil {
		t.Fatal(err)
	}
	again := ask(w, "z", time.Minute)
	w.RunFor(time.Second)
	if again.body != "z" || echoing(w, 2).env.Incarnation() != 2 {
		t.Errorf("the new incarnation answered %v, %v", again.body, again.err)
	}
}

func TestEndedIncarnationIsFreedThoughItHadTimersAndWork(t *testing.T) {
	w, _ := two(t, Config{Latency: time.Millisecond})
	freed := make(chan struct{})
	runtime.AddCleanup(echoing(w, 2), func(struct{}) { close(freed) }, struct{}{})
	func() {
		old := echoing(w, 2)
		old.env.After("late", time.Hour, func() { old.hold = true })
		old.env.Work("sync", time.Hour, func() any { return nil }, func(any) { old.hold = true })
	}()
	fired := []string{}
	for _, after := range []time.Duration{3, 1, 2} {
		echoing(w, 1).env.After("stays", after*time.Minute, func() {
			fired = append(fired, fmt.Sprint(int(after)))
		})
	}
	ask(w, "x", time.Second)
	w.RunFor(time.Minute / 2)
	w.StopNode(2, Stopping{How: "kill"})
	runtime.GC()
	select {
	case <-freed:
	case <-time.After(10 * time.Second):
		t.Error("what the ended incarnation had is still held")
	}
	w.RunFor(time.Hour)
	if !slices.Equal(fired, []string{"1", "2", "3"}) {
		t.Errorf("the other node's timers fired in the order %v", fired)
	}
}

func TestPausedNodeHandlesEverythingInOrderAfterwards(t *testing.T) {
	w, _ := two(t, Config{})
	var order []string
	echoing(w, 2).env.After("tick", time.Second, func() { order = append(order, "timer") })
	w.Pause(2)
	w.RunFor(2 * time.Second)
	r := ask(w, "x", time.Minute)
	w.RunFor(time.Second)
	if len(order) > 0 || r.at >= 0 {
		t.Fatal("a paused node did something")
	}
	w.Resume(2)
	w.RunFor(time.Millisecond)
	if len(order) != 1 || r.body != "x" {
		t.Errorf("after the pause: %v, %+v", order, r)
	}
}

func TestFastClockFiresTimersEarlyAndOffsetMovesOnlyTheWallClock(t *testing.T) {
	w, _ := two(t, Config{Origin: time.UnixMilli(1_000_000)})
	w.SetClock(1, time.Hour, 2000)
	env := echoing(w, 1).env
	var at time.Duration
	env.After("tick", 10*time.Second, func() { at = w.Now() })
	w.RunFor(20 * time.Second)
	if at != 5*time.Second {
		t.Errorf("ten seconds of a clock twice as fast passed at %v", at)
	}
	if got := env.UnixMilli(); got != 1_000_000+40_000+3_600_000 {
		t.Errorf("the wall clock shows %d", got)
	}
}

// What a rate had gained stayed in the wall clock for good, when the clock was said to be right.
func TestClockThatIsPutRightShowsTheWorldsTime(t *testing.T) {
	w, _ := two(t, Config{Origin: time.UnixMilli(1_000_000)})
	env := echoing(w, 1).env
	w.SetClock(1, 0, 3000)
	w.RunFor(20 * time.Second)
	w.SetClock(1, 0, 1000)
	w.RunFor(10 * time.Second)
	if got := env.UnixMilli(); got != 1_000_000+30_000 {
		t.Errorf("put right, the wall clock shows %d", got)
	}
	if got := env.Now(); got != 70*time.Second {
		t.Errorf("steady time jumped to %s", got)
	}
}

func TestStepHandlesOneThing(t *testing.T) {
	w, _ := two(t, Config{Latency: time.Millisecond})
	r := ask(w, "x", time.Minute)
	if !w.Step() || w.Now() != time.Millisecond || len(echoing(w, 2).calls) != 1 || r.at >= 0 {
		t.Fatalf("the first step: at %v, %d calls", w.Now(), len(echoing(w, 2).calls))
	}
	if !w.Step() || r.body != "x" {
		t.Error("the second step is the answer")
	}
	if w.Step() {
		t.Error("there is nothing more to step to")
	}
}

func TestTurnEndRunsAfterAllOfTheInstantAndBeforeTheEdge(t *testing.T) {
	var order []string
	w, _ := two(t, Config{TurnEnded: func() {}})
	w.config.TurnEnded = func() { order = append(order, "edge") }
	env := echoing(w, 1).env
	env.After("a", time.Second, func() {
		env.AtTurnEnd(func() {
			order = append(order, "flush")
			env.After("c", 0, func() { order = append(order, "follows") })
		})
		order = append(order, "a")
	})
	env.After("b", time.Second, func() { order = append(order, "b") })
	w.RunFor(time.Second)
	if got := fmt.Sprint(order); got != "[a b flush follows edge]" {
		t.Errorf("order: %v", got)
	}
}

func TestPanicTakesDownOneNodeVisibly(t *testing.T) {
	w, s := two(t, Config{})
	w.config.PanicThrough = false
	failed := event.NoNode
	w.config.NodeFailed = func(id event.NodeID, _ string) { failed = id }
	echoing(w, 2).env.After("bad", time.Second, func() { panic("leader and follower at once") })
	w.RunFor(2 * time.Second)
	if w.Alive(2) || failed != 2 || !w.Alive(1) {
		t.Error("the node with the broken invariant should be down, and only it")
	}
	if !slices.ContainsFunc(s.lines, func(l string) bool {
		return contains(l, `"how":"invariant"`) && contains(l, "leader and follower")
	}) {
		t.Error("no event says why the node is down")
	}
	how, at, ok := w.Stopped(2)
	if !ok || how.How != "invariant" || at != time.Second ||
		!contains(how.Reason, "world.TestPanicTakesDownOneNodeVisibly.func2 world_test.go:") {
		t.Errorf("it stopped so: %+v at %v, %v", how, at, ok)
	}
	if _, _, ok := w.Stopped(1); ok {
		t.Error("a node that runs has stopped")
	}
}

func TestNodesThatAnswerEachOtherForEverAreStopped(t *testing.T) {
	w := New(Config{}) // without events: there will be a million
	for _, id := range []event.NodeID{1, 2} {
		w.Add(Spec{ID: id, Start: func(env *Env) (Node, error) { return &silent{env}, nil }})
		must(t, w.StartNode(id))
	}
	env := w.Node(1).(*silent).env
	var again func(any, error)
	again = func(any, error) { env.Request(2, "Echo", nil, time.Second, again) }
	again(nil, nil)
	w.RunFor(time.Millisecond)
	if w.Alive(1) && w.Alive(2) {
		t.Error("both nodes live on, and the instant ended all the same")
	}
}

func contains(text, part string) bool {
	for i := range len(text) - len(part) + 1 {
		if text[i:i+len(part)] == part {
			return true
		}
	}
	return false
}

// chatter makes nodes talk at random and be hurt at random.
func chatter(seed uint64) []string {
	s := &tape{}
	w := New(Config{Seed: seed, Events: s, Latency: time.Millisecond, PanicThrough: true})
	for id := event.NodeID(1); id <= 4; id++ {
		w.Add(Spec{ID: id, Role: "chatter", Start: func(env *Env) (Node, error) {
			n := &echo{env: env}
			var talk func()
			talk = func() {
				to := event.NodeID(env.Dice().IntN(4) + 1)
				env.Request(to, "Echo", to, time.Second, func(any, error) {})
				env.After("talk", time.Duration(env.Dice().IntN(50))*time.Millisecond, talk)
			}
			talk()
			return n, nil
		}})
		if err := w.StartNode(id); err != nil {
			panic(err)
		}
	}
	for range 200 {
		a := event.NodeID(w.Dice().IntN(4) + 1)
		b := event.NodeID(w.Dice().IntN(4) + 1)
		switch w.Dice().IntN(6) {
		case 0:
			w.StopNode(a, Stopping{How: "kill"})
		case 1:
			if !w.Alive(a) {
				_ = w.StartNode(a) // cannot fail: Start above never does
			}
		case 2:
			w.Cut(a, b)
		case 3:
			w.Heal(a, b)
		case 4:
			w.Pause(a)
		case 5:
			w.Resume(a)
		}
		w.RunFor(time.Duration(w.Dice().IntN(300)) * time.Millisecond)
	}
	return s.lines
}

func TestSameSeedSameEvents(t *testing.T) {
	for seed := range uint64(10) {
		a, b := chatter(seed), chatter(seed)
		if len(a) < 1000 || !slices.Equal(a, b) {
			t.Errorf("seed %d: two runs of %d and %d events differ", seed, len(a), len(b))
		}
	}
	if slices.Equal(chatter(1), chatter(2)) {
		t.Error("the seed changes nothing")
	}
}

// answers collects what the edge would send.
type answers struct{ got []any }

func (a *answers) Respond(_ *Call, body any) { a.got = append(a.got, body) }

func TestLiveSessionRunsAgainFromItsInputLog(t *testing.T) {
	log := NewInputLog(1 << 20)
	live, first := two(t, Config{Seed: 3, Live: true, Recorder: log})
	stop := running(live)
	edge := &answers{}
	live.Post(ConnectedIn(2, event.FirstOutside, "127.0.0.1:1"))
	for i := range 50 {
		live.Post(CallIn(2, event.FirstOutside, "Echo", i, []byte{byte(i)}, edge, int64(i)))
		if err := live.Do("work", func() { startWork(live) }); err != nil {
			t.Fatal(err)
		}
	}
	for worked := 0; worked < 50; {
		if err := live.Do("", func() { worked = len(echoing(live, 1).gone) }); err != nil {
			t.Fatal(err)
		}
	}
	live.Post(DisconnectedIn(2, event.FirstOutside, "done"))
	if err := live.Do("", func() {}); err != nil {
		t.Fatal(err)
	}
	stop()
	if len(edge.got) != 50 {
		t.Fatalf("the live session gave %d answers", len(edge.got))
	}
	again, second := two(t, Config{Seed: 3})
	bytes, complete := log.Bytes()
	if !complete {
		t.Fatal("the log is cut short")
	}
	err := again.Rerun(bytes, Rerun{
		Parse:   func(raw []byte) (string, any, error) { return "Echo", int(raw[0]), nil },
		Command: func(string) { startWork(again) },
	})
	if err != nil || !slices.Equal(first.lines, second.lines) {
		t.Errorf("%v: %d events live, %d again", err, len(first.lines), len(second.lines))
	}
}

// startWork begins a ticket whose completion sends a message and is counted in gone.
func startWork(w *World) {
	n := echoing(w, 1)
	n.env.Work("sync", time.Millisecond, func() any { return "synced" }, func(any) {
		n.gone = append(n.gone, 1)
		n.env.Request(2, "Echo", "after work", time.Second, func(any, error) {})
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func BenchmarkRequestAndAnswer(b *testing.B) {
	w := New(Config{PanicThrough: true})
	for _, id := range []event.NodeID{1, 2} {
		w.Add(Spec{ID: id, Start: func(env *Env) (Node, error) { return &silent{env}, nil }})
		if err := w.StartNode(id); err != nil {
			b.Fatal(err)
		}
	}
	env := w.Node(1).(*silent).env
	b.ReportAllocs()
	for range b.N {
		env.Request(2, "Echo", nil, time.Second, func(any, error) {})
		w.RunFor(0)
	}
}

type silent struct{ env *Env }

func (n *silent) Deliver(call *Call)        { call.Reply(nil) }
func (n *silent) Disconnected(event.NodeID) {}
