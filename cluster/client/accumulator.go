package client

import (
	"slices"
	"time"

	"highwater/cluster/event"
	"highwater/cluster/record"
)

// batch is a run of records of one partition, from its first record to what is believed of it.
type batch struct {
	id      int64
	queue   *queue
	builder *record.Builder
	memory  int64         // what it takes of buffer.memory
	created time.Duration // by the producer's clock; delivery.timeout.ms counts from here
	shares  []share
	added   int  // records that viewers were not told of
	full    bool // no record fits any more
	closed  bool // it has left the accumulator once, so nothing is added

	attempts  int
	retryAt   time.Duration
	inFlight  bool
	sequenced bool // it has its producer id, epoch and sequence
	restarted bool // its sequence was given anew in a later epoch
	// uncertain means that an attempt may have been appended without anybody telling.
	uncertain bool
	believed  bool // for good
}

// share is the part of a batch that one call of send() put there.
type share struct {
	delivery *delivery
	records  int
}

// queue is what the producer has for one partition: the deque of the accumulator, and the
// sequence that the next new batch gets.
type queue struct {
	key     topicPartition
	batches []*batch // waiting to be sent, the oldest first
	// tracked are the batches that were sent at least once and have no belief yet, by sequence.
	tracked   []*batch
	identity  identity // under which next counts
	next      int32
	lastAcked int32 // -1 before the first
	// unresolved means that a batch was given up while it might be appended, and what its next
	// sequence would have been: nothing new is sent until that is settled.
	unresolved     bool
	unresolvedNext int32
	inTransaction  bool // the coordinator knows, or will learn, that the partition takes part
	adding         bool // AddPartitionsToTxn is under way
}

// accumulator holds all batches and counts their memory.
type accumulator struct {
	queues []*queue // in the order of their first record
	byKey  map[topicPartition]*queue
	taken  int64 // of buffer.memory
	// touched are the batches that got records since viewers were told last.
	touched []*batch
}

func (a *accumulator) queue(key topicPartition) *queue {
	q := a.byKey[key]
	if q == nil {
		q = &queue{key: key, lastAcked: -1, identity: nobody()}
		a.byKey[key] = q
		a.queues = append(a.queues, q)
	}
	return q
}

// outgoing is a record on its way into the accumulator.
type outgoing struct {
	timestamp  int64
	key, value []byte
	headers    []record.RecordHeader
}

// append puts a record into the last batch of its partition or into a new one. It says how much
// the batch grew; ok is false when buffer.memory has no room for a new batch.
func (p *Producer) append(q *queue, r outgoing, d *delivery) (grown int, ok bool) {
	if last := q.last(); last != nil && !last.closed && !last.full {
		size := last.builder.SizeWith(r.timestamp, r.key, r.value, r.headers...)
		if size <= p.config.BatchBytes {
			return p.put(last, r, d), true
		}
		last.full = true
	}
	builder := record.NewBuilder()
	builder.Codec = p.config.Codec
	memory := int64(max(p.config.BatchBytes,
		builder.SizeWith(r.timestamp, r.key, r.value, r.headers...)))
	if p.taken+memory > p.config.BufferBytes {
		return 0, false
	}
	p.taken += memory
	b := &batch{id: p.env.NextID(), queue: q, builder: builder, memory: memory,
		created: p.env.Now()}
	q.batches = append(q.batches, b)
	return record.HeaderBytes + p.put(b, r, d), true
}

func (p *Producer) put(b *batch, r outgoing, d *delivery) (grown int) {
	before := b.builder.Size()
	b.builder.Add(r.timestamp, r.key, r.value, r.headers...)
	b.full = b.builder.Size() >= p.config.BatchBytes
	if n := len(b.shares); n > 0 && b.shares[n-1].delivery == d {
		b.shares[n-1].records++
	} else {
		b.shares = append(b.shares, share{d, 1})
	}
	p.counts.Pending++
	if b.added == 0 {
		p.touched = append(p.touched, b)
	}
	b.added++
	return b.builder.Size() - before
}

// tellBuffered emits what came into the accumulator, once a batch.
func (p *Producer) tellBuffered() {
	for _, b := range p.touched {
		event.RecordsBuffered{Batch: b.id, Topic: b.queue.key.topic,
			Partition: b.queue.key.partition, Added: int32(b.added),
			Records: int32(b.builder.Len()), Bytes: int32(b.builder.Size()), Memory: p.taken}.
			Emit(p.env.Events, event.RuleNone)
		b.added = 0
	}
	p.touched = p.touched[:0]
}

func (q *queue) last() *batch {
	if len(q.batches) == 0 {
		return nil
	}
	return q.batches[len(q.batches)-1]
}

// requeue puts a batch back: in sequence with idempotence, otherwise in front (Java's reenqueue).
func (q *queue) requeue(b *batch, inSequence bool) {
	at := 0
	if inSequence {
		for at < len(q.batches) && q.batches[at].sequenced &&
			q.batches[at].builder.BaseSequence-b.builder.BaseSequence < 0 {
			at++
		}
	}
	q.batches = slices.Insert(q.batches, at, b)
}

func (q *queue) forget(b *batch) {
	without := func(x *batch) bool { return x == b }
	q.batches = slices.DeleteFunc(q.batches, without)
	q.tracked = slices.DeleteFunc(q.tracked, without)
}

// chooser is the partitioner for records without a key (KIP-794): it stays with a partition until
// batch.size bytes went there.
type chooser struct {
	partition int32
	bytes     int
	chosen    bool
}

// partitionFor says where a record goes.
func (p *Producer) partitionFor(name string, t *topic, r outgoing) int32 {
	if r.key != nil && !p.config.IgnoreKeys {
		return PartitionForKey(r.key, int32(len(t.partitions)))
	}
	s := p.stickies[name]
	if s == nil {
		s = &chooser{}
		p.stickies[name] = s
	}
	if !s.chosen || int(s.partition) >= len(t.partitions) || p.leaves(s, name, r) {
		s.partition, s.bytes, s.chosen = p.nextSticky(name, t), 0, true
	}
	return s.partition
}

// leaves says whether it is time for another partition: only between batches, so that they are
// full when they are left.
func (p *Producer) leaves(s *chooser, name string, r outgoing) bool {
	if s.bytes < p.config.BatchBytes {
		return false
	}
	last := p.queue(topicPartition{name, s.partition}).last()
	if last != nil && !last.closed &&
		last.builder.SizeWith(r.timestamp, r.key, r.value, r.headers...) > p.config.BatchBytes {
		last.full = true
	}
	return last == nil || last.full || last.closed
}

// stuck counts the bytes of a record without a key. Past twice the batch size a partition is left
// whatever its batches are.
func (p *Producer) stuck(q *queue, grown int) {
	s := p.stickies[q.key.topic]
	if s == nil || s.partition != q.key.partition {
		return
	}
	if s.bytes += grown; s.bytes >= 2*p.config.BatchBytes {
		s.chosen = false
	}
}

// nextSticky throws dice among the partitions that have a leader; a short queue is likelier.
func (p *Producer) nextSticky(name string, t *topic) int32 {
	weights, longest := make([]int, len(t.partitions)), 0
	for i := range t.partitions {
		if q := p.byKey[topicPartition{name, int32(i)}]; q != nil && p.config.Adaptive {
			weights[i] = len(q.batches)
			longest = max(longest, weights[i])
		}
	}
	total := 0
	for i := range weights {
		weights[i] = longest + 1 - weights[i]
		if t.partitions[i].leader == event.NoNode {
			weights[i] = 0
		}
		total += weights[i]
	}
	if total == 0 {
		return p.env.Dice().Int32N(int32(len(weights)))
	}
	throw := p.env.Dice().IntN(total)
	for i, weight := range weights {
		if throw -= weight; throw < 0 {
			return int32(i)
		}
	}
	return 0
}
