package commitlog

import (
	"io"

	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/record"
)

const (
	// scanChunkBytes is how much of a file a scan reads at once, small for a lookup inside one
	// index interval, large for recovery.
	lookupChunkBytes = 16 << 10
	scanChunkBytes   = 1 << 20
)

// scanner walks the batches of a range of a log file. It stops at what is not a whole batch.
type scanner struct {
	file disk.File
	// position is where the next batch begins; end is the first byte not to be read.
	position, end int64
	header        record.Header
	size          int64 // bytes of the batch that header belongs to
	// chunk holds the file's bytes [chunkAt, chunkAt+len(chunk)).
	chunk   []byte
	chunkAt int64
	buffer  []byte // the chunk's memory, reused
	err     error
}

// scan begins a walk. buffer is the memory to use, at least one header long.
func scan(file disk.File, from, end int64, buffer []byte) scanner {
	return scanner{file: file, position: from, end: end, chunkAt: from, buffer: buffer}
}

// next moves to the next batch; afterwards header and at() describe it. It reports false at the
// end of the range, at anything that is not a whole batch, and on a read error.
func (s *scanner) next() bool {
	s.position += s.size
	s.size = 0
	if s.end-s.position < record.HeaderBytes {
		return false
	}
	b := s.bytes(s.position, record.HeaderBytes)
	if b == nil {
		return false
	}
	h, err := record.ParseHeader(b)
	if err != nil || int64(h.Size()) > s.end-s.position {
		return false
	}
	s.header, s.size = h, int64(h.Size())
	return true
}

// batch is the whole current batch; it is valid until the next call. It is nil on a read error.
func (s *scanner) batch() []byte { return s.bytes(s.position, s.size) }

// last is the current batch's last offset.
func (s *scanner) last() event.Offset { return event.Offset(s.header.LastOffset()) }

// whole says whether the scan reached the end of its range exactly.
func (s *scanner) whole() bool { return s.err == nil && s.position == s.end }

// bytes gives n bytes at a position of the file, reading ahead as far as the buffer reaches.
func (s *scanner) bytes(at, n int64) []byte {
	if at < s.chunkAt || at+n > s.chunkAt+int64(len(s.chunk)) {
		if int64(len(s.buffer)) < n {
			s.buffer = make([]byte, n)
		}
		take := min(int64(len(s.buffer)), s.end-at)
		read, err := s.file.ReadAt(s.buffer[:take], at)
		if err != nil && err != io.EOF {
			s.err = err
			return nil
		}
		s.chunk, s.chunkAt = s.buffer[:read], at
		if int64(read) < n {
			return nil
		}
	}
	return s.chunk[at-s.chunkAt : at-s.chunkAt+n]
}
