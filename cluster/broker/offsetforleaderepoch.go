package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/world"
)

// OffsetForLeaderEpoch, versions 2 to 4: where an epoch ended on the leader's log, by which a
// client finds out that its position lies on a log that was cut (KIP-320).

func (b *Broker) offsetForLeaderEpoch(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.OffsetForLeaderEpochRequest)
	response := kmsg.NewPtrOffsetForLeaderEpochResponse()
	response.Version = r.Version
	var told answered
	for i := range body.Topics {
		t := kmsg.NewOffsetForLeaderEpochResponseTopic()
		t.Topic = body.Topics[i].Topic
		for j := range body.Topics[i].Partitions {
			p := b.endOfEpoch(t.Topic, &body.Topics[i].Partitions[j])
			told = answered{code: p.ErrorCode, topic: t.Topic, partition: p.Partition,
				offset: event.Offset(p.EndOffset)}
			t.Partitions = append(t.Partitions, p)
		}
		response.Topics = append(response.Topics, t)
	}
	b.answer(call, response, told)
}

func (b *Broker) endOfEpoch(topic string, asked *kmsg.OffsetForLeaderEpochRequestTopicPartition) (
	p kmsg.OffsetForLeaderEpochResponseTopicPartition) {
	p = kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
	p.Partition, p.LeaderEpoch, p.EndOffset = asked.Partition, -1, -1
	h := b.held(topic, asked.Partition)
	p.ErrorCode = b.refuseFetch(&wanted{topic: topic, index: asked.Partition,
		epoch: event.Epoch(asked.CurrentLeaderEpoch)}, h, false)
	if p.ErrorCode != 0 {
		return p
	}
	if epoch, end, ok := h.OffsetForEpoch(event.Epoch(asked.LeaderEpoch)); ok {
		p.LeaderEpoch, p.EndOffset = int32(epoch), int64(end)
	}
	return p
}
