package client

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/event"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

// The sender: it takes batches that are ready out of the accumulator, one of each partition a
// request, sends them to the partitions' leaders, and judges the answers.

// never is later than every deadline.
const never = time.Duration(1<<63 - 1)

// schedule makes the sender run after what is going on now, so that records which are sent at one
// instant meet in one batch.
func (p *Producer) schedule() {
	if p.scheduled {
		return
	}
	p.scheduled = true
	p.env.AfterQuiet("sender", 0, func() {
		p.scheduled = false
		p.drain()
	})
}

// parcel is what goes to one broker in one request.
type parcel struct {
	to      event.NodeID
	batches []*batch
	rules   []event.Rule
	bytes   int
}

// drain sends all that is ready, and wakes the sender when more will be.
func (p *Producer) drain() {
	p.expire()
	p.resolveSequences()
	p.transaction.advance()
	for {
		parcels, next := p.pick()
		if len(parcels) == 0 {
			p.wake = p.alarm(p.wake, "sender", next)
			p.expiry = p.alarm(p.expiry, "delivery-timeout", p.oldestExpires())
			return
		}
		for i := range parcels {
			p.post(&parcels[i])
		}
	}
}

// alarm lets the sender run at a time by the producer's clock.
func (p *Producer) alarm(timer *world.Timer, name string, at time.Duration) *world.Timer {
	if at == never {
		timer.Stop()
		return nil
	}
	wait := max(at-p.env.Now(), 0)
	if timer.Armed() && timer.Due() == p.env.VirtualDue(wait) {
		return timer
	}
	timer.Stop()
	return p.env.After(name, wait, p.schedule)
}

// pick chooses at most one batch of each partition. next is when another one becomes ready.
func (p *Producer) pick() (parcels []parcel, next time.Duration) {
	next = never
	now := p.env.Now()
	for _, q := range p.queues {
		if len(q.batches) == 0 {
			continue
		}
		b := q.batches[0]
		rule, at := p.ready(q, b)
		if at > now {
			next = min(next, at)
			continue
		}
		if p.heldBack(q, b) {
			continue
		}
		leader := p.leaderOf(q.key)
		if leader == event.NoNode || p.inFlight[leader] >= p.config.InFlightMax {
			continue
		}
		place := slices.IndexFunc(parcels, func(x parcel) bool { return x.to == leader })
		if place < 0 {
			place = len(parcels)
			parcels = append(parcels, parcel{to: leader})
		}
		size := b.builder.Size()
		if x := &parcels[place]; len(x.batches) == 0 || x.bytes+size <= p.config.RequestBytesMax {
			x.batches, x.rules = append(x.batches, b), append(x.rules, rule)
			x.bytes += size
		}
	}
	return parcels, next
}

// ready says from when on a batch may be sent, and why (RecordAccumulator.batchReady).
func (p *Producer) ready(q *queue, b *batch) (event.Rule, time.Duration) {
	switch {
	case b.attempts > 0:
		return event.RuleNone, b.retryAt
	case b.full || len(q.batches) > 1:
		return event.RuleBatchFull, 0
	case p.flushing || p.closing || p.transaction.ending() ||
		p.blocked != nil && p.blocked.what == "buffer.memory":
		return event.RuleDrainNow, 0
	}
	return event.RuleLinger, b.created + p.config.Linger
}

// leaderOf is the broker to send a partition's batches to; without one it looks for it.
func (p *Producer) leaderOf(key topicPartition) event.NodeID {
	t := p.topics[key.topic]
	if t == nil || int(key.partition) >= len(t.partitions) ||
		t.partitions[key.partition].leader == event.NoNode {
		p.refresh(key.topic)
		return event.NoNode
	}
	return t.partitions[key.partition].leader
}

// post sends one request.
func (p *Producer) post(parcel *parcel) {
	body := kmsg.NewPtrProduceRequest()
	body.SetVersion(p.transaction.produceVersion())
	body.Acks = p.config.Acks
	body.TimeoutMillis = millis(p.config.RequestTimeout)
	if p.config.TransactionalID != "" {
		body.TransactionID = &p.config.TransactionalID
	}
	request := &broker.Request{Body: body}
	for i, b := range parcel.batches {
		sealed, err := p.take(b)
		if err != nil {
			p.believe(b, "failed", -1, kerr.CorruptMessage.Code, err.Error(), event.RuleNone)
			continue
		}
		request.Batches = append(request.Batches, sealed)
		request.Bytes += len(sealed.Buffer.Bytes)
		addToProduce(body, b.queue.key)
		event.BatchDrained{Batch: b.id, Topic: b.queue.key.topic, Partition: b.queue.key.partition,
			To: parcel.to, Records: int32(b.builder.Len()), Bytes: int32(len(sealed.Buffer.Bytes)),
			Attempt: int32(b.attempts), ProducerID: b.builder.ProducerID,
			ProducerEpoch: int32(b.builder.ProducerEpoch), Sequence: b.builder.BaseSequence}.
			Emit(p.env.Events, parcel.rules[i])
	}
	// The body's order of partitions is that of the batches, because topics are not merged when
	// another one came between.
	p.inFlight[parcel.to]++
	batches := parcel.batches
	p.ask(parcel.to, request, p.config.RequestTimeout, func(answer any, code int16) {
		p.inFlight[parcel.to]--
		if p.config.Acks != 0 {
			p.answered(batches, answer, code)
		} else if code != 0 { // the broker closes the connection when something was wrong
			p.refresh(batches[0].queue.key.topic)
		}
		p.resume()
		p.schedule()
	})
	if p.config.Acks == 0 {
		for _, b := range batches {
			b.inFlight = false
			p.believe(b, "acknowledged", -1, 0, "", event.RuleAcksZeroAtOnce)
		}
		p.resume()
	}
}

func addToProduce(body *kmsg.ProduceRequest, key topicPartition) {
	partition := kmsg.NewProduceRequestTopicPartition()
	partition.Partition = key.partition
	if n := len(body.Topics); n > 0 && body.Topics[n-1].Topic == key.topic {
		body.Topics[n-1].Partitions = append(body.Topics[n-1].Partitions, partition)
		return
	}
	t := kmsg.NewProduceRequestTopic()
	t.Topic = key.topic
	t.Partitions = []kmsg.ProduceRequestTopicPartition{partition}
	body.Topics = append(body.Topics, t)
}

// take seals a batch for one attempt and takes it out of its queue. The bytes are made anew each
// time: the leader writes its epoch into them.
func (p *Producer) take(b *batch) (broker.Batch, error) {
	q := b.queue
	q.batches = slices.DeleteFunc(q.batches, func(x *batch) bool { return x == b })
	if b.attempts == 0 {
		records := int64(b.builder.Len())
		p.counts.Pending -= records
		p.counts.Sent += records
	}
	b.closed, b.inFlight = true, true
	b.attempts++
	p.number(b)
	if p.config.TransactionalID != "" {
		b.builder.Attributes |= record.TransactionalBit
	}
	sealed, err := b.builder.Bytes()
	if err != nil {
		return broker.Batch{}, err
	}
	facts, invalid := record.Validate(sealed, record.Validation{InflatedMax: inflatedMax,
		KeepRecords: keepRecords, KeepBytes: keepBytes})
	return broker.Batch{Buffer: record.Buffer{Bytes: sealed}, Facts: facts, Err: invalid}, nil
}

// answered hands each batch its part of the answer.
func (p *Producer) answered(batches []*batch, answer any, code int16) {
	response, ok := answer.(*kmsg.ProduceResponse)
	if !ok {
		for _, b := range batches {
			p.judge(b, &kmsg.ProduceResponseTopicPartition{
				ErrorCode: max(code, kerr.NetworkException.Code), BaseOffset: -1, LogStartOffset: -1})
		}
		return
	}
	next := 0
	for i := range response.Topics {
		for j := range response.Topics[i].Partitions {
			if next < len(batches) {
				p.judge(batches[next], &response.Topics[i].Partitions[j])
				next++
			}
		}
	}
}

// judge decides what an answer means for a batch (Sender.completeBatch).
func (p *Producer) judge(b *batch, answer *kmsg.ProduceResponseTopicPartition) {
	code := answer.ErrorCode
	b.inFlight = false
	reason := event.ErrorName(code)
	if answer.ErrorMessage != nil {
		reason = *answer.ErrorMessage
	}
	if elsewhere(code) {
		p.refresh(b.queue.key.topic)
	}
	switch code {
	case kerr.NetworkException.Code, kerr.RequestTimedOut.Code,
		kerr.NotEnoughReplicasAfterAppend.Code:
		b.uncertain = true
	}
	switch {
	case b.believed:
		p.release(b)
	case code == 0:
		p.believe(b, "acknowledged", answer.BaseOffset, 0, "", event.RuleNone)
	case code == kerr.DuplicateSequenceNumber.Code && p.config.Idempotent:
		p.believe(b, "acknowledged", -1, 0, "", event.RuleDuplicateOfLastFive)
	case b.attempts <= p.config.Retries && p.retries(b, answer):
		p.again(b, code, reason)
	default:
		p.giveUp(b, code, reason)
	}
}

// again puts a batch back after a failed attempt.
func (p *Producer) again(b *batch, code int16, reason string) {
	wait := p.config.RetryBackoff << min(b.attempts-1, 10)
	b.retryAt = p.env.Now() + min(wait, p.config.RetryBackoffMax)
	b.queue.requeue(b, p.config.Idempotent)
	event.BatchRequeued{Batch: b.id, Topic: b.queue.key.topic, Partition: b.queue.key.partition,
		Attempt: int32(b.attempts), ErrorCode: int32(code), Reason: reason, Uncertain: b.uncertain}.
		Emit(p.env.Events, event.RuleNone)
}

// giveUp ends a batch that was refused for good.
func (p *Producer) giveUp(b *batch, code int16, reason string) {
	belief := "failed"
	if b.uncertain && !p.config.Idempotent {
		belief = "unknown" // an earlier attempt may be in the log
	}
	p.closeGap(b)
	p.transaction.failed(code, reason)
	p.believe(b, belief, -1, code, reason, event.RuleNone)
}

// believe ends a batch: this is what the producer believes of it from now on.
func (p *Producer) believe(b *batch, belief string, base int64, code int16, reason string,
	rule event.Rule) {
	records := int64(b.builder.Len())
	if b.attempts == 0 {
		p.counts.Pending -= records
	} else {
		p.counts.Sent -= records
	}
	b.believed = true
	b.queue.batches = slices.DeleteFunc(b.queue.batches, func(x *batch) bool { return x == b })
	if belief == "acknowledged" {
		p.acknowledgedSequence(b)
	}
	b.queue.forget(b)
	if !b.inFlight {
		p.release(b)
	}
	switch belief {
	case "acknowledged":
		p.counts.Acknowledged += records
		p.latencies.add(p.env.Now() - b.created)
	case "failed":
		p.counts.Failed += records
	default:
		p.counts.Unknown += records
	}
	event.BatchBelieved{Batch: b.id, Topic: b.queue.key.topic, Partition: b.queue.key.partition,
		Records: int32(records), Belief: belief, BaseOffset: event.Offset(base),
		ErrorCode: int32(code), Reason: reason, Memory: p.taken}.Emit(p.env.Events, rule)
	offset := base
	for _, s := range b.shares {
		s.delivery.believe(s.records, belief, b.queue.key.partition, offset, code, reason)
		if offset >= 0 {
			offset += int64(s.records)
		}
	}
	b.shares = nil
}

// release gives a batch's memory back. A batch in flight keeps it until its answer is there.
func (p *Producer) release(b *batch) {
	p.taken -= b.memory
	b.memory = 0
}

func (d *delivery) believe(records int, belief string, partition int32, base int64, code int16,
	reason string) {
	r := &d.result
	switch belief {
	case "acknowledged":
		r.Landed = r.Landed.add(partition, base, records)
		r.Acknowledged += records
	case "failed":
		r.Failed += records
		d.blame(code, reason)
	default:
		r.Unknown += records
		d.blame(code, reason)
	}
	d.settle(records)
}

// expire gives up the batches that are delivery.timeout.ms old.
func (p *Producer) expire() {
	limit := p.env.Now() - p.config.DeliveryTimeout
	expired := false
	for _, q := range p.queues {
		for _, b := range q.live() {
			if b.created > limit {
				continue
			}
			expired = true
			belief := "failed"
			if b.uncertain || b.inFlight {
				belief = "unknown"
			}
			q.leaveUnresolved(b) // also where all attempts were refused: a sequence is missing
			p.transaction.failed(kerr.RequestTimedOut.Code, "a batch expired")
			p.believe(b, belief, -1, kerr.RequestTimedOut.Code, "delivery.timeout.ms has passed",
				event.RuleDeliveryTimeout)
		}
	}
	if expired {
		p.resume()
	}
}

// oldestExpires is when the oldest batch without a belief is given up.
func (p *Producer) oldestExpires() time.Duration {
	at := never
	for _, q := range p.queues {
		for _, b := range q.live() {
			at = min(at, b.created+p.config.DeliveryTimeout)
		}
	}
	return at
}

// live lists the batches without a belief: those sent at least once, then those that wait.
func (q *queue) live() []*batch {
	list := slices.Clone(q.tracked)
	for _, b := range q.batches {
		if b.attempts == 0 {
			list = append(list, b)
		}
	}
	return list
}
