package controller

import (
	"errors"
	"testing"

	"highwater/cluster/disk"
	"highwater/cluster/event"
)

// Raft asks each voter on a goroutine of its own. One that came to it when the term was over waited
// for ever for a vote in it, and a controller that was to end waited for the goroutine.
func TestAVoteOfATermThatIsOverIsNotWaitedFor(t *testing.T) {
	s, err := openStore(disk.NewMemory(disk.Options{}), []event.NodeID{101, 102, 103}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetUint64([]byte(keyCurrentTerm), 4); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- s.speakOfVote(4) }()
	if err := s.SetUint64([]byte(keyCurrentTerm), 5); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, errStale) {
		t.Errorf("the wait ended with %v", err)
	}
}
