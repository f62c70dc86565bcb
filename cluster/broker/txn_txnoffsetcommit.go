package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/group"
	"highwater/cluster/record"
	"highwater/cluster/txn"
	"highwater/cluster/world"
)

// TxnOffsetCommit, versions 0 to 6: offsets of a group that count once the producer's transaction
// is committed. Before version 5 the producer has added the group with AddOffsetsToTxn, which is
// verified; from then on the coordinator adds it (KIP-890). Topics by id from version 6 on.
// Answered when the offsets are committed to __consumer_offsets, to wait there for the marker.

const (
	txnOffsetsByIDFrom       = 6
	txnOffsetsAddFrom        = 5
	txnOffsetsAbortableFrom  = 4
	txnOffsetsGenerationFrom = 3
)

// txnOffsetCommit is one request under way.
type txnOffsetCommit struct {
	b        *Broker
	call     *world.Call
	version  int16
	body     *kmsg.TxnOffsetCommitRequest
	response *kmsg.TxnOffsetCommitResponse
	commits  []group.Commit
	rows     []*kmsg.TxnOffsetCommitResponseTopicPartition // those that the group decides about
}

func (b *Broker) txnOffsetCommit(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.TxnOffsetCommitRequest)
	o := &txnOffsetCommit{b: b, call: call, version: r.Version, body: body,
		response: kmsg.NewPtrTxnOffsetCommitResponse()}
	o.response.Version = r.Version
	o.response.Topics = make([]kmsg.TxnOffsetCommitResponseTopic, len(body.Topics))
	for i := range body.Topics {
		o.topic(i)
	}
	if len(o.rows) == 0 {
		o.finish(0)
		return
	}
	if body.Group == "" {
		o.finish(kerr.InvalidGroupID.Code)
		return
	}
	p, code := b.groupPartition(body.Group)
	if code == 0 {
		code = p.groups.CheckCommitInTransaction(o.committer())
	}
	if code != 0 || len(o.commits) == 0 {
		o.finish(code)
		return
	}
	o.verify(p)
}

func (o *txnOffsetCommit) committer() group.Committer {
	who := group.Committer{Group: o.body.Group, Generation: -1, Version: o.version}
	if o.version >= txnOffsetsGenerationFrom {
		who.Generation, who.Member = o.body.Generation, o.body.MemberID
		who.Instance = o.body.InstanceID
	}
	return who
}

// topic sorts out what cannot be committed whoever asks.
func (o *txnOffsetCommit) topic(i int) {
	asked, out := &o.body.Topics[i], &o.response.Topics[i]
	*out = kmsg.NewTxnOffsetCommitResponseTopic()
	out.Topic, out.TopicID = asked.Topic, asked.TopicID
	out.Partitions = make([]kmsg.TxnOffsetCommitResponseTopicPartition, len(asked.Partitions))
	image := o.b.metadata.image
	known, missing := image.TopicByName(asked.Topic), kerr.UnknownTopicOrPartition.Code
	if o.version >= txnOffsetsByIDFrom {
		known, missing = image.TopicByID(event.UUID(asked.TopicID)), kerr.UnknownTopicID.Code
	}
	for j := range asked.Partitions {
		p, row := &asked.Partitions[j], &out.Partitions[j]
		row.Partition = p.Partition
		switch {
		case known == nil:
			row.ErrorCode = missing
			continue
		case p.Partition < 0 || int(p.Partition) >= len(known.Partitions):
			row.ErrorCode = kerr.UnknownTopicOrPartition.Code
			continue
		}
		o.rows = append(o.rows, row)
		c := group.Committed{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, TopicID: known.ID,
			Timestamp: o.b.env.UnixMilli(), Expires: -1}
		if p.Metadata != nil {
			c.Metadata = *p.Metadata
		}
		if len(c.Metadata) > group.MetadataBytesMax {
			row.ErrorCode = kerr.OffsetMetadataTooLarge.Code
			continue
		}
		o.commits = append(o.commits, group.Commit{Partition: group.Partition{Topic: known.Name,
			Index: p.Partition}, Committed: c})
	}
}

// verify asks the transaction's coordinator about the group's partition, unless the transaction is
// open there already.
func (o *txnOffsetCommit) verify(p *groupPartition) {
	h := record.Header{ProducerID: o.body.ProducerID, ProducerEpoch: o.body.ProducerEpoch}
	number := p.h.BeginVerification(&h, o.version >= txnOffsetsAddFrom)
	if number == 0 {
		o.commit(p, 0)
		return
	}
	who := txn.Producer{TransactionalID: o.body.TransactionalID, ID: o.body.ProducerID,
		Epoch: o.body.ProducerEpoch}
	again := func() { number = p.h.BeginVerification(&h, o.version >= txnOffsetsAddFrom) }
	o.b.inquire(who, []txn.Partition{{Topic: p.h.key.Topic, Index: p.h.key.Index}},
		o.version >= txnOffsetsAddFrom, again, func(codes []int16) {
			code := inquiryRefusal(codes[0], o.version < txnOffsetsAbortableFrom,
				o.version >= txnOffsetsAddFrom, kerr.CoordinatorNotAvailable.Code)
			if code != 0 {
				p.h.EndVerification(o.body.ProducerID, number)
				o.finish(code)
				return
			}
			o.commit(p, number)
		})
}

func (o *txnOffsetCommit) commit(p *groupPartition, number int64) {
	if p.closed {
		o.finish(kerr.NotCoordinator.Code)
		return
	}
	// The member may have left the group while the transaction's coordinator was asked.
	if code := p.groups.CheckCommitInTransaction(o.committer()); code != 0 {
		p.h.EndVerification(o.body.ProducerID, number)
		o.finish(code)
		return
	}
	if code := p.h.CheckVerified(o.body.ProducerID, o.body.ProducerEpoch, number); code != 0 {
		o.finish(code)
		return
	}
	p.groups.CommitInTransaction(o.body.Group, o.commits, o.body.ProducerID, o.body.ProducerEpoch,
		o.finish)
	p.h.EndVerification(o.body.ProducerID, number)
}

// finish says to each partition what the group says to all.
func (o *txnOffsetCommit) finish(code int16) {
	for _, row := range o.rows {
		if code != 0 {
			row.ErrorCode = code
		}
	}
	o.b.answer(o.call, o.response, answered{code: code})
}
