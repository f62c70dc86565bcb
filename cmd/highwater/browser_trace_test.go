package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"highwater/cluster/event"
	"highwater/viz/model"
	"highwater/viz/trace"
)

// drop lets a file fall on the page as a hand does.
func (v *visit) drop(name, text string) {
	v.t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		v.t.Fatal(err)
	}
	evaluate[bool](v, fmt.Sprintf(`(() => {
		const dataTransfer = new DataTransfer();
		dataTransfer.items.add(new File([%s], %q));
		for (const kind of ["dragover", "drop"]) {
			document.getElementById("stage").dispatchEvent(
				new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }));
		}
		return true;
	})()`, quoted, name))
}

// folded is Go's fold of a trace file after some of its events, as JSON.
func folded(t *testing.T, file string, after []int) map[int]any {
	t.Helper()
	chunk := &event.Chunk{}
	reader, err := trace.NewReader(strings.NewReader(file), chunk)
	if err != nil {
		t.Fatal(err)
	}
	state := model.New()
	if reader.Keyframe != nil {
		t.Fatal("this trace should begin with event 1")
	}
	states := map[int]any{}
	for {
		line, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return states
		}
		if err != nil {
			t.Fatal(err)
		}
		if line.Known {
			state.Apply(chunk, &chunk.Records[len(chunk.Records)-1])
		} else {
			state.ApplyUnknown(line.Seq, line.At, line.Kind)
		}
		for _, seq := range after {
			if seq == int(line.Seq) {
				states[seq] = parsed(t, string(state.AppendJSON(nil)))
			}
		}
	}
}

func parsed(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestDroppedTraceIsAFilmThatFoldsAsGoDoes(t *testing.T) {
	v := open(t)
	v.topic("orders")
	v.command("send orders key=order-3 value=hello times=5")
	v.command("kill 3")
	v.command("pause-time")
	file := get(v, "trace")
	last := strings.Count(file, "\n") // the header is a line, the future event another
	file = strings.Replace(file, `"judged":true`, `"judged":true,"violations":[{"seq":"`+
		strconv.Itoa(last-1)+`","promise":"log.committed-stays","text":"it went"}]`, 1)
	file += fmt.Sprintf(`{"seq":"%d","at":"9999999999","node":2,"cause":"0","rule":"",`+
		`"event":"TeaMade","fields":{"cups":3}}`+"\n", last)
	v.drop("monday.trace.jsonl", file)
	v.wait(fmt.Sprintf(`!at("film-banner").hidden && highwater.seq() === %d`, last))
	v.wait(`text("film-name") === "monday.trace.jsonl" &&
		text("film-facts").includes("seed 1") && text("film-facts").includes("Highwater") &&
		text("connection").includes("trace file") && highwater.first() === 0`)
	// What the referee found is in the file; a page cannot judge.
	v.wait(`document.getElementById("vitals").textContent.includes("broken") &&
		!text("film-facts").includes("not judged")`)
	moments := []int{1, 2, last / 4, last / 2, last - 1, last}
	want := folded(t, file, moments)
	for _, seq := range moments {
		seekTo(v, seq)
		v.wait(fmt.Sprintf(`highwater.seq() === %d`, seq))
		got := parsed(t, evaluate[string](v, `JSON.stringify(highwater.state())`))
		if !reflect.DeepEqual(got, want[seq]) {
			t.Errorf("after event %d the page has\n%.500s\nGo\n%.500s", seq, jsonText(got),
				jsonText(want[seq]))
		}
	}
	// What nobody knows is told as it is.
	v.wait(`at("event-list").firstElementChild.textContent.includes('TeaMade') &&
		at("event-list").firstElementChild.textContent.includes('{"cups":3}')`)
	v.click("back")
	v.wait(fmt.Sprintf(`highwater.seq() < %d`, last))
	v.click("step")
	v.fill("event-filter", "opens orders")
	v.wait(`at("event-list").childElementCount > 1`)
	seekTo(v, 1)
	v.click("play")
	v.wait(`highwater.seq() > 2`)
	v.click("pause")
	v.click("live")
	v.wait(fmt.Sprintf(`highwater.seq() === %d && at("kill-1").disabled && at("send").disabled`, last))
	v.click("record-orders-0-1-2")
	v.wait(`text("inspector").includes("does not hold its bytes") &&
		text("inspector").includes("base offset")`)
	v.click("tab-why")
	v.wait(`text("inspector").includes("a trace file it has not read")`)
	v.keys("/")
	v.keys("kill 1")
	v.keys(kb.Enter)
	v.wait(`document.getElementById("command-what").textContent.includes("takes no commands")`)
	v.keys(kb.Escape)
	v.click("film-leave")
	v.wait(`at("film-banner").hidden && highwater.status() === "open" && highwater.seq() > 0 &&
		!at("kill-1").disabled`)
	v.checkFold("the cluster again")
}

func TestTraceThatNobodyJudgedSaysWhoDoes(t *testing.T) {
	v := open(t)
	v.command("pause-time")
	file := strings.Replace(get(v, "trace"), `,"judged":true`, "", 1)
	v.drop("old.jsonl", file)
	v.wait(`text("film-facts").includes("not judged here: highwater trace check old.jsonl")`)
	lines := strings.SplitAfter(file, "\n")
	v.drop("headless.jsonl", lines[0]+strings.Join(lines[50:], ""))
	v.wait(`text("film-facts").includes("begins at event 50, and the state before it is missing")`)
}

func TestTraceOfOtherNodesBringsItsOwnBoxes(t *testing.T) {
	v := open(t)
	file := get(v, "trace")
	file = strings.ReplaceAll(file, `"node":3,`, `"node":7,`)
	v.drop("seven.jsonl", file)
	v.wait(`!at("film-banner").hidden && at("broker-7") && text("broker-7").startsWith("7") &&
		at("kill-7").disabled && !at("broker-1").hidden`)
}

func TestFilesThatAreNoTraceSayWhichLine(t *testing.T) {
	v := open(t)
	file := get(v, "trace?from=1&to=40")
	lines := strings.SplitAfter(file, "\n")
	for name, row := range map[string][2]string{
		"photo.png":  {"\x89PNG\r\n\x1a\n", "Line 1: this is no header of a Highwater trace."},
		"other.json": {`{"a":1}`, "Line 1: this is no header of a Highwater trace."},
		"empty.txt":  {"", "Line 1: the file is empty."},
		"newer.jsonl": {strings.Replace(file, `"version":1`, `"version":2`, 1),
			"Line 1: the trace has version 2, this page knows version 1."},
		"cut.jsonl":  {file[:len(file)-20], "Line 41: the file is cut short here."},
		"hole.jsonl": {lines[0] + lines[1] + lines[3], "Line 3: event 3 follows event 1"},
		"mixed.jsonl": {lines[0] + lines[1] + "oops\n" + lines[2],
			"Line 3: this is no JSON object."},
		"ends.jsonl":   {strings.Join(lines[:20], ""), "Line 21: the file is cut short here."},
		"header.jsonl": {lines[0], "Line 2: the file is cut short here."},
		"nothing.jsonl": {strings.Replace(lines[0], `"last"`, `"first"`, 1),
			"Line 2: the trace holds no events."},
		"wrong.jsonl": {lines[0] + `{"seq":"1","at":"0","node":1,"event":"IsrChanged","fields":{}}` +
			"\n" + `{"seq":"2","at":"0","node":1,"event":"TopicDeleted"}`, "Line 3: this is no event."},
	} {
		v.drop(name, row[0])
		v.wait(fmt.Sprintf(`text("toasts").includes(%q) && text("toasts").includes(%q)`,
			name+" cannot be shown", row[1]))
	}
	v.wait(`at("film-banner").hidden && highwater.status() === "open"`)
}

func TestTraceIsSavedUnderANameAndOpenedByKeyboard(t *testing.T) {
	v := open(t)
	v.keys("o")
	v.wait(`at("trace").open && at("trace").contains(document.activeElement)`)
	address := evaluate[string](v, `at("export-trace").href`)
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	name := response.Header.Get("Content-Disposition")
	if name != `attachment; filename="highwater-main.trace.jsonl"` {
		t.Errorf("the trace is saved as %s", name)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "saved.trace.jsonl")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	v.do(chromedp.SetUploadFiles(byTestID("trace-file"), []string{path}))
	v.wait(`!at("trace").open && text("film-name") === "saved.trace.jsonl" &&
		!at("film-banner").hidden`)
}
