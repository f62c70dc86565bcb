package main

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cmd/probe/kit"
)

var consumerGroupsProbes = []kit.Probe{
	{
		Name:   "consumer-groups/join",
		Intent: "KIP-848: a member joins and gets all partitions; the next heartbeat has no assignment",
		Run: func(p *kit.P) {
			topic, group, c := newConsumerGroup(p)
			member := joinConsumer(p, c, group, topic)
			p.Show("join again", c, 1, kit.ConsumerHeartbeat(group, member.id, 0, topic.Name))
			p.Show("nothing new", c, 1, kit.ConsumerHeartbeat(group, member.id, member.epoch))
			p.Show(
				"owning all",
				c,
				1,
				kit.Owning(kit.ConsumerHeartbeat(group, member.id, member.epoch), topic, 0, 1),
			)
		},
	},
	{
		Name:   "consumer-groups/join-v0",
		Intent: "v0: the coordinator chooses the member id",
		Run: func(p *kit.P) {
			topic, group, c := newConsumerGroup(p)
			response := kit.Ask[*kmsg.ConsumerGroupHeartbeatResponse](
				p,
				c,
				0,
				kit.ConsumerHeartbeat(group, "", 0, topic.Name),
			)
			p.NoteError("join", response.ErrorCode)
			p.Note("member id given", response.MemberID != nil && *response.MemberID != "")
			p.Show("v1 without a member id", c, 1, kit.ConsumerHeartbeat(group, "", 0, topic.Name))
		},
	},
	{
		Name:   "consumer-groups/join-errors",
		Intent: "requests that are not valid: INVALID_REQUEST; unknown assignor: UNSUPPORTED_ASSIGNOR",
		Run: func(p *kit.P) {
			topic, group, c := newConsumerGroup(p)
			member := p.Name("m")
			try := func(step string, change func(*kmsg.ConsumerGroupHeartbeatRequest)) {
				request := kit.ConsumerHeartbeat(group, member, 0, topic.Name)
				change(request)
				p.Show(step, c, 1, request)
			}
			try(
				"assignor",
				func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.ServerAssignor = new("bogus") },
			)
			try(
				"no rebalance timeout",
				func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.RebalanceTimeoutMillis = -1 },
			)
			try(
				"no subscription",
				func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.SubscribedTopicNames = nil },
			)
			try(
				"null owned partitions",
				func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.Topics = nil },
			)
			try(
				"owned partitions",
				func(r *kmsg.ConsumerGroupHeartbeatRequest) { kit.Owning(r, topic, 0) },
			)
			try("empty group", func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.Group = "" })
			try(
				"empty instance",
				func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.InstanceID = new("") },
			)
			try("empty rack", func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.RackID = new("") })
			try("epoch -3", func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = -3 })
			try(
				"static leave without instance",
				func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = -2 },
			)
			try("broken regex", func(r *kmsg.ConsumerGroupHeartbeatRequest) {
				r.SubscribedTopicNames, r.SubscribedTopicRegex = nil, new("[")
			})
			p.Show("group afterwards", c, 6, describeGroup(group))
		},
	},
	{
		Name:   "consumer-groups/unknown",
		Intent: "heartbeats and leaves of members and groups that do not exist",
		Run: func(p *kit.P) {
			topic, group, c := newConsumerGroup(p)
			p.Show(
				"heartbeat, unknown group",
				c,
				1,
				kit.ConsumerHeartbeat(group, p.Name("ghost"), 3),
			)
			p.Show("leave, unknown group", c, 1, kit.ConsumerHeartbeat(group, p.Name("ghost"), -1))
			joinConsumer(p, c, group, topic)
			p.Show(
				"heartbeat, unknown member",
				c,
				1,
				kit.ConsumerHeartbeat(group, p.Name("ghost"), 3),
			)
			p.Show("leave, unknown member", c, 1, kit.ConsumerHeartbeat(group, p.Name("ghost"), -1))
		},
	},
	{
		Name:   "consumer-groups/leave",
		Intent: "leaving with epoch -1, then the group is empty",
		Run: func(p *kit.P) {
			topic, group, c := newConsumerGroup(p)
			member := joinConsumer(p, c, group, topic)
			p.Show("leave", c, 1, kit.ConsumerHeartbeat(group, member.id, -1))
			p.Show(
				"heartbeat afterwards",
				c,
				1,
				kit.ConsumerHeartbeat(group, member.id, member.epoch),
			)
			response := describeConsumerGroup(p, c, group)
			p.Note("state", response.State)
			remove := kmsg.NewPtrDeleteGroupsRequest()
			remove.Groups = []string{group}
			p.Show("delete", c, 2, remove)
		},
	},
	{
		Name:   "consumer-groups/two-members",
		Intent: "a second member: the first gives up half, then the second gets it",
		Run: func(p *kit.P) {
			topic, group, c := newConsumerGroup(p)
			first := joinConsumer(p, c, group, topic)
			second := p.Name("second")
			kit.Ask[*kmsg.ConsumerGroupHeartbeatResponse](
				p,
				c,
				1,
				kit.ConsumerHeartbeat(group, second, 0, topic.Name),
			)
			owned, secondOwned := []int32{0, 1}, []int32{}
			secondEpoch := int32(0)
			p.Await("the partitions to be shared", func() bool {
				beat := kit.ConsumerHeartbeat(group, first.id, first.epoch)
				response := kit.Ask[*kmsg.ConsumerGroupHeartbeatResponse](
					p,
					c,
					1,
					kit.Owning(beat, topic, owned...),
				)
				first.epoch, owned = response.MemberEpoch, assigned(response, owned)
				join := kit.ConsumerHeartbeat(group, second, secondEpoch, topic.Name)
				if secondEpoch > 0 && len(secondOwned) > 0 {
					kit.Owning(join, topic, secondOwned...)
				}
				response = kit.Ask[*kmsg.ConsumerGroupHeartbeatResponse](p, c, 1, join)
				if response.ErrorCode != 0 {
					p.Fail("second member: %s", kit.ErrorName(response.ErrorCode))
				}
				secondEpoch, secondOwned = response.MemberEpoch, assigned(response, secondOwned)
				return len(owned) == 1 && len(secondOwned) == 1 && first.epoch == secondEpoch
			})
			p.Note("partitions of the first", len(owned))
			p.Note("partitions of the second", len(secondOwned))
			p.Note("no overlap", owned[0] != secondOwned[0])
			p.Note("state", describeConsumerGroup(p, c, group).State)
		},
	},
	{
		Name:   "consumer-groups/assignors",
		Intent: "uniform and range are built in",
		Run: func(p *kit.P) {
			for _, assignor := range []string{"uniform", "range"} {
				topic, group := p.Topic("topic-"+assignor, 2), p.Name("group-"+assignor)
				c := p.GroupCoordinator(group)
				request := kit.ConsumerHeartbeat(group, p.Name("m-"+assignor), 0, topic.Name)
				request.ServerAssignor = &assignor
				response := kit.Ask[*kmsg.ConsumerGroupHeartbeatResponse](p, c, 1, request)
				p.NoteError(assignor, response.ErrorCode)
				p.Note("assignor", describeConsumerGroup(p, c, group).AssignorName)
			}
		},
	},
	{
		Name:   "consumer-groups/subscribe-unknown-topic",
		Intent: "a topic that does not exist yet: an empty assignment",
		Run: func(p *kit.P) {
			group := p.Name("group")
			c := p.GroupCoordinator(group)
			for epoch := range int64(4) {
				p.HideNumber("MemberEpoch", epoch, "<epoch>")
			}
			p.Show("join", c, 1, kit.ConsumerHeartbeat(group, p.Name("m"), 0, p.Name("unknown")))
		},
	},
	{
		Name:   "consumer-groups/describe",
		Intent: "ConsumerGroupDescribe of a stable, an unknown and a classic group",
		Run: func(p *kit.P) {
			topic, group, c := newConsumerGroup(p)
			request := kmsg.NewPtrConsumerGroupDescribeRequest()
			request.Groups = []string{group}
			p.Show("unknown", c, 1, request)
			joinConsumer(p, c, group, topic)
			for version := int16(0); version <= 1; version++ {
				p.Show(fmt.Sprintf("stable v%d", version), c, version, request)
			}
			p.Show("with the classic API v5", c, 5, describeGroup(group))
			p.Show("with the classic API v6", c, 6, describeGroup(group))
			classic := p.Name("classic")
			d := p.GroupCoordinator(classic)
			p.JoinAlone(d, classic)
			request.Groups = []string{classic}
			p.Show("classic", d, 1, request)
		},
	},
	{
		Name:   "consumer-groups/list",
		Intent: "ListGroups shows type and state of a consumer group",
		Run: func(p *kit.P) {
			topic, group, c := newConsumerGroup(p)
			joinConsumer(p, c, group, topic)
			showListed(p, "v5", c, 5, group, nil, nil)
			showListed(p, "v4", c, 4, group, nil, nil)
			showListed(p, "type Consumer", c, 5, group, nil, []string{"Consumer"})
			showListed(p, "type classic", c, 5, group, nil, []string{"classic"})
		},
	},
	{
		Name:   "consumer-groups/offsets",
		Intent: "commits and fetches with member epochs: right, newer, older, unknown member, old versions",
		Run: func(p *kit.P) {
			topic, group, c := newConsumerGroup(p)
			member := joinConsumer(p, c, group, topic)
			p.Show("right", c, 9, commitAs(group, topic, member.id, member.epoch))
			p.Show("right v10", c, 10, commitAs(group, topic, member.id, member.epoch))
			p.Show("newer", c, 9, commitAs(group, topic, member.id, member.epoch+1))
			p.Show("older", c, 9, commitAs(group, topic, member.id, member.epoch-1))
			p.Show("unknown member", c, 9, commitAs(group, topic, p.Name("ghost"), member.epoch))
			p.Show("no member", c, 9, kit.OffsetCommit(group, topic, 0, 1))
			p.Show("right v8", c, 8, commitAs(group, topic, member.id, member.epoch))
			fetch := func(id string, epoch int32) *kmsg.OffsetFetchRequest {
				request := kit.OffsetFetch(group, topic, 0)
				request.Groups[0].MemberID, request.Groups[0].MemberEpoch = &id, epoch
				return request
			}
			p.Show("fetch right", c, 9, fetch(member.id, member.epoch))
			p.Show("fetch newer", c, 9, fetch(member.id, member.epoch+1))
			p.Show("fetch unknown member", c, 9, fetch(p.Name("ghost"), member.epoch))
			p.Show("fetch without a member", c, 9, kit.OffsetFetch(group, topic, 0))
		},
	},
	{
		Name:   "consumer-groups/classic-joins",
		Intent: "classic requests to a consumer group: joining is allowed with a consumer protocol",
		Run: func(p *kit.P) {
			topic, group, c := newConsumerGroup(p)
			member := joinConsumer(p, c, group, topic)
			p.Show("heartbeat", c, 4, kit.Heartbeat(group, member.id, member.epoch))
			p.Show("sync", c, 5, kit.SyncGroup(group, member.id, member.epoch))
			joined := kit.Ask[*kmsg.JoinGroupResponse](
				p,
				c,
				5,
				kit.JoinGroup(group, "ghost", "range"),
			)
			p.NoteError("join of an unknown member", joined.ErrorCode)
			p.Note("id", joined.MemberID)
			other := kit.JoinGroup(group, "", "range")
			other.ProtocolType = "connect"
			p.Show("join with another type", c, 5, other)
			p.Show("leave of an unknown member", c, 4, kit.LeaveGroup(group, "ghost"))
		},
	},
}

type consumer struct {
	id    string
	epoch int32
}

// newConsumerGroup makes a topic of two partitions and names a group.
func newConsumerGroup(p *kit.P) (kit.Topic, string, *kit.Conn) {
	topic, group := p.Topic("a", 2), p.Name("group")
	return topic, group, p.GroupCoordinator(group)
}

// joinConsumer joins and heartbeats until the member has the whole topic.
func joinConsumer(p *kit.P, c *kit.Conn, group string, topic kit.Topic) consumer {
	member := consumer{id: p.Name("member")}
	p.Await("the assignment", func() bool {
		response := kit.Ask[*kmsg.ConsumerGroupHeartbeatResponse](
			p,
			c,
			1,
			kit.ConsumerHeartbeat(group, member.id, member.epoch, topic.Name),
		)
		if response.ErrorCode != 0 {
			p.Fail("join: %s", kit.ErrorName(response.ErrorCode))
		}
		member.epoch = response.MemberEpoch
		return len(assigned(response, nil)) == 2
	})
	for _, field := range []string{"MemberEpoch", "AssignmentEpoch", "Epoch"} {
		p.HideNumber(field, int64(member.epoch), "<epoch>")
	}
	return member
}

// assigned returns the partitions of an answer, or the ones had before when nothing changed.
func assigned(response *kmsg.ConsumerGroupHeartbeatResponse, before []int32) []int32 {
	if response.Assignment == nil {
		return before
	}
	var partitions []int32
	for _, topic := range response.Assignment.Topics {
		partitions = append(partitions, topic.Partitions...)
	}
	return partitions
}

func describeConsumerGroup(
	p *kit.P,
	c *kit.Conn,
	group string,
) kmsg.ConsumerGroupDescribeResponseGroup {
	request := kmsg.NewPtrConsumerGroupDescribeRequest()
	request.Groups = []string{group}
	response := kit.Ask[*kmsg.ConsumerGroupDescribeResponse](p, c, 1, request)
	return response.Groups[0]
}
