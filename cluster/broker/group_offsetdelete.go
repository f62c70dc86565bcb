package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/group"
	"highwater/cluster/world"
)

// OffsetDelete, version 0: offsets of topics that no member of the group consumes. Answered when
// the tombstones are committed.

func (b *Broker) offsetDelete(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.OffsetDeleteRequest)
	response := kmsg.NewPtrOffsetDeleteResponse()
	response.Version = r.Version
	c, code := b.coordinator(body.Group)
	if code == 0 {
		code = c.CheckOffsetDelete(body.Group)
	}
	if code != 0 {
		response.ErrorCode = code
		b.answer(call, response, answered{code: code})
		return
	}
	var gone []group.Partition
	for _, t := range body.Topics {
		out := kmsg.NewOffsetDeleteResponseTopic()
		out.Topic = t.Topic
		subscribed := c.Subscribed(body.Group, t.Topic)
		for _, p := range t.Partitions {
			row := kmsg.NewOffsetDeleteResponseTopicPartition()
			row.Partition = p.Partition
			switch {
			case b.metadata.image.Partition(t.Topic, p.Partition) == nil:
				row.ErrorCode = kerr.UnknownTopicOrPartition.Code
			case subscribed:
				row.ErrorCode = kerr.GroupSubscribedToTopic.Code
			default:
				of := group.Partition{Topic: t.Topic, Index: p.Partition}
				if _, has := c.Offset(body.Group, of); has {
					gone = append(gone, of)
				}
			}
			out.Partitions = append(out.Partitions, row)
		}
		response.Topics = append(response.Topics, out)
	}
	c.DeleteOffsets(body.Group, gone, func(code int16) {
		response.ErrorCode = code
		b.answer(call, response, answered{code: code})
	})
}
