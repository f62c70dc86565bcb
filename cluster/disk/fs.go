package disk

import (
	"errors"
	"io/fs"
	"os"
	"path"
)

// FS is one node's log directory tree. Names are slash-separated, relative to its root, and
// cannot leave it; "." is the root itself.
type FS interface {
	// Open opens an existing file for reading and writing.
	Open(name string) (File, error)
	// Create creates a file, or truncates an existing one, for reading and writing.
	Create(name string) (File, error)
	// Remove removes a file or an empty directory.
	Remove(name string) error
	// Rename moves a file, replacing a file at the target, or a directory to a free name.
	Rename(old, new string) error
	// Mkdir makes a directory and its missing parents; it succeeds if the directory exists.
	Mkdir(name string) error
	// RemoveAll removes a file or a directory with all it holds; a missing name is no error.
	RemoveAll(name string) error
	// List lists a directory, sorted by name.
	List(dir string) ([]Entry, error)
	Stat(name string) (Entry, error)
	ReadFile(name string) ([]byte, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error
	// PrepareSyncDir gives a SyncDir for later, of the names as they are now.
	PrepareSyncDir(dir string) func() error
	// Path is the real directory, for display; it is empty in memory.
	Path() string
}

// Entry is one name in a directory.
type Entry struct {
	Name string // base name
	Size int64  // bytes; 0 for a directory
	Dir  bool
}

// File is one open file. Its opener holds one reference and gives it back with Close; whoever
// reads it elsewhere (the edge, in the middle of a sendfile) brackets that with Retain and
// Release. The system's file closes with the last reference, so delete, truncation and kill
// never pull it away from a reader.
type File interface {
	// ReadAt follows io.ReaderAt: fewer bytes than asked for come with io.EOF.
	ReadAt(p []byte, off int64) (int, error)
	WriteAt(p []byte, off int64) (int, error)
	// WriteVAt writes the buffers one behind the other, where the system can in one call.
	WriteVAt(buffers [][]byte, off int64) (int64, error)
	Truncate(size int64) error
	// Preallocate makes the file at least size bytes long; the new bytes are zero and sparse.
	Preallocate(size int64) error
	// Sync makes content and length durable.
	Sync() error
	// PrepareSync gives a Sync for later, of what was written up to now.
	PrepareSync() func() error
	// Size is the current length in bytes, whoever wrote it.
	Size() int64
	// Name is the file's current name: it follows renames.
	Name() string
	// OS is the system's file for sendfile, or nil in memory. Use it only while a reference is
	// held, and never write through it: such writes are unknown to a power cut.
	OS() *os.File
	// Retain takes one more reference; it says false if the last one is already gone.
	Retain() bool
	// Release gives one reference back.
	Release() error
	// Close gives the opener's reference back, at most once. It is a Release that a kill may
	// have done already; then it does nothing.
	Close() error
}

// WriteFileAtomically replaces a file so that, whenever the power fails, it has either its old
// content or its new one. All checkpoints are written this way.
func WriteFileAtomically(files FS, name string, content []byte) error {
	temporary := name + ".tmp"
	if err := writeSynced(files, temporary, content); err != nil {
		// The half-written file is of no use to anybody; that it may stay behind is harmless.
		return errors.Join(err, ignoreMissing(files.Remove(temporary)))
	}
	if err := files.Rename(temporary, name); err != nil {
		return errors.Join(err, ignoreMissing(files.Remove(temporary)))
	}
	return files.SyncDir(path.Dir(name))
}

// writeSynced writes a whole file and syncs its content, before any other name points to it.
func writeSynced(files FS, name string, content []byte) error {
	file, err := files.Create(name)
	if err != nil {
		return err
	}
	if _, err := file.WriteAt(content, 0); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Sync(); err != nil {
		return errors.Join(err, file.Close())
	}
	return file.Close()
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
