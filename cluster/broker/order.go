package broker

import (
	"highwater/cluster/event"
	"highwater/cluster/world"
)

// queuedRequest is a request behind another one of its connection.
type queuedRequest struct {
	call *world.Call
	r    *Request
}

// requestOrder has a connection's requests see what those before them did. Kafka begins with a
// request when the one before it is answered. Here one only waits for those that may change what it
// sees, and one Produce never waits for another: what they append is in order anyway.
type requestOrder struct {
	produces int // that are not answered yet
	changes  int // likewise, of the other requests that count
	behind   []queuedRequest
}

// waitsLong says whether a request is there to wait for something to happen and changes nothing
// that others ask for: Fetch, JoinGroup and SyncGroup.
func waitsLong(key int16) bool { return key == 1 || key == 11 || key == 14 }

func (o *requestOrder) holds(r *Request) bool {
	return o.changes > 0 || o.produces > 0 && r.Key != 0
}

// count notes that a request begins, or with -1 that it is answered.
func (o *requestOrder) count(r *Request, n int) {
	switch {
	case r.Key == 0:
		o.produces += n
	case !waitsLong(r.Key):
		o.changes += n
	}
}

// handleInOrder handles a request, or lets it wait for those of its connection before it.
func (b *Broker) handleInOrder(call *world.Call, r *Request) {
	if call.From < event.FirstOutside { // a client of the cluster, whose messages pass each other
		b.handle(call, r)
		return
	}
	o := &b.client(call.From).order
	if len(o.behind) > 0 || o.holds(r) {
		o.behind = append(o.behind, queuedRequest{call, r})
		return
	}
	o.count(r, 1)
	b.handle(call, r)
}

// handled lets go on who waited for a request that is answered now, once the answer is on its way.
func (b *Broker) handled(call *world.Call, r *Request) {
	c := b.clients[call.From]
	if c == nil || call.From < event.FirstOutside {
		return
	}
	c.order.count(r, -1)
	if len(c.order.behind) > 0 && !c.order.holds(c.order.behind[0].r) {
		b.env.AfterQuiet("next-request", 0, func() { b.handleNext(c) })
	}
}

// handleNext handles what waited and need not wait any more.
func (b *Broker) handleNext(c *clientConnection) {
	o := &c.order
	for len(o.behind) > 0 && !o.holds(o.behind[0].r) {
		next := o.behind[0]
		o.behind = o.behind[1:]
		b.env.Events.Cause = next.r.received
		o.count(next.r, 1)
		b.handle(next.call, next.r)
	}
}
