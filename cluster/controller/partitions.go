package controller

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/world"
)

// alterPartition takes the ISRs that leaders propose. Versions 2 and 3: topics by id.
func (a *active) alterPartition(call *world.Call, req *kmsg.AlterPartitionRequest) {
	resp := req.ResponseKind().(*kmsg.AlterPartitionResponse)
	b, code := a.registered(req.BrokerID, req.BrokerEpoch)
	if code != 0 {
		resp.ErrorCode = kerr.StaleBrokerEpoch.Code
		call.Reply(resp)
		return
	}
	ch := a.decide()
	for _, rt := range req.Topics {
		topic := kmsg.NewAlterPartitionResponseTopic()
		topic.TopidID = rt.TopicID
		for i := range rt.Partitions {
			topic.Partitions = append(topic.Partitions,
				a.alterOne(ch, b, req.Version, event.UUID(rt.TopicID), &rt.Partitions[i]))
		}
		resp.Topics = append(resp.Topics, topic)
	}
	a.commit(ch, call, func() any { return resp })
}

func (a *active) alterOne(ch *changes, b *metadata.Broker, version int16, id event.UUID,
	req *kmsg.AlterPartitionRequestTopicPartition) kmsg.AlterPartitionResponseTopicPartition {
	answer := kmsg.NewAlterPartitionResponseTopicPartition()
	answer.Partition = req.Partition
	t := ch.image.TopicByID(id)
	if t == nil {
		answer.ErrorCode = kerr.UnknownTopicID.Code
		return answer
	}
	p := t.Partition(req.Partition)
	if p == nil {
		answer.ErrorCode = kerr.UnknownTopicOrPartition.Code
		return answer
	}
	members := proposedMembers(req)
	if answer.ErrorCode = checkAlter(ch.image, b, p, req, members); answer.ErrorCode != 0 {
		return answer
	}
	in := a.changeInput(ch.image, t, p, event.NoNode)
	in.TargetIsr = make([]event.NodeID, 0, len(members))
	for _, m := range members {
		in.TargetIsr = append(in.TargetIsr, m.id)
	}
	in.LeaderRecovered = req.LeaderRecoveryState == metadata.Recovered
	if change, ok, elected := metadata.BuildPartitionChange(p, in); ok {
		ch.add(change, ruleOf(elected, event.RuleIsrOnlyByController))
	}
	now := ch.image.TopicByID(id).Partition(req.Partition)
	if now.Leader != p.Leader {
		// A reassignment ended and took the leader out: it must not go on as one.
		answer.ErrorCode = kerr.NewLeaderElected.Code
		if version < 2 {
			answer.ErrorCode = kerr.FencedLeaderEpoch.Code
		}
		return answer
	}
	answer.LeaderID, answer.LeaderEpoch = int32(now.Leader), int32(now.LeaderEpoch)
	answer.PartitionEpoch, answer.LeaderRecoveryState = now.PartitionEpoch, now.LeaderRecoveryState
	for _, member := range now.Isr {
		answer.ISR = append(answer.ISR, int32(member))
	}
	return answer
}

// isrMember is a proposed member with its broker epoch, -1 when the proposal does not say.
type isrMember struct {
	id    event.NodeID
	epoch int64
}

func proposedMembers(req *kmsg.AlterPartitionRequestTopicPartition) []isrMember {
	var members []isrMember
	for _, m := range req.NewEpochISR {
		members = append(members, isrMember{event.NodeID(m.BrokerID), m.BrokerEpoch})
	}
	if len(req.NewEpochISR) == 0 {
		for _, id := range req.NewISR {
			members = append(members, isrMember{event.NodeID(id), -1})
		}
	}
	return members
}

// checkAlter is Kafka's ReplicationControlManager.validateAlterPartitionData.
func checkAlter(image *metadata.Image, b *metadata.Broker, p *metadata.Partition,
	req *kmsg.AlterPartitionRequestTopicPartition, members []isrMember) int16 {
	epoch := event.Epoch(req.LeaderEpoch)
	switch {
	case epoch > p.LeaderEpoch || req.PartitionEpoch > p.PartitionEpoch:
		return kerr.NotController.Code // the leader knows more than we do
	case epoch < p.LeaderEpoch:
		return kerr.FencedLeaderEpoch.Code
	case b.ID != p.Leader:
		return kerr.InvalidRequest.Code
	case req.PartitionEpoch < p.PartitionEpoch:
		return kerr.InvalidUpdateVersion.Code
	}
	hasLeader := false
	for i, m := range members {
		hasLeader = hasLeader || m.id == p.Leader
		twice := slices.ContainsFunc(members[:i], func(o isrMember) bool { return o.id == m.id })
		if twice || !slices.Contains(p.Replicas, m.id) {
			return kerr.InvalidRequest.Code
		}
	}
	recovering := req.LeaderRecoveryState == metadata.Recovering
	switch {
	case !hasLeader, recovering && len(members) > 1,
		recovering && p.LeaderRecoveryState == metadata.Recovered:
		return kerr.InvalidRequest.Code
	}
	for _, m := range members {
		member := image.Broker(m.id)
		if member == nil || !member.Active() || m.epoch != -1 && m.epoch != member.Epoch {
			return kerr.IneligibleReplica.Code
		}
	}
	return 0
}

// The types of ElectLeaders.
const (
	electPreferred int8 = 0
	electUnclean   int8 = 1
)

// electLeaders elects where it is asked to, or everywhere when no topics are named; then only what
// changed or failed is answered.
func (a *active) electLeaders(call *world.Call, req *kmsg.ElectLeadersRequest) {
	resp := req.ResponseKind().(*kmsg.ElectLeadersResponse)
	ch := a.decide()
	everywhere := req.Topics == nil
	topics := req.Topics
	if everywhere {
		topics = everyPartition(ch.image)
	}
	for _, rt := range topics {
		topic := kmsg.NewElectLeadersResponseTopic()
		topic.Topic = rt.Topic
		for _, index := range rt.Partitions {
			e := a.electOne(ch, rt.Topic, index, req.ElectionType)
			if everywhere && e != nil && e.code == kerr.ElectionNotNeeded.Code {
				continue
			}
			partition := kmsg.NewElectLeadersResponseTopicPartition()
			partition.Partition = index
			if e != nil {
				partition.ErrorCode, partition.ErrorMessage = e.code, e.text()
			}
			topic.Partitions = append(topic.Partitions, partition)
		}
		if len(topic.Partitions) > 0 {
			resp.Topics = append(resp.Topics, topic)
		}
	}
	if req.ElectionType != electPreferred && req.ElectionType != electUnclean {
		resp.ErrorCode = kerr.InvalidRequest.Code
	}
	a.commit(ch, call, func() any { return resp })
}

const messageElectionNotNeeded = "Leader election not needed for topic partition."

func everyPartition(image *metadata.Image) []kmsg.ElectLeadersRequestTopic {
	var topics []kmsg.ElectLeadersRequestTopic
	for _, t := range image.Topics() {
		topic := kmsg.NewElectLeadersRequestTopic()
		topic.Topic = t.Name
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, p.Index)
		}
		topics = append(topics, topic)
	}
	return topics
}

// electOne is Kafka's ReplicationControlManager.electLeader.
func (a *active) electOne(ch *changes, topic string, index int32, kind int8) *answerError {
	t := ch.image.TopicByName(topic)
	if t == nil {
		return refuse(kerr.UnknownTopicOrPartition.Code, "No such topic as "+topic)
	}
	p := t.Partition(index)
	if p == nil {
		return refuse(kerr.UnknownTopicOrPartition.Code,
			fmt.Sprintf("No such partition as %s-%d", topic, index))
	}
	in := a.changeInput(ch.image, t, p, event.NoNode)
	switch kind {
	case electPreferred:
		if p.Leader == p.Replicas[0] {
			return refuse(kerr.ElectionNotNeeded.Code, messageElectionNotNeeded)
		}
		in.Elect, in.Unclean = metadata.ElectPreferred, false
	case electUnclean:
		if p.Leader != event.NoNode {
			return refuse(kerr.ElectionNotNeeded.Code, messageElectionNotNeeded)
		}
		in.Elect = metadata.ElectUnclean
	default:
		return refuse(kerr.InvalidRequest.Code, fmt.Sprintf("Unknown election type %d", kind))
	}
	change, ok, elected := metadata.BuildPartitionChange(p, in)
	wanted := kind == electUnclean && elected != metadata.ElectedNobody &&
		elected != metadata.LeaderKept || elected == metadata.ElectedPreferred ||
		kind == electPreferred && change.Leader == p.Replicas[0]
	if !ok || !wanted {
		if kind == electPreferred {
			return refuse(kerr.PreferredLeaderNotAvailable.Code, "")
		}
		return refuse(kerr.EligibleLeadersNotAvailable.Code, "")
	}
	ch.add(change, ruleOf(elected, event.RuleNone))
	return nil
}
