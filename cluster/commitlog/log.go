package commitlog

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"sort"
	"time"

	"highwater/cluster/disk"
	"highwater/cluster/event"
)

// Log is one partition's log. Offsets order as
// start <= written <= end and synced <= written, where only start moves by deletion.
type Log struct {
	fs  disk.FS
	dir string
	cfg Config

	segments []*segment // by base offset, never empty; the last one is active
	start    event.Offset
	end      event.Offset // the next record's offset
	written  event.Offset // everything below is in the files
	synced   event.Offset // everything below survives a power cut

	epochs    epochCache
	producers producers
	tail      tail

	// pending are the batches that the active segment's file does not have yet, in order.
	pending [][]byte
	// loose are small files that were written and stay open until the next sync takes them:
	// partition.metadata and producer snapshots.
	loose []disk.File
	// swaps are replacements of segments by the cleaner's that are under way.
	swaps []*swap
	// firstDirty is the offset up to which the log is compacted, -1 if that is not known.
	firstDirty event.Offset
	// deferred is work that need not be done in the loop, taken with Deferred.
	deferred []Ticket
	// namesDirty counts changes of the directory, namesSynced the ones that are durable.
	namesDirty, namesSynced int
	// cuts counts truncations, so that a sync begun before one does not vouch for what came after.
	cuts int
	// failed is the first write error; after it nothing more is written (Kafka's log dir failure).
	failed error
	// chunk is memory for lookups in files.
	chunk []byte
}

// LogStartOffset is the first offset that may be read.
func (l *Log) LogStartOffset() event.Offset { return l.start }

// LogEndOffset is the offset of the next record to be appended.
func (l *Log) LogEndOffset() event.Offset { return l.end }

// WrittenEnd is the offset up to which the files have everything; after a Flush it is the log end
// offset.
func (l *Log) WrittenEnd() event.Offset { return l.written }

// SyncedEnd is the offset up to which everything survives a power cut: Kafka's recovery point.
func (l *Log) SyncedEnd() event.Offset { return l.synced }

// Pending says whether appended batches wait to be flushed.
func (l *Log) Pending() bool { return len(l.pending) > 0 }

// Err is the error after which the log took no more writes, or nil.
func (l *Log) Err() error { return l.failed }

// Dir is the partition's directory.
func (l *Log) Dir() string { return l.dir }

// Config is what the log runs with.
func (l *Log) Config() Config { return l.cfg }

// SetConfig changes the topic's settings; they hold from the next append or pass on. What the log
// was opened for (topic, partition, id, events, clock) stays.
func (l *Log) SetConfig(cfg Config) {
	cfg.Topic, cfg.Partition, cfg.TopicID = l.cfg.Topic, l.cfg.Partition, l.cfg.TopicID
	cfg.Events, cfg.Now = l.cfg.Events, l.cfg.Now
	l.cfg = cfg.withDefaults()
	l.tail.bound = l.cfg.TailBytes
}

// Size is the number of bytes in all segments.
func (l *Log) Size() int64 {
	var total int64
	for _, s := range l.segments {
		total += s.size
	}
	return total
}

// Segments describes the segments, oldest first.
func (l *Log) Segments() []SegmentView {
	views := make([]SegmentView, 0, len(l.segments))
	for i, s := range l.segments {
		views = append(views, SegmentView{
			BaseOffset: s.base, Bytes: s.size, MaxTimestamp: s.maxTimestamp,
			IndexEntries: s.offsets.count(), TimeEntries: s.times.count(),
			AbortedTxns: len(s.aborted.txns), Active: i == len(l.segments)-1,
			WrittenToBytes: s.written,
		})
	}
	return views
}

func (l *Log) active() *segment { return l.segments[len(l.segments)-1] }

// segmentFor is the index of the segment that holds the offset; the first one if it lies below.
func (l *Log) segmentFor(offset event.Offset) int {
	i := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].base > offset })
	return max(i-1, 0)
}

// endOf is the offset at which the segment with this index ends.
func (l *Log) endOf(i int) event.Offset {
	if i+1 < len(l.segments) {
		return l.segments[i+1].base
	}
	return l.end
}

// fail remembers the first error of an operation that changes files; from then on the log is
// closed for writes, since what the files hold is no longer known.
func (l *Log) fail(operation string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("commitlog: %s of %s: %w", operation, l.dir, err)
	if l.failed == nil {
		l.failed = err
	}
	return err
}

// Flush writes what is pending: one write for the log, and one for each index that grew.
// Afterwards WrittenEnd equals LogEndOffset.
func (l *Log) Flush() error {
	if len(l.pending) == 0 || l.failed != nil {
		return l.failed
	}
	s := l.active()
	if _, err := s.log.WriteVAt(l.pending, s.written); err != nil {
		return l.fail("write", err)
	}
	clear(l.pending)
	l.pending = l.pending[:0]
	s.written = s.size
	if err := s.flushIndexes(); err != nil {
		return l.fail("write index", err)
	}
	l.written = l.end
	l.tail.evict(l.written)
	return nil
}

// Ticket is work on files that may take long. Run may be called on any goroutine, once; Done must
// then be called with its result on the log's own goroutine. Tickets run in the order in which
// they were handed out.
type Ticket struct {
	// Name says what it is, for the trace: "sync", "roll", "delete".
	Name string
	// UpTo is what a sync makes durable.
	UpTo event.Offset
	// Delay is how long Run is to be put off: deleted files stay for file.delete.delay.ms.
	Delay time.Duration
	Run   func() error
	log   *Log
	done  func(error) error
}

// Done tells the log how Run ended. It returns the error that failed the log, if any. A log that
// was closed meanwhile cannot fail any more: its directory may be renamed or gone.
func (t Ticket) Done(err error) error {
	if t.done != nil {
		err = t.done(err)
	}
	if errors.Is(t.log.failed, ErrClosed) {
		return nil
	}
	return err
}

// Deferred takes the work that piled up: closing and syncing rolled segments, unlinking deleted
// ones.
func (l *Log) Deferred() []Ticket {
	tickets := l.deferred
	l.deferred = nil
	return tickets
}

// Sync makes everything durable that is appended so far.
func (l *Log) Sync() error {
	if err := l.Flush(); err != nil {
		return err
	}
	ticket := l.PrepareSync()
	return ticket.Done(ticket.Run())
}

// PrepareSync begins a sync of everything written so far.
func (l *Log) PrepareSync() Ticket {
	first := l.segmentFor(l.synced)
	return l.syncTicket("sync", l.segments[first:], l.written)
}

// syncTicket makes the segments and the directory's names durable, as they are now.
func (l *Log) syncTicket(name string, segments []*segment, upTo event.Offset) Ticket {
	var files []disk.File
	for _, s := range segments {
		files = append(files, s.handles()...)
	}
	// The ticket owns these: were one closed by its successor before it is synced, an older version
	// could come back and pass for the newest.
	loose := l.loose
	if l.epochs.file != nil {
		loose = append(loose, l.epochs.file)
	}
	l.loose, l.epochs.file = nil, nil
	created := l.namesSynced == 0
	// A handle that is gone already belongs to a node that died; its sync reports that itself.
	files = slices.DeleteFunc(files, func(f disk.File) bool { return !f.Retain() })
	names, cuts := l.namesDirty, l.cuts
	syncNames := names != l.namesSynced
	syncs := make([]func() error, len(files))
	for i, f := range files {
		syncs[i] = f.PrepareSync()
	}
	syncDir, syncParent := l.fs.PrepareSyncDir(l.dir), l.fs.PrepareSyncDir(path.Dir(l.dir))
	return Ticket{Name: name, UpTo: upTo, log: l,
		Run: func() error {
			var err error
			for i, f := range files {
				// A file that the log gave up meanwhile (replaced or deleted) need not be synced.
				if syncErr := syncs[i](); !errors.Is(syncErr, disk.ErrClosed) {
					err = errors.Join(err, syncErr)
				}
				err = errors.Join(err, f.Release())
			}
			for _, f := range loose {
				err = errors.Join(err, f.Sync(), f.Close())
			}
			if syncNames && err == nil {
				err = syncDir()
			}
			if created && err == nil {
				err = syncParent()
			}
			return err
		},
		done: func(err error) error {
			if err != nil {
				return l.fail("sync", err)
			}
			l.namesSynced = max(l.namesSynced, names)
			if cuts == l.cuts {
				l.markSynced(upTo)
			}
			return nil
		},
	}
}

// markSynced moves the synced end up and says so.
func (l *Log) markSynced(upTo event.Offset) {
	if upTo <= l.synced {
		return
	}
	event.LogSynced{
		Topic: l.cfg.Topic, Partition: l.cfg.Partition, Before: l.synced, UpTo: upTo,
	}.Emit(l.cfg.Events, event.RuleNone)
	l.synced = upTo
}

// SetTailHold keeps what lies at or above the offset in memory, though the file has it: a
// follower will ask for it soon. math.MaxInt64 holds nothing.
func (l *Log) SetTailHold(lowest event.Offset) {
	l.tail.hold = lowest
	l.tail.evict(l.written)
}

// Mute stops the log's events, for a last act that happens off the loop, where nobody may emit.
func (l *Log) Mute() { l.cfg.Events = nil }

// Close ends the log's use. A clean close leaves what a next clean open needs: everything flushed,
// trimmed indexes, a producer snapshot, all of it durable. After any other close the next open
// recovers.
func (l *Log) Close(clean bool) error {
	var err error
	if clean {
		err = l.shut()
	}
	for _, s := range l.segments {
		err = errors.Join(err, s.close())
	}
	err = errors.Join(err, l.epochs.close(), l.closeLoose())
	l.Drop()
	return err
}

func (l *Log) closeLoose() error {
	var err error
	for _, f := range l.loose {
		err = errors.Join(err, f.Close())
	}
	l.loose = nil
	return err
}

// Drop gives the memory of the log's end back without touching any file, for a node that died.
func (l *Log) Drop() {
	l.tail.release(math.MinInt64)
	clear(l.pending)
	l.pending = nil
	if l.failed == nil {
		l.failed = ErrClosed
	}
}

func (l *Log) shut() error {
	for _, sw := range l.swaps {
		sw.then = nil // a log may be closed off the loop, where nobody must be called back
	}
	if err := l.settleSwaps(); err != nil {
		return err
	}
	for tickets := l.Deferred(); len(tickets) > 0; tickets = l.Deferred() {
		for _, ticket := range tickets {
			if err := ticket.Done(ticket.Run()); err != nil {
				return err
			}
		}
	}
	if err := l.Flush(); err != nil {
		return err
	}
	s := l.active()
	if err := errors.Join(s.finish(), s.trim()); err != nil {
		return l.fail("close", err)
	}
	if l.producers.snapshotEnd != l.end {
		if err := l.writeSnapshot(); err != nil {
			return err
		}
	}
	return l.Sync()
}
