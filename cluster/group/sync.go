package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Sync takes a SyncGroup; the members' are answered when the leader's assignments are committed.
func (c *Coordinator) Sync(r *kmsg.SyncGroupRequest, reply func(*kmsg.SyncGroupResponse)) {
	answer := func(a synced) {
		response := r.ResponseKind().(*kmsg.SyncGroupResponse)
		response.ErrorCode, response.MemberAssignment = a.code, a.assignment
		response.ProtocolType, response.Protocol = a.protocolType, a.protocol
		if response.MemberAssignment == nil {
			response.MemberAssignment = []byte{}
		}
		reply(response)
	}
	g := c.find(r.Group)
	if g == nil {
		answer(synced{code: kerr.UnknownMemberID.Code})
		return
	}
	if code := g.checkSync(r); code != 0 {
		answer(synced{code: code})
		return
	}
	m := g.member(r.MemberID)
	switch g.state {
	case Empty:
		answer(synced{code: kerr.UnknownMemberID.Code})
	case PreparingRebalance:
		answer(synced{code: kerr.RebalanceInProgress.Code})
	case CompletingRebalance:
		m.answerSync(synced{code: kerr.UnknownMemberID.Code})
		m.sync, m.toSync = answer, false
		if m.id == g.leader {
			c.storeAssignments(g, r)
		}
	case Stable:
		m.toSync = false
		answer(g.assigned(m))
		c.armSession(g, m, m.sessionTimeout)
	}
}

func (g *group) checkSync(r *kmsg.SyncGroupRequest) int16 {
	if code := g.check(r.MemberID, r.InstanceID); code != 0 {
		return code
	}
	if r.Generation != g.generation {
		return kerr.IllegalGeneration.Code
	}
	if r.ProtocolType != nil && *r.ProtocolType != g.protocolType ||
		r.Protocol != nil && *r.Protocol != g.protocol {
		return kerr.InconsistentGroupProtocol.Code
	}
	return 0
}

// storeAssignments writes what the leader gave to whom; replaying it makes the group stable. A
// member that the leader forgot has nothing.
func (c *Coordinator) storeAssignments(g *group, r *kmsg.SyncGroupRequest) {
	assignments := map[string][]byte{}
	for i := range r.GroupAssignment {
		assignments[r.GroupAssignment[i].MemberID] = r.GroupAssignment[i].MemberAssignment
	}
	generation := g.generation
	c.log.Append([]Record{c.record(g, assignments)}, Author{Member: r.MemberID},
		func(code int16) {
			if code == 0 || c.closed || g.state != CompletingRebalance ||
				g.generation != generation {
				return
			}
			for _, m := range g.members {
				if m.sync != nil {
					m.answerSync(synced{code: code})
					c.armSession(g, m, m.sessionTimeout)
				}
			}
			c.prepareRebalance(g, "the assignments could not be stored")
		})
}

// assigned is a member's part.
func (g *group) assigned(m *member) synced {
	protocolType, protocol := g.protocolType, g.protocol
	return synced{protocolType: &protocolType, protocol: &protocol, assignment: m.assignment}
}

// Heartbeat takes a Heartbeat and says what its answer's code is.
func (c *Coordinator) Heartbeat(r *kmsg.HeartbeatRequest) int16 {
	g := c.find(r.Group)
	if g == nil {
		return kerr.UnknownMemberID.Code
	}
	if code := g.check(r.MemberID, r.InstanceID); code != 0 {
		return code
	}
	if r.Generation != g.generation {
		return kerr.IllegalGeneration.Code
	}
	if g.state == Empty {
		return kerr.UnknownMemberID.Code
	}
	m := g.member(r.MemberID)
	c.armSession(g, m, m.sessionTimeout)
	if g.state == PreparingRebalance {
		return kerr.RebalanceInProgress.Code
	}
	return 0
}
