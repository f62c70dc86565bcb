package broker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/world"
)

// Metadata, versions 0 to 13: the brokers that are not fenced and the topics asked for, by name or
// id, from the image that this broker has replayed. A topic that does not exist is created on the
// way where that is allowed; the first answer says that it is unknown. Without an authoriser
// everybody may do everything, and that is what the authorised operations say.

// Bits of AclOperation: all that can be done to a topic and to a cluster, and that nobody asked.
const (
	topicOperations   = 3576
	clusterOperations = 8096
	noOperations      = -2147483648
)

func (b *Broker) metadataRequest(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.MetadataRequest)
	response := kmsg.NewPtrMetadataResponse()
	response.Version = r.Version
	id := b.config.ClusterID
	response.ClusterID = &id
	response.ControllerID = -1
	response.AuthorizedOperations = noOperations
	if r.Version >= 8 && body.IncludeClusterAuthorizedOperations {
		response.AuthorizedOperations = clusterOperations
	}
	topics, ok := metadataTopics(body, r.Version)
	if !ok {
		b.answer(call, refuseMetadata(body, r.Version), answered{code: kerr.InvalidRequest.Code})
		return
	}
	for _, known := range b.metadata.image.Brokers() {
		at, ok := known.Endpoint(ListenerName)
		if known.Fenced || !ok {
			continue
		}
		n := kmsg.NewMetadataResponseBroker()
		n.NodeID, n.Host, n.Port, n.Rack = int32(known.ID), at.Host, int32(at.Port), known.Rack
		response.Brokers = append(response.Brokers, n)
		if response.ControllerID < 0 {
			response.ControllerID = n.NodeID
		}
	}
	if body.Topics == nil || r.Version == 0 && len(body.Topics) == 0 {
		for _, topic := range b.metadata.image.Topics() {
			response.Topics = append(response.Topics, b.describeTopic(topic))
		}
	}
	var missing []string
	for i := range topics {
		t, create := b.metadataTopic(&topics[i])
		response.Topics = append(response.Topics, t)
		if create != "" && (r.Version < 4 || body.AllowAutoTopicCreation) {
			missing = append(missing, create)
		}
	}
	if r.Version >= 8 && body.IncludeTopicAuthorizedOperations {
		for i := range response.Topics {
			if response.Topics[i].ErrorCode == 0 {
				response.Topics[i].AuthorizedOperations = topicOperations
			}
		}
	}
	if len(missing) > 0 && b.config.Settings.AutoCreateTopics {
		b.autoCreate(missing)
	}
	b.answer(call, response, answered{})
}

// metadataTopics is what a request asks for, each topic once. If any id is given, only ids count,
// whatever names stand beside them. Before version 12 topics are asked for by name only: otherwise
// ok is false.
func metadataTopics(body *kmsg.MetadataRequest, version int16) (
	topics []kmsg.MetadataRequestTopic, ok bool) {
	byID := false
	for i := range body.Topics {
		t := &body.Topics[i]
		hasID := !event.UUID(t.TopicID).IsZero()
		if version < 12 && (t.Topic == nil || hasID) {
			return nil, false
		}
		byID = byID || hasID
	}
	names, ids := map[string]bool{}, map[event.UUID]bool{}
	for _, t := range body.Topics {
		switch id := event.UUID(t.TopicID); {
		case byID && (id.IsZero() || ids[id]), !byID && t.Topic != nil && names[*t.Topic]:
			continue
		case byID:
			t.Topic = nil
			ids[id] = true
		case t.Topic != nil:
			names[*t.Topic] = true
		}
		topics = append(topics, t)
	}
	return topics, true
}

// refuseMetadata refuses the whole request: it tells of no broker.
func refuseMetadata(body *kmsg.MetadataRequest, version int16) *kmsg.MetadataResponse {
	response := kmsg.NewPtrMetadataResponse()
	response.Version = version
	for i := range body.Topics {
		t := kmsg.NewMetadataResponseTopic()
		name := ""
		if body.Topics[i].Topic != nil {
			name = *body.Topics[i].Topic
		}
		t.Topic, t.ErrorCode = &name, kerr.InvalidRequest.Code
		t.TopicID, t.AuthorizedOperations = body.Topics[i].TopicID, noOperations
		response.Topics = append(response.Topics, t)
	}
	return response
}

func (b *Broker) metadataTopic(asked *kmsg.MetadataRequestTopic) (
	t kmsg.MetadataResponseTopic, create string) {
	t = kmsg.NewMetadataResponseTopic()
	t.Topic, t.TopicID, t.AuthorizedOperations = asked.Topic, asked.TopicID, noOperations
	id := event.UUID(asked.TopicID)
	if asked.Topic == nil {
		if known := b.metadata.image.TopicByID(id); known != nil {
			return b.describeTopic(known), ""
		}
		t.ErrorCode = kerr.UnknownTopicID.Code
		return t, ""
	}
	if known := b.metadata.image.TopicByName(*asked.Topic); known != nil {
		return b.describeTopic(known), ""
	}
	if metadata.ValidateTopicName(*asked.Topic) != nil {
		t.ErrorCode = kerr.InvalidTopicException.Code
		return t, ""
	}
	t.ErrorCode = kerr.UnknownTopicOrPartition.Code
	return t, *asked.Topic
}

func (b *Broker) describeTopic(topic *metadata.Topic) kmsg.MetadataResponseTopic {
	t := kmsg.NewMetadataResponseTopic()
	name := topic.Name
	t.Topic, t.TopicID, t.IsInternal = &name, topic.ID, isInternal(name)
	t.AuthorizedOperations = noOperations
	for _, known := range topic.Partitions {
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Partition, p.Leader, p.LeaderEpoch = known.Index, int32(known.Leader), int32(known.LeaderEpoch)
		p.Replicas, p.ISR = ints(known.Replicas), ints(known.Isr)
		p.OfflineReplicas = b.offline(known.Replicas)
		if !b.reachable(known.Leader) {
			p.ErrorCode = kerr.LeaderNotAvailable.Code
			p.Leader = -1
		}
		t.Partitions = append(t.Partitions, p)
	}
	return t
}

// reachable says whether clients are told of a broker.
func (b *Broker) reachable(id event.NodeID) bool {
	known := b.metadata.image.Broker(id)
	return known != nil && !known.Fenced
}

// offline are those of a partition's replicas that clients are not told of.
func (b *Broker) offline(replicas []event.NodeID) []int32 {
	ids := []int32{}
	for _, id := range replicas {
		if !b.reachable(id) {
			ids = append(ids, int32(id))
		}
	}
	return ids
}

func ints(ids []event.NodeID) []int32 {
	list := make([]int32, 0, len(ids))
	for _, id := range ids {
		list = append(list, int32(id))
	}
	return list
}

// autoCreate asks the controller for topics, each only once at a time; nobody waits for the answer.
// The cluster's own topics are left to their coordinators, which give them other partition counts.
func (b *Broker) autoCreate(names []string) {
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Version = 7
	request.TimeoutMillis = int32(forwardTimeout / time.Millisecond)
	for _, name := range names {
		if b.creating[name] || isInternal(name) {
			continue
		}
		b.creating[name] = true
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
		request.Topics = append(request.Topics, t)
	}
	if len(request.Topics) == 0 {
		return
	}
	b.controller.call("CreateTopics", request, forwardTimeout, func(any, error) {
		for i := range request.Topics {
			delete(b.creating, request.Topics[i].Topic)
		}
	})
}
