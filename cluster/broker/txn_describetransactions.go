package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/txn"
	"highwater/cluster/world"
)

// DescribeTransactions, version 0: transactional ids that this broker coordinates.

func (b *Broker) describeTransactions(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.DescribeTransactionsRequest)
	response := kmsg.NewPtrDescribeTransactionsResponse()
	response.Version = r.Version
	for _, id := range body.TransactionalIDs {
		response.TransactionStates = append(response.TransactionStates, b.describeTransaction(id))
	}
	b.answer(call, response, answered{})
}

func (b *Broker) describeTransaction(id string) (
	s kmsg.DescribeTransactionsResponseTransactionState) {
	s = kmsg.NewDescribeTransactionsResponseTransactionState()
	s.TransactionalID = id
	if id == "" {
		s.ErrorCode = kerr.InvalidRequest.Code
		return s
	}
	c, code := b.txnCoordinator(id)
	if code != 0 {
		s.ErrorCode = code
		return s
	}
	d, known := c.Describe(id)
	if !known {
		s.ErrorCode = kerr.TransactionalIDNotFound.Code
		return s
	}
	s.State, s.TimeoutMillis, s.StartTimestamp = d.State.String(), d.TimeoutMs, d.StartTimestamp
	s.ProducerID, s.ProducerEpoch = d.ProducerID, d.ProducerEpoch
	s.Topics = topicsOf(d.Partitions)
	return s
}

func topicsOf(partitions []txn.Partition) (
	topics []kmsg.DescribeTransactionsResponseTransactionStateTopic) {
	for _, p := range partitions {
		if n := len(topics); n == 0 || topics[n-1].Topic != p.Topic {
			topics = append(topics, kmsg.DescribeTransactionsResponseTransactionStateTopic{
				Topic: p.Topic})
		}
		last := &topics[len(topics)-1]
		last.Partitions = append(last.Partitions, p.Index)
	}
	return topics
}
