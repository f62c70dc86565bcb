package world

import "slices"

// itemKind says what falls due.
type itemKind uint8

const (
	itemCall itemKind = iota
	itemResponse
	itemReset
	itemTimer
	itemWork
	itemExpiry
	itemFunc
)

// item is something that happens at a virtual time. Equal times happen in the order of seq, which
// is the order in which they were asked for.
type item struct {
	due    int64
	seq    int64
	arming int64
	kind   itemKind
	call   *Call
	timer  *Timer
	work   *workTicket
	conn   *connection
	run    func()
}

// queue holds what falls due: what is due now in a ring, what comes later in a heap. The ring spares
// the heap the messages of latency zero, which are nearly all in live mode.
type queue struct {
	ready []item
	first int
	heap  []item
	seq   int64
}

func (q *queue) push(it item, now int64) {
	q.seq++
	it.seq = q.seq
	if it.due <= now {
		it.due = now
		q.ready = append(q.ready, it)
		return
	}
	q.heap = append(q.heap, it)
	q.up(len(q.heap) - 1)
}

// next says when the earliest item is due.
func (q *queue) next() (due int64, ok bool) {
	if q.first < len(q.ready) {
		return q.ready[q.first].due, true
	}
	if len(q.heap) > 0 {
		return q.heap[0].due, true
	}
	return 0, false
}

// pop takes the earliest item. What the heap holds for an instant was asked for before anything
// that the ring holds for it, so the smaller seq wins.
func (q *queue) pop() item {
	if q.first < len(q.ready) {
		r := &q.ready[q.first]
		if len(q.heap) == 0 || !before(&q.heap[0], r) {
			it := *r
			*r = item{}
			q.first++
			if q.first == len(q.ready) {
				q.ready, q.first = q.ready[:0], 0
			}
			return it
		}
	}
	it := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap[last] = item{}
	q.heap = q.heap[:last]
	q.down(0)
	return it
}

// forget drops what an ended incarnation had asked to happen later, and with it all that this holds:
// some timers are set for ten minutes, and an incarnation's logs would stay in memory as long.
func (q *queue) forget(env *Env) {
	q.heap = slices.DeleteFunc(q.heap, func(it item) bool {
		return it.timer != nil && it.timer.env == env || it.work != nil && it.work.env == env
	})
	for i := len(q.heap)/2 - 1; i >= 0; i-- {
		q.down(i)
	}
}

// timersOf lists an incarnation's armed timers that are not due yet, in the order in which they
// will be.
func (q *queue) timersOf(env *Env) []*Timer {
	var items []item
	for i := range q.heap {
		if t := q.heap[i].timer; t != nil && t.env == env && t.armed == q.heap[i].arming {
			items = append(items, q.heap[i])
		}
	}
	slices.SortFunc(items, func(a, b item) int {
		if before(&a, &b) {
			return -1
		}
		return 1
	})
	timers := make([]*Timer, len(items))
	for i := range items {
		timers[i] = items[i].timer
	}
	return timers
}

func before(a, b *item) bool {
	if a.due != b.due {
		return a.due < b.due
	}
	return a.seq < b.seq
}

func (q *queue) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !before(&q.heap[i], &q.heap[parent]) {
			return
		}
		q.heap[i], q.heap[parent] = q.heap[parent], q.heap[i]
		i = parent
	}
}

func (q *queue) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(q.heap); child++ {
			if before(&q.heap[child], &q.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}
