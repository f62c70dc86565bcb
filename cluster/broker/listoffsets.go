package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/replica"
	"highwater/cluster/world"
)

// ListOffsets, versions 1 to 11: latest, earliest, largest timestamp, by timestamp, and the special
// positions of tiered storage, which answer as without any. Nothing at or above what the reader may
// see is named. A partition named twice is refused and answered once.

func (b *Broker) listOffsets(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.ListOffsetsRequest)
	response := kmsg.NewPtrListOffsetsResponse()
	response.Version = r.Version
	var told answered
	named := map[replica.PartitionKey]int{}
	for i := range body.Topics {
		for j := range body.Topics[i].Partitions {
			named[replica.PartitionKey{Topic: body.Topics[i].Topic,
				Index: body.Topics[i].Partitions[j].Partition}]++
		}
	}
	for i := range body.Topics {
		t := kmsg.NewListOffsetsResponseTopic()
		t.Topic = body.Topics[i].Topic
		for j := range body.Topics[i].Partitions {
			asked := &body.Topics[i].Partitions[j]
			key := replica.PartitionKey{Topic: t.Topic, Index: asked.Partition}
			var p kmsg.ListOffsetsResponseTopicPartition
			switch times := named[key]; {
			case times == 0:
				continue
			case times > 1:
				p = noOffset(asked.Partition, kerr.InvalidRequest.Code)
				named[key] = 0
			case !knowsTimestamp(asked.Timestamp, r.Version):
				p = noOffset(asked.Partition, kerr.UnsupportedVersion.Code)
			default:
				p = b.listOffset(t.Topic, asked, body.IsolationLevel)
				if p.ErrorCode == kerr.OffsetNotAvailable.Code && r.Version < 5 {
					p.ErrorCode = kerr.LeaderNotAvailable.Code // what such clients know to try again
				}
			}
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

// knowsTimestamp says whether a version of the request may ask for a special position; every time
// of day may be asked for.
func knowsTimestamp(timestamp int64, version int16) bool {
	switch {
	case timestamp >= commitlog.TimestampEarliest:
		return true
	case timestamp == commitlog.TimestampOfMax:
		return version >= 7
	case timestamp == commitlog.TimestampLocalOldest:
		return version >= 8
	case timestamp == askLatestTiered:
		return version >= 9
	}
	return timestamp == askEarliestToMove && version >= 11
}

func noOffset(partition int32, code int16) kmsg.ListOffsetsResponseTopicPartition {
	p := kmsg.NewListOffsetsResponseTopicPartition()
	p.Partition, p.ErrorCode = partition, code
	p.Timestamp, p.Offset, p.LeaderEpoch = -1, -1, -1
	return p
}

func (b *Broker) listOffset(topic string, asked *kmsg.ListOffsetsRequestTopicPartition,
	isolation int8) kmsg.ListOffsetsResponseTopicPartition {
	p := noOffset(asked.Partition, 0)
	h := b.held(topic, asked.Partition)
	if p.ErrorCode = b.refuseFetch(&wanted{topic: topic, index: asked.Partition,
		epoch: event.Epoch(asked.CurrentLeaderEpoch)}, h, false); p.ErrorCode != 0 {
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
		b.unreadable(err, "list offsets failed")
		p.ErrorCode = kerr.KafkaStorageError.Code
		return p
	}
	behind := h.HighWatermark() < h.EpochStart()
	byTime := asked.Timestamp >= 0 || asked.Timestamp == commitlog.TimestampOfMax
	switch {
	case behind && asked.Timestamp == commitlog.TimestampLatest,
		behind && byTime && found.Offset >= limit:
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
