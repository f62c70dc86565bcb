package world

import (
	"context"
	"errors"
	"math"
	"time"

	"highwater/cluster/event"
)

// ErrStopped says that the world's loop no longer runs.
var ErrStopped = errors.New("world: the loop has stopped")

// Pace is how virtual time meets the wall clock.
type Pace struct {
	// Rate is virtual seconds a second: 1 is live, 0.25 four times slower.
	Rate float64
	// Paused stops virtual time; what comes in from outside waits for a step or the end of it.
	Paused bool
}

// pacer maps the wall clock to virtual time. Only the loop touches it, but for stopped.
type pacer struct {
	pace    Pace
	wall    time.Time // when the pace was set
	virtual int64     // virtual time then
	stopped chan struct{}
	waiting []Inbound // what came in while paused
	over    bool      // this turn is the last
	alarm   int64     // the virtual time until which the loop's goroutine sleeps
	busy    time.Duration
	onPace  func(Pace)
}

func (p *pacer) init() {
	p.pace = Pace{Rate: 1}
	p.stopped = make(chan struct{})
}

// Pace returns how virtual time runs now.
func (w *World) Pace() Pace { return w.pace.pace }

// SetPace changes how virtual time runs from now on.
func (w *World) SetPace(pace Pace) {
	if pace.Rate <= 0 {
		pace.Rate = 1
	}
	w.pace.wall = time.Now()
	w.pace.virtual = w.now
	w.pace.pace = pace
	w.pace.alarm = math.MaxInt64 // it stood for another moment of the wall clock
	if w.pace.onPace != nil {
		w.pace.onPace(pace)
	}
}

// OnPace calls f on the loop whenever the pace changes.
func (w *World) OnPace(f func(Pace)) { w.pace.onPace = f }

// target is the virtual time that the wall clock asks for.
func (p *pacer) target(wall time.Time) int64 {
	return p.virtual + int64(float64(wall.Sub(p.wall))*p.pace.Rate)
}

// wait says how long the loop may sleep until due; a negative value is without end.
func (p *pacer) wait(due int64, some bool) time.Duration {
	if p.pace.Paused || !some {
		return -1
	}
	ahead := float64(due-p.virtual)/p.pace.Rate - float64(time.Since(p.wall))
	return max(0, time.Duration(ahead))
}

// Run is the loop of a world that meets the wall clock. It returns when ctx ends.
func (w *World) Run(ctx context.Context) {
	defer close(w.pace.stopped)
	w.SetPace(w.pace.pace)
	for ctx.Err() == nil {
		due, some := w.queue.next()
		limit := w.pace.wait(due, some)
		w.pace.alarm = math.MaxInt64
		if limit >= 0 {
			w.pace.alarm = due
		}
		if !w.pace.pace.Paused && len(w.pace.waiting) > 0 {
			limit = 0
		}
		w.timedTurn(w.mail.take(limit, ctx.Done()))
	}
}

func (w *World) timedTurn(in []Inbound) {
	began := time.Now()
	w.turn(in, began)
	w.pace.busy += time.Since(began)
}

// End makes the turn that runs the last one of a live world: what is due later, or came in behind,
// does not happen. Only the loop calls it.
func (w *World) End() { w.pace.over = true }

// Busy is how long the loop has worked since it began; read it on the loop.
func (w *World) Busy() time.Duration { return w.pace.busy }

// turn is one round of the live loop: what is due by the wall clock, then what came in.
func (w *World) turn(in []Inbound, wall time.Time) {
	if w.pace.over {
		return
	}
	if w.pace.pace.Paused {
		w.pausedTurn(in)
		return
	}
	w.settle() // what was left while time stood still
	target := max(w.pace.target(wall), w.now)
	w.RunUntil(time.Duration(target))
	waiting := w.pace.waiting
	if len(in)+len(waiting) == 0 {
		return
	}
	w.pace.waiting = nil
	w.now++ // an instant of its own, so that a re-run cannot mix it with what was due before
	ahead := w.ahead(wall)
	for i := range waiting {
		waiting[i].ahead = ahead
		w.enter(&waiting[i])
	}
	for i := range in {
		if w.pace.over {
			break
		}
		if w.pace.pace.Paused && in[i].kind != inboundCommand { // a command stopped time
			w.pace.waiting = append(w.pace.waiting, in[i])
			continue
		}
		in[i].ahead = ahead
		w.enter(&in[i])
	}
	if !w.pace.pace.Paused && !w.pace.over {
		w.settle()
	}
	w.endTurn()
}

// ahead is how far the wall clock is ahead of the world's, in whole milliseconds.
func (w *World) ahead(wall time.Time) time.Duration {
	return max(0, wall.Sub(w.config.Origin.Add(time.Duration(w.now)))).Truncate(time.Millisecond)
}

// pausedTurn lets commands through and keeps the rest.
func (w *World) pausedTurn(in []Inbound) {
	ran := false
	for i := range in {
		if w.pace.over {
			break
		}
		if in[i].kind != inboundCommand {
			w.pace.waiting = append(w.pace.waiting, in[i])
			continue
		}
		w.enter(&in[i])
		ran = true
	}
	if ran {
		w.endTurn()
	}
}

// somethingWaits says whether anything came in while time stood still. Work that was asked for is
// done first: steps go through virtual time faster than a disk or a Raft round works.
func (w *World) somethingWaits() bool {
	if len(w.pace.waiting) == 0 && len(w.works) > 0 {
		w.AwaitAllWork()
		w.pace.waiting = w.mail.takeWork()
	}
	return len(w.pace.waiting) > 0
}

// admit lets in the first of what waits, in an instant of its own. It says whether that is a step
// by itself; else what it brought is due now.
func (w *World) admit() bool {
	in := w.pace.waiting[0]
	w.pace.waiting = w.pace.waiting[1:]
	w.now++
	in.ahead = w.ahead(time.Now())
	w.enter(&in)
	if due, some := w.queue.next(); some && due <= w.now {
		return false
	}
	w.settle()
	w.endTurn()
	return in.kind == inboundConnected || in.kind == inboundDisconnected
}

// enter makes something from outside happen now.
func (w *World) enter(in *Inbound) {
	w.config.Recorder.add(w, in)
	switch in.kind {
	case inboundCall:
		w.enterCall(in)
	case inboundConnected:
		w.withNode(in.node, func(env *Env) {
			event.ClientConnected{Connection: in.connection, Address: in.text}.
				Emit(env.Events, event.RuleNone)
			if greeter, greets := env.state.(Greeter); greets {
				w.guard(env, func() { greeter.Connected(in.connection, in.text) })
			}
		})
	case inboundDisconnected:
		n, connection, reason := w.nodes[in.node], in.connection, in.text
		tell := func() {
			w.withNode(n.spec.ID, func(env *Env) {
				event.ClientDisconnected{Connection: connection, Reason: reason}.
					Emit(env.Events, event.RuleNone)
				w.guard(env, func() { env.state.Disconnected(connection) })
			})
		}
		if n != nil && n.paused { // behind the requests that came before
			n.parked = append(n.parked, item{kind: itemFunc, run: tell})
		} else if n != nil {
			tell()
		}
	case inboundWork:
		if t := w.works[in.id]; t != nil {
			delete(w.works, in.id)
			t.result = in.result
			w.push(item{due: w.now, kind: itemWork, work: t})
		}
	case inboundCommand:
		in.run()
	}
}

func (w *World) withNode(id event.NodeID, f func(*Env)) {
	if n := w.nodes[id]; n != nil && n.env != nil {
		n.env.Events.Cause = 0
		f(n.env)
	}
}

func (w *World) enterCall(in *Inbound) {
	n := w.nodes[in.node]
	if n == nil || n.env == nil {
		return
	}
	call := &Call{From: in.connection, API: in.api, Body: in.body, world: w, to: in.node,
		responder: in.responder, Token: in.token, Ahead: in.ahead}
	it := item{kind: itemCall, call: call}
	if n.paused {
		n.parked = append(n.parked, it)
		return
	}
	it.due = w.now
	w.push(it)
}
