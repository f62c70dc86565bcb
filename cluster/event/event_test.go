package event

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestEveryKindFitsARecordAndIsNarrated(t *testing.T) {
	for _, row := range Rows() {
		if len(row.Fields) > Slots {
			t.Errorf("%s has %d fields, a record holds %d", row.Name, len(row.Fields), Slots)
		}
		if strings.ContainsAny(row.Narration, "@%&+!|`") { // signs of the page's own list
			t.Errorf("%s narrates with a sign that is taken: %s", row.Name, row.Narration)
		}
		if row.Narration == "" {
			t.Errorf("%s has no narration in the catalogue", row.Name)
		}
		if !strings.HasPrefix(row.Emitted, row.Name+" ") {
			t.Errorf("%s: its comment does not begin with its name: %q", row.Name, row.Emitted)
		}
		if row.Pair != "" && ParseKind(row.Pair) == 0 {
			t.Errorf("%s: its pair %q is no kind", row.Name, row.Pair)
		}
		if ParseKind(row.Name) != row.Kind {
			t.Errorf("%s: found by its name as kind %d, is %d", row.Name, ParseKind(row.Name), row.Kind)
		}
	}
	if len(narrations) != len(Rows()) {
		t.Errorf("%d narrations for %d kinds", len(narrations), len(Rows()))
	}
}

func TestNarrationsNameOnlyFieldsOfTheirKind(t *testing.T) {
	for _, row := range Rows() {
		known := map[string]bool{"node": true}
		for _, f := range row.Fields {
			known[f.Name] = true
		}
		all := row.Narration
		for _, s := range row.States {
			all += s.Narration
			after, reason, _ := strings.Cut(s.State, "/")
			fields := map[string]any{"after": after, "reason": reason}
			if s.State == stateAnswer {
				fields = map[string]any{"answers": "7"}
			}
			if row.NarrationOf(fields) != s.Narration {
				t.Errorf("%s: what is said of %q comes behind another that is meant", row.Name, s.State)
			}
		}
		for rest := all; ; {
			_, after, found := strings.Cut(rest, "{")
			if !found {
				break
			}
			name, tail, _ := strings.Cut(after, "}")
			if !known[name] {
				t.Errorf("%s: its narration names {%s}, which it does not have", row.Name, name)
			}
			rest = tail
		}
	}
}

func emitSome() *Log {
	now := int64(1_000_000)
	log := NewLog()
	em := NewEmitter(log, &now, 1)
	WorldStarted{Seed: 7, ClusterID: "abc", Brokers: []NodeID{1, 2, 3}}.Emit(em, RuleNone)
	em.Cause = 1
	BatchAppended{Topic: "orders", Partition: 2, BaseOffset: 1 << 40, Records: 3, Leader: true}.
		Emit(em, RuleNone)
	HighWatermarkMoved{Topic: "orders", Partition: 2, Before: 1, After: 2}.
		Emit(em, RuleHighWatermarkMinOfIsr)
	CommandRan{Command: "send \"<a>\" \x01 ü"}.Emit(em, RuleNone)
	return log
}

func TestJSONReadsBackAsTheSameEvents(t *testing.T) {
	chunk := emitSome().Swap(&Chunk{})
	var again Chunk
	for i := range chunk.Records {
		text := chunk.AppendJSON(nil, &chunk.Records[i])
		if !json.Valid(text) {
			t.Fatalf("not JSON: %s", text)
		}
		known, err := again.AppendParsed(text)
		if !known || err != nil {
			t.Fatalf("%s: known %v, %v", text, known, err)
		}
		if got := string(again.AppendJSON(nil, &again.Records[i])); got != string(text) {
			t.Errorf("read back as\n%s, was\n%s", got, text)
		}
	}
	appended := again.BatchAppended(&again.Records[1])
	if appended.BaseOffset != 1<<40 || appended.Topic != "orders" || !appended.Leader {
		t.Errorf("BatchAppended read back as %+v", appended)
	}
}

func TestUnknownKindIsKeptNotRefused(t *testing.T) {
	var c Chunk
	known, err := c.AppendParsed([]byte(`{"seq":"9","at":"1","node":1,"event":"FromTheFuture"}`))
	if known || err != nil {
		t.Errorf("known %v, error %v; want an unknown kind without an error", known, err)
	}
}

func TestEmittingWithoutALogCostsNoAllocation(t *testing.T) {
	var em *Emitter
	n := testing.AllocsPerRun(100, func() {
		HighWatermarkMoved{Topic: "orders", After: 2}.Emit(em, RuleNone)
	})
	if n != 0 {
		t.Errorf("%v allocations with events off", n)
	}
}

func BenchmarkEmit(b *testing.B) {
	now := int64(0)
	log := NewLog()
	em := NewEmitter(log, &now, 1)
	spare := &Chunk{}
	b.ReportAllocs()
	for i := range b.N {
		HighWatermarkMoved{Topic: "orders", After: Offset(i)}.Emit(em, RuleNone)
		if log.Pending() == 64 {
			spare = log.Swap(spare)
			spare.Reset()
		}
	}
}

func TestATornTailIsToldByItsBytes(t *testing.T) {
	row, _ := RowOf(KindLogTruncated)
	for after, want := range map[string]string{"7": "{bytes} torn bytes", "5": "from {before} back to"} {
		told := row.NarrationOf(map[string]any{"before": "7", "after": after})
		if !strings.Contains(told, want) {
			t.Errorf("from 7 to %s: %s", after, told)
		}
	}
}
