package disk

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
)

// readWholeBytesMax bounds ReadFile: what is larger is read in parts.
const readWholeBytesMax = 256 << 20

// begin checks names and lets the operation through hook and faults.
func (d *Disk) begin(operation Operation) error {
	if err := checkName(operation.Name); err != nil {
		return failed(operation.Kind, operation.Name, err)
	}
	if operation.Kind == OpRename {
		if err := checkName(operation.Target); err != nil {
			return failed(operation.Kind, operation.Target, err)
		}
	}
	return failed(operation.Kind, operation.Name, d.admit(&operation))
}

// change runs a change to directories between deaths, one at a time, and then closes the files
// that the journal let go.
func (d *Disk) change(operation Operation, work func() ([]node, error)) error {
	if err := d.begin(operation); err != nil {
		return err
	}
	d.gate.RLock()
	d.mu.Lock()
	released, err := work()
	d.mu.Unlock()
	d.gate.RUnlock()
	return failed(operation.Kind, operation.Name, joinClose(err, released))
}

// Open opens an existing file for reading and writing.
func (d *Disk) Open(name string) (File, error) {
	var h *handle
	err := d.change(Operation{Kind: OpOpen, Name: name}, func() ([]node, error) {
		opened, _, err := d.openLocked(name, false)
		h = opened
		return nil, err
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Create creates a file, or truncates an existing one, for reading and writing.
func (d *Disk) Create(name string) (File, error) {
	var h *handle
	err := d.change(Operation{Kind: OpCreate, Name: name}, func() ([]node, error) {
		opened, released, err := d.openLocked(name, true)
		if err != nil {
			return released, err
		}
		opened.known.mu.Lock()
		err = opened.resizeLocked(0)
		opened.known.mu.Unlock()
		if err != nil {
			d.forgetLocked(opened)
			return append(released, opened.node), err
		}
		h = opened
		return released, nil
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

// openLocked opens a file or makes it, and finds or begins its bookkeeping.
func (d *Disk) openLocked(name string, create bool) (*handle, []node, error) {
	entry, err := d.back.stat(name)
	missing := errors.Is(plainOf(err), fs.ErrNotExist)
	switch {
	case err != nil && (!create || !missing):
		return nil, nil, err
	case err == nil && entry.Dir:
		return nil, nil, ErrIsDirectory
	}
	opened, size, err := d.back.open(name, create)
	if err != nil {
		return nil, nil, err
	}
	var released []node
	if missing {
		delete(d.files, name)
		released = d.journal.add(dirOperation{kind: OpCreate, name: name})
	}
	known := d.files[name]
	if known == nil || known.handles == 0 && known.size.Load() != size {
		// Unknown, or changed by somebody else while nobody here had it open.
		known = &inode{usage: d.countersLocked(name), changes: noChanges(size, size), written: size}
		known.name.Store(&name)
		known.size.Store(size)
		d.files[name] = known
	}
	known.handles++
	h := &handle{disk: d, known: known, node: opened, incarnation: d.incarnation.Load()}
	h.references.Store(1)
	d.handles[h] = struct{}{}
	return h, released, nil
}

// plainOf is plain for an error that may be nil.
func plainOf(err error) error {
	if err == nil {
		return nil
	}
	return plain(err)
}

// Remove removes a file or an empty directory.
func (d *Disk) Remove(name string) error {
	return d.change(Operation{Kind: OpRemove, Name: name}, func() ([]node, error) {
		if name == "." {
			return nil, ErrBadName
		}
		entry, err := d.back.stat(name)
		if err != nil {
			return nil, err
		}
		operation := dirOperation{kind: OpRemove, name: name, dir: entry.Dir}
		if entry.Dir {
			if below, err := d.back.list(name); err != nil || len(below) > 0 {
				return nil, errors.Join(err, notEmpty(below))
			}
		} else if err := d.hold(&operation, name); err != nil {
			return nil, err
		}
		if err := d.back.remove(name); err != nil {
			return heldBy(&operation), err
		}
		delete(d.files, name)
		return d.journal.add(operation), nil
	})
}

func notEmpty(below []Entry) error {
	if len(below) > 0 {
		return ErrNotEmpty
	}
	return nil
}

// hold keeps a file that is about to lose its name, in case a power cut undoes that.
func (d *Disk) hold(operation *dirOperation, name string) error {
	held, size, err := d.back.open(name, false)
	if err != nil {
		return err
	}
	operation.held, operation.heldBytes, operation.heldFile = held, size, d.files[name]
	return nil
}

func heldBy(operation *dirOperation) []node {
	if operation.held == nil {
		return nil
	}
	return []node{operation.held}
}

// Rename moves a file, replacing a file at the target, or a directory to a free name.
func (d *Disk) Rename(old, new string) error {
	operation := Operation{Kind: OpRename, Name: old, Target: new}
	return d.change(operation, func() ([]node, error) {
		if old == "." || new == "." || (old != new && within(new, old)) {
			return nil, ErrBadName
		}
		from, err := d.back.stat(old)
		if err != nil || old == new {
			return nil, err
		}
		operation := dirOperation{kind: OpRename, name: old, target: new}
		to, err := d.back.stat(new)
		switch {
		case err == nil && (from.Dir || to.Dir):
			return nil, fs.ErrExist
		case err == nil:
			if err := d.hold(&operation, new); err != nil {
				return nil, err
			}
		case !errors.Is(plain(err), fs.ErrNotExist):
			return nil, err
		}
		if err := d.back.rename(old, new); err != nil {
			return heldBy(&operation), err
		}
		delete(d.files, new)
		d.moveFiles(old, new)
		return d.journal.add(operation), nil
	})
}

// Mkdir makes a directory and its missing parents; it succeeds if the directory exists.
func (d *Disk) Mkdir(name string) error {
	return d.change(Operation{Kind: OpMkdir, Name: name}, func() ([]node, error) {
		var released []node
		for end := 0; end < len(name) && name != "."; {
			if next := strings.IndexByte(name[end+1:], '/'); next >= 0 {
				end += 1 + next
			} else {
				end = len(name)
			}
			part := name[:end]
			entry, err := d.back.stat(part)
			if err == nil && entry.Dir {
				continue
			}
			if err == nil {
				return released, fs.ErrExist
			}
			if err := d.back.mkdir(part); err != nil {
				return released, err
			}
			made := dirOperation{kind: OpMkdir, name: part}
			released = append(released, d.journal.add(made)...)
		}
		return released, nil
	})
}

// RemoveAll removes a file or a directory with all it holds; a missing name is no error. Each
// name is an operation of its own, so a power cut may leave some.
func (d *Disk) RemoveAll(name string) error {
	entry, err := d.Stat(name)
	if err != nil {
		return ignoreMissing(err)
	}
	if entry.Dir && name != "." {
		below, err := d.List(name)
		if err != nil {
			return ignoreMissing(err)
		}
		for _, each := range below {
			if err := d.RemoveAll(path.Join(name, each.Name)); err != nil {
				return err
			}
		}
	}
	return ignoreMissing(d.Remove(name))
}

// List lists a directory, sorted by name.
func (d *Disk) List(dir string) ([]Entry, error) {
	if err := d.begin(Operation{Kind: OpList, Name: dir}); err != nil {
		return nil, err
	}
	d.gate.RLock()
	defer d.gate.RUnlock()
	entries, err := d.back.list(dir)
	return entries, failed(OpList, dir, err)
}

// Stat looks at one name.
func (d *Disk) Stat(name string) (Entry, error) {
	if err := d.begin(Operation{Kind: OpStat, Name: name}); err != nil {
		return Entry{}, err
	}
	d.gate.RLock()
	defer d.gate.RUnlock()
	entry, err := d.back.stat(name)
	return entry, failed(OpStat, name, err)
}

// ReadFile reads a whole file of bounded size.
func (d *Disk) ReadFile(name string) ([]byte, error) {
	file, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	size := file.Size()
	if size > readWholeBytesMax {
		return nil, errors.Join(failed(OpRead, name, ErrTooLarge), file.Close())
	}
	content := make([]byte, size)
	n, err := file.ReadAt(content, 0)
	if err == io.EOF {
		err = nil // truncated since its size was asked
	}
	return content[:n], errors.Join(err, file.Close())
}

// SyncDir makes the names in a directory durable, as far as they were changed before the call.
func (d *Disk) SyncDir(dir string) error { return d.PrepareSyncDir(dir)() }

// PrepareSyncDir gives a SyncDir for later, of the changes up to now.
func (d *Disk) PrepareSyncDir(dir string) func() error {
	d.mu.Lock()
	below := d.journal.next
	d.mu.Unlock()
	return func() error { return d.syncDir(dir, below) }
}

func (d *Disk) syncDir(dir string, below int64) error {
	if err := d.begin(Operation{Kind: OpSyncDir, Name: dir}); err != nil {
		return err
	}
	d.gate.RLock()
	defer d.gate.RUnlock()
	d.mu.Lock()
	entry, err := d.back.stat(dir)
	d.mu.Unlock()
	if err == nil && !entry.Dir {
		err = fs.ErrNotExist
	}
	if err != nil {
		return failed(OpSyncDir, dir, err)
	}
	// The drive works without the lock, so that others need not wait for it.
	if err := d.back.syncDir(dir); err != nil {
		d.latch()
		return failed(OpSyncDir, dir, err)
	}
	d.mu.Lock()
	released := d.journal.commit(dir, below)
	d.mu.Unlock()
	return failed(OpSyncDir, dir, joinClose(nil, released))
}
