package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
)

// Leave takes members out of a group at their own wish, or at an administrator's. It answers with a
// code for each; all of them leave before the others rebalance.
func (c *Coordinator) Leave(group string, leaving []kmsg.LeaveGroupRequestMember) []int16 {
	codes := make([]int16, len(leaving))
	g := c.find(group)
	if g == nil {
		for i := range codes {
			codes[i] = kerr.UnknownMemberID.Code
		}
		return codes
	}
	left := false
	for i := range leaving {
		codes[i] = c.leave(g, &leaving[i])
		left = left || codes[i] == 0
	}
	if left {
		c.afterRemoval(g, "it asked to")
	}
	return codes
}

func (c *Coordinator) leave(g *group, who *kmsg.LeaveGroupRequestMember) int16 {
	if g.takePending(who.MemberID) {
		return 0
	}
	m := g.member(who.MemberID)
	if who.MemberID == "" && who.InstanceID != nil {
		m = g.static(*who.InstanceID) // an administrator knows the instance only
	} else if code := g.check(who.MemberID, who.InstanceID); code != 0 {
		return code
	}
	if m == nil {
		return kerr.UnknownMemberID.Code
	}
	c.remove(g, m, reasonOf(who.Reason, "it asked to"), event.RuleNone)
	return 0
}
