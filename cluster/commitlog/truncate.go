package commitlog

import (
	"errors"
	"math"

	"highwater/cluster/event"
)

// Truncate cuts the log so that it ends at the offset; a follower does so where the leader's log
// took another way. If the offset lies inside a batch, the whole batch goes and the log ends where
// the batch began, so that no offset is missing below the end. A cut at the very end takes no
// batch, but the epochs that began there: a leader that appended nothing left such a one, which
// no other log knows.
func (l *Log) Truncate(to event.Offset, rule event.Rule) error {
	switch {
	case l.failed != nil || to > l.end:
		return l.failed
	case to == l.end && l.epochs.truncateEnd(l.end):
		return l.writeEpochs()
	case to == l.end:
		return nil
	}
	if to < l.segments[0].base {
		return l.truncateFully(to, rule)
	}
	if err := errors.Join(l.Flush(), l.settleSwaps()); err != nil {
		return err
	}
	before, size := l.end, l.Size()
	// Nothing that a sync under way makes durable may be counted any more.
	l.cuts++
	i := l.segmentFor(to)
	err := l.dropSegments(i + 1)
	if err == nil {
		err = l.cutSegment(l.segments[i], to)
	}
	if err == nil {
		err = l.settleCut(l.segments[i])
	}
	if err != nil {
		return l.fail("truncate", err)
	}
	l.written, l.synced = l.end, min(l.synced, l.end)
	l.start = min(l.start, l.end)
	l.firstDirty = min(l.firstDirty, l.end)
	l.tail.release(l.end)
	if l.epochs.truncateEnd(l.end) {
		if err := l.writeEpochs(); err != nil {
			return err
		}
	}
	err = l.removeSnapshots(func(o event.Offset) bool { return o > l.end })
	if err == nil {
		_, err = l.restoreProducers()
	}
	if err != nil {
		return l.fail("truncate", err)
	}
	if l.producers.snapshotEnd != l.end {
		if err := l.writeSnapshot(); err != nil {
			return err
		}
	}
	l.emitTruncated(before, size, rule)
	return nil
}

func (l *Log) emitTruncated(before event.Offset, size int64, rule event.Rule) {
	// The log knows no high watermark; the replica that asked for the cut does.
	event.LogTruncated{
		Topic: l.cfg.Topic, Partition: l.cfg.Partition, Before: before, After: l.end,
		LeaderEpoch: l.LastEpoch(), HighWatermark: -1, Bytes: size - l.Size(),
	}.Emit(l.cfg.Events, rule)
}

// settleCut makes a cut durable before anything is appended behind it. Otherwise a power cut could
// bring batches back that were cut off, and put them behind the newer ones that had their place.
func (l *Log) settleCut(s *segment) error {
	if err := s.log.Sync(); err != nil {
		return err
	}
	names := l.namesDirty
	if err := l.fs.SyncDir(l.dir); err != nil {
		return err
	}
	l.namesSynced = names
	return nil
}

// dropSegments deletes the segments from the index on.
func (l *Log) dropSegments(from int) error {
	for _, s := range l.segments[from:] {
		names, err := l.renameDeleted(s)
		if err != nil {
			return err
		}
		l.deferDelete(s, names)
	}
	clear(l.segments[from:])
	l.segments = l.segments[:from]
	return nil
}

// cutSegment cuts a segment at the first batch that reaches the offset and makes it the active
// one: its indexes get fresh files of full length.
func (l *Log) cutSegment(s *segment, to event.Offset) error {
	entry, position := s.offsets.floor(to)
	if entry >= to && position > 0 {
		// That batch itself ends at or above the cut, and the one before may reach over it.
		_, position = s.offsets.floor(to - 1)
	}
	batches := scan(s.log, position, s.written, l.chunk)
	cut, end := int64(-1), s.base
	for batches.next() {
		if batches.last() >= to {
			cut = batches.position
			break
		}
		end = batches.last() + 1
	}
	// After compaction the last batch below the cut may end far below it. The log ends there, so that
	// it ends at the same offset when it is opened again; what lies between is fetched anew.
	if batches.err != nil {
		return batches.err
	}
	if cut >= 0 {
		if err := s.log.Truncate(cut); err != nil {
			return err
		}
		s.size, s.written = cut, cut
	}
	l.end = max(end, s.base)
	s.offsets.truncate(l.end)
	s.times.truncate(l.end)
	s.aborted.truncate(l.end)
	l.namesDirty++
	if err := s.recreateIndexes(); err != nil {
		return err
	}
	return l.findMaxTimestamp(s)
}

// findMaxTimestamp reads again what a cut segment's batches say about time.
func (l *Log) findMaxTimestamp(s *segment) error {
	s.maxTimestamp, s.maxTimestampOffset = s.times.last()
	s.sinceIndexEntry = 0
	_, position := s.offsets.floor(math.MaxInt64)
	batches := scan(s.log, position, s.written, l.chunk)
	for batches.next() {
		s.noteTime(&batches.header)
		s.sinceIndexEntry += batches.size
	}
	s.firstBatchTimestamp = -1
	first := scan(s.log, 0, s.written, l.chunk)
	if first.next() {
		s.firstBatchTimestamp = first.header.MaxTimestamp
	}
	return errors.Join(batches.err, first.err)
}

// TruncateFullyAndStartAt drops everything and goes on at the offset, when the leader's log begins
// above this one's end.
func (l *Log) TruncateFullyAndStartAt(offset event.Offset) error {
	if l.failed != nil {
		return l.failed
	}
	return l.truncateFully(offset, event.RuleRetentionStartOffset)
}

func (l *Log) truncateFully(offset event.Offset, rule event.Rule) error {
	if err := errors.Join(l.Flush(), l.settleSwaps()); err != nil {
		return err
	}
	before, size, start := l.end, l.Size(), l.start
	l.tail.release(math.MinInt64)
	if err := l.restartAt(offset); err != nil {
		return err
	}
	if err := l.settleCut(l.active()); err != nil {
		return l.fail("truncate", err)
	}
	l.emitTruncated(before, size, rule)
	l.emitStart(start, rule)
	return nil
}

func (l *Log) emitStart(before event.Offset, rule event.Rule) {
	if before == l.start {
		return
	}
	event.LogStartOffsetMoved{
		Topic: l.cfg.Topic, Partition: l.cfg.Partition, Before: before, After: l.start,
	}.Emit(l.cfg.Events, rule)
}
