package broker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/txn"
	"highwater/cluster/world"
)

// InitProducerId, versions 0 to 5. Without a transactional id: a fresh producer id of epoch 0, from
// the block that the controllers gave this broker; an id and an epoch that the client sends along
// are ignored, as long as both are there. With one: the next epoch of the id's producer, from its
// coordinator. Skipped: two-phase commit (version 6, which no client may use yet).

const producerIDsTimeout = 5 * time.Second

// producerIDs is the block that this broker gives ids from.
type producerIDs struct {
	next, end int64
	asking    bool
	waiting   []func(id int64, code int16)
}

func (b *Broker) initProducerID(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.InitProducerIDRequest)
	refuse := func(code int16) {
		b.answerProducerID(call, txn.Identity{Code: code, ID: -1, Epoch: -1})
	}
	switch {
	case body.TransactionalID != nil && *body.TransactionalID == "":
		refuse(kerr.InvalidRequest.Code)
	case r.Version >= 3 && (body.ProducerID < 0) != (body.ProducerEpoch < 0):
		refuse(kerr.InvalidRequest.Code)
	case body.TransactionalID != nil:
		c, code := b.txnCoordinator(*body.TransactionalID)
		if code != 0 {
			refuse(code)
			return
		}
		asked := txn.Init{Producer: txn.Producer{TransactionalID: *body.TransactionalID, ID: -1,
			Epoch: -1}, TimeoutMs: body.TransactionTimeoutMillis}
		if r.Version >= 3 {
			asked.ID, asked.Epoch = body.ProducerID, body.ProducerEpoch
		}
		c.Init(asked, func(given txn.Identity) { b.answerProducerID(call, given) })
	default:
		b.producerID(func(id int64, code int16) {
			if code != 0 {
				refuse(code)
				return
			}
			b.answerProducerID(call, txn.Identity{ID: id})
		})
	}
}

func (b *Broker) answerProducerID(call *world.Call, given txn.Identity) {
	response := kmsg.NewPtrInitProducerIDResponse()
	response.Version = call.Body.(*Request).Version
	response.ErrorCode = fencedBefore(response.Version, 4, given.Code)
	response.ProducerID, response.ProducerEpoch = given.ID, given.Epoch
	b.answer(call, response, answered{code: response.ErrorCode})
}

// producerID gives an id that no producer has had, at once or after the controllers answered.
func (b *Broker) producerID(done func(id int64, code int16)) {
	b.producerIDs.waiting = append(b.producerIDs.waiting, done)
	b.giveProducerIDs()
}

// giveProducerIDs serves who waits, asking the controllers for another block when this one is used
// up.
func (b *Broker) giveProducerIDs() {
	p := &b.producerIDs
	for len(p.waiting) > 0 && p.next < p.end {
		done := p.waiting[0]
		p.waiting = p.waiting[1:]
		p.next++
		done(p.next-1, 0)
	}
	if len(p.waiting) == 0 || p.asking {
		return
	}
	p.asking = true
	request := kmsg.NewPtrAllocateProducerIDsRequest()
	request.BrokerID, request.BrokerEpoch = int32(b.env.ID()), b.session.epoch
	b.controller.call("AllocateProducerIds", request, producerIDsTimeout, func(body any, err error) {
		p.asking = false
		block, ok := body.(*kmsg.AllocateProducerIDsResponse)
		if err != nil || !ok || block.ErrorCode != 0 {
			waiting := p.waiting
			p.waiting = nil
			for _, done := range waiting {
				done(-1, kerr.CoordinatorLoadInProgress.Code)
			}
			return
		}
		p.next, p.end = block.ProducerIDStart, block.ProducerIDStart+int64(block.ProducerIDLen)
		b.giveProducerIDs()
	})
}
