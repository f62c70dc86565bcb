package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/txn"
	"highwater/cluster/world"
)

// AddPartitionsToTxn, versions 0 to 3 of producers, for one transaction, and 4 and 5 of brokers,
// for any number: they add what a producer writes to, or only verify that the producer has added
// it. A transaction gets all of its partitions or none. Answered when that is committed.

// manyTransactionsFrom is the version that speaks of several transactions.
const manyTransactionsFrom = 4

func (b *Broker) addPartitionsToTxn(call *world.Call, r *Request) {
	b.takePartitions(r.Body.(*kmsg.AddPartitionsToTxnRequest), func(response kmsg.Response) {
		response.SetVersion(r.Version)
		b.answer(call, response, answered{code: response.(*kmsg.AddPartitionsToTxnResponse).ErrorCode})
	})
}

// addingPartitions is one request under way.
type addingPartitions struct {
	b        *Broker
	response *kmsg.AddPartitionsToTxnResponse
	open     int // transactions without a decision
	reply    func(kmsg.Response)
}

func (b *Broker) takePartitions(body *kmsg.AddPartitionsToTxnRequest,
	reply func(kmsg.Response)) {
	a := &addingPartitions{b: b, response: kmsg.NewPtrAddPartitionsToTxnResponse(), reply: reply}
	a.response.Version = body.Version
	asked := body.Transactions
	if body.Version < manyTransactionsFrom {
		one := kmsg.NewAddPartitionsToTxnRequestTransaction()
		one.TransactionalID, one.ProducerID = body.TransactionalID, body.ProducerID
		one.ProducerEpoch = body.ProducerEpoch
		for _, t := range body.Topics {
			one.Topics = append(one.Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic{
				Topic: t.Topic, Partitions: t.Partitions})
		}
		asked = []kmsg.AddPartitionsToTxnRequestTransaction{one}
	}
	a.response.Transactions = make([]kmsg.AddPartitionsToTxnResponseTransaction, len(asked))
	a.open = len(asked)
	if a.open == 0 {
		reply(a.response)
	}
	for i := range asked {
		a.transaction(&asked[i], &a.response.Transactions[i], body.Version)
	}
}

// transaction decides about one transaction's partitions.
func (a *addingPartitions) transaction(asked *kmsg.AddPartitionsToTxnRequestTransaction,
	out *kmsg.AddPartitionsToTxnResponseTransaction, version int16) {
	partitions, missing := a.list(asked, out)
	decide := func(codes func(i int) int16) {
		i := 0
		for t := range out.Topics {
			rows := out.Topics[t].Partitions
			for p := range rows {
				if rows[p].ErrorCode == 0 {
					rows[p].ErrorCode = fencedBefore(version, 2, codes(i))
				}
				i++
			}
		}
		a.decided()
	}
	all := func(code int16) { decide(func(int) int16 { return code }) }
	c, code := a.b.txnCoordinator(asked.TransactionalID)
	switch {
	case asked.TransactionalID == "":
		code = kerr.InvalidRequest.Code
	case missing:
		code = kerr.OperationNotAttempted.Code
	}
	who := txn.Producer{TransactionalID: asked.TransactionalID, ID: asked.ProducerID,
		Epoch: asked.ProducerEpoch}
	switch {
	case code != 0:
		all(code)
	case asked.VerifyOnly:
		codes := c.Verify(who, partitions)
		decide(func(i int) int16 { return codes[i] })
	case version < manyTransactionsFrom:
		c.AddPartitions(who, partitions, txn.VersionPlain, all)
	default:
		c.AddPartitions(who, partitions, txn.VersionEpochBumps, all)
	}
}

// list makes the rows of the answer, and marks those of partitions that do not exist.
func (a *addingPartitions) list(asked *kmsg.AddPartitionsToTxnRequestTransaction,
	out *kmsg.AddPartitionsToTxnResponseTransaction) (partitions []txn.Partition, missing bool) {
	*out = kmsg.NewAddPartitionsToTxnResponseTransaction()
	out.TransactionalID = asked.TransactionalID
	for _, t := range asked.Topics {
		topic := kmsg.NewAddPartitionsToTxnResponseTransactionTopic()
		topic.Topic = t.Topic
		for _, index := range t.Partitions {
			row := kmsg.NewAddPartitionsToTxnResponseTransactionTopicPartition()
			row.Partition = index
			if a.b.metadata.image.Partition(t.Topic, index) == nil {
				row.ErrorCode, missing = kerr.UnknownTopicOrPartition.Code, true
			}
			topic.Partitions = append(topic.Partitions, row)
			partitions = append(partitions, txn.Partition{Topic: t.Topic, Index: index})
		}
		out.Topics = append(out.Topics, topic)
	}
	return partitions, missing
}

// decided answers once every transaction is.
func (a *addingPartitions) decided() {
	if a.open--; a.open > 0 {
		return
	}
	if a.response.Version < manyTransactionsFrom {
		for _, t := range a.response.Transactions[0].Topics {
			topic := kmsg.NewAddPartitionsToTxnResponseTopic()
			topic.Topic = t.Topic
			for _, p := range t.Partitions {
				topic.Partitions = append(topic.Partitions,
					kmsg.AddPartitionsToTxnResponseTopicPartition(p))
			}
			a.response.Topics = append(a.response.Topics, topic)
		}
		a.response.Transactions = nil
	}
	a.reply(a.response)
}
