package kit

import "github.com/twmb/franz-go/pkg/kmsg"

// AddPartitions builds a client's request (versions 0-3) for one partition.
func AddPartitions(
	id string,
	producer Producer,
	topic string,
	partitions ...int32,
) *kmsg.AddPartitionsToTxnRequest {
	request := kmsg.NewPtrAddPartitionsToTxnRequest()
	request.TransactionalID, request.ProducerID, request.ProducerEpoch = id, producer.ID, producer.Epoch
	t := kmsg.NewAddPartitionsToTxnRequestTopic()
	t.Topic, t.Partitions = topic, partitions
	request.Topics = append(request.Topics, t)
	return request
}

// EndTxn builds a commit or an abort.
func EndTxn(id string, producer Producer, commit bool) *kmsg.EndTxnRequest {
	request := kmsg.NewPtrEndTxnRequest()
	request.TransactionalID, request.ProducerID, request.ProducerEpoch = id, producer.ID, producer.Epoch
	request.Commit = commit
	return request
}

// InitProducer builds a request for a transactional id; an empty id is null.
func InitProducer(id string, timeoutMillis int32) *kmsg.InitProducerIDRequest {
	request := kmsg.NewPtrInitProducerIDRequest()
	request.TransactionTimeoutMillis = timeoutMillis
	if id != "" {
		request.TransactionalID = &id
	}
	return request
}

// AddOffsets builds the request that adds a group to a transaction.
func AddOffsets(id string, producer Producer, group string) *kmsg.AddOffsetsToTxnRequest {
	request := kmsg.NewPtrAddOffsetsToTxnRequest()
	request.TransactionalID, request.ProducerID, request.ProducerEpoch = id, producer.ID, producer.Epoch
	request.Group = group
	return request
}

// TxnOffsetCommit builds a commit of one partition without a generation.
func TxnOffsetCommit(
	id string,
	producer Producer,
	group string,
	topic Topic,
	offset int64,
) *kmsg.TxnOffsetCommitRequest {
	request := kmsg.NewPtrTxnOffsetCommitRequest()
	request.TransactionalID, request.Group = id, group
	request.ProducerID, request.ProducerEpoch = producer.ID, producer.Epoch
	request.Generation = -1
	t := kmsg.NewTxnOffsetCommitRequestTopic()
	t.Topic, t.TopicID = topic.Name, topic.ID
	q := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	q.Offset = offset
	t.Partitions = append(t.Partitions, q)
	request.Topics = append(request.Topics, t)
	return request
}

// ProduceInTransaction is Produce to partition 0 with a transactional id.
func ProduceInTransaction(id string, topic Topic, batch *Batch) *kmsg.ProduceRequest {
	request := Produce(topic, 0, -1, batch.InTransaction())
	request.TransactionID = &id
	return request
}

// Transaction writes values to partition 0 of a topic and ends the transaction in the
// first protocol (explicit partitions, unchanged epoch); it returns when the marker is written.
func (p *P) Transaction(
	c *Conn,
	id string,
	producer Producer,
	topic Topic,
	sequence int32,
	commit bool,
	values ...string,
) {
	p.OpenTransaction(c, id, producer, topic, sequence, values...)
	end := Ask[*kmsg.EndTxnResponse](p, c, 3, EndTxn(id, producer, commit))
	if end.ErrorCode != 0 {
		p.Fail("end transaction: %s", ErrorName(end.ErrorCode))
	}
	p.AwaitTransaction(c, id)
}

// OpenTransaction writes values to partition 0 of a topic and leaves the transaction open.
func (p *P) OpenTransaction(
	c *Conn, id string, producer Producer, topic Topic, sequence int32, values ...string,
) {
	p.Await("the partition in the transaction", func() bool {
		added := Ask[*kmsg.AddPartitionsToTxnResponse](
			p,
			c,
			3,
			AddPartitions(id, producer, topic.Name, 0),
		)
		code := added.Topics[0].Partitions[0].ErrorCode
		if code != 0 && code != codeConcurrentTransactions {
			p.Fail("add partition: %s", ErrorName(code))
		}
		return code == 0
	})
	batch := p.Values(values...).From(producer, sequence)
	response := Ask[*kmsg.ProduceResponse](
		p,
		p.Broker(0),
		11,
		ProduceInTransaction(id, topic, batch),
	)
	if code := response.Topics[0].Partitions[0].ErrorCode; code != 0 {
		p.Fail("produce in transaction: %s", ErrorName(code))
	}
}

// AwaitTransaction waits until the coordinator has completed the last transaction.
func (p *P) AwaitTransaction(c *Conn, id string) {
	p.Await("the end of the transaction", func() bool {
		request := kmsg.NewPtrDescribeTransactionsRequest()
		request.TransactionalIDs = []string{id}
		state := Ask[*kmsg.DescribeTransactionsResponse](p, c, 0, request).TransactionStates[0].State
		return state == "CompleteCommit" || state == "CompleteAbort" || state == "Empty"
	})
}
