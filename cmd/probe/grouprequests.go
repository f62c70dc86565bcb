package main

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cmd/probe/kit"
)

func staticJoin(group, member, instance string) *kmsg.JoinGroupRequest {
	request := kit.JoinGroup(group, member, "range")
	request.InstanceID = &instance
	return request
}

func joinStatic(
	p *kit.P,
	step string,
	c *kit.Conn,
	group, member, instance string,
) *kmsg.JoinGroupResponse {
	return kit.Try[*kmsg.JoinGroupResponse](p, step, c, 5, staticJoin(group, member, instance))
}

func commitAs(
	group string,
	topic kit.Topic,
	member string,
	generation int32,
) *kmsg.OffsetCommitRequest {
	request := kit.OffsetCommit(group, topic, 0, 1)
	request.MemberID, request.Generation = member, generation
	return request
}

func describeGroup(group string) *kmsg.DescribeGroupsRequest {
	request := kmsg.NewPtrDescribeGroupsRequest()
	request.Groups = []string{group}
	return request
}

func awaitState(p *kit.P, c *kit.Conn, group, state string) {
	p.Await("group state "+state, func() bool {
		response := kit.Ask[*kmsg.DescribeGroupsResponse](p, c, 5, describeGroup(group))
		return response.Groups[0].State == state
	})
}

// coordinatorIndex returns the broker that the probe's standing connection to the coordinator uses.
func coordinatorIndex(p *kit.P, group string) int {
	c := p.GroupCoordinator(group)
	for i := range p.BrokerCount() {
		if p.Broker(i) == c {
			return i
		}
	}
	p.Fail("no broker coordinates the group")
	return -1
}

func showListed(
	p *kit.P,
	step string,
	c *kit.Conn,
	version int16,
	group string,
	states, types []string,
) {
	request := kmsg.NewPtrListGroupsRequest()
	request.StatesFilter, request.TypesFilter = states, types
	response := kit.Ask[*kmsg.ListGroupsResponse](p, c, version, request)
	listed := "not listed"
	for _, g := range response.Groups {
		if g.Group == group {
			listed = fmt.Sprintf(
				"type=%q state=%q protocol=%q",
				g.GroupType,
				g.GroupState,
				g.ProtocolType,
			)
		}
	}
	p.Note(step, kit.ErrorName(response.ErrorCode)+" "+listed)
}
