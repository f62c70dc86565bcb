package world

import (
	"time"

	"highwater/cluster/event"
)

// workTicket is something a node asked for that takes real time: a sync, a cold read, a Raft round.
type workTicket struct {
	id     int64
	env    *Env
	name   string
	cause  event.Seq
	result any
	done   func(any)
}

// Work runs f, which may take real time and must not touch what the loop owns, and then done
// with its result on the loop. In virtual time f runs at once, the world standing still, and done
// comes after cost; in live mode f runs beside the loop and cost is not used.
func (e *Env) Work(name string, cost time.Duration, f func() any, done func(any)) {
	w := e.world
	if e.dead {
		return
	}
	t := &workTicket{id: w.NextID(), env: e, name: name, cause: e.Events.Cause, done: done}
	if w.replaying {
		t.result = f()
		w.works[t.id] = t
		return
	}
	if !w.config.Live {
		t.result = f()
		w.push(item{due: w.now + int64(cost), kind: itemWork, work: t})
		return
	}
	w.works[t.id] = t
	go func() {
		result := f()
		w.mail.post(Inbound{kind: inboundWork, id: t.id, result: result})
	}()
}

// complete hands a ticket's result to its node.
func (w *World) complete(it item) {
	t := it.work
	if t.env.dead {
		return
	}
	if t.env.node.paused {
		t.env.node.parked = append(t.env.node.parked, it)
		return
	}
	t.env.Events.Cause = t.cause
	w.guard(t.env, func() { t.done(t.result) })
}
