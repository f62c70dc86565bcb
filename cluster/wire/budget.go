package wire

import (
	"slices"
	"sync"
)

// budget counts bytes in flight against a bound. Whoever takes when nothing is left waits.
type budget struct {
	mu    sync.Mutex
	max   int64
	used  int64
	freed chan struct{} // closed when bytes come back; nil while nobody waits
	// claims are those of half frames, the oldest first.
	claims []*claim
}

// claim is what a half frame has taken of a budget: as much as there is memory for it, and not what
// its length promises.
type claim struct {
	bytes int64
	open  bool
}

// take waits until n bytes fit under the limit; ok is false when stop came first. An empty budget
// gives any n, so that nothing can wait for ever.
func (b *budget) take(n, limit int64, stop <-chan struct{}) (waited, ok bool) {
	return b.await(stop, func() bool {
		if b.used > 0 && b.used+n > limit {
			return false
		}
		b.used += n
		return true
	})
}

// grow has a claim take up to so many bytes, and waits until they fit under half of the bound. The
// oldest claim may have the other half, which is room for any frame: of frames that all came half
// one can always become whole, as soon as those before it are answered.
func (b *budget) grow(c *claim, bytes int64, stop <-chan struct{}) (waited, ok bool) {
	return b.await(stop, func() bool {
		if !c.open {
			c.open = true
			b.claims = append(b.claims, c)
		}
		limit, more := b.max/2, max(0, bytes-c.bytes)
		if b.claims[0] == c {
			limit = b.max
		}
		if more > 0 && b.used > 0 && b.used+more > limit {
			return false
		}
		b.used += more
		c.bytes += more
		return true
	})
}

// settle ends a claim, of which so many bytes stay in use.
func (b *budget) settle(c *claim, bytes int64) {
	b.mu.Lock()
	if c.open {
		b.claims = slices.DeleteFunc(b.claims, func(x *claim) bool { return x == c })
	}
	freed := c.bytes - bytes
	*c = claim{}
	b.mu.Unlock()
	b.give(freed)
}

// await tries to take, under the lock, and again whenever bytes come back.
func (b *budget) await(stop <-chan struct{}, take func() bool) (waited, ok bool) {
	for ; ; waited = true {
		b.mu.Lock()
		if take() {
			b.mu.Unlock()
			return waited, true
		}
		if b.freed == nil {
			b.freed = make(chan struct{})
		}
		freed := b.freed
		b.mu.Unlock()
		select {
		case <-freed:
		case <-stop:
			return true, false
		}
	}
}

// add takes n bytes that are in memory already, over the bound if need be.
func (b *budget) add(n int64) {
	b.mu.Lock()
	b.used += n
	b.mu.Unlock()
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	b.used -= n
	freed := b.freed
	b.freed = nil
	b.mu.Unlock()
	if freed != nil {
		close(freed)
	}
}

func (b *budget) inUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
