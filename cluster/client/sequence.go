package client

import (
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
)

// Idempotence, as Java's TransactionManager keeps it: every batch of a partition has a sequence,
// retries go out in sequence, and when a batch was given up while it might be in the log, the
// producer goes on in a new epoch rather than guess (KIP-360).

// identity is what brokers know an idempotent producer by.
type identity struct {
	id    int64
	epoch int16
}

func nobody() identity { return identity{-1, -1} }

// advanced is a sequence some records later; it goes from 2^31-1 back to 0.
func advanced(sequence int32, records int) int32 {
	return int32((int64(sequence) + int64(records)) & math.MaxInt32)
}

// number notes a batch that is sent for the first time, and gives it its sequence.
func (p *Producer) number(b *batch) {
	q := b.queue
	if !slices.Contains(q.tracked, b) {
		q.tracked = append(q.tracked, b)
	}
	if !p.config.Idempotent || b.sequenced {
		return
	}
	b.sequenced = true
	b.identify(p.identity, q.next)
	q.next = advanced(q.next, b.builder.Len())
}

func (b *batch) identify(i identity, sequence int32) {
	b.builder.ProducerID, b.builder.ProducerEpoch = i.id, i.epoch
	b.builder.BaseSequence = sequence
}

// heldBack says whether a batch that is ready may not be sent yet.
func (p *Producer) heldBack(q *queue, b *batch) bool {
	if !p.config.Idempotent {
		return false
	}
	if p.identity.id < 0 {
		p.askIdentity()
		return true
	}
	if p.transaction.holdsBack(q) {
		return true
	}
	if b.sequenced {
		return q.tracked[0] != b // one that is sent again waits until it is the oldest
	}
	if q.identity != p.identity {
		if len(q.tracked) > 0 {
			return true
		}
		q.restart(p.identity)
	}
	return q.unresolved
}

// restart begins the sequences of a partition anew; batches under way get theirs again.
func (q *queue) restart(i identity) {
	q.identity, q.next, q.lastAcked, q.unresolved = i, 0, -1, false
	for _, b := range q.tracked {
		b.identify(i, q.next)
		b.restarted = true
		q.next = advanced(q.next, b.builder.Len())
	}
}

func (b *batch) lastSequence() int32 {
	return advanced(b.builder.BaseSequence, b.builder.Len()-1)
}

func (p *Producer) acknowledgedSequence(b *batch) {
	q := b.queue
	if b.sequenced && q.identity == (identity{b.builder.ProducerID, b.builder.ProducerEpoch}) {
		q.lastAcked = max(q.lastAcked, b.lastSequence())
	}
}

// closeGap moves the later batches of a partition up when one before them failed for good.
func (p *Producer) closeGap(b *batch) {
	q := b.queue
	at := slices.Index(q.tracked, b)
	if !b.sequenced || at < 0 ||
		q.identity != (identity{b.builder.ProducerID, b.builder.ProducerEpoch}) {
		return
	}
	records := b.builder.Len()
	for _, later := range q.tracked[at+1:] {
		later.identify(q.identity, advanced(later.builder.BaseSequence, -records))
		later.restarted = true
	}
	q.next = advanced(q.next, -records)
}

// leaveUnresolved notes that a batch was given up and its sequence may be missing.
func (q *queue) leaveUnresolved(b *batch) {
	if !b.sequenced {
		return
	}
	q.unresolved = true
	q.unresolvedNext = max(q.unresolvedNext, advanced(b.lastSequence(), 1))
}

// retries says whether a batch with this answer is sent again (TransactionManager.canRetry).
func (p *Producer) retries(b *batch, answer *kmsg.ProduceResponseTopicPartition) bool {
	q, transactional := b.queue, p.config.TransactionalID != ""
	if p.config.Idempotent {
		switch answer.ErrorCode {
		case kerr.UnknownProducerID.Code:
			switch {
			case answer.LogStartOffset == -1 || b.restarted:
			case transactional:
				q.restart(p.identity)
			default:
				p.requestBump(q)
			}
			return true
		case kerr.OutOfOrderSequenceNumber.Code:
			next := b.builder.BaseSequence == advanced(q.lastAcked, 1)
			if !q.unresolved && (b.restarted || !next) {
				return true
			}
			if !transactional {
				p.requestBump(q)
				return true
			}
		}
	}
	// Java's clients try again on CONCURRENT_TRANSACTIONS, too.
	return answer.ErrorCode == kerr.ConcurrentTransactions.Code ||
		kerr.IsRetriable(kerr.ErrorForCode(answer.ErrorCode))
}

func (p *Producer) requestBump(q *queue) {
	if !slices.Contains(p.bump, q) {
		p.bump = append(p.bump, q)
	}
}

// resolveSequences settles the partitions where a batch was given up, once all others that were
// under way with it have ended.
func (p *Producer) resolveSequences() {
	for _, q := range p.queues {
		switch {
		case !q.unresolved || len(q.tracked) > 0:
		case advanced(q.lastAcked, 1) == q.unresolvedNext:
			q.unresolved = false
		case p.config.TransactionalID != "":
			q.unresolved = false // the transaction fails, and with its end the epoch changes
			p.transaction.failed(kerr.OutOfOrderSequenceNumber.Code, "a batch is missing")
		default:
			p.requestBump(q)
		}
	}
	if len(p.bump) == 0 || p.identity.id < 0 {
		return
	}
	if p.identity.epoch == math.MaxInt16 {
		p.identity = nobody()
		p.askIdentity()
		return
	}
	p.become(identity{p.identity.id, p.identity.epoch + 1},
		"the fate of a batch is open", event.RuleProducerEpochBump)
}

// become changes the producer's identity.
func (p *Producer) become(i identity, reason string, rule event.Rule) {
	p.identity = i
	event.ProducerIDChanged{ProducerID: i.id, ProducerEpoch: int32(i.epoch), Reason: reason}.
		Emit(p.env.Events, rule)
	for _, q := range p.bump {
		q.restart(i)
		q.unresolvedNext = 0
	}
	p.bump = nil
}

// askIdentity asks for a producer id, until there is one.
func (p *Producer) askIdentity() {
	if p.idAsked || p.config.TransactionalID != "" {
		return
	}
	p.idAsked = true
	o := p.begin(p.config.DeliveryTimeout, func(int16) {
		p.idAsked = false
		p.schedule()
	})
	body := kmsg.NewPtrInitProducerIDRequest()
	body.ProducerID, body.ProducerEpoch = -1, -1
	o.attempt = func() {
		askAny(o, body, 4, func(response *kmsg.InitProducerIDResponse) {
			if response.ErrorCode != 0 {
				o.retry(response.ErrorCode)
				return
			}
			p.idAsked = false
			p.become(identity{response.ProducerID, response.ProducerEpoch}, "given by a broker",
				event.RuleNone)
			p.schedule()
		})
	}
	o.attempt()
}
