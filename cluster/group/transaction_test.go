package group

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

var orders0 = Partition{"orders", 0}

func (b *bench) commitInTransaction(producer, offset int64) {
	b.t.Helper()
	b.c.CommitInTransaction("g", []Commit{{orders0, Committed{Offset: offset, Expires: -1}}},
		producer, 0, func(code int16) {
			if code != 0 {
				b.t.Error(nameOf(code))
			}
		})
}

func (b *bench) offset(want int64, unstable bool) {
	b.t.Helper()
	got, ok := b.c.Offset("g", orders0)
	if !ok {
		got.Offset = -1
	}
	if got.Offset != want || b.c.Unstable("g", orders0) != unstable {
		b.t.Errorf("offset %d, unstable %v; want %d, %v", got.Offset, !unstable, want, unstable)
	}
}

func TestOffsetOfATransactionCountsOnceItIsCommitted(t *testing.T) {
	b := newBench(t, quick())
	b.commitInTransaction(7, 5)
	b.offset(-1, true)
	b.c.EndTransaction(7, false)
	b.offset(-1, false)
	b.commitInTransaction(7, 6)
	b.c.EndTransaction(8, true)
	b.offset(-1, true)
	b.c.EndTransaction(7, true)
	b.offset(6, false)
}

func TestLaterCommitIsNotUndoneByATransactionThatEndsAfterIt(t *testing.T) {
	b := newBench(t, quick())
	b.commitInTransaction(7, 5)
	if err := b.c.Replay(offsetRecord("g", orders0, Committed{Offset: 9, Expires: -1}),
		Author{}); err != nil {
		t.Fatal(err)
	}
	b.c.EndTransaction(7, true)
	b.offset(9, false)
}

func TestProducerWithoutAMemberMayCommitInItsTransaction(t *testing.T) {
	b := newBench(t, quick())
	simple := Committer{Group: "g", Generation: -1}
	if code := b.c.CheckCommitInTransaction(simple); code != 0 {
		t.Error(nameOf(code))
	}
	b.commitInTransaction(7, 5)
	ghost := Committer{Group: "other", Generation: 3, Member: "ghost"}
	if code := b.c.CheckCommitInTransaction(ghost); code != kerr.IllegalGeneration.Code {
		t.Errorf("a member of an unknown group: %v", nameOf(code))
	}
	ghost.Group = "g"
	if code := b.c.CheckCommitInTransaction(ghost); code != kerr.UnknownMemberID.Code {
		t.Errorf("an unknown member: %v", nameOf(code))
	}
}

func TestDeletedTopicTakesOffsetsOfOpenTransactionsAlong(t *testing.T) {
	b := newBench(t, quick())
	b.commitInTransaction(7, 5)
	b.c.Sweep(func(string, [16]byte) bool { return false })
	b.pass(time.Second)
	b.offset(-1, false)
	b.c.EndTransaction(7, true)
	b.offset(-1, false)
}
