package disk

import (
	"errors"
	"io"
	"io/fs"
	"syscall"
)

// Errors that callers tell apart with errors.Is. A missing or existing name is fs.ErrNotExist or
// fs.ErrExist, on both kinds of disk.
var (
	ErrFull        = errors.New("no space left on device")
	ErrIO          = errors.New("input/output error")
	ErrFailed      = errors.New("the disk failed closed after a sync error")
	ErrHung        = errors.New("the disk does not answer")
	ErrStale       = errors.New("the handle is from before the node died")
	ErrClosed      = fs.ErrClosed
	ErrLocked      = errors.New("the directory is in use")
	ErrBadName     = errors.New("not a name inside the log directory")
	ErrIsDirectory = errors.New("is a directory")
	ErrNotEmpty    = errors.New("the directory is not empty")
	ErrNotRegular  = errors.New("not a regular file")
	ErrTooLarge    = errors.New("too large to read whole")
	ErrBadOffset   = errors.New("negative offset or size")
)

// Error says which operation failed on which file.
type Error struct {
	Operation OperationKind
	Name      string
	Err       error
}

func (e *Error) Error() string {
	return "disk: " + e.Operation.String() + " " + e.Name + ": " + e.Err.Error()
}

// Unwrap gives the reason.
func (e *Error) Unwrap() error { return e.Err }

// failed wraps a reason once. io.EOF passes as it is, since io.ReaderAt's callers compare it.
func failed(kind OperationKind, name string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if already := (*Error)(nil); errors.As(err, &already) {
		return err
	}
	return &Error{Operation: kind, Name: name, Err: plain(err)}
}

// plain takes the system's own operation and absolute path off an error, and gives the
// well-known reasons one value, so that both kinds of disk answer alike.
func plain(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fs.ErrNotExist
	case errors.Is(err, fs.ErrExist):
		return fs.ErrExist
	case errors.Is(err, syscall.ENOTDIR):
		// A name below a file does not exist; memory says so without a reason of its own.
		return fs.ErrNotExist
	case isFull(err):
		return ErrFull
	case errors.Is(err, syscall.EIO):
		return ErrIO
	}
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		return inner.Err
	}
	return err
}
