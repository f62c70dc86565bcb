package broker

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/partition"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

// Produce, versions 3 to 13 (advertised from 0, because librdkafka takes that as the sign that
// compression is understood). One batch a partition; acks 0, 1 and all; idempotent and
// transactional producers. A transaction's first batch on a partition is appended once the
// transaction's coordinator says that the partition belongs to it; from version 12 on it is added
// then (KIP-890).

// produceWait is a Produce with acks=all that waits for high watermarks.
type produceWait struct {
	pendingWait
	b        *Broker
	call     *world.Call
	request  *kmsg.ProduceRequest
	response *kmsg.ProduceResponse
	parts    []*producePart
	open     int
	topics   []string // their names; the request may have their ids only
	ended    bool
	// strayTransaction says that a batch is transactional and the request has no transactional id.
	strayTransaction bool
	// one is the memory for a request of one partition, which nearly all are.
	one struct {
		response kmsg.ProduceResponse
		topics   [1]kmsg.ProduceResponseTopic
		rows     [1]kmsg.ProduceResponseTopicPartition
		part     producePart
		parts    [1]*producePart
		names    [1]string
		needs    [1]event.WaitBegan
		facts    [1]answered
	}
}

// producePart is one partition of a waiting Produce.
type producePart struct {
	wait       *produceWait
	p          *partition.Partition
	topic, row int
	index      int // among the parts
	needs      event.Offset
}

// produceVerified appends the batches of a request whose transaction was asked about, if it has
// one.
func (b *Broker) produceVerified(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.ProduceRequest)
	w := &produceWait{b: b, call: call, request: body}
	w.waiter = w
	w.one.response = kmsg.NewProduceResponse()
	w.response = &w.one.response
	w.response.Version = r.Version
	w.response.Topics = w.one.topics[:]
	if len(body.Topics) != 1 {
		w.response.Topics = make([]kmsg.ProduceResponseTopic, len(body.Topics))
	}
	w.parts, w.topics = w.one.parts[:0], w.one.names[:0]
	w.strayTransaction = transactionWithoutID(body, r)
	next := 0
	for i := range body.Topics {
		next = b.produceTopic(w, r, i, next)
	}
	for i := range r.Batches {
		r.Batches[i].Buffer.Release()
	}
	switch {
	case body.Acks == 0:
		w.answerUnacknowledged()
	case w.open == 0:
		w.answer("")
	default:
		b.waits.begin(&w.pendingWait, time.Duration(max(body.TimeoutMillis, 0))*time.Millisecond,
			w.needs()...)
	}
}

// needs lists what the request waits for.
func (w *produceWait) needs() []event.WaitBegan {
	needs := w.one.needs[:0]
	for _, part := range w.parts {
		needs = append(needs, event.WaitBegan{What: "produce", For: w.call.From, Topic: part.p.Topic,
			Partition: part.p.Index, Needs: part.needs, Request: requestOf(w.call)})
	}
	return needs
}

func (b *Broker) produceTopic(w *produceWait, r *Request, i, next int) int {
	topic := &w.request.Topics[i]
	out := &w.response.Topics[i]
	out.Topic, out.TopicID = topic.Topic, topic.TopicID
	name := topic.Topic
	if r.Version >= 13 {
		name = ""
		if known := b.metadata.image.TopicByID(topic.TopicID); known != nil {
			name = known.Name
		}
	}
	w.topics = append(w.topics, name)
	out.Partitions = w.one.rows[:]
	if len(w.request.Topics) != 1 || len(topic.Partitions) != 1 {
		out.Partitions = make([]kmsg.ProduceResponseTopicPartition, len(topic.Partitions))
	}
	for j := range topic.Partitions {
		p := &out.Partitions[j]
		*p = kmsg.NewProduceResponseTopicPartition()
		p.Partition = topic.Partitions[j].Partition
		p.BaseOffset, p.LogAppendTime, p.LogStartOffset = -1, -1, -1
		if w.strayTransaction {
			p.ErrorCode = kerr.TransactionalIDAuthorizationFailed.Code
		} else {
			b.producePartition(w, r, &r.Batches[next], name, i, j)
		}
		next++
	}
	return next
}

func (b *Broker) producePartition(w *produceWait, r *Request, batch *Batch, topic string,
	i, j int) {
	out := &w.response.Topics[i].Partitions[j]
	h := b.held(topic, out.Partition)
	if code, message := b.refuseProduce(w.request, r, batch, topic, h, out.Partition); code != 0 {
		out.ErrorCode = code
		if message != "" {
			out.ErrorMessage = kmsg.StringPtr(message)
		}
		if code == kerr.NotLeaderForPartition.Code {
			b.hintLeader(w.response, out, topic)
		}
		return
	}
	if b.refuseBatch(out, h, batch, w.call.Ahead) {
		return
	}
	if err := h.rules.fit(batch); err != nil {
		b.produceFailed(out, h, err)
		return
	}
	add := h.Append
	if batch.Facts.Attributes.Transactional() {
		add = func(buffer record.Buffer, header record.Header, all bool) (commitlog.Appended, error) {
			return h.AppendTransactional(buffer, header, batch.verification, all)
		}
	}
	appended, err := add(batch.Buffer, batch.Facts.Header, w.request.Acks == -1)
	if err != nil {
		b.produceFailed(out, h, err)
		return
	}
	out.BaseOffset = int64(appended.BaseOffset)
	out.LogAppendTime = appended.LogAppendTime
	out.LogStartOffset = int64(h.Log.LogStartOffset())
	if w.request.Acks != -1 {
		return
	}
	needs := appended.LastOffset + 1
	if h.HighWatermark() >= needs {
		return
	}
	part := &w.one.part
	if len(w.parts) > 0 {
		part = &producePart{}
	}
	*part = producePart{wait: w, p: h.Partition, topic: i, row: j, index: len(w.parts), needs: needs}
	h.WaitForHighWatermark(needs, part)
	w.parts = append(w.parts, part)
	w.open++
}

// refuseProduce checks what can be known before the append, in Kafka's order.
func (b *Broker) refuseProduce(body *kmsg.ProduceRequest, r *Request, batch *Batch, topic string,
	h *held, index int32) (code int16, message string) {
	if r.Version >= 13 && topic == "" {
		return kerr.UnknownTopicID.Code, ""
	}
	known := b.metadata.image.Partition(topic, index)
	if known == nil {
		return kerr.UnknownTopicOrPartition.Code, ""
	}
	if batch.Err != nil && batch.Err.Stage == record.StageFrame {
		if batch.Err.Code == kerr.CorruptMessage.Code {
			return batch.Err.Code, batch.Err.Message
		}
		return batch.Err.Code, ""
	}
	if r.Version < 7 && batch.Facts.Attributes.Codec() == record.Zstd {
		return kerr.UnsupportedCompressionType.Code, ""
	}
	switch body.Acks {
	case -1, 0, 1:
	default:
		return kerr.InvalidRequiredAcks.Code, ""
	}
	if isInternal(topic) && r.ClientID != "__admin_client" {
		return kerr.InvalidTopicException.Code, ""
	}
	if batch.refused != 0 {
		return batch.refused, ""
	}
	if h == nil || !h.Leads() {
		return kerr.NotLeaderForPartition.Code, ""
	}
	return 0, ""
}

func (b *Broker) produceFailed(out *kmsg.ProduceResponseTopicPartition, h *held, err error) {
	var refused *commitlog.AppendError
	var producer *commitlog.ProducerError
	switch {
	case errors.As(err, &refused):
		refusedByLog(out, h, refused.Code)
	case errors.As(err, &producer):
		refusedByLog(out, h, producer.Code)
		b.emitRefused(h, producer)
	default:
		refusedByLog(out, h, kerr.KafkaStorageError.Code)
		b.failDisk("append", err)
	}
}

func (b *Broker) emitRefused(h *held, err *commitlog.ProducerError) {
	rule := event.RuleSequenceGap
	if err.Code == kerr.InvalidProducerEpoch.Code {
		rule = event.RuleProducerEpochFencing
	}
	event.AppendRefused{Topic: h.key.Topic, Partition: h.key.Index, ErrorCode: int32(err.Code),
		Detail: err.Detail(), ProducerID: err.ProducerID, Expected: err.Expected, Got: err.Got}.
		Emit(b.env.Events, rule)
}

// hintLeader names the leader beside the error, so that the client need not ask (KIP-951).
func (b *Broker) hintLeader(response *kmsg.ProduceResponse,
	out *kmsg.ProduceResponseTopicPartition, topic string) {
	known := b.metadata.image.Partition(topic, out.Partition)
	if response.Version < 10 || known == nil || known.Leader == event.NoNode {
		return
	}
	out.CurrentLeader.LeaderID = int32(known.Leader)
	out.CurrentLeader.LeaderEpoch = int32(known.LeaderEpoch)
	for _, listed := range response.Brokers {
		if listed.NodeID == int32(known.Leader) {
			return
		}
	}
	if broker := b.metadata.image.Broker(known.Leader); broker != nil {
		if at, ok := broker.Endpoint(ListenerName); ok {
			node := kmsg.NewProduceResponseBroker()
			node.NodeID, node.Host, node.Port = int32(known.Leader), at.Host, int32(at.Port)
			response.Brokers = append(response.Brokers, node)
		}
	}
}

// Passed, of partition.Waiter: the high watermark covers this partition's records, or never will
// under this leader.
func (part *producePart) Passed(_ *partition.Partition, code int16) {
	w := part.wait
	if w.ended {
		return
	}
	if code != 0 {
		w.response.Topics[part.topic].Partitions[part.row].ErrorCode = code
	}
	outcome := "satisfied"
	if code != 0 {
		outcome = event.ErrorName(code)
	}
	w.open--
	if w.open == 0 {
		w.answer(outcome)
		return
	}
	w.b.waits.endOf(&w.pendingWait, part.index, outcome)
}

// expired, of waiter: the request's own timeout passed; the records stay.
func (w *produceWait) expired() {
	for _, part := range w.parts {
		part.p.Forget(part)
		out := &w.response.Topics[part.topic].Partitions[part.row]
		if out.ErrorCode == 0 && part.p.HighWatermark() < part.needs {
			out.ErrorCode = kerr.RequestTimedOut.Code
		}
	}
	w.answer("timed-out")
}

func (w *produceWait) answer(outcome string) {
	w.ended = true
	w.b.waits.end(&w.pendingWait, outcome)
	w.b.answer(w.call, w.response, w.facts()...)
}

// facts lists what each partition is told.
func (w *produceWait) facts() []answered {
	facts := w.one.facts[:0]
	for i := range w.response.Topics {
		for j := range w.response.Topics[i].Partitions {
			p := &w.response.Topics[i].Partitions[j]
			facts = append(facts, answered{code: p.ErrorCode, topic: w.topics[i],
				partition: p.Partition, offset: event.Offset(p.BaseOffset)})
		}
	}
	return facts
}

// answerUnacknowledged says nothing, or closes the connection after an error so that the client
// looks for the leader anew.
func (w *produceWait) answerUnacknowledged() {
	for i := range w.response.Topics {
		for j := range w.response.Topics[i].Partitions {
			if code := w.response.Topics[i].Partitions[j].ErrorCode; code != 0 {
				w.b.answer(w.call, &Close{Reason: "produce with acks=0 failed: " +
					kerr.ErrorForCode(code).Error()}, w.facts()...)
				return
			}
		}
	}
	w.b.answer(w.call, world.Nothing{}, w.facts()...)
}

func isInternal(topic string) bool {
	switch topic {
	case "__consumer_offsets", "__transaction_state", "__share_group_state", metadataTopic:
		return true
	}
	return false
}
