package disk

import (
	"io"
	"os"
	"sync/atomic"
)

// handle is an open file of a Disk.
type handle struct {
	disk        *Disk
	known       *inode
	node        node
	incarnation int64 // of the disk when it was opened; stale once the disk's is higher
	// references counts the opener, who retained it, and operations under way; at 0 node closes.
	references atomic.Int64
	closed     atomic.Bool // the opener's reference was given back
}

// enter admits an operation and pins the file and the disk's incarnation until leave.
func (h *handle) enter(operation Operation) error {
	if !h.Retain() {
		if h.stale() {
			return ErrStale
		}
		return ErrClosed
	}
	if err := h.disk.admit(&operation); err != nil {
		return h.refuse(err)
	}
	h.disk.gate.RLock()
	if h.stale() {
		h.disk.gate.RUnlock()
		return h.refuse(ErrStale)
	}
	if h.closed.Load() && operation.Kind != OpRead {
		h.disk.gate.RUnlock()
		return h.refuse(ErrClosed)
	}
	return nil
}

// refuse gives back the pin of an operation that will not be done.
func (h *handle) refuse(err error) error {
	_ = h.Release() // the reason is the better error
	return err
}

func (h *handle) leave() {
	h.disk.gate.RUnlock()
	_ = h.Release() // an error of close comes only where Close was called meanwhile
}

func (h *handle) stale() bool { return h.disk.incarnation.Load() != h.incarnation }

func (h *handle) wrap(kind OperationKind, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return failed(kind, h.Name(), err)
}

// Retain takes one more reference; it says false if the last one is already gone.
func (h *handle) Retain() bool {
	for {
		n := h.references.Load()
		if n <= 0 {
			return false
		}
		if h.references.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release gives one reference back.
func (h *handle) Release() error {
	switch n := h.references.Add(-1); {
	case n > 0:
		return nil
	case n < 0:
		h.references.Add(1)
		return h.wrap(OpClose, ErrClosed)
	}
	h.disk.mu.Lock()
	h.disk.forgetLocked(h)
	h.disk.mu.Unlock()
	return h.wrap(OpClose, h.node.close())
}

// Close gives the opener's reference back, at most once.
func (h *handle) Close() error {
	if !h.closed.Swap(true) {
		return h.Release()
	}
	if h.stale() {
		return nil // the kill has closed it
	}
	return h.wrap(OpClose, ErrClosed)
}

// Size is the current length in bytes.
func (h *handle) Size() int64 { return h.known.size.Load() }

// Name is the file's current name.
func (h *handle) Name() string { return *h.known.name.Load() }

// OS is the system's file, or nil in memory.
func (h *handle) OS() *os.File { return h.node.os() }

// ReadAt follows io.ReaderAt.
func (h *handle) ReadAt(p []byte, off int64) (int, error) {
	operation := Operation{Kind: OpRead, Name: h.Name(), Offset: off, Bytes: int64(len(p))}
	if err := h.enter(operation); err != nil {
		return 0, h.wrap(OpRead, err)
	}
	defer h.leave()
	if off < 0 {
		return 0, h.wrap(OpRead, ErrBadOffset)
	}
	n, err := h.node.readAt(p, off)
	h.known.usage.reads.Add(1)
	h.known.usage.readBytes.Add(int64(n))
	return n, h.wrap(OpRead, err)
}

// WriteAt writes p at an offset, past the end if need be.
func (h *handle) WriteAt(p []byte, off int64) (int, error) {
	operation := Operation{Kind: OpWrite, Name: h.Name(), Offset: off, Bytes: int64(len(p))}
	if err := h.enter(operation); err != nil {
		return 0, h.wrap(OpWrite, err)
	}
	defer h.leave()
	known := h.known
	known.mu.Lock()
	defer known.mu.Unlock()
	if err := h.keep(off, int64(len(p))); err != nil {
		return 0, h.wrap(OpWrite, err)
	}
	n, err := h.node.writeAt(p, off)
	h.wrote(off, int64(n))
	return n, h.wrap(OpWrite, err)
}

// WriteVAt writes the buffers one behind the other, where the system can in one call.
func (h *handle) WriteVAt(buffers [][]byte, off int64) (int64, error) {
	var total int64
	for _, buffer := range buffers {
		total += int64(len(buffer))
	}
	operation := Operation{Kind: OpWrite, Name: h.Name(), Offset: off, Bytes: total}
	if err := h.enter(operation); err != nil {
		return 0, h.wrap(OpWrite, err)
	}
	defer h.leave()
	known := h.known
	known.mu.Lock()
	defer known.mu.Unlock()
	if err := h.keep(off, total); err != nil {
		return 0, h.wrap(OpWrite, err)
	}
	n, err := h.node.writeVectors(buffers, off)
	h.wrote(off, n)
	return n, h.wrap(OpWrite, err)
}

// keep saves the durable bytes that a write is about to change; an append has none.
func (h *handle) keep(off, n int64) error {
	if off < 0 {
		return ErrBadOffset
	}
	return h.known.changes.keep(h.node, off, n)
}

// wrote books n bytes that were written, also when an error cut the write short.
func (h *handle) wrote(off, n int64) {
	known := h.known
	size := known.size.Load()
	if n > 0 && off+n > size {
		size = off + n
		known.size.Store(size)
	}
	known.written = max(known.written, off+n)
	known.changes.wrote(off, n, size, h.disk.writebackPages)
	known.usage.writes.Add(1)
	known.usage.writtenBytes.Add(n)
}

// Truncate makes the file exactly size bytes long.
func (h *handle) Truncate(size int64) error {
	if err := h.enter(Operation{Kind: OpTruncate, Name: h.Name(), Offset: size}); err != nil {
		return h.wrap(OpTruncate, err)
	}
	defer h.leave()
	h.known.mu.Lock()
	defer h.known.mu.Unlock()
	return h.wrap(OpTruncate, h.resizeLocked(size))
}

// Preallocate makes the file at least size bytes long. The system takes no blocks for it: what
// an index promises to need, it mostly does not.
func (h *handle) Preallocate(size int64) error {
	if err := h.enter(Operation{Kind: OpPreallocate, Name: h.Name(), Offset: size}); err != nil {
		return h.wrap(OpPreallocate, err)
	}
	defer h.leave()
	h.known.mu.Lock()
	defer h.known.mu.Unlock()
	return h.wrap(OpPreallocate, h.resizeLocked(max(size, h.known.size.Load())))
}

// resizeLocked changes the file's length; the caller holds the inode's lock.
func (h *handle) resizeLocked(size int64) error {
	if size < 0 {
		return ErrBadOffset
	}
	known := h.known
	was := known.size.Load()
	if size == was {
		return nil
	}
	if size < was {
		if err := known.changes.cut(h.node, size); err != nil {
			return err
		}
	}
	if err := h.node.truncate(size); err != nil {
		return err
	}
	known.size.Store(size)
	known.written = min(known.written, size)
	if size < was {
		known.changes.cutDone(size)
	}
	return nil
}

// Sync makes content and length durable. Others may write meanwhile; what they write is not
// part of it. If it fails, the whole disk fails closed.
func (h *handle) Sync() error { return h.PrepareSync()() }

// PrepareSync gives a Sync for later, of what was written up to now. What is written until it runs
// does not count as durable, though it may be: what a power cut takes must not depend on how soon a
// busy machine comes to it.
func (h *handle) PrepareSync() func() error {
	h.known.mu.Lock()
	prepared := h.known.prepare()
	h.known.mu.Unlock()
	return func() error { return h.wrap(OpSync, h.sync(prepared)) }
}

func (h *handle) sync(prepared *changes) error {
	if err := h.enter(Operation{Kind: OpSync, Name: h.Name()}); err != nil {
		return err
	}
	defer h.leave()
	known := h.known
	known.syncing.Lock()
	defer known.syncing.Unlock()
	if err := h.node.sync(); err != nil {
		h.disk.latch()
		return err
	}
	known.mu.Lock()
	known.settled(prepared)
	known.mu.Unlock()
	known.usage.syncs.Add(1)
	return nil
}
