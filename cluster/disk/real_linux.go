package disk

import (
	"io"
	"unsafe"

	"golang.org/x/sys/unix"
)

// vectorsMax is Linux's IOV_MAX: how many buffers one pwritev takes.
const vectorsMax = 1024

// vectors is the scratch array of pwritev, kept with the file so that a write allocates nothing.
type vectors []unix.Iovec

// writeVectors writes with one pwritev for every vectorsMax buffers. The caller holds a reference
// to the file, so the descriptor cannot be closed and reused meanwhile.
func (f *realFile) writeVectors(buffers [][]byte, off int64) (int64, error) {
	f.reserve(buffers, off)
	var written int64
	for len(buffers) > 0 {
		f.scratch = f.scratch[:0]
		taken := min(len(buffers), vectorsMax)
		for _, buffer := range buffers[:taken] {
			if len(buffer) == 0 {
				continue
			}
			vector := unix.Iovec{Base: unsafe.SliceData(buffer)}
			vector.SetLen(len(buffer))
			f.scratch = append(f.scratch, vector)
		}
		n, err := f.writeScratch(off + written)
		written += n
		clear(f.scratch) // the buffers must not live on because we wrote them
		if err != nil {
			return written, err
		}
		buffers = buffers[taken:]
	}
	return written, nil
}

// A write of reserveFrom bytes has blocks reserved for it and what follows, reserveBytes at a time.
const (
	reserveFrom  = 64 << 10
	reserveBytes = 4 << 20
)

// reserve asks for the blocks of a large append before it writes: block by block they take as long
// as the bytes. The file's length does not change, and a system that cannot, or has no room, finds
// the blocks in the write itself.
func (f *realFile) reserve(buffers [][]byte, off int64) {
	end := off
	for _, buffer := range buffers {
		end += int64(len(buffer))
	}
	if end-off < reserveFrom || end <= f.reserved || f.reserved < 0 {
		return
	}
	from := max(off, f.reserved)
	if err := unix.Fallocate(int(f.file.Fd()), unix.FALLOC_FL_KEEP_SIZE, from, end-from+reserveBytes); err != nil {
		f.reserved = -1
		return
	}
	f.reserved = end + reserveBytes
}

// writeScratch writes the scratch array to its end, continuing after short writes.
func (f *realFile) writeScratch(off int64) (int64, error) {
	descriptor := f.file.Fd()
	left := f.scratch
	var written int64
	for len(left) > 0 {
		low, high := halves(off + written)
		n, _, code := unix.Syscall6(unix.SYS_PWRITEV, descriptor,
			uintptr(unsafe.Pointer(unsafe.SliceData(left))), uintptr(len(left)), low, high, 0)
		if code == unix.EINTR {
			continue
		}
		if code != 0 {
			return written, code
		}
		if n == 0 {
			return written, io.ErrShortWrite
		}
		written += int64(n)
		left = advance(left, uint64(n))
	}
	return written, nil
}

// advance drops what was written from the front of the array.
func advance(left vectors, n uint64) vectors {
	for len(left) > 0 && n >= uint64(left[0].Len) {
		n -= uint64(left[0].Len)
		left = left[1:]
	}
	if n > 0 {
		base := unsafe.Slice(left[0].Base, left[0].Len)[n:]
		left[0].Base = unsafe.SliceData(base)
		left[0].SetLen(len(base))
	}
	return left
}

// halves splits an offset the way pwritev wants it: whole words on 64-bit systems ignore the
// high half. Two shifts, because shifting by a full word at once is not the same on both.
func halves(off int64) (low, high uintptr) {
	const wordBits = 32 << (^uintptr(0) >> 63)
	return uintptr(off), uintptr(uint64(off) >> (wordBits - 1) >> 1)
}

// sync is fdatasync: data and length, without the times that nobody needs after a crash.
func (f *realFile) sync() error {
	for {
		if err := unix.Fdatasync(int(f.file.Fd())); err != unix.EINTR {
			return err
		}
	}
}
