package audit

import (
	"testing"

	"highwater/cluster/event"
)

// transaction has the leader hold a transaction of one batch, copied to the follower.
func (s *story) transaction() {
	event.TransactionBegan{Topic: "t", ProducerID: 9, FirstOffset: 0}.Emit(s.by[1], event.RuleNone)
	s.copied()
	s.fetched()
}

func (s *story) shows(before, after, stable event.Offset) {
	event.HighWatermarkMoved{Topic: "t", Before: before, After: after, LastStableOffset: stable}.
		Emit(s.by[1], event.RuleNone)
}

// marked has the marker appended and copied.
func (s *story) marked() {
	event.BatchAppended{Topic: "t", BaseOffset: 1, LastOffset: 1, Records: 1, Leader: true,
		Control: true}.Emit(s.by[1], event.RuleNone)
	event.TransactionMarkerWritten{Topic: "t", ProducerID: 9, Offset: 1}.
		Emit(s.by[1], event.RuleNone)
	event.ReplicaFetched{Topic: "t", Replica: 2, Before: 1, Offset: 2}.
		Emit(s.by[1], event.RuleNone)
}

func TestTransactionIsShownOnceItsMarkerIsCommitted(t *testing.T) {
	s := tell()
	s.transaction()
	s.shows(0, 1, 0)
	s.marked()
	s.shows(1, 2, 2)
	s.judged(t, "")
}

func TestOpenTransactionThatIsShownIsBlamed(t *testing.T) {
	s := tell()
	s.transaction()
	s.shows(0, 1, 1)
	s.judged(t, "lso.first-unstable")
}

func TestLastStableOffsetThatGoesBackOnALeaderIsBlamed(t *testing.T) {
	s := tell()
	s.copied()
	s.fetched()
	s.shows(0, 1, 1)
	s.shows(1, 1, 0)
	s.judged(t, "lso.never-back")
}

func TestLastStableOffsetAboveTheHighWatermarkIsBlamed(t *testing.T) {
	s := tell()
	s.copied()
	s.fetched()
	s.shows(0, 1, 2)
	s.judged(t, "lso.below-hw")
}

func TestDecidedTransactionThatEndsOtherwiseIsBlamed(t *testing.T) {
	s := tell()
	for _, state := range []string{"Ongoing", "PrepareCommit", "CompleteAbort"} {
		event.TransactionStateChanged{TransactionalID: "tx", After: state}.
			Emit(s.by[1], event.RuleNone)
	}
	s.judged(t, "txn.decided-stays")
}

func TestOpenTransactionThatRetentionHasShortenedBeginsAtTheLogsStart(t *testing.T) {
	s := tell()
	s.transaction()
	event.LogStartOffsetMoved{Topic: "t", Before: 0, After: 1}.Emit(s.by[1], event.RuleNone)
	s.shows(0, 1, 1)
	s.judged(t, "")
}
