package client

import "highwater/cluster/event"

// Sought is a partition whose position was moved; -1 for all of a topic's.
type Sought struct {
	Topic     string
	Partition int32
}

// seek is one call of seek(). Without a topic it is about every partition.
type seek struct {
	topic     string
	partition int32
	offset    int64
}

func (s seek) names(key topicPartition) bool {
	return s.topic == "" || s.topic == key.topic && s.partition == key.partition
}

// OffsetReset is auto.offset.reset.
func (c *Consumer) OffsetReset() string { return c.config.reset }

// Seek makes the next poll of a partition begin at an offset, or at a special one. Without a topic
// it moves every partition. As in Kafka any offset is taken; the next poll finds out whether it is
// within the log. A consumer that no group decides for has its partitions from its beginning on, as
// after assign(), whether it has polled or not.
func (c *Consumer) Seek(topic string, partition int32, offset int64) (moved []Sought) {
	s := seek{topic, partition, offset}
	if c.subscribes() || c.assigned {
		moved = c.seekNow(s)
		c.advance()
		return moved
	}
	for _, name := range c.config.Topics {
		switch {
		case topic == "":
			moved = append(moved, Sought{name, c.config.Partition})
		case topic == name && (c.config.Partition < 0 || c.config.Partition == partition):
			moved = append(moved, Sought{name, partition})
		}
	}
	if len(moved) > 0 { // what is there to move is known when the topics' sizes are
		c.seeks = append(c.seeks, s)
		c.refresh()
	}
	return moved
}

func (c *Consumer) seekNow(s seek) (moved []Sought) {
	for _, p := range c.positions {
		if !s.names(p.key) {
			continue
		}
		moved = append(moved, Sought{p.key.topic, p.key.partition})
		p.fetched, p.sought, p.strayed, p.failure = nil, 0, false, 0
		if s.offset < 0 {
			p.sought = s.offset
			continue
		}
		c.moveTo(p, s.offset, "seek", event.RuleNone)
	}
	return moved
}

func (c *Consumer) moveTo(p *position, offset int64, reason string, rule event.Rule) {
	before := p.next
	p.next, p.fetchAt, p.fetched, p.strayed, p.failure = offset, offset, nil, false, 0
	event.PositionMoved{Topic: p.key.topic, Partition: p.key.partition,
		Before: event.Offset(before), After: event.Offset(offset), Reason: reason}.
		Emit(c.env.Events, rule)
}
