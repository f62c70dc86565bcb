package commitlog

import (
	"log/slog"
	"math"

	"highwater/cluster/event"
)

// TimestampType says whose time a record carries, Kafka's message.timestamp.type.
type TimestampType int8

// The two types.
const (
	CreateTime TimestampType = iota
	LogAppendTime
)

// CleanupPolicy is Kafka's cleanup.policy; both bits may be set.
type CleanupPolicy uint8

// The two policies, and that nothing is ever cleaned up. No bit at all reads as CleanupDelete.
const (
	CleanupDelete CleanupPolicy = 1 << iota
	CleanupCompact
	CleanupNever
)

// Origin says who made a batch; only client batches are checked for duplicates and gaps.
type Origin uint8

// The origins of a leader's appends.
const (
	Client Origin = iota
	Coordinator
)

const (
	// segmentBytesDefault and the others are Kafka's defaults.
	segmentBytesDefault         = 1 << 30
	segmentMsDefault            = 7 * 24 * 3600 * 1000
	indexIntervalBytesDefault   = 4096
	segmentIndexBytesDefault    = 10 << 20
	maxMessageBytesDefault      = 1048588
	producerExpirationMsDefault = 24 * 3600 * 1000
	// tailBytesDefault is ours: how much of the log's end stays in memory for readers.
	tailBytesDefault = 4 << 20
	// tailHoldFactor bounds a held tail: beyond this many times TailBytes even held entries go,
	// and whoever is that far behind reads from the file.
	tailHoldFactor = 8
	// decompressedBytesMax bounds what one batch may inflate to when records are looked at.
	decompressedBytesMax = 128 << 20
)

// Config is what a log must know of its topic and its surroundings. Start from DefaultConfig:
// zero stands for the default only where zero would make no sense.
type Config struct {
	Topic     string
	Partition int32
	// TopicID goes into partition.metadata; zero writes none and accepts any.
	TopicID event.UUID
	// Events may be nil.
	Events *event.Emitter
	// Now is the node's clock in unix milliseconds.
	Now func() int64
	// Log hears what a person should know; it may be nil.
	Log *slog.Logger

	SegmentBytes       int64 // bytes
	SegmentMs          int64
	IndexIntervalBytes int64 // bytes of log between two index entries
	SegmentIndexBytes  int64 // bytes of a preallocated index file
	MaxMessageBytes    int64 // bytes of the largest batch a leader takes
	RetentionMs        int64 // -1: no limit
	RetentionBytes     int64 // -1: no limit
	// TailBytes bounds the memory that the log's end may pin.
	TailBytes     int64
	TimestampType TimestampType
	CleanupPolicy CleanupPolicy
	// Preallocate makes a new segment's file SegmentBytes long at once.
	Preallocate bool
	// FileDeleteDelayMs is how long a deleted segment's files stay under another name.
	FileDeleteDelayMs int64
	// ProducerExpirationMs is how long a silent producer without an open transaction is known.
	ProducerExpirationMs int64
}

// DefaultConfig has Kafka's defaults.
func DefaultConfig() Config {
	c := Config{RetentionMs: segmentMsDefault, RetentionBytes: -1, CleanupPolicy: CleanupDelete}
	return c.withDefaults()
}

func (c Config) withDefaults() Config {
	orDefault(&c.SegmentBytes, segmentBytesDefault)
	orDefault(&c.SegmentMs, segmentMsDefault)
	orDefault(&c.IndexIntervalBytes, indexIntervalBytesDefault)
	orDefault(&c.SegmentIndexBytes, segmentIndexBytesDefault)
	orDefault(&c.MaxMessageBytes, maxMessageBytesDefault)
	orDefault(&c.TailBytes, tailBytesDefault)
	orDefault(&c.ProducerExpirationMs, producerExpirationMsDefault)
	// Index positions are int32, so a segment cannot be larger.
	c.SegmentBytes = min(c.SegmentBytes, math.MaxInt32)
	if c.CleanupPolicy == 0 {
		c.CleanupPolicy = CleanupDelete
	}
	if c.Now == nil {
		c.Now = func() int64 { return 0 }
	}
	return c
}

func orDefault(value *int64, fallback int64) {
	if *value == 0 {
		*value = fallback
	}
}
