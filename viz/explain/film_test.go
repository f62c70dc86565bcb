package explain_test

import (
	"strings"
	"testing"

	"highwater/cluster/event"
	"highwater/viz/explain"
	"highwater/viz/model"
)

// story is a film of events that a test tells itself.
type story struct {
	log *event.Log
	now int64
}

type emittable interface {
	Emit(*event.Emitter, event.Rule) event.Seq
}

func (s *story) tell(node event.NodeID, facts ...emittable) (last event.Seq) {
	for _, fact := range facts {
		s.now += 1e6
		last = fact.Emit(event.NewEmitter(s.log, &s.now, node), event.RuleNone)
	}
	return last
}

func (s *story) film() *explain.Film {
	return explain.NewFilm(model.New(), s.log.Swap(&event.Chunk{}))
}

// transaction is a leader alone, a record before and one in a transaction of producer 7.
func transaction() *story {
	s := &story{log: event.NewLog()}
	alone := []event.NodeID{1}
	s.tell(1, event.NodeStarted{Role: "broker", Incarnation: 1},
		event.PartitionChanged{Topic: "orders", Leader: 1, LeaderBefore: -1, Replicas: alone, Isr: alone},
		event.BecameLeader{Topic: "orders", Isr: alone, Replicas: alone, MinIsr: 1},
		event.BatchAppended{Topic: "orders", Records: 1, ProducerID: -1, Leader: true},
		event.BatchAppended{Topic: "orders", BaseOffset: 1, LastOffset: 1, Records: 1, ProducerID: 7,
			Leader: true},
		event.RecordDescribed{Topic: "orders", Offset: 1, Key: "order-3", KeyBytes: 7},
		event.TransactionBegan{Topic: "orders", ProducerID: 7, FirstOffset: 1},
		event.HighWatermarkMoved{Topic: "orders", After: 2},
		event.LastStableOffsetMoved{Topic: "orders", After: 1})
	return s
}

func TestLastStableOffsetIsSaidToWaitForTheMarker(t *testing.T) {
	s := transaction()
	film := s.film()
	_, end := film.Range()
	a, err := explain.Why(film, explain.Question{Of: "lso", Topic: "orders", At: end})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.NotYet) != 1 || !strings.Contains(a.NotYet[0].Text, "producer id 7 is open") ||
		a.NotYet[0].Seq != 7 {
		t.Errorf("why not yet: %+v", a.NotYet)
	}
}

func TestPassportEndsWithTheMarkerOfItsTransaction(t *testing.T) {
	for _, c := range []struct {
		commit   bool
		producer int64
		fate     string
	}{{true, 7, explain.FateCommitted}, {false, 7, explain.FateAborted},
		{false, 8, explain.FateCommitted}} {
		s := transaction()
		s.tell(1, event.TransactionMarkerWritten{Topic: "orders", ProducerID: c.producer,
			Commit: c.commit, Offset: 2, FirstOffset: 1})
		film := s.film()
		_, end := film.Range()
		of, err := explain.Find(film, "order-3", end)
		if err != nil {
			t.Fatal(err)
		}
		p, err := explain.PassportOf(film, of, end)
		if err != nil || p.Fate != c.fate {
			t.Errorf("commit %v of producer %d: %v, fate %q, want %q", c.commit, c.producer, err,
				p.Fate, c.fate)
		}
	}
}

func TestQuestionsAboutNothingAreRefused(t *testing.T) {
	film := transaction().film()
	for _, q := range []explain.Question{{Of: "tea", Topic: "orders", At: 5},
		{Of: "hw", Topic: "payments", At: 5}, {Of: "hw", Topic: "orders", Partition: 1, At: 5},
		{Of: "hw", Topic: "orders", At: 500}} {
		if a, err := explain.Why(film, q); err == nil {
			t.Errorf("%+v was answered: %+v", q, a)
		}
	}
	if _, err := explain.Find(film, "order-4", 9); err == nil {
		t.Error("a key that nobody wrote was found")
	}
}

func TestFatesOfRetriesAndOfCompactedRecords(t *testing.T) {
	retried := play(t, "idempotent-retry")
	found := 0
	for i := range retried.events.Records {
		e := &retried.events.Records[i]
		if e.Kind != event.KindDuplicateSuppressed {
			continue
		}
		d := retried.events.DuplicateSuppressed(e)
		p, err := explain.PassportOf(retried, explain.Record{Topic: d.Topic, Partition: d.Partition,
			Offset: d.BaseOffset, Epoch: explain.AnyEpoch}, retried.last())
		if err != nil || p.Fate != explain.FateDuplicate {
			t.Errorf("offset %d: %v %s", d.BaseOffset, err, p.FateText)
		}
		found++
	}
	if found == 0 {
		t.Error("the scenario suppressed no duplicate")
	}
	cleaned := play(t, "compaction-users2")
	for offset, fate := range map[event.Offset]string{0: explain.FateCompacted,
		176: explain.FateCompacted, 177: explain.FateCommitted, 182: explain.FateCommitted} {
		p, err := explain.PassportOf(cleaned, explain.Record{Topic: "users2", Offset: offset,
			Epoch: explain.AnyEpoch}, cleaned.last())
		if err != nil || p.Fate != fate {
			t.Errorf("offset %d: %v, want %q: %+v", offset, err, fate, p)
		}
	}
}
