package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"highwater/cluster/event"
	"highwater/viz/trace"
)

// everyKind has each kind of event with fields of nothing, of one, and of much.
func everyKind() *event.Chunk {
	c := &event.Chunk{}
	for _, row := range event.Rows() {
		for _, value := range []int64{0, 1, 19, 123_456_789} {
			r := event.Record{Seq: event.Seq(len(c.Records) + 1), Kind: row.Kind, Node: 2}
			for i, field := range row.Fields {
				r.Values[i] = value
				switch field.Type {
				case event.Text:
					c.Texts = append(c.Texts, fmt.Sprintf("%s%d", field.Name, value))
					r.Values[i] = int64(len(c.Texts))
				case event.Nodes:
					c.Lists = append(c.Lists, []event.NodeID{1, 2, 3}[:value%3])
					r.Values[i] = int64(len(c.Lists))
				case event.Bool:
					r.Values[i] = value & 1
				}
			}
			c.Records = append(c.Records, r)
		}
		for _, s := range row.States {
			after, reason, _ := strings.Cut(s.State, "/")
			r := event.Record{Seq: event.Seq(len(c.Records) + 1), Kind: row.Kind, Node: 2}
			for i, field := range row.Fields {
				c.Texts = append(c.Texts, map[string]string{"after": after, "reason": reason}[field.Name])
				r.Values[i] = int64(len(c.Texts))
			}
			c.Records = append(c.Records, r)
		}
	}
	return c
}

const narrateLines = `
const { narrate } = await import(process.env.NARRATE);
const lines = (await process.stdin.toArray()).join("").trim().split("\n");
for (const line of lines) console.log(narrate(JSON.parse(line)));
`

func TestTerminalTellsEventsInThePagesWords(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("SKIPPED: there is no node here, so nothing compared the two narrators")
	}
	module, err := filepath.Abs("../../static/js/model/narrate.js")
	if err != nil {
		t.Fatal(err)
	}
	c := everyKind()
	var input bytes.Buffer
	var ours []string
	for i := range c.Records {
		line := c.AppendJSON(nil, &c.Records[i])
		fmt.Fprintf(&input, "%s\n", line)
		ours = append(ours, trace.NewNarrator().Say(trace.Line{Raw: line,
			Kind: c.Records[i].Kind.String()}))
	}
	command := exec.CommandContext(t.Context(), node, "--input-type=module", "-e", narrateLines)
	command.Env = append(command.Environ(), "NARRATE=file://"+filepath.ToSlash(module))
	command.Stdin = &input
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	pages := strings.Split(strings.TrimSpace(string(output)), "\n")
	if len(pages) != len(ours) {
		t.Fatalf("%d sentences, not %d: %s", len(pages), len(ours), output)
	}
	for i := range ours {
		if ours[i] != pages[i] {
			t.Errorf("%q, but on the page %q", ours[i], pages[i])
		}
	}
}

func TestTraceIsShownWithNamesAndInWords(t *testing.T) {
	script := write(t, "words.hw", "topic a rf=3\nproducer shop transactional=tx\ntxn shop begin\n"+
		"send a by=shop key=k value=v\ntxn shop abort\ncut 1>2\n")
	out := filepath.Join(t.TempDir(), "t.jsonl")
	try(t, exitGood, "run", script, "--trace", out)
	shown := first(try(t, exitGood, "trace", "show", out))
	for _, part := range []string{" has an abort marker at offset 1 of a-0.",
		"Producer shop counts 1 record for a-0 as acknowledged.",
		"The link from broker 1 to broker 2 is cut.", "Controller 101 stores its vote for"} {
		contains(t, shown, part)
	}
	if strings.Contains(shown, "Node ") || strings.Contains(shown, " 1 records") {
		t.Error("a node or a count is not in words")
	}
}
