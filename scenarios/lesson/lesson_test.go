package lesson

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"highwater/cluster/event"
	"highwater/scenarios"
	"highwater/viz/hub"
)

func start(t *testing.T, name string) (*Lessons, *Lesson) {
	t.Helper()
	all := New(slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		if err := all.Close(); err != nil {
			t.Error(err)
		}
	})
	l, err := all.Start(name)
	if err != nil {
		t.Fatal(err)
	}
	return all, l
}

// next runs the next step, which must hold.
func next(t *testing.T, l *Lesson) State {
	t.Helper()
	s, err := l.Next(-1)
	if err != nil {
		t.Fatal(err)
	}
	if s.Failure != "" {
		t.Fatalf("step %d: %s", s.Done, s.Failure)
	}
	return s
}

func toEnd(t *testing.T, l *Lesson) State {
	t.Helper()
	var s State
	for range l.Scenario().Steps {
		s = next(t, l)
	}
	return s
}

func traceOf(t *testing.T, h *hub.Hub, to event.Seq) string {
	t.Helper()
	var b bytes.Buffer
	if err := h.WriteTrace(&b, 1, to); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestEveryLessonRecordsTheSameTraceAsTheScenarioRunHeadless(t *testing.T) {
	for _, name := range scenarios.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, l := start(t, name)
			last := toEnd(t, l)
			to := last.Steps[last.Done-1].To

			whole := hub.New(hub.Config{})
			defer whole.Close()
			report, err := scenarios.Play(context.Background(), l.Scenario(),
				scenarios.Options{Events: whole})
			if err != nil || !report.OK {
				t.Fatalf("%v %+v", err, report)
			}
			_, mine, _ := strings.Cut(traceOf(t, l.Hub(), to), "\n") // headers name the run
			_, theirs, _ := strings.Cut(traceOf(t, whole, to), "\n")
			if mine != theirs {
				t.Errorf("the lesson's %d events differ from those of the run", to)
			}
		})
	}
}

func TestStepsFollowEachOtherWithoutAGapInTheirEvents(t *testing.T) {
	_, l := start(t, "kill-leader")
	s := toEnd(t, l)
	end := s.Booted.To
	if s.Booted.From != 1 || end == 0 {
		t.Errorf("booted with %v", s.Booted)
	}
	for i, step := range s.Steps {
		if step.From != end+1 || step.To < step.From || step.Status != "held" || step.Seen == "" {
			t.Errorf("step %d: %+v after event %d", i, step, end)
		}
		end = step.To
	}
	if _, last := l.Hub().Range(); last != end {
		t.Errorf("the last step ended with event %d, the world with %d: time ran between steps", end,
			last)
	}
	if _, err := l.Next(-1); !errors.Is(err, errOver) {
		t.Errorf("past the end: %v", err)
	}
}

func TestTwoWhoAskForTheSameStepRunItOnce(t *testing.T) {
	_, l := start(t, "kill-leader")
	for range 2 {
		s, err := l.Next(0)
		if err != nil || s.Done != 1 {
			t.Errorf("%v, %d steps done", err, s.Done)
		}
	}
}

func TestResetBeginsAgainWithTheSameEvents(t *testing.T) {
	_, l := start(t, "kill-leader")
	first := toEnd(t, l)
	to := first.Steps[first.Done-1].To
	before := traceOf(t, l.Hub(), to)
	s, err := l.Reset()
	if err != nil || s.Done != 0 {
		t.Fatalf("%v, %d steps done", err, s.Done)
	}
	toEnd(t, l)
	if after := traceOf(t, l.Hub(), to); after != before {
		t.Error("the same seed gave other events")
	}
}

func TestFreePlayBeginsWhereTheStepEndedAndIsSavedAsAScenarioThatHolds(t *testing.T) {
	all, l := start(t, "kill-leader")
	for range 3 {
		next(t, l)
	}
	end := l.State().Steps[2].To
	free, err := all.Free(l.ID(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if traceOf(t, free.Hub(), end) == "" || strings.SplitN(traceOf(t, free.Hub(), end), "\n", 2)[1] !=
		strings.SplitN(traceOf(t, l.Hub(), end), "\n", 2)[1] {
		t.Error("free play did not begin where the lesson's step ended")
	}
	if _, err := free.Next(-1); !errors.Is(err, errFree) {
		t.Errorf("a step in free play: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, each := range []struct {
		text  string
		fails bool
	}{{`kill 3`, false}, {`kill 3`, true}, {`slow 1`, false}, {`kil 2`, true}, {`topic orders`, true},
		{`expect count("orders-0") == 7`, true}, {`sleep 120ms`, false},
		{`send orders key="a b" value=x acks=1 # mine`, false}, {`restart 3`, false}} {
		if _, _, err := free.Live().Command(ctx, each.text, "page"); (err != nil) != each.fails {
			t.Errorf("%s: %v", each.text, err)
		}
	}
	saved := free.Save()
	s, mistakes := scenarios.ParseScenario("saved.md", saved)
	if len(mistakes) > 0 {
		t.Fatalf("%v\n%s", mistakes, saved)
	}
	text := string(saved)
	for _, part := range []string{"kill 3\n", "topic orders -> TOPIC_ALREADY_EXISTS", "# failed (",
		`key="a b" value=x acks=1` + "\n", "restart 3\n", "seed: 13\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	if strings.Contains(text, "slow") || strings.Contains(text, "kil 2") {
		t.Errorf("it keeps what did nothing to the cluster:\n%s", text)
	}
	report, err := scenarios.Play(ctx, s, scenarios.Options{})
	if err != nil || !report.OK {
		t.Errorf("saved, it fails: %v %+v\n%s", err, report, text)
	}
}

func TestTheWorldUsedLeastLatelyMakesRoomForTheNext(t *testing.T) {
	all, oldest := start(t, "kill-leader")
	watched := oldest.Hub().Watch(0, "")
	defer watched.Close()
	var second *Lesson
	for i := range WorldsMax {
		l, err := all.Start("kill-leader")
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			second = l
		}
	}
	if _, err := all.Find(oldest.ID()); err != nil {
		t.Errorf("the world that somebody watches was closed: %v", err)
	}
	var gone *GoneError
	if _, err := all.Find(second.ID()); !errors.As(err, &gone) || !gone.Closed {
		t.Errorf("the world that nobody used: %v", err)
	}
	if _, err := second.Next(-1); !errors.As(err, &gone) {
		t.Errorf("a step in a closed world: %v", err)
	}
	if err := second.Ready(); len(err) == 0 {
		t.Error("a closed world is ready")
	}
	if _, err := all.Find("kill-leader-99"); !errors.As(err, &gone) || gone.Closed {
		t.Errorf("a world that never was: %v", err)
	}
	if n := len(all.List()); n != WorldsMax {
		t.Errorf("%d worlds are open", n)
	}
}
