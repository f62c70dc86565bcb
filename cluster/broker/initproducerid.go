package broker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/world"
)

// InitProducerId, versions 0 to 5, for idempotent producers: a fresh id of epoch 0 from the block
// that the controllers gave this broker. Skipped: transactional ids, until there is a transaction
// coordinator; they are refused with an error that clients treat as final. An id and an epoch that
// a client without a transactional id sends along are ignored, as long as both are there.

const producerIDsTimeout = 5 * time.Second

// producerIDs is the block that this broker gives ids from.
type producerIDs struct {
	next, end int64
	asking    bool
	waiting   []*world.Call
}

func (b *Broker) initProducerID(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.InitProducerIDRequest)
	switch {
	case body.TransactionalID != nil && *body.TransactionalID == "":
		b.answerProducerID(call, -1, kerr.InvalidRequest.Code)
	case r.Version >= 3 && (body.ProducerID < 0) != (body.ProducerEpoch < 0):
		b.answerProducerID(call, -1, kerr.InvalidRequest.Code)
	case body.TransactionalID != nil:
		b.answerProducerID(call, -1, kerr.TransactionalIDAuthorizationFailed.Code)
	default:
		b.producerIDs.waiting = append(b.producerIDs.waiting, call)
		b.giveProducerIDs()
	}
}

func (b *Broker) answerProducerID(call *world.Call, id int64, code int16) {
	response := kmsg.NewPtrInitProducerIDResponse()
	response.Version = call.Body.(*Request).Version
	response.ErrorCode, response.ProducerID, response.ProducerEpoch = code, id, -1
	if code == 0 {
		response.ProducerEpoch = 0
	}
	b.answer(call, response, answered{code: code})
}

// giveProducerIDs answers who waits, asking the controllers for another block when this one is
// used up.
func (b *Broker) giveProducerIDs() {
	p := &b.producerIDs
	for len(p.waiting) > 0 && p.next < p.end {
		call := p.waiting[0]
		p.waiting = p.waiting[1:]
		p.next++
		b.answerProducerID(call, p.next-1, 0)
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
			for _, call := range waiting {
				b.answerProducerID(call, -1, kerr.CoordinatorLoadInProgress.Code)
			}
			return
		}
		p.next, p.end = block.ProducerIDStart, block.ProducerIDStart+int64(block.ProducerIDLen)
		b.giveProducerIDs()
	})
}
