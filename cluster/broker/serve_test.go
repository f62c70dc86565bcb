package broker

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// answerAnything is a controller that answers whatever it is asked with an empty answer.
func answerAnything(_ string, body any) any {
	if request, ok := body.(*kmsg.AllocateProducerIDsRequest); ok {
		response := request.ResponseKind().(*kmsg.AllocateProducerIDsResponse)
		response.ProducerIDStart, response.ProducerIDLen = 4000, 1000
		return response
	}
	if request, ok := body.(kmsg.Request); ok {
		return request.ResponseKind()
	}
	return nil
}

func TestEveryServedVersionIsAnsweredInBytesThatItsClientCanRead(t *testing.T) {
	p := startBroker(t, registered(brokerID, false), topic(1, "orders"), led(1, 0, brokerID))
	p.controller.answer = answerAnything
	for _, served := range Served() {
		for version := served.Min; version <= served.Max; version++ {
			name := fmt.Sprintf("%s/%d", kmsg.NameForKey(served.Key), version)
			t.Run(name, func(t *testing.T) {
				request := kmsg.RequestForKey(served.Key)
				if produce, ok := request.(*kmsg.ProduceRequest); ok {
					produce.Acks = 1 // 0 asks for no answer
				}
				answer := p.send(version, request)
				p.until("answer", func() bool { return *answer != nil })
				response, ok := (*answer).(kmsg.Response)
				if fetched, isFetch := (*answer).(*FetchAnswer); isFetch {
					response, ok = fetched.Response, true
				}
				if !ok {
					t.Fatalf("the answer is %T", *answer)
				}
				if response.Key() != served.Key || response.GetVersion() != version {
					t.Fatalf("the answer is %T of version %d", response, response.GetVersion())
				}
				read := kmsg.ResponseForKey(served.Key)
				read.SetVersion(version)
				if err := read.ReadFrom(response.AppendTo(nil)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestVersionsOutsideTheTableCloseTheConnection(t *testing.T) {
	p := startBroker(t, registered(brokerID, false))
	for _, served := range Served() {
		for _, version := range []int16{served.Min - 1, served.Max + 1} {
			answer := p.send(version, kmsg.RequestForKey(served.Key))
			p.until("answer", func() bool { return *answer != nil })
			if _, closed := (*answer).(*Close); !closed {
				t.Errorf("%s %d is answered by %T", kmsg.NameForKey(served.Key), version, *answer)
			}
		}
	}
}
