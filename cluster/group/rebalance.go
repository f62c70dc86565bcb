package group

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/event"
)

// rebalanceOrCompleteJoin begins a rebalance, or sees whether the one under way now has everybody.
func (c *Coordinator) rebalanceOrCompleteJoin(g *group, reason string) {
	if g.canRebalance() {
		c.prepareRebalance(g, reason)
		return
	}
	c.maybeCompleteJoin(g)
}

// prepareRebalance asks all members to join anew. A group that was empty waits a little for more
// members first, so that ten processes that start together do not rebalance ten times (KIP-134).
func (c *Coordinator) prepareRebalance(g *group, reason string) {
	if g.state == CompletingRebalance {
		for _, m := range g.members {
			m.assignment = nil
			if m.sync != nil {
				m.answerSync(synced{code: kerr.RebalanceInProgress.Code})
				c.armSession(g, m, m.sessionTimeout)
			}
		}
	}
	g.syncTimer.Stop()
	initial := g.state == Empty
	c.beginRebalance(g, reason)
	c.enter(g, PreparingRebalance, reason, event.RuleNone)
	if !initial {
		c.completeJoinOrWait(g)
		return
	}
	delay := c.settings.InitialRebalanceDelay
	left := max(g.rebalanceTimeout()-delay, 0)
	g.joinTimer.Stop()
	g.joinTimer = c.env.After("group-initial-delay", delay, func() { c.initialDelay(g, delay, left) })
}

// initialDelay extends the delay while members keep coming, but not past the rebalance timeout.
func (c *Coordinator) initialDelay(g *group, delay, left time.Duration) {
	if !g.newMemberAdded || left == 0 {
		c.completeJoin(g, event.RuleGroupInitialDelay)
		return
	}
	g.newMemberAdded = false
	next := min(c.settings.InitialRebalanceDelay, left)
	rest := max(left-delay, 0)
	g.joinTimer = c.env.After("group-initial-delay", next, func() { c.initialDelay(g, next, rest) })
}

func (c *Coordinator) completeJoinOrWait(g *group) {
	if g.allJoined() {
		c.completeJoin(g, event.RuleNone)
		return
	}
	g.joinTimer.Stop()
	g.joinTimer = c.env.After("group-rebalance-timeout", g.rebalanceTimeout(), func() {
		c.completeJoin(g, event.RuleGroupRebalanceTimeout)
	})
}

// maybeCompleteJoin ends the join phase once everybody is there; the initial delay runs its course.
func (c *Coordinator) maybeCompleteJoin(g *group) {
	if g.state == PreparingRebalance && g.before != Empty && g.allJoined() {
		c.completeJoin(g, event.RuleNone)
	}
}

// completeJoin drops who has not come back, begins the next generation, and tells its members.
func (c *Coordinator) completeJoin(g *group, rule event.Rule) {
	g.joinTimer.Stop()
	g.newMemberAdded = false
	for _, m := range slices.Clone(g.members) {
		if m.join == nil && m.instance == nil {
			c.remove(g, m, "did not come back in time", event.RuleGroupRebalanceTimeout)
		}
	}
	if len(g.members) == 0 {
		c.becomeEmpty(g)
		return
	}
	if !g.electLeader() {
		// Only static members are left and none of them is back: wait another round for them.
		g.joinTimer = c.env.After("group-rebalance-timeout", g.rebalanceTimeout(), func() {
			c.completeJoin(g, event.RuleGroupRebalanceTimeout)
		})
		return
	}
	g.generation++
	g.protocol = g.vote()
	c.enter(g, CompletingRebalance, "the join phase ended", rule)
	for _, m := range g.members {
		m.toSync = true
		m.answerJoin(g.joinedBy(m, m.id == g.leader))
		m.isNew = false
		c.armSession(g, m, m.sessionTimeout)
	}
	generation := g.generation
	g.syncTimer.Stop()
	g.syncTimer = c.env.After("group-sync-timeout", g.rebalanceTimeout(), func() {
		c.expireSync(g, generation)
	})
}

// becomeEmpty ends the last member's generation and writes that down, for whoever comes next.
func (c *Coordinator) becomeEmpty(g *group) {
	g.generation++
	g.protocol, g.leader = "", ""
	c.enter(g, Empty, "no member is left", event.RuleNone)
	c.endRebalance(g, "empty")
	c.log.Append([]Record{c.record(g, nil)}, Author{}, func(int16) {})
}

// electLeader keeps the leader if it is there, or else takes the oldest member that is. It is false
// when nobody waits in JoinGroup.
func (g *group) electLeader() bool {
	if m := g.member(g.leader); m != nil && m.join != nil {
		return true
	}
	for _, m := range g.members {
		if m.join != nil {
			g.leader = m.id
			return true
		}
	}
	return false
}

// expireSync drops the members that were told of the generation and never asked what is theirs.
func (c *Coordinator) expireSync(g *group, generation int32) {
	if g.generation != generation || g.state != CompletingRebalance && g.state != Stable {
		return
	}
	late := false
	for _, m := range slices.Clone(g.members) {
		if m.toSync {
			late = true
			c.remove(g, m, "did not ask for its assignment in time", event.RuleGroupRebalanceTimeout)
		}
	}
	if late {
		c.prepareRebalance(g, "members did not ask for their assignments")
	}
}

// remove takes a member out and answers what it waits for.
func (c *Coordinator) remove(g *group, m *member, reason string, rule event.Rule) {
	m.session.Stop()
	m.answerJoin(joined{code: kerr.UnknownMemberID.Code, memberID: m.id, generation: -1})
	m.answerSync(synced{code: kerr.UnknownMemberID.Code})
	g.members = slices.DeleteFunc(g.members, func(x *member) bool { return x == m })
	if g.leader == m.id {
		g.leader = ""
		if len(g.members) > 0 {
			g.leader = g.members[0].id
		}
	}
	event.GroupMemberLeft{Group: g.id, Member: m.id, ClientID: m.clientID, Reason: reason}.
		Emit(c.env.Events, rule)
}

// removeAndRebalance takes a member out of a group that goes on without it.
func (c *Coordinator) removeAndRebalance(g *group, m *member, reason string, rule event.Rule) {
	c.remove(g, m, reason, rule)
	c.afterRemoval(g, reason)
}

func (c *Coordinator) afterRemoval(g *group, reason string) {
	switch g.state {
	case Stable, CompletingRebalance:
		c.prepareRebalance(g, "a member left: "+reason)
	case PreparingRebalance:
		c.maybeCompleteJoin(g)
	}
}

// armSession gives a member until then to be heard from.
func (c *Coordinator) armSession(g *group, m *member, timeout time.Duration) {
	m.due = c.env.Now() + timeout
	if m.session.Armed() && m.session.Due() <= c.env.VirtualNow()+int64(timeout) {
		return // it looks again when it fires
	}
	m.session.Stop()
	m.session = c.env.AfterQuiet("group-session", timeout, func() { c.expireSession(g, m) })
}

func (c *Coordinator) expireSession(g *group, m *member) {
	if left := m.due - c.env.Now(); left > 0 {
		m.session.Reset(left)
		return
	}
	if c.closed || g.member(m.id) != m {
		return
	}
	if !m.isNew && (m.join != nil || m.sync != nil) {
		return // it waits for us; its session goes on when it is answered
	}
	c.removeAndRebalance(g, m, "its session timed out", event.RuleGroupSessionTimeout)
}
