package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/metadata"
	"highwater/cluster/world"
)

// DescribeTopicPartitions, version 0: topics in the order of their names, a bounded number of
// partitions at a time, with the eligible leader replicas that Metadata does not tell (KIP-966).

// describePartitionsMax is max.request.partition.size.limit.
const describePartitionsMax = 2000

func (b *Broker) describeTopicPartitions(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.DescribeTopicPartitionsRequest)
	response := kmsg.NewPtrDescribeTopicPartitionsResponse()
	response.Version = r.Version
	left := max(1, min(describePartitionsMax, int(body.ResponsePartitionLimit)))
	for _, name := range b.topicsFrom(body) {
		first := int32(0)
		if body.Cursor != nil && body.Cursor.Topic == name {
			first = body.Cursor.Partition
		}
		if left == 0 {
			response.NextCursor = cursorAt(name, first)
			break
		}
		t, next := b.topicPartitions(name, first, left)
		left -= len(t.Partitions)
		response.Topics = append(response.Topics, t)
		if next >= 0 {
			response.NextCursor = cursorAt(name, next)
			break
		}
	}
	b.answer(call, response, answered{})
}

func cursorAt(topic string, partition int32) *kmsg.DescribeTopicPartitionsResponseNextCursor {
	c := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	c.Topic, c.Partition = topic, partition
	return &c
}

// topicsFrom lists the names asked for, or all, sorted and from the cursor on.
func (b *Broker) topicsFrom(body *kmsg.DescribeTopicPartitionsRequest) []string {
	var names []string
	for i := range body.Topics {
		names = append(names, body.Topics[i].Topic)
	}
	if len(body.Topics) == 0 {
		for _, t := range b.metadata.image.Topics() {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if body.Cursor != nil {
		from, _ := slices.BinarySearch(names, body.Cursor.Topic)
		names = names[from:]
	}
	return names
}

// topicPartitions describes up to limit partitions of a topic; next is where to go on, -1 at the
// end.
func (b *Broker) topicPartitions(name string, first int32, limit int) (
	t kmsg.DescribeTopicPartitionsResponseTopic, next int32) {
	t = kmsg.NewDescribeTopicPartitionsResponseTopic()
	t.Topic, t.AuthorizedOperations = &name, topicOperations
	topic := b.metadata.image.TopicByName(name)
	if topic == nil {
		t.ErrorCode = kerr.UnknownTopicOrPartition.Code
		switch {
		case name == "":
			t.ErrorCode = kerr.InvalidRequest.Code
		case metadata.ValidateTopicName(name) != nil:
			t.ErrorCode = kerr.InvalidTopicException.Code
		}
		return t, -1
	}
	t.TopicID, t.IsInternal = topic.ID, isInternal(name)
	for _, known := range topic.Partitions {
		if known.Index < first {
			continue
		}
		if len(t.Partitions) == limit {
			return t, known.Index
		}
		t.Partitions = append(t.Partitions, b.topicPartition(known))
	}
	return t, -1
}

func (b *Broker) topicPartition(known *metadata.Partition) (
	p kmsg.DescribeTopicPartitionsResponseTopicPartition) {
	p = kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
	p.Partition, p.LeaderID, p.LeaderEpoch = known.Index, int32(known.Leader), int32(known.LeaderEpoch)
	p.Replicas, p.ISR = ints(known.Replicas), ints(known.Isr)
	p.EligibleLeaderReplicas, p.LastKnownELR = ints(known.Elr), ints(known.LastKnownElr)
	p.OfflineReplicas = b.offline(known.Replicas)
	if !b.reachable(known.Leader) {
		p.ErrorCode = kerr.LeaderNotAvailable.Code
		p.LeaderID = -1
	}
	return p
}
