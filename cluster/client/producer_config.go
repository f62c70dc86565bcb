package client

import (
	"errors"
	"math"
	"time"

	"highwater/cluster/record"
)

// ProducerConfig configures a producer. ParseProducerConfig makes one, with Kafka's names,
// defaults and rules about what goes together.
type ProducerConfig struct {
	acks               string
	Acks               int16
	Idempotent         bool
	Linger             time.Duration
	BatchBytes         int
	BufferBytes        int64
	RequestBytesMax    int
	MaxBlock           time.Duration
	InFlightMax        int
	Retries            int
	RetryBackoff       time.Duration
	RetryBackoffMax    time.Duration
	RequestTimeout     time.Duration
	DeliveryTimeout    time.Duration
	TransactionalID    string
	TransactionTimeout time.Duration
	codec              string
	Codec              record.Codec
	// IgnoreKeys lets records with a key go to the sticky partition, too.
	IgnoreKeys bool
	// Adaptive prefers partitions whose queue is short when the sticky partition changes.
	Adaptive bool
	given    []Setting
}

func (c *ProducerConfig) options() []option {
	return []option{
		choiceOption("acks", &c.acks, "all", "-1", "0", "1"),
		truthOption("enable.idempotence", &c.Idempotent),
		timeOption("linger.ms", &c.Linger),
		wholeOption("batch.size", &c.BatchBytes, 0, math.MaxInt32),
		wholeOption("buffer.memory", &c.BufferBytes, 0, math.MaxInt64),
		wholeOption("max.request.size", &c.RequestBytesMax, 0, math.MaxInt32),
		timeOption("max.block.ms", &c.MaxBlock),
		wholeOption("max.in.flight.requests.per.connection", &c.InFlightMax, 1, math.MaxInt32),
		wholeOption("retries", &c.Retries, 0, math.MaxInt32),
		timeOption("retry.backoff.ms", &c.RetryBackoff),
		timeOption("retry.backoff.max.ms", &c.RetryBackoffMax),
		timeOption("request.timeout.ms", &c.RequestTimeout),
		timeOption("delivery.timeout.ms", &c.DeliveryTimeout),
		textOption("transactional.id", &c.TransactionalID),
		timeOption("transaction.timeout.ms", &c.TransactionTimeout),
		choiceOption("compression.type", &c.codec, "none", "gzip", "snappy", "lz4", "zstd"),
		truthOption("partitioner.ignore.keys", &c.IgnoreKeys),
		truthOption("partitioner.adaptive.partitioning.enable", &c.Adaptive),
	}
}

// ProducerConfigNames lists what a producer can be configured with.
func ProducerConfigNames() []string { return namesOf(new(ProducerConfig).options()) }

// inFlightIdempotentMax is how many batches of a producer a broker remembers (KIP-98).
const inFlightIdempotentMax = 5

// ParseProducerConfig puts settings on top of Kafka's defaults. An error is a sentence for people.
func ParseProducerConfig(settings []Setting) (ProducerConfig, error) {
	c := ProducerConfig{acks: "all", Idempotent: true, Linger: 5 * time.Millisecond,
		BatchBytes: 16384, BufferBytes: 32 << 20, RequestBytesMax: 1 << 20, MaxBlock: time.Minute,
		InFlightMax: 5, Retries: math.MaxInt32, RetryBackoff: backoffMin,
		RetryBackoffMax: backoffMax, RequestTimeout: requestTimeout,
		DeliveryTimeout: DeliveryTimeout, TransactionTimeout: time.Minute, codec: "none",
		Adaptive: true, given: settings}
	given, err := apply(c.options(), settings)
	if err != nil {
		return c, err
	}
	switch c.acks {
	case "all", "-1":
		c.Acks = -1
	case "1":
		c.Acks = 1
	}
	if c.Codec, err = record.ParseCodec(c.codec); err != nil {
		return c, err
	}
	if least := c.Linger + c.RequestTimeout; c.DeliveryTimeout < least {
		if given["delivery.timeout.ms"] {
			return c, errors.New("delivery.timeout.ms must be at least linger.ms + request.timeout.ms")
		}
		c.DeliveryTimeout = least
	}
	return c, c.settleIdempotence(given)
}

// settleIdempotence is Kafka's rule: what was asked for and cannot be is an error, what was only a
// default goes silently.
func (c *ProducerConfig) settleIdempotence(given map[string]bool) error {
	explicit := given["enable.idempotence"] && c.Idempotent
	problem := ""
	switch {
	case c.Acks != -1:
		problem = "must set acks to all in order to use the idempotent producer"
	case c.Retries == 0:
		problem = "must set retries to non-zero when using the idempotent producer"
	case c.InFlightMax > inFlightIdempotentMax:
		problem = "must set max.in.flight.requests.per.connection to at most 5 to use the " +
			"idempotent producer"
	}
	if problem != "" {
		if explicit {
			return errors.New(problem)
		}
		c.Idempotent = false
	}
	if c.TransactionalID != "" && !c.Idempotent {
		return errors.New("cannot set a transactional.id without also enabling idempotence")
	}
	return nil
}
