package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
)

// producePartitionsMax bounds the partitions of one Produce: each takes many times the memory of
// its bytes once it is parsed.
const producePartitionsMax = 1 << 16

// produceMemory is all that a Produce to one partition needs, in one piece, because that is what
// most of them are.
type produceMemory struct {
	request   broker.Request
	body      kmsg.ProduceRequest
	topic     [1]kmsg.ProduceRequestTopic
	partition [1]kmsg.ProduceRequestTopicPartition
	batch     [1]broker.Batch
}

// produceShape is how to read one version's bodies.
type produceShape struct {
	version  int16
	flexible bool
}

// parseProduce reads a body twice: first to count, so that wrong counts are refused before
// anything is allocated, then to fill exactly what is needed.
func parseProduce(version int16, body []byte, p *parser) (*broker.Request, error) {
	shape := produceShape{version: version, flexible: version >= 9}
	topics, partitions, err := shape.measure(body)
	if err != nil {
		return nil, fmt.Errorf("Produce version %d: %w", version, err)
	}
	memory := &produceMemory{}
	request, out := &memory.request, &memory.body
	out.Version = version
	request.Body = out
	out.Topics, request.Batches = memory.topic[:0], memory.batch[:0]
	rows := memory.partition[:0]
	if topics > 1 {
		out.Topics = make([]kmsg.ProduceRequestTopic, 0, topics)
	}
	if partitions > 1 {
		rows = make([]kmsg.ProduceRequestTopicPartition, 0, partitions)
		request.Batches = make([]broker.Batch, 0, partitions)
	}
	r := reader{b: body}
	if id := r.bytes(r.length(shape.flexible, false)); id != nil {
		text := string(id)
		out.TransactionID = &text
	}
	out.Acks, out.TimeoutMillis = r.int16(), r.int32()
	r.count(shape.flexible, 1)
	for range topics {
		rows = shape.readTopic(&r, request, rows, p)
	}
	return request, r.err
}

// readTopic appends a topic, whose partitions lie behind those of the topics before it.
func (s produceShape) readTopic(r *reader, request *broker.Request,
	rows []kmsg.ProduceRequestTopicPartition, p *parser) []kmsg.ProduceRequestTopicPartition {
	topic := kmsg.NewProduceRequestTopic()
	if s.version >= 13 {
		copy(topic.TopicID[:], r.take(len(topic.TopicID)))
	} else {
		topic.Topic = p.intern(&p.topic, r.bytes(r.length(s.flexible, false)))
	}
	first := len(rows)
	for range r.count(s.flexible, 1) {
		row := kmsg.NewProduceRequestTopicPartition()
		row.Partition = r.int32()
		row.Records = r.bytes(r.length(s.flexible, true))
		if s.flexible {
			r.tags()
		}
		rows = append(rows, row)
		batch := broker.Batch{}
		batch.Buffer.Bytes = row.Records
		request.Batches = append(request.Batches, batch)
	}
	if s.flexible {
		r.tags()
	}
	topic.Partitions = rows[first:len(rows):len(rows)]
	body := request.Body.(*kmsg.ProduceRequest)
	body.Topics = append(body.Topics, topic)
	return rows
}

// measure walks a body without allocating.
func (s produceShape) measure(body []byte) (topics, partitions int, err error) {
	r := reader{b: body}
	r.bytes(r.length(s.flexible, false))
	r.take(6) // acks and timeout
	topics = r.elements(s.flexible, 2)
	for i := 0; i < topics && r.err == nil; i++ {
		if s.version >= 13 {
			r.take(16)
		} else {
			r.bytes(r.length(s.flexible, false))
		}
		rows := r.elements(s.flexible, 5)
		partitions += rows
		for j := 0; j < rows && r.err == nil; j++ {
			r.take(4)
			r.bytes(r.length(s.flexible, true))
			if s.flexible {
				r.tags()
			}
		}
		if s.flexible {
			r.tags()
		}
	}
	if s.flexible {
		r.tags()
	}
	if r.err == nil && max(topics, partitions) > producePartitionsMax {
		r.err = fmt.Errorf("%d topics and %d partitions; at most %d are taken in one request",
			topics, partitions, producePartitionsMax)
	}
	return topics, partitions, r.err
}
