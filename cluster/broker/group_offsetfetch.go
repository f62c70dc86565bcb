package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/group"
	"highwater/cluster/world"
)

// OffsetFetch, versions 1 to 10: one group before version 8, then any number; topics by id from
// version 10 on; no topics (from version 2 on) are all that the group has committed. A group that
// nobody knows has committed nothing, which is no error. What is told is under the high watermark
// of __consumer_offsets. From version 7 on a client may require that no open transaction can change
// it, and else is told UNSTABLE_OFFSET_COMMIT.

const (
	fetchManyGroupsFrom  = 8
	fetchGroupErrorsFrom = 2
)

func (b *Broker) offsetFetch(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.OffsetFetchRequest)
	response := kmsg.NewPtrOffsetFetchResponse()
	response.Version = r.Version
	if r.Version >= fetchManyGroupsFrom {
		var code int16
		for i := range body.Groups {
			out := b.fetchGroupOffsets(&body.Groups[i], r.Version, body.RequireStable)
			code = out.ErrorCode
			response.Groups = append(response.Groups, out)
		}
		b.answer(call, response, answered{code: code})
		return
	}
	asked := kmsg.NewOffsetFetchRequestGroup()
	asked.Group = body.Group
	if body.Topics != nil {
		asked.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
	}
	for _, t := range body.Topics {
		topic := kmsg.NewOffsetFetchRequestGroupTopic()
		topic.Topic, topic.Partitions = t.Topic, t.Partitions
		asked.Topics = append(asked.Topics, topic)
	}
	out := b.fetchGroupOffsets(&asked, r.Version, body.RequireStable)
	if r.Version >= fetchGroupErrorsFrom {
		response.ErrorCode = out.ErrorCode
	} else if out.ErrorCode != 0 {
		out.Topics = refusedOffsets(&asked, out.ErrorCode)
	}
	for _, t := range out.Topics {
		topic := kmsg.NewOffsetFetchResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, kmsg.OffsetFetchResponseTopicPartition(p))
		}
		response.Topics = append(response.Topics, topic)
	}
	b.answer(call, response, answered{code: out.ErrorCode})
}

// refusedOffsets says the group's error where version 1 has room for it: at each partition.
func refusedOffsets(asked *kmsg.OffsetFetchRequestGroup, code int16) (
	topics []kmsg.OffsetFetchResponseGroupTopic) {
	for _, t := range asked.Topics {
		topic := kmsg.NewOffsetFetchResponseGroupTopic()
		topic.Topic = t.Topic
		for _, index := range t.Partitions {
			topic.Partitions = append(topic.Partitions, noGroupOffset(index, code))
		}
		topics = append(topics, topic)
	}
	return topics
}

func noGroupOffset(index int32, code int16) kmsg.OffsetFetchResponseGroupTopicPartition {
	p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	p.Partition, p.Offset, p.Metadata, p.ErrorCode = index, -1, new(string), code
	return p
}

func (b *Broker) fetchGroupOffsets(asked *kmsg.OffsetFetchRequestGroup, version int16,
	stable bool) (out kmsg.OffsetFetchResponseGroup) {
	out = kmsg.NewOffsetFetchResponseGroup()
	out.Group = asked.Group
	c, code := b.coordinator(asked.Group)
	if code != 0 {
		out.ErrorCode = code
		return out
	}
	if asked.Topics == nil {
		out.Topics = b.allGroupOffsets(c, asked.Group, version, stable)
		return out
	}
	for _, t := range asked.Topics {
		topic := kmsg.NewOffsetFetchResponseGroupTopic()
		topic.Topic, topic.TopicID = t.Topic, t.TopicID
		name, missing := t.Topic, int16(0)
		if version >= offsetsByTopicIDFrom {
			name = b.topicName("", event.UUID(t.TopicID))
			if name == "" {
				missing = kerr.UnknownTopicID.Code
			}
		}
		for _, index := range t.Partitions {
			p := noGroupOffset(index, missing)
			if missing == 0 {
				p = groupOffset(c, asked.Group, group.Partition{Topic: name, Index: index}, stable)
			}
			topic.Partitions = append(topic.Partitions, p)
		}
		out.Topics = append(out.Topics, topic)
	}
	return out
}

func groupOffset(c *group.Coordinator, id string, of group.Partition, stable bool) (
	p kmsg.OffsetFetchResponseGroupTopicPartition) {
	p = noGroupOffset(of.Index, 0)
	if stable && c.Unstable(id, of) {
		p.ErrorCode = kerr.UnstableOffsetCommit.Code
		return p
	}
	if committed, ok := c.Offset(id, of); ok {
		p.Offset, p.LeaderEpoch = committed.Offset, committed.LeaderEpoch
		p.Metadata = &committed.Metadata
	}
	return p
}

// allGroupOffsets lists what a group has committed; with ids, only for topics that still exist.
func (b *Broker) allGroupOffsets(c *group.Coordinator, id string, version int16, stable bool) (
	topics []kmsg.OffsetFetchResponseGroupTopic) {
	for _, of := range c.Offsets(id) {
		known := b.metadata.image.TopicByName(of.Topic)
		if version >= offsetsByTopicIDFrom && known == nil {
			continue
		}
		if n := len(topics); n == 0 || topics[n-1].Topic != of.Topic {
			topic := kmsg.NewOffsetFetchResponseGroupTopic()
			topic.Topic = of.Topic
			if known != nil {
				topic.TopicID = known.ID
			}
			topics = append(topics, topic)
		}
		last := &topics[len(topics)-1]
		last.Partitions = append(last.Partitions, groupOffset(c, id, of, stable))
	}
	return topics
}
