package commitlog

import (
	"errors"
	"time"

	"highwater/cluster/event"
)

// deferDelete hands the unlinking of a segment's renamed files out. The log's handle on the file
// closes there too; readers that hold ranges of it keep theirs.
func (l *Log) deferDelete(s *segment, names []string) {
	files := s.handles()
	s.log, s.offsets.file, s.times.file, s.aborted.file = nil, nil, nil, nil
	delay := time.Duration(l.cfg.FileDeleteDelayMs) * time.Millisecond
	l.deferred = append(l.deferred, Ticket{Name: "delete", Delay: delay, log: l, Run: func() error {
		var err error
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
		for _, name := range names {
			err = errors.Join(err, removeIfThere(l.fs, name))
		}
		return err
	}})
}

// AdvanceStart makes the offset the first one that may be read (DeleteRecords, or a leader's start
// that moved). The segments below it go with the next retention pass.
func (l *Log) AdvanceStart(to event.Offset, rule event.Rule) error {
	if l.failed != nil || to <= l.start {
		return l.failed
	}
	if to > l.end {
		return &OutOfRangeError{to, l.start, l.end}
	}
	return l.moveStart(to, rule)
}

func (l *Log) moveStart(to event.Offset, rule event.Rule) error {
	before := l.start
	l.start = to
	if l.epochs.truncateStart(to) {
		if err := l.writeEpochs(); err != nil {
			return err
		}
	}
	l.emitStart(before, rule)
	return nil
}

// RetentionPass deletes the oldest segments for as long as one of Kafka's three reasons holds: they
// lie below the log start offset, the log without them is still retention.bytes long, or their
// newest record is older than retention.ms. Only what is below the high watermark goes.
func (l *Log) RetentionPass(nowMs int64, highWatermark event.Offset) error {
	if err := l.settleSwaps(); err != nil {
		return err
	}
	err := l.deleteOldest(event.RuleRetentionStartOffset, highWatermark,
		func(i int) bool { return i+1 < len(l.segments) && l.endOf(i) <= l.start })
	if err != nil || l.cfg.CleanupPolicy&CleanupDelete == 0 {
		return err
	}
	if l.cfg.RetentionBytes >= 0 {
		excess := l.Size() - l.cfg.RetentionBytes
		err := l.deleteOldest(event.RuleRetentionSize, highWatermark, func(i int) bool {
			excess -= l.segments[i].size
			return excess >= 0
		})
		if err != nil {
			return err
		}
	}
	if l.cfg.RetentionMs < 0 {
		return nil
	}
	return l.deleteOldest(event.RuleRetentionTime, highWatermark, func(i int) bool {
		return nowMs-l.segments[i].newestRecord() > l.cfg.RetentionMs
	})
}

// newestRecord is the time of the segment's newest record; without timestamps, of its creation.
func (s *segment) newestRecord() int64 {
	if s.maxTimestamp >= 0 {
		return s.maxTimestamp
	}
	return s.created
}

// deleteOldest deletes segments from the front while the predicate holds. If that is all of them,
// the active one is rolled first, so that there always is one.
func (l *Log) deleteOldest(
	rule event.Rule, highWatermark event.Offset, expired func(i int) bool,
) error {
	n := 0
	for ; n < len(l.segments); n++ {
		emptyActive := n == len(l.segments)-1 && l.segments[n].size == 0
		if emptyActive || highWatermark < l.endOf(n) || !expired(n) {
			break
		}
	}
	if n == 0 {
		return nil
	}
	if n == len(l.segments) {
		if err := l.roll(l.end, event.RuleNone); err != nil {
			return err
		}
	}
	if err := l.deleteFront(n, rule); err != nil {
		return l.fail("delete", err)
	}
	return l.removeSnapshots(func(o event.Offset) bool { return o < l.segments[0].base })
}

// deleteFront moves the log start up first, as Kafka does: whoever asks for a deleted offset must
// hear that it is out of range, not that it is missing.
func (l *Log) deleteFront(n int, rule event.Rule) error {
	if next := l.endOf(n - 1); next > l.start {
		if err := l.moveStart(next, rule); err != nil {
			return err
		}
	}
	l.tail.releaseBelow(l.segments[n].base)
	for i, s := range l.segments[:n] {
		names, err := l.renameDeleted(s)
		if err != nil {
			return err
		}
		size, next := s.size, l.endOf(i)
		l.deferDelete(s, names)
		event.SegmentDeleted{
			Topic: l.cfg.Topic, Partition: l.cfg.Partition, BaseOffset: s.base,
			NextOffset: next, Bytes: size,
		}.Emit(l.cfg.Events, rule)
	}
	rest := make([]*segment, len(l.segments)-n)
	copy(rest, l.segments[n:])
	l.segments = rest
	return nil
}
