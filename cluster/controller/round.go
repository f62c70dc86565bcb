package controller

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"highwater/cluster/event"
)

// roundTimeMax bounds a round in real time. Reaching it is a bug, or a machine that stands still.
const roundTimeMax = 20 * time.Second

// roundSpins is how often a round looks again before it waits for a nudge.
const roundSpins = 64

// roundPatience is the longest wait for a nudge before looking again: some of Raft's progress
// (its commit index) makes no sound.
const roundPatience = 100 * time.Microsecond

// round is what a controller wants of Raft: to be elected, or its entries stored.
type round struct {
	actor    event.NodeID
	election bool
	// peers are the voters that can be reached, sorted.
	peers []event.NodeID
	// values are new metadata records; none in an election, or when only others have to catch up.
	values    [][]byte
	timestamp int64 // unix ms by the actor's clock
}

// openRound is the round under way as the transport sees it.
type openRound struct {
	actor    *member
	election bool
	term     uint64 // the only one whose calls go through
	peers    map[event.NodeID]*member
	asked    map[event.NodeID]bool // answered the request for their vote
	inFlight int                   // calls under way
	closing  bool
}

// roundOutcome is how a round ended.
type roundOutcome int8

const (
	// roundLost: the actor cannot win, or somebody reachable knows of a higher term, which a
	// candidate knows from then on.
	roundLost roundOutcome = iota
	// roundStored: all reachable voters have the actor's log.
	roundStored
)

// roundResult is what a round did. Each node's effect is told once.
type roundResult struct {
	round
	outcome roundOutcome
	term    int32
	// stored is the actor's log end offset, committed the high watermark; it stays where it was
	// without a majority.
	stored    event.Offset
	committed event.Offset
	effects   []nodeEffect // sorted by node
}

// nodeEffect is what a round changed on one node's disk.
type nodeEffect struct {
	node          event.NodeID
	before, after storeView
	told          bool
}

// awaitRounds waits until that many rounds are over. In live mode each runs beside the loop, and
// their order would otherwise be chance.
func (q *Quorum) awaitRounds(number int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.ran < number {
		q.changed.Wait()
	}
}

// ended lets the next round begin.
func (q *Quorum) ended() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ran++
	q.changed.Broadcast()
}

// run performs a round. It runs as work of the actor, in virtual mode on the loop while the world
// stands still, in live mode beside it.
func (q *Quorum) run(r round) *roundResult {
	q.rounds.Lock()
	defer q.rounds.Unlock()
	result := &roundResult{round: r, outcome: roundLost, committed: -1}
	if r.election {
		q.renewCandidate(r.actor)
	}
	o := q.prepare(r)
	if o == nil {
		return result
	}
	before := viewsOf(o)
	me := before[r.actor]
	result.term, result.stored = int32(me.term), event.Offset(me.last)
	if newest := newestTerm(before); newest > me.term {
		if r.election {
			q.learnTerm(o, newest)
			result.effects = []nodeEffect{{node: r.actor, before: me, after: o.actor.store.view()}}
		}
		return result
	}
	if r.election {
		granting, wins := q.countVotes(r, before)
		if !wins {
			return result
		}
		o.actor.store.prepareNoop(placement{timestamp: r.timestamp, count: 1,
			control: q.leaderChange(r.actor, granting)})
	} else if !leads(o.actor) {
		return result
	}
	g := goal{term: me.term, last: me.last, majority: len(r.peers)+1 >= q.majority()}
	if r.election {
		g.term++
		g.last++
	}
	o.term = g.term
	q.begin(o)
	if r.election {
		q.campaign(o)
	} else {
		// What the others lack they get before there is anything new: should the actor's disk not take
		// that, they would have caught up or not as Raft's goroutines happen to run.
		q.await(o, g)
		g.last += uint64(len(r.values))
		q.submit(o, r)
	}
	q.await(o, g)
	q.drain(o)
	q.finish(o, result, before)
	return result
}

// prepare collects the members of a round; nil when the actor is down.
func (q *Quorum) prepare(r round) *openRound {
	q.mu.Lock()
	defer q.mu.Unlock()
	o := &openRound{actor: q.members[r.actor], election: r.election,
		peers: map[event.NodeID]*member{}, asked: map[event.NodeID]bool{}}
	if o.actor == nil || o.actor.raft == nil || o.actor.store.view().failed != nil {
		return nil
	}
	for _, id := range r.peers {
		if m := q.members[id]; m != nil && m.raft != nil && m.store.view().failed == nil {
			o.peers[id] = m
		}
	}
	return o
}

func viewsOf(o *openRound) map[event.NodeID]storeView {
	views := map[event.NodeID]storeView{o.actor.id: o.actor.store.view()}
	for id, m := range o.peers {
		views[id] = m.store.view()
	}
	return views
}

func leads(m *member) bool { return m.raft.State() == raft.Leader }

func newestTerm(views map[event.NodeID]storeView) (newest uint64) {
	for _, v := range views { // a maximum: the order does not matter
		newest = max(newest, v.term)
	}
	return newest
}

// learnTerm makes a candidate that is behind take over the term that it would be refused with, so
// that it asks in a later one next time. Raft takes it from the request for a vote with which it
// came into the world, and which nobody heard then.
func (q *Quorum) learnTerm(o *openRound, term uint64) {
	_, err := o.actor.transport.deliver(&raft.RequestVoteRequest{
		RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax},
		Term:      term, LeadershipTransfer: true})
	if err != nil {
		panic(fmt.Sprintf("controller: %d does not learn term %d: %v", o.actor.id, term, err))
	}
	// The world hears of a disk that refuses by the store's view.
	_ = o.actor.store.speak()
}

// countVotes says who will vote for the actor, itself first, and whether that is enough. An
// election that cannot be won is never begun: Raft would stay a candidate without an end.
func (q *Quorum) countVotes(r round, views map[event.NodeID]storeView) ([]event.NodeID, bool) {
	me := views[r.actor]
	granting := []event.NodeID{r.actor}
	for _, id := range r.peers {
		peer, ok := views[id]
		if !ok {
			continue
		}
		if me.upToDateWith(peer) {
			granting = append(granting, id)
		}
	}
	return granting, len(granting) >= q.majority()
}

// begin opens the links.
func (q *Quorum) begin(o *openRound) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open = o
	q.changed.Broadcast()
}

// campaign tells the actor to campaign: the world's timer fired, not Raft's.
func (q *Quorum) campaign(o *openRound) {
	_, err := o.actor.transport.deliver(&raft.TimeoutNowRequest{
		RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}})
	if err != nil {
		panic(fmt.Sprintf("controller: %d does not campaign: %v", o.actor.id, err))
	}
}

// submit gives Raft the new records.
func (q *Quorum) submit(o *openRound, r round) {
	for i, value := range r.values {
		p := placement{timestamp: r.timestamp, position: i, count: len(r.values)}
		// Nobody waits for the future: the round's own goal is stronger.
		o.actor.raft.ApplyLog(raft.Log{Data: value, Extensions: p.encode()}, 0)
	}
}

// goal is what a round waits for: the actor leads the term, and every reachable node has its log
// up to last, committed if they are a majority.
type goal struct {
	term     uint64
	last     uint64
	majority bool
}

func (q *Quorum) reached(o *openRound, g goal) bool {
	me := o.actor.store.view()
	if me.failed != nil || q.lostMajority(o) {
		// Either nobody was asked for a vote, or everybody.
		return !o.election || me.written < g.term || q.askedAll(o)
	}
	if !leads(o.actor) || o.actor.raft.CurrentTerm() != g.term || me.last != g.last ||
		me.staged > 0 || me.lastTerm > g.term {
		return false
	}
	healthy := 1
	for id, m := range o.peers { // a conjunction: the order does not matter
		v := m.store.view()
		if v.failed != nil {
			continue
		}
		healthy++
		if v.last != g.last || v.lastTerm != me.lastTerm || v.term != g.term || v.staged > 0 ||
			m.raft.State() != raft.Follower || m.raft.CurrentTerm() != g.term ||
			o.election && !q.wasAsked(o, id) {
			return false
		}
		if _, leader := m.raft.LeaderWithID(); leader != raft.ServerID(addressOf(o.actor.id)) {
			return false
		}
	}
	return !g.majority || healthy < q.majority() || o.actor.raft.CommitIndex() >= g.last
}

// lostMajority says whether disks failed so that an election under way cannot be won any more.
func (q *Quorum) lostMajority(o *openRound) bool {
	healthy := 1
	for _, m := range o.peers { // a count: the order does not matter
		if m.store.view().failed == nil {
			healthy++
		}
	}
	return o.election && healthy < q.majority()
}

func (q *Quorum) wasAsked(o *openRound, id event.NodeID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return o.asked[id]
}

func (q *Quorum) askedAll(o *openRound) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(o.asked) == len(o.peers)
}

// await returns when the goal is reached.
func (q *Quorum) await(o *openRound, g goal) {
	if q.reached(o, g) {
		return
	}
	deadline := time.NewTimer(roundTimeMax)
	defer deadline.Stop()
	again := time.NewTimer(roundPatience)
	defer again.Stop()
	for spins := 0; !q.reached(o, g); spins++ {
		if spins < roundSpins {
			runtime.Gosched()
			continue
		}
		again.Reset(roundPatience)
		select {
		case <-q.nudge:
			spins = 0
		case <-again.C:
		case <-deadline.C:
			panic("controller: Raft did not reach what was expected: " + q.describe(o, g))
		}
	}
}

// drain waits until no call is under way.
func (q *Quorum) drain(o *openRound) {
	q.mu.Lock()
	defer q.mu.Unlock()
	o.closing = true
	for o.inFlight > 0 {
		q.changed.Wait()
	}
}

// describe is for the panic of a round that missed its goal.
func (q *Quorum) describe(o *openRound, g goal) string {
	var b strings.Builder
	fmt.Fprintf(&b, "node %d, election %t, %+v", o.actor.id, o.election, g)
	for _, m := range append([]*member{o.actor}, sortedMembers(o.peers)...) {
		fmt.Fprintf(&b, "; %d %s term %d commit %d %+v", m.id, m.raft.State(),
			m.raft.CurrentTerm(), m.raft.CommitIndex(), m.store.view())
	}
	return b.String()
}

func sortedMembers(members map[event.NodeID]*member) []*member {
	var list []*member
	for _, m := range members {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *member) int { return int(a.id) - int(b.id) })
	return list
}

// finish closes the links, writes down who leads, and collects what changed.
func (q *Quorum) finish(o *openRound, result *roundResult, before map[event.NodeID]storeView) {
	q.mu.Lock()
	q.open = nil
	q.changed.Broadcast()
	q.mu.Unlock()
	healthy := o.actor.store.view().failed == nil && !q.lostMajority(o)
	for _, m := range append(sortedMembers(o.peers), o.actor) {
		if healthy {
			m.store.learnLeader(o.actor.id)
		}
		result.effects = append(result.effects,
			nodeEffect{node: m.id, before: before[m.id], after: m.store.view()})
	}
	slices.SortFunc(result.effects, func(a, b nodeEffect) int { return int(a.node) - int(b.node) })
	if !healthy {
		return
	}
	v := o.actor.store.view()
	result.outcome = roundStored
	result.term, result.stored = int32(v.term), event.Offset(v.last)
	// Raft's commit index is that of the round's last entry, or of an earlier round.
	result.committed = event.Offset(o.actor.raft.CommitIndex())
}
