package broker

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// everyForwarded asks for two things by each API that a controller answers.
func everyForwarded() []kmsg.Request {
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "a"}, {Topic: "b"}}
	a, b := "a", "b"
	remove := kmsg.NewPtrDeleteTopicsRequest()
	remove.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: &a}, {Topic: &b}}
	grow := kmsg.NewPtrCreatePartitionsRequest()
	grow.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "a"}, {Topic: "b"}}
	alter := kmsg.NewPtrAlterConfigsRequest()
	alter.Resources = []kmsg.AlterConfigsRequestResource{
		{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "a"},
		{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "b"}}
	change := kmsg.NewPtrIncrementalAlterConfigsRequest()
	change.Resources = []kmsg.IncrementalAlterConfigsRequestResource{
		{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "a"},
		{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "b"}}
	return []kmsg.Request{create, remove, grow, alter, change, elections()}
}

func elections() *kmsg.ElectLeadersRequest {
	elect := kmsg.NewPtrElectLeadersRequest()
	elect.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "a", Partitions: []int32{0, 1}}}
	return elect
}

// codes lists the error code of every item that a response tells of.
func codes(response kmsg.Response) (list []int16) {
	switch body := response.(type) {
	case *kmsg.CreateTopicsResponse:
		for _, t := range body.Topics {
			list = append(list, t.ErrorCode)
		}
	case *kmsg.DeleteTopicsResponse:
		for _, t := range body.Topics {
			list = append(list, t.ErrorCode)
		}
	case *kmsg.CreatePartitionsResponse:
		for _, t := range body.Topics {
			list = append(list, t.ErrorCode)
		}
	case *kmsg.AlterConfigsResponse:
		for _, r := range body.Resources {
			list = append(list, r.ErrorCode)
		}
	case *kmsg.IncrementalAlterConfigsResponse:
		for _, r := range body.Resources {
			list = append(list, r.ErrorCode)
		}
	case *kmsg.ElectLeadersResponse:
		for _, t := range body.Topics {
			for _, p := range t.Partitions {
				list = append(list, p.ErrorCode)
			}
		}
	}
	return list
}

func TestRequestThatNoControllerAnswersTimesOutItemByItem(t *testing.T) {
	for _, request := range everyForwarded() {
		name := kmsg.NameForKey(request.Key())
		t.Run(name, func(t *testing.T) {
			p := startBroker(t, registered(brokerID, false), topic(1, "a"),
				led(1, 0, brokerID), topic(2, "b"), led(2, 0, brokerID))
			response := ask[kmsg.Response](p, request.MaxVersion(), request)
			got := codes(response)
			if len(got) != 2 {
				t.Fatalf("%d items are answered, want 2", len(got))
			}
			for i, code := range got {
				if code != kerr.RequestTimedOut.Code {
					t.Errorf("item %d has code %d, want REQUEST_TIMED_OUT", i, code)
				}
			}
			if p.controller.asked[name] < 2 {
				t.Errorf("the controllers were asked %d times: a lost request must be tried again",
					p.controller.asked[name])
			}
		})
	}
}

// Version 0 of ElectLeaders has no error of its own: without those of the partitions a timeout
// would read as a success.
func TestElectLeadersTellsEveryPartitionOfATimeoutInVersionZero(t *testing.T) {
	p := startBroker(t, registered(brokerID, false))
	response := ask[*kmsg.ElectLeadersResponse](p, 0, elections())
	read := kmsg.NewPtrElectLeadersResponse()
	if err := read.ReadFrom(response.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	if got := codes(read); len(got) != 2 || got[0] != kerr.RequestTimedOut.Code ||
		got[1] != kerr.RequestTimedOut.Code {
		t.Errorf("codes on the wire: %v", got)
	}
}

func TestDescribeQuorumThatNoControllerAnswersTimesOut(t *testing.T) {
	p := startBroker(t, registered(brokerID, false))
	response := ask[*kmsg.DescribeQuorumResponse](p, 2, kmsg.NewPtrDescribeQuorumRequest())
	if response.ErrorCode != kerr.RequestTimedOut.Code {
		t.Errorf("code %d, want REQUEST_TIMED_OUT", response.ErrorCode)
	}
}

func TestControllersAnswerGoesBackInTheClientsVersion(t *testing.T) {
	p := startBroker(t, registered(brokerID, false))
	var seen int16
	p.controller.answer = func(_ string, body any) any {
		request, ok := body.(*kmsg.CreateTopicsRequest)
		if !ok {
			return nil
		}
		seen = request.Version
		response := kmsg.NewPtrCreateTopicsResponse()
		for _, asked := range request.Topics {
			answer := kmsg.NewCreateTopicsResponseTopic()
			answer.Topic = asked.Topic
			if asked.Topic == "b" {
				answer.ErrorCode = kerr.TopicAlreadyExists.Code
			}
			response.Topics = append(response.Topics, answer)
		}
		return response
	}
	response := ask[*kmsg.CreateTopicsResponse](p, 4, everyForwarded()[0])
	if seen != 4 {
		t.Errorf("the controller saw version %d, want the client's 4", seen)
	}
	if got := codes(response); got[0] != 0 || got[1] != kerr.TopicAlreadyExists.Code {
		t.Errorf("codes %v, want 0 and TOPIC_ALREADY_EXISTS", got)
	}
	p.world.RunFor(0)
	if len(p.events.lines) != 1 || !strings.Contains(p.events.lines[0], `"topic":"b"`) {
		t.Errorf("the event must name the topic that was refused: %v", p.events.lines)
	}
}

func TestForwardedRequestLooksForTheNewController(t *testing.T) {
	p := startBroker(t, registered(brokerID, false))
	refused := false
	p.controller.answer = func(_ string, body any) any {
		if !refused {
			refused = true
			return notController()
		}
		return kmsg.NewPtrDescribeQuorumResponse()
	}
	response := ask[*kmsg.DescribeQuorumResponse](p, 1, kmsg.NewPtrDescribeQuorumRequest())
	if response.ErrorCode != 0 || p.controller.asked["DescribeQuorum"] != 2 {
		t.Errorf("code %d after %d requests, want 0 after 2", response.ErrorCode,
			p.controller.asked["DescribeQuorum"])
	}
}
