package cleaner

import (
	"highwater/cluster/commitlog"
	"highwater/cluster/event"
)

const (
	// keyBytes is what one key takes in the offset map: a hash and an offset, as Kafka counts it.
	keyBytes = hashBytes + 8
	// loadFactor is log.cleaner.io.buffer.load.factor in percent.
	loadFactor = 90
	keysMin    = 1
)

// Settings are what a topic and its broker say about compaction.
type Settings struct {
	DirtyRatioMin     float64 // min.cleanable.dirty.ratio
	LagMinMs          int64   // min.compaction.lag.ms
	LagMaxMs          int64   // max.compaction.lag.ms
	DeleteRetentionMs int64   // delete.retention.ms
	SegmentBytes      int64   // segment.bytes
	IndexBytes        int64   // segment.index.bytes
	BufferBytes       int64   // log.cleaner.dedupe.buffer.size, which bounds the offset map
}

// keysMax is how many keys one pass may learn; a log with more takes several passes.
func (s *Settings) keysMax() int {
	return int(max(keysMin, s.BufferBytes/keyBytes*loadFactor/100))
}

// Look is what a pass over a log would find.
type Look struct {
	FirstDirty event.Offset // never compacted from here on
	UpTo       event.Offset // the base offset of the first segment that stays untouched
	CleanBytes int64        // below FirstDirty
	DirtyBytes int64        // from FirstDirty to UpTo
	Overdue    bool         // a dirty record is older than max.compaction.lag.ms
}

// Ratio is the dirty part of what a pass would read.
func (k Look) Ratio() float64 {
	if k.CleanBytes+k.DirtyBytes == 0 {
		return 0
	}
	return float64(k.DirtyBytes) / float64(k.CleanBytes+k.DirtyBytes)
}

// Wanted says whether the log is dirty enough, and by which rule.
func (k Look) Wanted(s *Settings) (event.Rule, bool) {
	switch {
	case k.DirtyBytes == 0:
		return event.RuleNone, false
	case k.Overdue:
		return event.RuleCleanerMaxLag, true
	}
	return event.RuleCleanerDirtyRatio, k.Ratio() > s.DirtyRatioMin
}

// LookAt measures a log. Nothing at or above the bound may be compacted: it is the last stable
// offset, so that neither what might still be truncated nor what an open transaction wrote is
// touched. The active segment never is.
func LookAt(
	l *commitlog.Log, s *Settings, nowMs int64, bound event.Offset,
) (Look, error) {
	k := Look{FirstDirty: l.FirstDirtyOffset()}
	segments := l.Segments()
	k.UpTo = k.FirstDirty
	for i := range segments[:len(segments)-1] {
		segment, next := &segments[i], segments[i+1].BaseOffset
		if next <= k.FirstDirty {
			k.CleanBytes += segment.Bytes
			continue
		}
		if next > bound {
			break
		}
		times, err := l.TimesOf(segment.BaseOffset)
		if err != nil {
			return k, err
		}
		if s.LagMinMs > 0 && times.LargestMs > nowMs-s.LagMinMs {
			break
		}
		k.DirtyBytes += segment.Bytes
		k.UpTo = next
		first := times.FirstBatchMs
		k.Overdue = k.Overdue || first > 0 && first < nowMs-min(s.LagMaxMs, nowMs)
	}
	return k, nil
}
