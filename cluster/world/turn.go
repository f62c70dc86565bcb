package world

import (
	"fmt"
	"path"
	"runtime"
	"strings"
	"time"

	"highwater/cluster/event"
)

func (w *World) push(it item) { w.queue.push(it, w.now) }

// RunUntil handles everything due up to and including the virtual time t, instant by instant.
func (w *World) RunUntil(t time.Duration) {
	for {
		due, ok := w.queue.next()
		if !ok || due > int64(t) {
			break
		}
		w.instant(due)
	}
	if int64(t) > w.now {
		w.now = int64(t)
	}
}

// RunFor handles everything due in the next d of virtual time.
func (w *World) RunFor(d time.Duration) { w.RunUntil(time.Duration(w.now) + d) }

// RunWhile runs instant by instant as long as condition holds, at most up to virtual time t. It
// says whether the condition ended before t was reached.
func (w *World) RunWhile(condition func() bool, t time.Duration) bool {
	for condition() {
		due, ok := w.queue.next()
		if !ok || due > int64(t) {
			w.RunUntil(t)
			return !condition()
		}
		w.instant(due)
	}
	return true
}

// instant handles all that is due at one virtual time, what follows from it at the same time
// included, and ends the turn.
func (w *World) instant(due int64) {
	w.now = max(w.now, due)
	w.settle()
	w.endTurn()
}

// instantMax is how much may happen at one virtual time. Two nodes that answer each other without
// time passing would keep the loop there for ever, and its memory would grow until the end.
const instantMax = 1 << 20

// breakSpin takes down the node that the last of too many things at one instant happened to.
func (w *World) breakSpin(it item) {
	var env *Env
	switch {
	case it.timer != nil:
		env = it.timer.env
	case it.work != nil:
		env = it.work.env
	case it.call != nil && w.Alive(it.call.to):
		env = w.nodes[it.call.to].env
	case it.call != nil:
		env = it.call.caller
	}
	reason := fmt.Sprintf("%d things happened at one instant, %d ns", instantMax, w.now)
	if w.config.PanicThrough || env == nil || env.dead {
		panic("world: " + reason)
	}
	env.Fail("invariant", reason)
}

// settle handles what is due now until nothing is, running the turn-end hooks in between: they
// may make more fall due.
func (w *World) settle() {
	happened := 0
	for {
		for {
			due, ok := w.queue.next()
			if !ok || due > w.now {
				break
			}
			it := w.queue.pop()
			w.dispatch(it)
			if happened++; happened%instantMax == 0 {
				w.breakSpin(it)
			}
		}
		if len(w.turnEnd) == 0 {
			return
		}
		hooks := w.turnEnd
		w.turnEnd = nil
		for _, f := range hooks {
			f()
		}
		if w.turnEnd == nil {
			clear(hooks)
			w.turnEnd = hooks[:0]
		}
	}
}

// endTurn publishes the turn's events and lets the edge send its answers.
func (w *World) endTurn() {
	if w.config.TurnEnded != nil {
		w.config.TurnEnded()
	}
	w.publish()
}

// Publish hands on what was emitted so far, in the middle of a turn too. Whoever stops the world
// between two instants to look at it sees all that happened.
func (w *World) Publish() { w.publish() }

func (w *World) publish() {
	if w.log != nil && w.log.Pending() > 0 {
		w.spare = w.config.Events.Publish(w.log.Swap(w.spare))
	}
}

// Step handles exactly one delivery, timer or completion, however far ahead in virtual time it
// is. What came in while time stood still is let in, one after the other, as soon as the instant is
// over. ok is false when nothing is due ever.
func (w *World) Step() (ok bool) {
	for {
		due, some := w.queue.next()
		isOver := !some || due > w.now
		if isOver && len(w.turnEnd) > 0 { // what a command left behind belongs to its moment
			w.settle()
			continue
		}
		if isOver && w.somethingWaits() {
			if w.admit() {
				return true
			}
			continue
		}
		if !some {
			return false
		}
		w.now = max(w.now, due)
		it := w.queue.pop()
		visible := w.visible(&it)
		w.dispatch(it)
		if next, more := w.queue.next(); !more || next > w.now {
			w.settle()
		}
		if visible {
			w.endTurn()
			return true
		}
	}
}

// visible says whether an item is a step of its own for a person: void entries, expiry checks and
// quiet timers are not.
func (w *World) visible(it *item) bool {
	switch it.kind {
	case itemTimer:
		return it.timer.armed == it.arming && !it.timer.quiet && !it.timer.env.dead
	case itemExpiry:
		return false
	case itemCall, itemResponse:
		return it.call.conn == nil || it.call.generation == it.call.conn.generation
	}
	return true
}

// dispatch lets one thing happen.
func (w *World) dispatch(it item) {
	w.dispatched++
	switch it.kind {
	case itemCall:
		w.deliver(it)
	case itemResponse, itemReset:
		w.answer(it)
	case itemTimer:
		w.fire(it)
	case itemWork:
		w.complete(it)
	case itemExpiry:
		w.expire(it.conn, it.due)
	case itemFunc:
		it.run()
	}
}

// deliver hands a request to its node.
func (w *World) deliver(it item) {
	call := it.call
	if call.conn != nil && call.generation != call.conn.generation {
		w.drop(call, call.to, "connection reset")
		return
	}
	n := w.nodes[call.to]
	if n == nil || n.env == nil {
		w.drop(call, call.to, "nobody listens")
		if call.conn != nil {
			w.reset(call.conn, ErrDisconnected, call.sent, w.link(call.to, call.From).latency)
		}
		return
	}
	if n.paused {
		n.parked = append(n.parked, it)
		return
	}
	env := n.env
	env.Events.Cause = call.sent
	if call.conn != nil {
		env.Events.Cause = event.MessageDelivered{Message: call.message, From: call.From,
			Idle: call.idle}.Emit(env.Events, event.RuleNone)
	}
	w.guardDeliver(env, call)
}

func (w *World) drop(call *Call, to event.NodeID, reason string) {
	if call.conn == nil || call.silent {
		return
	}
	w.emitter.Cause = call.sent
	event.MessageDropped{Message: call.message, From: call.From, To: to, Reason: reason}.
		Emit(w.emitter, event.RuleNone)
	w.emitter.Cause = 0
}

// answer ends a request at its sender, with a response or an error.
func (w *World) answer(it item) {
	call := it.call
	env := call.caller
	if it.kind == itemResponse && call.generation != call.conn.generation {
		w.drop(call, call.From, "connection reset")
		return
	}
	if env.dead {
		return
	}
	if env.node.paused {
		env.node.parked = append(env.node.parked, it)
		return
	}
	env.Events.Cause = call.sent
	if it.kind == itemResponse {
		call.conn.forget(call)
	}
	if it.kind == itemResponse && !call.silent {
		env.Events.Cause = event.MessageDelivered{Message: call.message, From: call.to,
			Idle: call.idle}.Emit(env.Events, event.RuleNone)
	}
	done := call.done
	call.done = nil
	w.guardAnswer(env, done, call)
}

func (conn *connection) forget(call *Call) {
	for i, c := range conn.pending {
		if c == call {
			copy(conn.pending[i:], conn.pending[i+1:])
			last := len(conn.pending) - 1
			conn.pending[last] = nil
			conn.pending = conn.pending[:last]
			return
		}
	}
}

func (w *World) fire(it item) {
	t := it.timer
	if t.env.dead || t.armed != it.arming {
		return
	}
	if t.env.node.paused {
		t.env.node.parked = append(t.env.node.parked, it)
		return
	}
	id := t.id
	t.id = 0
	t.env.Events.Cause = t.cause
	if !t.quiet {
		t.env.Events.Cause = event.TimerFired{Timer: id, Name: t.name}.
			Emit(t.env.Events, event.RuleNone)
	}
	w.guard(t.env, t.f)
}

// guard runs a node's code so that its panic takes down that node alone, visibly.
func (w *World) guard(env *Env, f func()) {
	if !w.config.PanicThrough {
		defer w.rescue(env)
	}
	f()
}

func (w *World) guardDeliver(env *Env, call *Call) {
	if !w.config.PanicThrough {
		defer w.rescue(env)
	}
	env.state.Deliver(call)
}

func (w *World) guardAnswer(env *Env, done func(any, error), call *Call) {
	if !w.config.PanicThrough {
		defer w.rescue(env)
	}
	done(call.response, call.err)
}

// Guard runs what somebody outside of the queue, such as a command, does within a node.
func (w *World) Guard(id event.NodeID, f func()) {
	n := w.nodes[id]
	if n == nil || n.env == nil {
		f()
		return
	}
	w.guard(n.env, f)
}

func (w *World) rescue(env *Env) {
	if cause := recover(); cause != nil {
		env.Fail("invariant", fmt.Sprintf("%v, in %s", cause, panicked()))
	}
}

// panickedMax is how many callers a reason names.
const panickedMax = 6

// panicked names the code that a panic came from, the innermost first and without addresses: a
// trace of the same seed says the same again.
func panicked() string {
	var counters [64]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(1, counters[:])])
	var names []string
	panics := false
	for more := true; more && len(names) < panickedMax; {
		var f runtime.Frame
		f, more = frames.Next()
		name := strings.TrimPrefix(f.Function, "highwater/")
		name = strings.TrimPrefix(name, "cluster/")
		switch {
		case name == "runtime.gopanic":
			panics = true
		case strings.HasPrefix(name, "world.(*World).guard"):
			more = false
		case panics && !strings.HasPrefix(name, "runtime."):
			names = append(names, fmt.Sprintf("%s %s:%d", name, path.Base(f.File), f.Line))
		}
	}
	return strings.Join(names, " < ")
}
