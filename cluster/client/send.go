package client

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

// Bounds of the check of our own batches, as the edge has them for everybody's.
const (
	inflatedMax = 64 << 20
	keepRecords = 8
	keepBytes   = 256
)

// Header is one header of a record; a nil Value is null.
type Header struct {
	Key   string
	Value *string
}

// SendRequest is one record to send, as often as wanted.
type SendRequest struct {
	Topic     string
	Partition int32 // -1: by key, or without a key a sticky one
	Key       *string
	Value     *string
	Headers   []Header
	Acks      int16 // -1 all, 0, 1
	Times     int   // that many batches of one record, one after the other
	// TimeoutMs is delivery.timeout.ms of each batch, 0 for the default.
	TimeoutMs  int
	Idempotent bool
	// Sequence makes an idempotent send break its own count, to see what the broker says.
	Sequence *int32
	// TimestampMs is the records' timestamp, 0 for the moment of sending.
	TimestampMs int64
	// Make gives key and value of the nth record, counted from 1; without it all are Key and Value.
	Make func(n int) (key, value *string)
}

// record is the nth record, counted from 1.
func (r *SendRequest) record(n int) (key, value *string) {
	if r.Make != nil {
		return r.Make(n)
	}
	return r.Key, r.Value
}

// SendResult says how it went. Code is Kafka's error code, 0 when all batches were acknowledged.
type SendResult struct {
	Landed       Landings
	Acknowledged int
	Code         int16
	Message      string
}

// producer is the identity of an idempotent producer, and who waits to use it: with more than one
// send in flight, a retry would leave a gap in the sequence.
type producer struct {
	id        int64
	epoch     int16
	sequences map[topicPartition]int32
	busy      bool
	waiting   []func()
}

func newProducer() producer {
	return producer{id: -1, epoch: -1, sequences: map[topicPartition]int32{}}
}

// sending is one SendRequest under way.
type sending struct {
	c         *Client
	request   SendRequest
	result    SendResult
	done      func(SendResult)
	operation *operation // of the current batch
	sequence  int32
	partition int32 // of the current batch, once it is chosen
	chosen    bool
	key       *string
	value     *string
}

// Send produces. It looks for a new leader as often as needed, but NOT_ENOUGH_REPLICAS and the
// like end it at once: whoever watches wants to see them.
func (c *Client) Send(request SendRequest, done func(SendResult)) {
	s := &sending{c: c, request: request, done: done}
	if !request.Idempotent {
		s.next()
		return
	}
	p := &c.producer
	if p.busy {
		p.waiting = append(p.waiting, s.next)
		return
	}
	p.busy = true
	s.next()
}

func (s *sending) end(code int16) {
	s.result.Code = code
	if s.request.Idempotent {
		p := &s.c.producer
		// The fate of the last batch is open: begin anew, as Kafka bumps the epoch.
		if code != 0 && s.request.Sequence == nil {
			p.id, p.epoch = -1, -1
			clear(p.sequences)
		}
		p.busy = false
		if len(p.waiting) > 0 {
			following := p.waiting[0]
			p.waiting = p.waiting[1:]
			p.busy = true
			defer following()
		}
	}
	s.done(s.result)
}

// next sends the next batch, or ends.
func (s *sending) next() {
	if s.result.Acknowledged >= max(s.request.Times, 1) {
		s.end(0)
		return
	}
	s.chosen = false
	s.key, s.value = s.request.record(s.result.Acknowledged + 1)
	o := s.c.begin(time.Duration(s.request.TimeoutMs)*time.Millisecond, s.end)
	o.attempt = s.attempt
	s.operation = o
	s.attempt()
}

func (s *sending) attempt() {
	o, c := s.operation, s.c
	if s.request.Idempotent && c.producer.id < 0 {
		s.initProducer()
		return
	}
	o.withTopic(s.request.Topic, func(t *topic) {
		if !s.chosen {
			s.choose(int32(len(t.partitions)))
		}
		o.withLeader(s.request.Topic, s.partition, s.produce)
	})
}

// choose gives the batch its partition, which it keeps through all retries.
func (s *sending) choose(partitions int32) {
	s.chosen = true
	if s.partition = s.request.Partition; s.partition < 0 {
		bytes := record.HeaderBytes
		if s.value != nil {
			bytes += len(*s.value)
		}
		s.partition = s.c.choose(s.request.Topic, s.key, bytes, partitions)
	}
	s.sequence = s.c.producer.sequences[topicPartition{s.request.Topic, s.partition}]
	if s.request.Sequence != nil {
		s.sequence = *s.request.Sequence
	}
}

func (s *sending) initProducer() {
	o := s.operation
	request := kmsg.NewPtrInitProducerIDRequest()
	request.ProducerID, request.ProducerEpoch = -1, -1
	askAny(o, request, 4, func(response *kmsg.InitProducerIDResponse) {
		if response.ErrorCode != 0 {
			o.retryOrFail(response.ErrorCode)
			return
		}
		s.c.producer.id, s.c.producer.epoch = response.ProducerID, response.ProducerEpoch
		s.attempt()
	})
}

// batch builds the bytes anew for each attempt: the leader writes its epoch into them.
func (s *sending) batch() (broker.Batch, error) {
	b := record.NewBuilder()
	if s.request.Idempotent {
		b.ProducerID, b.ProducerEpoch = s.c.producer.id, s.c.producer.epoch
		b.BaseSequence = s.sequence
	}
	headers := make([]record.RecordHeader, len(s.request.Headers))
	for i, h := range s.request.Headers {
		headers[i] = record.RecordHeader{Key: h.Key, Value: bytesOf(h.Value)}
	}
	timestamp := s.request.TimestampMs
	if timestamp == 0 {
		timestamp = s.c.env.UnixMilli()
	}
	b.Add(timestamp, bytesOf(s.key), bytesOf(s.value), headers...)
	sealed, err := b.Bytes()
	if err != nil {
		return broker.Batch{}, err
	}
	facts, invalid := record.Validate(sealed, record.Validation{InflatedMax: inflatedMax,
		KeepRecords: keepRecords, KeepBytes: keepBytes})
	return broker.Batch{Buffer: record.Buffer{Bytes: sealed}, Facts: facts, Err: invalid}, nil
}

func bytesOf(text *string) []byte {
	if text == nil {
		return nil
	}
	return []byte(*text)
}

func (s *sending) produce(to leadership) {
	batch, err := s.batch()
	if err != nil {
		s.result.Message = err.Error()
		s.end(kerr.CorruptMessage.Code)
		return
	}
	body := kmsg.NewPtrProduceRequest()
	body.SetVersion(12)
	body.Acks = s.request.Acks
	timeout := min(requestTimeout, s.operation.left())
	body.TimeoutMillis = int32(timeout / time.Millisecond)
	t := kmsg.NewProduceRequestTopic()
	t.Topic = s.request.Topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition = s.partition
	t.Partitions = []kmsg.ProduceRequestTopicPartition{p}
	body.Topics = []kmsg.ProduceRequestTopic{t}
	s.c.ask(to.leader, &broker.Request{Body: body, Batches: []broker.Batch{batch},
		Bytes: len(batch.Buffer.Bytes)}, timeout, s.answered)
}

func (s *sending) answered(body any, code int16) {
	switch response := body.(type) {
	case world.Nothing:
		s.acknowledged(-1)
	case *kmsg.ProduceResponse:
		if len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 {
			s.end(kerr.UnknownServerError.Code)
			return
		}
		p := &response.Topics[0].Partitions[0]
		if p.ErrorMessage != nil {
			s.result.Message = *p.ErrorMessage
		}
		s.judge(p.ErrorCode, p.BaseOffset)
	default:
		s.judge(code, -1)
	}
}

func (s *sending) judge(code int16, offset int64) {
	switch {
	case code == 0, code == kerr.DuplicateSequenceNumber.Code && s.request.Idempotent:
		s.acknowledged(offset)
	case elsewhere(code):
		s.operation.stale(s.request.Topic, code)
	default:
		s.end(code)
	}
}

func (s *sending) acknowledged(offset int64) {
	s.result.Landed = s.result.Landed.add(s.partition, offset, 1)
	s.result.Acknowledged++
	s.result.Message = ""
	if s.request.Idempotent && s.request.Sequence == nil {
		key := topicPartition{s.request.Topic, s.partition}
		s.c.producer.sequences[key] = nextSequence(s.sequence)
	}
	if s.result.Acknowledged%sentAtOnce == 0 {
		s.c.env.AfterQuiet("send", time.Millisecond, s.next)
		return
	}
	s.next()
}

// sentAtOnce is after how many records a send lets time pass. Where messages take none, all of it
// would happen at one instant otherwise, and the world takes that for two nodes that answer each
// other for ever.
const sentAtOnce = 5000

// nextSequence goes from 2^31-1 back to 0.
func nextSequence(sequence int32) int32 { return (sequence + 1) & 0x7fffffff }
