package broker

import (
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/group"
	"highwater/cluster/world"
)

// FindCoordinator, versions 0 to 6, for groups: the leader of the group's partition of
// __consumer_offsets, which is created when it is first asked for. Skipped: transactional ids, until
// there is a transaction coordinator; they are refused with an error that clients treat as final,
// as InitProducerId does. Share groups are an invalid request.

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
			message = kerr.ErrorForCode(c.ErrorCode).Error()
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
			message = kerr.ErrorForCode(code).Error()
		}
		c.ErrorMessage = &message
		response.Coordinators = append(response.Coordinators, c)
	}
	b.answer(call, response, answered{code: code})
}

func (b *Broker) findOneCoordinator(key string, kind int8) kmsg.FindCoordinatorResponseCoordinator {
	c := kmsg.NewFindCoordinatorResponseCoordinator()
	c.Key, c.NodeID, c.Port = key, -1, -1
	switch kind {
	case coordinatorTypeGroup:
	case coordinatorTypeTransaction:
		c.ErrorCode = kerr.TransactionalIDAuthorizationFailed.Code
		return c
	default:
		c.ErrorCode = kerr.InvalidRequest.Code
		return c
	}
	c.ErrorCode = kerr.CoordinatorNotAvailable.Code
	topic := b.metadata.image.TopicByName(group.Topic)
	if topic == nil {
		b.createOffsetsTopic()
		return c
	}
	index := group.PartitionFor(key, int32(len(topic.Partitions)))
	p := b.metadata.image.Partition(group.Topic, index)
	if p == nil || p.Leader == event.NoNode || !b.reachable(p.Leader) {
		return c
	}
	if at, ok := b.metadata.image.Broker(p.Leader).Endpoint(ListenerName); ok {
		c.ErrorCode, c.NodeID = 0, int32(p.Leader)
		c.Host, c.Port = at.Host, int32(at.Port)
	}
	return c
}

// createOffsetsTopic asks the controller for __consumer_offsets, once at a time. A cluster with
// fewer brokers than offsets.topic.replication.factor gets as many copies as it has brokers.
func (b *Broker) createOffsetsTopic() {
	if b.groups.creating {
		return
	}
	s := &b.config.Settings
	live := 0
	for _, known := range b.metadata.image.Brokers() {
		if !known.Fenced {
			live++
		}
	}
	if live == 0 {
		return
	}
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions = group.Topic, s.OffsetsPartitions
	t.ReplicationFactor = min(s.OffsetsReplication, int16(live))
	segmentBytes := strconv.Itoa(int(s.OffsetsSegmentBytes))
	for _, c := range [][2]string{{"compression.type", "producer"}, {"cleanup.policy", "compact"},
		{"segment.bytes", segmentBytes}} {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = c[0], &c[1]
		t.Configs = append(t.Configs, config)
	}
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Version = 7
	request.TimeoutMillis = int32(forwardTimeout / time.Millisecond)
	request.Topics = append(request.Topics, t)
	b.groups.creating = true
	b.controller.call("CreateTopics", request, forwardTimeout, func(any, error) {
		b.groups.creating = false
	})
}
