package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/world"
)

// ListOffsets, versions 1 to 11: latest, earliest, largest timestamp, by timestamp, and the special
// positions of tiered storage, which answer as without any. Nothing at or above what the reader may
// see is named.

func (b *Broker) listOffsets(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.ListOffsetsRequest)
	response := kmsg.NewPtrListOffsetsResponse()
	response.Version = r.Version
	var told answered
	for i := range body.Topics {
		t := kmsg.NewListOffsetsResponseTopic()
		t.Topic = body.Topics[i].Topic
		for j := range body.Topics[i].Partitions {
			p := b.listOffset(t.Topic, &body.Topics[i].Partitions[j], body.IsolationLevel)
			t.Partitions = append(t.Partitions, p)
			told = answered{code: p.ErrorCode, topic: t.Topic, partition: p.Partition,
				offset: event.Offset(p.Offset)}
		}
		response.Topics = append(response.Topics, t)
	}
	b.answer(call, response, told)
}

// The timestamps that ask for a position (ListOffsetsRequest).
const (
	askLatestTiered   = -5
	askEarliestToMove = -6
)

func (b *Broker) listOffset(topic string, asked *kmsg.ListOffsetsRequestTopicPartition,
	isolation int8) kmsg.ListOffsetsResponseTopicPartition {
	p := kmsg.NewListOffsetsResponseTopicPartition()
	p.Partition, p.Timestamp, p.Offset, p.LeaderEpoch = asked.Partition, -1, -1, -1
	h := b.held(topic, asked.Partition)
	if p.ErrorCode = b.refuseFetch(&wanted{topic: topic, index: asked.Partition,
		epoch: event.Epoch(asked.CurrentLeaderEpoch)}, h); p.ErrorCode != 0 {
		return p
	}
	if asked.Timestamp == askLatestTiered || asked.Timestamp == askEarliestToMove {
		return p
	}
	limit := h.HighWatermark()
	if isolation == 1 {
		limit = h.Log.LastStableOffset(limit)
	}
	found, err := h.Log.OffsetForTimestamp(asked.Timestamp)
	if err != nil {
		b.log.Error("list offsets failed", "broker", b.env.ID(), "error", err)
		p.ErrorCode = kerr.KafkaStorageError.Code
		return p
	}
	behind := h.HighWatermark() < h.EpochStart()
	switch {
	case asked.Timestamp == commitlog.TimestampLatest && behind,
		asked.Timestamp >= 0 && behind && found.Offset >= limit:
		p.ErrorCode = kerr.OffsetNotAvailable.Code
	case asked.Timestamp == commitlog.TimestampLatest:
		p.Offset, p.LeaderEpoch = int64(limit), int32(h.LeaderEpoch())
	case found.Offset < limit || asked.Timestamp == commitlog.TimestampEarliest ||
		asked.Timestamp == commitlog.TimestampLocalOldest:
		p.Timestamp, p.Offset = found.Timestamp, int64(found.Offset)
		p.LeaderEpoch = int32(found.LeaderEpoch)
	}
	return p
}
