package client

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/event"
)

// The consumer's fetches: one under way to each broker that leads something, for every partition
// of which nothing is buffered, and the positions to fetch from.

// locate finds positions: by the committed offset, or where auto.offset.reset says.
func (c *Consumer) locate() {
	if c.locating {
		return
	}
	var unknown []*position
	for _, p := range c.positions {
		switch {
		case p.failure != 0:
			c.throw(p, p.failure)
			return
		case p.sought != 0:
			c.lookUpOffset(p, p.sought)
			return
		case p.next < 0:
			unknown = append(unknown, p)
		}
	}
	if len(unknown) == 0 {
		return
	}
	switch {
	case c.config.Group != "":
		c.fetchCommitted(unknown)
	case c.config.From != nil && *c.config.From >= 0:
		for _, p := range unknown {
			c.moveTo(p, *c.config.From, "where it was told to begin", event.RuleNone)
		}
	case c.config.From != nil:
		unknown[0].sought = *c.config.From
		c.lookUpOffset(unknown[0], *c.config.From)
	default:
		c.resetPosition(unknown[0])
	}
}

// resetPosition goes where auto.offset.reset says, or throws from poll().
func (c *Consumer) resetPosition(p *position) {
	to, ok := c.config.resetTo()
	if !ok {
		c.throw(p, kerr.OffsetOutOfRange.Code)
		return
	}
	p.sought = to
	c.lookUpOffset(p, to)
}

// lookUpOffset asks a partition's leader for its first or its last offset.
func (c *Consumer) lookUpOffset(p *position, special int64) {
	c.locating = true
	r := &reading{n: &c.network, next: special, request: ReadRequest{Topic: p.key.topic,
		Partition: p.key.partition, Committed: c.config.Committed}}
	r.operation = c.begin(timeMax, func(int16) { c.locating = false })
	r.located = func(offset int64) {
		c.locating = false
		if p.sought == special && c.find(p.key) == p {
			p.sought = 0
			reason := "earliest"
			if special == FromLatest {
				reason = "latest"
			}
			if p.strayed {
				reason = fmt.Sprintf("offset %d is out of range, so %s", p.fetchAt, reason)
			}
			c.moveTo(p, offset, reason, event.RuleAutoOffsetReset)
		}
		c.advance()
	}
	r.operation.attempt = func() {
		// It may be given up since, perhaps because the topic is gone, or sought elsewhere.
		if c.find(p.key) != p || p.sought != special {
			c.locating = false
			c.advance()
			return
		}
		r.attempt()
	}
	r.attempt()
}

// fetchCommitted begins at what the group has committed.
func (c *Consumer) fetchCommitted(unknown []*position) {
	c.locating = true
	o := c.begin(timeMax, func(int16) { c.locating = false })
	o.attempt = func() {
		group := kmsg.NewOffsetFetchRequestGroup()
		group.Group = c.config.Group
		for _, p := range unknown {
			t := kmsg.NewOffsetFetchRequestGroupTopic()
			t.Topic, t.Partitions = p.key.topic, []int32{p.key.partition}
			group.Topics = append(group.Topics, t)
		}
		body := kmsg.NewPtrOffsetFetchRequest()
		body.RequireStable = true
		body.Groups = []kmsg.OffsetFetchRequestGroup{group}
		askCoordinator(o, &c.member.coordinator, 8, body, worstFetched,
			func(r *kmsg.OffsetFetchResponse, code int16) {
				if code != 0 {
					o.retry(code)
					return
				}
				c.locating = false
				for i := range r.Groups[0].Topics {
					t := &r.Groups[0].Topics[i]
					c.committedIs(topicPartition{t.Topic, t.Partitions[0].Partition},
						t.Partitions[0].Offset)
				}
				c.advance()
			})
	}
	o.attempt()
}

func worstFetched(r *kmsg.OffsetFetchResponse) int16 {
	if len(r.Groups) != 1 {
		return kerr.UnknownServerError.Code
	}
	code := r.Groups[0].ErrorCode
	for i := range r.Groups[0].Topics {
		t := &r.Groups[0].Topics[i]
		if len(t.Partitions) != 1 {
			return kerr.UnknownServerError.Code
		}
		code = worse(code, t.Partitions[0].ErrorCode)
	}
	return code
}

func (c *Consumer) committedIs(key topicPartition, offset int64) {
	p := c.find(key)
	switch {
	case p == nil || p.next >= 0 || p.sought != 0:
	case offset >= 0:
		p.committed = offset
		c.moveTo(p, offset, "committed", event.RuleNone)
	default:
		if to, ok := c.config.resetTo(); ok {
			p.sought = to
			return
		}
		c.throw(p, kerr.OffsetOutOfRange.Code)
	}
}

// fetch asks every leader that is not being asked already.
func (c *Consumer) fetch() {
	byLeader := map[event.NodeID][]*position{}
	var leaders []event.NodeID
	for _, p := range c.positions {
		if p.next < 0 || p.sought != 0 || len(p.fetched) > 0 {
			continue
		}
		if p.retryAt > c.env.Now() {
			continue
		}
		t := c.topics[p.key.topic]
		if t == nil || int(p.key.partition) >= len(t.partitions) ||
			t.partitions[p.key.partition].leader == event.NoNode {
			c.backOff(p)
			c.refresh()
			continue
		}
		leader := t.partitions[p.key.partition].leader
		if byLeader[leader] == nil {
			leaders = append(leaders, leader)
		}
		byLeader[leader] = append(byLeader[leader], p)
	}
	for _, leader := range leaders {
		if !c.fetching[leader] {
			c.fetchFrom(leader, byLeader[leader])
		}
	}
}

func (c *Consumer) backOff(p *position) {
	p.retryAt = c.env.Now() + backoffMin
	c.env.AfterQuiet("fetch-retry", backoffMin, c.advance)
}

// fetchAsked is what a fetch asked for of one partition, to see whether it still counts.
type fetchAsked struct {
	position *position
	offset   int64
}

func (c *Consumer) fetchFrom(leader event.NodeID, wanted []*position) {
	body := kmsg.NewPtrFetchRequest()
	body.SetVersion(12)
	body.ReplicaID, body.SessionEpoch = -1, -1
	body.MaxWaitMillis, body.MinBytes = millis(c.config.FetchMaxWait), c.config.FetchBytesMin
	body.MaxBytes = c.config.FetchBytesMax
	if c.config.Committed {
		body.IsolationLevel = 1
	}
	asked := make([]fetchAsked, len(wanted))
	for i, p := range wanted {
		asked[i] = fetchAsked{p, p.fetchAt}
		partition := kmsg.NewFetchRequestTopicPartition()
		partition.Partition, partition.FetchOffset = p.key.partition, p.fetchAt
		partition.CurrentLeaderEpoch = c.topics[p.key.topic].partitions[p.key.partition].epoch
		partition.PartitionMaxBytes = c.config.PartitionBytesMax
		if n := len(body.Topics); n > 0 && body.Topics[n-1].Topic == p.key.topic {
			body.Topics[n-1].Partitions = append(body.Topics[n-1].Partitions, partition)
			continue
		}
		t := kmsg.NewFetchRequestTopic()
		t.Topic = p.key.topic
		t.Partitions = []kmsg.FetchRequestTopicPartition{partition}
		body.Topics = append(body.Topics, t)
	}
	c.fetching[leader] = true
	c.ask(leader, &broker.Request{Body: body}, c.config.RequestTimeout+c.config.FetchMaxWait,
		func(got any, code int16) {
			delete(c.fetching, leader)
			answer, ok := got.(*broker.FetchAnswer)
			if !ok {
				for _, a := range asked {
					c.fetchFailed(a.position, max(code, kerr.RequestTimedOut.Code))
				}
			} else {
				c.fetched(asked, answer)
			}
			c.advance()
		})
}

// fetched takes over what an answer brought.
func (c *Consumer) fetched(asked []fetchAsked, answer *broker.FetchAnswer) {
	defer func() {
		for i := range answer.Records {
			answer.Records[i].Release()
		}
	}()
	if code := answer.Response.ErrorCode; code != 0 {
		for _, a := range asked {
			c.fetchFailed(a.position, code)
		}
		return
	}
	next := 0
	for i := range answer.Response.Topics {
		t := &answer.Response.Topics[i]
		for j := range t.Partitions {
			at := next
			next++
			for _, a := range asked {
				if a.position.key == (topicPartition{t.Topic, t.Partitions[j].Partition}) {
					c.fetchedOne(a, &t.Partitions[j], answer, at)
				}
			}
		}
	}
}

func (c *Consumer) fetchedOne(a fetchAsked, row *kmsg.FetchResponseTopicPartition,
	answer *broker.FetchAnswer, at int) {
	p := a.position
	if c.find(p.key) != p || p.fetchAt != a.offset || p.sought != 0 {
		return // it was revoked, or sought elsewhere, meanwhile
	}
	if row.ErrorCode == kerr.OffsetOutOfRange.Code {
		p.strayed = true
		c.resetPosition(p)
		return
	}
	if row.ErrorCode != 0 {
		c.fetchFailed(p, row.ErrorCode)
		return
	}
	if at >= len(answer.Records) {
		return
	}
	loaded, err := answer.Records[at].Load()
	if err != nil {
		c.fetchFailed(p, kerr.KafkaStorageError.Code)
		return
	}
	d := decoding{next: a.offset, skip: newAborted(row.AbortedTransactions, c.config.Committed)}
	for _, buffer := range loaded {
		if !d.decode(buffer.Bytes) {
			c.endPoll(nil, kerr.CorruptMessage.Code)
			c.backOff(p)
			return
		}
	}
	p.fetched, p.fetchAt = d.records, d.next
}

// fetchFailed tries a partition again later, elsewhere if it has moved.
func (c *Consumer) fetchFailed(p *position, code int16) {
	c.backOff(p)
	if elsewhere(code) {
		delete(c.topics, p.key.topic)
	}
}
