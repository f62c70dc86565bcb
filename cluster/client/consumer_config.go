package client

import (
	"errors"
	"math"
	"time"
)

// ConsumerConfig configures a consumer. ParseConsumerConfig makes one, with Kafka's names and
// defaults. Topics and Manual are not Kafka's: they say what the application does.
type ConsumerConfig struct {
	// Topics are subscribed to with a group, and otherwise assigned whole; with Partition only that
	// one is assigned, group or not.
	Topics    []string
	Partition int32 // -1 for all
	// Manual means that only commands poll. Otherwise the application polls again and again.
	Manual bool
	// From is where a consumer begins that has no group, in place of auto.offset.reset.
	From *int64

	Group             string
	GroupInstance     string
	isolation         string
	Committed         bool // isolation.level=read_committed
	reset             string
	AutoCommit        bool
	AutoCommitEvery   time.Duration
	MaxPollRecords    int
	MaxPollInterval   time.Duration
	SessionTimeout    time.Duration
	HeartbeatEvery    time.Duration
	assignors         string
	FetchMaxWait      time.Duration
	FetchBytesMin     int32
	FetchBytesMax     int32
	PartitionBytesMax int32
	RequestTimeout    time.Duration
	given             []Setting
}

// The assignors, by the names of their protocols.
const (
	assignorRange       = "range"
	assignorCooperative = "cooperative-sticky"
)

func (c *ConsumerConfig) options() []option {
	return []option{
		textOption("group.id", &c.Group),
		textOption("group.instance.id", &c.GroupInstance),
		choiceOption("isolation.level", &c.isolation, "read_uncommitted", "read_committed"),
		choiceOption("auto.offset.reset", &c.reset, "latest", "earliest", "none"),
		truthOption("enable.auto.commit", &c.AutoCommit),
		timeOption("auto.commit.interval.ms", &c.AutoCommitEvery),
		wholeOption("max.poll.records", &c.MaxPollRecords, 1, math.MaxInt32),
		timeOption("max.poll.interval.ms", &c.MaxPollInterval),
		timeOption("session.timeout.ms", &c.SessionTimeout),
		timeOption("heartbeat.interval.ms", &c.HeartbeatEvery),
		choiceOption("partition.assignment.strategy", &c.assignors, assignorRange,
			assignorCooperative),
		timeOption("fetch.max.wait.ms", &c.FetchMaxWait),
		wholeOption("fetch.min.bytes", &c.FetchBytesMin, 0, math.MaxInt32),
		wholeOption("fetch.max.bytes", &c.FetchBytesMax, 0, math.MaxInt32),
		wholeOption("max.partition.fetch.bytes", &c.PartitionBytesMax, 0, math.MaxInt32),
		timeOption("request.timeout.ms", &c.RequestTimeout),
	}
}

// ConsumerConfigNames lists what a consumer can be configured with.
func ConsumerConfigNames() []string { return namesOf(new(ConsumerConfig).options()) }

// ParseConsumerConfig puts settings on top of Kafka's defaults. An error is a sentence for people.
func ParseConsumerConfig(settings []Setting) (ConsumerConfig, error) {
	c := ConsumerConfig{Partition: -1, isolation: "read_uncommitted", reset: "latest",
		AutoCommit: true, AutoCommitEvery: 5 * time.Second, MaxPollRecords: 500,
		MaxPollInterval: 5 * time.Minute, SessionTimeout: 45 * time.Second,
		HeartbeatEvery: 3 * time.Second,
		FetchMaxWait:   500 * time.Millisecond, FetchBytesMin: 1, FetchBytesMax: 50 << 20,
		PartitionBytesMax: fetchBytesMax, RequestTimeout: requestTimeout, given: settings}
	given, err := apply(c.options(), settings)
	if err != nil {
		return c, err
	}
	c.Committed = c.isolation == "read_committed"
	if c.Group == "" {
		if given["enable.auto.commit"] && c.AutoCommit {
			return c, errors.New("enable.auto.commit cannot be true without a group.id")
		}
		c.AutoCommit = false
	}
	if c.HeartbeatEvery >= c.SessionTimeout {
		return c, errors.New("heartbeat.interval.ms must be below session.timeout.ms")
	}
	return c, nil
}

// strategies lists the assignors in order of preference. Kafka's default is both, which lets a group
// move from one to the other.
func (c *ConsumerConfig) strategies() []string {
	if c.assignors != "" {
		return []string{c.assignors}
	}
	return []string{assignorRange, assignorCooperative}
}

// cooperative says whether partitions are kept through a rebalance: only if every strategy can.
func (c *ConsumerConfig) cooperative() bool { return c.assignors == assignorCooperative }

// resetTo is the special offset of auto.offset.reset; ok is false for none.
func (c *ConsumerConfig) resetTo() (offset int64, ok bool) {
	switch c.reset {
	case "earliest":
		return FromEarliest, true
	case "latest":
		return FromLatest, true
	}
	return 0, false
}
