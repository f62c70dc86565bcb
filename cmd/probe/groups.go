package main

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cmd/probe/kit"
)

var groupsProbes = []kit.Probe{
	{
		Name:   "groups/find-coordinator",
		Intent: "one key before v4, many after; bad types and keys",
		Run: func(p *kit.P) {
			group := p.Name("group")
			p.GroupCoordinator(group)
			for version := int16(0); version <= 6; version++ {
				request := kmsg.NewPtrFindCoordinatorRequest()
				request.CoordinatorKey, request.CoordinatorKeys = group, []string{group}
				p.Show(fmt.Sprintf("v%d", version), p.Broker(0), version, request)
			}
			request := kmsg.NewPtrFindCoordinatorRequest()
			request.CoordinatorType, request.CoordinatorKeys = 9, []string{group}
			p.Show("type 9", p.Dial(0), 4, request)
			request.CoordinatorType, request.CoordinatorKeys = 0, nil
			p.Show("no keys", p.Dial(0), 4, request)
			request.CoordinatorType, request.CoordinatorKeys = 2, []string{"not a share key"}
			p.Show("bad share key", p.Dial(0), 6, request)
		},
	},
	{
		Name:   "groups/not-coordinator",
		Intent: "requests to a broker that does not coordinate the group: NOT_COORDINATOR",
		Run: func(p *kit.P) {
			group := p.Name("group")
			right := p.GroupCoordinator(group)
			for i := range p.BrokerCount() {
				if p.Broker(i) == right {
					continue
				}
				p.Show("heartbeat", p.Broker(i), 3, kit.Heartbeat(group, "m", 1))
				p.Show("offset fetch", p.Broker(i), 8, kit.OffsetFetchAll(group))
			}
		},
	},
	{
		Name:   "groups/join-needs-id",
		Intent: "v4+: the first join gets MEMBER_ID_REQUIRED and the id to come back with",
		Run: func(p *kit.P) {
			group := p.Name("group")
			c := p.GroupCoordinator(group)
			first := kit.Try[*kmsg.JoinGroupResponse](
				p,
				"first",
				c,
				5,
				kit.JoinGroup(group, "", "range"),
			)
			p.Note("id starts with the client id", strings.HasPrefix(first.MemberID, "probe-"))
			p.Show("second", c, 5, kit.JoinGroup(group, first.MemberID, "range"))
		},
	},
	{
		Name:   "groups/join-versions",
		Intent: "a first join at every version",
		Run: func(p *kit.P) {
			for version := int16(0); version <= 9; version++ {
				group := p.Name(fmt.Sprintf("group-v%d", version))
				p.Show(
					fmt.Sprintf("v%d", version),
					p.GroupCoordinator(group),
					version,
					kit.JoinGroup(group, "", "range"),
				)
			}
		},
	},
	{
		Name:   "groups/join-protocol-mismatch",
		Intent: "a second member without a common protocol: INCONSISTENT_GROUP_PROTOCOL",
		Run: func(p *kit.P) {
			group := p.Name("group")
			c := p.GroupCoordinator(group)
			p.JoinAlone(c, group)
			p.Show("other protocol", c, 3, kit.JoinGroup(group, "", "sticky"))
			other := kit.JoinGroup(group, "", "range")
			other.ProtocolType = "connect"
			p.Show("other type", c, 3, other)
		},
	},
	{
		Name:   "groups/rebalance",
		Intent: "a second member: the first must come back, the leader gets both, sync hands out the work",
		Run: func(p *kit.P) {
			group := p.Name("group")
			c, second := p.GroupCoordinator(group), p.Dial(coordinatorIndex(p, group))
			leader, generation := p.JoinAlone(c, group)
			join := kit.JoinGroup(group, "", "range")
			correlation, _ := second.Send(3, join)
			awaitState(p, c, group, "PreparingRebalance")
			p.Show("heartbeat of the first", c, 3, kit.Heartbeat(group, leader, generation))
			p.Show("sync of the first", c, 3, kit.SyncGroup(group, leader, generation))
			p.Show(
				"commit of the first",
				c,
				7,
				commitAs(group, kit.Topic{Name: p.Topic("a", 1).Name}, leader, generation),
			)
			p.Show("the first again", c, 3, kit.JoinGroup(group, leader, "range"))
			response, err := second.Receive(join, correlation)
			if err != nil {
				p.Fail("second join: %v", err)
			}
			p.ShowResponse("the second", response)
			other := response.(*kmsg.JoinGroupResponse).MemberID
			sync := kit.SyncGroup(group, other, generation+1)
			correlation, _ = second.Send(3, sync)
			p.Show("heartbeat while syncing", c, 3, kit.Heartbeat(group, leader, generation+1))
			p.Show(
				"sync of the leader",
				c,
				3,
				kit.SyncGroup(group, leader, generation+1, leader, "odd", other, "even"),
			)
			response, err = second.Receive(sync, correlation)
			if err != nil {
				p.Fail("second sync: %v", err)
			}
			p.ShowResponse("sync of the second", response)
			p.Show("heartbeat at the end", c, 3, kit.Heartbeat(group, other, generation+1))
		},
	},
	{
		Name:   "groups/sync-versions",
		Intent: "sync at every version; v5+ names protocol type and protocol",
		Run: func(p *kit.P) {
			for version := int16(0); version <= 5; version++ {
				group := p.Name(fmt.Sprintf("group-v%d", version))
				c := p.GroupCoordinator(group)
				joined := kit.Ask[*kmsg.JoinGroupResponse](
					p,
					c,
					3,
					kit.JoinGroup(group, "", "range"),
				)
				sync := kit.SyncGroup(group, joined.MemberID, 1, joined.MemberID, "work")
				sync.ProtocolType, sync.Protocol = new("consumer"), new("range")
				p.Show(fmt.Sprintf("v%d", version), c, version, sync)
			}
		},
	},
	{
		Name:   "groups/heartbeat-errors",
		Intent: "wrong generation, unknown member, unknown group, empty group id",
		Run: func(p *kit.P) {
			group := p.Name("group")
			c := p.GroupCoordinator(group)
			member, generation := p.JoinAlone(c, group)
			p.Show("right", c, 3, kit.Heartbeat(group, member, generation))
			p.Show("older generation", c, 3, kit.Heartbeat(group, member, generation-1))
			p.Show("newer generation", c, 3, kit.Heartbeat(group, member, generation+1))
			p.Show("unknown member", c, 3, kit.Heartbeat(group, "ghost", generation))
			unknown := p.Name("unknown")
			p.Show(
				"unknown group",
				p.GroupCoordinator(unknown),
				3,
				kit.Heartbeat(unknown, "ghost", 1),
			)
			p.Show("empty group", p.GroupCoordinator(""), 3, kit.Heartbeat("", "ghost", 1))
		},
	},
	{
		Name:   "groups/heartbeat-joined",
		Intent: "a heartbeat between join and sync",
		Run: func(p *kit.P) {
			group := p.Name("group")
			c := p.GroupCoordinator(group)
			joined := kit.Ask[*kmsg.JoinGroupResponse](p, c, 3, kit.JoinGroup(group, "", "range"))
			p.Show("heartbeat", c, 3, kit.Heartbeat(group, joined.MemberID, joined.Generation))
			p.Show(
				"commit",
				c,
				7,
				commitAs(group, p.Topic("a", 1), joined.MemberID, joined.Generation),
			)
		},
	},
	{
		Name:   "groups/static-rejoin",
		Intent: "a static member coming back with no id gets a new id; generation and assignment stay",
		Run: func(p *kit.P) {
			group := p.Name("group")
			c := p.GroupCoordinator(group)
			first := joinStatic(p, "join", c, group, "", "one")
			sync := kit.SyncGroup(group, first.MemberID, first.Generation, first.MemberID, "work")
			sync.InstanceID = new("one")
			p.Show("sync", c, 3, sync)
			again := joinStatic(p, "join again", c, group, "", "one")
			p.Note("new id", again.MemberID != first.MemberID)
			beat := kit.Heartbeat(group, first.MemberID, first.Generation)
			beat.InstanceID = new("one")
			p.Show("heartbeat of the old", c, 3, beat)
			beat = kit.Heartbeat(group, again.MemberID, again.Generation)
			beat.InstanceID = new("one")
			p.Show("heartbeat of the new", c, 3, beat)
		},
	},
	{
		Name:   "groups/static-fencing",
		Intent: "an instance id with another member's id: FENCED_INSTANCE_ID; unknown instance: UNKNOWN_MEMBER_ID",
		Run: func(p *kit.P) {
			group := p.Name("group")
			c := p.GroupCoordinator(group)
			first := joinStatic(p, "join", c, group, "", "one")
			p.Show("join with another id", c, 5, staticJoin(group, "ghost", "one"))
			beat := kit.Heartbeat(group, "ghost", first.Generation)
			beat.InstanceID = new("one")
			p.Show("heartbeat with another id", c, 3, beat)
			beat.InstanceID = new("two")
			p.Show("heartbeat of an unknown instance", c, 3, beat)
			commit := commitAs(group, p.Topic("a", 1), "ghost", first.Generation)
			commit.InstanceID = new("one")
			p.Show("commit with another id", c, 7, commit)
		},
	},
	{
		Name:   "groups/static-leave",
		Intent: "LeaveGroup by instance id",
		Run: func(p *kit.P) {
			group := p.Name("group")
			c := p.GroupCoordinator(group)
			joinStatic(p, "join", c, group, "", "one")
			request := kit.LeaveGroup(group, "", "ghost", "")
			request.Members[0].InstanceID = new("two")
			request.Members[1].InstanceID = new("one")
			request.Members[2].InstanceID = new("one")
			p.Show("unknown instance, wrong id, right", c, 4, request)
			p.Show("describe", c, 5, describeGroup(group))
		},
	},
	{
		Name:   "groups/list",
		Intent: "ListGroups with filters by state and type",
		Run: func(p *kit.P) {
			group := p.Name("group")
			c := p.GroupCoordinator(group)
			p.JoinAlone(c, group)
			for _, version := range []int16{0, 3, 4, 5} {
				showListed(p, fmt.Sprintf("v%d", version), c, version, group, nil, nil)
			}
			showListed(p, "Stable", c, 5, group, []string{"Stable"}, nil)
			showListed(p, "stable in lower case", c, 5, group, []string{"stable"}, nil)
			showListed(p, "Empty", c, 5, group, []string{"Empty"}, nil)
			showListed(p, "bogus state", c, 5, group, []string{"Bogus"}, nil)
			showListed(p, "classic", c, 5, group, nil, []string{"classic"})
			showListed(p, "consumer", c, 5, group, nil, []string{"consumer"})
			showListed(p, "bogus type", c, 5, group, nil, []string{"bogus"})
		},
	},
	{
		Name:   "groups/delete",
		Intent: "unknown, not empty (68), empty, again",
		Run: func(p *kit.P) {
			group := p.Name("group")
			c := p.GroupCoordinator(group)
			remove := kmsg.NewPtrDeleteGroupsRequest()
			remove.Groups = []string{group}
			p.Show("unknown", c, 2, remove)
			p.Show("unknown v3", c, 3, remove)
			member, _ := p.JoinAlone(c, group)
			p.Show("stable", c, 2, remove)
			p.Show("stable v3", c, 3, remove)
			kit.Ask[*kmsg.LeaveGroupResponse](p, c, 2, kit.LeaveGroup(group, member))
			p.Show("empty", c, 2, remove)
			p.Show("again", c, 2, remove)
		},
	},
	{
		Name:   "group-offsets/commit-versions",
		Intent: "a simple consumer's commit and fetch at every version",
		Run: func(p *kit.P) {
			topic, group := p.Topic("a", 1), p.Name("group")
			c := p.GroupCoordinator(group)
			for version := int16(2); version <= 10; version++ {
				commit := kit.OffsetCommit(group, topic, 0, int64(version))
				commit.Topics[0].Partitions[0].LeaderEpoch = 0
				commit.Topics[0].Partitions[0].Metadata = new(fmt.Sprintf("by v%d", version))
				p.Show(fmt.Sprintf("commit v%d", version), c, version, commit)
				p.Show(
					fmt.Sprintf("fetch v%d", version),
					c,
					min(version, 10),
					kit.OffsetFetch(group, topic, 0),
				)
			}
		},
	},
	{
		Name:   "group-offsets/fetch-unknown-group",
		Intent: "an unknown group has offset -1 everywhere and no error",
		Run: func(p *kit.P) {
			topic, group := p.Topic("a", 1), p.Name("group")
			c := p.GroupCoordinator(group)
			for _, version := range []int16{1, 2, 5, 7, 8, 9, 10} {
				p.Show(fmt.Sprintf("v%d", version), c, version, kit.OffsetFetch(group, topic, 0, 5))
			}
		},
	},
	{
		Name:   "group-offsets/fetch-all",
		Intent: "null topics (v2+): every offset of the group",
		Run: func(p *kit.P) {
			topic, group := p.Topic("a", 2), p.Name("group")
			c := p.GroupCoordinator(group)
			p.Show("none", c, 8, kit.OffsetFetchAll(group))
			kit.Ask[*kmsg.OffsetCommitResponse](p, c, 7, kit.OffsetCommit(group, topic, 1, 7))
			for _, version := range []int16{2, 7, 8, 10} {
				p.Show(fmt.Sprintf("v%d", version), c, version, kit.OffsetFetchAll(group))
			}
		},
	},
	{
		Name:   "group-offsets/fetch-several-groups",
		Intent: "v8+: several groups in one request, one of another coordinator perhaps",
		Run: func(p *kit.P) {
			topic, group := p.Topic("a", 1), p.Name("group")
			c := p.GroupCoordinator(group)
			kit.Ask[*kmsg.OffsetCommitResponse](p, c, 7, kit.OffsetCommit(group, topic, 0, 3))
			request := kit.OffsetFetch(group, topic, 0)
			request.Groups = append(request.Groups, kit.OffsetFetchAll(group).Groups...)
			p.Show("the same twice", c, 8, request)
			request.Groups = nil
			p.Show("none", c, 8, request)
		},
	},
	{
		Name:   "group-offsets/commit-errors",
		Intent: "unknown topic and partition, metadata too long, empty group id, negative offset",
		Run: func(p *kit.P) {
			topic, group := p.Topic("a", 1), p.Name("group")
			c := p.GroupCoordinator(group)
			p.Show(
				"unknown topic",
				c,
				7,
				kit.OffsetCommit(group, kit.Topic{Name: p.Name("unknown")}, 0, 1),
			)
			p.Show("unknown partition", c, 7, kit.OffsetCommit(group, topic, 9, 1))
			for _, size := range []int{4096, 4097} {
				commit := kit.OffsetCommit(group, topic, 0, 1)
				commit.Topics[0].Partitions[0].Metadata = new(strings.Repeat("m", size))
				p.Show(fmt.Sprintf("metadata of %d", size), c, 7, commit)
			}
			p.Show("empty group", p.GroupCoordinator(""), 7, kit.OffsetCommit("", topic, 0, 1))
			p.Show("offset -5", c, 7, kit.OffsetCommit(group, topic, 0, -5))
			p.Show("fetch", c, 7, kit.OffsetFetch(group, topic, 0))
		},
	},
	{
		Name:   "group-offsets/commit-unknown-id",
		Intent: "v10: an unknown topic id",
		Run: func(p *kit.P) {
			group, id := p.Name("group"), [16]byte{3, 3, 3}
			p.HideID(id, "<unknown-id>")
			c := p.GroupCoordinator(group)
			p.Show("commit", c, 10, kit.OffsetCommit(group, kit.Topic{ID: id}, 0, 1))
			p.Show("fetch", c, 10, kit.OffsetFetch(group, kit.Topic{ID: id}, 0))
		},
	},
	{
		Name:   "group-offsets/commit-as-member",
		Intent: "commits of a member: right, wrong generation, unknown member, none at all",
		Run: func(p *kit.P) {
			topic, group := p.Topic("a", 1), p.Name("group")
			c := p.GroupCoordinator(group)
			member, generation := p.JoinAlone(c, group)
			for _, version := range []int16{7, 9} {
				p.Show("right", c, version, commitAs(group, topic, member, generation))
				p.Show("older", c, version, commitAs(group, topic, member, generation-1))
				p.Show("newer", c, version, commitAs(group, topic, member, generation+1))
				p.Show("unknown member", c, version, commitAs(group, topic, "ghost", generation))
				p.Show("no generation", c, version, kit.OffsetCommit(group, topic, 0, 1))
			}
		},
	},
	{
		Name:   "group-offsets/retention",
		Intent: "v2-v4 carry a retention time",
		Run: func(p *kit.P) {
			topic, group := p.Topic("a", 1), p.Name("group")
			c := p.GroupCoordinator(group)
			for _, version := range []int16{2, 4} {
				commit := kit.OffsetCommit(group, topic, 0, int64(version))
				commit.RetentionTimeMillis = 3600_000
				p.Show(fmt.Sprintf("v%d", version), c, version, commit)
				p.Show("fetch", c, 5, kit.OffsetFetch(group, topic, 0))
			}
		},
	},
	{
		Name:   "group-offsets/delete",
		Intent: "OffsetDelete: unknown group, unknown offset, subscribed topic (86), done",
		Run: func(p *kit.P) {
			topic, group := p.Topic("a", 1), p.Name("group")
			c := p.GroupCoordinator(group)
			p.Show("unknown group", c, 0, kit.OffsetDelete(group, topic.Name))
			kit.Ask[*kmsg.OffsetCommitResponse](p, c, 7, kit.OffsetCommit(group, topic, 0, 3))
			p.Show("unknown topic", c, 0, kit.OffsetDelete(group, p.Name("unknown")))
			p.Show("known", c, 0, kit.OffsetDelete(group, topic.Name))
			p.Show("fetch", c, 7, kit.OffsetFetch(group, topic, 0))
			p.Show("group afterwards", c, 6, describeGroup(group))
		},
	},
	{
		Name:   "group-offsets/topic-deleted",
		Intent: "the offsets of a deleted topic are gone",
		Run: func(p *kit.P) {
			topic, group := p.Topic("a", 1), p.Name("group")
			c := p.GroupCoordinator(group)
			kit.Ask[*kmsg.OffsetCommitResponse](p, c, 7, kit.OffsetCommit(group, topic, 0, 3))
			kit.Ask[*kmsg.DeleteTopicsResponse](p, p.Broker(0), 5, kit.DeleteTopics(topic.Name))
			gone := p.Eventually(func() bool {
				response := kit.Ask[*kmsg.OffsetFetchResponse](
					p,
					c,
					7,
					kit.OffsetFetch(group, topic, 0),
				)
				return response.Topics[0].Partitions[0].Offset == -1
			})
			p.Note("gone", gone)
		},
	},
}
