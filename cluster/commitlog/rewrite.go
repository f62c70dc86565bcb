package commitlog

import (
	"errors"
	"fmt"
	"path"

	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/record"
)

// outputBufferBytes is how much of a rewritten segment is collected before it is written.
const outputBufferBytes = 1 << 20

// Rewrite is the cleaner's hold on closed segments: it may read them and write their successors on
// any goroutine, while the log goes on. Nothing changes in the log before Swap.
type Rewrite struct {
	Sources    []Source
	files      disk.FS
	dir        string
	indexBytes int64 // segment.index.bytes, of a preallocated index
	interval   int64 // index.interval.bytes
	cuts       int   // of the log, when this began
}

// Source is a closed segment that is being rewritten.
type Source struct {
	BaseOffset event.Offset
	NextOffset event.Offset // where the next segment begins
	Bytes      int64
	// OffsetIndexBytes and TimeIndexBytes are the lengths of its indexes.
	OffsetIndexBytes, TimeIndexBytes int64

	segment *segment // belongs to the loop
	file    disk.File
	created int64
}

// BeginRewrite takes hold of the closed segments that end at or below an offset. Release must
// follow, and no second Rewrite may be swapped in between.
func (l *Log) BeginRewrite(upTo event.Offset) (*Rewrite, error) {
	if l.failed != nil {
		return nil, l.failed
	}
	if err := l.settleSwaps(); err != nil {
		return nil, err
	}
	r := &Rewrite{files: l.fs, dir: l.dir, indexBytes: l.cfg.SegmentIndexBytes,
		interval: l.cfg.IndexIntervalBytes, cuts: l.cuts}
	for i, s := range l.segments[:len(l.segments)-1] {
		if l.endOf(i) > upTo || !s.log.Retain() {
			break
		}
		r.Sources = append(r.Sources, Source{
			BaseOffset: s.base, NextOffset: l.endOf(i), Bytes: s.size,
			OffsetIndexBytes: int64(len(s.offsets.entries)),
			TimeIndexBytes:   int64(len(s.times.entries)),
			segment:          s, file: s.log, created: s.created,
		})
	}
	return r, nil
}

// Current says whether nothing was cut from the log since the rewrite began. What a rewrite read
// from a log that was cut is worth nothing.
func (l *Log) Current(r *Rewrite) bool { return r.cuts == l.cuts }

// Release gives the segments back.
func (r *Rewrite) Release() error {
	var err error
	for i := range r.Sources {
		err = errors.Join(err, r.Sources[i].file.Release())
	}
	return err
}

// EachBatch visits the segment's batches in order. The bytes are valid during the visit only.
func (s *Source) EachBatch(visit func(record.Header, []byte) error) error {
	batches := scan(s.file, 0, s.Bytes, make([]byte, min(s.Bytes, scanChunkBytes)))
	for batches.next() {
		batch := batches.batch()
		if batch == nil {
			break
		}
		if err := visit(batches.header, batch); err != nil {
			return err
		}
	}
	if batches.err == nil && !batches.whole() {
		return fmt.Errorf("%w: at byte %d of segment %d", ErrCorrupt, batches.position, s.BaseOffset)
	}
	return batches.err
}

// Output is the successor of one or more neighbouring sources, in files named .cleaned until it is
// swapped in.
type Output struct {
	// Facts are for the event that tells of the swap.
	Facts   event.SegmentsSwapped
	rewrite *Rewrite
	sources []Source
	segment *segment
	buffer  []byte
	exts    []string // of the files that it has
}

// Create begins the successor of the sources [first, first+count).
func (r *Rewrite) Create(first, count int) (*Output, error) {
	o := &Output{rewrite: r, sources: r.Sources[first : first+count]}
	base, newest := o.sources[0].BaseOffset, o.sources[count-1]
	// The successor is as old as the newest that it replaces, for retention's sake.
	o.segment = newSegment(r.files, r.dir, base, r.indexBytes, newest.created)
	o.Facts.BaseOffset, o.Facts.NextOffset = base, newest.NextOffset
	o.Facts.Segments = int32(count)
	for i := range o.sources {
		o.Facts.BytesBefore += o.sources[i].Bytes
	}
	var err error
	if o.segment.log, err = r.files.Create(o.name(extLog, suffixCleaned)); err != nil {
		return nil, err
	}
	o.exts = append(o.exts, extLog)
	return o, nil
}

func (o *Output) name(ext, suffix string) string {
	return path.Join(o.rewrite.dir, FileName(o.segment.base, ext)+suffix)
}

// Append adds a batch, which may share memory with anything: it is copied.
func (o *Output) Append(h record.Header, batch []byte) error {
	o.segment.note(&h, int64(len(batch)), o.rewrite.interval)
	o.buffer = append(o.buffer, batch...)
	if len(o.buffer) < outputBufferBytes {
		return nil
	}
	return o.write()
}

// AppendAborted keeps the entry of an aborted transaction whose marker stays.
func (o *Output) AppendAborted(t AbortedTxn) { o.segment.aborted.append(t) }

func (o *Output) write() error {
	s := o.segment
	if _, err := s.log.WriteAt(o.buffer, s.written); err != nil {
		return err
	}
	s.written += int64(len(o.buffer))
	o.buffer = o.buffer[:0]
	return nil
}

// Finish writes what is left, and the indexes, and makes all of it durable under its names.
func (o *Output) Finish() error {
	s := o.segment
	if err := o.write(); err != nil {
		return err
	}
	o.buffer = nil
	if err := s.log.Sync(); err != nil {
		return err
	}
	s.times.append(s.maxTimestamp, s.maxTimestampOffset)
	s.offsets.written, s.times.written = len(s.offsets.entries), len(s.times.entries)
	err := errors.Join(o.writeSynced(extIndex, s.offsets.entries),
		o.writeSynced(extTimeIndex, s.times.entries))
	if s.aborted.written = len(s.aborted.txns); s.aborted.written > 0 {
		var b []byte
		for _, t := range s.aborted.txns {
			b = t.append(b)
		}
		err = errors.Join(err, o.writeSynced(extTxnIndex, b))
	}
	o.Facts.Bytes = s.size
	return errors.Join(err, o.rewrite.files.SyncDir(o.rewrite.dir))
}

func (o *Output) writeSynced(ext string, content []byte) error {
	file, err := o.rewrite.files.Create(o.name(ext, suffixCleaned))
	if err != nil {
		return err
	}
	o.exts = append(o.exts, ext)
	_, err = file.WriteAt(content, 0)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// Discard removes an output that was not swapped in.
func (o *Output) Discard() error {
	err := o.segment.close()
	for _, ext := range o.exts {
		err = errors.Join(err, removeIfThere(o.rewrite.files, o.name(ext, suffixCleaned)))
	}
	return err
}

// SegmentTimes is what compaction lags are measured from.
type SegmentTimes struct {
	FirstBatchMs int64 // largest timestamp of the first batch, -1 if there is none
	LargestMs    int64 // -1 if there is none
}

// TimesOf reads the times of the segment with this base offset.
func (l *Log) TimesOf(base event.Offset) (SegmentTimes, error) {
	s := l.segments[l.segmentFor(base)]
	if s.firstBatchTimestamp < 0 && s.written > 0 {
		first := scan(s.log, 0, s.written, l.chunk)
		if first.next() {
			s.firstBatchTimestamp = first.header.MaxTimestamp
		}
		if first.err != nil {
			return SegmentTimes{}, first.err
		}
	}
	return SegmentTimes{s.firstBatchTimestamp, s.maxTimestamp}, nil
}

// FirstDirtyOffset is the offset from which on records were never compacted; Kafka begins anew
// where the checkpoint lies outside the log.
func (l *Log) FirstDirtyOffset() event.Offset {
	if l.firstDirty < l.start || l.firstDirty > l.end {
		return l.start
	}
	return l.firstDirty
}

// Compacted says whether a pass of the cleaner has ended on this log.
func (l *Log) Compacted() bool { return l.firstDirty >= 0 }

// SetFirstDirtyOffset notes how far a pass of the cleaner came.
func (l *Log) SetFirstDirtyOffset(offset event.Offset) { l.firstDirty = min(offset, l.end) }

// LastOfProducer is where the newest batch of a known producer lies.
type LastOfProducer struct {
	LastOffset event.Offset // of its newest data batch, -1 if none is remembered
	Epoch      int16
}

// LastOfProducers lists where the known producers' newest batches lie: compaction must leave those,
// for their sequence numbers or, without data, for their epoch.
func (l *Log) LastOfProducers() map[int64]LastOfProducer {
	last := make(map[int64]LastOfProducer, len(l.producers.byID))
	for _, id := range l.producers.ids() {
		p := l.producers.byID[id]
		of := LastOfProducer{LastOffset: noOffset, Epoch: p.epoch}
		if p.count > 0 {
			of.LastOffset = p.batches[p.count-1].lastOffset
		}
		last[id] = of
	}
	return last
}
