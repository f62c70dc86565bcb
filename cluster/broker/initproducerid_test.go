package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func initProducer(transactionalID *string) *kmsg.InitProducerIDRequest {
	request := kmsg.NewPtrInitProducerIDRequest()
	request.TransactionalID = transactionalID
	return request
}

// allocator gives out blocks of a size, one after the other.
func allocator(size int32) func(string, any) any {
	next := int64(5000)
	return func(_ string, body any) any {
		request := body.(*kmsg.AllocateProducerIDsRequest)
		response := request.ResponseKind().(*kmsg.AllocateProducerIDsResponse)
		response.ProducerIDStart, response.ProducerIDLen = next, size
		next += int64(size)
		return response
	}
}

func TestProducerIDsNeverRepeatAcrossBlocks(t *testing.T) {
	p := startBroker(t, registered(brokerID, false))
	p.controller.answer = allocator(3)
	for i := range int64(10) {
		response := ask[*kmsg.InitProducerIDResponse](p, 4, initProducer(nil))
		if response.ErrorCode != 0 || response.ProducerID != 5000+i || response.ProducerEpoch != 0 {
			t.Fatalf("producer %d: %+v", i, response)
		}
	}
	if got := p.controller.asked["AllocateProducerIds"]; got != 4 {
		t.Errorf("%d blocks were asked for, want 4 of three ids", got)
	}
}

func TestProducersThatWaitForABlockShareIt(t *testing.T) {
	p := startBroker(t, registered(brokerID, false))
	p.controller.answer = allocator(1000)
	var answers []*any
	for range 5 {
		answers = append(answers, p.send(4, initProducer(nil)))
	}
	seen := map[int64]bool{}
	for _, answer := range answers {
		p.until("answer", func() bool { return *answer != nil })
		seen[(*answer).(*kmsg.InitProducerIDResponse).ProducerID] = true
	}
	if len(seen) != 5 {
		t.Errorf("five producers got the ids %v", seen)
	}
	if got := p.controller.asked["AllocateProducerIds"]; got != 1 {
		t.Errorf("%d blocks were asked for, want 1", got)
	}
}

func TestProducerWithoutABlockIsToldToTryAgain(t *testing.T) {
	p := startBroker(t, registered(brokerID, false))
	response := ask[*kmsg.InitProducerIDResponse](p, 4, initProducer(nil))
	refused := kerr.ErrorForCode(response.ErrorCode)
	if refused == nil || !kerr.IsRetriable(refused) {
		t.Errorf("%v, want an error after which clients try again", refused)
	}
	p.controller.answer = allocator(1000)
	if again := ask[*kmsg.InitProducerIDResponse](p, 4, initProducer(nil)); again.ErrorCode != 0 {
		t.Errorf("once a controller answers: code %d", again.ErrorCode)
	}
}

func TestTransactionalIDsAreTheirCoordinatorsAlone(t *testing.T) {
	p := startBroker(t, registered(brokerID, false))
	p.controller.answer = allocator(1000)
	response := ask[*kmsg.InitProducerIDResponse](p, 4, initProducer(kmsg.StringPtr("billing")))
	if response.ErrorCode != kerr.NotCoordinator.Code || response.ProducerID != -1 {
		t.Errorf("not the coordinator: code %d and id %d", response.ErrorCode, response.ProducerID)
	}
	empty := ask[*kmsg.InitProducerIDResponse](p, 4, initProducer(kmsg.StringPtr("")))
	if empty.ErrorCode != kerr.InvalidRequest.Code {
		t.Errorf("an empty transactional id: code %d, want INVALID_REQUEST", empty.ErrorCode)
	}
}
