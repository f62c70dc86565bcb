package broker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/record"
	"highwater/cluster/txn"
)

// txnCoordinators are the coordinators of the partitions of __transaction_state that this broker
// leads.
type txnCoordinators struct{ coordinators[*txnPartition] }

// txnPartition is one coordinator with its log.
type txnPartition struct {
	coordinatorLog
	txns *txn.Coordinator
}

// transactionAppendTimeout bounds how long a client waits for a record of __transaction_state.
const transactionAppendTimeout = 30 * time.Second

func (c *txnCoordinators) init(b *Broker) {
	s := &b.config.Settings
	c.coordinators = newCoordinators(b, txn.Topic, func(h *held) *txnPartition {
		p := &txnPartition{}
		p.open(b, h)
		p.state, p.what, p.timeout = p, "transaction", transactionAppendTimeout
		p.tooLarge = kerr.MessageTooLarge.Code
		p.txns = txn.New(b.env, p, p, s.Transactions)
		return p
	})
	b.every("transaction-timeouts", s.TransactionTimeoutCheck, func() {
		c.each(func(p *txnPartition) { p.txns.AbortTimedOut() })
	})
	b.every("transactional-id-expiry", s.TransactionalIDCheck, func() {
		c.each(func(p *txnPartition) { p.txns.Expire() })
	})
}

func (p *txnPartition) loaded() { p.txns.Loaded() }
func (p *txnPartition) ended()  { p.txns.Close() }

// replay, of replayed.
func (p *txnPartition) replay(batch *loadedBatch) {
	for _, r := range batch.records {
		p.replayRecord(txn.Record{Key: r.key, Value: r.value}, txn.Author{})
	}
}

func (p *txnPartition) replayRecord(r txn.Record, by txn.Author) {
	if err := p.txns.Replay(r, by); err != nil {
		p.skipped(err)
	}
}

// Append, of txn.Log: one batch of one record.
func (p *txnPartition) Append(r txn.Record, by txn.Author, then func(code int16)) (refused int16) {
	batch := record.NewBuilder()
	batch.Add(p.b.env.UnixMilli(), r.Key, r.Value)
	return p.append(batch, func() { p.replayRecord(r, by) }, then)
}

// ProducerID, of txn.Host.
func (p *txnPartition) ProducerID(done func(id int64, code int16)) { p.b.producerID(done) }

// txnCoordinator finds who coordinates a transactional id here, or why nobody does.
func (b *Broker) txnCoordinator(id string) (*txn.Coordinator, int16) {
	index, _, _ := b.coordinatorPartition(txn.Topic, id)
	p := b.transactions.byPartition[index]
	switch {
	case p == nil:
		return nil, kerr.NotCoordinator.Code
	case !p.active:
		return nil, kerr.CoordinatorLoadInProgress.Code
	}
	return p.txns, 0
}

// TransactionState is the state of a transactional id that this broker coordinates, and the leader
// epoch in which it does.
func (b *Broker) TransactionState(id string) (state string, epoch event.Epoch, ok bool) {
	c, code := b.txnCoordinator(id)
	if code != 0 {
		return "", -1, false
	}
	described, ok := c.Describe(id)
	index, _, _ := b.coordinatorPartition(txn.Topic, id)
	return described.State.String(), b.transactions.byPartition[index].epoch, ok
}

// brokerRequestTimeout bounds a request of one broker to another.
const brokerRequestTimeout = 30 * time.Second

// askBroker sends a request of a broker's own to a broker of the cluster, which may be itself. done
// gets nil when there was no answer.
func (b *Broker) askBroker(to event.NodeID, body kmsg.Request, done func(response kmsg.Response)) {
	if to == b.env.ID() {
		b.serveBroker(body, done)
		return
	}
	b.env.Request(to, kmsg.NameForKey(body.Key()), body, brokerRequestTimeout,
		func(answer any, err error) {
			response, _ := answer.(kmsg.Response)
			if err != nil {
				response = nil
			}
			done(response)
		})
}

// serveBroker answers another broker's request, or one of this broker's own.
func (b *Broker) serveBroker(body kmsg.Request, reply func(kmsg.Response)) {
	switch r := body.(type) {
	case *kmsg.AddPartitionsToTxnRequest:
		b.takePartitions(r, reply)
	case *kmsg.WriteTxnMarkersRequest:
		b.takeMarkers(r, reply)
	}
}

// fencedBefore gives clients of older versions the code that they know for a fenced producer.
func fencedBefore(version, knows, code int16) int16 {
	if code == kerr.ProducerFenced.Code && version < knows {
		return kerr.InvalidProducerEpoch.Code
	}
	return code
}
