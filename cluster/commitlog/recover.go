package commitlog

import (
	"errors"
	"io/fs"
	"math"

	"highwater/cluster/event"
	"highwater/cluster/record"
)

// loader is the state of one Open's walk over the segments.
type loader struct {
	*Log
	o           OpenOptions
	r           *Recovered
	epochsKnown bool
	// rescanning says that a segment was rescanned; from the first one on, the producers are rebuilt
	// from the batches and the epochs held against them.
	rescanning bool
	// dense says that the segment before was rescanned and misses no offset, so that a hole
	// behind it means that its end was lost.
	dense bool
	// rebuiltFrom is where the producers' state was rebuilt from, if rescanning.
	rebuiltFrom event.Offset
}

// load reads the indexes, finds the log's end, and rescans every segment that cannot be trusted:
// one above the recovery point after an unclean shutdown, or one with a broken index.
func (l *loader) load() error {
	if !l.epochsKnown {
		l.epochs.entries = nil
	}
	for i := 0; i < len(l.segments); i++ {
		s := l.segments[i]
		last := i == len(l.segments)-1
		if l.dense && l.end < s.base {
			// Files lose their unsynced ends one by one: this segment survived the end of the one
			// before it. The cleaner makes holes too, but syncs its work, and leaves gaps inside.
			if err := l.deleteBehind(i-1, l.r); err != nil {
				return err
			}
			if err := l.rewriteIndexes(l.segments[i-1], true); err != nil {
				return err
			}
			break
		}
		trusted, err := l.trusts(s, i, last)
		if err != nil {
			return err
		}
		if !last {
			l.end = l.segments[i+1].base
		}
		if trusted {
			l.dense = false
			err = l.passOver(s, l.rescanning, l.rescanning || !l.epochsKnown, l.r)
		} else {
			err = l.distrust(s, i)
		}
		if err != nil {
			return err
		}
	}
	return l.loadState()
}

// trusts reads a segment's indexes and end and says whether nothing needs to be rescanned.
func (l *loader) trusts(s *segment, i int, last bool) (bool, error) {
	whole, err := l.loadIndexes(s)
	if err != nil {
		return false, err
	}
	if !whole {
		l.r.RebuiltIndexes++
		return false, nil
	}
	if !l.o.CleanShutdown && (last || l.segments[i+1].base > l.o.RecoveryPoint) {
		return false, nil
	}
	// What a roll adds to a segment may be lost even where the recovery point covers its batches,
	// so after a crash every segment's end is looked at; that is one short read each.
	return l.loadEnd(s, last, !l.o.CleanShutdown)
}

// distrust rescans a segment; if it is broken, it becomes the last one.
func (l *loader) distrust(s *segment, i int) error {
	if err := l.beginRescan(s); err != nil {
		return err
	}
	broken, err := l.rescan(s)
	if err != nil {
		return err
	}
	if broken {
		if err := l.deleteBehind(i, l.r); err != nil {
			return err
		}
	}
	return l.rewriteIndexes(s, i == len(l.segments)-1)
}

// loadState finds the producers' state, unless the rescan has rebuilt it.
func (l *loader) loadState() error {
	if l.rescanning {
		return nil
	}
	l.rebuiltFrom = l.end
	replayed, err := l.restoreProducers()
	l.r.ReplayedBatches += replayed
	return err
}

// loadIndexes reads a segment's three indexes; false says that one is missing or broken.
func (l *Log) loadIndexes(s *segment) (bool, error) {
	offsets, err := s.offsets.load()
	if err != nil {
		return false, err
	}
	times, err := s.times.load()
	if err != nil {
		return false, err
	}
	aborted, err := s.aborted.load()
	if err != nil || !offsets || !times || !aborted {
		return false, err
	}
	for _, x := range []*indexFile{&s.offsets.indexFile, &s.times.indexFile} {
		if well, err := x.endsWell(); err != nil || !well {
			return false, err
		}
	}
	_, position := s.offsets.floor(math.MaxInt64)
	return position == 0 || position < s.size, nil
}

// loadEnd reads what lies behind a segment's last index entry: its largest timestamp and, for the
// last segment, the log's end. False says that the segment does not end with a whole batch.
func (l *Log) loadEnd(s *segment, last, crashed bool) (bool, error) {
	s.maxTimestamp, s.maxTimestampOffset = s.times.last()
	if !last {
		// A closed segment's time index ends with its largest timestamp, and nothing appends here.
		if err := errors.Join(s.offsets.close(), s.times.close()); err != nil {
			return false, err
		}
		if s.times.count() > 0 && !crashed {
			return true, nil
		}
	}
	entry, position := s.offsets.floor(math.MaxInt64)
	batches := scan(s.log, position, s.size, l.chunk)
	end := s.base
	for batches.next() {
		if position > 0 && batches.position == position && batches.last() != entry {
			return false, nil
		}
		s.noteTime(&batches.header)
		end = batches.last() + 1
	}
	if batches.err != nil || !batches.whole() || end < s.base {
		return false, batches.err
	}
	if !last {
		indexed, _ := s.times.last()
		return s.maxTimestamp <= indexed, nil
	}
	l.end = end
	return l.reopenForAppends(s)
}

// reopenForAppends finds segment.ms's beginning and gives the indexes their full length back.
func (l *Log) reopenForAppends(s *segment) (bool, error) {
	first := scan(s.log, 0, s.size, l.chunk)
	if first.next() {
		s.firstBatchTimestamp = first.header.MaxTimestamp
	}
	if first.err != nil {
		return false, first.err
	}
	return true, errors.Join(
		s.offsets.file.Preallocate(s.offsets.full), s.times.file.Preallocate(s.times.full))
}

// passOver takes a trusted segment's batches into the state that is being rebuilt, if any is.
func (l *Log) passOver(s *segment, producers, epochs bool, r *Recovered) error {
	if !producers && !epochs {
		return nil
	}
	batches := scan(s.log, 0, s.size, make([]byte, scanChunkBytes))
	for batches.next() {
		h := &batches.header
		if epochs {
			l.recoverEpoch(h)
		}
		if producers && h.HasProducer() {
			if err := l.replayProducer(&batches); err != nil {
				return err
			}
			r.ReplayedBatches++
		}
	}
	return batches.err
}

// beginRescan brings the producers' state to the beginning of the first segment that is to be
// rescanned. The epochs stay: where an epoch's first records were compacted away, only the
// checkpoint knows its beginning, and recoverEpoch puts right what the batches contradict.
func (l *loader) beginRescan(s *segment) error {
	if l.rescanning {
		return nil
	}
	l.rescanning = true
	l.end, l.rebuiltFrom = s.base, s.base
	replayed, err := l.loadProducersBelow(s)
	l.r.ReplayedBatches += replayed
	return err
}

// loadProducersBelow replays up to the segment only. Snapshots above do not count: they are of
// batches that are still to be checked.
func (l *Log) loadProducersBelow(s *segment) (int, error) {
	all := l.segments
	keep := 0
	for all[keep] != s {
		keep++
	}
	if keep == 0 {
		l.producers = newProducers()
		b, err := l.fs.ReadFile(l.name(s.base, extSnapshot))
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		// The segments before it were deleted; their producers live on in this snapshot.
		if err == nil && !l.producers.decode(b) {
			l.producers = newProducers()
		}
		return 0, err
	}
	l.segments = all[:keep]
	defer func() { l.segments = all }()
	return l.restoreProducers()
}

// recoverEpoch puts the epochs right where they do not hold what a batch says of its own offsets:
// an epoch is not in the checkpoint, or the checkpoint is older than a truncation and a power cut
// brought it back.
func (l *Log) recoverEpoch(h *record.Header) {
	l.epochs.hold(event.Epoch(h.PartitionLeaderEpoch), event.Offset(h.BaseOffset),
		event.Offset(h.BaseOffset+int64(h.LastOffsetDelta)))
}

// rescan checks every batch of a segment and rebuilds everything from them: the three indexes, the
// epochs, the producers. At the first batch that is not whole, not valid, or not in order, it
// cuts the segment; it reports whether anything but unwritten room was cut.
func (l *loader) rescan(s *segment) (bool, error) {
	l.r.Rescanned++
	l.dense = !l.o.CleanShutdown
	size := s.log.Size()
	s.offsets.entries, s.times.entries = s.offsets.entries[:0], s.times.entries[:0]
	s.aborted.txns = nil
	s.size, s.sinceIndexEntry = 0, 0
	s.maxTimestamp, s.maxTimestampOffset, s.firstBatchTimestamp = -1, s.base, -1
	l.end = s.base
	epoch := int32(math.MinInt32)
	batches := scan(s.log, 0, size, make([]byte, scanChunkBytes))
	for batches.next() {
		h := &batches.header
		follows := h.BaseOffset >= int64(l.end) && h.LastOffsetDelta >= 0 &&
			fitsRelative(s.base, batches.last()) && h.PartitionLeaderEpoch >= epoch
		if !follows || !record.ChecksumHolds(batches.batch()) {
			break
		}
		epoch = h.PartitionLeaderEpoch
		l.recoverEpoch(h)
		if err := l.rescanProducer(s, &batches); err != nil {
			break
		}
		l.dense = l.dense && h.BaseOffset == int64(l.end)
		s.note(h, batches.size, l.cfg.IndexIntervalBytes)
		l.end = batches.last() + 1
	}
	if batches.err != nil {
		// The disk could not be read: that is no reason to cut anything.
		return false, batches.err
	}
	s.written = s.size
	if s.size == size {
		return false, nil
	}
	// Zeroes are room that nobody wrote to; whether batches are missing there, the next segment's
	// base tells.
	room, err := isPreallocated(s.log, s.size)
	if err != nil {
		return false, err
	}
	l.r.TruncatedBytes += size - s.size
	return !room, s.log.Truncate(s.size)
}

func (l *Log) rescanProducer(s *segment, batches *scanner) error {
	h := &batches.header
	if !h.HasProducer() {
		return nil
	}
	if !h.Attributes.Control() {
		l.producers.appended(h)
		return nil
	}
	m, err := parseMarker(batches.batch())
	if errors.Is(err, errNoMarker) {
		return nil
	}
	if err != nil {
		return err
	}
	if txn, ended := l.producers.marked(h, m); ended && !m.commit {
		s.aborted.append(txn)
	}
	return nil
}

// deleteBehind deletes the segments behind a cut: they cannot follow what is left.
func (l *Log) deleteBehind(i int, r *Recovered) error {
	for _, s := range l.segments[i+1:] {
		r.DeletedSegments++
		r.TruncatedBytes += s.log.Size()
		names, err := l.renameDeleted(s)
		if err != nil {
			return err
		}
		l.deferDelete(s, names)
	}
	l.segments = l.segments[:i+1]
	return nil
}

// rewriteIndexes gives a rescanned segment index files with the rebuilt entries.
func (l *Log) rewriteIndexes(s *segment, active bool) error {
	l.namesDirty++
	if !active {
		s.times.append(s.maxTimestamp, s.maxTimestampOffset)
	}
	err := s.recreateIndexes()
	if err != nil || active {
		return err
	}
	for _, f := range s.handles() {
		if f != s.log {
			err = errors.Join(err, f.Sync())
		}
	}
	return errors.Join(err, s.offsets.trim(), s.times.trim(),
		s.offsets.close(), s.times.close(), s.aborted.close())
}

// removeStraySnapshots removes the snapshots above where the producers' state was rebuilt from, and
// those that belong to no segment's beginning, but the newest; after a crash also those that it
// left torn. It is Open's last act: a disk that fails before then has lost none.
func (l *loader) removeStraySnapshots() error {
	offsets, err := l.snapshots()
	if err != nil {
		return err
	}
	torn, newest := map[event.Offset]bool{}, event.Offset(-1)
	for _, o := range offsets {
		if o > l.rebuiltFrom {
			break
		}
		newest = o
		if l.o.CleanShutdown {
			continue
		}
		b, err := l.fs.ReadFile(l.name(o, extSnapshot))
		if err != nil {
			return err
		}
		whole := newProducers()
		torn[o] = !whole.decode(b)
	}
	return l.removeSnapshots(func(o event.Offset) bool {
		return o > l.rebuiltFrom || torn[o] ||
			o != newest && l.segments[l.segmentFor(o)].base != o
	})
}
