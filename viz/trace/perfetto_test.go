package trace

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"

	"highwater/cluster/event"
)

// element is what the tests read of a Trace Event.
type element struct {
	Ph   string         `json:"ph"`
	Name string         `json:"name"`
	Cat  string         `json:"cat"`
	ID   any            `json:"id"`
	Ts   float64        `json:"ts"`
	Pid  int64          `json:"pid"`
	Tid  int            `json:"tid"`
	Args map[string]any `json:"args"`
}

// converted is the story of a message, a timer that is cancelled and a high watermark, all at one
// instant.
func converted(t *testing.T) []element {
	t.Helper()
	now, log := int64(5000), event.NewLog()
	one, two := event.NewEmitter(log, &now, 1), event.NewEmitter(log, &now, 2)
	event.NodeStarted{Role: "broker", Incarnation: 1}.Emit(one, event.RuleNone)
	event.TimerArmed{Timer: 9, Name: "lag"}.Emit(one, event.RuleNone)
	event.MessageSent{Message: 7, To: 2, API: "Fetch"}.Emit(one, event.RuleNone)
	event.MessageDelivered{Message: 7, From: 1}.Emit(two, event.RuleNone)
	event.TimerCancelled{Timer: 9, Name: "lag"}.Emit(one, event.RuleNone)
	event.BatchAppended{Topic: "t", LastOffset: 4}.Emit(one, event.RuleNone)
	event.HighWatermarkMoved{Topic: "t", Before: 1, After: 5}.Emit(one, event.RuleNone)
	client := event.NewEmitter(log, &now, 1001)
	event.NodeStarted{Role: "client", Incarnation: 1}.Emit(client, event.RuleNone)
	event.ClientStarted{Name: "shop", Role: "producer"}.Emit(client, event.RuleNone)
	var file, out bytes.Buffer
	w := NewWriter(&file, Header{Seed: 1})
	if err := w.Chunk(log.Swap(&event.Chunk{}), 1, 100); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(&file, &event.Chunk{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Perfetto(&out, r, NewNarrator()); err != nil {
		t.Fatal(err)
	}
	var read struct {
		TraceEvents []element `json:"traceEvents"`
	}
	if err := json.Unmarshal(out.Bytes(), &read); err != nil {
		t.Fatalf("%v in\n%s", err, out.String())
	}
	return read.TraceEvents
}

func TestPerfettoDrawsEveryEventAtATimeOfItsOwnInOrder(t *testing.T) {
	last, seen := 0.0, 0
	for _, e := range converted(t) {
		if e.Ph != "X" {
			continue
		}
		seen++
		if e.Ts <= last || e.Tid == 0 || e.Args["at"] != 5000.0 {
			t.Errorf("%s: at %v after %v, thread %d, arguments %v", e.Name, e.Ts, last, e.Tid, e.Args)
		}
		last = e.Ts
	}
	if seen != 9 {
		t.Errorf("%d events drawn of 9", seen)
	}
}

func TestPerfettoJoinsWhatBeginsAndEnds(t *testing.T) {
	began, arrows := map[any]element{}, map[any]element{}
	for _, e := range converted(t) {
		switch e.Ph {
		case "b":
			began[e.ID] = e
		case "e":
			if b, ok := began[e.ID]; !ok || b.Cat != e.Cat || b.Name != e.Name || b.Pid != e.Pid {
				t.Errorf("%v ends, and began as %v", e, b)
			}
			delete(began, e.ID)
		case "s":
			arrows[e.ID] = e
		case "f":
			if s, ok := arrows[e.ID]; !ok || s.Pid != 1 || e.Pid != 2 || s.Ts >= e.Ts {
				t.Errorf("an arrow from %v to %v", s, e)
			}
			delete(arrows, e.ID)
		}
	}
	if len(arrows) > 0 || len(began) != 2 { // the nodes still run
		t.Errorf("left open: %v, %v", began, arrows)
	}
}

func TestPerfettoCountsLogEndsAndHighWatermarks(t *testing.T) {
	counted := map[string]any{}
	for _, e := range converted(t) {
		if e.Ph == "C" {
			counted[e.Name] = e.Args["offset"]
		}
	}
	if counted["log end offset t-0"] != 5.0 || counted["high watermark t-0"] != 5.0 {
		t.Errorf("counters %v", counted)
	}
}

func TestPerfettoNamesEveryNodeAsItsEventsDo(t *testing.T) {
	named := map[int64]string{}
	for _, e := range converted(t) {
		if e.Ph == "M" && e.Name == "process_name" {
			if named[e.Pid] != "" || e.Tid == 0 {
				t.Errorf("process %d is named again, or without a thread: %+v", e.Pid, e)
			}
			named[e.Pid], _ = e.Args["name"].(string)
		}
	}
	want := map[int64]string{1: "broker 1", 2: "broker 2", 1001: "producer shop"}
	if !maps.Equal(named, want) {
		t.Errorf("processes %v, want %v", named, want)
	}
}
