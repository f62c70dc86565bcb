package wire

import (
	"encoding/binary"
	"time"
)

const (
	slabBytesMin = 16 << 10
	slabBytesMax = 256 << 10 // but for frames that need more
	// tailBytesMin is the least room at a slab's end that is worth reading into.
	tailBytesMin = 2 << 10
	// claimBytesMin is from which size on a half frame takes a part of the budget before the rest
	// of it is read.
	claimBytesMin = 64 << 10
	// trustedBytesMax is the largest frame for which there is memory as soon as it is announced, to
	// a client that has sent as large a one.
	trustedBytesMax = 4 << 20
	// restAfter is how long a connection keeps a large slab when nothing comes.
	restAfter = 5 * time.Second
)

// adapt sizes the next slab by what one read brought.
func (c *connection) adapt(n int) {
	switch room := len(c.slab.Bytes()) - c.filled; {
	case n == room && room >= c.slabSize/2:
		c.slabSize = min(2*c.slabSize, slabBytesMax)
	case n < c.slabSize/8:
		c.slabSize = max(c.slabSize/2, slabBytesMin)
	}
}

// charge says how much of the budget a whole frame takes: what was claimed for it counts.
func (c *connection) charge(frame int) int64 {
	n := int64(frame)
	if c.claim.open {
		c.edge.inFlight.settle(&c.claim, n)
	} else {
		c.edge.inFlight.add(n)
	}
	return n
}

// makeRoom prepares the next read: it waits while too much is in flight, sees to a slab with room,
// and sets how long the client has.
func (c *connection) makeRoom() error {
	limits := c.edge.inFlight
	waited, ok := limits.take(0, limits.max, c.done)
	if !ok {
		return errClosed
	}
	if waited {
		c.partialOf = -1 // a half frame gets its time anew: it was not the client who was late
	}
	pending := c.filled - c.start
	if err := c.prepareSlab(pending); err != nil {
		return err
	}
	c.renewDeadline(pending)
	return nil
}

// renewDeadline gives a frame its time once, when it begins. Between frames the deadline moves
// only now and then, because moving it costs a timer.
func (c *connection) renewDeadline(pending int) {
	idle := c.edge.config.IdleTimeout
	if len(c.slab.Bytes()) > slabBytesMin {
		idle = min(idle, restAfter)
	}
	switch {
	case !c.spoken && pending < lengthBytes+frameBytesMin: // still the first header's time
	case pending == 0:
		left := time.Until(c.deadline)
		if c.partial > 0 || left < idle-idle/16 || left > idle {
			c.setDeadline(idle)
		}
	case c.partial < lengthBytes+frameBytesMin && !c.spoken, c.partial == 0, c.partialOf != c.asked:
		c.setDeadline(c.edge.config.FrameTimeout)
	}
	c.partial, c.partialOf = pending, c.asked
}

// rest exchanges a large slab for a small one when nothing came for a while, and says whether it
// did.
func (c *connection) rest() bool {
	if len(c.slab.Bytes()) <= slabBytesMin {
		return false
	}
	c.slabSize = slabBytesMin
	c.moveTo(slabBytesMin, 0)
	return true
}

// prepareSlab makes sure that there is room to read into, behind the pending bytes of a half
// frame.
func (c *connection) prepareSlab(pending int) error {
	size := len(c.slab.Bytes())
	alone := c.slab.References() == 1 // then nobody else looks at this slab
	if pending == 0 && alone && c.slabSize == size {
		c.start, c.filled = 0, 0
		return nil
	}
	need := lengthBytes
	if pending >= lengthBytes {
		need += int(binary.BigEndian.Uint32(c.slab.Bytes()[c.start:]))
	}
	fits := c.start+need <= size && (pending >= lengthBytes || size-c.filled >= tailBytesMin)
	filling := c.start == 0 && pending > 0 && c.filled < size // a large frame, what there is of it
	switch {
	case pending == 0 && alone:
		c.moveTo(c.slabSize, 0)
	case fits, filling:
		return c.claimFor(need, size)
	case alone && pending > 0 && need <= size:
		c.filled = copy(c.slab.Bytes(), c.slab.Bytes()[c.start:c.filled])
		c.start = 0
		return c.claimFor(need, size)
	default:
		next := max(c.slabSize, c.slabFor(need, pending))
		if err := c.claimFor(need, next); err != nil {
			return err
		}
		c.moveTo(next, pending)
	}
	return nil
}

// claimFor takes a large frame's part of the budget before it is read: what it has of a slab. All
// large frames together may have half of the budget, so that small ones always pass.
func (c *connection) claimFor(need, slab int) error {
	if need <= claimBytesMin {
		return nil
	}
	waited, ok := c.edge.inFlight.grow(&c.claim, int64(min(need, slab)), c.done)
	if !ok {
		return errClosed
	}
	if waited {
		c.partialOf = -1
	}
	return nil
}

// slabFor is how much memory a frame gets: all it needs when the client has sent as large a one
// before, else twice what has come, so that a mere claim costs nothing.
func (c *connection) slabFor(need, pending int) int {
	if need <= min(2*c.largest, trustedBytesMax) {
		return need
	}
	return min(need, max(2*pending, claimBytesMin))
}

// moveTo continues in another slab, taking the pending bytes along.
func (c *connection) moveTo(size, pending int) {
	slab := c.edge.pool.Get(size)
	copy(slab.Bytes(), c.slab.Bytes()[c.start:c.filled])
	c.slab.Release()
	c.slab, c.start, c.filled = slab, 0, pending
}
