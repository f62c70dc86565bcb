package commitlog

import (
	"cmp"
	"errors"
	"io"

	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/record"
)

// FileRange is a run of whole batches in a segment's file. The file is retained for the reader.
type FileRange struct {
	File   disk.File
	Offset int64 // bytes from the file's beginning
	Length int64 // bytes
}

// Slices are batches that were read, in order: first the file ranges, then the buffers, of which a
// read fills one kind. Whoever asked for them calls Release once they are sent or copied.
type Slices struct {
	Buffers []record.Buffer
	Ranges  []FileRange
	Bytes   int
	// Records counts offsets, which after compaction may be more than there are records.
	Records     int
	FirstOffset event.Offset // may lie below the offset asked for
	NextOffset  event.Offset // what to ask for next
}

// Release gives the references back and empties the slices, keeping their memory. A handle's last
// release closes a file that was only read, so its error says nothing about data and is dropped.
func (s *Slices) Release() {
	for i := range s.Buffers {
		s.Buffers[i].Release()
	}
	for i := range s.Ranges {
		_ = s.Ranges[i].File.Release()
	}
	clear(s.Buffers)
	clear(s.Ranges)
	*s = Slices{Buffers: s.Buffers[:0], Ranges: s.Ranges[:0]}
}

// Read reads batches that begin with the one holding from and end below limit: at most maxBytes,
// but with minOne at least one batch whatever its size. No batches is no error: from is the end
// or the limit. Outside the log it returns *OutOfRangeError.
func (l *Log) Read(
	from event.Offset, maxBytes int, limit event.Offset, minOne bool,
) (Slices, error) {
	var s Slices
	err := l.ReadInto(&s, from, maxBytes, limit, minOne)
	return s, err
}

// ReadInto is Read into slices whose memory is reused.
func (l *Log) ReadInto(
	s *Slices, from event.Offset, maxBytes int, limit event.Offset, minOne bool,
) error {
	if from < l.start || from > l.end {
		return &OutOfRangeError{from, l.start, l.end}
	}
	*s = Slices{
		Buffers: s.Buffers[:0], Ranges: s.Ranges[:0], FirstOffset: from, NextOffset: from,
	}
	limit = min(limit, l.end)
	if from >= limit {
		return nil
	}
	if i, found := l.tail.find(from); found {
		l.readTail(s, i, maxBytes, limit, minOne)
		return nil
	}
	return l.readFiles(s, from, int64(maxBytes), min(limit, l.written), minOne)
}

// readTail takes batches from memory, by reference.
func (l *Log) readTail(s *Slices, first, maxBytes int, limit event.Offset, minOne bool) {
	end, bytes := first, 0
	for ; end < len(l.tail.entries); end++ {
		e := &l.tail.entries[end]
		size := len(e.buffer.Bytes)
		oversized := bytes+size > maxBytes && (end > first || !minOne)
		if e.last >= limit || oversized {
			break
		}
		bytes += size
	}
	if end == first {
		return
	}
	if cap(s.Buffers) < end-first {
		s.Buffers = make([]record.Buffer, 0, end-first)
	}
	for i := first; i < end; i++ {
		l.tail.entries[i].buffer.Retain()
		s.Buffers = append(s.Buffers, l.tail.entries[i].buffer)
	}
	s.Bytes = bytes
	s.FirstOffset, s.NextOffset = l.tail.entries[first].base, l.tail.entries[end-1].last+1
	s.Records = int(s.NextOffset - s.FirstOffset)
}

// readFiles finds a range in the first segment that has anything for the reader.
func (l *Log) readFiles(
	s *Slices, from event.Offset, maxBytes int64, limit event.Offset, minOne bool,
) error {
	for i := l.segmentFor(from); i < len(l.segments); i++ {
		seg := l.segments[i]
		if seg.base >= limit {
			return nil
		}
		found, err := l.readSegment(s, seg, from, maxBytes, limit, minOne)
		if found || err != nil {
			return err
		}
	}
	return nil
}

// readSegment finds the batches of one segment: the first by the index and a short scan, the end by
// the index and another one, so that what lies between is not touched here.
func (l *Log) readSegment(
	s *Slices, seg *segment, from event.Offset, maxBytes int64, limit event.Offset, minOne bool,
) (bool, error) {
	_, position := seg.offsets.floor(from)
	batches := scan(seg.log, position, seg.written, l.chunk)
	found := batches.next()
	for found && batches.last() < from {
		found = batches.next()
	}
	if !found {
		if batches.err == nil && !batches.whole() {
			return false, ErrCorrupt
		}
		return false, batches.err
	}
	tooLarge := batches.size > maxBytes && !minOne
	if batches.last() >= limit || tooLarge {
		return true, nil
	}
	start, first := batches.position, event.Offset(batches.header.BaseOffset)
	end, next := start+batches.size, batches.last()+1
	// Whole batches lie up to any indexed position; from the last one within both bounds on,
	// at most an index interval and a batch are walked.
	skip := seg.offsets.floorPosition(start + maxBytes)
	if _, p := seg.offsets.floor(limit - 1); p < skip {
		skip = p
	}
	if skip > end {
		batches = scan(seg.log, skip, seg.written, l.chunk)
		if !batches.next() {
			return false, cmp.Or(batches.err, ErrCorrupt)
		}
		// Should that batch be one too many, the offset it begins at ends the range.
		end, next = skip, event.Offset(batches.header.BaseOffset)
		batches = scan(seg.log, skip, seg.written, l.chunk)
	}
	for batches.next() {
		if batches.last() >= limit || batches.position+batches.size-start > maxBytes {
			break
		}
		end, next = batches.position+batches.size, batches.last()+1
	}
	if batches.err != nil {
		return false, batches.err
	}
	if !seg.log.Retain() {
		return false, disk.ErrClosed
	}
	s.Ranges = append(s.Ranges, FileRange{seg.log, start, end - start})
	s.Bytes, s.FirstOffset, s.NextOffset = int(end-start), first, next
	s.Records = int(next - first)
	return true, nil
}

// Load reads the file ranges into memory and returns all batches as buffers, for readers in this
// process. The slices keep their references.
func (s *Slices) Load() ([]record.Buffer, error) {
	loaded := make([]record.Buffer, 0, len(s.Ranges)+len(s.Buffers))
	for _, r := range s.Ranges {
		b := make([]byte, r.Length)
		if n, err := r.File.ReadAt(b, r.Offset); err != nil && (err != io.EOF || n < len(b)) {
			return nil, err
		}
		loaded = append(loaded, record.Buffer{Bytes: b})
	}
	return append(loaded, s.Buffers...), nil
}

// ReadAll reads what lies in [from, limit), at most about maxBytes, and visits each batch with its
// header. The bytes are valid during the visit only.
func (l *Log) ReadAll(
	from event.Offset, maxBytes int, limit event.Offset, visit func(record.Header, []byte) error,
) (next event.Offset, err error) {
	var s Slices
	defer s.Release()
	for next = from; next < limit && maxBytes > 0; next = s.NextOffset {
		s.Release()
		if err := l.ReadInto(&s, next, maxBytes, limit, true); err != nil {
			return next, err
		}
		buffers, err := s.Load()
		if err != nil {
			return next, err
		}
		if s.Bytes == 0 {
			return next, nil
		}
		maxBytes -= s.Bytes
		for _, b := range buffers {
			if err := EachBatch(b, func(h record.Header, b record.Buffer) error {
				return visit(h, b.Bytes)
			}); err != nil {
				return next, err
			}
		}
	}
	return next, nil
}

// EachBatch splits a buffer of whole batches; each part shares the buffer's slab, without a
// reference of its own.
func EachBatch(buf record.Buffer, visit func(record.Header, record.Buffer) error) error {
	for rest := buf.Bytes; len(rest) > 0; {
		h, err := record.ParseHeader(rest)
		if err != nil || h.Size() > len(rest) {
			return errors.Join(ErrCorrupt, err)
		}
		if err := visit(h, record.Buffer{Slab: buf.Slab, Bytes: rest[:h.Size():h.Size()]}); err != nil {
			return err
		}
		rest = rest[h.Size():]
	}
	return nil
}
