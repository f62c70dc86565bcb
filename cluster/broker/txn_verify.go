package broker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/txn"
)

// txnInquiry asks a transaction's coordinator about partitions that its producer writes to
// (KIP-890): to add them, or whether the producer has added them.
type txnInquiry struct {
	b          *Broker
	who        txn.Producer
	partitions []txn.Partition
	add        bool
	until      int64 // virtual ns up to which an end under way is waited for
	again      func()
	done       func(codes []int16)
}

// The producer's transaction before may not be complete everywhere yet; its partitions' leaders
// wait that long before they send the client to try again (AddPartitionsToTxnManager).
const (
	inquiryBackoff = 20 * time.Millisecond
	inquiryPatient = 100 * time.Millisecond
)

// inquire gives done a code for each partition, at once or later. It calls again before it asks
// once more: the marker of the transaction before has ended the verifications that were begun.
func (b *Broker) inquire(who txn.Producer, partitions []txn.Partition, add bool, again func(),
	done func(codes []int16)) {
	q := &txnInquiry{b: b, who: who, partitions: partitions, add: add, again: again, done: done,
		until: b.env.VirtualDue(inquiryPatient)}
	q.send()
}

func (q *txnInquiry) send() {
	_, leader, ok := q.b.coordinatorPartition(txn.Topic, q.who.TransactionalID)
	if !ok || leader == event.NoNode {
		q.all(kerr.CoordinatorNotAvailable.Code)
		return
	}
	t := kmsg.NewAddPartitionsToTxnRequestTransaction()
	t.TransactionalID, t.ProducerID, t.ProducerEpoch = q.who.TransactionalID, q.who.ID, q.who.Epoch
	t.VerifyOnly = !q.add
	for _, p := range q.partitions {
		t.Topics = append(t.Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic{Topic: p.Topic,
			Partitions: []int32{p.Index}})
	}
	request := kmsg.NewPtrAddPartitionsToTxnRequest()
	request.Version = 5
	request.Transactions = append(request.Transactions, t)
	q.b.askBroker(leader, request, q.answered)
}

func (q *txnInquiry) all(code int16) {
	codes := make([]int16, len(q.partitions))
	for i := range codes {
		codes[i] = code
	}
	q.done(codes)
}

func (q *txnInquiry) answered(response kmsg.Response) {
	body, ok := response.(*kmsg.AddPartitionsToTxnResponse)
	if !ok || len(body.Transactions) != 1 ||
		len(body.Transactions[0].Topics) != len(q.partitions) {
		q.all(kerr.NetworkException.Code)
		return
	}
	codes := make([]int16, len(q.partitions))
	busy := false
	for i, t := range body.Transactions[0].Topics {
		codes[i] = t.Partitions[0].ErrorCode
		busy = busy || codes[i] == kerr.ConcurrentTransactions.Code
	}
	if busy && q.add && q.b.env.VirtualNow() < q.until {
		q.b.env.AfterQuiet("transaction-inquiry", inquiryBackoff, func() {
			q.again()
			q.send()
		})
		return
	}
	q.done(codes)
}

// inquiryRefusal is what a producer is told, in a request of this kind, of a coordinator's code.
// older says that the client does not know TRANSACTION_ABORTABLE, waits that it tries again on
// CONCURRENT_TRANSACTIONS, and transient is the code that it does try again on.
func inquiryRefusal(code int16, older, waits bool, transient int16) int16 {
	switch code {
	case kerr.ProducerFenced.Code:
		return kerr.InvalidProducerEpoch.Code
	case kerr.TransactionAbortable.Code:
		if older {
			return kerr.InvalidTxnState.Code
		}
	case kerr.ConcurrentTransactions.Code:
		if !waits {
			return transient
		}
	case kerr.NetworkException.Code, kerr.CoordinatorLoadInProgress.Code,
		kerr.CoordinatorNotAvailable.Code, kerr.NotCoordinator.Code:
		return transient
	}
	return code
}
