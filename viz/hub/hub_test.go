package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"highwater/cluster/event"
	"highwater/viz/model"
	"highwater/viz/trace"
)

// source publishes events as a world's loop does.
type source struct {
	hub   *Hub
	log   *event.Log
	now   int64
	spare *event.Chunk
	whole *model.State // the fold of all that was published
}

func newSource(t testing.TB, config Config) *source {
	s := &source{log: event.NewLog(), spare: &event.Chunk{}, whole: model.New()}
	if config.FrameInterval == 0 {
		config.FrameInterval = time.Nanosecond
	}
	s.hub = New(config)
	t.Cleanup(s.hub.Close)
	return s
}

// append publishes turns of one appended batch and its high watermark.
func (s *source) append(turns int) {
	em := event.NewEmitter(s.log, &s.now, 1)
	for range turns {
		s.now += 1000
		o := event.Offset(s.log.Last())
		event.BatchAppended{Topic: "orders", BaseOffset: o, LastOffset: o, Records: 1}.Emit(em, 0)
		event.IsrChanged{Topic: "orders", Isr: []event.NodeID{1, 2}}.Emit(em, 0)
		s.publish()
	}
}

func (s *source) publish() {
	full := s.log.Swap(s.spare)
	s.whole.ApplyChunk(full)
	s.spare = s.hub.Publish(full)
}

func equalStates(t *testing.T, what string, got, want *model.State) {
	t.Helper()
	if g, w := got.AppendJSON(nil), want.AppendJSON(nil); !bytes.Equal(g, w) {
		t.Errorf("%s:\n got %.300s\nwant %.300s", what, g, w)
	}
}

type frame struct {
	Type   string
	Run    string
	Seq    string
	From   string
	To     string
	State  json.RawMessage
	Events []json.RawMessage
	Counts map[string]int64
	Paused bool
}

func next(t *testing.T, v *Viewer) frame {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	text, err := v.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var f frame
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatalf("%v in frame %.200s", err, text)
	}
	if f.Type == "violations" { // no controller decides what these sources make up
		return next(t, v)
	}
	return f
}

func TestSnapshotIsTheFoldOfEverythingPublished(t *testing.T) {
	s := newSource(t, Config{Run: "a"})
	s.append(100)
	v := s.hub.Watch(0, "")
	defer v.Close()
	f := next(t, v)
	if f.Type != "snapshot" || f.Seq != "200" || f.Run != "a" {
		t.Fatalf("first frame is %s at %s", f.Type, f.Seq)
	}
	restored, err := model.Restore(f.State)
	if err != nil {
		t.Fatal(err)
	}
	equalStates(t, "snapshot", restored, s.whole)
}

func TestViewerFollowsWithoutLosingAnEvent(t *testing.T) {
	s := newSource(t, Config{})
	v := s.hub.Watch(0, "")
	defer v.Close()
	next(t, v)
	for turn := range 50 {
		s.append(1)
		seen := 0
		for seen < 2 {
			f := next(t, v)
			if f.Type != "events" {
				t.Fatalf("turn %d: a %s frame", turn, f.Type)
			}
			seen += len(f.Events)
		}
	}
}

func TestSlowViewerGetsACountedGapAndTheFinalState(t *testing.T) {
	s := newSource(t, Config{FrameEventsMax: 10})
	v := s.hub.Watch(0, "")
	defer v.Close()
	next(t, v)
	s.append(500) // must not wait for the viewer, which does not read
	gap := next(t, v)
	if gap.Type != "gap" || gap.From != "1" || gap.To != "1000" || gap.Counts["BatchAppended"] != 500 {
		t.Fatalf("got %+v, want a gap of 1 to 1000 with 500 appends", gap)
	}
	snapshot := next(t, v)
	restored, err := model.Restore(snapshot.State)
	if err != nil {
		t.Fatal(err)
	}
	equalStates(t, "state after the gap", restored, s.whole)
	s.append(1)
	if f := next(t, v); f.Type != "events" || len(f.Events) != 2 {
		t.Errorf("after the flood: %s with %d events", f.Type, len(f.Events))
	}
}

func TestViewerThatComesBackGetsWhatItMissed(t *testing.T) {
	s := newSource(t, Config{Run: "a"})
	s.append(1000)
	v := s.hub.Watch(400, "a")
	defer v.Close()
	want := 401
	for want <= 2000 {
		f := next(t, v)
		if f.Type != "events" {
			t.Fatalf("a %s frame, want events from %d", f.Type, want)
		}
		for _, text := range f.Events {
			var e struct{ Seq string }
			if json.Unmarshal(text, &e) != nil || e.Seq != strconv.Itoa(want) {
				t.Fatalf("got %s, want seq %d", text, want)
			}
			want++
		}
	}
}

func TestViewerOfAnotherRunBeginsAnew(t *testing.T) {
	s := newSource(t, Config{Run: "b"})
	s.append(10)
	v := s.hub.Watch(5, "a")
	defer v.Close()
	if f := next(t, v); f.Type != "snapshot" {
		t.Errorf("first frame is %s, want a snapshot", f.Type)
	}
}

func TestPaceReachesViewers(t *testing.T) {
	s := newSource(t, Config{})
	v := s.hub.Watch(0, "")
	defer v.Close()
	next(t, v)
	s.hub.SetPace(Pace{Mode: "slow", Rate: 0.25, Paused: true})
	if f := next(t, v); f.Type != "pace" || !f.Paused {
		t.Errorf("got %+v", f)
	}
}

func TestEveryKeptStateCanBeSought(t *testing.T) {
	s := newSource(t, Config{EventsMax: 170}) // groups of 10
	want := map[event.Seq][]byte{}
	for range 200 {
		s.append(1)
		want[s.whole.Seq] = s.whole.AppendJSON(nil)
	}
	first, last := s.hub.Range()
	if kept := int(last - first + 1); kept > 170 || kept < 150 || last != 400 {
		t.Fatalf("kept %d to %d, want at most 170 up to 400", first, last)
	}
	for seq := first; seq <= last; seq++ {
		state, err := s.hub.State(seq)
		if err != nil {
			t.Fatal(err)
		}
		if text := want[seq]; text != nil && !bytes.Equal(state.AppendJSON(nil), text) {
			t.Fatalf("state at %d differs", seq)
		}
	}
	var gone *NotKeptError
	if _, err := s.hub.State(first - 2); !errors.As(err, &gone) || gone.First != first {
		t.Errorf("before the recording: %v", err)
	}
}

func TestRecorderSaysThatItDroppedEvents(t *testing.T) {
	var told []string
	s := newSource(t, Config{EventsMax: 170, Truncated: func(events, from int64) {
		told = append(told, fmt.Sprintf("%d before %d", events, from))
	}})
	for range 40 {
		s.append(10)
		s.hub.Range() // folds
	}
	if len(told) < 3 || len(told) > 10 || told[0] != "10 before 11" {
		t.Errorf("told %q, want the first drop and then each doubling", told)
	}
}

func TestTraceHoldsExactlyTheEventsAskedFor(t *testing.T) {
	s := newSource(t, Config{EventsMax: 170, Header: trace.Header{Seed: 7}})
	s.append(200)
	first, last := s.hub.Range()
	var file bytes.Buffer
	if err := s.hub.WriteTrace(&file, 0, 0); err != nil {
		t.Fatal(err)
	}
	read, err := trace.ReadAll(&file)
	if err != nil {
		t.Fatal(err)
	}
	n := len(read.Chunk.Records)
	if read.Chunk.Records[0].Seq != first || read.Chunk.Records[n-1].Seq != last {
		t.Fatalf("the trace has %d to %d", read.Chunk.Records[0].Seq, read.Chunk.Records[n-1].Seq)
	}
	state, err := model.Restore(read.Keyframe)
	if err != nil {
		t.Fatal(err)
	}
	state.ApplyChunk(read.Chunk)
	equalStates(t, "keyframe and events of the trace", state, s.whole)
}

func TestPublishDoesNotWaitWhileAReaderHoldsTheState(t *testing.T) {
	s := newSource(t, Config{})
	s.hub.mu.Lock()
	done := make(chan struct{})
	go func() { s.append(1000); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("Publish waits for a reader")
	}
	s.hub.mu.Unlock()
	<-done
}

func TestClosedHubEndsItsViewers(t *testing.T) {
	h := New(Config{FrameInterval: time.Nanosecond})
	v := h.Watch(0, "")
	defer v.Close()
	if _, err := v.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.Close()
	if _, err := v.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

func BenchmarkPublish(b *testing.B) {
	for _, watched := range []bool{false, true} {
		b.Run(fmt.Sprintf("watched=%v", watched), func(b *testing.B) {
			s := newSource(b, Config{FrameInterval: FrameInterval})
			if watched {
				v := s.hub.Watch(0, "")
				defer v.Close()
				go func() {
					for {
						if _, err := v.Next(b.Context()); err != nil {
							return
						}
					}
				}()
			}
			em := event.NewEmitter(s.log, &s.now, 1)
			for range 20 {
				event.BatchAppended{Topic: "orders", Records: 1}.Emit(em, 0)
			}
			template := s.log.Swap(&event.Chunk{})
			chunk := &event.Chunk{}
			seq := event.Seq(0)
			b.ReportAllocs()
			for n := 1; b.Loop(); n++ {
				chunk.Records = append(chunk.Records[:0], template.Records...)
				chunk.Texts = append(chunk.Texts[:0], template.Texts...)
				for i := range chunk.Records {
					seq++
					chunk.Records[i].Seq = seq
				}
				chunk = s.hub.Publish(chunk)
				if n%400 == 0 { // what falls into a frame at 40,000 batches a second
					b.StopTimer()
					s.hub.Range()
					b.StartTimer()
				}
			}
		})
	}
}

// BenchmarkRecordAndFold is what one event costs off the loop, with nobody watching.
func BenchmarkRecordAndFold(b *testing.B) {
	s := newSource(b, Config{})
	em := event.NewEmitter(s.log, &s.now, 1)
	b.ReportAllocs()
	for b.Loop() {
		id := int64(s.log.Last())
		em.Cause = event.MessageSent{Message: id, To: 2, API: "Fetch", Topic: "orders"}.Emit(em, 0)
		event.MessageDelivered{Message: id, From: 2}.Emit(em, 0)
		if s.log.Pending() == 20 {
			s.spare = s.hub.Publish(s.log.Swap(s.spare))
			s.hub.Range()
		}
	}
}

func TestBrokenPromiseIsToldWithItsEvent(t *testing.T) {
	s := newSource(t, Config{})
	v := s.hub.Watch(0, "")
	defer v.Close()
	next(t, v)
	em := event.NewEmitter(s.log, &s.now, 1)
	event.LogOpened{Topic: "orders", Segments: 1}.Emit(em, 0)
	broken := event.HighWatermarkMoved{Topic: "orders", After: 5}.Emit(em, 0)
	s.publish()
	all := s.hub.Violations()
	if len(all) != 1 || all[0].Seq != broken || all[0].Promise != "hw.within-the-log" {
		t.Fatalf("violations %v, want one by event %d", all, broken)
	}
	for {
		text, err := v.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var f struct {
			Type       string
			Violations []struct{ Seq, Promise string }
		}
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatal(err)
		}
		if f.Type == "violations" {
			if len(f.Violations) != 1 || f.Violations[0].Seq != strconv.Itoa(int(broken)) {
				t.Errorf("the viewer was told %s", text)
			}
			return
		}
	}
}
