package disk

import (
	"errors"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
)

// Bounds on the journal: past them its oldest operations count as durable, the way a file system
// commits its journal every few seconds.
const (
	journalMax   = 256
	heldBytesMax = 64 << 20 // removed files kept in case their removal is undone
	heldFilesMax = 16       // likewise; each costs a descriptor
)

// dirOperation is one change to directories that a power cut may still undo.
type dirOperation struct {
	number int64
	kind   OperationKind // OpCreate, OpMkdir, OpRemove or OpRename
	name   string
	target string // OpRename: the new name
	dir    bool   // OpRemove: it was a directory
	// held is the file that OpRemove or OpRename took the name from, nil if there was none.
	held      node
	heldBytes int64
	heldFile  *inode // its bookkeeping
}

// names are the one or two names that the operation changed.
func (o *dirOperation) names() []string {
	if o.kind == OpRename {
		return []string{o.name, o.target}
	}
	return []string{o.name}
}

// journal is the list of directory operations since the last SyncDir that covered them, oldest
// first.
type journal struct {
	operations []dirOperation
	next       int64 // number of the next operation
	heldBytes  int64 // sum over the operations
	heldFiles  int   // likewise
}

// add appends an operation, and gives the files that no operation holds any more.
func (j *journal) add(operation dirOperation) []node {
	operation.number = j.next
	j.next++
	j.operations = append(j.operations, operation)
	j.heldBytes += operation.heldBytes
	if operation.held != nil {
		j.heldFiles++
	}
	var released []node
	for len(j.operations) > journalMax || j.heldBytes > heldBytesMax ||
		j.heldFiles > heldFilesMax {
		released = j.forget(released, &j.operations[0])
		j.operations = slices.Delete(j.operations, 0, 1)
	}
	return released
}

func (j *journal) forget(released []node, operation *dirOperation) []node {
	j.heldBytes -= operation.heldBytes
	if operation.held != nil {
		j.heldFiles--
		released = append(released, operation.held)
	}
	return released
}

// commit makes the operations below a number durable that touch dir, and all that those build
// on: a file cannot be durable in a directory that is not. It gives the files no longer held.
func (j *journal) commit(dir string, below int64) []node {
	var durable []string
	var released []node
	kept := len(j.operations)
	for i := len(j.operations) - 1; i >= 0; i-- {
		operation := &j.operations[i]
		if operation.number < below && operation.durableWith(dir, durable) {
			durable = append(durable, operation.names()...)
			released = j.forget(released, operation)
			continue
		}
		kept--
		j.operations[kept] = *operation
	}
	j.operations = slices.Delete(j.operations, 0, kept)
	return released
}

// durableWith says whether the operation is in dir, or one that durable names build on.
func (o *dirOperation) durableWith(dir string, durable []string) bool {
	for _, name := range o.names() {
		if path.Dir(name) == dir {
			return true
		}
		for _, other := range durable {
			if within(name, other) || within(other, name) {
				return true
			}
		}
	}
	return false
}

// undoLocked undoes a suffix of the journal, as long as the dice say, newest first.
func (d *Disk) undoLocked(dice *rand.Rand) error {
	pending := d.journal.operations
	d.journal.operations, d.journal.heldBytes, d.journal.heldFiles = nil, 0, 0
	first := 0
	if len(pending) > 0 {
		first = dice.IntN(len(pending) + 1)
	}
	var errs []error
	for i := len(pending) - 1; i >= 0; i-- {
		if i >= first {
			errs = append(errs, d.undo(&pending[i]))
		}
		if pending[i].held != nil {
			errs = append(errs, pending[i].held.close())
		}
	}
	return errors.Join(errs...)
}

// undo makes one operation not have happened; everything after it is undone already.
func (d *Disk) undo(operation *dirOperation) error {
	switch operation.kind {
	case OpCreate, OpMkdir:
		delete(d.files, operation.name)
		return d.back.remove(operation.name)
	case OpRemove:
		if operation.dir {
			return d.back.mkdir(operation.name)
		}
		return d.restore(operation.name, operation)
	}
	if err := d.back.rename(operation.target, operation.name); err != nil {
		return err
	}
	d.moveFiles(operation.target, operation.name)
	if operation.held == nil {
		return nil
	}
	return d.restore(operation.target, operation)
}

func (d *Disk) restore(name string, operation *dirOperation) error {
	if operation.heldFile != nil {
		d.files[name] = operation.heldFile
	}
	return d.back.restore(name, operation.held)
}

// moveFiles gives the bookkeeping of a file, or of all files of a directory, its new name.
func (d *Disk) moveFiles(old, new string) {
	moved := map[string]*inode{}
	for name, known := range d.files { // each by itself: the order does not matter
		if within(name, old) {
			moved[new+strings.TrimPrefix(name, old)] = known
			delete(d.files, name)
		}
	}
	for name, known := range moved {
		known.name.Store(&name)
		d.files[name] = known
	}
}
