//go:build !linux

package disk

// vectors is empty where the system has no pwritev.
type vectors struct{}

// writeVectors writes one buffer after the other.
func (f *realFile) writeVectors(buffers [][]byte, off int64) (int64, error) {
	var written int64
	for _, buffer := range buffers {
		n, err := f.file.WriteAt(buffer, off+written)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// sync is the system's strongest: on macOS Go asks for F_FULLFSYNC.
func (f *realFile) sync() error { return f.file.Sync() }
