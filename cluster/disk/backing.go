package disk

import "os"

// lockName is Kafka's name for the file that guards a log directory.
const lockName = ".lock"

// backing does the plain work of a disk: real files or memory. It keeps no books and checks
// nothing that Disk has checked before: names are valid, targets of renames fit.
type backing interface {
	// open opens a regular file, or makes it, and gives its length.
	open(name string, create bool) (node, int64, error)
	remove(name string) error
	rename(old, new string) error
	mkdir(name string) error
	list(dir string) ([]Entry, error)
	stat(name string) (Entry, error)
	syncDir(dir string) error
	// restore gives a removed file, still held by its node, a name again.
	restore(name string, held node) error
	lock() error
	unlock() error
	path() string
	close() error
}

// node is one open file of a backing.
type node interface {
	readAt(p []byte, off int64) (int, error)
	writeAt(p []byte, off int64) (int, error)
	// writeVectors is called by one goroutine at a time.
	writeVectors(buffers [][]byte, off int64) (int64, error)
	truncate(size int64) error
	sync() error
	close() error
	os() *os.File
}
