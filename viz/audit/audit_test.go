package audit

import (
	"testing"

	"highwater/cluster/event"
	"highwater/viz/model"
)

// story emits events in the name of several nodes.
type story struct {
	now int64
	log *event.Log
	by  map[event.NodeID]*event.Emitter
}

func tell() *story {
	s := &story{log: event.NewLog(), by: map[event.NodeID]*event.Emitter{}}
	for _, id := range []event.NodeID{1, 2, 3, 101} {
		s.by[id] = event.NewEmitter(s.log, &s.now, id)
	}
	event.PartitionChanged{Topic: "t", Leader: 1, LeaderBefore: -1, Isr: []event.NodeID{1, 2},
		Replicas: []event.NodeID{1, 2}}.Emit(s.by[101], event.RuleNone)
	event.BecameLeader{Topic: "t", Isr: []event.NodeID{1, 2}}.Emit(s.by[1], event.RuleNone)
	event.BecameFollower{Topic: "t", Leader: 1}.Emit(s.by[2], event.RuleNone)
	event.RequestReceived{API: "Produce", Request: 1, Topic: "t", Records: 1, Acks: -1}.
		Emit(s.by[1], event.RuleNone)
	event.BatchAppended{Topic: "t", Records: 1, Leader: true}.Emit(s.by[1], event.RuleNone)
	return s
}

// copied has node 2 append from the answer to its fetch.
func (s *story) copied() {
	event.MessageSent{Message: 7, To: 1, API: "Fetch"}.Emit(s.by[2], event.RuleNone)
	event.MessageSent{Message: 8, To: 2, API: "Fetch", Answers: 7, Records: 1}.
		Emit(s.by[1], event.RuleNone)
	s.by[2].Cause = event.MessageDelivered{Message: 8, From: 1}.Emit(s.by[2], event.RuleNone)
	event.BatchAppended{Topic: "t", Records: 1}.Emit(s.by[2], event.RuleNone)
}

func (s *story) fetched() {
	event.ReplicaFetched{Topic: "t", Replica: 2, Before: 0, Offset: 1}.Emit(s.by[1], event.RuleNone)
}

func (s *story) moved() {
	event.HighWatermarkMoved{Topic: "t", Before: 0, After: 1}.Emit(s.by[1], event.RuleNone)
}

func (s *story) acked() {
	event.ResponseSent{API: "Produce", Request: 1, Topic: "t"}.Emit(s.by[1], event.RuleNone)
}

func (s *story) judged(t *testing.T, promise string) {
	t.Helper()
	a := New()
	a.Chunk(s.log.Swap(&event.Chunk{}))
	v := a.Violations()
	switch {
	case promise == "" && len(v) > 0:
		t.Errorf("a sound story is blamed: %v", v)
	case promise != "" && (len(v) == 0 || v[0].Promise != promise):
		t.Errorf("want %s, got %v", promise, v)
	}
}

func TestSoundStoryIsNotBlamed(t *testing.T) {
	s := tell()
	s.copied()
	s.fetched()
	s.moved()
	s.acked()
	s.judged(t, "")
}

func TestHighWatermarkMovedByTheResponseInsteadOfTheNextFetchIsBlamed(t *testing.T) {
	s := tell()
	s.copied()
	s.moved()
	s.judged(t, "hw.min-of-isr")
}

func TestAcknowledgementBeforeTheHighWatermarkIsBlamed(t *testing.T) {
	s := tell()
	s.copied()
	s.fetched()
	s.acked()
	s.judged(t, "acks.all-waits")
}

// Every partition of a request is judged, and every record of a batch.
func TestAcknowledgementOfAnotherPartitionBeforeItsHighWatermarkIsBlamed(t *testing.T) {
	for committed, promise := range map[event.Offset]string{0: "acks.all-waits", 4: "acks.all-waits", 5: ""} {
		s := tell()
		s.copied()
		s.fetched()
		s.moved()
		event.PartitionChanged{Topic: "t", Partition: 1, Leader: 1, LeaderBefore: -1,
			Isr: []event.NodeID{1}, Replicas: []event.NodeID{1}}.Emit(s.by[101], event.RuleNone)
		event.BecameLeader{Topic: "t", Partition: 1, Isr: []event.NodeID{1}}.
			Emit(s.by[1], event.RuleNone)
		event.PartitionReceived{API: "Produce", Request: 1, Topic: "t", Partition: 1, Records: 5}.
			Emit(s.by[1], event.RuleNone)
		event.BatchAppended{Topic: "t", Partition: 1, Records: 5, LastOffset: 4, Leader: true}.
			Emit(s.by[1], event.RuleNone)
		if committed > 0 {
			event.HighWatermarkMoved{Topic: "t", Partition: 1, After: committed}.
				Emit(s.by[1], event.RuleNone)
		}
		event.PartitionAnswered{API: "Produce", Request: 1, Topic: "t", Partition: 1}.
			Emit(s.by[1], event.RuleNone)
		s.acked()
		s.judged(t, promise)
	}
}

func TestPushedCopyIsBlamed(t *testing.T) {
	s := tell()
	event.MessageSent{Message: 8, To: 2, API: "Fetch", Records: 1}.Emit(s.by[1], event.RuleNone)
	s.judged(t, "replica.nobody-pushes")
	s = tell()
	event.BatchAppended{Topic: "t", Records: 1}.Emit(s.by[2], event.RuleNone)
	s.judged(t, "replica.nobody-pushes")
}

func TestLeaderWithoutACommittedRecordIsBlamedUnlessElectedUncleanly(t *testing.T) {
	type election struct {
		rule       event.Rule
		recovering bool
	}
	for how, promise := range map[election]string{
		{event.RuleElectionInAssignmentOrder, false}: "log.committed-stays",
		{event.RuleElectionUnclean, false}:           "",
		{event.RuleElectionLastKnownLeader, false}:   "",
		{event.RuleNone, true}:                       ""} { // another controller commits it
		s := tell()
		s.copied()
		s.fetched()
		s.moved()
		event.LogTruncated{Topic: "t", Before: 1, After: 0}.
			Emit(s.by[2], event.RuleTruncateToHighWatermark)
		event.PartitionChanged{Topic: "t", Leader: 2, LeaderBefore: 1, PartitionEpoch: 1,
			Isr: []event.NodeID{2}, Recovering: how.recovering}.Emit(s.by[101], how.rule)
		event.BecameLeader{Topic: "t", PartitionEpoch: 1, Isr: []event.NodeID{2}}.
			Emit(s.by[2], event.RuleNone)
		s.judged(t, promise)
	}
}

func TestIsrThatTheControllersDidNotCommitIsBlamed(t *testing.T) {
	s := tell()
	event.IsrChanged{Topic: "t", Isr: []event.NodeID{1}, PartitionEpoch: 1}.
		Emit(s.by[1], event.RuleNone)
	s.judged(t, "isr.only-by-controller")
}

// TestBrokerThatStillReplaysADeletedTopicIsJudgedByThatTopic is about a broker that stood still
// while a topic was deleted and one of its name was made.
func TestBrokerThatStillReplaysADeletedTopicIsJudgedByThatTopic(t *testing.T) {
	for isr, promise := range map[event.NodeID]string{1: "", 2: "isr.only-by-controller"} {
		s := tell()
		event.PartitionChanged{Topic: "t", PartitionEpoch: 5, Leader: 1, LeaderBefore: 1,
			Isr: []event.NodeID{1}}.Emit(s.by[101], event.RuleNone)
		event.MetadataCommitted{HighWatermark: 5}.Emit(s.by[101], event.RuleNone)
		event.MetadataReplayed{Offset: 4}.Emit(s.by[1], event.RuleNone)
		event.TopicDeleted{Topic: "t"}.Emit(s.by[101], event.RuleNone)
		event.PartitionChanged{Topic: "t", Leader: 2, LeaderBefore: 2, PartitionEpoch: 5,
			Isr: []event.NodeID{2}}.Emit(s.by[101], event.RuleNone)
		event.IsrChanged{Topic: "t", Isr: []event.NodeID{isr}, PartitionEpoch: 5}.
			Emit(s.by[1], event.RuleNone)
		s.judged(t, promise)
	}
}

func TestMetadataAppliedBeforeItIsCommittedIsBlamed(t *testing.T) {
	s := tell()
	event.MetadataCommitted{HighWatermark: 5}.Emit(s.by[101], event.RuleNone)
	event.MetadataReplayed{Offset: 6}.Emit(s.by[1], event.RuleNone)
	s.judged(t, "metadata.committed-before-applied")
}

func TestTraceThatLacksItsBeginningIsStillBlamed(t *testing.T) {
	s := tell()
	s.copied()
	before := model.New()
	before.ApplyChunk(s.log.Swap(&event.Chunk{}))
	read, err := model.Restore(before.AppendJSON(nil))
	if err != nil {
		t.Fatal(err)
	}
	s.moved() // and nobody has fetched past the record
	a := New()
	a.Begin(read)
	a.Chunk(s.log.Swap(&event.Chunk{}))
	if v := a.Violations(); len(v) != 1 || v[0].Promise != "hw.min-of-isr" {
		t.Errorf("want hw.min-of-isr, got %v", v)
	}
}

func TestCompactionAboveTheHighWatermarkIsBlamed(t *testing.T) {
	for upTo, promise := range map[event.Offset]string{1: "", 2: "cleaner.only-committed"} {
		s := tell()
		s.copied()
		s.fetched()
		s.moved()
		event.CleanerPassBegan{Topic: "t", Job: 1, UpTo: upTo}.Emit(s.by[1], event.RuleNone)
		s.judged(t, promise)
	}
}

func TestTwoOwnersOfAPartitionInOneGenerationAreFound(t *testing.T) {
	own := func(s *story, node event.NodeID, generation int32) {
		event.PartitionAssigned{Group: "g", Generation: generation, Topic: "t"}.
			Emit(s.by[node], event.RuleNone)
	}
	s := tell()
	own(s, 1, 1)
	own(s, 2, 2)
	own(s, 2, 2)
	own(s, 1, -1) // by hand
	s.judged(t, "")
	s = tell()
	own(s, 1, 1)
	own(s, 2, 1)
	s.judged(t, "group.one-owner")
}
