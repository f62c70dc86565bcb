package client

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
)

// apiTimeout bounds reading and administrative requests (default.api.timeout.ms).
const apiTimeout = 60 * time.Second

// AdminResult says how an administrative request went. Code is Kafka's error code.
type AdminResult struct {
	Code    int16
	Message string
}

// Setting is one configuration of a topic.
type Setting struct{ Name, Value string }

// TopicRequest describes a topic to create. Replicas, one list a partition, goes before Partitions
// and ReplicationFactor, of which 0 means the cluster's default.
type TopicRequest struct {
	Name              string
	Partitions        int32
	ReplicationFactor int16
	Replicas          [][]event.NodeID
	Settings          []Setting
}

// CreateTopic creates a topic.
func (c *Client) CreateTopic(request TopicRequest, done func(AdminResult)) {
	row := kmsg.NewCreateTopicsRequestTopic()
	row.Topic = request.Name
	row.NumPartitions, row.ReplicationFactor = -1, -1
	if request.Partitions > 0 {
		row.NumPartitions = request.Partitions
	}
	if request.ReplicationFactor > 0 {
		row.ReplicationFactor = request.ReplicationFactor
	}
	for i, replicas := range request.Replicas {
		row.NumPartitions, row.ReplicationFactor = -1, -1
		assigned := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		assigned.Partition = int32(i)
		for _, id := range replicas {
			assigned.Replicas = append(assigned.Replicas, int32(id))
		}
		row.ReplicaAssignment = append(row.ReplicaAssignment, assigned)
	}
	for _, s := range request.Settings {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = s.Name, &s.Value
		row.Configs = append(row.Configs, config)
	}
	c.administer(done, func(o *operation, end func(int16, *string)) {
		body := kmsg.NewPtrCreateTopicsRequest()
		body.TimeoutMillis = millis(o.left())
		body.Topics = []kmsg.CreateTopicsRequestTopic{row}
		askAny(o, body, 7, func(response *kmsg.CreateTopicsResponse) {
			if len(response.Topics) != 1 {
				end(kerr.UnknownServerError.Code, nil)
				return
			}
			end(response.Topics[0].ErrorCode, response.Topics[0].ErrorMessage)
		})
	})
	delete(c.topics, request.Name)
}

// DeleteTopic deletes a topic.
func (c *Client) DeleteTopic(name string, done func(AdminResult)) {
	delete(c.topics, name)
	delete(c.stickies, name)
	c.administer(done, func(o *operation, end func(int16, *string)) {
		body := kmsg.NewPtrDeleteTopicsRequest()
		body.TimeoutMillis = millis(o.left())
		row := kmsg.NewDeleteTopicsRequestTopic()
		row.Topic = &name
		body.Topics = []kmsg.DeleteTopicsRequestTopic{row}
		askAny(o, body, 6, func(response *kmsg.DeleteTopicsResponse) {
			if len(response.Topics) != 1 {
				end(kerr.UnknownServerError.Code, nil)
				return
			}
			end(response.Topics[0].ErrorCode, response.Topics[0].ErrorMessage)
		})
	})
}

// AlterTopic changes settings of a topic.
func (c *Client) AlterTopic(name string, settings []Setting, done func(AdminResult)) {
	c.administer(done, func(o *operation, end func(int16, *string)) {
		body := kmsg.NewPtrIncrementalAlterConfigsRequest()
		row := kmsg.NewIncrementalAlterConfigsRequestResource()
		row.ResourceType, row.ResourceName = kmsg.ConfigResourceTypeTopic, name
		for _, s := range settings {
			config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			config.Name, config.Op, config.Value = s.Name, kmsg.IncrementalAlterConfigOpSet, &s.Value
			row.Configs = append(row.Configs, config)
		}
		body.Resources = []kmsg.IncrementalAlterConfigsRequestResource{row}
		askAny(o, body, 1, func(response *kmsg.IncrementalAlterConfigsResponse) {
			if len(response.Resources) != 1 {
				end(kerr.UnknownServerError.Code, nil)
				return
			}
			end(response.Resources[0].ErrorCode, response.Resources[0].ErrorMessage)
		})
	})
}

// Elect asks for a leader election of one partition: the preferred replica, or with unclean
// whoever lives when nobody in sync does.
func (c *Client) Elect(topic string, partition int32, unclean bool, done func(AdminResult)) {
	c.administer(done, func(o *operation, end func(int16, *string)) {
		body := kmsg.NewPtrElectLeadersRequest()
		body.TimeoutMillis = millis(o.left())
		if unclean {
			body.ElectionType = 1
		}
		row := kmsg.NewElectLeadersRequestTopic()
		row.Topic, row.Partitions = topic, []int32{partition}
		body.Topics = []kmsg.ElectLeadersRequestTopic{row}
		askAny(o, body, 2, func(response *kmsg.ElectLeadersResponse) {
			code, message := response.ErrorCode, (*string)(nil)
			for i := range response.Topics {
				for j := range response.Topics[i].Partitions {
					p := &response.Topics[i].Partitions[j]
					code, message = p.ErrorCode, p.ErrorMessage
				}
			}
			end(code, message)
		})
	})
	delete(c.topics, topic)
}

// administer tries a request until it succeeds or fails for good. Errors that only say that the
// controllers are busy electing are waited out.
func (c *Client) administer(done func(AdminResult),
	attempt func(o *operation, end func(code int16, message *string))) {
	o := c.begin(apiTimeout, func(code int16) { done(AdminResult{Code: code}) })
	end := func(code int16, message *string) {
		if slices.Contains(passing(), code) {
			o.n.turn++
			o.retry(code)
			return
		}
		result := AdminResult{Code: code}
		if message != nil {
			result.Message = *message
		}
		done(result)
	}
	o.attempt = func() { attempt(o, end) }
	o.attempt()
}

func passing() []int16 {
	return []int16{kerr.NotController.Code, kerr.RequestTimedOut.Code, kerr.NetworkException.Code,
		kerr.CoordinatorLoadInProgress.Code}
}

func millis(d time.Duration) int32 { return int32(max(d, 0) / time.Millisecond) }
