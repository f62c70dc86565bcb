package commitlog

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strings"

	"highwater/cluster/disk"
	"highwater/cluster/event"
)

// OpenOptions are what the log directory's checkpoints say about the log.
type OpenOptions struct {
	// CleanShutdown says that the log was closed cleanly: nothing needs to be checked.
	CleanShutdown bool
	// RecoveryPoint is the offset below which everything was synced.
	RecoveryPoint  event.Offset
	LogStartOffset event.Offset
	HighWatermark  event.Offset
	// FirstDirtyOffset is where compaction goes on; 0 does not matter, since that is any log's start.
	FirstDirtyOffset event.Offset
}

// Recovered says what Open found and did.
type Recovered struct {
	Created         bool // there was no log
	Segments        int
	Rescanned       int // segments whose batches were all checked
	RebuiltIndexes  int // segments whose indexes were missing or broken
	TruncatedBytes  int64
	DeletedSegments int // behind the first broken batch
	ReplayedBatches int // for the producers' state
	SwappedSegments int // whose replacement by the cleaner was finished
}

// Open opens the log in a directory, or creates it. It puts right what a crash left: unfinished
// cleaning, missing indexes, and, unless the shutdown was clean, a torn tail.
func Open(files disk.FS, dir string, cfg Config, o OpenOptions) (*Log, Recovered, error) {
	l := &Log{fs: files, dir: dir, cfg: cfg.withDefaults(), epochs: newEpochCache(files, dir)}
	l.chunk = make([]byte, lookupChunkBytes)
	l.tail = newTail(l.cfg.TailBytes)
	l.producers = newProducers()
	l.firstDirty = -1
	if o.FirstDirtyOffset > 0 {
		l.firstDirty = o.FirstDirtyOffset
	}
	var r Recovered
	if err := l.open(o, &r); err != nil {
		for _, s := range l.segments {
			err = errors.Join(err, s.close())
		}
		err = errors.Join(err, l.epochs.close(), l.closeLoose())
		return nil, r, fmt.Errorf("commitlog: open %s: %w", dir, err)
	}
	l.emitOpened(o, &r)
	if r.TruncatedBytes > 0 && l.cfg.Log != nil {
		l.cfg.Log.Warn("a torn or corrupt tail was cut off; what a leader has of it is fetched again",
			"log", path.Join(files.Path(), dir), "bytes", r.TruncatedBytes,
			"deletedSegments", r.DeletedSegments, "logEndOffset", l.end)
	}
	return l, r, nil
}

func (l *Log) open(o OpenOptions, r *Recovered) error {
	bases, err := l.prepareDir(o.CleanShutdown, r)
	if err != nil {
		return err
	}
	if len(bases) == 0 {
		return l.createFirst(o.LogStartOffset, r)
	}
	for _, base := range bases {
		s, err := l.openSegment(base)
		if err != nil {
			return err
		}
		l.segments = append(l.segments, s)
	}
	r.Segments = len(l.segments)
	epochsKnown, err := l.epochs.load()
	if err != nil {
		return err
	}
	loading := loader{Log: l, o: o, r: r, epochsKnown: epochsKnown}
	if err := loading.load(); err != nil {
		return err
	}
	l.written = l.end
	l.start = max(o.LogStartOffset, l.segments[0].base)
	if l.start > l.end {
		// The tail behind the start was lost; what is left lies below it and may not be read.
		return l.restartAt(l.start)
	}
	l.synced = l.end
	if !o.CleanShutdown {
		l.synced = min(o.RecoveryPoint, l.end)
	}
	if r.Rescanned > 0 {
		if err := l.settleCut(l.segments[len(l.segments)-1]); err != nil {
			return err
		}
	}
	if err := l.settleEpochs(!epochsKnown || r.Rescanned > 0); err != nil {
		return err
	}
	return loading.removeStraySnapshots()
}

// prepareDir makes the directory and its identity, clears a crash's leftovers away, and lists the
// base offsets of the segments.
func (l *Log) prepareDir(clean bool, r *Recovered) ([]event.Offset, error) {
	_, err := l.fs.List(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = l.fs.Mkdir(l.dir)
	}
	if err != nil {
		return nil, err
	}
	identity, err := keepTopicID(l.fs, l.dir, l.cfg.TopicID, clean)
	if err != nil {
		return nil, err
	}
	if identity != nil {
		l.loose = append(l.loose, identity)
	}
	if err := l.clearLeftovers(r); err != nil {
		return nil, err
	}
	entries, err := l.fs.List(l.dir)
	if err != nil {
		return nil, err
	}
	var bases []event.Offset
	for _, e := range entries {
		if base, ext, ok := parseName(e.Name); ok && ext == extLog && !e.Dir {
			bases = append(bases, base)
		}
	}
	return bases, l.removeOrphans(entries, bases)
}

// removeOrphans removes indexes that have no log, which a later segment of that name would trust.
func (l *Log) removeOrphans(entries []disk.Entry, bases []event.Offset) error {
	var err error
	known := make(map[event.Offset]bool, len(bases))
	for _, base := range bases {
		known[base] = true
	}
	for _, e := range entries {
		base, ext, ok := parseName(e.Name)
		index := ext == extIndex || ext == extTimeIndex || ext == extTxnIndex
		if ok && index && !known[base] {
			err = errors.Join(err, l.fs.Remove(path.Join(l.dir, e.Name)))
		}
	}
	return err
}

func (l *Log) createFirst(start event.Offset, r *Recovered) error {
	r.Created = true
	r.Segments = 1
	if err := l.restartAt(start); err != nil {
		return err
	}
	// Creating a log must not hold the loop up, so its names become durable in a ticket, or with
	// the first sync.
	l.deferred = append(l.deferred, l.syncTicket("create", l.segments, l.written))
	return nil
}

// restartAt replaces all there is by an empty segment, without events.
func (l *Log) restartAt(start event.Offset) error {
	for _, s := range l.segments {
		names, err := l.renameDeleted(s)
		if err != nil {
			return l.fail("delete", err)
		}
		l.deferDelete(s, names)
	}
	l.segments = nil
	err := l.removeSnapshots(func(event.Offset) bool { return true })
	if err != nil {
		return l.fail("delete", err)
	}
	s, err := l.createSegment(start)
	if err != nil {
		return l.fail("create segment", err)
	}
	l.segments = []*segment{s}
	l.start, l.end, l.written, l.synced = start, start, start, start
	l.producers = newProducers()
	l.firstDirty = -1
	l.epochs.entries = nil
	l.cuts++
	return l.writeEpochs()
}

// settleEpochs cuts the epochs to what the log holds and writes them if that changed anything.
func (l *Log) settleEpochs(changed bool) error {
	changed = l.epochs.truncateEnd(l.end) || changed
	changed = l.epochs.truncateStart(l.start) || changed
	if !changed {
		return nil
	}
	return l.writeEpochs()
}

func (l *Log) emitOpened(o OpenOptions, r *Recovered) {
	if !l.cfg.Events.On() {
		return
	}
	highWatermark := min(max(o.HighWatermark, l.start), l.end)
	holes := l.findHoles()
	event.LogOpened{
		Topic: l.cfg.Topic, Partition: l.cfg.Partition,
		LogStartOffset: l.start, LogEndOffset: l.end, HighWatermark: highWatermark,
		Segments: int32(len(l.segments)), TruncatedBytes: r.TruncatedBytes,
		Clean: o.CleanShutdown, Bytes: l.Size(),
		LeaderEpoch: l.LastEpoch(), Epochs: epochsText(l.epochs.entries),
		Holes: event.RunsText(holes.runs), HolesFrom: holes.from,
	}.Emit(l.cfg.Events, event.RuleNone)
	if r.TruncatedBytes > 0 {
		// What was torn off had no offsets that anybody could count, so only bytes are told.
		event.LogTruncated{
			Topic: l.cfg.Topic, Partition: l.cfg.Partition, Before: l.end, After: l.end,
			LeaderEpoch: l.LastEpoch(), HighWatermark: highWatermark, Bytes: r.TruncatedBytes,
		}.Emit(l.cfg.Events, event.RuleTruncateTornTail)
	}
}

// clearLeftovers removes what was deleted or half cleaned, and finishes what the cleaner had
// committed by renaming it to .swap. A crash while .cleaned files are renamed leaves some of
// them: then the swaps at or above the lowest are not complete and go too.
func (l *Log) clearLeftovers(r *Recovered) error {
	entries, err := l.fs.List(l.dir)
	if err != nil {
		return err
	}
	lowestCleaned := event.Offset(math.MaxInt64)
	for _, e := range entries {
		name := path.Join(l.dir, e.Name)
		base, ext, _ := parseName(e.Name)
		switch {
		case strings.HasSuffix(ext, suffixCleaned):
			lowestCleaned = min(lowestCleaned, base)
			err = errors.Join(err, l.fs.Remove(name))
		case strings.HasSuffix(e.Name, suffixDeleted), strings.HasSuffix(e.Name, suffixTemporary):
			err = errors.Join(err, l.fs.Remove(name))
		}
	}
	for _, e := range entries {
		base, ext, _ := parseName(e.Name)
		switch {
		case !strings.HasSuffix(ext, suffixSwap):
		case base >= lowestCleaned:
			err = errors.Join(err, removeIfThere(l.fs, path.Join(l.dir, e.Name)))
		case ext == extLog+suffixSwap:
			r.SwappedSegments++
			err = errors.Join(err, l.finishSwap(base, entries))
		}
	}
	return errors.Join(err, l.finishIndexSwaps(lowestCleaned))
}

// finishSwap removes the segments that a committed .log.swap replaces and gives it its name.
func (l *Log) finishSwap(base event.Offset, entries []disk.Entry) error {
	swap := l.name(base, extLog+suffixSwap)
	file, err := l.fs.Open(swap)
	if err != nil {
		return err
	}
	end := base
	batches := scan(file, 0, file.Size(), make([]byte, scanChunkBytes))
	for batches.next() {
		end = batches.last() + 1
	}
	if err := errors.Join(batches.err, file.Close()); err != nil {
		return err
	}
	for _, e := range entries {
		covered, ext, ok := parseName(e.Name)
		if !ok || ext != extLog || covered < base || covered >= end && covered != base {
			continue
		}
		for _, original := range segmentExts {
			err = errors.Join(err, removeIfThere(l.fs, l.name(covered, original)))
		}
	}
	// The originals must be gone for good before their place is taken: one that came back after a
	// power cut would overlap with what replaced it.
	if err = errors.Join(err, l.fs.SyncDir(l.dir)); err != nil {
		return err
	}
	return errors.Join(l.fs.Rename(swap, l.name(base, extLog)), l.fs.SyncDir(l.dir))
}

// finishIndexSwaps gives the indexes of finished swaps their names; one whose log is not there is
// of no use.
func (l *Log) finishIndexSwaps(lowestCleaned event.Offset) error {
	entries, err := l.fs.List(l.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		base, ext, ok := parseName(e.Name)
		live, isSwap := strings.CutSuffix(ext, suffixSwap)
		if !ok || !isSwap || base >= lowestCleaned {
			continue
		}
		err = errors.Join(err, l.fs.Rename(path.Join(l.dir, e.Name), l.name(base, live)))
	}
	return err
}
