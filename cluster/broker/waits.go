package broker

import (
	"container/heap"
	"time"

	"highwater/cluster/event"
	"highwater/cluster/partition"
	"highwater/cluster/world"
)

// waiter is a request that waits for something or for its time to pass.
type waiter interface {
	// expired answers the request because its time has passed.
	expired()
}

// pendingWait is a waiter's place in the set.
type pendingWait struct {
	waiter waiter
	id     int64
	due    int64 // virtual ns
	at     int   // in the heap, -1 outside
	idle   bool
	began  event.Seq
	told   []int64 // a wait for each of what it waits for, 0 where that ended
	one    [1]int64
}

// waitSet holds all waiting requests of a broker by their deadlines, under one timer: a timer each
// would fill the world's queue with entries of requests that were answered long ago.
type waitSet struct {
	b     *Broker
	heap  waitHeap
	timer *world.Timer
}

type waitHeap []*pendingWait

func (h waitHeap) Len() int { return len(h) }
func (h waitHeap) Less(i, j int) bool {
	return h[i].due < h[j].due || h[i].due == h[j].due && h[i].id < h[j].id
}
func (h waitHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}
func (h *waitHeap) Push(x any) {
	w := x.(*pendingWait)
	w.at = len(*h)
	*h = append(*h, w)
}
func (h *waitHeap) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	w.at = -1
	return w
}

func (s *waitSet) init(b *Broker) { s.b = b }

// begin adds a waiter and says so, of each thing that it waits for.
func (s *waitSet) begin(w *pendingWait, limit time.Duration, what ...event.WaitBegan) {
	env := s.b.env
	w.due = env.VirtualDue(limit)
	w.idle = what[0].Idle
	w.told = w.one[:0]
	for i := range what {
		what[i].Wait, what[i].Due = env.NextID(), w.due
		w.told = append(w.told, what[i].Wait)
		if began := what[i].Emit(env.Events, event.RuleNone); i == 0 {
			w.began = began
		}
	}
	w.id = w.told[0]
	heap.Push(&s.heap, w)
	s.arm()
}

// endOf says how one of the things that a waiter waits for ended, counted as they began; it waits
// on for the others.
func (s *waitSet) endOf(w *pendingWait, i int, outcome string) {
	if i < len(w.told) && w.told[i] != 0 {
		event.WaitEnded{Wait: w.told[i], Outcome: outcome, Idle: w.idle}.
			Emit(s.b.env.Events, event.RuleNone)
		w.told[i] = 0
	}
}

// end takes a waiter out, if it is still in, and says how its wait ended.
func (s *waitSet) end(w *pendingWait, outcome string) {
	if w.id == 0 {
		return
	}
	if w.at >= 0 && w.at < len(s.heap) && s.heap[w.at] == w {
		heap.Remove(&s.heap, w.at)
	}
	for i := range w.told {
		s.endOf(w, i, outcome)
	}
	w.id = 0
}

func (s *waitSet) arm() {
	if len(s.heap) == 0 || s.timer.Armed() && s.timer.Due() <= s.heap[0].due {
		return
	}
	in := s.b.env.Until(s.heap[0].due)
	if s.timer == nil {
		s.timer = s.b.env.AfterQuiet("waits", in, s.expire)
		return
	}
	s.timer.Reset(in)
}

func (s *waitSet) expire() {
	now := s.b.env.VirtualNow()
	for len(s.heap) > 0 && s.heap[0].due <= now {
		w := s.heap[0].waiter
		s.b.env.Events.Cause = s.heap[0].began
		w.expired()
	}
	s.arm()
}

// wakeList collects whose waiting fetches to look at again at the turn's end, so that one answer
// carries all that the turn brought.
type wakeList struct {
	followers []*followerSession
	fetches   []*fetchWait
	armed     bool
	// The spares are the memory of the turn before.
	spareFollowers []*followerSession
	spareFetches   []*fetchWait
}

func (b *Broker) armWake() {
	if !b.wake.armed {
		b.wake.armed = true
		b.env.AtTurnEnd(b.hooks.wakeUp)
	}
}

func (b *Broker) wakeUp() {
	followers, fetches := b.wake.followers, b.wake.fetches
	b.wake = wakeList{followers: b.wake.spareFollowers[:0], fetches: b.wake.spareFetches[:0]}
	for _, s := range followers {
		s.woken = false
		b.answerFollower(s, false)
	}
	for _, f := range fetches {
		f.woken = false
		f.tryAnswer()
	}
	clear(followers)
	clear(fetches)
	b.wake.spareFollowers, b.wake.spareFetches = followers, fetches
}

// LogEndMoved, of partition.Host, wakes the followers that wait for this partition.
func (b *Broker) LogEndMoved(p *partition.Partition) {
	for _, id := range p.Replicas() {
		s := b.followers[id]
		if s == nil {
			continue
		}
		s.grew(p)
		if s.call != nil && !s.woken {
			s.woken = true
			b.wake.followers = append(b.wake.followers, s)
			b.armWake()
		}
	}
}

// HighWatermarkMoved, of partition.Host, wakes the clients that wait for this partition, and has
// followers told with their next answer.
func (b *Broker) HighWatermarkMoved(p *partition.Partition) {
	if p.Leads() {
		for _, id := range p.Replicas() {
			if s := b.followers[id]; s != nil {
				s.rose(p)
			}
		}
	}
	h := b.held(p.Topic, p.Index)
	if h == nil {
		return
	}
	for _, f := range h.fetches {
		if !f.woken {
			f.woken = true
			b.wake.fetches = append(b.wake.fetches, f)
			b.armWake()
		}
	}
}
