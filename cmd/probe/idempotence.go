package main

import (
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cmd/probe/kit"
)

var idempotenceProbes = []kit.Probe{
	{
		Name:   "idempotence/in-order",
		Intent: "sequences that follow each other",
		Run: func(p *kit.P) {
			topic, producer := p.Topic("a", 1), p.Idempotent()
			showSequence(p, topic, "0-1", p.Values("a", "b").From(producer, 0))
			showSequence(p, topic, "2", p.Values("c").From(producer, 2))
			showSequence(p, topic, "3-5", p.Values("d", "e", "f").From(producer, 3))
			p.Show("fetch", p.Broker(0), 12, kit.Fetch(topic, 0, 0))
		},
	},
	{
		Name:   "idempotence/first-sequence-old-version",
		Intent: "the same with Produce v9, v11 and v12",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			for _, version := range []int16{9, 11, 12} {
				batch := p.Values("x").From(p.Idempotent(), 5)
				p.Show(
					fmt.Sprintf("v%d", version),
					p.Broker(0),
					version,
					kit.Produce(topic, 0, -1, batch),
				)
			}
		},
	},
	{
		Name:   "idempotence/gap",
		Intent: "a missing sequence: OUT_OF_ORDER_SEQUENCE_NUMBER, nothing appended",
		Run: func(p *kit.P) {
			topic, producer := p.Topic("a", 1), p.Idempotent()
			showSequence(p, topic, "0", p.Values("x").From(producer, 0))
			showSequence(p, topic, "2", p.Values("y").From(producer, 2))
			showSequence(p, topic, "1", p.Values("z").From(producer, 1))
		},
	},
	{
		Name:   "idempotence/duplicates",
		Intent: "the last five batches are recognised again, older ones are not",
		Run: func(p *kit.P) {
			topic, producer := p.Topic("a", 1), p.Idempotent()
			for sequence := range int32(8) {
				p.Write(topic, 0, p.Values(fmt.Sprint(sequence)).From(producer, sequence))
			}
			for back := int32(1); back <= 7; back++ {
				showSequence(
					p,
					topic,
					fmt.Sprintf("%d back", back),
					p.Values("again").From(producer, 8-back),
				)
			}
		},
	},
	{
		Name:   "idempotence/epoch-lower",
		Intent: "an older epoch: INVALID_PRODUCER_EPOCH",
		Run: func(p *kit.P) {
			topic, producer := p.Topic("a", 1), p.Idempotent()
			producer.Epoch = 3
			showSequence(p, topic, "epoch 3", p.Values("x").From(producer, 0))
			producer.Epoch = 2
			showSequence(p, topic, "epoch 2", p.Values("x").From(producer, 1))
		},
	},
	{
		Name:   "idempotence/epoch-higher",
		Intent: "a newer epoch must start again at sequence 0",
		Run: func(p *kit.P) {
			topic, producer := p.Topic("a", 1), p.Idempotent()
			showSequence(p, topic, "epoch 0 sequence 0", p.Values("x").From(producer, 0))
			producer.Epoch = 1
			showSequence(p, topic, "epoch 1 sequence 1", p.Values("x").From(producer, 1))
			showSequence(p, topic, "epoch 1 sequence 0", p.Values("x").From(producer, 0))
			producer.Epoch = 0
			showSequence(p, topic, "epoch 0 sequence 1", p.Values("x").From(producer, 1))
		},
	},
	{
		Name:   "idempotence/wrap",
		Intent: "after 2147483647 comes 0, also inside one batch",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			producer := p.Idempotent()
			last := p.Values("x").From(producer, math.MaxInt32)
			p.Show("start at the end, v9", p.Broker(0), 9, kit.Produce(topic, 0, -1, last))
			p.Show(
				"then 0",
				p.Broker(0),
				9,
				kit.Produce(topic, 0, -1, p.Values("y").From(producer, 0)),
			)
		},
	},
	{
		Name:   "idempotence/negative-sequence",
		Intent: "a producer id with a negative sequence or epoch: INVALID_RECORD",
		Run: func(p *kit.P) {
			topic, producer := p.Topic("a", 1), p.Idempotent()
			showSequence(p, topic, "sequence -1", p.Values("x").From(producer, -1))
			showSequence(p, topic, "sequence -2", p.Values("x").From(producer, -2))
			showSequence(
				p,
				topic,
				"epoch -1",
				p.Values("x").From(kit.Producer{ID: producer.ID, Epoch: -1}, 0),
			)
		},
	},
	{
		Name:   "idempotence/two-producers",
		Intent: "producers do not disturb each other on one partition",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			first, second := p.Idempotent(), p.Idempotent()
			p.Note("ids differ", first.ID != second.ID)
			showSequence(p, topic, "first 0", p.Values("x").From(first, 0))
			showSequence(p, topic, "second 0", p.Values("x").From(second, 0))
			showSequence(p, topic, "first 1", p.Values("x").From(first, 1))
			showSequence(p, topic, "first 0 again", p.Values("x").From(first, 0))
		},
	},
	{
		Name:   "idempotence/after-delete-records",
		Intent: "deleting records does not forget the producer",
		Run: func(p *kit.P) {
			topic, producer := p.Topic("a", 1), p.Idempotent()
			p.Write(topic, 0, p.Values("0", "1", "2").From(producer, 0))
			kit.Ask[*kmsg.DeleteRecordsResponse](
				p,
				p.Broker(0),
				2,
				kit.DeleteRecords(topic.Name, 0, -1),
			)
			showSequence(p, topic, "3", p.Values("3").From(producer, 3))
			showSequence(p, topic, "9", p.Values("9").From(producer, 9))
			showSequence(p, topic, "0-2 again", p.Values("0", "1", "2").From(producer, 0))
		},
	},
	{
		Name:   "idempotence/describe-producers",
		Intent: "DescribeProducers shows epoch and last sequence",
		Run: func(p *kit.P) {
			topic, producer := p.Topic("a", 1), p.Idempotent()
			p.Write(topic, 0, p.Values("0", "1").From(producer, 0))
			p.Show("active", p.Broker(0), 0, describeProducers(topic.Name, 0))
			p.Show("not the leader", p.Broker(1), 0, describeProducers(topic.Name, 0))
			p.Show("unknown partition", p.Broker(0), 0, describeProducers(topic.Name, 9))
			p.Show("unknown topic", p.Broker(0), 0, describeProducers(p.Name("unknown"), 0))
		},
	},
	{
		Name:   "idempotence/init-with-epoch",
		Intent: "v3+ may carry the current id and epoch; without a transactional id they are ignored or refused",
		Run: func(p *kit.P) {
			producer := p.Idempotent()
			request := kit.InitProducer("", 60000)
			request.ProducerID, request.ProducerEpoch = producer.ID, producer.Epoch
			p.Show("both", p.Broker(0), 4, request)
			request.ProducerEpoch = -1
			p.Show("only the id", p.Broker(0), 4, request)
		},
	},
}

// showSequence produces at a version with TV2 semantics and records offset or error.
func showSequence(p *kit.P, topic kit.Topic, step string, batch *kit.Batch) {
	response := kit.Ask[*kmsg.ProduceResponse](p, p.Broker(0), 12, kit.Produce(topic, 0, -1, batch))
	partition := response.Topics[0].Partitions[0]
	p.Note(
		step,
		fmt.Sprintf("%s offset=%d", kit.ErrorName(partition.ErrorCode), partition.BaseOffset),
	)
}

func describeProducers(topic string, partition int32) *kmsg.DescribeProducersRequest {
	request := kmsg.NewPtrDescribeProducersRequest()
	request.Topics = []kmsg.DescribeProducersRequestTopic{
		{Topic: topic, Partitions: []int32{partition}},
	}
	return request
}
