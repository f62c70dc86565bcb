package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Permissions of what we make: a log directory is its owner's, as in Kafka's packages.
const (
	filePermissions = 0o644
	dirPermissions  = 0o755
)

// realDir is the backing on real files. The os.Root keeps every name inside the directory, even
// when somebody puts a symbolic link there.
type realDir struct {
	root   *os.Root
	locked *os.File // the open .lock file while the lock is held
}

func newReal(dir string) (*realDir, error) {
	if err := os.MkdirAll(dir, dirPermissions); err != nil {
		return nil, fmt.Errorf("disk: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("disk: %w", err)
	}
	return &realDir{root: root}, nil
}

func (r *realDir) open(name string, create bool) (node, int64, error) {
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	// A pipe would block its opener, so the kind is looked at first.
	if found, err := r.root.Stat(name); err == nil && !found.Mode().IsRegular() {
		return nil, 0, ErrNotRegular
	}
	file, err := r.root.OpenFile(name, flags, filePermissions)
	if err != nil {
		return nil, 0, err
	}
	found, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return &realFile{file: file}, found.Size(), nil
}

func (r *realDir) remove(name string) error     { return r.root.Remove(name) }
func (r *realDir) rename(old, new string) error { return r.root.Rename(old, new) }
func (r *realDir) mkdir(name string) error      { return r.root.Mkdir(name, dirPermissions) }
func (r *realDir) path() string                 { return r.root.Name() }
func (r *realDir) close() error                 { return r.root.Close() }

func (r *realDir) list(name string) ([]Entry, error) {
	dir, err := r.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close() // a directory that was only read has nothing left to lose
	found, err := dir.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(found))
	for _, each := range found {
		info, err := each.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue // removed between the listing and the look at it
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, entryOfInfo(info))
	}
	sortEntries(entries)
	return entries, nil
}

func (r *realDir) stat(name string) (Entry, error) {
	info, err := r.root.Stat(name)
	if err != nil {
		return Entry{}, err
	}
	entry := entryOfInfo(info)
	return entry, nil
}

func entryOfInfo(info os.FileInfo) Entry {
	if info.IsDir() {
		return Entry{Name: info.Name(), Dir: true}
	}
	return Entry{Name: info.Name(), Size: info.Size()}
}

// restore copies a removed file back: no system can portably give an unlinked file a name again.
func (r *realDir) restore(name string, held node) error {
	file, err := r.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, filePermissions)
	if err != nil {
		return err
	}
	from := held.os()
	info, err := from.Stat()
	if err == nil {
		_, err = io.Copy(file, io.NewSectionReader(from, 0, info.Size()))
	}
	return errors.Join(err, file.Close())
}

// lock takes .lock as Kafka does, and notes our process id in it for whoever comes second.
func (r *realDir) lock() error {
	if r.locked != nil {
		return fmt.Errorf("%w by process %d", ErrLocked, os.Getpid())
	}
	file, err := r.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, filePermissions)
	if err != nil {
		return err
	}
	taken, err := lockFile(file)
	if err == nil && !taken {
		err = lockedBy(file)
	}
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	r.locked = file
	return nil
}

// lockedBy names the holder of a lock file, if it left its process id.
func lockedBy(file *os.File) error {
	var text [20]byte
	n, err := file.ReadAt(text[:], 0)
	if err != nil && err != io.EOF {
		return ErrLocked
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		return ErrLocked
	}
	return fmt.Errorf("%w by process %d", ErrLocked, pid)
}

// unlock empties .lock, so that equal runs leave equal directories, and lets it go.
func (r *realDir) unlock() error {
	if r.locked == nil {
		return nil
	}
	err := errors.Join(r.locked.Truncate(0), r.locked.Close())
	r.locked = nil
	return err
}

// realFile is one open real file. scratch belongs to writeVectors, see real_linux.go.
type realFile struct {
	file    *os.File
	scratch vectors
	// reserved is up to where blocks were asked for beyond the file's end, -1 once that failed.
	reserved int64
}

func (f *realFile) readAt(p []byte, off int64) (int, error)  { return f.file.ReadAt(p, off) }
func (f *realFile) writeAt(p []byte, off int64) (int, error) { return f.file.WriteAt(p, off) }
func (f *realFile) truncate(size int64) error                { return f.file.Truncate(size) }
func (f *realFile) close() error                             { return f.file.Close() }
func (f *realFile) os() *os.File                             { return f.file }
