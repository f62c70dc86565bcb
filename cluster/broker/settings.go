package broker

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"highwater/cluster/group"
	"highwater/cluster/txn"
)

// Settings are the broker configurations that change what a broker does. The names in Kafka stand
// beside them.
type Settings struct {
	SessionTimeout      time.Duration // broker.session.timeout.ms (the controllers use it)
	HeartbeatInterval   time.Duration // broker.heartbeat.interval.ms
	ReplicaLagMax       time.Duration // replica.lag.time.max.ms
	FetchWaitMax        time.Duration // replica.fetch.wait.max.ms
	FetchBackoff        time.Duration // replica.fetch.backoff.ms
	FetchResponseMax    int           // replica.fetch.response.max.bytes
	CheckpointInterval  time.Duration // replica.high.watermark.checkpoint.interval.ms
	FlushCheckpoint     time.Duration // log.flush.offset.checkpoint.interval.ms
	RetentionCheck      time.Duration // log.retention.check.interval.ms
	FileDeleteDelay     time.Duration // log.segment.delete.delay.ms
	CleanerEnabled      bool          // log.cleaner.enable
	CleanerBackoff      time.Duration // log.cleaner.backoff.ms
	CleanerBufferBytes  int64         // log.cleaner.dedupe.buffer.size
	ProducerIDExpiry    time.Duration // producer.id.expiration.ms
	AutoCreateTopics    bool          // auto.create.topics.enable
	NumPartitions       int32         // num.partitions
	DefaultReplication  int16         // default.replication.factor
	FetchSessionSlots   int           // max.incremental.fetch.session.cache.slots
	FetchBytesMax       int           // fetch.max.bytes
	AutoRebalance       bool          // auto.leader.rebalance.enable (the controllers use it)
	ImbalanceCheck      time.Duration // leader.imbalance.check.interval.seconds (they too)
	OffsetsPartitions   int32         // offsets.topic.num.partitions
	OffsetsReplication  int16         // offsets.topic.replication.factor
	OffsetsSegmentBytes int32         // offsets.topic.segment.bytes
	// OffsetsRetentionCheck is offsets.retention.check.interval.ms, OffsetsCommitTimeout is
	// offsets.commit.timeout.ms.
	OffsetsRetentionCheck time.Duration
	OffsetsCommitTimeout  time.Duration
	Groups                group.Settings
	// What follows is transaction.state.log.num.partitions, .replication.factor, .min.isr and
	// .segment.bytes, transaction.abort.timed.out.transaction.cleanup.interval.ms, and
	// transaction.remove.expired.transaction.cleanup.interval.ms.
	TransactionsPartitions   int32
	TransactionsReplication  int16
	TransactionsMinIsr       int32
	TransactionsSegmentBytes int32
	TransactionTimeoutCheck  time.Duration
	TransactionalIDCheck     time.Duration
	Transactions             txn.Settings
	TruncateToHighWater      bool // highwater.truncate.to.high.watermark: the rule before 0.11
}

// DefaultSettings are Kafka's defaults.
func DefaultSettings() Settings {
	return Settings{
		SessionTimeout: 9 * time.Second, HeartbeatInterval: 2 * time.Second,
		ReplicaLagMax: 30 * time.Second, FetchWaitMax: 500 * time.Millisecond,
		FetchBackoff: time.Second, FetchResponseMax: 10 << 20, CheckpointInterval: 5 * time.Second,
		FlushCheckpoint: time.Minute, RetentionCheck: 5 * time.Minute,
		FileDeleteDelay: time.Minute, CleanerEnabled: true, CleanerBackoff: 15 * time.Second,
		CleanerBufferBytes: 128 << 20, ProducerIDExpiry: 24 * time.Hour,
		AutoCreateTopics: true, NumPartitions: 1, DefaultReplication: 1,
		FetchSessionSlots: 1000, FetchBytesMax: 55 << 20, AutoRebalance: true,
		ImbalanceCheck:    5 * time.Minute,
		OffsetsPartitions: 50, OffsetsReplication: 3, OffsetsSegmentBytes: 100 << 20,
		OffsetsRetentionCheck: 10 * time.Minute, OffsetsCommitTimeout: 5 * time.Second,
		Groups:                 group.DefaultSettings(),
		TransactionsPartitions: 50, TransactionsReplication: 3, TransactionsMinIsr: 2,
		TransactionsSegmentBytes: 100 << 20, TransactionTimeoutCheck: 10 * time.Second,
		TransactionalIDCheck: time.Hour, Transactions: txn.DefaultSettings(),
	}
}

// configVerification is a broker configuration that may change while the broker runs.
const configVerification = "transaction.partition.verification.enable"

// SettingCounts says whether a configuration changes what a broker does, beside being described.
func SettingCounts(name string) bool {
	s := DefaultSettings()
	known, _ := s.Apply(name, "1")
	return known || name == configVerification
}

// Apply sets configurations given as texts. Names that do not change anything here are left to
// the caller; known reports whether the name did.
func (s *Settings) Apply(name, value string) (known bool, err error) {
	if d := s.duration(name); d != nil {
		ms, err := strconv.ParseInt(value, 10, 64)
		if err != nil || ms < 0 {
			return true, fmt.Errorf("broker: %s takes milliseconds, not %q", name, value)
		}
		if ms == 0 && isAgain(name) {
			return true, fmt.Errorf("broker: %s is at least 1 here, or virtual time would stand still",
				name)
		}
		*d = time.Duration(ms) * time.Millisecond
		return true, nil
	}
	if known, err = s.applyCoordinators(name, value); known {
		return known, err
	}
	switch name {
	case "auto.create.topics.enable":
		s.AutoCreateTopics, err = strconv.ParseBool(value)
	case "log.cleaner.enable":
		s.CleanerEnabled, err = strconv.ParseBool(value)
	case "log.cleaner.dedupe.buffer.size":
		s.CleanerBufferBytes, err = strconv.ParseInt(value, 10, 64)
	case "highwater.truncate.to.high.watermark":
		s.TruncateToHighWater, err = strconv.ParseBool(value)
	case "replica.fetch.response.max.bytes":
		s.FetchResponseMax, err = strconv.Atoi(value)
	case "fetch.max.bytes":
		s.FetchBytesMax, err = strconv.Atoi(value)
	case "max.incremental.fetch.session.cache.slots":
		s.FetchSessionSlots, err = strconv.Atoi(value)
	case "auto.leader.rebalance.enable":
		s.AutoRebalance, err = strconv.ParseBool(value)
	case "leader.imbalance.check.interval.seconds":
		var n int64
		n, err = strconv.ParseInt(value, 10, 32)
		s.ImbalanceCheck = time.Duration(n) * time.Second
	case "num.partitions":
		var n int64
		n, err = strconv.ParseInt(value, 10, 32)
		s.NumPartitions = int32(n)
	case "default.replication.factor":
		var n int64
		n, err = strconv.ParseInt(value, 10, 16)
		s.DefaultReplication = int16(n)
	default:
		return false, nil
	}
	if err != nil {
		return true, fmt.Errorf("broker: %s=%q: %w", name, value, err)
	}
	return true, nil
}

// isAgain says that what a duration bounds is done again as soon as it is over.
func isAgain(name string) bool {
	return strings.HasSuffix(name, ".interval.ms") || strings.HasSuffix(name, ".backoff.ms") ||
		name == "replica.fetch.wait.max.ms" || name == "replica.lag.time.max.ms"
}

// applyCoordinators is Apply for what concerns groups and transactions and is no duration in
// milliseconds.
func (s *Settings) applyCoordinators(name, value string) (known bool, err error) {
	bits := 32
	if strings.HasSuffix(name, ".replication.factor") {
		bits = 16
	}
	n, err := strconv.ParseInt(value, 10, bits)
	switch name {
	case "offsets.topic.num.partitions":
		s.OffsetsPartitions = int32(n)
	case "offsets.topic.replication.factor":
		s.OffsetsReplication = int16(n)
	case "offsets.topic.segment.bytes":
		s.OffsetsSegmentBytes = int32(n)
	case "offsets.retention.minutes":
		s.Groups.OffsetsRetention = time.Duration(n) * time.Minute
	case "transaction.state.log.num.partitions":
		s.TransactionsPartitions = int32(n)
	case "transaction.state.log.replication.factor":
		s.TransactionsReplication = int16(n)
	case "transaction.state.log.min.isr":
		s.TransactionsMinIsr = int32(n)
	case "transaction.state.log.segment.bytes":
		s.TransactionsSegmentBytes = int32(n)
	case "group.max.size":
		s.Groups.MembersMax = int(n)
	default:
		return false, nil
	}
	if err == nil && n < 1 {
		err = strconv.ErrRange
	}
	if err != nil {
		return true, fmt.Errorf("broker: %s=%q: %w", name, value, err)
	}
	return true, nil
}

func (s *Settings) duration(name string) *time.Duration {
	switch name {
	case "broker.session.timeout.ms":
		return &s.SessionTimeout
	case "broker.heartbeat.interval.ms":
		return &s.HeartbeatInterval
	case "replica.lag.time.max.ms":
		return &s.ReplicaLagMax
	case "replica.fetch.wait.max.ms":
		return &s.FetchWaitMax
	case "replica.fetch.backoff.ms":
		return &s.FetchBackoff
	case "replica.high.watermark.checkpoint.interval.ms":
		return &s.CheckpointInterval
	case "log.flush.offset.checkpoint.interval.ms":
		return &s.FlushCheckpoint
	case "log.retention.check.interval.ms":
		return &s.RetentionCheck
	case "log.segment.delete.delay.ms":
		return &s.FileDeleteDelay
	case "log.cleaner.backoff.ms":
		return &s.CleanerBackoff
	case "group.initial.rebalance.delay.ms":
		return &s.Groups.InitialRebalanceDelay
	case "group.min.session.timeout.ms":
		return &s.Groups.SessionTimeoutMin
	case "group.max.session.timeout.ms":
		return &s.Groups.SessionTimeoutMax
	case "offsets.retention.check.interval.ms":
		return &s.OffsetsRetentionCheck
	case "offsets.commit.timeout.ms":
		return &s.OffsetsCommitTimeout
	case "transaction.abort.timed.out.transaction.cleanup.interval.ms":
		return &s.TransactionTimeoutCheck
	case "transaction.remove.expired.transaction.cleanup.interval.ms":
		return &s.TransactionalIDCheck
	case "transaction.max.timeout.ms":
		return &s.Transactions.TimeoutMax
	case "transactional.id.expiration.ms":
		return &s.Transactions.Expiration
	case "producer.id.expiration.ms":
		return &s.ProducerIDExpiry
	}
	return nil
}
