package wire

import "sync"

// budget counts bytes in flight against a bound. Whoever takes when nothing is left waits.
type budget struct {
	mu    sync.Mutex
	max   int64
	used  int64
	freed chan struct{} // closed when bytes come back; nil while nobody waits
}

// take waits until n bytes fit under the limit; ok is false when stop came first. An empty budget
// gives any n, so that nothing can wait for ever.
func (b *budget) take(n, limit int64, stop <-chan struct{}) (waited, ok bool) {
	for ; ; waited = true {
		b.mu.Lock()
		if b.used == 0 || b.used+n <= limit {
			b.used += n
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
