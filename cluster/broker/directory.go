package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"highwater/cluster/commitlog"
	"highwater/cluster/event"
)

// openDirectory reads what an earlier incarnation left, or formats an empty directory. A directory
// of another cluster or node is refused untouched.
func (b *Broker) openDirectory() error {
	meta, err := commitlog.ReadMetaProperties(b.disk)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		meta = commitlog.MetaProperties{ClusterID: b.config.ClusterID, NodeID: b.env.ID(),
			DirectoryID: b.env.UUID()}
		if err := commitlog.WriteMetaProperties(b.disk, meta); err != nil {
			return err
		}
	case err != nil:
		return err
	case meta.ClusterID != b.config.ClusterID || meta.NodeID != b.env.ID():
		return fmt.Errorf("broker: the log directory %s belongs to node %d of cluster %s, "+
			"not to node %d of %s", b.disk.Path(), meta.NodeID, meta.ClusterID, b.env.ID(),
			b.config.ClusterID)
	}
	b.checkpoints.directoryID = meta.DirectoryID
	if err := b.readCheckpoints(); err != nil {
		return err
	}
	marker, clean, err := commitlog.TakeCleanShutdown(b.disk)
	if err != nil {
		return err
	}
	b.checkpoints.clean, b.checkpoints.brokerEpoch = clean, -1
	if clean {
		b.checkpoints.brokerEpoch = marker.BrokerEpoch
	}
	return b.openMetadataLog()
}

// deletedSuffix ends the name of a deleted partition's directory until its files are gone,
// straySuffix that of one which is nobody's.
const (
	deletedSuffix = "-delete"
	straySuffix   = "-stray"
)

// nameBytesMax is how long the name of a file or directory can be.
const nameBytesMax = 255

// asideName is the name under which a partition's directory waits for its end, or for somebody who
// wants it. A long topic's name is cut for it, as in Kafka (UnifiedLog.logDirNameWithSuffixCap).
func asideName(dir string, id event.UUID, suffix string) string {
	at := strings.LastIndexByte(dir, '-')
	end := fmt.Sprintf("%s.%x%s", dir[at:], id[:], suffix)
	return dir[:min(at, nameBytesMax-len(end))] + end
}

// removeDeleted takes away the directories of partitions that were deleted before the stop.
func (b *Broker) removeDeleted() {
	entries, err := b.disk.List(".")
	if err != nil {
		b.failDisk("list", err)
		return
	}
	for _, e := range entries {
		if e.Dir && strings.HasSuffix(e.Name, deletedSuffix) {
			b.removeLater(e.Name)
		}
	}
}

// setStraysAside renames the directories of partitions that this broker no longer has: their topic
// was deleted while it was away, or they went to other brokers. As in Kafka they are kept
// (LogManager.asyncDelete): if it is the metadata that was lost, they are all there is.
func (b *Broker) setStraysAside() {
	entries, err := b.disk.List(".")
	if err != nil {
		b.failDisk("list", err)
		return
	}
	for _, e := range entries {
		at := strings.LastIndexByte(e.Name, '-')
		if !e.Dir || at < 0 || e.Name[:at] == metadataTopic {
			continue
		}
		index, err := strconv.ParseInt(e.Name[at+1:], 10, 32)
		if err != nil || b.held(e.Name[:at], int32(index)) != nil {
			continue
		}
		if err := b.setAside(e.Name, errNotHere); err != nil {
			b.failDisk("rename", err)
			return
		}
		event.ReplicaRemoved{Topic: e.Name[:at], Partition: int32(index)}.Emit(b.env.Events, event.RuleNone)
	}
}

var errNotHere = errors.New("the metadata has no such partition on this broker")

// setAside renames a partition's directory, so that it is kept and nobody's.
func (b *Broker) setAside(dir string, why error) error {
	aside := asideName(dir, b.env.UUID(), straySuffix)
	if err := b.disk.Rename(dir, aside); err != nil {
		return err
	}
	b.log.Warn("a partition's directory is set aside", "broker", b.env.ID(), "directory", dir,
		"now", aside, "reason", why)
	return nil
}

// removeLater unlinks a directory beside the loop once readers had time to let go of it.
func (b *Broker) removeLater(dir string) {
	b.env.AfterQuiet("file-delete", b.config.Settings.FileDeleteDelay, func() {
		b.env.Work("delete", ticketCost, func() any {
			err := b.disk.RemoveAll(dir)
			if err == nil {
				err = b.disk.SyncDir(".")
			}
			return err
		}, func(result any) {
			if err, _ := result.(error); err != nil {
				b.log.Warn("could not remove a deleted partition", "directory", dir, "error", err)
			}
		})
	})
}
