package controller

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/world"
)

// describeQuorum tells how far the voters and the brokers have the metadata log. Only a request for
// that log alone is answered, as in Kafka.
func (a *active) describeQuorum(call *world.Call, req *kmsg.DescribeQuorumRequest) {
	resp := req.ResponseKind().(*kmsg.DescribeQuorumResponse)
	resp.ErrorMessage = new(string)
	isRight := false
	if len(req.Topics) == 1 && len(req.Topics[0].Partitions) == 1 {
		asked := &req.Topics[0]
		isRight = asked.Topic == metadataTopic && asked.Partitions[0].Partition == metadataLogIndex
	}
	for _, t := range req.Topics {
		topic := kmsg.NewDescribeQuorumResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			partition := kmsg.NewDescribeQuorumResponseTopicPartition()
			partition.Partition = p.Partition
			if isRight {
				partition.ErrorMessage = new(string)
				a.describePartition(&partition)
			} else {
				partition.ErrorCode = kerr.UnknownTopicOrPartition.Code
				partition.ErrorMessage = &kerr.UnknownTopicOrPartition.Description
			}
			topic.Partitions = append(topic.Partitions, partition)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	if isRight {
		resp.Nodes = a.describeVoters()
	}
	call.Reply(resp)
}

func (a *active) describeVoters() []kmsg.DescribeQuorumResponseNode {
	var nodes []kmsg.DescribeQuorumResponseNode
	for _, v := range a.c.quorum.voters {
		node := kmsg.NewDescribeQuorumResponseNode()
		node.NodeID = int32(v.ID)
		listener := kmsg.NewDescribeQuorumResponseNodeListener()
		listener.Name, listener.Host, listener.Port = "CONTROLLER", v.Host, v.Port
		node.Listeners = append(node.Listeners, listener)
		nodes = append(nodes, node)
	}
	return nodes
}

func (a *active) describePartition(p *kmsg.DescribeQuorumResponseTopicPartition) {
	c := a.c
	p.LeaderID, p.LeaderEpoch = int32(c.env.ID()), c.term
	p.HighWatermark = int64(a.committedEnd)
	for _, id := range c.quorum.ids {
		s := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
		s.ReplicaID = int32(id)
		s.LogEndOffset = int64(a.voterEnd(id))
		if id != c.env.ID() {
			s.LastFetchTimestamp = c.env.UnixMilli() - (c.env.Now() - c.lastHeard[id]).Milliseconds()
			s.LastCaughtUpTimestamp = s.LastFetchTimestamp
		} else {
			s.LastFetchTimestamp, s.LastCaughtUpTimestamp = c.env.UnixMilli(), c.env.UnixMilli()
		}
		p.CurrentVoters = append(p.CurrentVoters, s)
	}
	for _, id := range slices.Sorted(maps.Keys(a.observers)) {
		o := a.observers[id]
		s := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
		s.ReplicaID, s.LogEndOffset = int32(id), int64(o.logEnd)
		s.LastFetchTimestamp, s.LastCaughtUpTimestamp = o.fetchedAt, o.caughtUpAt
		p.Observers = append(p.Observers, s)
	}
}

// voterEnd is how far a voter has the log as far as the leader knows.
func (a *active) voterEnd(id event.NodeID) event.Offset {
	if id == a.c.env.ID() {
		return a.storedEnd
	}
	if end, ok := a.voterEnds[id]; ok {
		return end
	}
	return -1
}
