package commitlog

import (
	"highwater/cluster/event"
	"highwater/cluster/record"
)

// The special timestamps of ListOffsets.
const (
	TimestampLatest      int64 = -1
	TimestampEarliest    int64 = -2
	TimestampOfMax       int64 = -3
	TimestampLocalOldest int64 = -4
)

// TimestampOffset answers ListOffsets: a record's timestamp and offset, and the leader epoch it was
// written in. Timestamp and epoch are -1 for the special positions, all three for "none".
type TimestampOffset struct {
	Timestamp   int64
	Offset      event.Offset
	LeaderEpoch event.Epoch
}

// noTimestampOffset is the answer that there is no such record.
var noTimestampOffset = TimestampOffset{-1, -1, -1}

// OffsetForTimestamp finds the first record at or after a timestamp, or one of the special
// positions; TimestampLatest answers the log end offset, which the caller replaces by what its
// reader may see. A found offset at or above that is for the caller to withhold.
func (l *Log) OffsetForTimestamp(timestamp int64) (TimestampOffset, error) {
	switch timestamp {
	case TimestampLatest:
		return TimestampOffset{-1, l.end, l.LastEpoch()}, nil
	case TimestampEarliest, TimestampLocalOldest:
		return TimestampOffset{-1, l.start, l.epochs.at(l.start)}, nil
	}
	// What is pending would otherwise have to be searched in a second way.
	if err := l.Flush(); err != nil {
		return noTimestampOffset, err
	}
	if timestamp == TimestampOfMax {
		return l.offsetOfMaxTimestamp()
	}
	for _, s := range l.segments {
		if s.maxTimestamp < timestamp {
			continue
		}
		_, position := s.offsets.floor(s.times.floor(timestamp))
		found, err := l.findTimestamp(s, position, timestamp, l.start)
		if err != nil || found != noTimestampOffset {
			return found, err
		}
	}
	return noTimestampOffset, nil
}

// offsetOfMaxTimestamp finds the first record that carries the log's largest timestamp; as in
// Kafka, also below the log start offset, as long as its segment is there.
func (l *Log) offsetOfMaxTimestamp() (TimestampOffset, error) {
	var newest *segment
	for _, s := range l.segments {
		if newest == nil || s.maxTimestamp > newest.maxTimestamp {
			newest = s
		}
	}
	if newest.maxTimestamp < 0 {
		return noTimestampOffset, nil
	}
	_, position := newest.offsets.floor(newest.maxTimestampOffset)
	return l.findTimestamp(newest, position, newest.maxTimestamp, 0)
}

// findTimestamp searches a segment from a position on, but for offsets below from: first the batch
// by its largest timestamp, then the record in it, for which the batch is inflated.
func (l *Log) findTimestamp(s *segment, position, timestamp int64, from event.Offset) (
	TimestampOffset, error) {
	batches := scan(s.log, position, s.written, l.chunk)
	for batches.next() {
		h := &batches.header
		if h.MaxTimestamp < timestamp || batches.last() < from {
			continue
		}
		found, err := findRecord(h, batches.batch(), timestamp, from)
		if err != nil || found != noTimestampOffset {
			return found, err
		}
	}
	return noTimestampOffset, batches.err
}

func findRecord(h *record.Header, batch []byte, timestamp int64, from event.Offset) (
	TimestampOffset, error) {
	found := noTimestampOffset
	base, fixed := h.BaseTimestamp, int64(-1)
	if h.Attributes.LogAppendTime() {
		fixed = h.MaxTimestamp
	}
	err := record.EachRecord(batch, decompressedBytesMax, func(r record.Record) error {
		at, offset := base+r.TimestampDelta, event.Offset(h.BaseOffset+int64(r.OffsetDelta))
		if fixed >= 0 {
			at = fixed
		}
		if found == noTimestampOffset && at >= timestamp && offset >= from {
			found = TimestampOffset{at, offset, event.Epoch(h.PartitionLeaderEpoch)}
		}
		return nil
	})
	return found, err
}
