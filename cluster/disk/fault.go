package disk

import (
	"strconv"
	"time"
)

// OperationKind names what is asked of a disk.
type OperationKind uint8

// The operations, in the words of the error texts.
const (
	OpOpen OperationKind = iota
	OpCreate
	OpRemove
	OpRename
	OpMkdir
	OpList
	OpStat
	OpRead
	OpWrite
	OpTruncate
	OpPreallocate
	OpSync
	OpSyncDir
	OpLock
	OpClose
	OpPowerCut
)

// String is the operation's name.
func (k OperationKind) String() string {
	names := [...]string{
		"open", "create", "remove", "rename", "make directory", "list", "stat", "read", "write",
		"truncate", "preallocate", "sync", "sync directory", "lock", "close", "power cut",
	}
	if int(k) < len(names) {
		return names[k]
	}
	return "operation " + strconv.Itoa(int(k))
}

// changes says whether the operation changes what is stored: a disk that failed closed refuses it.
func (k OperationKind) changes() bool {
	switch k {
	case OpCreate, OpRemove, OpRename, OpMkdir, OpWrite, OpTruncate, OpPreallocate:
		return true
	}
	return k == OpSync || k == OpSyncDir
}

// needsSpace says whether a full disk refuses the operation. Preallocated bytes are sparse.
func (k OperationKind) needsSpace() bool {
	return k == OpCreate || k == OpMkdir || k == OpWrite
}

// Operation is one thing asked of a disk, shown to the OnOperation hook before it is done.
type Operation struct {
	Kind   OperationKind
	Name   string
	Target string // OpRename: the new name
	Offset int64  // OpRead, OpWrite: position; OpTruncate, OpPreallocate: the new size
	Bytes  int64  // OpRead, OpWrite: how many
}

// FaultKind names what can be wrong with a disk.
type FaultKind uint8

// The faults.
const (
	None       FaultKind = iota
	Full                 // what needs space fails with ErrFull
	ReadError            // reads and listings fail with ErrIO
	WriteError           // all changes but syncs fail with ErrIO
	SyncError            // the first sync fails with ErrIO, then every change with ErrFailed
	Slow                 // everything takes Delay longer
	Hung                 // nothing answers until the fault is cleared or the node dies
)

// String is the fault's name in the command language.
func (k FaultKind) String() string {
	names := [...]string{
		"none", "full", "read-error", "write-error", "sync-error", "slow", "hung",
	}
	if int(k) < len(names) {
		return names[k]
	}
	return "fault " + strconv.Itoa(int(k))
}

// Fault is what is wrong with a disk.
type Fault struct {
	Kind  FaultKind
	Delay time.Duration // Slow only
}

// trouble is the state of an unhealthy disk; a healthy one has none, which costs one load.
type trouble struct {
	fault   Fault
	failed  bool          // a sync failed: fail closed
	changed chan struct{} // closed when this state ends
}

// SetFault makes something wrong with the disk, or with None ends it. A disk that has failed
// closed stays so until ClearFault or until its node dies.
func (d *Disk) SetFault(fault Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.troubleLocked(fault, d.Failed())
}

// ClearFault makes the disk healthy, also after it failed closed.
func (d *Disk) ClearFault() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.troubleLocked(Fault{}, false)
}

// Fault is what is wrong with the disk now.
func (d *Disk) Fault() Fault {
	if now := d.trouble.Load(); now != nil {
		return now.fault
	}
	return Fault{}
}

// Failed says whether a sync has failed, so that the disk refuses all changes.
func (d *Disk) Failed() bool {
	now := d.trouble.Load()
	return now != nil && now.failed
}

// latch makes the disk fail closed: after a failed sync nobody knows what the drive holds, and
// a second sync that succeeds would not tell.
func (d *Disk) latch() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.troubleLocked(d.Fault(), true)
}

// troubleLocked replaces the state and wakes whoever waits for the old one to end.
func (d *Disk) troubleLocked(fault Fault, fails bool) {
	old := d.trouble.Load()
	if fault.Kind == None && !fails {
		d.trouble.Store(nil)
	} else {
		d.trouble.Store(&trouble{fault: fault, failed: fails, changed: make(chan struct{})})
	}
	if old != nil {
		close(old.changed)
	}
}

// OnOperation sets a hook that sees each operation before it is done; nil removes it. If the
// hook gives an error, the operation fails with it and does nothing. The hook may call PowerCut
// and Kill: that is how a test crashes a node between two steps.
func (d *Disk) OnOperation(hook func(Operation) error) {
	if hook == nil {
		d.hook.Store(nil)
		return
	}
	d.hook.Store(&hook)
}

// admit lets an operation through hook and faults; it holds no lock, since it may wait.
func (d *Disk) admit(operation *Operation) error {
	born := d.incarnation.Load()
	if hook := d.hook.Load(); hook != nil {
		if err := (*hook)(*operation); err != nil {
			return err
		}
		if d.incarnation.Load() != born {
			return ErrStale // the hook killed the node that asks
		}
	}
	if d.trouble.Load() == nil {
		return nil
	}
	waited := false
	for {
		now := d.trouble.Load()
		if d.incarnation.Load() != born {
			return ErrStale
		}
		if now == nil {
			return nil
		}
		if err := d.refuse(operation.Kind, now); err != nil {
			return err
		}
		switch {
		case now.fault.Kind == Hung && d.after == nil:
			return ErrHung
		case now.fault.Kind == Hung:
			<-now.changed
		case now.fault.Kind == Slow && d.after != nil && !waited:
			waited = true
			select {
			case <-d.after(now.fault.Delay):
			case <-now.changed:
			}
		default:
			return nil
		}
	}
}

// refuse is the error that the disk's state means for an operation, if any.
func (d *Disk) refuse(kind OperationKind, now *trouble) error {
	isSync := kind == OpSync || kind == OpSyncDir
	switch {
	case now.failed && kind.changes():
		return ErrFailed
	case now.fault.Kind == Full && kind.needsSpace():
		return ErrFull
	case now.fault.Kind == ReadError && (kind == OpRead || kind == OpList):
		return ErrIO
	case now.fault.Kind == WriteError && kind.changes() && !isSync:
		return ErrIO
	case now.fault.Kind == SyncError && isSync:
		d.latch()
		return ErrIO
	}
	return nil
}
