package controller

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"sync"

	"github.com/hashicorp/raft"

	"highwater/cluster/commitlog"
	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/record"
)

// The keys under which Raft keeps its term and vote.
const (
	keyCurrentTerm  = "CurrentTerm"
	keyLastVoteTerm = "LastVoteTerm"
	keyLastVoteCand = "LastVoteCand"
)

// errNotFound has the words by which Raft knows that a key was never set.
var errNotFound = errors.New("not found")

// logStore is one controller's disk as Raft sees it: the metadata log and the quorum state. Raft
// calls it from its goroutines and the loop reads it, hence the lock. After its first failed write
// it takes no more, and the controller is on its way down.
type logStore struct {
	files  disk.FS
	voters []event.NodeID

	mu      sync.Mutex
	changed *sync.Cond // a term or vote was set, a batch completed, or the store failed or closed
	log     *commitlog.Log
	entries []entry       // entries[i] has index i+1
	batches []storedBatch // in order, of complete batches
	// staged are entries whose batch is not complete yet; it is when the round ends.
	staged []entry
	place  placement // of the staged entries
	// noop is what Raft's next own no-op entry becomes, set before its node campaigns.
	noop placement
	// voters record of the first start
	bootstrap placement

	// state is what Raft was promised, onDisk what the file says.
	state    quorumState
	voteTerm uint64
	onDisk   quorumState
	failed   error
	closed   bool
}

// openStore opens or creates the metadata log of a controller.
func openStore(files disk.FS, voters []event.NodeID, warn *slog.Logger) (*logStore, error) {
	s := &logStore{files: files, voters: voters}
	s.changed = sync.NewCond(&s.mu)
	if err := s.loadState(); err != nil {
		return nil, err
	}
	cfg := commitlog.DefaultConfig()
	cfg.Topic, cfg.Partition, cfg.TopicID = metadataTopic, metadataLogIndex, event.MetadataTopicID
	cfg.Log = warn
	cfg.SegmentMs = math.MaxInt64 // rolled by size only, so that all controllers roll alike
	log, _, err := commitlog.Open(files, metadataDir, cfg, commitlog.OpenOptions{})
	if err != nil {
		return nil, err
	}
	s.log = log
	if err := s.load(); err != nil {
		return nil, errors.Join(err, log.Close(false))
	}
	return s, nil
}

// loadState reads the term and the vote. Nothing of the directory is touched before.
func (s *logStore) loadState() error {
	var err error
	if s.state, err = readQuorumState(s.files, s.voters); err != nil {
		return err
	}
	s.onDisk = s.state
	if s.state.VotedID != event.NoNode {
		s.voteTerm = uint64(s.state.LeaderEpoch)
	}
	return nil
}

func (s *logStore) load() error {
	_, err := s.log.ReadAll(0, math.MaxInt, s.log.LogEndOffset(),
		func(h record.Header, batch []byte) error {
			b, entries, err := parseBatch(h, batch)
			if err != nil {
				return err
			}
			if b.first != uint64(len(s.entries))+1 {
				return fmt.Errorf("controller: the metadata log skips to offset %d", h.BaseOffset)
			}
			s.take(b, entries)
			return nil
		})
	if term := int32(s.lastTerm()); s.state.LeaderEpoch < term {
		// The file is gone. As in Kafka (QuorumState.initialize) the log tells how far epochs went.
		s.state.LeaderEpoch = term
		s.state.LeaderID, s.state.VotedID, s.voteTerm = event.NoNode, event.NoNode, 0
	}
	return err
}

// take adds a complete batch to what is in memory.
func (s *logStore) take(b storedBatch, entries []entry) {
	for _, e := range entries {
		e.batch = len(s.batches)
		s.entries = append(s.entries, e)
	}
	s.batches = append(s.batches, b)
}

// last is the index of the last entry, staged ones included.
func (s *logStore) last() uint64 { return uint64(len(s.entries) + len(s.staged)) }

// lastTerm is the term of the last entry, staged ones included.
func (s *logStore) lastTerm() uint64 {
	switch {
	case len(s.staged) > 0:
		return s.staged[len(s.staged)-1].term
	case len(s.entries) > 0:
		return s.entries[len(s.entries)-1].term
	}
	return 0
}

// FirstIndex is Raft's name for the log start, 0 for an empty log.
func (s *logStore) FirstIndex() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(s.last(), 1), nil
}

// LastIndex is the index of the last entry, 0 for an empty log.
func (s *logStore) LastIndex() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last(), nil
}

// GetLog gives an entry, with its placement, so that whoever stores it builds the same batch.
func (s *logStore) GetLog(index uint64, out *raft.Log) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if index == 0 || index > s.last() {
		return raft.ErrLogNotFound
	}
	*out = *s.entryAt(index)
	return nil
}

func (s *logStore) entryAt(index uint64) *raft.Log {
	e, p := entry{}, s.place
	if at := int(index) - len(s.entries) - 1; at >= 0 {
		e = s.staged[at]
		p.position = at
	} else {
		e = s.entries[index-1]
		b := &s.batches[e.batch]
		p = placement{timestamp: b.timestamp, position: int(index - b.first), count: b.count}
	}
	out := &raft.Log{Index: index, Term: e.term, Type: e.kind}
	switch e.kind {
	case raft.LogCommand:
		out.Data = e.value
	case raft.LogConfiguration:
		out.Data = raft.EncodeConfiguration(configurationOf(s.voters))
		p.control = e.value
	default:
		p.control = e.value
	}
	out.Extensions = p.encode()
	return out
}

// StoreLog stores one entry.
func (s *logStore) StoreLog(log *raft.Log) error { return s.StoreLogs([]*raft.Log{log}) }

// StoreLogs appends entries. Each batch that they complete is on disk when it returns.
func (s *logStore) StoreLogs(logs []*raft.Log) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	// A log must never hold a term that the quorum state does not know of.
	s.flushState()
	if s.failed != nil {
		return s.failed
	}
	for _, log := range logs {
		if err := s.stage(log); err != nil {
			return s.fail(err)
		}
	}
	return s.failed
}

func (s *logStore) writable() error {
	if s.closed {
		return commitlog.ErrClosed
	}
	return s.failed
}

// fail notes that the disk took something no more. What was promised and is not on it is forgotten:
// how much of it Raft had come to would depend on how its goroutines ran.
func (s *logStore) fail(err error) error {
	if s.failed == nil {
		s.failed = err
		s.staged, s.state = nil, s.onDisk
		s.changed.Broadcast()
	}
	return err
}

// stage takes one entry, and writes its batch when it is the last one of it.
func (s *logStore) stage(log *raft.Log) error {
	if log.Index != s.last()+1 {
		return fmt.Errorf("controller: entry %d does not follow %d", log.Index, s.last())
	}
	p, err := s.placementOf(log)
	if err != nil {
		return err
	}
	if p.position != len(s.staged) || p.position >= p.count {
		return fmt.Errorf("controller: entry %d is number %d of %d in its batch, expected %d",
			log.Index, p.position, p.count, len(s.staged))
	}
	e := entry{term: log.Term, kind: log.Type, value: log.Data}
	if _, isControl := controlTypeOf(log.Type); isControl {
		e.value = p.control
	}
	s.staged = append(s.staged, e)
	s.place = placement{timestamp: p.timestamp, count: p.count}
	if len(s.staged) < p.count {
		return nil
	}
	first := uint64(len(s.entries)) + 1
	b, err := buildBatch(first, s.staged, p.timestamp)
	if err != nil {
		return err
	}
	if err := s.write(b); err != nil {
		return err
	}
	s.take(b, s.staged)
	s.staged = nil
	s.changed.Broadcast()
	return nil
}

// complete waits until this store holds whole batches and the first entry of the sender's term, and
// adds to a call what its last batch lacks. A voter may acknowledge only what is on its disk, and so
// must never be given a part of a batch; and what it is given of a leader whose disk fails meanwhile
// must not depend on how Raft's goroutines run.
func (s *logStore) complete(call *raft.AppendEntriesRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.writable() == nil && (len(s.staged) > 0 || s.lastTerm() < call.Term) {
		s.changed.Wait()
	}
	if err := s.writable(); err != nil {
		return err
	}
	n := len(call.Entries)
	if n == 0 {
		return nil
	}
	last := call.Entries[n-1].Index
	if last > uint64(len(s.entries)) {
		return errStale
	}
	for end := s.batches[s.entries[last-1].batch].last(); last < end; {
		last++
		call.Entries = append(call.Entries, s.entryAt(last))
	}
	return nil
}

// placementOf finds an entry's placement: it came with it, or Raft made the entry itself.
func (s *logStore) placementOf(log *raft.Log) (placement, error) {
	switch {
	case len(log.Extensions) > 0:
		return decodePlacement(log.Extensions)
	case log.Type == raft.LogNoop:
		return s.noop, nil
	case log.Type == raft.LogConfiguration:
		return s.bootstrap, nil
	}
	return placement{}, fmt.Errorf("controller: entry %d came without placement", log.Index)
}

// write appends a batch and makes it durable: the log and both indexes, at every append.
func (s *logStore) write(b storedBatch) error {
	h, err := record.ParseHeader(b.bytes)
	if err != nil {
		return err
	}
	if err := s.log.AppendAsFollower(record.Buffer{Bytes: b.bytes}, h); err != nil {
		return err
	}
	if err := s.runDeferred(); err != nil {
		return err
	}
	return s.log.Sync()
}

func (s *logStore) runDeferred() error {
	for _, ticket := range s.log.Deferred() {
		if err := ticket.Done(ticket.Run()); err != nil {
			return err
		}
	}
	return nil
}

// DeleteRange removes a suffix that the leader's log does not have.
func (s *logStore) DeleteRange(low, high uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	if high != s.last() || low == 0 || low > high || len(s.staged) > 0 {
		return s.fail(fmt.Errorf("controller: delete of entries %d to %d of %d", low, high, s.last()))
	}
	b := s.entries[low-1].batch
	if s.batches[b].first != low {
		return s.fail(fmt.Errorf("controller: entry %d is inside a batch", low))
	}
	if err := s.log.Truncate(offsetOf(low), event.RuleTruncateToEndOfEpoch); err != nil {
		return s.fail(err)
	}
	if err := errors.Join(s.runDeferred(), s.log.Sync()); err != nil {
		return s.fail(err)
	}
	s.entries = s.entries[: low-1 : low-1]
	s.batches = s.batches[:b:b]
	return nil
}

// Set keeps the candidate that got the vote of the term given before.
func (s *logStore) Set(key, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if string(key) != keyLastVoteCand {
		return fmt.Errorf("controller: unexpected key %s", key)
	}
	id, err := strconv.ParseInt(string(value), 10, 32)
	if err != nil {
		return fmt.Errorf("controller: vote for %q: %w", value, err)
	}
	s.state.VotedID = event.NodeID(id)
	s.changed.Broadcast()
	return nil
}

// Get returns the candidate of the last vote.
func (s *logStore) Get(key []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if string(key) != keyLastVoteCand || s.state.VotedID == event.NoNode {
		return nil, errNotFound
	}
	return []byte(strconv.Itoa(int(s.state.VotedID))), nil
}

// SetUint64 keeps the term, or the term of the vote that follows. Neither is written yet: it is
// before the node says anything to anybody (see flushState), so that term and vote are one write.
func (s *logStore) SetUint64(key []byte, value uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch string(key) {
	case keyCurrentTerm:
		if int32(value) != s.state.LeaderEpoch {
			s.state.LeaderEpoch = int32(value)
			s.state.LeaderID, s.state.VotedID = event.NoNode, event.NoNode
			s.voteTerm = 0
			s.changed.Broadcast()
		}
	case keyLastVoteTerm:
		s.voteTerm = value
	default:
		return fmt.Errorf("controller: unexpected key %s", key)
	}
	return nil
}

// GetUint64 returns a term.
func (s *logStore) GetUint64(key []byte) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case string(key) == keyCurrentTerm && s.state.LeaderEpoch > 0:
		return uint64(s.state.LeaderEpoch), nil
	case string(key) == keyLastVoteTerm && s.voteTerm > 0:
		return s.voteTerm, nil
	}
	return 0, errNotFound
}

// flushState writes term and vote if they changed since the last write. A failure is remembered
// and takes the controller down; Raft must not hear of it, because it would panic.
func (s *logStore) flushState() {
	if s.writable() != nil || s.sameState() {
		return
	}
	if err := writeQuorumState(s.files, s.state); err != nil {
		s.fail(err)
		return
	}
	s.onDisk = s.state
}

func (s *logStore) sameState() bool {
	return s.state.LeaderID == s.onDisk.LeaderID && s.state.VotedID == s.onDisk.VotedID &&
		s.state.LeaderEpoch == s.onDisk.LeaderEpoch
}

// speak makes durable what the node is about to tell others.
func (s *logStore) speak() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushState()
	return s.writable()
}

// speakOfVote waits until the node has voted for itself in the term, which Raft does after it
// began to ask others, and makes the vote durable. Once it is, all are asked, whatever fails then.
func (s *logStore) speakOfVote(term uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.voteTerm != term || s.state.VotedID == event.NoNode {
		if err := s.writable(); err != nil {
			return err
		}
		if uint64(s.state.LeaderEpoch) > term {
			return errStale // Raft's goroutine came to it when the term was over
		}
		s.changed.Wait()
	}
	s.flushState()
	if !s.closed && uint64(s.onDisk.LeaderEpoch) == term && s.onDisk.VotedID == s.state.VotedID {
		return nil
	}
	return s.writable()
}

// learnLeader writes down who leads the present term.
func (s *logStore) learnLeader(id event.NodeID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.LeaderID = id
	s.flushState()
}

// close ends the store's use; unless it is clean, files stay as they are. Raft has been shut down
// before.
func (s *logStore) close(clean bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.changed.Broadcast()
	return s.log.Close(clean)
}
