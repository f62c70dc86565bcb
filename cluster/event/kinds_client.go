package event

// ClientStarted says that a built-in producer or consumer begins under its name, with nothing sent,
// nothing read and nothing assigned. Settings are those that differ from Kafka's defaults.
type ClientStarted struct {
	Name     string
	Role     string // producer, consumer
	Group    string
	Settings string
	// BufferMemory is buffer.memory of a producer.
	BufferMemory int64 `unit:"bytes"`
}

// RecordsBuffered says that send() put records into a batch of the accumulator. Records and Bytes
// are the batch's own now, Added what came in, and Memory what is taken of buffer.memory.
type RecordsBuffered struct {
	Batch     int64
	Topic     string
	Partition int32
	Added     int32
	Records   int32
	Bytes     int32 `unit:"bytes"`
	Memory    int64 `unit:"bytes"`
}

// RecordsNotBuffered says that send() failed: the records never reached the accumulator.
type RecordsNotBuffered struct {
	Topic     string
	Records   int32
	ErrorCode int32
	Reason    string
}

// SendBlocked says that the application stands still inside a call of its producer.
type SendBlocked struct {
	Job    int64
	What   string // buffer.memory, metadata, producer id
	Topic  string
	Memory int64 `unit:"bytes"`
	Due    int64 `unit:"virtual ns"`
}

// SendUnblocked says that the call goes on, or fails because max.block.ms is over.
type SendUnblocked struct {
	Job     int64
	Outcome string // satisfied, timed-out
}

// BatchDrained says that the sender took a batch out of the accumulator into a request, just before
// the request leaves. Sequence is -1 without idempotence.
type BatchDrained struct {
	Batch         int64
	Topic         string
	Partition     int32
	To            NodeID
	Records       int32
	Bytes         int32 `unit:"bytes"`
	Attempt       int32
	ProducerID    int64
	ProducerEpoch int32
	Sequence      int32
}

// BatchRequeued says that an attempt failed and that the batch waits, in sequence, for the next
// one. Uncertain means that a leader may have appended it all the same.
type BatchRequeued struct {
	Batch     int64
	Topic     string
	Partition int32
	Attempt   int32
	ErrorCode int32
	Reason    string
	Uncertain bool
}

// BatchBelieved says what the producer now believes of a batch, for good: acknowledged at an
// offset (-1 when nobody told it), failed, or unknown. Memory is what is taken of buffer.memory.
type BatchBelieved struct {
	Batch      int64
	Topic      string
	Partition  int32
	Records    int32
	Belief     string // acknowledged, failed, unknown
	BaseOffset Offset
	ErrorCode  int32
	Reason     string
	Memory     int64 `unit:"bytes"`
}

// ProducerIDChanged says that the producer now sends under this identity.
type ProducerIDChanged struct {
	ProducerID    int64
	ProducerEpoch int32
	Reason        string
}

// ClientTransactionChanged says what a transactional producer believes its transaction to be.
type ClientTransactionChanged struct {
	TransactionalID string
	Before          string
	After           string
	Reason          string
}

// MembershipChanged says what a consumer believes its membership of its group to be.
type MembershipChanged struct {
	Group      string
	Member     string
	Generation int32
	State      string // unjoined, joining, stable
	Reason     string
}

// PartitionAssigned says that a consumer owns a partition from now on. Generation is -1 when it was
// assigned by hand.
type PartitionAssigned struct {
	Group      string
	Generation int32
	Topic      string
	Partition  int32
}

// PartitionRevoked says that a consumer no longer owns a partition.
type PartitionRevoked struct {
	Group      string
	Generation int32
	Topic      string
	Partition  int32
	Reason     string // rebalance, lost, closed
}

// PositionMoved says that a consumer's next poll begins elsewhere, but for what polls returned.
type PositionMoved struct {
	Topic     string
	Partition int32
	Before    Offset
	After     Offset
	Reason    string // committed, earliest, latest, seek
}

// RecordsPolled says that poll() returned records of a partition to the application. Before and
// After are the position, Offsets the runs of offsets of the records, of many the newest.
type RecordsPolled struct {
	Topic     string
	Partition int32
	Records   int32
	Before    Offset
	After     Offset
	Offsets   string // 0-3,5-5
}

// PositionCommitted says that the coordinator confirmed a consumer's offset.
type PositionCommitted struct {
	Group     string
	Topic     string
	Partition int32
	Offset    Offset
	How       string // auto, manual, revoke, close
}

// CommitFailed says that a consumer's offsets were not committed, as far as it knows.
type CommitFailed struct {
	Group     string
	ErrorCode int32
	Reason    string
	How       string
}
