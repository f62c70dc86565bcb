package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"highwater/cluster/disk"
	"highwater/cluster/event"
)

// EpochEntry says that a leader epoch began at an offset, one line of leader-epoch-checkpoint.
type EpochEntry struct {
	Epoch       event.Epoch
	StartOffset event.Offset
}

// epochCache is the history of leader epochs (KIP-101): entries rise in epoch and in start offset.
// The checkpoint file is replaced at every change without a sync; it becomes durable with the
// log's next sync, and if the power fails before, recovery rebuilds it from the batches.
type epochCache struct {
	files   disk.FS
	name    string
	entries []EpochEntry
	// file is the last version written, kept open until a sync has made it durable.
	file disk.File
}

func newEpochCache(files disk.FS, dir string) epochCache {
	return epochCache{files: files, name: path.Join(dir, epochCheckpointFile)}
}

// load reads the checkpoint. It reports false for a missing or broken file.
func (c *epochCache) load() (bool, error) {
	b, err := c.files.ReadFile(c.name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	entries, err := parseEpochs(b)
	if err != nil {
		return false, nil
	}
	c.entries = entries
	return true, nil
}

// parseEpochs reads a leader-epoch-checkpoint.
func parseEpochs(b []byte) ([]EpochEntry, error) {
	lines, err := checkpointLines(b)
	if err != nil {
		return nil, err
	}
	var entries []EpochEntry
	for _, line := range lines {
		epochText, offsetText, _ := strings.Cut(line, " ")
		epoch, epochErr := strconv.ParseInt(epochText, 10, 32)
		offset, offsetErr := strconv.ParseInt(offsetText, 10, 64)
		if err := errors.Join(epochErr, offsetErr); err != nil {
			return nil, fmt.Errorf("commitlog: leader epoch line %q: %w", line, err)
		}
		e := EpochEntry{event.Epoch(epoch), event.Offset(offset)}
		if n := len(entries); n > 0 &&
			(e.Epoch <= entries[n-1].Epoch || e.StartOffset <= entries[n-1].StartOffset) {
			return nil, fmt.Errorf("commitlog: leader epoch line %q does not rise", line)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// epochsToldMax bounds how many leader epochs an event tells.
const epochsToldMax = 64

// epochsText writes the newest entries as events tell them: 0@0,2@17.
func epochsText(entries []EpochEntry) string {
	var b strings.Builder
	for i, e := range entries[max(0, len(entries)-epochsToldMax):] {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d@%d", e.Epoch, e.StartOffset)
	}
	return b.String()
}

// assign notes that an epoch begins. Later entries that contradict it go, so an epoch without
// records leaves no trace once the next begins at the same offset. It reports whether anything
// changed.
func (c *epochCache) assign(epoch event.Epoch, start event.Offset) bool {
	if n := len(c.entries); n > 0 {
		if last := c.entries[n-1]; last.Epoch == epoch && start >= last.StartOffset {
			return false
		}
	}
	keep := len(c.entries)
	for keep > 0 &&
		(c.entries[keep-1].Epoch >= epoch || c.entries[keep-1].StartOffset >= start) {
		keep--
	}
	c.entries = append(c.entries[:keep], EpochEntry{epoch, start})
	return true
}

// endFor answers where an epoch ends: Kafka's LeaderEpochFileCache.endOffsetFor. An epoch that is
// not there is answered by the one below it; below all entries, by the start of the first.
// False means that nothing is known.
func (c *epochCache) endFor(
	epoch event.Epoch, logEnd event.Offset,
) (event.Epoch, event.Offset, bool) {
	n := len(c.entries)
	if n == 0 || epoch < 0 || epoch > c.entries[n-1].Epoch {
		return 0, 0, false
	}
	if epoch == c.entries[n-1].Epoch {
		return epoch, logEnd, true
	}
	higher := 0
	for c.entries[higher].Epoch <= epoch {
		higher++
	}
	if higher == 0 {
		return epoch, c.entries[0].StartOffset, true
	}
	return c.entries[higher-1].Epoch, c.entries[higher].StartOffset, true
}

// truncateEnd drops epochs that begin at or above the offset.
func (c *epochCache) truncateEnd(end event.Offset) bool {
	keep := len(c.entries)
	for keep > 0 && c.entries[keep-1].StartOffset >= end {
		keep--
	}
	changed := keep < len(c.entries)
	c.entries = c.entries[:keep]
	return changed
}

// truncateStart moves the history's beginning up; the epoch that holds the new start begins there.
func (c *epochCache) truncateStart(start event.Offset) bool {
	drop := 0
	for drop < len(c.entries) && c.entries[drop].StartOffset <= start {
		drop++
	}
	if drop == 0 || drop == 1 && c.entries[0].StartOffset == start {
		return false
	}
	c.entries = slices.Delete(c.entries, 0, drop-1)
	c.entries[0].StartOffset = start
	return true
}

// hold makes the offsets from first to last belong to an epoch, as a batch says they do. Only what
// contradicts it goes: an epoch's start may lie below the first of its batches that compaction
// left, and an epoch all of whose batches it removed is known from here alone.
func (c *epochCache) hold(epoch event.Epoch, first, last event.Offset) {
	if epoch < 0 || c.at(first) == epoch && c.at(last) == epoch {
		return
	}
	var lower, higher []EpochEntry
	own := EpochEntry{epoch, first}
	for _, e := range c.entries {
		switch {
		case e.Epoch == epoch:
			own.StartOffset = min(first, e.StartOffset)
		case e.Epoch < epoch && e.StartOffset < first:
			lower = append(lower, e)
		case e.Epoch > epoch && e.StartOffset > last:
			higher = append(higher, e)
		}
	}
	c.entries = slices.Concat(lower, []EpochEntry{own}, higher)
}

// at is the epoch of the record at an offset, or -1.
func (c *epochCache) at(offset event.Offset) event.Epoch {
	for i := len(c.entries) - 1; i >= 0; i-- {
		if c.entries[i].StartOffset <= offset {
			return c.entries[i].Epoch
		}
	}
	return -1
}

func (c *epochCache) encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "0\n%d\n", len(c.entries))
	for _, e := range c.entries {
		fmt.Fprintf(&b, "%d %d\n", e.Epoch, e.StartOffset)
	}
	return b.Bytes()
}

// write replaces the checkpoint file, not yet durably.
func (c *epochCache) write() error {
	file, err := replaceFile(c.files, c.name, 0, c.encode())
	if err != nil {
		return err
	}
	err = c.close()
	c.file = file
	return err
}

func (c *epochCache) close() error {
	if c.file == nil {
		return nil
	}
	file := c.file
	c.file = nil
	return file.Close()
}

// LastEpoch is the newest leader epoch the log knows, or -1.
func (l *Log) LastEpoch() event.Epoch {
	if n := len(l.epochs.entries); n > 0 {
		return l.epochs.entries[n-1].Epoch
	}
	return -1
}

// Epochs lists the leader epochs; the caller owns the slice.
func (l *Log) Epochs() []EpochEntry { return slices.Clone(l.epochs.entries) }

// EndOffsetForEpoch answers OffsetForLeaderEpoch: the epoch at or below the one asked for, and the
// offset at which it ended. False means that the epoch is unknown here.
func (l *Log) EndOffsetForEpoch(epoch event.Epoch) (event.Epoch, event.Offset, bool) {
	return l.epochs.endFor(epoch, l.end)
}

// AssignEpochStart notes that a leader epoch begins; a new leader does so before its first append.
func (l *Log) AssignEpochStart(epoch event.Epoch, start event.Offset) error {
	if l.failed != nil {
		return l.failed
	}
	return l.assignEpoch(epoch, start)
}

func (l *Log) assignEpoch(epoch event.Epoch, start event.Offset) error {
	if !l.epochs.assign(epoch, start) {
		return nil
	}
	if err := l.writeEpochs(); err != nil {
		return err
	}
	event.LeaderEpochStarted{
		Topic: l.cfg.Topic, Partition: l.cfg.Partition, LeaderEpoch: epoch, StartOffset: start,
	}.Emit(l.cfg.Events, event.RuleLeaderEpochBump)
	return nil
}

func (l *Log) writeEpochs() error {
	l.namesDirty++
	return l.fail("write leader epochs", l.epochs.write())
}
