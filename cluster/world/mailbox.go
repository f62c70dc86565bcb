package world

import (
	"slices"
	"sync"
	"time"

	"highwater/cluster/event"
)

type inboundKind uint8

const (
	inboundCall inboundKind = iota
	inboundConnected
	inboundDisconnected
	inboundWork
	inboundCommand
)

// Inbound is something that comes into the world from outside.
type Inbound struct {
	kind       inboundKind
	node       event.NodeID
	connection event.NodeID
	api        string
	text       string // of a command; of a connection its address, or why it ended
	body       any
	raw        []byte
	responder  Responder
	token      int64
	id         int64
	result     any
	run        func()
	ahead      time.Duration // of a call: see Call
}

// CallIn is a request from an outside connection. raw is what an input log keeps of it; responder
// gets the answer, on the loop.
func CallIn(node, connection event.NodeID, api string, body any, raw []byte,
	responder Responder, token int64) Inbound {
	return Inbound{kind: inboundCall, node: node, connection: connection, api: api, body: body,
		raw: raw, responder: responder, token: token}
}

// ConnectedIn says that an outside client opened a connection to a node.
func ConnectedIn(node, connection event.NodeID, address string) Inbound {
	return Inbound{kind: inboundConnected, node: node, connection: connection, text: address}
}

// DisconnectedIn says that an outside connection is closed.
func DisconnectedIn(node, connection event.NodeID, reason string) Inbound {
	return Inbound{kind: inboundDisconnected, node: node, connection: connection, text: reason}
}

// mailbox collects what other goroutines bring until the loop takes it all at once. It also says
// whose the loop is: while waiting holds it is nobody's, and whoever clears that runs the next turn
// or wakes the loop's own goroutine to run it.
type mailbox struct {
	mu      sync.Mutex
	filled  []Inbound
	spare   []Inbound
	waiting bool // the loop's goroutine sleeps, and nobody else runs a turn
	overdue bool // it has slept long enough, but somebody else runs a turn
	signal  chan struct{}
	timer   *time.Timer
}

func (m *mailbox) init() {
	m.signal = make(chan struct{}, 1)
	m.timer = time.NewTimer(time.Hour)
	m.timer.Stop()
}

func (m *mailbox) post(in ...Inbound) {
	m.mu.Lock()
	m.filled = append(m.filled, in...)
	wake := m.waiting
	m.waiting = false
	m.mu.Unlock()
	if wake {
		m.signal <- struct{}{}
	}
}

// claim posts, and makes the loop the caller's if it was nobody's; then taken is what to run, and
// release must follow.
func (m *mailbox) claim(in []Inbound) (taken []Inbound, claimed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.filled = append(m.filled, in...)
	if !m.waiting {
		return nil, false
	}
	m.waiting = false
	return m.swap(), true
}

// release ends what claim began. The loop's goroutine sleeps on unless it is needed.
func (m *mailbox) release(needed bool) {
	m.mu.Lock()
	needed = needed || m.overdue || len(m.filled) > 0
	m.waiting = !needed
	m.mu.Unlock()
	if needed {
		m.signal <- struct{}{}
	}
}

// take returns all that came in, and waits up to limit for the first of it. A negative limit waits
// without end. The slice is valid until the next take. The loop is the caller's from then on.
func (m *mailbox) take(limit time.Duration, stop <-chan struct{}) []Inbound {
	m.mu.Lock()
	if len(m.filled) == 0 && limit != 0 {
		m.waiting, m.overdue = true, false
		m.mu.Unlock()
		m.sleep(limit, stop)
		m.mu.Lock()
	}
	defer m.mu.Unlock()
	return m.swap()
}

// takeWork returns the work that was done, and leaves what else came in.
func (m *mailbox) takeWork() (done []Inbound) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.filled = slices.DeleteFunc(m.filled, func(in Inbound) bool {
		if in.kind != inboundWork {
			return false
		}
		done = append(done, in)
		return true
	})
	return done
}

func (m *mailbox) swap() []Inbound {
	taken := m.filled
	clear(m.spare)
	m.filled, m.spare = m.spare[:0], taken
	return taken
}

// sleep returns when somebody needs the loop's goroutine, or after limit.
func (m *mailbox) sleep(limit time.Duration, stop <-chan struct{}) {
	var due <-chan time.Time
	if limit > 0 {
		m.timer.Reset(limit)
		defer m.timer.Stop()
		due = m.timer.C
	}
	select {
	case <-m.signal:
		return
	case <-due:
	case <-stop:
	}
	m.mu.Lock()
	mine := m.waiting
	m.waiting, m.overdue = false, true
	m.mu.Unlock()
	if !mine { // who has it will give it back
		<-m.signal
	}
}

// Post brings something into the world. Any goroutine may call it; one call for all frames of a
// socket read costs one wake-up.
func (w *World) Post(in ...Inbound) { w.mail.post(in...) }

// PostAndRun is Post for a caller that may take the time of a turn: while the loop sleeps the turn
// runs here, and nobody has to be woken for it.
func (w *World) PostAndRun(in ...Inbound) {
	taken, claimed := w.mail.claim(in)
	if !claimed {
		return
	}
	w.timedTurn(taken)
	due, some := w.queue.next()
	w.mail.release(some && due < w.pace.alarm)
}

// Do runs f on the loop and waits for it. Any goroutine but the loop's may call it. A text makes
// it part of the input log, to be run again by whoever re-runs the log.
func (w *World) Do(text string, f func()) error {
	finished := make(chan struct{})
	w.mail.post(Inbound{kind: inboundCommand, text: text, run: func() {
		defer close(finished)
		f()
	}})
	select {
	case <-finished:
		return nil
	case <-w.pace.stopped:
		return ErrStopped
	}
}
