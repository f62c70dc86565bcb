package broker

import (
	"errors"
	"io/fs"
	"maps"
	"slices"

	"highwater/cluster/commitlog"
	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/replica"
)

// checkpoint is one of the files that keep an offset of each log.
type checkpoint struct {
	file string
	// found is what the file said, when the broker started, of logs that it has not opened yet.
	found map[replica.PartitionKey]event.Offset
	of    func(*held) event.Offset
	// kept says which logs the file is about; nil for all.
	kept func(*held) bool
}

// checkpoints is what the log directory's files say, and said when the broker started.
type checkpoints struct {
	clean                                              bool
	brokerEpoch                                        int64 // of the last clean stop, -1 otherwise
	directoryID                                        event.UUID
	highWatermark, recoveryPoint, logStart, firstDirty checkpoint
	// dropped are logs of which the files may still tell, though they are gone.
	dropped map[replica.PartitionKey]bool
}

func (c *checkpoints) all() []*checkpoint {
	return []*checkpoint{&c.highWatermark, &c.recoveryPoint, &c.logStart, &c.firstDirty}
}

// readCheckpoints reads what an earlier incarnation left.
func (b *Broker) readCheckpoints() error {
	c := &b.checkpoints
	c.dropped = map[replica.PartitionKey]bool{}
	c.highWatermark = checkpoint{file: commitlog.HighWatermarkCheckpoint,
		of: func(h *held) event.Offset { return h.HighWatermark() }}
	c.recoveryPoint = checkpoint{file: commitlog.RecoveryPointCheckpoint,
		of: func(h *held) event.Offset { return h.Log.SyncedEnd() }}
	c.logStart = checkpoint{file: commitlog.LogStartOffsetCheckpoint,
		of: func(h *held) event.Offset { return h.Log.LogStartOffset() }}
	c.firstDirty = checkpoint{file: commitlog.CleanerOffsetCheckpoint,
		of:   func(h *held) event.Offset { return h.Log.FirstDirtyOffset() },
		kept: func(h *held) bool { return h.Log.Compacted() }}
	for _, each := range c.all() {
		var err error
		if each.found, err = b.readCheckpoint(each.file); err != nil {
			return err
		}
	}
	return nil
}

// readCheckpoint treats a missing file as empty, and a broken one too: what it would have said is
// found again by recovery, more slowly. One that the disk does not give is neither.
func (b *Broker) readCheckpoint(name string) (map[replica.PartitionKey]event.Offset, error) {
	offsets := map[replica.PartitionKey]event.Offset{}
	entries, err := commitlog.ReadOffsetCheckpoint(b.disk, name)
	var refused *disk.Error
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return offsets, nil
	case errors.As(err, &refused):
		return nil, err
	case err != nil:
		b.log.Warn("checkpoint is damaged, recovering without it", "broker", b.env.ID(),
			"file", name, "error", err)
		return offsets, nil
	}
	for _, e := range entries {
		offsets[replica.PartitionKey{Topic: e.Topic, Index: e.Partition}] = e.Offset
	}
	return offsets, nil
}

// openOptions is what the files said of a log that is on the disk since the broker started. They
// say nothing of one that is made anew, under a name that may have been another's.
func (b *Broker) openOptions(key replica.PartitionKey) commitlog.OpenOptions {
	c := &b.checkpoints
	options := commitlog.OpenOptions{CleanShutdown: c.clean,
		RecoveryPoint: c.recoveryPoint.found[key], LogStartOffset: c.logStart.found[key],
		HighWatermark: c.highWatermark.found[key], FirstDirtyOffset: c.firstDirty.found[key]}
	for _, each := range c.all() {
		delete(each.found, key)
	}
	return options
}

// entries is what a file should say now. Until the broker has opened all that is its own, the file
// keeps what it says of the rest.
func (b *Broker) entries(c *checkpoint) []commitlog.CheckpointEntry {
	list := make([]commitlog.CheckpointEntry, 0, len(b.ordered))
	for _, h := range b.ordered {
		if c.kept == nil || c.kept(h) {
			list = append(list, commitlog.CheckpointEntry{Topic: h.key.Topic,
				Partition: h.key.Index, Offset: c.of(h)})
		}
	}
	if b.metadata.settled {
		return list
	}
	for _, key := range slices.SortedFunc(maps.Keys(c.found), replica.PartitionKey.Compare) {
		list = append(list, commitlog.CheckpointEntry{Topic: key.Topic, Partition: key.Index,
			Offset: c.found[key]})
	}
	return list
}

// writeCheckpoint replaces a file beside the loop.
func (b *Broker) writeCheckpoint(c *checkpoint) {
	var files disk.FS = b.disk
	name, entries := c.file, b.entries(c)
	b.env.Work("checkpoint", ticketCost, func() any {
		return commitlog.WriteOffsetCheckpoint(files, name, entries)
	}, func(result any) {
		if err, _ := result.(error); err != nil {
			b.failDisk("checkpoint", err)
		}
	})
}

// forget takes a log that is about to be made anew out of the files, if they may tell of one of its
// name that is gone: after a crash that would be taken for the new one's (LogManager.asyncDelete).
// A topic that is another one is so in all of its partitions.
func (b *Broker) forget(key replica.PartitionKey) error {
	c := &b.checkpoints
	known := c.dropped[key]
	for _, each := range c.all() {
		_, found := each.found[key]
		known = known || found
	}
	if !known {
		return nil
	}
	for _, each := range c.all() {
		maps.DeleteFunc(each.found, func(k replica.PartitionKey, _ event.Offset) bool {
			return k.Topic == key.Topic
		})
	}
	return b.rewriteCheckpoints()
}

// droppedMax bounds what a broker remembers of topics that come and go.
const droppedMax = 10_000

// remember notes that the files may tell of a log that is gone.
func (b *Broker) remember(key replica.PartitionKey) error {
	b.checkpoints.dropped[key] = true
	if len(b.checkpoints.dropped) < droppedMax {
		return nil
	}
	return b.rewriteCheckpoints()
}

// rewriteCheckpoints makes the files tell of the logs that there are, on the loop.
func (b *Broker) rewriteCheckpoints() error {
	b.env.AwaitWork() // a checkpoint on its way goes through the same temporary files
	for _, each := range b.checkpoints.all() {
		if err := commitlog.WriteOffsetCheckpoint(b.disk, each.file, b.entries(each)); err != nil {
			return err
		}
	}
	clear(b.checkpoints.dropped)
	return nil
}
