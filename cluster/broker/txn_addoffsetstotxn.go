package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/group"
	"highwater/cluster/txn"
	"highwater/cluster/world"
)

// AddOffsetsToTxn, versions 0 to 4: a group's partition of __consumer_offsets becomes part of the
// transaction. Producers that let brokers add partitions do not send it.

func (b *Broker) addOffsetsToTxn(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.AddOffsetsToTxnRequest)
	done := func(code int16) {
		response := kmsg.NewPtrAddOffsetsToTxnResponse()
		response.Version, response.ErrorCode = r.Version, fencedBefore(r.Version, 2, code)
		b.answer(call, response, answered{code: response.ErrorCode})
	}
	if body.TransactionalID == "" {
		done(kerr.InvalidRequest.Code)
		return
	}
	c, code := b.txnCoordinator(body.TransactionalID)
	if code != 0 {
		done(code)
		return
	}
	partitions := b.config.Settings.OffsetsPartitions
	if topic := b.metadata.image.TopicByName(group.Topic); topic != nil {
		partitions = int32(len(topic.Partitions))
	} else {
		b.createInternal(b.offsetsTopic())
	}
	who := txn.Producer{TransactionalID: body.TransactionalID, ID: body.ProducerID,
		Epoch: body.ProducerEpoch}
	c.AddPartitions(who, []txn.Partition{{Topic: group.Topic,
		Index: group.PartitionFor(body.Group, partitions)}}, txn.VersionPlain, done)
}
