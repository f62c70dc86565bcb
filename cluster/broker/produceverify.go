package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/partition"
	"highwater/cluster/txn"
	"highwater/cluster/world"
)

// produceAddsFrom is the version of Produce whose clients let the brokers add what they write to to
// their transactions; produceAbortableFrom is the one that knows TRANSACTION_ABORTABLE.
const (
	produceAddsFrom      = 12
	produceAbortableFrom = 11
)

// unverified is a batch that its transaction's coordinator has to be asked about.
type unverified struct {
	batch     *Batch
	p         *partition.Partition
	partition txn.Partition
}

// produce takes a Produce, or lets it wait behind the ones of its connection.
func (b *Broker) produce(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.ProduceRequest)
	if namedTwice(body, len(r.Batches)) {
		keepLast(body, r)
	}
	c := b.client(call.From)
	if len(c.produces) == 0 && !transactional(r) {
		b.produceVerified(call, r)
		return
	}
	c.produces = append(c.produces, queuedRequest{call, r})
	if len(c.produces) == 1 {
		b.produceNext(c)
	}
}

func transactional(r *Request) bool {
	for i := range r.Batches {
		if r.Batches[i].Facts.Attributes.Transactional() {
			return true
		}
	}
	return false
}

// produceNext works through a connection's queue until one has to wait.
func (b *Broker) produceNext(c *clientConnection) {
	for len(c.produces) > 0 {
		first := c.produces[0]
		asked := b.unverifiedBatches(first.r)
		if len(asked) > 0 {
			b.verifyBatches(first.r, asked, func() {
				b.produceDone(c)
				b.produceNext(c)
			})
			return
		}
		b.produceDone(c)
	}
}

// produceDone appends what the first request of a queue brings.
func (b *Broker) produceDone(c *clientConnection) {
	first := c.produces[0]
	c.produces = c.produces[1:]
	b.env.Events.Cause = max(b.env.Events.Cause, first.r.received)
	b.produceVerified(first.call, first.r)
}

// unverifiedBatches lists the batches that may not be appended before the coordinator was asked.
func (b *Broker) unverifiedBatches(r *Request) (asked []unverified) {
	body := r.Body.(*kmsg.ProduceRequest)
	if body.TransactionID == nil {
		return nil
	}
	next := 0
	for i := range body.Topics {
		name := b.topicName(body.Topics[i].Topic, body.Topics[i].TopicID)
		for j := range body.Topics[i].Partitions {
			batch := &r.Batches[next]
			next++
			h := b.held(name, body.Topics[i].Partitions[j].Partition)
			facts := &batch.Facts
			if h == nil || batch.Err != nil || !facts.HasProducer() ||
				!facts.Attributes.Transactional() {
				continue
			}
			batch.verification = h.BeginVerification(&facts.Header, r.Version >= produceAddsFrom)
			if batch.verification != 0 {
				asked = append(asked, unverified{batch, h.Partition,
					txn.Partition{Topic: name, Index: h.Index}})
			}
		}
	}
	return asked
}

// verifyBatches asks the coordinator, notes what it refuses, and goes on.
func (b *Broker) verifyBatches(r *Request, asked []unverified, then func()) {
	header := &asked[0].batch.Facts.Header
	who := txn.Producer{TransactionalID: *r.Body.(*kmsg.ProduceRequest).TransactionID,
		ID: header.ProducerID, Epoch: header.ProducerEpoch}
	partitions := make([]txn.Partition, len(asked))
	for i := range asked {
		partitions[i] = asked[i].partition
	}
	again := func() {
		for i := range asked {
			u := &asked[i]
			u.batch.verification = u.p.BeginVerification(&u.batch.Facts.Header,
				r.Version >= produceAddsFrom)
		}
	}
	b.inquire(who, partitions, r.Version >= produceAddsFrom, again, func(codes []int16) {
		for i, code := range codes {
			u := &asked[i]
			u.batch.refused = inquiryRefusal(code, r.Version < produceAbortableFrom,
				r.Version >= produceAddsFrom, kerr.NotEnoughReplicas.Code)
			if u.batch.refused != 0 {
				u.p.EndVerification(u.batch.Facts.ProducerID, u.batch.verification)
			}
		}
		then()
	})
}

// dropProduces lets go of what a connection that is gone had queued. The first is under way.
func (b *Broker) dropProduces(c *clientConnection) {
	if len(c.produces) < 2 {
		return
	}
	for _, q := range c.produces[1:] {
		b.releaseBatches(q.r)
	}
	c.produces = c.produces[:1]
}
