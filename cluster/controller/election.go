package controller

import (
	"fmt"
	"slices"
	"time"

	"highwater/cluster/event"
	"highwater/cluster/world"
)

// LeaderHeartbeat is how the quorum's leader keeps the voters from campaigning.
type LeaderHeartbeat struct {
	Leader        event.NodeID
	Term          int32
	HighWatermark event.Offset
}

// VoterState answers a LeaderHeartbeat.
type VoterState struct {
	Term         int32
	LogEndOffset event.Offset
	LastTerm     int32
}

const apiLeaderHeartbeat = "BeginQuorumEpoch"

// Describe marks the message as idle: it says only that its sender lives.
func (h *LeaderHeartbeat) Describe(sent *event.MessageSent) {
	sent.Topic, sent.Idle = metadataTopic, true
	sent.HighWatermark = h.HighWatermark
}

// Describe marks the message as idle.
func (v *VoterState) Describe(sent *event.MessageSent) {
	sent.Topic, sent.Idle = metadataTopic, true
	sent.Offset = v.LogEndOffset
}

// setRole changes the role and tells it if it is another one.
func (c *Controller) setRole(role string, term int32, leader event.NodeID) {
	if c.role == role && c.term == term && c.leader == leader {
		return
	}
	c.role, c.term, c.leader = role, term, leader
	event.ControllerStateChanged{State: role, Term: term, Leader: leader}.
		Emit(c.env.Events, event.RuleNone)
}

// armElection waits for a random time before the next campaign, so that seldom two begin at once.
func (c *Controller) armElection() {
	d := c.cfg.ElectionTimeout + time.Duration(c.env.Dice().Int64N(int64(c.cfg.ElectionTimeout)))
	if c.electionTimer == nil {
		c.electionTimer = c.env.After("election-timeout", d, c.campaign)
		return
	}
	c.electionTimer.Reset(d)
}

// armFetch waits for the next word of the leader.
func (c *Controller) armFetch() {
	if c.fetchTimer == nil {
		c.fetchTimer = c.env.After("fetch-timeout", c.cfg.FetchTimeout, c.campaign)
		return
	}
	c.fetchTimer.Reset(c.cfg.FetchTimeout)
}

// campaign asks for votes, if a majority that can be asked in time would hear of it: whoever leads,
// or has a leader, would not (KIP-996). Otherwise the node only is a candidate and tries again: a
// Raft election that cannot be won would not end.
func (c *Controller) campaign() {
	c.fetchTimer.Stop()
	q := c.quorum
	peers := slices.DeleteFunc(q.reachable(c.env.ID()), func(id event.NodeID) bool {
		return q.trip(c.env.ID(), id) > 2*c.cfg.ElectionTimeout
	})
	open := 1
	for _, id := range peers {
		if peer := q.controllers[id]; peer != nil && !peer.hasLeader() {
			open++
		}
	}
	if open < q.majority() || q.electing() {
		c.lostElection()
		return
	}
	c.beginRound(round{actor: c.env.ID(), election: true, peers: peers,
		timestamp: c.env.UnixMilli()}, c.campaigned)
}

// hasLeader says whether the node leads or has heard of its leader in time.
func (c *Controller) hasLeader() bool {
	return c.active != nil || c.fetchTimer.Armed() && c.fetchTimer.Due() > c.env.VirtualNow()
}

func (c *Controller) lostElection() {
	c.setRole(roleCandidate, max(c.term, int32(c.quorum.told[c.env.ID()].term)), event.NoNode)
	c.armElection()
}

// beginRound lets Raft work and calls done with the result when its time has passed.
func (c *Controller) beginRound(r round, done func(*pendingRound, *roundResult)) {
	if c.env.Dead() {
		return
	}
	p := &pendingRound{actor: r.actor, election: r.election, cause: c.env.Events.Cause}
	c.quorum.pending = append(c.quorum.pending, p)
	number := c.quorum.asked
	c.quorum.asked++
	run := func() any {
		c.quorum.awaitRounds(number)
		result := c.quorum.run(r)
		p.result.Store(result)
		c.quorum.ended()
		return result
	}
	cost := c.quorum.cost(r.actor, r.peers, c.cfg.SyncCost)
	c.env.Work("raft-round", cost, run, func(result any) {
		c.quorum.settle(p)
		if err := c.store.view().failed; err != nil {
			c.env.Fail("disk", err.Error())
			return
		}
		done(p, result.(*roundResult))
	})
}

// campaigned tells the world how an election ended, in canonical order: votes, roles, logs.
func (c *Controller) campaigned(p *pendingRound, r *roundResult) {
	q := c.quorum
	q.tellVotes(p, r)
	if r.outcome != roundStored || p.told && q.isOver(r.term) {
		q.tellLogs(p, r)
		q.failBroken(r)
		c.lostElection()
		return
	}
	for _, e := range r.effects {
		if e.told {
			continue
		}
		if e.node == c.env.ID() {
			c.setRole(roleLeader, r.term, c.env.ID())
		} else if voter := q.controllers[e.node]; voter != nil {
			voter.env.Events.Cause = p.cause
			voter.follow(c.env.ID(), r.term)
		}
	}
	q.tellLogs(p, r)
	q.failBroken(r)
	c.lead(r)
}

// failBroken takes down the controllers whose disk failed in a round.
func (q *Quorum) failBroken(r *roundResult) {
	for _, e := range r.effects {
		if other := q.controllers[e.node]; other != nil && e.node != r.actor {
			if err := e.after.failed; err != nil {
				other.env.Fail("disk", err.Error())
			}
		}
	}
}

// follow makes the node a follower of a leader whose term is not older than what it knows.
func (c *Controller) follow(leader event.NodeID, term int32) {
	if term < c.term {
		return
	}
	c.setRole(roleFollower, term, leader)
	c.stepDown()
	c.electionTimer.Stop()
	c.armFetch()
}

// stepDown ends what only a leader does. It comes after the new role is set: whoever waits for an
// answer is told who leads now.
func (c *Controller) stepDown() {
	c.heartbeatTimer.Stop()
	if a := c.active; a != nil {
		c.active = nil
		a.abandon()
	}
}

// heardLeader answers a leader's heartbeat. A leader of an older term learns of the newer one.
func (c *Controller) heardLeader(call *world.Call, h *LeaderHeartbeat) {
	if h.Term == c.term && c.role == roleLeader && h.Leader != c.env.ID() {
		panic(fmt.Sprintf("controller: %d and %d both lead in term %d",
			c.env.ID(), h.Leader, h.Term))
	}
	c.follow(h.Leader, h.Term)
	v := c.quorum.told[c.env.ID()]
	call.Reply(&VoterState{Term: max(c.term, int32(v.term)), LogEndOffset: event.Offset(v.last),
		LastTerm: int32(v.lastTerm)})
}

// lead begins this node's term as the active controller.
func (c *Controller) lead(r *roundResult) {
	c.stepDown()
	c.electionTimer.Stop()
	c.fetchTimer.Stop()
	clear(c.lastHeard)
	for _, id := range c.quorum.ids {
		c.lastHeard[id] = c.env.Now()
	}
	c.active = newActive(c, r)
	c.beatVoters()
}

// beatVoters sends the leader's heartbeats, and resigns when no majority answers any more.
func (c *Controller) beatVoters() {
	heard := 1
	for _, id := range c.quorum.ids {
		if id != c.env.ID() && c.env.Now()-c.lastHeard[id] < c.cfg.ResignTimeout {
			heard++
		}
	}
	if heard < c.quorum.majority() {
		c.resign()
		return
	}
	for _, id := range c.quorum.ids {
		if id != c.env.ID() {
			c.beatVoter(id, c.active)
		}
	}
	if c.heartbeatTimer == nil {
		c.heartbeatTimer = c.env.After("quorum-heartbeat", c.cfg.QuorumHeartbeat, c.beatVoters)
		return
	}
	c.heartbeatTimer.Reset(c.cfg.QuorumHeartbeat)
}

func (c *Controller) beatVoter(id event.NodeID, a *active) {
	beat := &LeaderHeartbeat{Leader: c.env.ID(), Term: c.term, HighWatermark: a.committedEnd}
	c.env.Request(id, apiLeaderHeartbeat, beat, c.cfg.FetchTimeout, func(body any, err error) {
		if err != nil || c.active != a {
			return
		}
		voter := body.(*VoterState)
		if voter.Term > c.term {
			c.resign()
			return
		}
		c.lastHeard[id] = c.env.Now()
		a.voterEnds[id] = voter.LogEndOffset
		a.compare(voter)
	})
}

// resign ends the leadership in Kafka's sense: no more answers, nobody fenced any more. Raft goes
// on believing until it hears of a higher term.
func (c *Controller) resign() {
	c.setRole(roleResigned, c.term, event.NoNode)
	c.stepDown()
	c.armElection()
}
