package broker

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestBrokerRefusesWhatOnlyItCanJudgeAndForwardsTheRest(t *testing.T) {
	p := startBroker(t, registered(brokerID, false), topic(1, "orders"), led(1, 0, brokerID))
	var forwarded []string
	p.controller.answer = func(_ string, body any) any {
		request := body.(*kmsg.IncrementalAlterConfigsRequest)
		response := kmsg.NewPtrIncrementalAlterConfigsResponse()
		for _, r := range request.Resources {
			forwarded = append(forwarded, r.ResourceName)
			response.Resources = append(response.Resources,
				kmsg.IncrementalAlterConfigsResponseResource{ResourceType: r.ResourceType,
					ResourceName: r.ResourceName})
		}
		return response
	}
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	add := func(kind kmsg.ConfigResourceType, name, key string, value *string) {
		request.Resources = append(request.Resources,
			kmsg.IncrementalAlterConfigsRequestResource{ResourceType: kind, ResourceName: name,
				Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{
					{Name: key, Value: value}}})
	}
	one := "1"
	add(kmsg.ConfigResourceTypeTopic, "null", "retention.ms", nil)
	add(kmsg.ConfigResourceTypeTopic, "orders", "retention.ms", &one)
	add(kmsg.ConfigResourceTypeTopic, "twice", "retention.ms", &one)
	add(kmsg.ConfigResourceTypeTopic, "twice", "segment.ms", &one)
	add(kmsg.ConfigResourceTypeBroker, "1", "log.dirs", &one)
	add(kmsg.ConfigResourceTypeBroker, "2", "log.cleaner.threads", &one)
	add(kmsg.ConfigResourceTypeBroker, "x", "log.cleaner.threads", &one)
	add(kmsg.ConfigResourceTypeBroker, "", "log.cleaner.threads", &one)
	got := codes(ask[*kmsg.IncrementalAlterConfigsResponse](p, 1, request))
	no := kerr.InvalidRequest.Code
	if !slices.Equal(got, []int16{no, 0, no, no, no, no, no, 0}) {
		t.Errorf("codes %v", got)
	}
	if !slices.Equal(forwarded, []string{"orders", ""}) {
		t.Errorf("forwarded %q", forwarded)
	}
}

func TestEveryTopicAndBrokerIsListedAsAConfigResource(t *testing.T) {
	p := startBroker(t, registered(brokerID, false), registered(2, true), topic(1, "orders"),
		led(1, 0, brokerID))
	list := func(version int16, kinds ...int8) (names []string, code int16) {
		request := kmsg.NewPtrListConfigResourcesRequest()
		request.ResourceTypes = kinds
		response := ask[*kmsg.ListConfigResourcesResponse](p, version, request)
		for _, r := range response.ConfigResources {
			names = append(names, r.Name)
		}
		return names, response.ErrorCode
	}
	names, code := list(1, 2, 4, 4)
	if code != 0 || !slices.Equal(names, []string{"orders", "1", "2"}) {
		t.Errorf("topics and brokers: %q, %d", names, code)
	}
	if names, code := list(0); code != 0 || len(names) != 0 {
		t.Errorf("client metrics: %q, %d", names, code)
	}
	if names, code := list(1, 2, 77); code != kerr.UnsupportedVersion.Code || len(names) != 0 {
		t.Errorf("an unknown type: %q, %d", names, code)
	}
}
