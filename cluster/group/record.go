package group

import (
	"encoding/binary"
	"fmt"
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Topic is where groups are kept.
const Topic = "__consumer_offsets"

// MetadataBytesMax is how much a client may store beside an offset (offset.metadata.max.bytes).
const MetadataBytesMax = 4096

// The record types of __consumer_offsets that belong to classic groups. Offsets of type 0 are as
// old as Kafka 0.8 and read the same.
const (
	offsetKeyOld  = 0
	offsetKey     = 1
	groupKey      = 2
	offsetVersion = 4 // what Kafka 4.1 and later write
	// An offset that its client gave a time to live is written in the version that has a field
	// for it.
	expiringOffsetVersion = 1
	groupVersion          = 3
)

// Record is one record of __consumer_offsets; a nil Value is a tombstone.
type Record struct{ Key, Value []byte }

// PartitionFor is the partition of __consumer_offsets that keeps a group, as Kafka computes it from
// Java's hash of the group's id.
func PartitionFor(group string, partitions int32) int32 {
	var hash int32
	for _, unit := range utf16.Encode([]rune(group)) {
		hash = 31*hash + int32(unit)
	}
	if hash == -1<<31 {
		return 0 // Kafka's Utils.abs
	}
	return max(hash, -hash) % partitions
}

// Partition is a partition of a topic that offsets are committed for.
type Partition struct {
	Topic string
	Index int32
}

// Committed is an offset that a group has committed.
type Committed struct {
	Offset      int64
	LeaderEpoch int32
	Metadata    string
	TopicID     [16]byte
	Timestamp   int64 // milliseconds
	// Expires is the time, in milliseconds, that the client gave; -1 leaves it to the broker.
	Expires int64
	// order tells which of two commits came first in the log.
	order int64
}

func offsetRecordKey(group string, p Partition) []byte {
	key := kmsg.OffsetCommitKey{Version: offsetKey, Group: group, Topic: p.Topic, Partition: p.Index}
	return key.AppendTo(nil)
}

func offsetRecord(group string, p Partition, c Committed) Record {
	value := kmsg.NewOffsetCommitValue()
	value.Version = offsetVersion
	value.Offset, value.LeaderEpoch, value.Metadata = c.Offset, c.LeaderEpoch, c.Metadata
	value.CommitTimestamp, value.TopicID = c.Timestamp, c.TopicID
	if c.Expires >= 0 {
		value.Version, value.ExpireTimestamp = expiringOffsetVersion, c.Expires
	}
	return Record{Key: offsetRecordKey(group, p), Value: value.AppendTo(nil)}
}

func groupRecordKey(group string) []byte {
	key := kmsg.GroupMetadataKey{Version: groupKey, Group: group}
	return key.AppendTo(nil)
}

func groupRecord(group string, value *kmsg.GroupMetadataValue) Record {
	value.Version = groupVersion
	return Record{Key: groupRecordKey(group), Value: value.AppendTo(nil)}
}

// decoded is a record taken apart; one of offset and group is set, or neither for a tombstone.
type decoded struct {
	group     string
	isOffset  bool
	partition Partition
	offset    *Committed
	metadata  *kmsg.GroupMetadataValue
}

// decode reads a record. ok is false for the types of other kinds of groups.
func decode(r Record) (d decoded, ok bool, err error) {
	if len(r.Key) < 2 {
		return d, false, fmt.Errorf("group: a key of %d bytes", len(r.Key))
	}
	switch binary.BigEndian.Uint16(r.Key) {
	case offsetKeyOld, offsetKey:
		err = d.readOffset(r)
	case groupKey:
		err = d.readGroup(r)
	default:
		return d, false, nil
	}
	if err != nil {
		err = fmt.Errorf("group: a record of %s: %w", Topic, err)
	}
	return d, err == nil, err
}

func (d *decoded) readOffset(r Record) error {
	key := kmsg.NewOffsetCommitKey()
	if err := key.ReadFrom(r.Key); err != nil {
		return err
	}
	d.group, d.isOffset = key.Group, true
	d.partition = Partition{Topic: key.Topic, Index: key.Partition}
	if r.Value == nil {
		return nil
	}
	value := kmsg.NewOffsetCommitValue()
	value.LeaderEpoch, value.ExpireTimestamp = -1, -1
	if err := value.ReadFrom(r.Value); err != nil {
		return err
	}
	d.offset = &Committed{Offset: value.Offset, LeaderEpoch: value.LeaderEpoch,
		Metadata: value.Metadata, TopicID: value.TopicID, Timestamp: value.CommitTimestamp,
		Expires: -1}
	if value.Version < 3 {
		d.offset.LeaderEpoch = -1
	}
	if value.Version == expiringOffsetVersion {
		d.offset.Expires = value.ExpireTimestamp
	}
	return nil
}

func (d *decoded) readGroup(r Record) error {
	key := kmsg.NewGroupMetadataKey()
	if err := key.ReadFrom(r.Key); err != nil {
		return err
	}
	d.group = key.Group
	if r.Value == nil {
		return nil
	}
	value := kmsg.NewGroupMetadataValue()
	if err := value.ReadFrom(r.Value); err != nil {
		return err
	}
	d.metadata = &value
	return nil
}
