package controller

import (
	"sort"

	"github.com/hashicorp/raft"

	"highwater/cluster/event"
	"highwater/cluster/record"
)

// storeView is what a store holds at one moment.
type storeView struct {
	term     uint64
	written  uint64 // the term that is on disk
	voted    event.NodeID
	last     uint64 // index of the last entry
	lastTerm uint64
	staged   int
	failed   error
}

func (s *logStore) view() storeView {
	s.mu.Lock()
	defer s.mu.Unlock()
	return storeView{term: uint64(s.state.LeaderEpoch), written: uint64(s.onDisk.LeaderEpoch),
		voted: s.state.VotedID, last: s.last(), lastTerm: s.lastTerm(), staged: len(s.staged),
		failed: s.failed}
}

// upToDateWith is Raft's rule for granting a vote: the candidate's log must not be behind.
func (v storeView) upToDateWith(voter storeView) bool {
	if v.lastTerm != voter.lastTerm {
		return v.lastTerm > voter.lastTerm
	}
	return v.last >= voter.last
}

// prepareNoop says what Raft's next no-op entry becomes: the LeaderChange control record.
func (s *logStore) prepareNoop(p placement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noop = p
}

// logEnd is the offset of the next record.
func (s *logStore) logEnd() event.Offset {
	s.mu.Lock()
	defer s.mu.Unlock()
	return event.Offset(s.last())
}

// storedRecord is one metadata record with its place in the log.
type storedRecord struct {
	offset event.Offset
	value  []byte
}

// records returns the metadata records in [from, to), control records left out.
func (s *logStore) records(from, to event.Offset) []storedRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	var records []storedRecord
	for offset := from; offset < to && int(offset) < len(s.entries); offset++ {
		if e := &s.entries[offset]; e.kind == raft.LogCommand {
			records = append(records, storedRecord{offset, e.value})
		}
	}
	return records
}

// read returns whole batches from the one that holds the offset on, up to the high watermark and,
// past the first batch, up to maxBytes.
func (s *logStore) read(from, highWatermark event.Offset, maxBytes int) []record.Buffer {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := sort.Search(len(s.batches), func(i int) bool {
		return s.batches[i].last() >= indexOf(from)
	})
	var buffers []record.Buffer
	size := 0
	for _, b := range s.batches[first:] {
		size += len(b.bytes)
		if offsetOf(b.last()) >= highWatermark || size > maxBytes && len(buffers) > 0 {
			break
		}
		buffers = append(buffers, record.Buffer{Bytes: b.bytes})
	}
	return buffers
}

// endOffsetForEpoch returns the largest epoch of the log that is not above the one asked for, and
// where it ends; ok is false when the log has none.
func (s *logStore) endOffsetForEpoch(epoch event.Epoch) (e event.Epoch, end event.Offset, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	after := sort.Search(len(s.batches), func(i int) bool {
		return s.batches[i].term > uint64(max(epoch, 0))
	})
	if after == 0 {
		return 0, 0, false
	}
	b := &s.batches[after-1]
	return event.Epoch(b.term), offsetOf(b.last()) + 1, true
}
