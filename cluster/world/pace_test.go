package world

import (
	"context"
	"slices"
	"testing"
	"time"

	"highwater/cluster/event"
)

// running lets a live world's loop run; stop ends it, and returns when it has ended.
func running(w *World) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { w.Run(ctx); close(done) }()
	return func() {
		cancel()
		<-done
	}
}

// Requests, and work that a disk has done, come in between steps; a person's commands fall between
// two things of one instant. All of it runs again.
func TestStepsLetInWhatWaitsAndRunAgain(t *testing.T) {
	log := NewInputLog(1 << 20)
	live, first := two(t, Config{Seed: 3, Live: true, Recorder: log})
	stop := running(live)
	must(t, live.Do("", func() { live.SetPace(Pace{Rate: 1, Paused: true}) }))
	edge := &answers{}
	live.Post(ConnectedIn(2, event.FirstOutside, "127.0.0.1:1"))
	worked := 0
	for i := 0; len(edge.got) < 20 || worked < 20; i++ {
		if i == 10_000 {
			t.Fatalf("after %d steps %d answers, %d pieces of work", i, len(edge.got), worked)
		}
		if i < 20 {
			live.Post(CallIn(2, event.FirstOutside, "Echo", i, []byte{byte(i)}, edge, int64(i)))
			must(t, live.Do("work", func() { startWork(live) }))
		}
		must(t, live.Do("step", func() { live.Step(); worked = len(echoing(live, 1).gone) }))
	}
	must(t, live.Do("", func() { live.SetPace(Pace{Rate: 1}) }))
	must(t, live.Do("end", func() {}))
	stop()
	again, second := two(t, Config{Seed: 3})
	bytes, _ := log.Bytes()
	err := again.Rerun(bytes, Rerun{
		Parse: func(raw []byte) (string, any, error) { return "Echo", int(raw[0]), nil },
		Command: func(text string) {
			if text == "work" {
				startWork(again)
			}
		},
	})
	if err != nil || len(first.lines) < 60 || !slices.Equal(first.lines, second.lines) {
		t.Errorf("%v: %d events live, %d again", err, len(first.lines), len(second.lines))
	}
}

func TestPauseKeepsVirtualTimeStillAndLosesNothing(t *testing.T) {
	w, _ := two(t, Config{Live: true})
	stop := running(w)
	edge := &answers{}
	var before, after time.Duration
	must(t, w.Do("", func() { w.SetPace(Pace{Rate: 1, Paused: true}); before = w.Now() }))
	w.Post(CallIn(2, event.FirstOutside, "Echo", "x", nil, edge, 1))
	for range 20 {
		must(t, w.Do("", func() { after = w.Now() }))
	}
	if before != after || len(edge.got) != 0 {
		t.Errorf("while paused time went from %v to %v, %d answers", before, after, len(edge.got))
	}
	must(t, w.Do("", func() { w.SetPace(Pace{Rate: 1}) }))
	must(t, w.Do("", func() {}))
	must(t, w.Do("", func() {}))
	stop()
	if len(edge.got) != 1 {
		t.Errorf("after the pause there are %d answers", len(edge.got))
	}
}

// What a person says behind a pause, in the same turn, is done at once; a session that ends while
// time stands still runs again without what was due.
func TestCommandsBehindAPauseAreDoneAtOnce(t *testing.T) {
	log := NewInputLog(1 << 20)
	live, first := two(t, Config{Seed: 3, Live: true, Recorder: log})
	stop := running(live)
	var did []string
	command := func(text string, run func()) Inbound {
		return Inbound{kind: inboundCommand, text: text, run: func() {
			did = append(did, text)
			if run != nil {
				run()
			}
		}}
	}
	edge := &answers{}
	ended := make(chan struct{})
	live.Post(ConnectedIn(2, event.FirstOutside, "127.0.0.1:1"),
		command("pause", func() { live.SetPace(Pace{Rate: 1, Paused: true}) }),
		CallIn(2, event.FirstOutside, "Echo", 1, []byte{1}, edge, 1),
		command("work", func() { startWork(live) }),
		command("step", func() { live.Step(); live.Step() }),
		command("end", func() { live.End(); close(ended) }),
		command("late", nil))
	<-ended
	stop()
	if !slices.Equal(did, []string{"pause", "work", "step", "end"}) {
		t.Errorf("done were %v", did)
	}
	again, second := two(t, Config{Seed: 3})
	bytes, _ := log.Bytes()
	err := again.Rerun(bytes, Rerun{
		Parse: func(raw []byte) (string, any, error) { return "Echo", int(raw[0]), nil },
		Command: func(text string) {
			switch text {
			case "work":
				startWork(again)
			case "end":
				again.End()
			}
		},
	})
	if err != nil || !slices.Equal(first.lines, second.lines) {
		t.Errorf("%v:\n%v\nlive, and again\n%v", err, first.lines, second.lines)
	}
}
