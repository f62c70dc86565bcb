package record

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
)

// Slab size classes: powers of two from 16 KiB to 4 MiB are pooled, since a batch
// of the largest size and its frame take more than 1 MiB; larger slabs are not.
const (
	slabBytesMin = 16 << 10
	slabBytesMax = 4 << 20
	slabClasses  = 9
)

// Slab is a counted piece of memory that record bytes lie in. Who made it holds the first
// reference; at the last Release it goes back to its pool.
type Slab struct {
	bytes []byte
	refs  atomic.Int32
	pool  *Pool
}

// Bytes is the whole slab.
func (s *Slab) Bytes() []byte { return s.bytes }

// References says how many are held.
func (s *Slab) References() int32 { return s.refs.Load() }

// Retain takes another reference.
func (s *Slab) Retain() {
	if s.refs.Add(1) <= 1 {
		panic(fmt.Sprintf("record: slab of %d bytes retained after its last release", len(s.bytes)))
	}
}

// Release gives a reference back.
func (s *Slab) Release() {
	switch n := s.refs.Add(-1); {
	case n == 0:
		if s.pool != nil {
			s.pool.put(s)
		}
	case n < 0:
		panic(fmt.Sprintf("record: slab of %d bytes released %d times too often", len(s.bytes), -n))
	}
}

// Pool is a free list of slabs. It is our own and not a sync.Pool, because that is emptied at each
// garbage collection and would zero megabytes again and again.
type Pool struct {
	mu       sync.Mutex
	free     [slabClasses][]*Slab
	bytes    int64
	bytesMax int64
	out      atomic.Int64 // bytes in use
}

// NewPool returns a pool that keeps at most bytesMax bytes for reuse.
func NewPool(bytesMax int64) *Pool { return &Pool{bytesMax: bytesMax} }

func classOf(n int) int {
	if n <= slabBytesMin {
		return 0
	}
	return bits.Len(uint(n-1)) - bits.Len(uint(slabBytesMin-1))
}

// Get returns a slab of at least n bytes with one reference. Its content is arbitrary.
func (p *Pool) Get(n int) *Slab {
	if n > slabBytesMax {
		s := &Slab{bytes: make([]byte, n), pool: p}
		s.refs.Store(1)
		p.out.Add(int64(n))
		return s
	}
	class := classOf(n)
	p.mu.Lock()
	list := p.free[class]
	var s *Slab
	if len(list) > 0 {
		s = list[len(list)-1]
		list[len(list)-1] = nil
		p.free[class] = list[:len(list)-1]
		p.bytes -= int64(len(s.bytes))
	}
	p.mu.Unlock()
	if s == nil {
		s = &Slab{bytes: make([]byte, slabBytesMin<<class), pool: p}
	}
	s.refs.Store(1)
	p.out.Add(int64(len(s.bytes)))
	return s
}

func (p *Pool) put(s *Slab) {
	p.out.Add(-int64(len(s.bytes)))
	if len(s.bytes) > slabBytesMax {
		return
	}
	class := classOf(len(s.bytes))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bytes+int64(len(s.bytes)) > p.bytesMax {
		return
	}
	p.free[class] = append(p.free[class], s)
	p.bytes += int64(len(s.bytes))
}

// Trim lets go of all slabs that are not in use.
func (p *Pool) Trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.free {
		p.free[i] = nil
	}
	p.bytes = 0
}

// Stats says how many bytes are in use and how many are kept for reuse.
func (p *Pool) Stats() (inUse, kept int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Load(), p.bytes
}

// Buffer is record bytes and the slab that they lie in; without a slab they are plain memory.
type Buffer struct {
	Slab  *Slab
	Bytes []byte
}

// Retain takes a reference to the bytes.
func (b Buffer) Retain() {
	if b.Slab != nil {
		b.Slab.Retain()
	}
}

// Release gives a reference to the bytes back.
func (b Buffer) Release() {
	if b.Slab != nil {
		b.Slab.Release()
	}
}
