package controller

import (
	"slices"
	"sync/atomic"

	"highwater/cluster/event"
)

// pendingRound is a round that was begun and whose end the actor has not heard of: its virtual
// time has to pass first. What it did is on disk already.
type pendingRound struct {
	actor    event.NodeID
	election bool
	cause    event.Seq
	told     bool // its effects were told ahead of its end: the actor stood still
	// result is set by the round, in live mode on another goroutine.
	result atomic.Pointer[roundResult]
}

// electing says whether an election was begun whose result nobody has heard of yet. Whoever asks
// for a vote meanwhile would be refused it. One that is lost counts too: beside the loop nobody
// can know that before it is told.
func (q *Quorum) electing() bool {
	return slices.ContainsFunc(q.pending, func(p *pendingRound) bool { return p.election })
}

// settle takes a round off the list of those to be told.
func (q *Quorum) settle(p *pendingRound) {
	q.pending = slices.DeleteFunc(q.pending, func(other *pendingRound) bool { return other == p })
}

// NodePaused is called before a controller stands still. Nobody waits for the end of its rounds any
// more, or no other could be elected; what they stored is told at once, since others go on from
// there.
func (q *Quorum) NodePaused(id event.NodeID) {
	if !slices.Contains(q.ids, id) {
		return
	}
	q.awaitRounds(q.asked)
	for _, p := range slices.Clone(q.pending) {
		r := p.result.Load()
		if p.actor != id || r == nil {
			continue
		}
		q.settle(p)
		q.tellVotes(p, r)
		q.tellLogs(p, r)
		p.told = true
	}
}

// isOver says whether some controller has stored a later term.
func (q *Quorum) isOver(term int32) bool {
	return slices.ContainsFunc(q.ids, func(id event.NodeID) bool { return int32(q.told[id].term) > term })
}

// tellOf tells at once what a node stored in rounds whose end it will not see.
func (q *Quorum) tellOf(id event.NodeID) {
	for _, p := range slices.Clone(q.pending) {
		r := p.result.Load()
		if r != nil {
			for i := range r.effects {
				if r.effects[i].node == id {
					q.tellVote(p, &r.effects[i])
					q.tellStored(p, &r.effects[i])
					r.effects[i].told = true
				}
			}
		}
		if p.actor != id {
			continue
		}
		// A round without its actor ends here: what the others stored is true all the same.
		q.settle(p)
		if r != nil {
			q.tellVotes(p, r)
			q.tellLogs(p, r)
		}
	}
}

// tellVotes tells, node by node, which terms and votes a round stored.
func (q *Quorum) tellVotes(p *pendingRound, r *roundResult) {
	if p.told {
		return
	}
	for i := range r.effects {
		q.tellVote(p, &r.effects[i])
	}
}

// tellLogs tells, node by node, how far the logs are on disk.
func (q *Quorum) tellLogs(p *pendingRound, r *roundResult) {
	if p.told {
		return
	}
	for i := range r.effects {
		q.tellStored(p, &r.effects[i])
	}
}

func (q *Quorum) emitterOf(p *pendingRound, id event.NodeID) *event.Emitter {
	em := q.world.NodeEvents(id)
	em.Cause = p.cause
	return em
}

func (q *Quorum) tellVote(p *pendingRound, e *nodeEffect) {
	if e.told || e.before.term == e.after.term && e.before.voted == e.after.voted {
		return
	}
	told := q.told[e.node]
	told.term, told.voted = e.after.term, e.after.voted
	q.told[e.node] = told
	event.VoteStored{Term: int32(e.after.term), Candidate: e.after.voted}.
		Emit(q.emitterOf(p, e.node), event.RuleNone)
}

func (q *Quorum) tellStored(p *pendingRound, e *nodeEffect) {
	if e.told || e.before.last == e.after.last && e.before.lastTerm == e.after.lastTerm {
		return
	}
	told := q.told[e.node]
	told.last, told.lastTerm = e.after.last, e.after.lastTerm
	q.told[e.node] = told
	event.MetadataStored{LogEndOffset: event.Offset(e.after.last), Term: int32(e.after.lastTerm),
		Records: int32(max(0, int64(e.after.last)-int64(e.before.last))),
	}.Emit(q.emitterOf(p, e.node), event.RuleNone)
}
