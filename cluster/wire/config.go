package wire

import (
	"crypto/tls"
	"log/slog"
	"time"

	"highwater/cluster/broker"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

// Poster takes what comes in from outside; world.World is one, and says how the two differ.
type Poster interface {
	Post(in ...world.Inbound)
	PostAndRun(in ...world.Inbound)
}

// Config is what an edge is made from. Every bound that is zero gets its default.
type Config struct {
	World  Poster
	Served []broker.Range // what else is asked for closes the connection, as in Kafka
	Log    *slog.Logger
	TLS    *tls.Config  // when given, all listeners speak TLS
	Pool   *record.Pool // the frames' memory; one of its own when nil

	FrameBytesMax     int           // Kafka's socket.request.max.bytes
	InFlightBytesMax  int64         // read but not answered, over all connections; reading stops there
	OutputBytesMax    int64         // waiting in memory for one slow client before it is cut off
	InflatedBytesMax  int           // of one batch
	ConnectionsMax    int           // at most 2,048
	PerAddressMax     int           // connections from one address
	FirstFrameTimeout time.Duration // from accepting to the first header
	FrameTimeout      time.Duration // from a frame's first byte to its last
	IdleTimeout       time.Duration // Kafka's connections.max.idle.ms
	StallTimeout      time.Duration // how long a client may take nothing of what waits for it
	TrimInterval      time.Duration // memory kept for reuse goes after that long without a frame
}

// requestsInFlightMax is how many requests of one connection may be unanswered before the edge
// stops reading from it.
const requestsInFlightMax = 64

const (
	poolBytesMax   = 128 << 20
	connectionsMax = 2048
)

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Pool == nil {
		c.Pool = record.NewPool(poolBytesMax)
	}
	orDefault(&c.InFlightBytesMax, 256<<20)
	orDefault(&c.FrameBytesMax, 100<<20)
	// A frame larger than all that may be in flight could never be read.
	c.FrameBytesMax = int(min(int64(c.FrameBytesMax), c.InFlightBytesMax/2))
	orDefault(&c.OutputBytesMax, 32<<20)
	orDefault(&c.InflatedBytesMax, 32<<20)
	orDefault(&c.ConnectionsMax, connectionsMax)
	c.ConnectionsMax = min(c.ConnectionsMax, connectionsMax)
	orDefault(&c.PerAddressMax, 1024)
	orDefault(&c.FirstFrameTimeout, 10*time.Second)
	orDefault(&c.FrameTimeout, 30*time.Second)
	orDefault(&c.IdleTimeout, 10*time.Minute)
	orDefault(&c.StallTimeout, time.Minute)
	orDefault(&c.TrimInterval, 10*time.Second)
	return c
}

func orDefault[T comparable](value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
	}
}
