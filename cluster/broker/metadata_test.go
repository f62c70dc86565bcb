package broker

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/metadata"
)

func metadataOf(names ...string) *kmsg.MetadataRequest {
	request := kmsg.NewPtrMetadataRequest()
	for _, name := range names {
		asked := kmsg.NewMetadataRequestTopic()
		asked.Topic = kmsg.StringPtr(name)
		request.Topics = append(request.Topics, asked)
	}
	return request
}

func TestMetadataNamesOnlyBrokersThatAreNotFenced(t *testing.T) {
	p := startBroker(t, registered(3, false), registered(2, true), registered(brokerID, false))
	response := ask[*kmsg.MetadataResponse](p, 12, metadataOf())
	var ids []int32
	for _, b := range response.Brokers {
		ids = append(ids, b.NodeID)
	}
	if !slices.Equal(ids, []int32{1, 3}) {
		t.Errorf("brokers %v, want 1 and 3 in order", ids)
	}
	if response.ControllerID != 1 {
		t.Errorf("controller %d, want a live broker that forwards: 1", response.ControllerID)
	}
	if response.ClusterID == nil || *response.ClusterID != testClusterID {
		t.Errorf("cluster id %v", response.ClusterID)
	}
}

func TestMetadataTellsOfOfflineReplicasAndLeaders(t *testing.T) {
	p := startBroker(t, registered(brokerID, false), registered(2, true), topic(1, "orders"),
		led(1, 0, brokerID, 2, 9), led(1, 1, 2, brokerID))
	response := ask[*kmsg.MetadataResponse](p, 12, metadataOf("orders"))
	partitions := response.Topics[0].Partitions
	if got := partitions[0].OfflineReplicas; !slices.Equal(got, []int32{2, 9}) {
		t.Errorf("offline replicas %v, want the fenced 2 and the unknown 9", got)
	}
	if partitions[0].Leader != 1 || partitions[0].LeaderEpoch != 3 || partitions[0].ErrorCode != 0 {
		t.Errorf("partition 0: leader %d, epoch %d, code %d", partitions[0].Leader,
			partitions[0].LeaderEpoch, partitions[0].ErrorCode)
	}
	if partitions[1].Leader != -1 || partitions[1].ErrorCode != kerr.LeaderNotAvailable.Code {
		t.Errorf("partition 1, whose leader is fenced: leader %d, code %d", partitions[1].Leader,
			partitions[1].ErrorCode)
	}
}

func TestMetadataOfAllTopicsIsSortedAndOfNoneIsEmpty(t *testing.T) {
	p := startBroker(t, registered(brokerID, false), topic(1, "b"), led(1, 0, brokerID),
		topic(2, "a"), led(2, 0, brokerID))
	names := func(version int16, request *kmsg.MetadataRequest) (list []string) {
		for _, topic := range ask[*kmsg.MetadataResponse](p, version, request).Topics {
			list = append(list, *topic.Topic)
		}
		return list
	}
	all := metadataOf()
	all.Topics = nil
	none := metadataOf()
	none.Topics = []kmsg.MetadataRequestTopic{}
	if got := names(12, all); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("all topics: %v", got)
	}
	if got := names(12, none); len(got) != 0 {
		t.Errorf("no topics: %v", got)
	}
	if got := names(0, none); len(got) != 2 {
		t.Errorf("no topics in version 0, which means all: %v", got)
	}
}

func TestMetadataCreatesMissingTopicsOnlyWhereThatIsAllowed(t *testing.T) {
	for _, c := range []struct {
		name    string
		version int16
		allow   bool
		enabled bool
		topic   string
		code    int16
		created bool
	}{
		{"allowed", 4, true, true, "new", kerr.UnknownTopicOrPartition.Code, true},
		{"not allowed", 4, false, true, "new", kerr.UnknownTopicOrPartition.Code, false},
		{"before version 4", 3, false, true, "new", kerr.UnknownTopicOrPartition.Code, true},
		{"switched off", 4, true, false, "new", kerr.UnknownTopicOrPartition.Code, false},
		{"not a name", 4, true, true, "no name", kerr.InvalidTopicException.Code, false},
		{"there already", 4, true, true, "orders", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			settings := DefaultSettings()
			settings.AutoCreateTopics = c.enabled
			p := startBrokerWith(t, Config{Settings: settings}, registered(brokerID, false),
				topic(1, "orders"), led(1, 0, brokerID))
			var created []string
			p.controller.answer = func(_ string, body any) any {
				for _, topic := range body.(*kmsg.CreateTopicsRequest).Topics {
					created = append(created, topic.Topic)
				}
				return kmsg.NewPtrCreateTopicsResponse()
			}
			request := metadataOf(c.topic)
			request.AllowAutoTopicCreation = c.allow
			response := ask[*kmsg.MetadataResponse](p, c.version, request)
			p.world.RunFor(controllerTimeout)
			if got := response.Topics[0].ErrorCode; got != c.code {
				t.Errorf("code %d, want %d", got, c.code)
			}
			if want := []string{c.topic}; c.created != slices.Equal(created, want) {
				t.Errorf("created %v, want it: %v", created, c.created)
			}
		})
	}
}

func TestMetadataFindsTopicsByID(t *testing.T) {
	p := startBroker(t, registered(brokerID, false), topic(1, "orders"), led(1, 0, brokerID))
	request := kmsg.NewPtrMetadataRequest()
	request.Topics = []kmsg.MetadataRequestTopic{{TopicID: topicID(1)}, {TopicID: topicID(9)}}
	topics := ask[*kmsg.MetadataResponse](p, 12, request).Topics
	if topics[0].ErrorCode != 0 || topics[0].Topic == nil || *topics[0].Topic != "orders" {
		t.Errorf("the known id: %+v", topics[0])
	}
	if topics[1].ErrorCode != kerr.UnknownTopicID.Code {
		t.Errorf("the unknown id: code %d, want UNKNOWN_TOPIC_ID", topics[1].ErrorCode)
	}
}

func TestDeletedTopicIsUnknownAsSoonAsTheBrokerHasReplayedIt(t *testing.T) {
	p := startBroker(t, registered(brokerID, false), topic(1, "orders"), led(1, 0, brokerID))
	p.commit(&metadata.RemoveTopicRecord{TopicID: topicID(1)})
	request := metadataOf("orders")
	request.AllowAutoTopicCreation = false
	response := ask[*kmsg.MetadataResponse](p, 12, request)
	if got := response.Topics[0].ErrorCode; got != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("code %d, want UNKNOWN_TOPIC_OR_PARTITION", got)
	}
}

// A client that misses a topic asks again many times before the topic is there.
func TestMissingTopicIsAskedOfTheControllerOnceAtATime(t *testing.T) {
	p := startBroker(t, registered(brokerID, false))
	request := metadataOf("new")
	request.AllowAutoTopicCreation = true
	for range 5 {
		ask[*kmsg.MetadataResponse](p, 12, request)
	}
	p.world.RunFor(0)
	if got := p.controller.asked["CreateTopics"]; got != 1 {
		t.Errorf("five requests made %d creations, want 1", got)
	}
	p.controller.answer = answerAnything
	p.world.RunFor(forwardTimeout)
	p.controller.asked = map[string]int{}
	ask[*kmsg.MetadataResponse](p, 12, request)
	p.world.RunFor(0)
	if got := p.controller.asked["CreateTopics"]; got != 1 {
		t.Errorf("after the answer %d creations, want 1: the topic is still missing", got)
	}
}

func TestMetadataDoesNotCreateTheClustersOwnTopics(t *testing.T) {
	p := startBroker(t, registered(brokerID, false))
	request := metadataOf("__consumer_offsets")
	request.AllowAutoTopicCreation = true
	response := ask[*kmsg.MetadataResponse](p, 12, request)
	p.world.RunFor(0)
	if got := response.Topics[0].ErrorCode; got != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("code %d, want UNKNOWN_TOPIC_OR_PARTITION", got)
	}
	if got := p.controller.asked["CreateTopics"]; got != 0 {
		t.Errorf("%d creations, want none", got)
	}
}
