package commitlog

import (
	"errors"
	"math"

	"highwater/cluster/event"
	"highwater/cluster/record"
)

// load reads the indexes, finds the log's end, and rescans every segment that cannot be trusted:
// one above the recovery point after an unclean shutdown, or one with a broken index.
func (l *Log) load(o OpenOptions, r *Recovered, epochsKnown bool) error {
	if !epochsKnown {
		l.epochs.entries = nil
	}
	rescanning := false
	for i := 0; i < len(l.segments); i++ {
		s := l.segments[i]
		whole, err := l.loadIndexes(s)
		if err != nil {
			return err
		}
		if !whole {
			r.RebuiltIndexes++
		}
		last := i == len(l.segments)-1
		unsure := !o.CleanShutdown &&
			(last || l.segments[i+1].base > o.RecoveryPoint)
		if whole && !unsure {
			if whole, err = l.loadEnd(s, last); err != nil {
				return err
			}
		}
		if !last {
			l.end = l.segments[i+1].base
		}
		if whole && !unsure {
			if err := l.passOver(s, rescanning, !epochsKnown, r); err != nil {
				return err
			}
			continue
		}
		if err := l.beginRescan(s, &rescanning, r); err != nil {
			return err
		}
		broken, err := l.rescan(s, r)
		if err != nil {
			return err
		}
		if broken {
			if err := l.deleteBehind(i, r); err != nil {
				return err
			}
		}
		if err := l.rewriteIndexes(s, i == len(l.segments)-1); err != nil {
			return err
		}
	}
	if rescanning {
		return l.removeStraySnapshots()
	}
	return l.loadState(r)
}

// loadState finds the producers' state when no segment was rescanned.
func (l *Log) loadState(r *Recovered) error {
	replayed, err := l.loadProducers()
	r.ReplayedBatches += replayed
	return errors.Join(err, l.removeStraySnapshots())
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
	_, position := s.offsets.floor(math.MaxInt64)
	return position == 0 || position < s.size, nil
}

// loadEnd reads what lies behind a segment's last index entry: its largest timestamp and, for the
// last segment, the log's end. False says that the segment does not end with a whole batch.
func (l *Log) loadEnd(s *segment, last bool) (bool, error) {
	s.maxTimestamp, s.maxTimestampOffset = s.times.last()
	if !last {
		// A closed segment's time index ends with its largest timestamp, and nothing appends here.
		if err := errors.Join(s.offsets.close(), s.times.close()); err != nil {
			return false, err
		}
		if s.times.count() > 0 {
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
		h := &batches.header
		if h.MaxTimestamp > s.maxTimestamp {
			s.maxTimestamp, s.maxTimestampOffset = h.MaxTimestamp, batches.last()
		}
		end = batches.last() + 1
	}
	if batches.err != nil || !batches.whole() || end < s.base {
		return false, batches.err
	}
	if !last {
		return true, nil
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

// beginRescan brings the producers' state and the epochs to the beginning of the first segment to be rescanned.
func (l *Log) beginRescan(s *segment, begun *bool, r *Recovered) error {
	if *begun {
		return nil
	}
	*begun = true
	l.end = s.base
	// From here on the batches themselves say which epochs there were: the checkpoint may be older
	// or younger than what a power cut left of them.
	l.epochs.truncateEnd(s.base)
	replayed, err := l.loadProducersBelow(s)
	r.ReplayedBatches += replayed
	return err
}

// loadProducersBelow replays up to the segment only. Snapshots above are removed: they are
// of batches that are still to be checked.
func (l *Log) loadProducersBelow(s *segment) (int, error) {
	all := l.segments
	keep := 0
	for all[keep] != s {
		keep++
	}
	if keep == 0 {
		l.producers = newProducers()
		err := l.removeSnapshots(func(o event.Offset) bool { return o > s.base })
		if b, readErr := l.fs.ReadFile(l.name(s.base, extSnapshot)); readErr == nil {
			// The segments before it were deleted; their producers live on in this snapshot.
			if !l.producers.decode(b) {
				l.producers = newProducers()
			}
		}
		return 0, err
	}
	l.segments = all[:keep]
	defer func() { l.segments = all }()
	return l.loadProducers()
}

// recoverEpoch notes the first batch of an epoch that the checkpoint does not have.
func (l *Log) recoverEpoch(h *record.Header) {
	if epoch := event.Epoch(h.PartitionLeaderEpoch); epoch > l.LastEpoch() {
		l.epochs.assign(epoch, event.Offset(h.BaseOffset))
	}
}

// rescan checks every batch of a segment and rebuilds everything from them: the three indexes, the
// epochs, the producers. At the first batch that is not whole, not valid, or not in order, it
// cuts the segment; it reports whether it did.
func (l *Log) rescan(s *segment, r *Recovered) (bool, error) {
	r.Rescanned++
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
		if h.PartitionLeaderEpoch > epoch {
			epoch = h.PartitionLeaderEpoch
			l.recoverEpoch(h)
		}
		if err := l.rescanProducer(s, &batches); err != nil {
			break
		}
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
	r.TruncatedBytes += size - s.size
	return true, s.log.Truncate(s.size)
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
	err := errors.Join(s.offsets.recreate(), s.times.recreate(), s.aborted.rewrite())
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

// removeStraySnapshots removes the snapshots that belong to no segment's beginning, but the newest.
func (l *Log) removeStraySnapshots() error {
	offsets, err := l.snapshots()
	if err != nil || len(offsets) == 0 {
		return err
	}
	newest := offsets[len(offsets)-1]
	return l.removeSnapshots(func(o event.Offset) bool {
		return o != newest && l.segments[l.segmentFor(o)].base != o
	})
}
