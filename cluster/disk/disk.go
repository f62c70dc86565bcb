package disk

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// writebackBytesDefault is how much of one file may be dirty before its oldest half counts as
// written back, as Linux does on its own after a while.
const writebackBytesDefault = 64 << 20

// Options are what a disk takes from outside. The zero value is good for tests.
type Options struct {
	// After is the clock by which Slow and Hung really hold up their caller. Without it they
	// never wait: Slow is left to the world's modelled times, and Hung answers ErrHung.
	After func(time.Duration) <-chan time.Time
	// WritebackBytes is the most of one file that a power cut can lose; 0 means 64 MiB.
	WritebackBytes int64
}

// Disk is one node's disk. It is an FS, and it knows what is durable. All methods may be called
// from several goroutines.
//
// Locks are taken in this order: gate, mu, inode.mu. Operations read-lock gate while they work;
// Kill and PowerCut lock it, so they fall between operations, never into one.
type Disk struct {
	back           backing
	after          func(time.Duration) <-chan time.Time
	writebackPages int64

	hook        atomic.Pointer[func(Operation) error]
	trouble     atomic.Pointer[trouble] // nil while healthy
	incarnation atomic.Int64            // how often the node died; older handles are stale
	gate        sync.RWMutex

	mu      sync.Mutex
	files   map[string]*inode    // by current name: open, or with unsynced changes
	handles map[*handle]struct{} // open
	journal journal
	usage   map[string]*counters // by class
}

// inode is the bookkeeping of one file under whatever name, shared by its handles.
type inode struct {
	name    atomic.Pointer[string]
	size    atomic.Int64 // bytes, as written
	handles int          // open ones; guarded by Disk.mu
	usage   *counters

	syncing sync.Mutex // one Sync of a file at a time; taken before mu

	mu      sync.Mutex // one change of a file at a time
	changes changes    // since the last sync began
	written int64      // bytes from here to the end are zeros that nobody wrote
	// pending is what prepared syncs will make durable, oldest first, and still lost if power is cut or
	// the sync fails; nil when none is under way.
	pending []*changes
}

// pendingMax bounds how many prepared syncs of a file are told apart.
const pendingMax = 16

// prepare sets what was changed so far apart, for a sync to make it durable; mu is held.
func (k *inode) prepare() *changes {
	prepared := k.changes
	k.changes = noChanges(k.size.Load(), k.written)
	k.pending = append(k.pending, &prepared)
	if len(k.pending) > pendingMax {
		*k.pending[1] = merge(*k.pending[0], *k.pending[1])
		k.pending = slices.Delete(k.pending, 0, 1)
	}
	return &prepared
}

// settled forgets what a sync made durable, and everything older; mu is held.
func (k *inode) settled(prepared *changes) {
	k.pending = slices.Delete(k.pending, 0, slices.Index(k.pending, prepared)+1)
}

// unsynced is how the content differs from what is durable; mu is held.
func (k *inode) unsynced() changes {
	all := k.changes
	for _, older := range slices.Backward(k.pending) {
		all = merge(*older, all)
	}
	return all
}

// NewReal opens the disk in a real directory, and makes the directory if it is missing. What is
// there already counts as durable.
func NewReal(root string, options Options) (*Disk, error) {
	back, err := newReal(root)
	if err != nil {
		return nil, err
	}
	return newDisk(back, options), nil
}

// NewMemory makes an empty disk in memory.
func NewMemory(options Options) *Disk { return newDisk(newMemory(), options) }

func newDisk(back backing, options Options) *Disk {
	if options.WritebackBytes <= 0 {
		options.WritebackBytes = writebackBytesDefault
	}
	return &Disk{
		back:           back,
		after:          options.After,
		writebackPages: max(2, options.WritebackBytes/pageBytes),
		files:          map[string]*inode{},
		handles:        map[*handle]struct{}{},
		usage:          map[string]*counters{},
	}
}

// Path is the real directory, for display; it is empty in memory.
func (d *Disk) Path() string { return d.back.path() }

// Kill does what the death of the node's process does to its disk: open handles become stale,
// the lock is free, files stay as written. A new incarnation may open them at once.
func (d *Disk) Kill() {
	d.gate.Lock()
	d.mu.Lock()
	orphans := d.dieLocked()
	d.mu.Unlock()
	d.gate.Unlock()
	// The dead have nobody to tell that a close went wrong.
	_ = joinClose(nil, orphans)
}

// dieLocked ends the node's incarnation, and gives the files to close.
func (d *Disk) dieLocked() []node {
	d.incarnation.Add(1)
	var orphans []node
	for h := range d.handles { // closing order has no effect
		if h.closed.Swap(true) || h.references.Add(-1) > 0 {
			continue
		}
		orphans = append(orphans, h.node)
		d.forgetLocked(h)
	}
	// A new process finds the latch open, and the drive as broken as it was.
	d.troubleLocked(d.Fault(), false)
	_ = d.back.unlock() // a process that dies does not see this fail
	return orphans
}

// forgetLocked drops a handle that has lost its last reference.
func (d *Disk) forgetLocked(h *handle) {
	delete(d.handles, h)
	h.known.handles--
	name := *h.known.name.Load()
	if h.known.handles > 0 || d.files[name] != h.known {
		return
	}
	h.known.mu.Lock()
	defer h.known.mu.Unlock()
	if unsynced := h.known.unsynced(); !unsynced.any(h.known.size.Load()) {
		delete(d.files, name)
	}
}

// Lock takes the directory for this process; a second holder gets ErrLocked with the first
// one's process id, if it is known. Unlock, Kill and Close end it.
func (d *Disk) Lock() error {
	if err := d.admit(&Operation{Kind: OpLock, Name: lockName}); err != nil {
		return failed(OpLock, lockName, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return failed(OpLock, lockName, d.back.lock())
}

// Unlock lets the directory go.
func (d *Disk) Unlock() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return failed(OpLock, lockName, d.back.unlock())
}

// Close ends the use of the disk by this process: all handles are stale then. Files are as a
// kill leaves them; whoever wants them durable has synced before.
func (d *Disk) Close() error {
	d.Kill()
	d.mu.Lock()
	defer d.mu.Unlock()
	var held []node
	for _, operation := range d.journal.operations {
		if operation.held != nil {
			held = append(held, operation.held)
		}
	}
	d.journal = journal{}
	return failed(OpClose, ".", errors.Join(joinClose(nil, held), d.back.close()))
}

// Dirty is the number of bytes, in whole pages, that were written and not synced.
func (d *Disk) Dirty() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	var dirty int64
	for _, known := range d.files { // a sum: the order does not matter
		dirty += known.dirty()
	}
	return dirty
}

func (k *inode) dirty() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	size := k.size.Load()
	var dirty int64
	for _, r := range k.unsynced().dirty {
		dirty += max(0, min(r.to*pageBytes, size)-r.from*pageBytes)
	}
	return dirty
}

// FileState gives a file's length as written, and how many of its leading bytes no power cut
// can change. Both are 0 for a missing file.
func (d *Disk) FileState(name string) (written, synced int64) {
	if checkName(name) != nil {
		return 0, 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.files[name]
	if known == nil {
		entry, err := d.back.stat(name)
		if err != nil {
			return 0, 0
		}
		return entry.Size, entry.Size
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	written = known.size.Load()
	unsynced := known.unsynced()
	return written, unsynced.safe(written)
}

// joinClose closes files and adds what went wrong to an error.
func joinClose(err error, nodes []node) error {
	for _, each := range nodes {
		err = errors.Join(err, each.close())
	}
	return err
}
