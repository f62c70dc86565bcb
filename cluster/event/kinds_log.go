package event

// LogOpened says that a replica's log was read from disk, after recovery. Holes are the runs of
// offsets without a record that compaction has left there, all of them from HolesFrom on. Epochs are
// the leader epochs of its checkpoint, each at the offset where it begins; of many the newest.
type LogOpened struct {
	Topic          string
	Partition      int32
	LogStartOffset Offset
	LogEndOffset   Offset
	HighWatermark  Offset
	Segments       int32
	TruncatedBytes int64 `unit:"bytes"`
	Clean          bool
	Bytes          int64 `unit:"bytes"`
	LeaderEpoch    Epoch
	Epochs         string // 0@0,2@17
	Holes          string // 0-176,180-182
	HolesFrom      Offset
}

// BatchAppended says that a batch was written at the end of this node's log, after the log end
// offset moved and before anybody can see it.
type BatchAppended struct {
	Topic        string
	Partition    int32
	BaseOffset   Offset
	LastOffset   Offset
	Records      int32
	Bytes        int32 `unit:"bytes"`
	LeaderEpoch  Epoch
	ProducerID   int64
	BaseSequence int32
	Codec        string
	Control      bool
	Leader       bool
	// Transactional batches count for read_committed once their transaction is committed.
	Transactional bool
}

// RecordDescribed tells the key and value, cut short, of a record just appended by the leader.
// Under a flood only a bounded number a second are described.
type RecordDescribed struct {
	Topic      string
	Partition  int32
	Offset     Offset
	Key        string
	Value      string
	KeyBytes   int32 `unit:"bytes"` // -1: null key
	ValueBytes int32 `unit:"bytes"` // -1: null value
	Headers    int32
	Timestamp  int64 `unit:"unix ms"`
}

// SegmentRolled says that a new active segment begins at BaseOffset.
type SegmentRolled struct {
	Topic      string
	Partition  int32
	BaseOffset Offset
	Before     Offset
	Bytes      int64 `unit:"bytes"`
}

// SegmentDeleted says that a closed segment left the log.
type SegmentDeleted struct {
	Topic      string
	Partition  int32
	BaseOffset Offset
	NextOffset Offset
	Bytes      int64 `unit:"bytes"`
}

// LogStartOffsetMoved says that records below After are no longer part of the log.
type LogStartOffsetMoved struct {
	Topic     string
	Partition int32
	Before    Offset
	After     Offset
}

// LogTruncated says that the log was cut from Before to After.
type LogTruncated struct {
	Topic         string
	Partition     int32
	Before        Offset
	After         Offset
	LeaderEpoch   Epoch
	HighWatermark Offset
	Bytes         int64 `unit:"bytes"`
}

// LeaderEpochStarted says that the log's epoch checkpoint got a new line.
type LeaderEpochStarted struct {
	Topic       string
	Partition   int32
	LeaderEpoch Epoch
	StartOffset Offset
}

// LogSynced says that everything below UpTo is on the disk.
type LogSynced struct {
	Topic     string
	Partition int32
	Before    Offset
	UpTo      Offset
}

// DuplicateSuppressed says that a retry was recognised: nothing was appended and the first
// append's offset is answered.
type DuplicateSuppressed struct {
	Topic         string
	Partition     int32
	ProducerID    int64
	ProducerEpoch int32
	BaseSequence  int32
	BaseOffset    Offset
}

// AppendRefused says that a batch was not appended, with Kafka's error code.
type AppendRefused struct {
	Topic      string
	Partition  int32
	ErrorCode  int32
	Detail     string
	ProducerID int64
	Expected   int64
	Got        int64
}

// CleanerPassBegan says that the cleaner starts on a log: everything below UpTo may be rewritten, and
// what lies from FirstDirtyOffset on was never compacted.
type CleanerPassBegan struct {
	Topic            string
	Partition        int32
	Job              int64
	FirstDirtyOffset Offset
	UpTo             Offset
	CleanBytes       int64 `unit:"bytes"`
	DirtyBytes       int64 `unit:"bytes"`
	Forced           bool
}

// SegmentsSwapped says that one rewritten segment took the place of its originals for readers.
type SegmentsSwapped struct {
	Topic         string
	Partition     int32
	BaseOffset    Offset
	NextOffset    Offset
	Segments      int32
	BytesBefore   int64 `unit:"bytes"`
	Bytes         int64 `unit:"bytes"`
	RecordsBefore int64
	Records       int64
	Holes         string // the newest runs of offsets without a record: 0-176,180-182
}

// CleanerPassEnded says how the pass ended, after all its segments are in place for good. Survivors
// are the newest few records that stay.
type CleanerPassEnded struct {
	Topic             string
	Partition         int32
	Job               int64
	Outcome           string // cleaned, superseded, uncleanable, removed
	FirstDirtyOffset  Offset
	RecordsBefore     int64
	RecordsAfter      int64
	BytesBefore       int64 `unit:"bytes"`
	BytesAfter        int64 `unit:"bytes"`
	TombstonesKept    int64
	TombstonesExpired int64
	Survivors         string
}

// LogDirFailed says that a node's log directory takes no more writes.
type LogDirFailed struct {
	Operation string
	Error     string
}
