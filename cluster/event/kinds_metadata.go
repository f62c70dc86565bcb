package event

// VoteStored says that a controller stored its term and vote on disk.
type VoteStored struct {
	Term      int32
	Candidate NodeID
}

// ControllerStateChanged says what a controller now is in the quorum: leader, follower, candidate
// or resigned.
type ControllerStateChanged struct {
	State  string
	Term   int32
	Leader NodeID
}

// MetadataStored says that a controller has metadata records up to LogEndOffset on its disk.
type MetadataStored struct {
	LogEndOffset Offset
	Term         int32
	Records      int32
}

// MetadataCommitted says that the active controller saw a majority store records below
// HighWatermark.
type MetadataCommitted struct {
	Before        Offset
	HighWatermark Offset
	Term          int32
}

// MetadataReplayed says that a broker applied the metadata log up to Offset.
type MetadataReplayed struct {
	Before Offset
	Offset Offset
	Leader NodeID
}

// BrokerRegistered says that a broker's incarnation is in the metadata log. A new incarnation is
// fenced; one that registers again is what it was.
type BrokerRegistered struct {
	Broker        NodeID
	BrokerEpoch   int64
	PreviousEpoch int64
	Unclean       bool
	Host          string
	Port          int32
	Fenced        bool
}

// BrokerFenced says that a broker counts as absent.
type BrokerFenced struct {
	Broker      NodeID
	BrokerEpoch int64
}

// BrokerUnfenced says that a broker may lead and be in sync again.
type BrokerUnfenced struct {
	Broker      NodeID
	BrokerEpoch int64
}

// BrokerInControlledShutdown says that a broker hands over its leaderships to stop.
type BrokerInControlledShutdown struct {
	Broker      NodeID
	BrokerEpoch int64
}

// TopicCreated says that a topic is committed to the metadata log.
type TopicCreated struct {
	Topic             string
	TopicID           string
	Partitions        int32
	ReplicationFactor int32
	MinIsr            int32
}

// TopicDeleted says that a topic's removal is committed.
type TopicDeleted struct {
	Topic   string
	TopicID string
}

// PartitionChanged says what the metadata log now says of a partition, also when it is new.
type PartitionChanged struct {
	Topic          string
	Partition      int32
	Leader         NodeID
	LeaderBefore   NodeID
	LeaderEpoch    Epoch
	PartitionEpoch int32
	Replicas       []NodeID
	Isr            []NodeID
	Elr            []NodeID
	LastKnownElr   []NodeID
	Recovering     bool
}

// ConfigChanged says that a configuration value was committed; Removed means back to its default.
type ConfigChanged struct {
	ResourceType string
	Resource     string
	Name         string
	Value        string
	Removed      bool
}

// ProducerIDsAllocated says that a broker got a block of producer ids.
type ProducerIDsAllocated struct {
	Broker NodeID
	First  int64
	Next   int64
}

// RecordingTruncated says that the recorder reached its bound: earlier events are no longer kept.
type RecordingTruncated struct {
	Events int64
	From   int64
}
