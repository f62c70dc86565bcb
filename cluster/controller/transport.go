package controller

import (
	"errors"
	"io"

	"github.com/hashicorp/raft"

	"highwater/cluster/event"
)

var (
	errStale    = errors.New("controller: the sender no longer leads or campaigns in that term")
	errNodeDown = errors.New("controller: the node is down")
)

// transport carries one controller's Raft calls to the others, in memory. A call goes through only
// during a round in which its sender acts and its target is reachable; until then it is held, as a
// silent network holds it. Failing it instead would start Raft's back-off, which runs on the wall
// clock.
type transport struct {
	quorum *Quorum
	id     event.NodeID
	store  *logStore
	calls  chan raft.RPC
	down   chan struct{}
}

// Consumer is where Raft takes calls to this node from.
func (t *transport) Consumer() <-chan raft.RPC { return t.calls }

// LocalAddr is the node's id: there are no addresses in memory.
func (t *transport) LocalAddr() raft.ServerAddress { return addressOf(t.id) }

// AppendEntriesPipeline is not offered: calls one by one are deterministic enough to wait for.
func (t *transport) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (
	raft.AppendPipeline, error,
) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

// EncodePeer and DecodePeer turn an address into the bytes that stand for a candidate in a vote.
func (t *transport) EncodePeer(_ raft.ServerID, a raft.ServerAddress) []byte { return []byte(a) }

// DecodePeer is the inverse of EncodePeer.
func (t *transport) DecodePeer(b []byte) raft.ServerAddress { return raft.ServerAddress(b) }

// SetHeartbeatHandler takes no fast path: Raft's own heartbeats are parked.
func (t *transport) SetHeartbeatHandler(func(raft.RPC)) {}

// AppendEntries is Raft's replication call.
func (t *transport) AppendEntries(to raft.ServerID, _ raft.ServerAddress,
	args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	answer, err := t.call(to, args, args.Term)
	if err == nil {
		*resp = *answer.(*raft.AppendEntriesResponse)
	}
	return err
}

// RequestVote asks for a vote, once the node's own vote is on disk.
func (t *transport) RequestVote(to raft.ServerID, _ raft.ServerAddress,
	args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	answer, err := t.call(to, args, args.Term)
	if err == nil {
		*resp = *answer.(*raft.RequestVoteResponse)
	}
	return err
}

// InstallSnapshot never happens: the metadata log is kept whole.
func (t *transport) InstallSnapshot(raft.ServerID, raft.ServerAddress,
	*raft.InstallSnapshotRequest, *raft.InstallSnapshotResponse, io.Reader) error {
	return errors.New("controller: there are no Raft snapshots")
}

// TimeoutNow is never sent by Raft, because leadership is never transferred.
func (t *transport) TimeoutNow(raft.ServerID, raft.ServerAddress,
	*raft.TimeoutNowRequest, *raft.TimeoutNowResponse) error {
	return errors.New("controller: leadership is not transferred")
}

// call waits until the call may go through, and then for its answer.
func (t *transport) call(to raft.ServerID, command any, term uint64) (any, error) {
	target, err := nodeOf(to)
	if err != nil {
		return nil, err
	}
	peer, err := t.quorum.admit(t, target, command, term)
	if err != nil {
		return nil, err
	}
	var answer any
	if entries, is := command.(*raft.AppendEntriesRequest); is {
		err = t.store.complete(entries)
	}
	if err == nil {
		answer, err = peer.transport.deliver(command)
	}
	if err == nil {
		// What the answer promises must be on disk before it is heard.
		err = peer.store.speak()
	}
	_, isVote := command.(*raft.RequestVoteRequest)
	t.quorum.delivered(target, isVote)
	return answer, err
}

// deliver hands a call to this node's Raft and waits for the answer.
func (t *transport) deliver(command any) (any, error) {
	answers := make(chan raft.RPCResponse, 1)
	select {
	case t.calls <- raft.RPC{Command: command, RespChan: answers}:
	case <-t.down:
		return nil, errNodeDown
	}
	select {
	case r := <-answers:
		return r.Response, r.Error
	case <-t.down:
		return nil, errNodeDown
	}
}

// admit holds a call until its sender acts in a round that reaches the target. It fails only for
// a sender that is down, or that has lost the role in which it called.
func (q *Quorum) admit(t *transport, to event.NodeID, command any, term uint64) (*member, error) {
	_, isVote := command.(*raft.RequestVoteRequest)
	if isVote {
		sender := q.member(t)
		if sender == nil {
			return nil, errNodeDown
		}
		if err := sender.store.speakOfVote(term); err != nil {
			return nil, err
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		sender := q.members[t.id]
		if sender == nil || sender.transport != t {
			return nil, errNodeDown
		}
		if sender.raft != nil {
			if peer := q.pass(sender, to, isVote, term); peer != nil {
				q.open.inFlight++
				return peer, nil
			}
			if q.stale(sender, isVote, term) {
				return nil, errStale
			}
		}
		q.changed.Wait()
	}
}

// pass returns the target if the call may go through now. One of an older term may still be held
// while the actor of an election has not begun with the new one.
func (q *Quorum) pass(sender *member, to event.NodeID, isVote bool, term uint64) *member {
	r := q.open
	if r == nil || r.closing || r.actor != sender || r.term != term ||
		sender.raft.CurrentTerm() != term {
		return nil
	}
	peer := r.peers[to]
	if peer == nil {
		return nil
	}
	if isVote {
		if !r.election {
			return nil
		}
		return peer
	}
	// A new leader's entries must not overtake its request for the vote: whether the peer's vote
	// is on disk would depend on who was faster.
	if sender.raft.State() != raft.Leader || r.election && !r.asked[to] {
		return nil
	}
	return peer
}

// stale says whether a held call must never be delivered any more.
func (q *Quorum) stale(sender *member, isVote bool, term uint64) bool {
	if sender.raft.CurrentTerm() != term {
		return true
	}
	campaigning := q.open != nil && q.open.actor == sender && q.open.election
	if isVote {
		return sender.raft.State() != raft.Candidate && !campaigning
	}
	return sender.raft.State() != raft.Leader && !campaigning
}

// member returns who speaks through the transport, nil when the node is down.
func (q *Quorum) member(t *transport) *member {
	q.mu.Lock()
	defer q.mu.Unlock()
	if m := q.members[t.id]; m != nil && m.transport == t {
		return m
	}
	return nil
}

// delivered notes that a call of the open round was answered.
func (q *Quorum) delivered(to event.NodeID, isVote bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open.inFlight--
	if isVote {
		q.open.asked[to] = true
	}
	q.changed.Broadcast()
	select {
	case q.nudge <- struct{}{}:
	default:
	}
}
