package group

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupOperations are the bits of AclOperation that exist for groups: read, delete, describe, and
// describing and changing configurations.
const groupOperations = 1<<3 | 1<<6 | 1<<8 | 1<<10 | 1<<11

// errorsForUnknownFrom is the version of DescribeGroups that has an error for an unknown group;
// older ones are told that it is dead.
const errorsForUnknownFrom = 6

// Describe tells of one group.
func (c *Coordinator) Describe(id string, version int16, operations bool) (
	out kmsg.DescribeGroupsResponseGroup) {
	out = kmsg.NewDescribeGroupsResponseGroup()
	out.Group, out.State = id, Dead.String()
	g := c.find(id)
	if g == nil {
		if version >= errorsForUnknownFrom {
			message := "Group " + id + " not found."
			out.ErrorCode, out.ErrorMessage = kerr.GroupIDNotFound.Code, &message
		}
		return out
	}
	if operations {
		out.AuthorizedOperations = groupOperations
	}
	out.State, out.ProtocolType = g.state.String(), g.protocolType
	if g.state == Stable {
		out.Protocol = g.protocol
	}
	for _, m := range g.members {
		listed := kmsg.NewDescribeGroupsResponseGroupMember()
		listed.MemberID, listed.InstanceID = m.id, m.instance
		listed.ClientID, listed.ClientHost = m.clientID, m.host
		listed.ProtocolMetadata, listed.MemberAssignment = []byte{}, []byte{}
		if g.state == Stable {
			listed.ProtocolMetadata = append(listed.ProtocolMetadata, m.metadata(g.protocol)...)
			listed.MemberAssignment = append(listed.MemberAssignment, m.assignment...)
		}
		out.Members = append(out.Members, listed)
	}
	return out
}

// Members says which members a group has and in which generation it is; ok is false for one that
// nobody knows.
func (c *Coordinator) Members(id string) (members []string, generation int32, ok bool) {
	g := c.find(id)
	if g == nil {
		return nil, 0, false
	}
	for _, m := range g.members {
		members = append(members, m.id)
	}
	return members, g.generation, true
}

// groupType is the type that ListGroups gives to groups of the classic protocol.
const groupType = "classic"

// List tells of the groups in any of these states and of any of these types; an empty filter lets
// all pass. Letter case does not matter.
func (c *Coordinator) List(states, types []string) []kmsg.ListGroupsResponseGroup {
	var list []kmsg.ListGroupsResponseGroup
	for _, g := range c.ordered {
		if !passes(states, g.state.String()) || !passes(types, groupType) {
			continue
		}
		listed := kmsg.NewListGroupsResponseGroup()
		listed.Group, listed.ProtocolType = g.id, g.protocolType
		listed.GroupState, listed.GroupType = g.state.String(), groupType
		list = append(list, listed)
	}
	return list
}

func passes(filter []string, text string) bool {
	for _, f := range filter {
		if strings.EqualFold(f, text) {
			return true
		}
	}
	return len(filter) == 0
}

// Delete removes a group that nobody is in, with its offsets.
func (c *Coordinator) Delete(id string, done func(code int16)) {
	g := c.find(id)
	switch {
	case g == nil:
		done(kerr.GroupIDNotFound.Code)
		return
	case g.state != Empty:
		done(kerr.NonEmptyGroup.Code)
		return
	}
	for len(g.pending) > 0 {
		g.takePending(g.pending[0].id)
	}
	var records []Record
	for _, p := range g.partitions() {
		records = append(records, Record{Key: offsetRecordKey(id, p)})
	}
	records = append(records, Record{Key: groupRecordKey(id)})
	c.log.Append(records, Author{}, done)
}
