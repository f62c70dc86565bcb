package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes an exclusive lock that ends with the file, and says whether it got it. Locks
// are mandatory here, so a byte far behind the process id is locked: that must stay readable.
func lockFile(file *os.File) (bool, error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	far := windows.Overlapped{OffsetHigh: 1 << 20}
	err := windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &far)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// syncDir checks that the directory is there. NTFS journals names itself, and a directory
// handle cannot be flushed.
func (r *realDir) syncDir(name string) error {
	_, err := r.root.Stat(name)
	return err
}

func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) ||
		errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// OpenFilesMax is how many files this process may have open; 0 where nobody can tell.
func OpenFilesMax() int64 { return 0 }
