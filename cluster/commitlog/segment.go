package commitlog

import (
	"errors"
	"io/fs"
	"path"

	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/record"
)

// segment is a run of batches in one .log file with its indexes. Only the newest segment of a log,
// the active one, grows.
type segment struct {
	base event.Offset // the offset in the files' names; no batch begins below it
	log  disk.File
	// size is the segment's length in bytes with what still waits to be written; written is how
	// much of it the file has. They differ in the active segment only, and only within a turn.
	size, written int64

	offsets offsetIndex
	times   timeIndex
	aborted txnIndex

	// sinceIndexEntry counts the bytes appended since the last index entry.
	sinceIndexEntry int64
	// maxTimestamp is the largest timestamp of the segment, -1 if none, and maxTimestampOffset the
	// last offset of the first batch that has it.
	maxTimestamp       int64
	maxTimestampOffset event.Offset
	// firstBatchTimestamp is the first batch's max timestamp, what segment.ms is measured from;
	// -1 if there is none.
	firstBatchTimestamp int64
	// created is when the segment was created or opened, in unix milliseconds.
	created int64
}

// SegmentView is what can be seen of a segment from outside.
type SegmentView struct {
	BaseOffset     event.Offset
	Bytes          int64
	MaxTimestamp   int64 // unix ms; -1: none
	IndexEntries   int
	TimeEntries    int
	AbortedTxns    int
	Active         bool
	WrittenToBytes int64
}

func (l *Log) newSegment(base event.Offset) *segment {
	return newSegment(l.fs, l.dir, base, l.cfg.SegmentIndexBytes, l.cfg.Now())
}

func newSegment(
	files disk.FS, dir string, base event.Offset, indexBytes, created int64,
) *segment {
	s := &segment{
		base: base, maxTimestamp: -1, maxTimestampOffset: base, firstBatchTimestamp: -1,
		created: created,
	}
	name := func(ext string) string { return path.Join(dir, FileName(base, ext)) }
	s.offsets = newOffsetIndex(files, name(extIndex), base, indexBytes)
	s.times = newTimeIndex(files, name(extTimeIndex), base, indexBytes)
	s.aborted = txnIndex{files: files, name: name(extTxnIndex)}
	return s
}

// createSegment makes the files of a new, empty segment.
func (l *Log) createSegment(base event.Offset) (*segment, error) {
	s := l.newSegment(base)
	var err error
	if s.log, err = l.fs.Create(l.name(base, extLog)); err != nil {
		return nil, err
	}
	if l.cfg.Preallocate {
		err = s.log.Preallocate(l.cfg.SegmentBytes)
	}
	err = errors.Join(err, s.offsets.create(), s.times.create())
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	l.namesDirty++
	return s, nil
}

// openSegment opens an existing segment's log file; its indexes are read by loadIndexes.
func (l *Log) openSegment(base event.Offset) (*segment, error) {
	s := l.newSegment(base)
	var err error
	if s.log, err = l.fs.Open(l.name(base, extLog)); err != nil {
		return nil, err
	}
	s.size = s.log.Size()
	s.written = s.size
	return s, nil
}

// note brings the segment's facts up to date with a batch that goes to position s.size; Kafka's
// LogSegment.append without the write. The index entry is made before the batch is added, which
// is why a segment's first batch never gets one.
func (s *segment) note(h *record.Header, size int64, indexInterval int64) {
	last := event.Offset(h.LastOffset())
	s.noteTime(h)
	if s.size == 0 {
		s.firstBatchTimestamp = h.MaxTimestamp
	}
	if s.sinceIndexEntry > indexInterval {
		s.offsets.append(last, s.size)
		s.times.append(s.maxTimestamp, s.maxTimestampOffset)
		s.sinceIndexEntry = 0
	}
	s.sinceIndexEntry += size
	s.size += size
}

// noteTime takes a batch's largest timestamp into the segment's. A batch that compaction has
// emptied counts for nothing: no record has its time, and the time index speaks of records.
func (s *segment) noteTime(h *record.Header) {
	if h.RecordsCount > 0 && h.MaxTimestamp > s.maxTimestamp {
		s.maxTimestamp, s.maxTimestampOffset = h.MaxTimestamp, event.Offset(h.LastOffset())
	}
}

// shouldRoll says whether a batch must go to a new segment, and by which rule; Kafka's
// LogSegment.shouldRoll. An empty segment takes any batch whose offsets it can index.
func (s *segment) shouldRoll(h *record.Header, size, now int64, cfg *Config) (event.Rule, bool) {
	if !fitsRelative(s.base, event.Offset(h.LastOffset())) {
		return event.RuleRollByIndex, true
	}
	if s.size == 0 {
		return event.RuleNone, false
	}
	if s.size > cfg.SegmentBytes-size {
		return event.RuleRollBySize, true
	}
	waited := now - s.created
	if s.firstBatchTimestamp >= 0 {
		waited = h.MaxTimestamp - s.firstBatchTimestamp
	}
	if waited > cfg.SegmentMs {
		return event.RuleRollByTime, true
	}
	if s.offsets.isFull() || s.times.isFull() {
		return event.RuleRollByIndex, true
	}
	return event.RuleNone, false
}

// flushIndexes writes what the index files do not have yet.
func (s *segment) flushIndexes() error {
	if err := s.offsets.flush(); err != nil {
		return err
	}
	if err := s.times.flush(); err != nil {
		return err
	}
	return s.aborted.flush()
}

// finish adds the last time index entry, so that a closed segment ends with its largest
// timestamp.
func (s *segment) finish() error {
	s.times.append(s.maxTimestamp, s.maxTimestampOffset)
	return s.flushIndexes()
}

// trim cuts preallocated room off the log and both indexes.
func (s *segment) trim() error {
	err := errors.Join(s.offsets.trim(), s.times.trim())
	if s.log.Size() > s.written {
		err = errors.Join(err, s.log.Truncate(s.written))
	}
	return err
}

// recreateIndexes gives the segment index files with the entries in memory.
func (s *segment) recreateIndexes() error {
	if err := s.offsets.recreate(); err != nil {
		return err
	}
	if err := s.times.recreate(); err != nil {
		return err
	}
	return s.aborted.recreate()
}

// handles are the segment's open files.
func (s *segment) handles() []disk.File {
	var open []disk.File
	for _, f := range []disk.File{s.log, s.offsets.file, s.times.file, s.aborted.file} {
		if f != nil {
			open = append(open, f)
		}
	}
	return open
}

func (s *segment) close() error {
	err := errors.Join(s.offsets.close(), s.times.close(), s.aborted.close())
	if s.log != nil {
		err = errors.Join(err, s.log.Close())
	}
	return err
}

// renameDeleted marks the segment's files as deleted and returns their new names, for the ticket
// that unlinks them. Files that do not exist are skipped.
func (l *Log) renameDeleted(s *segment) ([]string, error) {
	var names []string
	for _, ext := range segmentExts {
		name := l.name(s.base, ext)
		err := l.fs.Rename(name, name+suffixDeleted)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return names, err
		}
		names = append(names, name+suffixDeleted)
	}
	l.namesDirty++
	return names, nil
}
