package event

// TransactionStateChanged says that a transactional id is in another state at its coordinator,
// after the record that says so was committed and replayed, or that another coordinator has loaded it.
// Before is empty for an id that is new there.
type TransactionStateChanged struct {
	TransactionalID string
	Before          string
	After           string
	ProducerID      int64
	ProducerEpoch   int32
	Partitions      int32
	Reason          string
}

// TransactionPartitionAdded says that a partition belongs to the id's transaction from now on: its
// end will be marked there.
type TransactionPartitionAdded struct {
	TransactionalID string
	Topic           string
	Partition       int32
	ProducerID      int64
	ProducerEpoch   int32
}

// TransactionBegan says that a producer's first batch of a transaction is in this node's log, after
// the log end offset moved.
type TransactionBegan struct {
	Topic         string
	Partition     int32
	ProducerID    int64
	ProducerEpoch int32
	FirstOffset   Offset
}

// TransactionMarkerWritten says that a marker is in this node's log at Offset. FirstOffset is where
// the transaction that it ends began, -1 when none was open.
type TransactionMarkerWritten struct {
	Topic            string
	Partition        int32
	ProducerID       int64
	ProducerEpoch    int32
	CoordinatorEpoch int32
	Commit           bool
	Offset           Offset
	FirstOffset      Offset
}

// LastStableOffsetMoved says how far readers with read_committed now see on this replica. While no
// transaction holds it back, it is the high watermark and moves with that untold.
type LastStableOffsetMoved struct {
	Topic     string
	Partition int32
	Before    Offset
	After     Offset
}
