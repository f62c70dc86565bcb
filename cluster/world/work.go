package world

import (
	"sync"
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
	e.works.add(func() {
		w.mail.post(Inbound{kind: inboundWork, id: t.id, result: f()})
	})
	if w.anyLag() {
		// A disk fails once for all that use it: what the work meets must not be met by the loop, or
		// be met by it before, at a moment of the wall clock.
		e.AwaitWork()
	}
}

// AwaitWork waits until everything that the node asked for has been done, though nobody was told
// yet. Whoever ends an incarnation calls it first, so that what is on its disk does not depend on
// how fast this machine is; so does a node before it writes on the loop what work may be writing.
func (e *Env) AwaitWork() { e.works.await() }

// AwaitWork is the node's AwaitWork; a node that is down has none.
func (w *World) AwaitWork(id event.NodeID) {
	if n := w.nodes[id]; n != nil && n.env != nil {
		n.env.AwaitWork()
	}
}

// AwaitAllWork is every node's AwaitWork. Whoever changes what work may find, as a disk's faults,
// calls it first: in a re-run all work is done when it is asked for.
func (w *World) AwaitAllWork() {
	for _, id := range w.order {
		w.AwaitWork(id)
	}
}

// worker does the work of one incarnation beside the loop, in the order in which it was asked for.
type worker struct {
	mu      sync.Mutex
	waiting []func()
	running bool
	idle    sync.Cond // of mu; told when running ends
}

func newWorker() *worker {
	k := &worker{}
	k.idle.L = &k.mu
	return k
}

func (k *worker) add(work func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiting = append(k.waiting, work)
	if !k.running {
		k.running = true
		go k.run()
	}
}

func (k *worker) run() {
	for {
		k.mu.Lock()
		if len(k.waiting) == 0 {
			k.running = false
			k.idle.Broadcast()
			k.mu.Unlock()
			return
		}
		work := k.waiting[0]
		k.waiting[0] = nil
		k.waiting = k.waiting[1:]
		k.mu.Unlock()
		work()
	}
}

func (k *worker) await() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.running {
		k.idle.Wait()
	}
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
