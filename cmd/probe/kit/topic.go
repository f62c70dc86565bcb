package kit

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	createTimeoutMillis = 5000
	codeUnknownTopic    = 3
)

// Topic is a topic with a fixed placement: the replicas of partition n start at broker n.
type Topic struct {
	Name string
	ID   [16]byte
}

// Topic creates a topic with three replicas and the given "key=value" configs and waits until
// every leader serves it. Partition n is led by broker n mod 3.
func (p *P) Topic(label string, partitions int, configs ...string) Topic {
	return p.TopicWithReplicas(label, partitions, len(p.cluster.brokers), configs...)
}

// TopicWithReplicas is Topic with a chosen number of replicas.
func (p *P) TopicWithReplicas(label string, partitions, replicas int, configs ...string) Topic {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic = p.Name(label)
	topic.NumPartitions, topic.ReplicationFactor = -1, -1
	for n := range partitions {
		assignment := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		assignment.Partition = int32(n)
		for r := range replicas {
			assignment.Replicas = append(assignment.Replicas, p.BrokerID(n+r))
		}
		topic.ReplicaAssignment = append(topic.ReplicaAssignment, assignment)
	}
	for _, config := range configs {
		key, value, _ := strings.Cut(config, "=")
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = key, &value
		topic.Configs = append(topic.Configs, c)
	}
	request := kmsg.NewPtrCreateTopicsRequest()
	request.TimeoutMillis = createTimeoutMillis
	request.Topics = append(request.Topics, topic)
	response := Ask[*kmsg.CreateTopicsResponse](p, p.Broker(0), 7, request)
	if len(response.Topics) != 1 || response.Topics[0].ErrorCode != 0 {
		p.Fail("create topic: %+v", response.Topics)
	}
	created := Topic{topic.Topic, response.Topics[0].TopicID}
	p.HideID(created.ID, "<"+label+"-id>")
	p.topics = append(p.topics, created.Name)
	p.AwaitTopic(created.Name, partitions)
	return created
}

// AwaitTopic waits until every broker knows the topic and every leader answers for its partitions.
func (p *P) AwaitTopic(name string, partitions int) {
	for index := range p.cluster.brokers {
		p.Await("metadata of the topic", func() bool {
			topic := p.metadataTopic(index, name)
			if topic.ErrorCode != 0 || len(topic.Partitions) != partitions {
				return false
			}
			for _, partition := range topic.Partitions {
				if partition.ErrorCode != 0 || !p.leaderServes(name, partition) {
					return false
				}
			}
			return true
		})
	}
}

func (p *P) metadataTopic(index int, name string) kmsg.MetadataResponseTopic {
	request := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &name
	request.Topics = append(request.Topics, topic)
	response := Ask[*kmsg.MetadataResponse](p, p.Broker(index), 12, request)
	if len(response.Topics) != 1 {
		return kmsg.MetadataResponseTopic{ErrorCode: codeUnknownTopic}
	}
	return response.Topics[0]
}

func (p *P) leaderServes(name string, partition kmsg.MetadataResponseTopicPartition) bool {
	leader := p.cluster.index(partition.Leader)
	if leader < 0 {
		return false
	}
	request := ListOffsets(name, partition.Partition, -1)
	response := Ask[*kmsg.ListOffsetsResponse](p, p.Broker(leader), 7, request)
	return response.Topics[0].Partitions[0].ErrorCode == 0
}

// ListOffsets builds a request for one partition.
func ListOffsets(topic string, partition int32, timestamp int64) *kmsg.ListOffsetsRequest {
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	q := kmsg.NewListOffsetsRequestTopicPartition()
	q.Partition, q.Timestamp = partition, timestamp
	t.Partitions = append(t.Partitions, q)
	request.Topics = append(request.Topics, t)
	return request
}

// Forget makes the probe delete a topic that it created by other means.
func (p *P) Forget(topic string) { p.topics = append(p.topics, topic) }

func (p *P) deleteTopics() {
	if len(p.topics) == 0 {
		return
	}
	c, err := Dial(p.cluster.brokers[0].address)
	if err != nil {
		return
	}
	defer c.Close()
	request := kmsg.NewPtrDeleteTopicsRequest()
	request.TimeoutMillis = createTimeoutMillis
	request.TopicNames = p.topics
	if correlation, err := c.Send(5, request); err == nil {
		_, _ = c.Receive(request, correlation)
	}
}

// HighWatermark returns the end offset that consumers of a partition led by broker partition mod 3
// see.
func (p *P) HighWatermark(topic string, partition int32) int64 {
	response := Ask[*kmsg.ListOffsetsResponse](
		p,
		p.Broker(int(partition)),
		7,
		ListOffsets(topic, partition, -1),
	)
	return response.Topics[0].Partitions[0].Offset
}
