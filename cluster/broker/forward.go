package broker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/world"
)

// What only a controller decides, forwarded to the active one as a KRaft broker does: CreateTopics
// 2 to 7, DeleteTopics 1 to 6, CreatePartitions 0 to 3, ElectLeaders 0 to 2, DescribeQuorum 0 to 2.
// The client never hears of the controllers.

const forwardTimeout = 30 * time.Second

// forward sends the request on and answers with what comes back; unanswered makes the answer when
// no controller does.
func (b *Broker) forward(call *world.Call, r *Request, unanswered func() kmsg.Response) {
	r.Body.SetVersion(r.Version)
	b.controller.call(kmsg.NameForKey(r.Key), r.Body, forwardTimeout, func(body any, err error) {
		response, ok := body.(kmsg.Response)
		if err != nil || !ok {
			response = unanswered()
		}
		response.SetVersion(r.Version)
		b.answer(call, response, forwardedFacts(response))
	})
}

// forwardedFacts names the first thing that was refused, or else the first that was asked for.
func forwardedFacts(response kmsg.Response) (told answered) {
	note := func(code int16, topic string, partition int32) {
		if told.code == 0 && (code != 0 || told.topic == "") {
			told = answered{code: code, topic: topic, partition: partition}
		}
	}
	switch body := response.(type) {
	case *kmsg.CreateTopicsResponse:
		for i := range body.Topics {
			note(body.Topics[i].ErrorCode, body.Topics[i].Topic, 0)
		}
	case *kmsg.DeleteTopicsResponse:
		for i := range body.Topics {
			name := ""
			if body.Topics[i].Topic != nil {
				name = *body.Topics[i].Topic
			}
			note(body.Topics[i].ErrorCode, name, 0)
		}
	case *kmsg.CreatePartitionsResponse:
		for i := range body.Topics {
			note(body.Topics[i].ErrorCode, body.Topics[i].Topic, 0)
		}
	case *kmsg.AlterConfigsResponse:
		for i := range body.Resources {
			note(body.Resources[i].ErrorCode, "", 0)
		}
	case *kmsg.IncrementalAlterConfigsResponse:
		for i := range body.Resources {
			note(body.Resources[i].ErrorCode, "", 0)
		}
	case *kmsg.ElectLeadersResponse:
		note(body.ErrorCode, "", 0)
		for i := range body.Topics {
			t := &body.Topics[i]
			for j := range t.Partitions {
				note(t.Partitions[j].ErrorCode, t.Topic, t.Partitions[j].Partition)
			}
		}
	case *kmsg.DescribeQuorumResponse:
		note(body.ErrorCode, "", 0)
	}
	return told
}

func (b *Broker) createTopics(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.CreateTopicsRequest)
	b.forward(call, r, func() kmsg.Response {
		response := kmsg.NewPtrCreateTopicsResponse()
		for i := range body.Topics {
			t := kmsg.NewCreateTopicsResponseTopic()
			t.Topic, t.ErrorCode = body.Topics[i].Topic, kerr.RequestTimedOut.Code
			response.Topics = append(response.Topics, t)
		}
		return response
	})
}

func (b *Broker) deleteTopics(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.DeleteTopicsRequest)
	b.forward(call, r, func() kmsg.Response {
		response := kmsg.NewPtrDeleteTopicsResponse()
		for i := range body.TopicNames {
			t := kmsg.NewDeleteTopicsResponseTopic()
			t.Topic, t.ErrorCode = &body.TopicNames[i], kerr.RequestTimedOut.Code
			response.Topics = append(response.Topics, t)
		}
		for i := range body.Topics {
			t := kmsg.NewDeleteTopicsResponseTopic()
			t.Topic, t.TopicID = body.Topics[i].Topic, body.Topics[i].TopicID
			t.ErrorCode = kerr.RequestTimedOut.Code
			response.Topics = append(response.Topics, t)
		}
		return response
	})
}

func (b *Broker) createPartitions(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.CreatePartitionsRequest)
	b.forward(call, r, func() kmsg.Response {
		response := kmsg.NewPtrCreatePartitionsResponse()
		for i := range body.Topics {
			t := kmsg.NewCreatePartitionsResponseTopic()
			t.Topic, t.ErrorCode = body.Topics[i].Topic, kerr.RequestTimedOut.Code
			response.Topics = append(response.Topics, t)
		}
		return response
	})
}

// electLeaders tells each partition of a timeout too: version 0 has no other place for an error.
func (b *Broker) electLeaders(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.ElectLeadersRequest)
	b.forward(call, r, func() kmsg.Response {
		response := kmsg.NewPtrElectLeadersResponse()
		response.ErrorCode = kerr.RequestTimedOut.Code
		for i := range body.Topics {
			t := kmsg.NewElectLeadersResponseTopic()
			t.Topic = body.Topics[i].Topic
			for _, index := range body.Topics[i].Partitions {
				p := kmsg.NewElectLeadersResponseTopicPartition()
				p.Partition, p.ErrorCode = index, kerr.RequestTimedOut.Code
				t.Partitions = append(t.Partitions, p)
			}
			response.Topics = append(response.Topics, t)
		}
		return response
	})
}

func (b *Broker) describeQuorum(call *world.Call, r *Request) {
	b.forward(call, r, func() kmsg.Response {
		response := kmsg.NewPtrDescribeQuorumResponse()
		response.ErrorCode = kerr.RequestTimedOut.Code
		return response
	})
}
