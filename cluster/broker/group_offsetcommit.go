package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/group"
	"highwater/cluster/world"
)

// OffsetCommit, versions 2 to 10: of members and of simple consumers, by topic name and from
// version 10 on by topic id; a retention time in versions 2 to 4. Answered when the offsets are
// committed to __consumer_offsets.

const offsetsByTopicIDFrom = 10

// offsetCommit is one request under way.
type offsetCommit struct {
	b        *Broker
	call     *world.Call
	body     *kmsg.OffsetCommitRequest
	response *kmsg.OffsetCommitResponse
	commits  []group.Commit
	rows     []*kmsg.OffsetCommitResponseTopicPartition // those that the group decides about
}

func (b *Broker) offsetCommit(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.OffsetCommitRequest)
	response := kmsg.NewPtrOffsetCommitResponse()
	response.Version = r.Version
	o := &offsetCommit{b: b, call: call, body: body, response: response}
	response.Topics = make([]kmsg.OffsetCommitResponseTopic, len(body.Topics))
	for i := range body.Topics {
		o.topic(i, r.Version)
	}
	if len(o.rows) == 0 {
		o.answer()
		return
	}
	c, code := b.coordinator(body.Group)
	who := group.Committer{Group: body.Group, Generation: body.Generation, Member: body.MemberID,
		Instance: body.InstanceID, Version: r.Version}
	if code == 0 {
		code = c.CheckCommit(who)
	}
	if code != 0 || len(o.commits) == 0 {
		o.finish(code)
		return
	}
	c.Commit(who, o.commits, o.finish)
}

// topic sorts out what cannot be committed whoever asks.
func (o *offsetCommit) topic(i int, version int16) {
	asked, out := &o.body.Topics[i], &o.response.Topics[i]
	*out = kmsg.NewOffsetCommitResponseTopic()
	out.Topic, out.TopicID = asked.Topic, asked.TopicID
	out.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, len(asked.Partitions))
	image := o.b.metadata.image
	known, missing := image.TopicByName(asked.Topic), kerr.UnknownTopicOrPartition.Code
	if version >= offsetsByTopicIDFrom {
		known, missing = image.TopicByID(event.UUID(asked.TopicID)), kerr.UnknownTopicID.Code
	}
	now := o.b.env.UnixMilli()
	for j := range asked.Partitions {
		p, row := &asked.Partitions[j], &out.Partitions[j]
		row.Partition = p.Partition
		if known == nil {
			row.ErrorCode = missing
			continue
		}
		if p.Partition < 0 || int(p.Partition) >= len(known.Partitions) {
			row.ErrorCode = kerr.UnknownTopicOrPartition.Code
			continue
		}
		o.rows = append(o.rows, row)
		metadata := ""
		if p.Metadata != nil {
			metadata = *p.Metadata
		}
		if len(metadata) > group.MetadataBytesMax {
			row.ErrorCode = kerr.OffsetMetadataTooLarge.Code
			continue
		}
		c := group.Committed{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: metadata,
			TopicID: known.ID, Timestamp: now, Expires: -1}
		if version < 6 {
			c.LeaderEpoch = -1
		}
		if version <= 4 && o.body.RetentionTimeMillis >= 0 {
			c.Expires = now + o.body.RetentionTimeMillis
		}
		o.commits = append(o.commits, group.Commit{Partition: group.Partition{Topic: known.Name,
			Index: p.Partition}, Committed: c})
	}
}

// finish says to each partition what the group says to all.
func (o *offsetCommit) finish(code int16) {
	if code != 0 {
		for _, row := range o.rows {
			row.ErrorCode = code
		}
	}
	o.answer()
}

func (o *offsetCommit) answer() {
	var a answered
	if len(o.response.Topics) > 0 && len(o.response.Topics[0].Partitions) > 0 {
		t := &o.response.Topics[0]
		a = answered{code: t.Partitions[0].ErrorCode,
			topic:     o.b.topicName(t.Topic, event.UUID(t.TopicID)),
			partition: t.Partitions[0].Partition,
			offset:    event.Offset(o.body.Topics[0].Partitions[0].Offset)}
	}
	o.b.answer(o.call, o.response, a)
}
