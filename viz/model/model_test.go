package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"highwater/cluster/event"
)

// story emits events through an emitter, as nodes do, and folds them.
type story struct {
	t     *testing.T
	now   int64
	log   *event.Log
	state *State
}

func newStory(t *testing.T) *story {
	return &story{t: t, log: event.NewLog(), state: New()}
}

type emittable interface {
	Emit(*event.Emitter, event.Rule) event.Seq
}

func (s *story) tell(node event.NodeID, facts ...emittable) {
	for _, fact := range facts {
		s.now += 1000
		fact.Emit(event.NewEmitter(s.log, &s.now, node), event.RuleNone)
	}
	s.state.ApplyChunk(s.log.Swap(&event.Chunk{}))
}

func appended(base, last event.Offset, epoch event.Epoch) event.BatchAppended {
	return event.BatchAppended{Topic: "orders", BaseOffset: base, LastOffset: last,
		Records: int32(last - base + 1), Bytes: 100, LeaderEpoch: epoch, ProducerID: -1}
}

func (s *story) orders(node event.NodeID) *Log {
	s.t.Helper()
	p := s.state.Partition("orders", 0)
	if p == nil || p.Log(node) == nil {
		s.t.Fatalf("node %d has no replica of orders-0", node)
	}
	return p.Log(node)
}

func TestAppendMovesLogEndAndKeepsTheBatch(t *testing.T) {
	s := newStory(t)
	s.tell(1, appended(0, 2, 5), appended(3, 3, 5))
	l := s.orders(1)
	if l.LogEndOffset != 4 || len(l.Batches.Items()) != 2 || l.Totals.Records != 4 {
		t.Errorf("log ends at %d with %d batches, %d records", l.LogEndOffset,
			len(l.Batches.Items()), l.Totals.Records)
	}
}

func TestTruncationRemembersWhatItCut(t *testing.T) {
	s := newStory(t)
	s.tell(1, event.LeaderEpochStarted{Topic: "orders", LeaderEpoch: 0},
		appended(0, 0, 0), event.LeaderEpochStarted{Topic: "orders", LeaderEpoch: 1, StartOffset: 1},
		appended(1, 2, 1), event.LogSynced{Topic: "orders", UpTo: 3},
		event.LogTruncated{Topic: "orders", Before: 3, After: 1, HighWatermark: -1})
	l := s.orders(1)
	if l.Truncation.Batches != l.Totals.Batches {
		t.Errorf("truncated at batch %d of %d", l.Truncation.Batches, l.Totals.Batches)
	}
	if l.LogEndOffset != 1 || l.SyncedOffset != 1 || len(l.Epochs) != 1 {
		t.Errorf("ends %d, synced %d, epochs %v", l.LogEndOffset, l.SyncedOffset, l.Epochs)
	}
	if len(l.Cut) != 1 || l.Cut[0].BaseOffset != 1 {
		t.Errorf("cut batches %v, want the one at offset 1", l.Cut)
	}
	s.tell(1, appended(1, 1, 2))
	if l = s.orders(1); len(l.Cut) != 1 || l.Truncation.Batches == l.Totals.Batches {
		t.Errorf("after the next append: cut %v, truncated at batch %d of %d; want it remembered, "+
			"and no news", l.Cut, l.Truncation.Batches, l.Totals.Batches)
	}
}

func TestCutsWithNothingBetweenThemAreOneCut(t *testing.T) {
	s := newStory(t)
	s.tell(1, appended(0, 0, 0), appended(1, 1, 0), appended(2, 2, 0),
		event.LogOpened{Topic: "orders", LogEndOffset: 2, Segments: 1},
		event.LogTruncated{Topic: "orders", Before: 2, After: 1, HighWatermark: -1})
	l := s.orders(1)
	if got := l.Truncation; got.Before != 3 || got.After != 1 || len(l.Cut) != 2 {
		t.Errorf("cut %v, %+v; want what the crash and the truncation took", l.Cut, *got)
	}
	s.tell(1, appended(1, 1, 1),
		event.LogTruncated{Topic: "orders", Before: 2, After: 1, HighWatermark: -1})
	if l = s.orders(1); l.Truncation.Before != 2 || len(l.Cut) != 1 {
		t.Errorf("cut %v, %+v; want the last one alone", l.Cut, *l.Truncation)
	}
}

func TestHolesOfALogThatIsOpenedAreTakenOver(t *testing.T) {
	s := newStory(t)
	s.tell(1, event.LogOpened{Topic: "orders", LogEndOffset: 11, Segments: 2,
		Holes: "2-3,5-8", HolesFrom: 2})
	l := s.orders(1)
	if want := []Run{{2, 4}, {5, 9}}; !slices.Equal(l.Holes, want) || l.HolesFrom != 2 {
		t.Errorf("holes %v from %d, want %v from 2", l.Holes, l.HolesFrom, want)
	}
	s.tell(1, event.SegmentsSwapped{Topic: "orders", NextOffset: 11, Holes: "0-8"},
		event.LogOpened{Topic: "orders", LogEndOffset: 11, Segments: 2, Holes: "7-8", HolesFrom: 7})
	l = s.orders(1)
	if want := []Run{{0, 7}, {7, 9}}; !slices.Equal(l.Holes, want) || l.HolesFrom != 0 {
		t.Errorf("holes %v from %d, want %v from 0", l.Holes, l.HolesFrom, want)
	}
}

func TestEpochsOfALogThatIsOpenedAreThoseOfItsCheckpoint(t *testing.T) {
	s := newStory(t)
	s.tell(1, event.LogOpened{Topic: "orders", LogEndOffset: 11, Segments: 1, LeaderEpoch: 4,
		Epochs: "0@0,2@5,4@9"})
	want := []Epoch{{0, 0}, {2, 5}, {4, 9}}
	if got := s.orders(1).Epochs; !slices.Equal(got, want) {
		t.Errorf("epochs %v, want %v", got, want)
	}
	s.tell(1, event.LogOpened{Topic: "orders", LogEndOffset: 7, Segments: 1, LeaderEpoch: 2,
		Epochs: "0@0,x@1,2@5"})
	if got := s.orders(1).Epochs; !slices.Equal(got, want[:2]) {
		t.Errorf("epochs %v, want %v", got, want[:2])
	}
}

func TestWhatAReaderWasGivenStaysWhenItIsCompacted(t *testing.T) {
	s := newStory(t)
	polled := func(offsets string) event.RecordsPolled {
		return event.RecordsPolled{Topic: "orders", Records: 1, Offsets: offsets}
	}
	s.tell(9, event.ClientStarted{Name: "slow", Role: "consumer"}, polled("0-0"), polled("5-6,8-8"))
	s.tell(1, event.SegmentsSwapped{Topic: "orders", NextOffset: 9, Holes: "0-5"})
	s.tell(9, polled("7-7"), polled("0-0"))
	read := func() []Run { return s.state.Programs[0].Partitions[0].Read }
	if want := []Run{{0, 1}, {5, 9}}; !slices.Equal(read(), want) {
		t.Errorf("read %v, want %v", read(), want)
	}
	for i := range 200 {
		s.tell(9, polled(fmt.Sprintf("%d-%d", 100+2*i, 100+2*i)))
	}
	if got := read(); len(got) != runsMax || got[0].From != 0 || got[runsMax-1].To != 499 {
		t.Errorf("%d runs, %v", len(got), got)
	}
}

func TestMarkerWhoseTransactionLeftNothingHereIsKept(t *testing.T) {
	s := newStory(t)
	s.tell(1, appended(0, 0, 0), event.TransactionMarkerWritten{Topic: "orders", ProducerID: 7,
		Commit: true, Offset: 1, FirstOffset: -1})
	want := []LogTransaction{{ProducerID: 7, FirstOffset: 1, LastOffset: 1, State: "committed"}}
	if l := s.orders(1); !slices.Equal(l.Transactions, want) {
		t.Errorf("transactions %+v, want %+v", l.Transactions, want)
	}
}

func TestPowerCutShowsWhatRecoveryDidNotFind(t *testing.T) {
	s := newStory(t)
	s.tell(1, appended(0, 0, 0), appended(1, 1, 0),
		event.NodeStopped{How: "power-cut", LostBytes: 100},
		event.NodeStarted{Role: "broker", Incarnation: 2},
		event.LogOpened{Topic: "orders", LogEndOffset: 1, Segments: 1},
		event.LogTruncated{Topic: "orders", Before: 1, After: 1, HighWatermark: 0, Bytes: 100})
	l := s.orders(1)
	if l.LogEndOffset != 1 || len(l.Cut) != 1 || l.Cut[0].BaseOffset != 1 {
		t.Errorf("ends %d, cut %v; want end 1 and the batch at 1", l.LogEndOffset, l.Cut)
	}
}

func TestWhatALogHasAfterAPowerCutIsNotKnownUntilItOpensAndIsOnTheDiskThen(t *testing.T) {
	for _, c := range []struct {
		how                 string
		unpowered, clean    bool
		synced, syncedAfter event.Offset
	}{{"power-cut", true, false, 2, 3}, {"kill", false, false, 2, 2}, {"stop", false, true, 2, 3}} {
		s := newStory(t)
		s.tell(1, event.LogOpened{Topic: "orders", Segments: 1}, appended(0, 1, 0),
			event.LogSynced{Topic: "orders", UpTo: 2}, appended(2, 3, 0),
			event.NodeStopped{How: c.how}, event.NodeStarted{Role: "broker", Incarnation: 2})
		if l := s.orders(1); l.Unpowered != c.unpowered || l.SyncedOffset != c.synced {
			t.Errorf("after a %s and a restart: without power %v, synced up to %d, want %+v", c.how,
				l.Unpowered, l.SyncedOffset, c)
		}
		s.tell(1, event.LogOpened{Topic: "orders", LogEndOffset: 3, Segments: 1, Clean: c.clean})
		if l := s.orders(1); l.Unpowered || l.SyncedOffset != c.syncedAfter {
			t.Errorf("opened after a %s: without power %v, synced up to %d, want %+v", c.how, l.Unpowered,
				l.SyncedOffset, c)
		}
	}
}

func TestKillTakesMemoryAndLeavesTheLog(t *testing.T) {
	s := newStory(t)
	s.tell(1, event.NodeStarted{Role: "broker", Incarnation: 1}, appended(0, 0, 0),
		event.BecameLeader{Topic: "orders", Isr: []event.NodeID{1, 2}},
		event.TimerArmed{Timer: 1, Name: "isr"}, event.WaitBegan{Wait: 2, What: "produce"},
		event.ClientConnected{Connection: event.FirstOutside})
	s.tell(2, event.TimerArmed{Timer: 3, Name: "fetch"})
	s.tell(1, event.NodeStopped{How: "kill"})
	l := s.orders(1)
	if l.Role != "" || l.LogEndOffset != 1 || len(l.Batches.Items()) != 1 {
		t.Errorf("role %q, end %d", l.Role, l.LogEndOffset)
	}
	if s.state.Timers.Len() != 1 || s.state.Waits.Len() != 0 || len(s.state.Clients) != 0 {
		t.Errorf("%d timers, %d waits, %d clients; want only node 2's timer",
			s.state.Timers.Len(), s.state.Waits.Len(), len(s.state.Clients))
	}
	if n := s.state.Node(1); n.Alive || n.Stopped != "kill" {
		t.Errorf("node 1: %+v", n)
	}
}

func TestDescribedRecordsOfDivergedLogsStayApart(t *testing.T) {
	s := newStory(t)
	s.tell(1, appended(0, 0, 0), event.RecordDescribed{Topic: "orders", Key: "lost"})
	s.tell(2, appended(0, 0, 1), event.RecordDescribed{Topic: "orders", Key: "kept"})
	records := s.state.Partition("orders", 0).Records.Items()
	if len(records) != 2 || records[0].Key != "lost" || records[1].Key != "kept" {
		t.Errorf("described: %+v", records)
	}
}

func TestMessagesAreInFlightUntilDeliveredOrDropped(t *testing.T) {
	s := newStory(t)
	s.tell(1, event.MessageSent{Message: 1, To: 2}, event.MessageSent{Message: 2, To: 2},
		event.MessageSent{Message: 3, To: 2})
	s.tell(2, event.MessageDelivered{Message: 1})
	s.tell(0, event.MessageDropped{Message: 3})
	if s.state.Messages.Len() != 1 {
		t.Fatalf("%d in flight, want 1", s.state.Messages.Len())
	}
	s.state.Messages.Each(func(m *Message) {
		if m.ID != 2 {
			t.Errorf("in flight: %+v", m)
		}
	})
}

func TestDeletedTopicGoesWithItsLastReplica(t *testing.T) {
	s := newStory(t)
	s.tell(1, event.TopicCreated{Topic: "orders"}, appended(0, 0, 0),
		event.TopicDeleted{Topic: "orders"})
	if s.state.Topic("orders") == nil {
		t.Fatal("the topic is gone while a replica is there")
	}
	s.tell(1, event.ReplicaRemoved{Topic: "orders"})
	if s.state.Topic("orders") != nil || s.state.Partition("orders", 0) != nil {
		t.Error("the topic outlived its last replica")
	}
}

func TestStateStaysBoundedUnderAnyEvents(t *testing.T) {
	s := New()
	for seed := range uint64(3) {
		s.ApplyChunk(randomChunk(seed, 30000))
	}
	for _, topic := range s.Topics {
		for _, p := range topic.Partitions {
			if n := len(p.Records.Items()); n > recordsMax {
				t.Errorf("%s-%d describes %d records", p.Topic, p.Index, n)
			}
			for _, l := range p.Logs {
				if n := len(l.Batches.Items()); n > batchesMax {
					t.Errorf("%s-%d on %d shows %d batches", p.Topic, p.Index, l.Node, n)
				}
			}
		}
	}
	if s.Messages.Len() > messagesMax || s.Waits.Len() > waitsMax || s.Timers.Len() > timersMax {
		t.Error("a table outgrew its bound")
	}
}

func TestRestoredStateFoldsOnAsIfNothingHappened(t *testing.T) {
	for seed := range uint64(20) {
		c := randomChunk(seed, 4000)
		whole, first := New(), New()
		whole.ApplyChunk(c)
		first.ApplyChunk(&event.Chunk{Records: c.Records[:2000], Texts: c.Texts, Lists: c.Lists})
		before := first.AppendJSON(nil)
		restored, err := Restore(before)
		if err != nil {
			t.Fatal(err)
		}
		cloned := first.Clone()
		rest := &event.Chunk{Records: c.Records[2000:], Texts: c.Texts, Lists: c.Lists}
		restored.ApplyChunk(rest)
		cloned.ApplyChunk(rest)
		want := whole.AppendJSON(nil)
		if !bytes.Equal(restored.AppendJSON(nil), want) {
			t.Fatalf("seed %d: a restored state folds on differently", seed)
		}
		if !bytes.Equal(cloned.AppendJSON(nil), want) {
			t.Fatalf("seed %d: a clone folds on differently", seed)
		}
		if !bytes.Equal(first.AppendJSON(nil), before) {
			t.Fatalf("seed %d: folding into a clone changed the original", seed)
		}
	}
}

func TestUnknownKindsAreCountedAndBounded(t *testing.T) {
	s := New()
	for i := range 100 {
		s.ApplyUnknown(event.Seq(i+1), 0, "FromTheFuture"+string(rune('A'+i)))
	}
	if len(s.Counters.Unknown) > unknownKindsMax+1 || s.Counters.Total != 100 || s.Seq != 100 {
		t.Errorf("%d names, %d events, seq %d", len(s.Counters.Unknown), s.Counters.Total, s.Seq)
	}
}

func TestTableAgreesWithAMap(t *testing.T) {
	var table Table[Message]
	known := map[int64]bool{}
	c := randomChunk(7, 5000)
	for i := range c.Records {
		id := int64(c.Records[i].At % 97)
		if i%3 == 0 {
			if got := table.remove(id); got != known[id] {
				t.Fatalf("remove(%d) = %v, want %v", id, got, known[id])
			}
			delete(known, id)
			continue
		}
		v, _ := table.put(id, 1000)
		v.ID = id
		known[id] = true
	}
	n := 0
	table.Each(func(m *Message) {
		n++
		if !known[m.ID] {
			t.Errorf("the table holds %d, which was removed", m.ID)
		}
	})
	if n != len(known) || n != table.Len() {
		t.Errorf("the table holds %d, the map %d", n, len(known))
	}
}

func TestStateIsValidJSONWithoutNullLists(t *testing.T) {
	s := New()
	s.ApplyChunk(randomChunk(3, 3000))
	text := s.AppendJSON(nil)
	if !json.Valid(text) {
		t.Fatal("not JSON")
	}
	for _, name := range []string{"isr", "replicas", "elr", "batches", "copies", "cut", "segments",
		"followers", "epochs", "records", "openRequests", "messages"} {
		if bytes.Contains(text, []byte(`"`+name+`":null`)) {
			t.Errorf("%s is null somewhere", name)
		}
	}
}

func TestConsumerThatGoesOnFromItsGroupKnowsTheCommittedOffset(t *testing.T) {
	s := newStory(t)
	began := event.ClientStarted{Name: "billing", Role: "consumer", Group: "billing"}
	s.tell(1003, began, event.PositionMoved{Topic: "orders", Before: -1, After: 5, Reason: "earliest"})
	part := func() OwnPartition { return s.state.Programs[0].Partitions[0] }
	if part().Committed != -1 {
		t.Errorf("a reset made %d the committed offset", part().Committed)
	}
	s.tell(1003, began, event.PositionMoved{Topic: "orders", Before: -1, After: 3, Reason: "committed"})
	if part().Committed != 3 {
		t.Errorf("after its restart the committed offset is %d, not 3", part().Committed)
	}
}

func TestWhatALeaderCommittedStaysCommittedUnderALeaderThatDoesNotKnow(t *testing.T) {
	s := newStory(t)
	s.tell(0, event.TopicCreated{Topic: "orders", TopicID: "first"})
	for node := range event.NodeID(3) {
		s.tell(node+1, event.LeaderEpochStarted{Topic: "orders"}, appended(0, 2, 0))
	}
	s.tell(1, event.BecameLeader{Topic: "orders"}, event.HighWatermarkMoved{Topic: "orders", After: 2})
	s.tell(3, event.HighWatermarkMoved{Topic: "orders", After: 3}) // a follower's says nothing
	s.tell(2, event.LeaderEpochStarted{Topic: "orders", LeaderEpoch: 1, StartOffset: 3},
		event.BecameLeader{Topic: "orders", LeaderEpoch: 1, HighWatermark: 1})
	committed := func() []Committed { return s.state.Partition("orders", 0).Committed }
	want := []Committed{{Epoch: 0, To: 2}}
	if !slices.Equal(committed(), want) {
		t.Errorf("committed is %v, want %v", committed(), want)
	}
	kept := s.state.Clone()
	s.tell(2, appended(3, 4, 1), event.HighWatermarkMoved{Topic: "orders", Before: 1, After: 4})
	if next := []Committed{{Epoch: 0, To: 3}, {Epoch: 1, To: 4}}; !slices.Equal(committed(), next) {
		t.Errorf("after the next leader's rise committed is %v, want %v", committed(), next)
	}
	if got := kept.Partition("orders", 0).Committed; !slices.Equal(got, want) {
		t.Errorf("folding on changed a copy's: %v", got)
	}
	s.tell(0, event.TopicCreated{Topic: "orders", TopicID: "second"})
	if len(committed()) != 0 {
		t.Errorf("a topic made again has committed %v", committed())
	}
}

// A topic of a former one's name holds other records: what was given of the former one is not read
// here, and a consumer that kept its position begins there.
func TestTopicMadeAgainHasBeenReadByNobody(t *testing.T) {
	s := newStory(t)
	s.tell(1, event.TopicCreated{Topic: "orders", TopicID: "first"})
	s.tell(9, event.ClientStarted{Name: "zed", Role: "consumer", Group: "g"},
		event.PositionMoved{Topic: "orders", After: 0, Reason: "earliest"},
		event.RecordsPolled{Topic: "orders", Records: 2, After: 2, Offsets: "0-1"},
		event.PositionCommitted{Topic: "orders", Offset: 2})
	s.tell(1, event.TopicCreated{Topic: "orders", TopicID: "first"})
	part := func() OwnPartition { return s.state.Programs[0].Partitions[0] }
	if len(part().Read) != 1 || part().Committed != 2 || part().Began != 0 {
		t.Errorf("the same topic told again: %+v", part())
	}
	s.tell(1, event.TopicDeleted{Topic: "orders"},
		event.TopicCreated{Topic: "orders", TopicID: "second"})
	if p := part(); len(p.Read) != 0 || p.Committed != -1 || p.Began != 2 || p.Position != 2 {
		t.Errorf("another topic of that name: %+v", p)
	}
	s.tell(9, event.RecordsPolled{Topic: "orders", Records: 1, Before: 2, After: 3, Offsets: "2-2"})
	if want := []Run{{2, 3}}; !slices.Equal(part().Read, want) {
		t.Errorf("read %v, want %v", part().Read, want)
	}
}

func TestWhatAFormerIncarnationWasGivenIsKeptApart(t *testing.T) {
	s := newStory(t)
	began := event.ClientStarted{Name: "shipping", Role: "consumer", Group: "g"}
	polled := event.RecordsPolled{Topic: "orders", Records: 3, After: 3, Offsets: "0-2"}
	s.tell(9, event.NodeStarted{Role: "consumer", Incarnation: 1}, began, polled,
		event.PositionCommitted{Topic: "orders", Offset: 2}, event.NodeStopped{How: "kill"})
	part := func() OwnPartition { return s.state.Programs[0].Partitions[0] }
	check := func(when string, read, former []Run, committed event.Offset) {
		t.Helper()
		p := part()
		if !slices.Equal(p.Read, read) || !slices.Equal(p.Former, former) || p.Committed != committed {
			t.Errorf("%s: %+v", when, p)
		}
	}
	all := []Run{{0, 3}}
	check("killed", nil, all, 2)
	s.tell(9, event.NodeStarted{Role: "consumer", Incarnation: 2}, began)
	check("started again", nil, all, 2)
	s.tell(9, event.RecordsPolled{Topic: "orders", Records: 1, After: 3, Offsets: "2-2"})
	check("reading again", []Run{{2, 3}}, all, 2)
	s.tell(1, appended(0, 0, 0), event.BecameLeader{Topic: "orders", LeaderEpoch: 1})
	check("under a leader that lacks two of them", nil, []Run{{0, 1}}, 2)
	began.Group = "other"
	s.tell(9, event.NodeStopped{How: "stop"}, began)
	check("in another group", nil, []Run{{0, 1}}, -1)
	began.Name = "another"
	s.tell(9, began)
	if n := len(s.state.Programs[0].Partitions); n != 0 {
		t.Errorf("another client has %d partitions of it", n)
	}
}

// A leader whose log ends below what a consumer read brings other records there, which nobody has read.
func TestWhatALeaderLacksHasBeenReadByNobody(t *testing.T) {
	s := newStory(t)
	s.tell(1, event.TopicCreated{Topic: "orders", TopicID: "first"})
	s.tell(9, event.ClientStarted{Name: "zed", Role: "consumer"},
		event.PositionMoved{Topic: "orders", After: 0, Reason: "earliest"},
		event.RecordsPolled{Topic: "orders", Records: 2, After: 2, Offsets: "0-1"})
	s.tell(3, event.LogOpened{Topic: "orders", LogEndOffset: 1},
		event.BecameLeader{Topic: "orders", LeaderEpoch: 3, StartOffset: 1})
	p := s.state.Programs[0].Partitions[0]
	if !slices.Equal(p.Read, []Run{{0, 1}}) || p.Began != 2 || p.Position != 2 {
		t.Errorf("it read %+v", p)
	}
}
