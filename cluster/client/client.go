package client

import (
	"time"

	"highwater/cluster/event"
	"highwater/cluster/world"
)

// ID is the client id that brokers see.
const ID = "highwater"

// Kafka's defaults, but for metadataTimeout: whoever asks a broker that stands still for metadata
// goes on to the next one sooner than after request.timeout.ms, because somebody watches.
const (
	requestTimeout  = 30 * time.Second
	DeliveryTimeout = 120 * time.Second // delivery.timeout.ms and the bound of everything else
	metadataTimeout = 5 * time.Second
	backoffMin      = 100 * time.Millisecond // retry.backoff.ms
	backoffMax      = time.Second            // retry.backoff.max.ms
)

// Client is one incarnation of the built-in client. Its methods belong to the loop, and each calls
// its done exactly once, unless the incarnation ends before.
type Client struct {
	network
	stickies map[string]*sticky
	producer producer
}

// New makes the state of a fresh incarnation.
func New(env *world.Env, brokers []event.NodeID) *Client {
	return &Client{network: newNetwork(env, brokers, ID), stickies: map[string]*sticky{},
		producer: newProducer()}
}
