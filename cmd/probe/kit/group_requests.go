package kit

import "github.com/twmb/franz-go/pkg/kmsg"

// Timeouts of the probes' groups: long enough that nothing expires while a probe runs.
const (
	sessionTimeoutMillis   = 30000
	rebalanceTimeoutMillis = 30000
)

// JoinGroup builds a request of a consumer with the given protocols, whose metadata is their name.
func JoinGroup(group, member string, protocols ...string) *kmsg.JoinGroupRequest {
	request := kmsg.NewPtrJoinGroupRequest()
	request.Group, request.MemberID, request.ProtocolType = group, member, "consumer"
	request.SessionTimeoutMillis = sessionTimeoutMillis
	request.RebalanceTimeoutMillis = rebalanceTimeoutMillis
	for _, name := range protocols {
		protocol := kmsg.NewJoinGroupRequestProtocol()
		protocol.Name, protocol.Metadata = name, subscription()
		request.Protocols = append(request.Protocols, protocol)
	}
	return request
}

// subscription is the metadata of a member that subscribed to nothing.
func subscription() []byte {
	metadata := kmsg.NewConsumerMemberMetadata()
	return metadata.AppendTo(nil)
}

// SyncGroup builds a request; assignments alternate member id and assignment.
func SyncGroup(
	group, member string,
	generation int32,
	assignments ...string,
) *kmsg.SyncGroupRequest {
	request := kmsg.NewPtrSyncGroupRequest()
	request.Group, request.MemberID, request.Generation = group, member, generation
	for i := 0; i+1 < len(assignments); i += 2 {
		assignment := kmsg.NewSyncGroupRequestGroupAssignment()
		assignment.MemberID = assignments[i]
		assignment.MemberAssignment = []byte(assignments[i+1])
		request.GroupAssignment = append(request.GroupAssignment, assignment)
	}
	return request
}

// Heartbeat builds a classic heartbeat.
func Heartbeat(group, member string, generation int32) *kmsg.HeartbeatRequest {
	request := kmsg.NewPtrHeartbeatRequest()
	request.Group, request.MemberID, request.Generation = group, member, generation
	return request
}

// LeaveGroup builds a request that works at every version.
func LeaveGroup(group string, members ...string) *kmsg.LeaveGroupRequest {
	request := kmsg.NewPtrLeaveGroupRequest()
	request.Group = group
	for _, id := range members {
		request.MemberID = id
		member := kmsg.NewLeaveGroupRequestMember()
		member.MemberID = id
		request.Members = append(request.Members, member)
	}
	return request
}

// JoinAlone makes a classic member the stable, only member of a group and returns its id and
// generation.
func (p *P) JoinAlone(c *Conn, group string) (member string, generation int32) {
	response := Ask[*kmsg.JoinGroupResponse](p, c, 3, JoinGroup(group, "", "range"))
	if response.ErrorCode != 0 {
		p.Fail("join: %s", ErrorName(response.ErrorCode))
	}
	p.Hide(response.MemberID, "<member>")
	sync := SyncGroup(group, response.MemberID, response.Generation, response.MemberID, "work")
	if synced := Ask[*kmsg.SyncGroupResponse](p, c, 3, sync); synced.ErrorCode != 0 {
		p.Fail("sync: %s", ErrorName(synced.ErrorCode))
	}
	return response.MemberID, response.Generation
}

// OffsetCommit builds a commit of one partition by a consumer outside any generation.
func OffsetCommit(
	group string,
	topic Topic,
	partition int32,
	offset int64,
) *kmsg.OffsetCommitRequest {
	request := kmsg.NewPtrOffsetCommitRequest()
	request.Group, request.Generation = group, -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.TopicID = topic.Name, topic.ID
	q := kmsg.NewOffsetCommitRequestTopicPartition()
	q.Partition, q.Offset = partition, offset
	t.Partitions = append(t.Partitions, q)
	request.Topics = append(request.Topics, t)
	return request
}

// OffsetFetch builds a request for partition 0 of one topic that works at every version.
func OffsetFetch(group string, topic Topic, partitions ...int32) *kmsg.OffsetFetchRequest {
	request := kmsg.NewPtrOffsetFetchRequest()
	request.Group = group
	single := kmsg.NewOffsetFetchRequestTopic()
	single.Topic, single.Partitions = topic.Name, partitions
	request.Topics = append(request.Topics, single)
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	t := kmsg.NewOffsetFetchRequestGroupTopic()
	t.Topic, t.TopicID, t.Partitions = topic.Name, topic.ID, partitions
	g.Topics = append(g.Topics, t)
	request.Groups = append(request.Groups, g)
	return request
}

// OffsetFetchAll builds a request for all offsets of a group.
func OffsetFetchAll(group string) *kmsg.OffsetFetchRequest {
	request := kmsg.NewPtrOffsetFetchRequest()
	request.Group = group
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	request.Groups = append(request.Groups, g)
	return request
}

// OffsetDelete builds a request for partition 0 of one topic.
func OffsetDelete(group, topic string) *kmsg.OffsetDeleteRequest {
	request := kmsg.NewPtrOffsetDeleteRequest()
	request.Group = group
	t := kmsg.NewOffsetDeleteRequestTopic()
	t.Topic = topic
	t.Partitions = append(t.Partitions, kmsg.NewOffsetDeleteRequestTopicPartition())
	request.Topics = append(request.Topics, t)
	return request
}

// ConsumerHeartbeat builds a KIP-848 heartbeat. Epoch 0 joins: it then carries the subscription.
func ConsumerHeartbeat(
	group, member string,
	epoch int32,
	topics ...string,
) *kmsg.ConsumerGroupHeartbeatRequest {
	request := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	request.Group, request.MemberID, request.MemberEpoch = group, member, epoch
	request.RebalanceTimeoutMillis = -1
	if len(topics) > 0 {
		request.SubscribedTopicNames = topics
	}
	if epoch == 0 {
		request.RebalanceTimeoutMillis = rebalanceTimeoutMillis
		request.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	}
	return request
}

// Owning sets the partitions that a KIP-848 member says it has.
func Owning(
	request *kmsg.ConsumerGroupHeartbeatRequest,
	topic Topic,
	partitions ...int32,
) *kmsg.ConsumerGroupHeartbeatRequest {
	t := kmsg.NewConsumerGroupHeartbeatRequestTopic()
	t.TopicID, t.Partitions = topic.ID, partitions
	request.Topics = append(request.Topics, t)
	return request
}

// ShareHeartbeat builds a share group heartbeat.
func ShareHeartbeat(
	group, member string,
	epoch int32,
	topics ...string,
) *kmsg.ShareGroupHeartbeatRequest {
	request := kmsg.NewPtrShareGroupHeartbeatRequest()
	request.GroupID, request.MemberID, request.MemberEpoch = group, member, epoch
	if len(topics) > 0 {
		request.SubscribedTopicNames = topics
	}
	return request
}
