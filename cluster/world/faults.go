package world

import (
	"time"

	"highwater/cluster/event"
)

// SetClock makes a node's own clock run at a rate, in permille of the world's, and puts its wall
// clock off by an offset from the world's time as it is now, whatever rates gained before. Steady
// time never jumps: only timestamps see the offset. Timers that are armed fire by the new rate.
func (w *World) SetClock(id event.NodeID, offset time.Duration, ratePermille int32) {
	n := w.nodes[id]
	if n == nil || ratePermille <= 0 {
		return
	}
	changed := n.clock.rate != int64(ratePermille)
	n.clock.shown = n.clock.read(w.now)
	n.clock.since = w.now
	n.clock.rate = int64(ratePermille)
	n.clock.offset = w.now + int64(offset) - n.clock.shown
	em := event.NewEmitter(w.log, &w.now, id)
	em.Cause = w.emitter.Cause
	event.NodeClockChanged{Offset: int64(offset), RatePermille: ratePermille}.
		Emit(em, event.RuleNone)
	if changed && n.env != nil {
		for _, t := range w.queue.timersOf(n.env) {
			t.Reset(time.Duration(t.shown) - n.env.Now())
		}
	}
}

// SetLag holds back everything that a node says by so much, as a slow disk does under a node that
// says nothing before it has written.
func (w *World) SetLag(id event.NodeID, lag time.Duration) {
	if n := w.nodes[id]; n != nil {
		n.lag = lag
	}
}

// NodeEvents is an emitter that speaks for a node whether it runs or not, for facts about the
// node that its surroundings state.
func (w *World) NodeEvents(id event.NodeID) *event.Emitter {
	em := event.NewEmitter(w.log, &w.now, id)
	em.Cause = w.emitter.Cause
	return em
}
