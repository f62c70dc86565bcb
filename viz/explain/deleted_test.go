package explain_test

import (
	"strings"
	"testing"

	"highwater/cluster/event"
	"highwater/scenarios"
	"highwater/viz/explain"
)

// script plays commands as a scenario.
func script(t *testing.T, commands ...string) *recording {
	t.Helper()
	s, mistakes := scenarios.ParseScenario("script.md", []byte("---\ntitle: Script\n---\n"+
		"```highwater\n"+strings.Join(commands, "\n")+"\n```\n"))
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	return record(t, s)
}

func TestRecordsOfATopicMadeAgainAreNotThoseOfTheFormer(t *testing.T) {
	r := script(t, "topic a replicas=1,2,3", "send a key=k1 value=v", "send a key=k2 value=v",
		"delete-topic a", "sleep 3s", "topic a replicas=1,2,3", "send a key=k3 value=v", "sleep 1s")
	r.fate("k3", r.last(), explain.FateCommitted, event.KindHighWatermarkMoved)
	k1 := r.fate("k1", r.last(), explain.FateTopicDeleted, event.KindTopicDeleted)
	if got := stations(k1); !strings.HasPrefix(got, "key received appended") ||
		!strings.HasSuffix(got, "topic-deleted") {
		t.Errorf("the way of k1: %s", got)
	}
	for _, c := range k1.Copies {
		if c.Holds || r.kind(c.Gone) != event.KindTopicDeleted {
			t.Errorf("k1 on broker %d: %+v", c.Node, c)
		}
	}
	for offset, key := range map[event.Offset]string{0: "k3", 1: "k2"} {
		p, err := explain.PassportOf(r, explain.Record{Topic: "a", Offset: offset,
			Epoch: explain.AnyEpoch}, r.last())
		if err != nil || p.Key != key {
			t.Errorf("offset %d: %v, %+v", offset, err, p)
		}
	}
	again := r.command("send a key=k3")
	for _, of := range []string{"isr", "leader"} {
		if a := r.why(of, "a", again); len(a.Why) == 0 || a.Why[0].Seq < r.command("sleep 3s") {
			t.Errorf("%s rests on what was told of the deleted topic: %+v", of, a.Why)
		}
	}
}

func TestRecordsOfADeletedTopicAreFoundByTheirPlace(t *testing.T) {
	r := script(t, "topic b", "send b key=b1", "delete-topic b", "sleep 1s")
	r.fate("b1", r.last(), explain.FateTopicDeleted, event.KindTopicDeleted)
	of := explain.Record{Topic: "b", Epoch: explain.AnyEpoch}
	p, err := explain.PassportOf(r, of, r.last())
	if err != nil || p.Fate != explain.FateTopicDeleted || p.Key != "b1" {
		t.Errorf("b-0@0: %v, %+v", err, p)
	}
	if p, err := explain.PassportOf(r, of, r.command("delete-topic b")-1); err != nil ||
		p.Fate != explain.FateCommitted {
		t.Errorf("before the deletion: %v, %+v", err, p)
	}
	of.TopicID = "of another b"
	if p, err := explain.PassportOf(r, of, r.last()); err == nil {
		t.Errorf("a topic that never was had %+v", p)
	}
}

func TestKeyIsHashedOverThePartitionsThatTheNewTopicHas(t *testing.T) {
	r := script(t, "topic a partitions=4 replicas=1,2,3", "send a key=k value=v", "kill 3",
		"delete-topic a", "sleep 2s", "topic a partitions=2 replicas=1,2", "send a key=b value=v",
		"sleep 1s")
	if p := r.passport("b", r.last()); p.Partitions != 2 ||
		!strings.Contains(p.Steps[0].Text, "modulo 2 it is partition 0.") {
		t.Errorf("of %d partitions: %s", p.Partitions, p.Steps[0].Text)
	}
	if p := r.passport("k", r.last()); p.Partitions != 4 {
		t.Errorf("the former topic had %d partitions", p.Partitions)
	}
}

// restarted is a leader with ten offsets of before it began, of which nothing else is known.
func restarted() *story {
	s := &story{log: event.NewLog()}
	both := []event.NodeID{1, 2}
	s.tell(1, event.NodeStarted{Role: "broker", Incarnation: 1},
		event.PartitionChanged{Topic: "pay", Leader: 1, LeaderBefore: -1, Replicas: both, Isr: both},
		event.LogOpened{Topic: "pay", LogEndOffset: 10, HighWatermark: 10, Epochs: "0@0"},
		event.BecameLeader{Topic: "pay", Isr: both, Replicas: both, MinIsr: 1, HighWatermark: 10})
	s.tell(2, event.NodeStarted{Role: "broker", Incarnation: 1})
	return s
}

// Before a restart there may have been markers, aborted records and passes of the cleaner.
func TestWhatWasBeforeTheRecordingIsNotGuessed(t *testing.T) {
	s := restarted()
	s.tell(2, event.BatchAppended{Topic: "pay", BaseOffset: 5, LastOffset: 5, Records: 1, ProducerID: -1},
		event.BatchAppended{Topic: "pay", BaseOffset: 6, LastOffset: 7, Records: 2, ProducerID: 9,
			Transactional: true},
		event.BatchAppended{Topic: "pay", BaseOffset: 8, LastOffset: 8, Records: 1, ProducerID: 9,
			Transactional: true, Control: true},
		event.BatchAppended{Topic: "pay", BaseOffset: 9, LastOffset: 9, Records: 1, ProducerID: 9,
			Transactional: true})
	s.tell(2, event.TransactionMarkerWritten{Topic: "pay", ProducerID: 9, Offset: 8, FirstOffset: 6})
	film := s.film()
	_, end := film.Range()
	for offset, fate := range map[event.Offset]string{2: explain.FateBelow,
		5: explain.FateCommitted, 6: explain.FateAborted, 7: explain.FateAborted,
		8: explain.FateMarker, 9: explain.FateBelow, 10: explain.FateUnrecorded} {
		p, err := explain.PassportOf(film, explain.Record{Topic: "pay", Offset: offset,
			Epoch: explain.AnyEpoch}, end)
		if err != nil || p.Fate != fate {
			t.Errorf("offset %d: %v, want %q: %+v", offset, err, fate, p)
		}
		if offset == 2 && (len(p.Copies) != 2 || !p.Copies[0].Holds || p.Copies[1].Holds) {
			t.Errorf("only the log of broker 1 was opened with offset 2 in it: %+v", p.Copies)
		}
	}
}

func TestLeaderThatLedLastIsNotSaidToBeElectedUncleanlyByASetting(t *testing.T) {
	r := script(t, "topic solo replicas=2", "send solo key=k value=v", "kill 2", "restart 2",
		"sleep 5s")
	a := r.why("leader", "solo", r.last())
	r.says(a.Why, "it was the last that had led", event.RuleElectionLastKnownLeader,
		event.KindPartitionChanged)
}

func TestAbortedRecordThatTheCleanerTookIsStillAborted(t *testing.T) {
	r := script(t, "topic c replicas=1,2,3 cleanup.policy=compact segment.ms=1000 "+
		"min.cleanable.dirty.ratio=0.01", "producer p transactional=tp", "txn p begin",
		"send c by=p key=x value=v", "txn p abort", "txn p begin", "send c by=p key=y value=v",
		"txn p commit", "sleep 2s", "send c key=z value=v", "clean c-0", "sleep 5s")
	p := r.fate("x", r.last(), explain.FateAborted, event.KindTransactionMarkerWritten)
	if !strings.Contains(p.FateText, "cleaner has removed it") {
		t.Error(p.FateText)
	}
}

func TestNothingIsExplainedOfADeletedTopicWhoseBrokersAreDown(t *testing.T) {
	r := script(t, "topic x replicas=2", "kill 2", "sleep 12s", "delete-topic x", "sleep 1s")
	_, err := explain.Why(r, explain.Question{Of: "leader", Topic: "x", At: r.last()})
	if err == nil || !strings.Contains(err.Error(), "x is deleted") {
		t.Error(err)
	}
}

func TestTransactionThatIsOpenSinceBeforeTheRecordingHoldsTheLastStableOffset(t *testing.T) {
	s := restarted()
	s.tell(1, event.LastStableOffsetMoved{Topic: "pay", Before: 0, After: 7})
	film := s.film()
	_, end := film.Range()
	a, err := explain.Why(film, explain.Question{Of: "lso", Topic: "pay", At: end})
	if err != nil || len(a.NotYet) != 1 || !strings.Contains(a.NotYet[0].Text, "first record, offset 7") {
		t.Errorf("%v, %+v", err, a)
	}
}

func TestLastStableOffsetOfAFreshLeaderIsItsHighWatermark(t *testing.T) {
	r := script(t, "topic x replicas=1,2,3", "producer p transactional=tp", "send x value=v",
		"txn p begin", "send x by=p key=k value=v", "kill 1", "sleep 12s", "restart 1",
		`wait isr("x-0") == [1,2,3] within 30s`, "stop 2", "sleep 3s")
	reign := r.last()
	for i := range r.events.Records {
		e := &r.events.Records[i]
		if e.Kind == event.KindBecameLeader && r.events.BecameLeader(e).Topic == "x" {
			reign = e.Seq
		}
	}
	a := r.why("lso", "x", reign)
	if !strings.Contains(a.Title, "is 0, its high watermark 0") {
		t.Fatalf("the leader has learnt its high watermark too early: %s", a.Title)
	}
	r.says(a.Why, "own high watermark", event.RuleLastStableOffset, event.KindBecameLeader)
	r.says(a.Why, "with what its own disk told when it opened its log", event.RuleNone,
		event.KindBecameLeader)
	r.says(a.NotYet, "has not fetched from this leader yet", event.RuleHighWatermarkMinOfIsr,
		event.KindBecameLeader)
	a = r.why("lso", "x", r.last())
	r.says(a.NotYet, "wait at its first record, offset 1", event.RuleNone,
		event.KindTransactionBegan)
	if len(a.NotYet) != 1 || !strings.Contains(a.Title, "is 1, its high watermark 2") {
		t.Errorf("%s %+v", a.Title, a.NotYet)
	}
}
