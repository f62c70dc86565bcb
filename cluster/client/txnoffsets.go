package client

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
)

// GroupOffsets are a consumer's positions with what proves that it may commit them: what Java's
// sendOffsetsToTransaction takes.
type GroupOffsets struct {
	group      string
	member     string
	instance   *string
	generation int32
	offsets    []committing
}

// GroupOffsets tells the consumer's positions for a transaction.
func (c *Consumer) GroupOffsets() GroupOffsets {
	g := GroupOffsets{group: c.config.Group, generation: -1}
	if c.subscribes() {
		last := c.member.last
		g.member, g.generation, g.instance = last.id, last.generation, c.member.instance()
	}
	for _, p := range c.positions {
		if p.next >= 0 {
			g.offsets = append(g.offsets, committing{p.key, p.next})
		}
	}
	return g
}

// SendOffsets makes a consumer's positions part of the open transaction: they are committed with
// it, or not at all.
func (p *Producer) SendOffsets(g GroupOffsets, done func(AdminResult)) {
	t := &p.transaction
	asked, ended := false, false
	var result AdminResult
	var patience *patience
	p.call(func() bool {
		if g.group == "" {
			done(AdminResult{Code: kerr.InvalidGroupID.Code, Message: "the consumer has no group"})
			return true
		}
		if !asked && t.under != nil {
			done(t.unfinished())
			return true
		}
		if !asked && t.state != txnOpen {
			done(t.refusal())
			return true
		}
		if patience == nil {
			patience = p.patience()
		}
		if !asked && t.joining == 0 { // what went before must not come after
			asked = true
			t.addOffsets(g, func(r AdminResult) {
				result, ended = r, true
				p.resume()
			})
		}
		if !ended && t.state == txnOpen && !patience.over {
			return false
		}
		patience.timer.Stop()
		switch {
		case ended:
		case t.state == txnOpen:
			result = AdminResult{Code: kerr.RequestTimedOut.Code, Message: fmt.Sprintf(
				"the offsets did not join the transaction within %v", p.config.MaxBlock)}
		default:
			result = t.refusal()
		}
		done(result)
		return true
	})
}

// addOffsets tells the transaction's coordinator which group takes part, where the commit itself
// does not.
func (t *transaction) addOffsets(g GroupOffsets, done func(AdminResult)) {
	t.offsets = true
	if t.version2 {
		t.commitOffsets(g, done)
		return
	}
	t.joins(func(o *operation, over func()) {
		body := kmsg.NewPtrAddOffsetsToTxnRequest()
		body.TransactionalID, body.Group = t.p.config.TransactionalID, g.group
		body.ProducerID, body.ProducerEpoch = t.p.identity.id, t.p.identity.epoch
		askCoordinator(o, &t.coordinator, 3, body,
			func(r *kmsg.AddOffsetsToTxnResponse) int16 { return r.ErrorCode },
			func(_ *kmsg.AddOffsetsToTxnResponse, code int16) {
				if !t.failedOrWaits(o, code, over) {
					t.commitOffsets(g, done)
					over()
				}
			})
	})
}

// commitOffsets writes the offsets at the group's coordinator, pending the transaction's end.
func (t *transaction) commitOffsets(g GroupOffsets, done func(AdminResult)) {
	group, version := coordinatorOf(0, g.group), int16(3)
	if t.version2 {
		version = 5
	}
	t.joins(func(o *operation, over func()) {
		askCoordinator(o, &group, version, t.offsetsRequest(g), worstTxnCommitted,
			func(_ *kmsg.TxnOffsetCommitResponse, code int16) {
				switch code {
				case kerr.UnknownMemberID.Code, kerr.IllegalGeneration.Code,
					kerr.FencedInstanceID.Code:
					t.failed(code, event.ErrorName(code)) // the consumer has lost its partitions
					over()
				default:
					if !t.failedOrWaits(o, code, over) {
						done(AdminResult{})
						over()
					}
				}
			})
	})
}

func (t *transaction) offsetsRequest(g GroupOffsets) *kmsg.TxnOffsetCommitRequest {
	body := kmsg.NewPtrTxnOffsetCommitRequest()
	body.TransactionalID, body.Group = t.p.config.TransactionalID, g.group
	body.ProducerID, body.ProducerEpoch = t.p.identity.id, t.p.identity.epoch
	body.Generation, body.MemberID, body.InstanceID = g.generation, g.member, g.instance
	for _, o := range g.offsets {
		p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch = o.key.partition, o.offset, -1
		p.Metadata = new(string)
		topic := kmsg.NewTxnOffsetCommitRequestTopic()
		topic.Topic = o.key.topic
		topic.Partitions = []kmsg.TxnOffsetCommitRequestTopicPartition{p}
		body.Topics = append(body.Topics, topic)
	}
	return body
}

func worstTxnCommitted(r *kmsg.TxnOffsetCommitResponse) int16 {
	code := int16(0)
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			code = worse(code, r.Topics[i].Partitions[j].ErrorCode)
		}
	}
	return code
}
