package commitlog

import (
	"fmt"
	"io"
	"iter"
	"math"
	"path"

	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/record"
)

// Problem is one inconsistency in a partition's directory.
type Problem struct {
	File     string
	Position int64 // bytes from the file's beginning, -1 for the file as a whole
	Text     string
}

func (p Problem) String() string {
	if p.Position < 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s: at byte %d: %s", p.File, p.Position, p.Text)
}

// Check reads a partition's directory and reports everything that contradicts anything else in it:
// offsets, CRCs and epochs of the batches, every index entry, the epoch checkpoint and the
// producer snapshots. It changes nothing. The log must not be open, or must have been flushed.
func Check(files disk.FS, dir string) iter.Seq[Problem] {
	return func(yield func(Problem) bool) {
		c := &checker{files: files, dir: dir, yield: yield}
		c.run()
	}
}

// checker walks a directory until somebody does not want to know more.
type checker struct {
	files disk.FS
	dir   string
	yield func(Problem) bool
	done  bool
	// end is the offset up to which the log has been walked, epoch the newest epoch seen.
	end   event.Offset
	epoch int32
	// firstOfEpoch are the batches that begin an epoch, to be found in the checkpoint.
	firstOfEpoch []EpochEntry
}

func (c *checker) report(file string, position int64, format string, args ...any) {
	if !c.done {
		c.done = !c.yield(Problem{file, position, fmt.Sprintf(format, args...)})
	}
}

func (c *checker) run() {
	entries, err := c.files.List(c.dir)
	if err != nil {
		c.report(".", -1, "%v", err)
		return
	}
	c.epoch = math.MinInt32
	var start event.Offset
	var logs []disk.Entry
	for _, e := range entries {
		if _, ext, ok := parseName(e.Name); ok && ext == extLog {
			logs = append(logs, e)
		}
	}
	if len(logs) == 0 {
		c.report(".", -1, "there is no segment")
		return
	}
	for i, e := range logs {
		base, _, _ := parseName(e.Name)
		if i == 0 {
			start, c.end = base, base
		}
		if !c.done {
			c.segment(base, e.Size, i == len(logs)-1)
		}
	}
	for _, e := range entries {
		if offset, ext, ok := parseName(e.Name); ok && ext == extSnapshot && !c.done {
			c.snapshot(e.Name, offset)
		}
	}
	c.epochs(start)
}

// batchFacts is what the indexes of a segment are checked against.
type batchFacts struct {
	base, last   event.Offset
	maxTimestamp int64
	control      bool
}

// segment walks one segment's batches, then its indexes.
func (c *checker) segment(base event.Offset, size int64, active bool) {
	name := FileName(base, extLog)
	if base < c.end {
		c.report(name, -1, "begins below offset %d, where the one before ends", c.end)
	}
	c.end = max(c.end, base)
	file, err := c.files.Open(path.Join(c.dir, name))
	if err != nil {
		c.report(name, -1, "%v", err)
		return
	}
	// The file was only read; a failing close says nothing about the log.
	defer func() { _ = file.Close() }()
	positions := map[int64]batchFacts{}
	lasts := map[event.Offset]batchFacts{}
	batches := scan(file, 0, size, make([]byte, scanChunkBytes))
	for !c.done && batches.next() {
		c.batch(name, base, &batches)
		h := &batches.header
		facts := batchFacts{event.Offset(h.BaseOffset), batches.last(), h.MaxTimestamp,
			h.Attributes.Control()}
		if h.RecordsCount == 0 {
			facts.maxTimestamp = -1 // emptied by compaction: no record has its time
		}
		positions[batches.position], lasts[facts.last] = facts, facts
		c.end = facts.last + 1
	}
	room := false
	if batches.err == nil && active && !batches.whole() {
		room, batches.err = isPreallocated(file, batches.position)
	}
	switch {
	case batches.err != nil:
		c.report(name, batches.position, "%v", batches.err)
	case !c.done && !batches.whole() && !room:
		c.report(name, batches.position, "%d bytes that are no whole batch",
			size-batches.position)
	}
	c.offsetIndex(base, positions)
	c.timeIndex(base, lasts)
	c.txnIndex(base, lasts)
}

// isPreallocated says whether a log file goes on with zeroes where a batch would begin.
func isPreallocated(file disk.File, position int64) (bool, error) {
	var next [record.HeaderBytes]byte
	n, err := file.ReadAt(next[:], position)
	if err != nil && err != io.EOF { // at the file's end there may be fewer
		return false, err
	}
	return n > 0 && next == [record.HeaderBytes]byte{}, nil
}

func (c *checker) batch(name string, base event.Offset, batches *scanner) {
	h, at := &batches.header, batches.position
	if h.BaseOffset < int64(c.end) || h.LastOffsetDelta < 0 {
		c.report(name, at, "batch %d..%d does not follow offset %d",
			h.BaseOffset, h.LastOffset(), c.end)
	}
	if !fitsRelative(base, batches.last()) {
		c.report(name, at, "offset %d is too far from the segment's base", batches.last())
	}
	whole := batches.batch()
	if whole == nil || !record.ChecksumHolds(whole) {
		c.report(name, at, "the CRC of batch %d does not hold", h.BaseOffset)
	}
	if h.PartitionLeaderEpoch < c.epoch {
		c.report(name, at, "leader epoch %d after %d", h.PartitionLeaderEpoch, c.epoch)
	}
	if h.PartitionLeaderEpoch > c.epoch {
		c.epoch = h.PartitionLeaderEpoch
		c.firstOfEpoch = append(c.firstOfEpoch,
			EpochEntry{event.Epoch(c.epoch), event.Offset(h.BaseOffset)})
	}
}

func (c *checker) offsetIndex(base event.Offset, positions map[int64]batchFacts) {
	name := FileName(base, extIndex)
	x := newOffsetIndex(c.files, path.Join(c.dir, name), base, 0)
	if !c.load(name, &x.indexFile, x.load) {
		return
	}
	for i := range x.count() {
		offset, position := x.at(i)
		if facts, found := positions[position]; !found || facts.last != offset {
			c.report(name, int64(i*indexEntryBytes),
				"entry %d says that a batch ends at offset %d at position %d", i, offset, position)
		}
	}
}

func (c *checker) timeIndex(base event.Offset, lasts map[event.Offset]batchFacts) {
	name := FileName(base, extTimeIndex)
	x := newTimeIndex(c.files, path.Join(c.dir, name), base, 0)
	if !c.load(name, &x.indexFile, x.load) {
		return
	}
	for i := range x.count() {
		timestamp, offset := x.at(i)
		if facts, found := lasts[offset]; !found || facts.maxTimestamp != timestamp {
			c.report(name, int64(i*timeIndexEntryBytes),
				"entry %d says that the batch up to offset %d has timestamp %d", i, offset, timestamp)
		}
	}
}

// load reads an index; what lies behind its last good entry must be zeroes.
func (c *checker) load(name string, x *indexFile, load func() (bool, error)) bool {
	whole, err := load()
	if x.file == nil {
		c.report(name, -1, "missing or of a broken length")
		return false
	}
	defer func() { _ = x.close() }() // it was only read
	if err != nil || !whole {
		c.report(name, -1, "cannot be read (%v)", err)
		return false
	}
	if well, err := x.endsWell(); err != nil || !well {
		c.report(name, int64(len(x.entries)), "an entry that does not rise")
	}
	return true
}

func (c *checker) txnIndex(base event.Offset, lasts map[event.Offset]batchFacts) {
	name := FileName(base, extTxnIndex)
	x := txnIndex{files: c.files, name: path.Join(c.dir, name)}
	whole, err := x.load()
	if err != nil || !whole {
		c.report(name, -1, "cannot be read (%v)", err)
		return
	}
	for i, t := range x.txns {
		if facts, found := lasts[t.LastOffset]; !found || !facts.control {
			c.report(name, int64(i*abortedTxnBytes),
				"entry %d says that offset %d is an abort marker", i, t.LastOffset)
		}
	}
}

func (c *checker) snapshot(name string, offset event.Offset) {
	b, err := c.files.ReadFile(path.Join(c.dir, name))
	ps := newProducers()
	switch {
	case err != nil:
		c.report(name, -1, "%v", err)
	case !ps.decode(b):
		c.report(name, -1, "version, length or CRC does not hold")
	case offset > c.end:
		c.report(name, -1, "lies above the log end offset %d", c.end)
	}
	for _, id := range ps.ids() {
		p := ps.byID[id]
		if p.count > 0 && p.batches[p.count-1].lastOffset >= offset {
			c.report(name, -1, "producer %d wrote offset %d at or above it",
				id, p.batches[p.count-1].lastOffset)
		}
	}
}

// epochs compares the checkpoint with the batches. The checkpoint may know epochs without records,
// its first entry moves up with the log start offset, and it is empty when nothing lies above that.
func (c *checker) epochs(start event.Offset) {
	b, err := c.files.ReadFile(path.Join(c.dir, epochCheckpointFile))
	if err != nil {
		c.report(epochCheckpointFile, -1, "%v", err)
		return
	}
	cache := epochCache{}
	if cache.entries, err = parseEpochs(b); err != nil {
		c.report(epochCheckpointFile, -1, "%v", err)
		return
	}
	for _, first := range c.firstOfEpoch {
		known := len(cache.entries) == 0 || first.StartOffset < cache.entries[0].StartOffset ||
			cache.at(first.StartOffset) == first.Epoch
		if !known && first.Epoch >= 0 {
			c.report(epochCheckpointFile, -1, "does not say that epoch %d has offset %d",
				first.Epoch, first.StartOffset)
		}
	}
	if n := len(cache.entries); n > 0 && cache.entries[n-1].StartOffset > max(c.end, start) {
		c.report(epochCheckpointFile, -1, "epoch %d begins at %d, above the log end offset %d",
			cache.entries[n-1].Epoch, cache.entries[n-1].StartOffset, c.end)
	}
}
