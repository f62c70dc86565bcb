package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/metadata"
	"highwater/cluster/world"
)

// DescribeProducers, version 0: the idempotent and transactional producers that this broker's
// replica of a partition knows, be it the leader or not.

func (b *Broker) describeProducers(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.DescribeProducersRequest)
	response := kmsg.NewPtrDescribeProducersResponse()
	response.Version = r.Version
	for i := range body.Topics {
		t := kmsg.NewDescribeProducersResponseTopic()
		t.Topic = body.Topics[i].Topic
		for _, index := range body.Topics[i].Partitions {
			t.Partitions = append(t.Partitions, b.producersOf(t.Topic, index))
		}
		response.Topics = append(response.Topics, t)
	}
	b.answer(call, response, answered{})
}

func (b *Broker) producersOf(topic string, index int32) (
	p kmsg.DescribeProducersResponseTopicPartition) {
	p = kmsg.NewDescribeProducersResponseTopicPartition()
	p.Partition = index
	if err := metadata.ValidateTopicName(topic); err != nil {
		message := err.Error()
		p.ErrorCode, p.ErrorMessage = kerr.InvalidTopicException.Code, &message
		return p
	}
	h := b.held(topic, index)
	switch {
	case b.metadata.image.TopicByName(topic) == nil:
		message := kerr.UnknownTopicOrPartition.Description
		p.ErrorCode, p.ErrorMessage = kerr.UnknownTopicOrPartition.Code, &message
		return p
	case b.metadata.image.Partition(topic, index) == nil:
		p.ErrorCode = kerr.UnknownTopicOrPartition.Code
		return p
	case h == nil:
		p.ErrorCode = kerr.NotLeaderForPartition.Code
		return p
	}
	for _, state := range h.Log.ProducerStates() {
		a := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
		a.ProducerID, a.ProducerEpoch = state.ProducerID, int32(state.ProducerEpoch)
		a.LastSequence, a.LastTimestamp = state.LastSequence, state.LastTimestamp
		a.CoordinatorEpoch = state.CoordinatorEpoch
		a.CurrentTxnStartOffset = int64(state.CurrentTxnFirstOffset)
		p.ActiveProducers = append(p.ActiveProducers, a)
	}
	return p
}
