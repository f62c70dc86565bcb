package cluster

import (
	"fmt"

	"highwater/cluster/broker"
	"highwater/cluster/event"
)

// Clean compacts a partition's replica on one broker now, whatever its dirty ratio. done gets the
// outcome, unless the broker goes down before.
func (c *Cluster) Clean(
	id event.NodeID, topic string, p int32, done func(broker.CleaningReport),
) error {
	b := c.broker(id)
	if b == nil {
		return fmt.Errorf("%s is down", c.named(id))
	}
	return b.Clean(topic, p, done)
}

// Retain checks the retention of a partition now, on every running broker that holds it, and lists
// these.
func (c *Cluster) Retain(topic string, p int32) []event.NodeID {
	var held []event.NodeID
	for _, id := range c.config.Brokers {
		if b := c.broker(id); b != nil && b.Retain(topic, p) {
			held = append(held, id)
		}
	}
	return held
}

// Replicas is a partition's assignment, the preferred leader first.
func (c *Cluster) Replicas(topic string, p int32) []event.NodeID {
	if m, ok := c.partition(topic, p); ok {
		return m.Replicas
	}
	return nil
}

// Segments are the base offsets of one replica's segments.
func (c *Cluster) Segments(node event.NodeID, topic string, p int32) ([]event.Offset, bool) {
	r := c.replica(node, topic, p)
	if r == nil {
		return nil, false
	}
	var bases []event.Offset
	for _, s := range r.Log.Segments() {
		bases = append(bases, s.BaseOffset)
	}
	return bases, true
}

// LogStartOffset is the first offset of one replica that may be read.
func (c *Cluster) LogStartOffset(node event.NodeID, topic string, p int32) (event.Offset, bool) {
	r := c.replica(node, topic, p)
	if r == nil {
		return 0, false
	}
	return r.Log.LogStartOffset(), true
}

// FirstDirtyOffset is the offset from which on one replica was never compacted.
func (c *Cluster) FirstDirtyOffset(node event.NodeID, topic string, p int32) (event.Offset, bool) {
	r := c.replica(node, topic, p)
	if r == nil {
		return 0, false
	}
	return r.Log.FirstDirtyOffset(), true
}
