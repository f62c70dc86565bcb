package controller

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

// never parks Raft's own timers.
const never = 24 * time.Hour

// replicateAgain is how soon, in real time, Raft's replication looks for work again. Outside of
// rounds its call is held, so it costs nothing.
const replicateAgain = time.Millisecond

// Voter is one member of the static quorum.
type Voter struct {
	ID   event.NodeID
	Host string
	Port uint16
}

// Quorum is all controllers of one world: it connects their Raft instances, and runs rounds.
type Quorum struct {
	world  *world.World
	voters []Voter
	ids    []event.NodeID // sorted

	// Only the loop touches these.
	controllers map[event.NodeID]*Controller
	pending     []*pendingRound // oldest first
	// announced is the high watermark up to which the world was told what was committed.
	announced event.Offset
	// told is what the world was told of each node's store. In live mode a store itself may be ahead
	// of that, by as much as a round that nobody has heard of yet has done.
	told map[event.NodeID]storeView
	// asked counts the rounds that were begun.
	asked int64

	// rounds lets one round run at a time, also in live mode, where they run beside the loop.
	rounds sync.Mutex
	nudge  chan struct{} // something happened that a round may wait for

	mu      sync.Mutex
	changed *sync.Cond
	members map[event.NodeID]*member
	open    *openRound // nil between rounds
	// ran counts the rounds that are over; they run in the order in which they were begun.
	ran int64
}

// member is one controller's incarnation as Raft knows it.
type member struct {
	id        event.NodeID
	store     *logStore
	transport *transport
	raft      *raft.Raft
}

// NewQuorum makes the quorum of a world. Its voters never change.
func NewQuorum(w *world.World, voters []Voter) *Quorum {
	q := &Quorum{world: w, voters: slices.Clone(voters),
		controllers: map[event.NodeID]*Controller{}, members: map[event.NodeID]*member{},
		told: map[event.NodeID]storeView{}, nudge: make(chan struct{}, 1)}
	q.changed = sync.NewCond(&q.mu)
	slices.SortFunc(q.voters, func(a, b Voter) int { return int(a.ID) - int(b.ID) })
	for _, v := range q.voters {
		q.ids = append(q.ids, v.ID)
	}
	return q
}

// IDs lists the voters by rising id.
func (q *Quorum) IDs() []event.NodeID { return q.ids }

// majority is how many voters are enough.
func (q *Quorum) majority() int { return len(q.ids)/2 + 1 }

func addressOf(id event.NodeID) raft.ServerAddress {
	return raft.ServerAddress(strconv.Itoa(int(id)))
}

func nodeOf(id raft.ServerID) (event.NodeID, error) {
	n, err := strconv.ParseInt(string(id), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("controller: %q is no node: %w", id, err)
	}
	return event.NodeID(n), nil
}

func configurationOf(ids []event.NodeID) raft.Configuration {
	var c raft.Configuration
	for _, id := range ids {
		a := addressOf(id)
		c.Servers = append(c.Servers, raft.Server{ID: raft.ServerID(a), Address: a})
	}
	return c
}

// votersMessage is the content of the control record that stands for Raft's configuration.
func (q *Quorum) votersMessage() []byte {
	var list []record.Voter
	for _, v := range q.voters {
		list = append(list, record.Voter{ID: int32(v.ID), Listener: "CONTROLLER", Host: v.Host,
			Port: v.Port})
	}
	return record.VotersMessage(list)
}

// leaderChange is the content of the control record with which a leader begins its term.
func (q *Quorum) leaderChange(leader event.NodeID, granting []event.NodeID) []byte {
	list := func(ids []event.NodeID) (voters []record.Voter) {
		for _, id := range ids {
			voters = append(voters, record.Voter{ID: int32(id)})
		}
		return voters
	}
	return record.LeaderChangeMessageV0(int32(leader), list(q.ids), list(granting))
}

// join starts Raft for a controller on its disk.
func (q *Quorum) join(id event.NodeID, files disk.FS, log *slog.Logger) (*member, error) {
	if !slices.Contains(q.ids, id) {
		return nil, fmt.Errorf("controller: node %d is no voter", id)
	}
	store, err := openStore(files, q.ids, log)
	if err != nil {
		return nil, err
	}
	if err := q.bootstrap(store); err != nil {
		return nil, errors.Join(err, store.close(false))
	}
	q.rounds.Lock()
	defer q.rounds.Unlock()
	m, err := q.startRaft(id, store)
	if err != nil {
		return nil, errors.Join(err, store.close(false))
	}
	return m, nil
}

// startRaft makes a node a member, while no round is under way.
func (q *Quorum) startRaft(id event.NodeID, store *logStore) (*member, error) {
	m := &member{id: id, store: store, transport: &transport{quorum: q, id: id, store: store,
		calls: make(chan raft.RPC), down: make(chan struct{})}}
	q.mu.Lock()
	q.members[id] = m
	q.mu.Unlock()
	r, err := raft.NewRaft(raftConfig(id), nothingToApply{}, store, store,
		raft.NewDiscardSnapshotStore(), m.transport)
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		delete(q.members, id)
		return nil, fmt.Errorf("controller: start raft of %d: %w", id, err)
	}
	m.raft = r
	q.changed.Broadcast()
	return m, nil
}

// stopRaft ends a member's Raft. It waits for the node's goroutines, none of which can be stuck:
// the transport lets them go.
func (q *Quorum) stopRaft(m *member) error {
	q.mu.Lock()
	delete(q.members, m.id)
	q.changed.Broadcast()
	q.mu.Unlock()
	close(m.transport.down)
	return m.raft.Shutdown().Error()
}

// renewCandidate starts Raft anew on a node whose last election broke off because disks failed:
// Raft would stay in that election, deaf to a new one.
func (q *Quorum) renewCandidate(id event.NodeID) {
	q.mu.Lock()
	m := q.members[id]
	q.mu.Unlock()
	if m == nil || m.raft.State() != raft.Candidate {
		return
	}
	err := q.stopRaft(m)
	if err == nil {
		_, err = q.startRaft(id, m.store)
	}
	if err != nil {
		panic(fmt.Sprintf("controller: renew raft of %d: %v", id, err))
	}
}

// bootstrap gives an empty log its first entry, which is the same on every controller. It is not
// Raft's own bootstrap, which would refuse to go on after a crash between term and entry.
func (q *Quorum) bootstrap(store *logStore) error {
	if store.view().last > 0 {
		return nil
	}
	store.bootstrap = placement{timestamp: q.world.Origin().UnixMilli(), count: 1,
		control: q.votersMessage()}
	if store.view().term == 0 {
		if err := store.SetUint64([]byte(keyCurrentTerm), 1); err != nil {
			return err
		}
	}
	return store.StoreLog(&raft.Log{Index: 1, Term: 1, Type: raft.LogConfiguration})
}

func raftConfig(id event.NodeID) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(addressOf(id))
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = never, never, never
	c.SnapshotInterval, c.SnapshotThreshold = never, 1<<62
	c.CommitTimeout = replicateAgain
	c.MaxAppendEntries = 1024
	c.PreVoteDisabled = true
	c.NoLegacyTelemetry = true
	c.Logger = hclog.New(&hclog.LoggerOptions{Output: io.Discard, Level: hclog.Off})
	return c
}

// nothingToApply is the state machine: controllers read the log itself.
type nothingToApply struct{}

func (nothingToApply) Apply(*raft.Log) any           { return nil }
func (nothingToApply) Restore(r io.ReadCloser) error { return r.Close() }
func (nothingToApply) Snapshot() (raft.FSMSnapshot, error) {
	return nil, raft.ErrNothingNewToSnapshot
}

// NodeDown takes a controller out of the quorum. Whoever ends an incarnation calls it before the
// node's disk is opened again; it tells what the node stored in rounds that are not told yet. It
// waits for all rounds that were begun, so a disk that hangs must be killed first: Raft never sees
// a read fail, and what it writes then goes nowhere. A clean end trims the log's files. Calling it
// again, or for other nodes, does nothing.
func (q *Quorum) NodeDown(id event.NodeID, clean bool) error {
	if !slices.Contains(q.ids, id) {
		return nil
	}
	q.awaitRounds(q.asked)
	q.rounds.Lock()
	defer q.rounds.Unlock()
	q.mu.Lock()
	m := q.members[id]
	q.mu.Unlock()
	if m == nil {
		return nil
	}
	q.tellOf(id)
	delete(q.controllers, id)
	return errors.Join(q.stopRaft(m), m.store.close(clean))
}

// Close takes all controllers out of the quorum.
func (q *Quorum) Close() error {
	var err error
	for _, id := range q.ids {
		err = errors.Join(err, q.NodeDown(id, true))
	}
	return err
}

// reachable lists the other voters that node can exchange messages with now. Links count only
// when both directions pass: a Raft call is a question and an answer.
func (q *Quorum) reachable(node event.NodeID) []event.NodeID {
	var ids []event.NodeID
	for _, id := range q.ids {
		if id != node && q.world.Alive(id) && !q.world.Paused(id) &&
			q.world.Reachable(node, id) && q.world.Reachable(id, node) {
			ids = append(ids, id)
		}
	}
	return ids
}

// trip is how long a message to a voter and its answer take.
func (q *Quorum) trip(node, to event.NodeID) time.Duration {
	return q.world.Latency(node, to) + q.world.Latency(to, node)
}

// cost is the virtual time of a round: a sync here, a message to the nearest peer that makes a
// majority, a sync there, and the way back.
func (q *Quorum) cost(node event.NodeID, peers []event.NodeID,
	syncCost time.Duration) time.Duration {
	trips := make([]time.Duration, 0, len(peers))
	for _, id := range peers {
		trips = append(trips, q.trip(node, id))
	}
	slices.Sort(trips)
	needed := min(q.majority()-1, len(trips))
	if needed == 0 {
		return syncCost
	}
	return 2*syncCost + trips[needed-1]
}
