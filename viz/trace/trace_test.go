package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"highwater/cluster/event"
)

func someEvents() *event.Chunk {
	now := int64(0)
	log := event.NewLog()
	em := event.NewEmitter(log, &now, 1)
	event.WorldStarted{Seed: 7, Brokers: []event.NodeID{1, 2}}.Emit(em, event.RuleNone)
	for i := range 50 {
		now += 1000
		event.BatchAppended{Topic: "orders", BaseOffset: event.Offset(i) << 40}.Emit(em, event.RuleNone)
		event.CommandRan{Command: "send \"<ü>\"\n"}.Emit(em, event.RuleLongPoll)
	}
	return log.Swap(&event.Chunk{})
}

func written(t *testing.T, c *event.Chunk) string {
	t.Helper()
	var file bytes.Buffer
	w := NewWriter(&file, Header{Seed: 7, Origin: 5, Software: "test"})
	if err := w.Chunk(c, 1, 1<<62); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return file.String()
}

func TestTraceReadsBackAndWritesTheSameBytes(t *testing.T) {
	file := written(t, someEvents())
	read, err := ReadAll(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if read.Header.Seed != 7 || len(read.Chunk.Records) != 101 {
		t.Fatalf("header %+v, %d events", read.Header, len(read.Chunk.Records))
	}
	if again := written(t, read.Chunk); again != file {
		t.Errorf("written again:\n%.400s\nwas\n%.400s", again, file)
	}
}

func TestVerdictOfAPartNamesOnlyItsOwnEvents(t *testing.T) {
	found := []Violation{{Seq: 4, Promise: "a"}, {Seq: 9, Promise: "b"}}
	part := Header{Seed: 7}.WithVerdict(found, 5, 101)
	if !part.Judged || part.Minor != 2 || part.Last != 101 || len(part.Violations) != 1 ||
		part.Violations[0].Seq != 9 {
		t.Errorf("the header is %+v", part)
	}
	var copied bytes.Buffer
	file := written(t, someEvents())
	if err := CopyWithHeader(&copied, strings.NewReader(file), part); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(copied.String(), "\n")
	_, err := ReadAll(strings.NewReader(strings.Join(lines[:50], "")))
	if err == nil || !strings.Contains(err.Error(), "line 51: the file is cut short here") {
		t.Errorf("without its last events: %v", err)
	}
	read, err := ReadAll(&copied)
	if err != nil || len(read.Chunk.Records) != 101 || read.Header.Violations[0].Promise != "b" {
		t.Errorf("%v: header %+v", err, read.Header)
	}
}

const header = `{"highwater":"trace","version":1,"minor":9,"seed":"7","origin":"0",` +
	`"software":"x","new":1}` + "\n"

func TestWhatAnOlderReaderDoesNotKnowIsKeptRaw(t *testing.T) {
	lines := []string{
		`{"seq":"1","at":"5","node":1,"cause":"0","rule":"","event":"FromTheFuture","fields":{"a":"b"}}`,
		`{"seq":"2","at":"6","node":1,"cause":"0","rule":"","event":"NodePaused","fields":{"why":"gc"}}`,
	}
	var chunk event.Chunk
	r, err := NewReader(strings.NewReader(header+strings.Join(lines, "\n")), &chunk)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range lines {
		line, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if string(line.Raw) != want || line.Known != (i == 1) || line.Seq != event.Seq(i+1) {
			t.Errorf("line %d read as %+v", i, line)
		}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	const good = `{"seq":"1","at":"5","node":1,"cause":"0","rule":"","event":"NodePaused",` +
		`"fields":{}}` + "\n"
	for name, c := range map[string]struct{ file, want string }{
		"no header":      {good, "line 1: this is no header of a Highwater trace"},
		"empty":          {"", "line 1: this is no header of a Highwater trace"},
		"other version":  {`{"highwater":"trace","version":2,"seed":"1","origin":"0"}`, "version 2"},
		"broken JSON":    {header + good + "{\n", "line 3"},
		"cut short":      {header + good + good[:40], "line 3: the file is cut short here"},
		"no event":       {header + good + "{}\n", "line 3"},
		"gap in the seq": {header + good + strings.Replace(good, `"1"`, `"3"`, 1), "line 3"},
		"field":          {header + strings.Replace(good, `"at":"5"`, `"at":"x"`, 1), "line 2"},
		"endless line":   {header + strings.Repeat("x", KeyframeMax+1), "line 2"},
		"long event":     {header + good + strings.Repeat("x", LineMax+1), "line 3"},
	} {
		_, err := ReadAll(strings.NewReader(c.file))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want it to name %q", name, err, c.want)
		}
	}
}

// The page's reader takes and refuses the same ones, for the same reason.
func TestHeadersThatNoWriterMakesAreRefused(t *testing.T) {
	text, err := os.ReadFile("testdata/headers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var c struct {
			Refused string
			Header  json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		_, err := ReadAll(bytes.NewReader(c.Header))
		if (err == nil) != (c.Refused == "") || err != nil && !strings.Contains(err.Error(), c.Refused) {
			t.Errorf("%s: %v, want %q", c.Header, err, c.Refused)
		}
	}
}

func TestKeyframeReadsBack(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file, Header{})
	if err := w.Keyframe(50, []byte(`{"seq":"50"}`)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Chunk(someEvents(), 51, 60), w.Flush()); err != nil {
		t.Fatal(err)
	}
	read, err := ReadAll(&file)
	if err != nil {
		t.Fatal(err)
	}
	n := len(read.Chunk.Records)
	if read.KeyframeSeq != 50 || string(read.Keyframe) != `{"seq":"50"}` || n != 10 {
		t.Errorf("keyframe %d %s, %d events", read.KeyframeSeq, read.Keyframe, n)
	}
}

func TestHashIsOfTheEventsOnly(t *testing.T) {
	file := written(t, someEvents())
	other := strings.Replace(file, `"software":"test"`, `"software":"other"`, 1)
	changed := strings.Replace(file, `"at":"1000"`, `"at":"1001"`, 1)
	hash := func(file string) string {
		h, err := Hash(strings.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if hash(file) != hash(other) {
		t.Error("the header changes the hash")
	}
	if hash(file) == hash(changed) {
		t.Error("another event does not change the hash")
	}
}

type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}

func TestWriterReportsAFailedWriteAtTheLatestOnFlush(t *testing.T) {
	w := NewWriter(&failing{left: 100}, Header{})
	for range 20 {
		_ = w.Chunk(someEvents(), 1, 1000)
	}
	if err := w.Flush(); err == nil {
		t.Error("Flush reports no error")
	}
}

func FuzzReader(f *testing.F) {
	f.Add(header + `{"seq":"1","at":"5","node":1,"event":"NodePaused","fields":{}}`)
	f.Add(header + `{"keyframe":"4","state":{}}`)
	f.Fuzz(func(t *testing.T, file string) {
		_, _ = ReadAll(strings.NewReader(file))
	})
}
