package kit

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Config resource kinds as the protocol numbers them.
const (
	KindTopic        kmsg.ConfigResourceType = 2
	KindBroker       kmsg.ConfigResourceType = 4
	KindBrokerLogger kmsg.ConfigResourceType = 8
	KindMetrics      kmsg.ConfigResourceType = 16
	KindGroup        kmsg.ConfigResourceType = 32
)

// Frame encodes a request that no library would send: any key, any version, any body.
// A flexible frame has the header with tagged fields.
func Frame(key, version int16, flexible bool, body []byte) []byte {
	frame := make([]byte, 4, 32+len(body))
	frame = binary.BigEndian.AppendUint16(frame, uint16(key))
	frame = binary.BigEndian.AppendUint16(frame, uint16(version))
	frame = binary.BigEndian.AppendUint32(frame, 1)
	frame = binary.BigEndian.AppendUint16(frame, 5)
	frame = append(frame, "probe"...)
	if flexible {
		frame = append(frame, 0)
	}
	frame = append(frame, body...)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}

// ShowAs sends a request at one version and reads the answer as another.
func (p *P) ShowAs(step string, c *Conn, send, receive int16, request kmsg.Request) kmsg.Response {
	correlation, err := c.Send(send, request)
	if err == nil {
		request.SetVersion(receive)
		var response kmsg.Response
		if response, err = c.Receive(request, correlation); err == nil {
			p.ShowResponse(step, response)
			return response
		}
	}
	p.Note(step, err.Error())
	return nil
}

// ApiVersions builds a request with a client's name and version.
func ApiVersions(name, version string) *kmsg.ApiVersionsRequest {
	request := kmsg.NewPtrApiVersionsRequest()
	request.ClientSoftwareName, request.ClientSoftwareVersion = name, version
	return request
}

// Metadata builds a request for the named topics, without creating them.
func Metadata(names ...string) *kmsg.MetadataRequest {
	request := kmsg.NewPtrMetadataRequest()
	request.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range names {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = &name
		request.Topics = append(request.Topics, topic)
	}
	return request
}

// MetadataByID builds a request for topic ids.
func MetadataByID(ids ...[16]byte) *kmsg.MetadataRequest {
	request := kmsg.NewPtrMetadataRequest()
	for _, id := range ids {
		topic := kmsg.NewMetadataRequestTopic()
		topic.TopicID = id
		request.Topics = append(request.Topics, topic)
	}
	return request
}

// CreateTopic builds a request for one topic with automatic placement.
func CreateTopic(name string, partitions int32, replicas int16) *kmsg.CreateTopicsRequest {
	request := kmsg.NewPtrCreateTopicsRequest()
	request.TimeoutMillis = createTimeoutMillis
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, replicas
	request.Topics = append(request.Topics, topic)
	return request
}

// CreateTopicWithConfig is CreateTopic for one partition with one config.
func CreateTopicWithConfig(name, key string, value *string) *kmsg.CreateTopicsRequest {
	request := CreateTopic(name, 1, 3)
	config := kmsg.NewCreateTopicsRequestTopicConfig()
	config.Name, config.Value = key, value
	request.Topics[0].Configs = append(request.Topics[0].Configs, config)
	return request
}

// CreateTopicPlaced builds a request with the given replicas, one list a partition.
func CreateTopicPlaced(name string, replicas ...[]int32) *kmsg.CreateTopicsRequest {
	request := CreateTopic(name, -1, -1)
	for n, ids := range replicas {
		assignment := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		assignment.Partition, assignment.Replicas = int32(n), ids
		request.Topics[0].ReplicaAssignment = append(
			request.Topics[0].ReplicaAssignment,
			assignment,
		)
	}
	return request
}

// DeleteTopics builds a request by name, for versions up to 5.
func DeleteTopics(names ...string) *kmsg.DeleteTopicsRequest {
	request := kmsg.NewPtrDeleteTopicsRequest()
	request.TopicNames, request.TimeoutMillis = names, createTimeoutMillis
	for _, name := range names {
		topic := kmsg.NewDeleteTopicsRequestTopic()
		topic.Topic = &name
		request.Topics = append(request.Topics, topic)
	}
	return request
}

// CreatePartitions builds a request to grow one topic.
func CreatePartitions(name string, count int32) *kmsg.CreatePartitionsRequest {
	request := kmsg.NewPtrCreatePartitionsRequest()
	request.TimeoutMillis = createTimeoutMillis
	topic := kmsg.NewCreatePartitionsRequestTopic()
	topic.Topic, topic.Count = name, count
	request.Topics = append(request.Topics, topic)
	return request
}

// DescribeConfigs builds a request for one resource; no keys means all of them.
func DescribeConfigs(
	kind kmsg.ConfigResourceType,
	name string,
	keys ...string,
) *kmsg.DescribeConfigsRequest {
	request := kmsg.NewPtrDescribeConfigsRequest()
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName, resource.ConfigNames = kind, name, keys
	request.Resources = append(request.Resources, resource)
	return request
}

// AlterConfig builds an incremental change of one config.
func AlterConfig(
	kind kmsg.ConfigResourceType,
	name string,
	op kmsg.IncrementalAlterConfigOp,
	key string,
	value *string,
) *kmsg.IncrementalAlterConfigsRequest {
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kind, name
	config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name, config.Op, config.Value = key, op, value
	resource.Configs = append(resource.Configs, config)
	request.Resources = append(request.Resources, resource)
	return request
}

// DeleteRecords builds a request for one partition.
func DeleteRecords(topic string, partition int32, before int64) *kmsg.DeleteRecordsRequest {
	request := kmsg.NewPtrDeleteRecordsRequest()
	request.TimeoutMillis = createTimeoutMillis
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic = topic
	q := kmsg.NewDeleteRecordsRequestTopicPartition()
	q.Partition, q.Offset = partition, before
	t.Partitions = append(t.Partitions, q)
	request.Topics = append(request.Topics, t)
	return request
}

// OffsetForLeaderEpoch builds a request for one partition.
func OffsetForLeaderEpoch(
	topic string,
	partition, current, epoch int32,
) *kmsg.OffsetForLeaderEpochRequest {
	request := kmsg.NewPtrOffsetForLeaderEpochRequest()
	t := kmsg.NewOffsetForLeaderEpochRequestTopic()
	t.Topic = topic
	q := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	q.Partition, q.CurrentLeaderEpoch, q.LeaderEpoch = partition, current, epoch
	t.Partitions = append(t.Partitions, q)
	request.Topics = append(request.Topics, t)
	return request
}
