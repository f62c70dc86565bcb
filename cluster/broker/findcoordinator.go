package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/world"
)

// FindCoordinator, versions 0 to 6, for groups and transactional ids: the leader of the id's
// partition of __consumer_offsets or __transaction_state, which is created when it is first asked
// for. Share groups are an invalid request.

const (
	coordinatorTypeGroup       = 0
	coordinatorTypeTransaction = 1
	coordinatorTypeShare       = 2
	// coordinatorKeysFrom is the version that asks for many at once.
	coordinatorKeysFrom = 4
)

func (b *Broker) findCoordinator(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.FindCoordinatorRequest)
	response := kmsg.NewPtrFindCoordinatorResponse()
	response.Version = r.Version
	if r.Version < coordinatorKeysFrom {
		c := b.findOneCoordinator(body.CoordinatorKey, body.CoordinatorType)
		response.ErrorCode, response.NodeID = c.ErrorCode, c.NodeID
		response.Host, response.Port = c.Host, c.Port
		message := "NONE"
		if c.ErrorCode != 0 {
			message = kerr.TypedErrorForCode(c.ErrorCode).Description
		}
		response.ErrorMessage = &message
		b.answer(call, response, answered{code: c.ErrorCode})
		return
	}
	var code int16
	for _, key := range body.CoordinatorKeys {
		c := b.findOneCoordinator(key, body.CoordinatorType)
		code = c.ErrorCode
		message := ""
		if code != 0 && body.CoordinatorType != coordinatorTypeShare {
			message = kerr.TypedErrorForCode(code).Description
		}
		c.ErrorMessage = &message
		response.Coordinators = append(response.Coordinators, c)
	}
	b.answer(call, response, answered{code: code})
}

func (b *Broker) findOneCoordinator(key string, kind int8) kmsg.FindCoordinatorResponseCoordinator {
	c := kmsg.NewFindCoordinatorResponseCoordinator()
	c.Key, c.NodeID, c.Port = key, -1, -1
	topic := b.offsetsTopic()
	switch kind {
	case coordinatorTypeGroup:
	case coordinatorTypeTransaction:
		topic = b.transactionsTopic()
	default:
		c.ErrorCode = kerr.InvalidRequest.Code
		return c
	}
	c.ErrorCode = kerr.CoordinatorNotAvailable.Code
	if b.metadata.image.TopicByName(topic.name) == nil {
		b.createInternal(topic)
		return c
	}
	_, leader, ok := b.coordinatorPartition(topic.name, key)
	if !ok {
		return c
	}
	if at, ok := b.metadata.image.Broker(leader).Endpoint(ListenerName); ok {
		c.ErrorCode, c.NodeID = 0, int32(leader)
		c.Host, c.Port = at.Host, int32(at.Port)
	}
	return c
}
