package model

import (
	"cmp"
	"slices"
	"strings"

	"highwater/cluster/event"
)

// applyLog folds what happened to a replica's log. Every kind but LogDirFailed begins with the
// topic and the partition.
func (s *State) applyLog(c *event.Chunk, r *event.Record) {
	if r.Kind == event.KindLogDirFailed {
		if n := s.node(r.Node); n != nil {
			e := c.LogDirFailed(r)
			n.LogDirFailed = e.Operation + ": " + e.Error
		}
		return
	}
	p, l := s.log(c.Text(r.Values[0]), int32(r.Values[1]), r.Node)
	if l == nil {
		return
	}
	switch r.Kind {
	case event.KindBatchAppended:
		s.batchAppended(l, c.BatchAppended(r))
	case event.KindLogSynced:
		l.SyncedOffset = c.LogSynced(r).UpTo
	case event.KindRecordDescribed:
		s.recordDescribed(p, l, c.RecordDescribed(r))
	case event.KindLogOpened:
		l.opened(s, c.LogOpened(r))
	case event.KindSegmentRolled:
		l.SegmentCount++
		l.Segments = append(l.Segments, c.SegmentRolled(r).BaseOffset)
		if len(l.Segments) > segmentsMax {
			l.Segments = slices.Delete(l.Segments, 0, len(l.Segments)-segmentsMax)
		}
	case event.KindSegmentDeleted:
		base := c.SegmentDeleted(r).BaseOffset
		l.SegmentCount = max(0, l.SegmentCount-1)
		l.Segments = slices.DeleteFunc(l.Segments, func(o event.Offset) bool { return o == base })
	case event.KindCleanerPassBegan:
		e := c.CleanerPassBegan(r)
		l.Cleaning = &Cleaning{Job: e.Job, FirstDirty: e.FirstDirtyOffset, UpTo: e.UpTo, Since: r.At}
	case event.KindSegmentsSwapped:
		l.segmentsSwapped(c.SegmentsSwapped(r))
	case event.KindCleanerPassEnded:
		e := c.CleanerPassEnded(r)
		l.Cleaning = nil
		l.Cleaned = &Cleaned{Outcome: e.Outcome, FirstDirty: e.FirstDirtyOffset,
			RecordsBefore: e.RecordsBefore, RecordsAfter: e.RecordsAfter, Survivors: e.Survivors,
			At: r.At, Seq: r.Seq}
	case event.KindLogStartOffsetMoved:
		l.startAt(c.LogStartOffsetMoved(r).After)
	case event.KindLogTruncated:
		e := c.LogTruncated(r)
		l.Totals.Truncations++
		if e.After != e.Before { // equal: a torn tail that had no offsets yet
			l.cut(s, e.Before, e.After)
		}
		if e.HighWatermark >= 0 {
			l.HighWatermark = e.HighWatermark
			l.LastStableOffset = min(l.LastStableOffset, e.HighWatermark)
		}
	case event.KindLeaderEpochStarted:
		e := c.LeaderEpochStarted(r)
		l.epochStarted(e.LeaderEpoch, e.StartOffset)
	case event.KindDuplicateSuppressed:
		l.Totals.Duplicates++
	case event.KindAppendRefused:
		e := c.AppendRefused(r)
		l.Totals.Refused++
		l.Refusal = &Refusal{ErrorCode: e.ErrorCode, Detail: e.Detail, At: r.At, Seq: r.Seq}
	}
}

func (s *State) batchAppended(l *Log, e event.BatchAppended) {
	l.Batches.push(Batch{BaseOffset: e.BaseOffset, LastOffset: e.LastOffset, Records: e.Records,
		Bytes: e.Bytes, LeaderEpoch: e.LeaderEpoch, ProducerID: e.ProducerID,
		BaseSequence: e.BaseSequence, Codec: e.Codec, Control: e.Control,
		Transactional: e.Transactional}, s.batchLimit())
	l.LogEndOffset = e.LastOffset + 1
	l.Totals.Batches++
	l.Totals.Records += int64(e.Records)
	l.Totals.Bytes += int64(e.Bytes)
	if e.Leader && !e.Control && !strings.HasPrefix(e.Topic, "__") {
		s.Counters.Records += int64(e.Records)
	}
}

// recordDescribed keeps a record under its offset and the epoch of the batch that holds it, which
// is nearly always the newest.
func (s *State) recordDescribed(p *Partition, l *Log, e event.RecordDescribed) {
	p.Described++
	d := Described{Offset: e.Offset, Epoch: l.epochAt(e.Offset), KeyBytes: e.KeyBytes,
		ValueBytes: e.ValueBytes, Headers: e.Headers, Key: e.Key, Value: e.Value,
		Timestamp: e.Timestamp}
	records := p.Records.Items()
	at, found := slices.BinarySearchFunc(records, d, compareDescribed)
	if found {
		records[at] = d
		return
	}
	p.Records.insert(at, d, s.recordLimit())
}

func compareDescribed(a, b Described) int {
	return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Epoch, b.Epoch))
}

func (l *Log) epochAt(offset event.Offset) event.Epoch {
	batches := l.Batches.Items()
	for i := len(batches) - 1; i >= 0; i-- {
		if batches[i].BaseOffset <= offset && offset <= batches[i].LastOffset {
			return batches[i].LeaderEpoch
		}
	}
	return l.LeaderEpoch
}

// opened takes over what recovery found. What the state knew beyond the end was lost. What it finds
// is on the disk after a power cut, which nothing else outlives, and after a clean shutdown, which
// syncs all; the first time that a log is seen it counts as such.
func (l *Log) opened(s *State, e event.LogOpened) {
	if e.LogEndOffset < l.LogEndOffset {
		l.cut(s, l.LogEndOffset, e.LogEndOffset)
	}
	l.openedHoles(e)
	l.startAt(e.LogStartOffset)
	l.LogEndOffset = e.LogEndOffset
	l.HighWatermark = e.HighWatermark
	l.LastStableOffset = min(l.LastStableOffset, e.HighWatermark)
	l.LeaderEpoch = e.LeaderEpoch
	l.SegmentCount = int64(e.Segments)
	if l.SyncedOffset < 0 {
		l.KnownFrom = e.LogEndOffset
	}
	if l.SyncedOffset < 0 || l.Unpowered || e.Clean {
		l.SyncedOffset = e.LogEndOffset
	}
	l.Unpowered = false
	if len(l.Segments) == 0 && e.Segments == 1 {
		l.Segments = append(l.Segments, e.LogStartOffset)
	}
	l.openedEpochs(e.Epochs)
}

// startAt forgets what lies wholly before the new start of the log.
func (l *Log) startAt(start event.Offset) {
	l.LogStartOffset = start
	l.LogEndOffset = max(l.LogEndOffset, start)
	l.Batches.keep(func(b *Batch) bool { return b.LastOffset >= start })
	l.keepHoles(func(h *Run) {
		h.From = max(h.From, start)
	})
	l.Transactions = slices.DeleteFunc(l.Transactions, func(t LogTransaction) bool {
		return t.LastOffset >= 0 && t.LastOffset < start
	})
	for len(l.Epochs) > 1 && l.Epochs[1].StartOffset <= start {
		l.Epochs = slices.Delete(l.Epochs, 0, 1)
	}
	if len(l.Epochs) > 0 {
		l.Epochs[0].StartOffset = max(l.Epochs[0].StartOffset, start)
	}
}

// cut ends the log at after and keeps for the picture what that took, together with what was taken
// just before, when nothing was appended since: a crash, then a truncation. An end beyond the old
// one is a log that begins anew there: nothing of it stays.
func (l *Log) cut(s *State, before, after event.Offset) {
	anew := after > before
	var earlier []Batch
	if last := l.Truncation; last != nil && last.Batches == l.Totals.Batches {
		before, earlier = max(last.Before, before), l.Cut
	}
	l.Truncation = &Truncation{Before: before, After: after, At: s.At, Seq: s.Seq,
		Batches: l.Totals.Batches}
	l.Cut = []Batch{}
	l.Batches.keep(func(b *Batch) bool {
		if !anew && b.LastOffset < after {
			return true
		}
		l.Cut = append(l.Cut, *b)
		return false
	})
	l.Cut = newest(append(l.Cut, earlier...), cutBatchesMax)
	l.LogEndOffset = after
	l.HighWatermark = min(l.HighWatermark, after)
	l.LastStableOffset = min(l.LastStableOffset, after)
	l.SyncedOffset = min(l.SyncedOffset, after)
	l.LogStartOffset, l.HolesFrom = min(l.LogStartOffset, after), min(l.HolesFrom, after)
	l.KnownFrom = min(l.KnownFrom, after)
	if anew {
		l.SyncedOffset, l.LogStartOffset, l.KnownFrom = after, after, after
	}
	l.keepHoles(func(h *Run) {
		if h.To = min(h.To, after); anew {
			h.To = h.From
		}
	})
	gone := func(start event.Offset) bool { return anew || start >= after }
	l.Epochs = slices.DeleteFunc(l.Epochs, func(e Epoch) bool { return gone(e.StartOffset) })
	l.cutTransactions(gone)
	had := len(l.Segments)
	l.Segments = slices.DeleteFunc(l.Segments, func(base event.Offset) bool {
		return base != after && gone(base)
	})
	l.SegmentCount = max(1, l.SegmentCount-int64(had-len(l.Segments)))
	if len(l.Segments) == 0 {
		l.Segments = append(l.Segments, after)
	}
}
