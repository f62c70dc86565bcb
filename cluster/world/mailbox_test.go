package world

import (
	"context"
	"sync"
	"testing"
	"time"

	"highwater/cluster/event"
)

// dozer answers a call only when a timer has fired.
type dozer struct{ env *Env }

func (n *dozer) Deliver(call *Call) {
	n.env.After("doze", time.Millisecond, func() { call.Reply(call.Body) })
}

func (n *dozer) Disconnected(event.NodeID) {}

// heard is told of answers on the loop, which needs no lock.
type heard struct {
	answers int
	all     int
	done    chan struct{}
}

func (h *heard) Respond(*Call, any) {
	if h.answers++; h.answers == h.all {
		close(h.done)
	}
}

// dozing is a live world of one dozer.
func dozing(t *testing.T) *World {
	t.Helper()
	w := New(Config{Live: true, PanicThrough: true})
	w.Add(Spec{ID: 1, Start: func(env *Env) (Node, error) { return &dozer{env}, nil }})
	must(t, w.StartNode(1))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return w
}

func doze(i int, to Responder) Inbound {
	return CallIn(1, event.FirstOutside, "Doze", i, nil, to, int64(i))
}

// A turn that ran elsewhere than on the loop's goroutine may have armed a timer, of which that
// goroutine, asleep without end, knows nothing.
func TestTimerFiresThatATurnElsewhereArmed(t *testing.T) {
	w := dozing(t)
	for i := range 50 {
		h := &heard{all: 1, done: make(chan struct{})}
		w.PostAndRun(doze(i, h))
		<-h.done
	}
}

func TestTurnsOfManyGoroutinesRunOneAtATime(t *testing.T) {
	const posters, calls = 4, 300
	w := dozing(t)
	h := &heard{all: posters * calls, done: make(chan struct{})}
	turns := 0 // the race detector watches it
	var posting sync.WaitGroup
	for range posters {
		posting.Go(func() {
			for i := range calls {
				w.PostAndRun(doze(i, h))
				if err := w.Do("", func() { turns++ }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	posting.Wait()
	<-h.done
	if turns != posters*calls {
		t.Errorf("%d commands ran, not %d", turns, posters*calls)
	}
}

// A world that has stopped runs nothing more, whoever posts.
func TestNothingRunsAfterTheLoopHasStopped(t *testing.T) {
	w := New(Config{Live: true, PanicThrough: true})
	w.Add(Spec{ID: 1, Start: func(env *Env) (Node, error) { return &silent{env}, nil }})
	must(t, w.StartNode(1))
	ctx, cancel := context.WithCancel(context.Background())
	h := &heard{all: -1}
	var posting sync.WaitGroup
	for range 3 {
		posting.Go(func() {
			for ctx.Err() == nil {
				w.PostAndRun(doze(0, h))
			}
		})
	}
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	must(t, w.Do("", func() {}))
	cancel()
	running.Wait()
	answers := h.answers // the race detector watches it
	posting.Wait()
	w.PostAndRun(doze(0, h))
	if h.answers != answers {
		t.Errorf("%d calls were answered after the loop had stopped", h.answers-answers)
	}
}
