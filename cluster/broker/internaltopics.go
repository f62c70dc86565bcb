package broker

import (
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/group"
	"highwater/cluster/txn"
)

// internalTopic is a coordinators' topic as a broker asks for it.
type internalTopic struct {
	name        string
	partitions  int32
	replication int16
	configs     [][2]string
}

func (b *Broker) offsetsTopic() internalTopic {
	s := &b.config.Settings
	return internalTopic{group.Topic, s.OffsetsPartitions, s.OffsetsReplication, [][2]string{
		{"compression.type", "producer"}, {"cleanup.policy", "compact"},
		{"segment.bytes", strconv.Itoa(int(s.OffsetsSegmentBytes))}}}
}

func (b *Broker) transactionsTopic() internalTopic {
	s := &b.config.Settings
	return internalTopic{txn.Topic, s.TransactionsPartitions, s.TransactionsReplication, [][2]string{
		{"unclean.leader.election.enable", "false"}, {"compression.type", "uncompressed"},
		{"cleanup.policy", "compact"},
		{"min.insync.replicas", strconv.Itoa(int(s.TransactionsMinIsr))},
		{"segment.bytes", strconv.Itoa(int(s.TransactionsSegmentBytes))}}}
}

// createInternal asks the controller for a coordinators' topic, once at a time. Brokers that are
// down get their copies too; while fewer than the replication factor have ever registered, the
// controller refuses and there is no coordinator, as in Kafka.
func (b *Broker) createInternal(topic internalTopic) {
	if b.creating[topic.name] {
		return
	}
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions = topic.name, topic.partitions
	t.ReplicationFactor = topic.replication
	for i := range topic.configs {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = topic.configs[i][0], &topic.configs[i][1]
		t.Configs = append(t.Configs, config)
	}
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Version = 7
	request.TimeoutMillis = int32(forwardTimeout / time.Millisecond)
	request.Topics = append(request.Topics, t)
	b.creating[topic.name] = true
	b.controller.call("CreateTopics", request, forwardTimeout, func(any, error) {
		delete(b.creating, topic.name)
	})
}

// coordinatorPartition is the partition of an internal topic that keeps a group or a transactional
// id, with its leader; ok is false when there is none to be asked.
func (b *Broker) coordinatorPartition(topic, key string) (index int32, leader event.NodeID, ok bool) {
	known := b.metadata.image.TopicByName(topic)
	if known == nil {
		return 0, event.NoNode, false
	}
	index = group.PartitionFor(key, int32(len(known.Partitions)))
	p := b.metadata.image.Partition(topic, index)
	if p == nil || p.Leader == event.NoNode || !b.reachable(p.Leader) {
		return index, event.NoNode, false
	}
	return index, p.Leader, true
}
