package explain_test

import (
	"strings"
	"testing"

	"highwater/cluster/event"
	"highwater/viz/explain"
	"highwater/viz/model"
)

// reread is a log of before the recording, and two readers of it; one reads what is committed only.
func reread() *story {
	s := restarted()
	for node, settings := range map[event.NodeID]string{1001: "isolation.level=read_uncommitted",
		1002: "isolation.level=read_committed"} {
		s.tell(node, event.ClientStarted{Name: "reader", Role: "consumer", Settings: settings})
	}
	s.tell(1001, event.RecordsPolled{Topic: "pay", Records: 5, After: 6, Offsets: "0-2,4-5"})
	s.tell(1002, event.RecordsPolled{Topic: "pay", Records: 3, After: 6, Offsets: "0-0,4-5"})
	return s
}

// What a reader was given is no marker, and with read_committed it was not aborted.
func TestOldRecordsAreWhatTheirReadersTellAndThePageSaysTheSame(t *testing.T) {
	chunk := reread().log.Swap(&event.Chunk{})
	r := &recording{explain.NewFilm(model.New(), chunk), t, chunk}
	wanted := []struct {
		offset                         event.Offset
		fate, text, way, status, notes string
	}{
		{0, explain.FateCommitted, "offset 0 is committed.",
			"found committed delivered delivered", "here", "HW 10"},
		{1, explain.FateBelow, "aborted is not recorded here: it was written before this recording began",
			"found committed delivered passed-over", "ahead", "HW 10, aborted?"},
		{3, explain.FateBelow, "Whether it is a record or a marker", "found committed passed-over " +
			"passed-over", "ahead", "below HW 10"},
		{5, explain.FateCommitted, "offset 5 is committed.",
			"found committed delivered delivered", "here", "HW 10"},
		{7, explain.FateBelow, "Whether it is a record or a marker", "found committed", "ahead",
			"below HW 10"},
	}
	questions := []asked{}
	for _, want := range wanted {
		p, err := explain.PassportOf(r, explain.Record{Topic: "pay", Offset: want.offset,
			Epoch: explain.AnyEpoch}, r.last())
		if err != nil {
			t.Fatal(err)
		}
		if p.Fate != want.fate || !strings.Contains(p.FateText, want.text) || stations(p) != want.way {
			t.Errorf("offset %d: %q %q, %q", want.offset, p.Fate, p.FateText, stations(p))
		}
		if c := p.Copies[0]; !c.Holds || c.Below != 3 || c.Appended != 0 {
			t.Errorf("offset %d on broker 1, which opened its log at event 3: %+v", want.offset, c)
		}
		questions = append(questions, asked{p, r.last()})
	}
	for i, got := range stationsOf(t, nodeOrSkip(t), r, questions) {
		if want := wanted[i]; got.Status != want.status || got.Note != want.notes {
			t.Errorf("offset %d: the station says %q %q", want.offset, got.Status, got.Note)
		}
	}
}

// A long recording lets its oldest events go: what was in the logs by then is known all the same.
func TestRecordsOfBeforeTheKeptEventsAreStillKnown(t *testing.T) {
	chunk := reread().log.Swap(&event.Chunk{})
	whole := explain.NewFilm(model.New(), chunk)
	_, end := whole.Range()
	for i := range chunk.Records {
		if chunk.Records[i].Kind == event.KindRecordsPolled {
			end = chunk.Records[i].Seq - 1
			break
		}
	}
	before, err := whole.State(end)
	if err != nil {
		t.Fatal(err)
	}
	rest := &event.Chunk{Texts: chunk.Texts, Lists: chunk.Lists, Records: chunk.Records[end:]}
	film := explain.NewFilm(before, rest)
	_, last := film.Range()
	p, err := explain.PassportOf(film, explain.Record{Topic: "pay", Offset: 5,
		Epoch: explain.AnyEpoch}, last)
	if err != nil {
		t.Fatal(err)
	}
	if got := stations(p); got != "found delivered delivered" || p.Fate != explain.FateCommitted ||
		!strings.Contains(p.Steps[0].Text, "before the first event that is kept") {
		t.Errorf("%s: %q %+v", got, p.FateText, p.Steps)
	}
}

func TestTimesOfAPassportNeverRunBackwards(t *testing.T) {
	for _, lesson := range []string{"phantom-read", "order-8812", "idempotent-retry"} {
		r := play(t, lesson)
		for _, q := range questionsOf(t, r) {
			for i, step := range q.Steps {
				if i > 0 && step.At < q.Steps[i-1].At {
					t.Errorf("%s: %q at %d comes after %d", lesson, step.Text, step.At, q.Steps[i-1].At)
				}
				if step.Kind == "key" && i > 0 {
					t.Errorf("%s: before the key is hashed there is %q", lesson, q.Steps[0].Text)
				}
			}
		}
	}
}

func TestBrokerWithoutPowerHasNoPageCache(t *testing.T) {
	r := play(t, "power-loss")
	asked, how, onDisk := map[string]bool{}, "", false
	for i := range r.events.Records {
		e := &r.events.Records[i]
		if e.Node != 3 || e.Kind == event.KindLogOpened && r.events.LogOpened(e).Topic != "orders" {
			continue
		}
		switch e.Kind {
		case event.KindNodeStopped:
			how = r.events.NodeStopped(e).How
		case event.KindNodeStarted, event.KindLogOpened:
		default:
			continue
		}
		what := how + " " + e.Kind.String()
		if how == "" || asked[what] {
			continue
		}
		asked[what] = true
		c := r.passport("order-3", e.Seq).Copies[2]
		isOpen := e.Kind == event.KindLogOpened
		onDisk = onDisk || how == "power-cut" && isOpen // what a power cut has left stays so
		if isDark := how == "power-cut" && !isOpen; !c.Holds || c.Unpowered != isDark ||
			c.OnDisk != onDisk {
			t.Errorf("%s: %+v", what, c)
		}
	}
	if len(asked) != 6 {
		t.Errorf("of broker 3 asked %v", asked)
	}
}

// compacted is a leader whose log, when it was opened, had a hole from offset 1 to 4.
func compacted() *story {
	s := &story{log: event.NewLog()}
	alone := []event.NodeID{1}
	s.tell(1, event.NodeStarted{Role: "broker", Incarnation: 1},
		event.PartitionChanged{Topic: "users", Leader: 1, LeaderBefore: -1, Replicas: alone, Isr: alone},
		event.LogOpened{Topic: "users", LogEndOffset: 10, HighWatermark: 10, Epochs: "0@0",
			Holes: "1-4"})
	(event.BecameLeader{Topic: "users", Isr: alone, Replicas: alone, MinIsr: 1,
		HighWatermark: 10}).Emit(event.NewEmitter(s.log, &s.now, 1), event.RuleLeaderEpochBump)
	return s
}

func TestHoleOfBeforeTheRecordingIsCompactedAndThePageSaysTheSame(t *testing.T) {
	chunk := compacted().log.Swap(&event.Chunk{})
	r := &recording{explain.NewFilm(model.New(), chunk), t, chunk}
	of := explain.Record{Topic: "users", Offset: 2, Epoch: explain.AnyEpoch}
	p, err := explain.PassportOf(r, of, r.last())
	if err != nil {
		t.Fatal(err)
	}
	if p.Fate != explain.FateCompacted || r.kind(p.FateSeq) != event.KindLogOpened ||
		!strings.Contains(p.FateText, "broker 1 opened its log it had been removed already") {
		t.Errorf("%s by event %d: %s", p.Fate, p.FateSeq, p.FateText)
	}
	if s := stationsOf(t, nodeOrSkip(t), r, []asked{{p, r.last()}})[0]; s.Status+" "+s.Note !=
		"gone compacted" {
		t.Errorf("the station says %q %q", s.Status, s.Note)
	}
	state, err := r.State(r.last())
	if err != nil {
		t.Fatal(err)
	}
	late := &story{log: event.NewLog(), now: 1e9}
	for range r.last() { // as many as are not kept
		late.tell(2, event.NodeStopped{How: "kill"})
	}
	late.log.Swap(&event.Chunk{})
	late.tell(2, event.NodeStarted{Role: "broker", Incarnation: 2})
	film := explain.NewFilm(state, late.log.Swap(&event.Chunk{}))
	if p, err = explain.PassportOf(film, of, r.last()+1); err != nil {
		t.Fatal(err)
	}
	if p.Fate != explain.FateCompacted || p.FateSeq != 0 ||
		!strings.Contains(p.FateText, "before the first event that is kept") {
		t.Errorf("where nothing is kept: %s by event %d: %s", p.Fate, p.FateSeq, p.FateText)
	}
}

// A crash may fall between a swap on the disk and its event: the record was appended in this
// recording, and is missing when the log is opened again.
func TestHoleThatIsFoundAfterACrashIsCompactionsAndNoLoss(t *testing.T) {
	s := led(event.BatchAppended{Topic: "orders", LastOffset: 4, Records: 5, ProducerID: -1, Leader: true},
		event.HighWatermarkMoved{Topic: "orders", After: 5}, event.NodeStopped{How: "kill"},
		event.NodeStarted{Role: "broker", Incarnation: 2}, event.LogOpened{Topic: "orders",
			LogEndOffset: 5, HighWatermark: 5, Epochs: "0@0", Holes: "1-2"})
	film := s.film()
	_, end := film.Range()
	p, err := explain.PassportOf(film, explain.Record{Topic: "orders", Offset: 1,
		Epoch: explain.AnyEpoch}, end)
	if err != nil {
		t.Fatal(err)
	}
	gone := p.Steps[len(p.Steps)-1]
	if p.Fate != explain.FateCompacted || !strings.HasSuffix(gone.Text, "compaction left a hole there.") {
		t.Errorf("%s: %s; %+v", p.Fate, p.FateText, gone)
	}
}

func TestWhatANewLeaderHasBelowItsHighWatermarkIsNotSaidToRestOnItsElection(t *testing.T) {
	film := compacted().film()
	_, end := film.Range()
	p, err := explain.PassportOf(film, explain.Record{Topic: "users", Offset: 7,
		Epoch: explain.AnyEpoch}, end)
	if err != nil {
		t.Fatal(err)
	}
	last := p.Steps[len(p.Steps)-1]
	if last.Kind != "committed" || last.Seq != end || last.Rule != "" {
		t.Errorf("the passport ends with %+v", last)
	}
}
