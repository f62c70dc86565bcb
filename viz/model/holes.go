package model

import (
	"slices"

	"highwater/cluster/event"
)

// segmentsSwapped puts a compacted segment in its originals' place. A batch that lies wholly in a
// hole is gone; of one that lies partly in one, the holes say what is missing.
func (l *Log) segmentsSwapped(e event.SegmentsSwapped) {
	l.SegmentCount = max(1, l.SegmentCount-max(0, int64(e.Segments)-1))
	l.Segments = slices.DeleteFunc(l.Segments, func(base event.Offset) bool {
		return base > e.BaseOffset && base < e.NextOffset
	})
	l.Holes = slices.DeleteFunc(l.Holes, func(h Run) bool {
		return h.From >= e.BaseOffset && h.From < e.NextOffset
	})
	at := 0
	for at < len(l.Holes) && l.Holes[at].From < e.BaseOffset {
		at++
	}
	holes := ParseRuns(e.Holes)
	l.Holes = slices.Insert(l.Holes, at, holes...)
	if e.NextOffset >= l.HolesFrom {
		l.HolesFrom = min(l.HolesFrom, e.BaseOffset)
	}
	if len(holes) >= event.RunsMax {
		l.HolesFrom = max(l.HolesFrom, holes[0].From)
	}
	l.boundHoles()
	l.Batches.keep(func(b *Batch) bool {
		return !slices.ContainsFunc(holes, func(h Run) bool {
			return h.From <= b.BaseOffset && b.LastOffset < h.To
		})
	})
}

// openedHoles takes over what was found in the files; below that, what was known of them stays.
func (l *Log) openedHoles(e event.LogOpened) {
	if first := l.SyncedOffset < 0; first || e.HolesFrom < l.HolesFrom {
		l.HolesFrom = e.HolesFrom
	}
	l.keepHoles(func(h *Run) { h.To = min(h.To, e.HolesFrom) })
	l.Holes = append(l.Holes, ParseRuns(e.Holes)...)
	l.boundHoles()
}

// boundHoles lets the oldest go: whether there were more below the others is then not known.
func (l *Log) boundHoles() {
	if over := len(l.Holes) - holesMax; over > 0 {
		l.Holes = slices.Delete(l.Holes, 0, over)
		l.HolesFrom = max(l.HolesFrom, l.Holes[0].From)
	}
}

// keepHoles changes every hole and drops those that end up empty.
func (l *Log) keepHoles(change func(*Run)) {
	for i := range l.Holes {
		change(&l.Holes[i])
	}
	l.Holes = slices.DeleteFunc(l.Holes, func(h Run) bool { return h.From >= h.To })
}

// holesMax is how many holes of a log are kept; an event tells event.RunsMax of a segment, the newest.
const holesMax = 128
