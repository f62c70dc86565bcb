package commitlog

import (
	"slices"

	"highwater/cluster/event"
	"highwater/cluster/record"
)

// holesScanBytes bounds how much of a log is looked through for holes, the newest first.
const holesScanBytes = 8 << 20

// holes are runs of offsets without a record, each the first and the last, and from where on they
// are all that there are.
type holes struct {
	runs [][2]event.Offset
	from event.Offset
}

// findHoles looks through a log that may be compacted. What cannot be read is not told: that is for
// whoever reads the log to complain about.
func (l *Log) findHoles() holes {
	found := holes{from: l.start}
	if l.cfg.CleanupPolicy&CleanupCompact == 0 && !l.Compacted() {
		return found
	}
	end, bytes := l.end, int64(0)
	for _, s := range slices.Backward(l.segments) {
		if end <= l.start {
			break
		}
		if bytes += s.written; bytes > holesScanBytes {
			found.from = end
			break
		}
		runs, err := holesIn(s, max(s.base, l.start), end)
		if err != nil {
			found.from = end
			break
		}
		found.below(runs)
		end = s.base
	}
	if over := len(found.runs) - event.RunsMax; over > 0 {
		found.runs = found.runs[over:]
		found.from = found.runs[0][0]
	}
	return found
}

// below adds runs that lie below the others; one may go on in the next segment.
func (h *holes) below(runs [][2]event.Offset) {
	if n := len(runs); n > 0 && len(h.runs) > 0 && runs[n-1][1]+1 == h.runs[0][0] {
		h.runs[0][0] = runs[n-1][0]
		runs = runs[:n-1]
	}
	h.runs = append(runs, h.runs...)
}

// holesIn finds the holes of one segment between two offsets. Only a batch that lacks some of its
// records has to be opened.
func holesIn(s *segment, next, end event.Offset) ([][2]event.Offset, error) {
	var runs [][2]event.Offset
	skipTo := func(offset event.Offset) {
		if next < offset {
			runs = append(runs, [2]event.Offset{next, offset - 1})
		}
	}
	batches := scan(s.log, 0, s.written, make([]byte, lookupChunkBytes))
	for batches.next() {
		h := batches.header
		if h.RecordsCount > h.LastOffsetDelta {
			skipTo(event.Offset(h.BaseOffset))
			next = max(next, batches.last()+1)
			continue
		}
		err := record.EachRecord(batches.batch(), decompressedBytesMax, func(r record.Record) error {
			offset := event.Offset(h.BaseOffset + int64(r.OffsetDelta))
			skipTo(offset)
			next = max(next, offset+1)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	skipTo(end)
	return runs, batches.err
}
