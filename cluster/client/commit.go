package client

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
)

// autoCommit commits, within poll(), what earlier polls returned, if it is time. What this poll
// returns waits for a later one: whoever dies in between sees it again.
func (c *Consumer) autoCommit() {
	if !c.config.AutoCommit || c.env.Now() < c.lastCommit+c.config.AutoCommitEvery {
		return
	}
	c.lastCommit = c.env.Now()
	c.commit("auto", func(int16) {})
}

// Commit commits the positions of all partitions that the consumer owns, as commitSync() does.
func (c *Consumer) Commit(done func(AdminResult)) {
	if c.config.Group == "" {
		done(AdminResult{Code: kerr.InvalidGroupID.Code, Message: "the consumer has no group"})
		return
	}
	c.commit("manual", func(code int16) { done(AdminResult{Code: code}) })
}

// committing is one commit under way.
type committing struct {
	key    topicPartition
	offset int64
}

// commit sends the positions, and tries again until it is told something that is final.
func (c *Consumer) commit(how string, done func(code int16)) {
	var offsets []committing
	for _, p := range c.positions {
		if p.next >= 0 && !c.sizes.gone(p.key.topic) {
			offsets = append(offsets, committing{p.key, p.next})
		}
	}
	if len(offsets) == 0 {
		done(0)
		return
	}
	rule := event.RuleNone
	if how == "auto" {
		rule = event.RuleAutoCommit
	}
	fail := func(code int16) {
		event.CommitFailed{Group: c.config.Group, ErrorCode: int32(code), Reason: event.ErrorName(code),
			How: how}.Emit(c.env.Events, rule)
		done(code)
	}
	if c.subscribes() && c.member.id == "" { // the consumer knows that it is no member
		fail(kerr.UnknownMemberID.Code)
		return
	}
	if c.member.state == memberJoining && how != "revoke" {
		fail(kerr.RebalanceInProgress.Code)
		return
	}
	o := c.begin(requestTimeout, fail)
	o.attempt = func() {
		offsets = slices.DeleteFunc(offsets, func(x committing) bool {
			return c.sizes.gone(x.key.topic)
		})
		if len(offsets) == 0 { // nothing of it is there any more
			fail(kerr.UnknownTopicOrPartition.Code)
			return
		}
		askCoordinator(o, &c.member.coordinator, 8, c.commitRequest(offsets), worstCommitted,
			func(_ *kmsg.OffsetCommitResponse, code int16) {
				switch {
				case code == 0:
					c.wasCommitted(offsets, how, rule)
					done(0)
				case code != kerr.RebalanceInProgress.Code && kerr.IsRetriable(kerr.ErrorForCode(code)):
					o.retry(code)
				default:
					fail(code)
					c.member.heard(code)
				}
			})
	}
	o.attempt()
}

func (c *Consumer) commitRequest(offsets []committing) *kmsg.OffsetCommitRequest {
	body := kmsg.NewPtrOffsetCommitRequest()
	body.Group, body.Generation = c.config.Group, -1
	if c.subscribes() {
		body.Generation, body.MemberID = c.member.generation, c.member.id
		body.InstanceID = c.member.instance()
	}
	for _, o := range offsets {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = o.key.partition, o.offset
		p.Metadata = new(string)
		if n := len(body.Topics); n > 0 && body.Topics[n-1].Topic == o.key.topic {
			body.Topics[n-1].Partitions = append(body.Topics[n-1].Partitions, p)
			continue
		}
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic = o.key.topic
		t.Partitions = []kmsg.OffsetCommitRequestTopicPartition{p}
		body.Topics = append(body.Topics, t)
	}
	return body
}

func worstCommitted(r *kmsg.OffsetCommitResponse) int16 {
	code := int16(0)
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			code = worse(code, r.Topics[i].Partitions[j].ErrorCode)
		}
	}
	return code
}

func (c *Consumer) wasCommitted(offsets []committing, how string, rule event.Rule) {
	for _, o := range offsets {
		if p := c.find(o.key); p != nil {
			p.committed = o.offset
		}
		event.PositionCommitted{Group: c.config.Group, Topic: o.key.topic,
			Partition: o.key.partition, Offset: event.Offset(o.offset), How: how}.
			Emit(c.env.Events, rule)
	}
}
