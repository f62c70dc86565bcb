package event

// BecameLeader says that this replica now leads the partition, after its epoch was noted and
// before it answers anybody.
type BecameLeader struct {
	Topic          string
	Partition      int32
	LeaderEpoch    Epoch
	PartitionEpoch int32
	Replicas       []NodeID
	Isr            []NodeID
	StartOffset    Offset
	HighWatermark  Offset
	MinIsr         int32
	// LastStableOffset is the high watermark unless a transaction holds it back.
	LastStableOffset Offset
}

// BecameFollower says that this replica now follows Leader; -1 when there is none.
type BecameFollower struct {
	Topic          string
	Partition      int32
	LeaderEpoch    Epoch
	PartitionEpoch int32
	Leader         NodeID
	Replicas       []NodeID
	Isr            []NodeID
	LogEndOffset   Offset
	HighWatermark  Offset
	// LastStableOffset is the high watermark unless a transaction holds it back.
	LastStableOffset Offset
}

// ReplicaRemoved says that this node no longer holds a replica of the partition.
type ReplicaRemoved struct {
	Topic     string
	Partition int32
}

// ReplicaFetched says that the leader learned from a follower's fetch how far its log reaches.
type ReplicaFetched struct {
	Topic     string
	Partition int32
	Replica   NodeID
	Before    Offset
	Offset    Offset
}

// HighWatermarkMoved says what this replica now believes to be committed.
type HighWatermarkMoved struct {
	Topic     string
	Partition int32
	Before    Offset
	After     Offset
	// LastStableOffset is After unless a transaction holds it back.
	LastStableOffset Offset
}

// IsrChangeProposed says that the leader asked the controller for another ISR.
type IsrChangeProposed struct {
	Topic     string
	Partition int32
	Isr       []NodeID
	Proposed  []NodeID
	Replica   NodeID
}

// IsrChangeRefused says that the controller did not take the proposal.
type IsrChangeRefused struct {
	Topic     string
	Partition int32
	ErrorCode int32
}

// IsrChanged says that the leader now counts this ISR, as the controller committed it.
type IsrChanged struct {
	Topic          string
	Partition      int32
	Before         []NodeID
	Isr            []NodeID
	PartitionEpoch int32
}

// FollowerDiverged says that the leader's answer shows that this follower's log left the leader's.
type FollowerDiverged struct {
	Topic       string
	Partition   int32
	Leader      NodeID
	FetchOffset Offset
	LastEpoch   Epoch
	LeaderEpoch Epoch
	EndOffset   Offset
}
