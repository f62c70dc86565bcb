package metadata

import "highwater/cluster/event"

// TopicRecord says that a topic exists; its PartitionRecords follow.
type TopicRecord struct {
	Name    string
	TopicID event.UUID
}

func (r *TopicRecord) apiKey() int16         { return 2 }
func (r *TopicRecord) newest() int16         { return 0 }
func (r *TopicRecord) versionToWrite() int16 { return 0 }

func (r *TopicRecord) walk(c *coder) {
	c.string("name", &r.Name)
	c.uuid("topic id", &r.TopicID)
	c.tags()
}

// PartitionRecord says all there is to know of a new partition.
type PartitionRecord struct {
	PartitionID         int32
	TopicID             event.UUID
	Replicas            []event.NodeID
	Isr                 []event.NodeID
	RemovingReplicas    []event.NodeID
	AddingReplicas      []event.NodeID
	Leader              event.NodeID
	LeaderRecoveryState int8
	LeaderEpoch         event.Epoch
	PartitionEpoch      int32
	Directories         []event.UUID
	// EligibleLeaderReplicas and LastKnownElr are nil for none.
	EligibleLeaderReplicas []event.NodeID
	LastKnownElr           []event.NodeID
}

func (r *PartitionRecord) apiKey() int16         { return 3 }
func (r *PartitionRecord) newest() int16         { return 2 }
func (r *PartitionRecord) versionToWrite() int16 { return 2 }

func (r *PartitionRecord) walk(c *coder) {
	int32Field(c, "partition id", &r.PartitionID)
	c.uuid("topic id", &r.TopicID)
	c.nodes("replicas", &r.Replicas, false)
	c.nodes("isr", &r.Isr, false)
	c.nodes("removing replicas", &r.RemovingReplicas, false)
	c.nodes("adding replicas", &r.AddingReplicas, false)
	int32Field(c, "leader", &r.Leader)
	int32Field(c, "leader epoch", &r.LeaderEpoch)
	int32Field(c, "partition epoch", &r.PartitionEpoch)
	if c.version >= 1 {
		c.uuids("directories", &r.Directories, false)
	}
	c.tags(
		tag{0, "leader recovery state", r.LeaderRecoveryState != 0, func() {
			c.int8("leader recovery state", &r.LeaderRecoveryState)
		}},
		tag{1, "eligible leader replicas", r.EligibleLeaderReplicas != nil, func() {
			c.nodes("eligible leader replicas", &r.EligibleLeaderReplicas, true)
		}},
		tag{2, "last known elr", r.LastKnownElr != nil, func() {
			c.nodes("last known elr", &r.LastKnownElr, true)
		}},
	)
}

// LeaderUnchanged in PartitionChangeRecord.Leader says that the leader stays, without a new leader
// epoch. event.NoNode there means that the partition now has no leader.
const LeaderUnchanged event.NodeID = -2

// RecoveryUnchanged in PartitionChangeRecord.LeaderRecoveryState says that the state stays.
const RecoveryUnchanged int8 = -1

// The states of Partition.LeaderRecoveryState.
const (
	Recovered  int8 = 0
	Recovering int8 = 1
)

// PartitionChangeRecord says what changed in a partition. In every slice nil means unchanged, and
// an empty slice means that the list is now empty. Start from NewPartitionChangeRecord: the zero
// value names broker 0 as the new leader.
type PartitionChangeRecord struct {
	PartitionID            int32
	TopicID                event.UUID
	Isr                    []event.NodeID
	Leader                 event.NodeID
	Replicas               []event.NodeID
	RemovingReplicas       []event.NodeID
	AddingReplicas         []event.NodeID
	LeaderRecoveryState    int8
	EligibleLeaderReplicas []event.NodeID
	LastKnownElr           []event.NodeID
	Directories            []event.UUID
}

// NewPartitionChangeRecord returns a record that changes nothing yet.
func NewPartitionChangeRecord(topicID event.UUID, partition int32) *PartitionChangeRecord {
	return &PartitionChangeRecord{
		PartitionID: partition, TopicID: topicID,
		Leader: LeaderUnchanged, LeaderRecoveryState: RecoveryUnchanged,
	}
}

func (r *PartitionChangeRecord) apiKey() int16         { return 5 }
func (r *PartitionChangeRecord) newest() int16         { return 2 }
func (r *PartitionChangeRecord) versionToWrite() int16 { return 2 }

func (r *PartitionChangeRecord) walk(c *coder) {
	nodes := func(number uint32, name string, v *[]event.NodeID) tag {
		return tag{number, name, *v != nil, func() { c.nodes(name, v, true) }}
	}
	int32Field(c, "partition id", &r.PartitionID)
	c.uuid("topic id", &r.TopicID)
	c.tags(
		nodes(0, "isr", &r.Isr),
		tag{1, "leader", r.Leader != LeaderUnchanged, func() {
			int32Field(c, "leader", &r.Leader)
		}},
		nodes(2, "replicas", &r.Replicas),
		nodes(3, "removing replicas", &r.RemovingReplicas),
		nodes(4, "adding replicas", &r.AddingReplicas),
		tag{5, "leader recovery state", r.LeaderRecoveryState != RecoveryUnchanged, func() {
			c.int8("leader recovery state", &r.LeaderRecoveryState)
		}},
		nodes(6, "eligible leader replicas", &r.EligibleLeaderReplicas),
		nodes(7, "last known elr", &r.LastKnownElr),
		tag{8, "directories", r.Directories != nil, func() {
			c.uuids("directories", &r.Directories, true)
		}},
	)
}

// ChangesNothing says whether applying the record would change only the partition epoch.
func (r *PartitionChangeRecord) ChangesNothing() bool {
	return r.Isr == nil && r.Leader == LeaderUnchanged && r.Replicas == nil &&
		r.RemovingReplicas == nil && r.AddingReplicas == nil &&
		r.LeaderRecoveryState == RecoveryUnchanged && r.EligibleLeaderReplicas == nil &&
		r.LastKnownElr == nil && r.Directories == nil
}

// RemoveTopicRecord says that a topic, its partitions and its configuration are gone.
type RemoveTopicRecord struct{ TopicID event.UUID }

func (r *RemoveTopicRecord) apiKey() int16         { return 9 }
func (r *RemoveTopicRecord) newest() int16         { return 0 }
func (r *RemoveTopicRecord) versionToWrite() int16 { return 0 }

func (r *RemoveTopicRecord) walk(c *coder) {
	c.uuid("topic id", &r.TopicID)
	c.tags()
}

// ClearElrRecord empties the eligible leader replicas of a topic, or of all topics when TopicName
// is empty. Kafka writes it when min.insync.replicas changes.
type ClearElrRecord struct{ TopicName string }

func (r *ClearElrRecord) apiKey() int16         { return 28 }
func (r *ClearElrRecord) newest() int16         { return 0 }
func (r *ClearElrRecord) versionToWrite() int16 { return 0 }

func (r *ClearElrRecord) walk(c *coder) {
	c.string("topic name", &r.TopicName)
	c.tags()
}
