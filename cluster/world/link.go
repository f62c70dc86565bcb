package world

import (
	"cmp"
	"slices"
	"time"

	"highwater/cluster/event"
)

// link is one direction between two nodes.
type link struct {
	from, to event.NodeID
	latency  time.Duration
	cut      bool
	held     []item // what waits for a cut to heal
}

// connection is what one node's requests to another travel on. A reset ends all requests on it and
// begins a new generation; what is still under way in the old one is void.
type connection struct {
	from, to   event.NodeID
	generation int64
	pending    []*Call // requests without an answer, oldest first
	expiryDue  int64   // when the armed expiry check runs, 0 when none is armed
	// lastDue is when the last request, and the last answer, of this generation arrives: nothing
	// overtakes on a connection.
	lastDue [2]int64
}

// Describer lets a message body tell its event what it carries.
type Describer interface {
	Describe(sent *event.MessageSent)
}

// Nothing answers a call whose caller waits for no answer. No message tells of it: what goes back is
// only the word of the transport that the request arrived.
type Nothing struct{}

// Call is one request and the way its answer goes back.
type Call struct {
	From event.NodeID
	API  string
	Body any
	// Ahead is how far the wall clock was ahead of the world's time when a call came in from
	// outside: as long as time stood still or ran slowly before.
	Ahead time.Duration

	world      *World
	conn       *connection // nil for a call from outside
	generation int64
	caller     *Env
	deadline   int64
	done       func(body any, err error)
	response   any
	err        error
	message    int64 // id of the message under way: the request's, then the response's
	request    int64
	sent       event.Seq
	idle       bool
	answered   bool
	silent     bool // what goes back is no message, and no event tells of it
	to         event.NodeID
	responder  Responder
	// Token is the responder's own, to find what it answers.
	Token int64
}

// Responder carries answers to calls that came from outside.
type Responder interface {
	Respond(call *Call, body any)
}

// Outside says whether the call came from outside the world.
func (c *Call) Outside() bool { return c.responder != nil || c.From >= event.FirstOutside }

// Sent is the event of the message that brought the call, for causes.
func (c *Call) Sent() event.Seq { return c.sent }

// Request sends body to another node. done runs once: with the answer, with ErrDisconnected, or
// with ErrTimedOut after timeout, which also resets the connection, as Kafka's clients do.
func (e *Env) Request(to event.NodeID, api string, body any, timeout time.Duration,
	done func(body any, err error)) {
	w := e.world
	conn := e.node.connectionTo(to)
	call := &Call{From: e.ID(), API: api, Body: body, world: w, conn: conn, to: to,
		generation: conn.generation, caller: e, done: done, deadline: w.now + int64(timeout)}
	conn.pending = append(conn.pending, call)
	w.armExpiry(conn, call.deadline)
	call.request = w.announce(e, call, body, event.MessageSent{To: to, API: api})
	w.send(item{kind: itemCall, call: call}, e.ID(), to)
}

func (n *node) connectionTo(to event.NodeID) *connection {
	conn := n.outgoing[to]
	if conn == nil {
		conn = &connection{from: n.spec.ID, to: to}
		n.outgoing[to] = conn
	}
	return conn
}

// announce gives the message its id and emits MessageSent.
func (w *World) announce(e *Env, call *Call, body any, message event.MessageSent) int64 {
	call.message = w.NextID()
	if e.Events.On() {
		sent := &w.sent // a body's own would be garbage, one a message
		*sent = message
		sent.Message = call.message
		if d, ok := body.(Describer); ok {
			d.Describe(sent)
		}
		call.idle = sent.Idle
		call.sent = sent.Emit(e.Events, event.RuleNone)
	}
	return call.message
}

// Reply answers the call; a second answer, or one to a connection that is gone, goes nowhere.
func (c *Call) Reply(body any) {
	if c.answered {
		return
	}
	c.answered = true
	if c.conn == nil {
		c.respond(body)
		return
	}
	server := c.world.nodes[c.to]
	if server == nil || server.env == nil || c.generation != c.conn.generation {
		return
	}
	c.response = body
	if _, c.silent = body.(Nothing); !c.silent {
		c.world.announce(server.env, c, body,
			event.MessageSent{To: c.From, API: c.API, Answers: c.request})
	}
	c.world.send(item{kind: itemResponse, call: c}, c.to, c.From)
}

// respond gives the answer to the outside, later if the node's disk is slow. In a re-run of outside
// input nobody listens, but what happens is the same.
func (c *Call) respond(body any) {
	w := c.world
	if lag := w.lagOf(c.to); lag > 0 {
		w.push(item{due: w.now + lag, kind: itemFunc, run: func() { c.hand(body) }})
		return
	}
	c.hand(body)
}

func (c *Call) hand(body any) {
	if c.responder != nil {
		c.responder.Respond(c, body)
	}
}

// anyLag says whether a node's disk is slow or will fail.
func (w *World) anyLag() bool {
	for _, id := range w.order {
		if w.nodes[id].lag > 0 {
			return true
		}
	}
	return false
}

func (w *World) lagOf(id event.NodeID) int64 {
	if n := w.nodes[id]; n != nil {
		return int64(n.lag)
	}
	return 0
}

func (w *World) link(from, to event.NodeID) *link {
	key := [2]event.NodeID{from, to}
	l := w.links[key]
	if l == nil {
		l = &link{from: from, to: to, latency: w.config.Latency}
		w.links[key] = l
	}
	return l
}

// send puts a message on its link; a cut link holds it.
func (w *World) send(it item, from, to event.NodeID) {
	l := w.link(from, to)
	if l.cut {
		l.held = append(l.held, it)
		return
	}
	it.due = w.now + int64(l.latency) + w.lagOf(from)
	if conn := it.call.conn; it.call.generation == conn.generation {
		last := &conn.lastDue[it.kind]
		it.due = max(it.due, *last)
		*last = it.due
	}
	w.push(it)
}

// Cut stops everything from one node to another; what is sent is held until Heal or until the
// sender gives up.
func (w *World) Cut(from, to event.NodeID) {
	l := w.link(from, to)
	if l.cut {
		return
	}
	l.cut = true
	event.LinkCut{From: from, To: to}.Emit(w.emitter, event.RuleNone)
}

// Heal lets a cut link pass messages again, what it held first.
func (w *World) Heal(from, to event.NodeID) {
	l := w.link(from, to)
	if !l.cut {
		return
	}
	l.cut = false
	event.LinkHealed{From: from, To: to}.Emit(w.emitter, event.RuleNone)
	held := l.held
	l.held = nil
	for _, it := range held {
		w.send(it, from, to)
	}
}

// Delay sets a link's latency for what is sent from now on.
func (w *World) Delay(from, to event.NodeID, latency time.Duration) {
	w.link(from, to).latency = latency
	event.LinkDelayed{From: from, To: to, Latency: int64(latency)}.
		Emit(w.emitter, event.RuleNone)
}

// Reachable says whether messages pass from one node to another.
func (w *World) Reachable(from, to event.NodeID) bool { return !w.link(from, to).cut }

// Latency is what a message sent now would take.
func (w *World) Latency(from, to event.NodeID) time.Duration { return w.link(from, to).latency }

// CutLinks lists the cut directions, sorted.
func (w *World) CutLinks() [][2]event.NodeID {
	var cut [][2]event.NodeID
	for key, l := range w.links {
		if l.cut {
			cut = append(cut, key)
		}
	}
	slices.SortFunc(cut, func(a, b [2]event.NodeID) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	return cut
}

// Reset closes the connections between two nodes in both directions: what is under way is lost and
// every waiting request fails.
func (w *World) Reset(a, b event.NodeID) {
	for _, pair := range [][2]event.NodeID{{a, b}, {b, a}} {
		if n := w.nodes[pair[0]]; n != nil && n.outgoing[pair[1]] != nil {
			w.reset(n.outgoing[pair[1]], ErrDisconnected, w.emitter.Cause, 0)
		}
	}
}

// renew begins a new generation and gives the requests that the old one had open.
func (conn *connection) renew() (pending []*Call) {
	pending = conn.pending
	conn.generation++
	conn.pending, conn.expiryDue, conn.lastDue = nil, 0, [2]int64{}
	return pending
}

// resetConnectionsOf ends what others had asked a node that is gone, and forgets what it had asked.
// The others hear of it as of any message: after the link's latency, and over a cut link never.
func (w *World) resetConnectionsOf(id event.NodeID, cause event.Seq) {
	for _, conn := range w.nodes[id].outgoing {
		conn.renew()
	}
	clear(w.nodes[id].outgoing)
	for _, other := range w.order {
		conn := w.nodes[other].outgoing[id]
		if conn == nil {
			continue
		}
		conn.lastDue = [2]int64{}
		if len(conn.pending) == 0 {
			continue
		}
		if l := w.link(id, other); !l.cut {
			w.reset(conn, ErrDisconnected, cause, l.latency)
		}
	}
}

// reset begins a new generation of the connection and fails its requests after the delay.
func (w *World) reset(conn *connection, err error, cause event.Seq, after time.Duration) {
	for _, call := range conn.renew() {
		call.err = err
		call.sent = cause
		w.push(item{due: w.now + int64(after), kind: itemReset, call: call})
	}
}

func (w *World) armExpiry(conn *connection, deadline int64) {
	if conn.expiryDue != 0 && conn.expiryDue <= deadline {
		return
	}
	conn.expiryDue = deadline
	w.push(item{due: deadline, kind: itemExpiry, conn: conn})
}

// expire fails the requests of a connection whose time has passed, and with them the connection.
func (w *World) expire(conn *connection, due int64) {
	if conn.expiryDue != due {
		return
	}
	conn.expiryDue = 0
	late := false
	var next int64
	for _, call := range conn.pending {
		if call.deadline <= w.now {
			late = true
		} else if next == 0 || call.deadline < next {
			next = call.deadline
		}
	}
	if !late {
		if next != 0 {
			w.armExpiry(conn, next)
		}
		return
	}
	for _, call := range conn.renew() {
		call.err = ErrDisconnected
		if call.deadline <= w.now {
			call.err = ErrTimedOut
		}
		w.push(item{due: w.now, kind: itemReset, call: call})
	}
}
