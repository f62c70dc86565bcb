package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"highwater/cluster/event"
)

// Perfetto writes a trace as Trace Event JSON, which Perfetto and Chrome's tracing page open: nodes
// as processes, areas of the catalogue as threads, messages as arrows, what begins and ends as
// spans, high watermarks and log ends as counters. The narrator tells events and names nodes.
//
// Many events share one instant of virtual time. They are drawn a nanosecond apart, in their order,
// so that arrows do not lie on each other; the true time is among an event's arguments.
func Perfetto(w io.Writer, r *Reader, narrator *Narrator) error {
	p := &perfetto{out: bufio.NewWriterSize(w, 64<<10), narrator: narrator,
		threads: map[place]bool{}, areas: map[string]int{}, nodes: map[int64]string{},
		open: map[string]span{}, ends: pairs()}
	p.text(`{"displayTimeUnit":"ns","traceEvents":[`)
	for p.err == nil {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		r.chunk.Reset()
		p.line(line)
	}
	p.introduceNodes()
	p.text("\n]}\n")
	return errors.Join(p.err, p.out.Flush())
}

// perfetto is a conversion under way. It keeps its first error.
type perfetto struct {
	out      *bufio.Writer
	err      error
	narrator *Narrator
	first    bool // something was written
	threads  map[place]bool
	areas    map[string]int   // the number of an area's threads, from 1
	nodes    map[int64]string // an area of each that was drawn
	open     map[string]span  // begun and not ended
	ends     map[string]pair  // by the kind that begins or ends a span
	at       int64            // of the last event, virtual nanoseconds
	drawn    int64            // where it was drawn
}

// place is where an event is drawn.
type place struct {
	node int64
	area string
}

// span is something that began.
type span struct {
	place place
	name  string
}

// pair says how the kinds that begin and end a span are matched: by the first field that both have.
type pair struct {
	begins bool
	end    string // the ending kind
	field  string
}

func pairs() map[string]pair {
	found := map[string]pair{}
	for _, row := range event.Rows() {
		end, ok := event.RowOf(event.ParseKind(row.Pair))
		if !ok {
			continue
		}
		field := shared(row.Fields, end.Fields)
		found[row.Name] = pair{true, end.Name, field}
		found[end.Name] = pair{false, end.Name, field}
	}
	// What a catalogue row's pair does not say: there is more than one way to end.
	found["TimerCancelled"] = found["TimerFired"]
	found["MessageDropped"] = found["MessageDelivered"]
	return found
}

func shared(a, b []event.Field) string {
	for _, x := range a {
		for _, y := range b {
			if x.Name == y.Name {
				return x.Name
			}
		}
	}
	return ""
}

// told is an event's line, decoded.
type told struct {
	Seq    string         `json:"seq"`
	At     int64          `json:"at,string"`
	Node   int64          `json:"node"`
	Cause  string         `json:"cause"`
	Rule   string         `json:"rule"`
	Event  string         `json:"event"`
	Fields map[string]any `json:"fields"`
}

func (p *perfetto) line(line Line) {
	var e told
	decoder := json.NewDecoder(bytes.NewReader(line.Raw))
	decoder.UseNumber()
	if p.err = decoder.Decode(&e); p.err != nil {
		return
	}
	if e.At != p.at {
		p.at, p.drawn = e.At, max(e.At, p.drawn+1)
	} else {
		p.drawn++
	}
	row, _ := event.RowOf(event.ParseKind(e.Event))
	here := place{e.Node, row.Area}
	p.introduce(here)
	p.narrator.Hear(line)
	name := p.narrator.Say(line)
	p.write(map[string]any{"ph": "X", "dur": 0.001, "name": name, "cat": e.Event, "args": e.Fields},
		here, map[string]any{"seq": e.Seq, "cause": e.Cause, "rule": e.Rule, "at": e.At})
	p.arrow(&e, here)
	p.span(&e, here, name)
	p.counter(&e, here)
}

// introduce names an area of a node when it is first drawn.
func (p *perfetto) introduce(here place) {
	if p.threads[here] {
		return
	}
	p.threads[here], p.nodes[here.node] = true, here.area
	if p.areas[here.area] == 0 {
		p.areas[here.area] = len(p.areas) + 1
	}
	p.name("thread_name", here, here.area)
}

// introduceNodes names the nodes, at the end: many a client says who it is after its first event.
func (p *perfetto) introduceNodes() {
	for _, node := range slices.Sorted(maps.Keys(p.nodes)) {
		p.name("process_name", place{node, p.nodes[node]}, p.narrator.name(event.NodeID(node)))
	}
}

func (p *perfetto) name(what string, here place, name string) {
	p.write(map[string]any{"ph": "M", "name": what, "args": map[string]any{"name": name}}, here, nil)
}

// arrow draws a message from the event that sent it to the one that received it.
func (p *perfetto) arrow(e *told, here place) {
	switch e.Event {
	case "MessageSent":
		p.write(map[string]any{"ph": "s", "name": "message", "cat": "message",
			"id": e.Fields["message"]}, here, nil)
	case "MessageDelivered":
		p.write(map[string]any{"ph": "f", "bp": "e", "name": "message", "cat": "message",
			"id": e.Fields["message"]}, here, nil)
	}
}

// span draws what takes time: requests, waits, passes of the cleaner, the lives of nodes.
func (p *perfetto) span(e *told, here place, name string) {
	kinds, ok := p.ends[e.Event]
	if !ok {
		return
	}
	id := fmt.Sprint(kinds.end, " ", e.Fields[kinds.field])
	if !strings.HasPrefix(kinds.end, "Message") { // a message ends at another node
		id += fmt.Sprint(" ", e.Node)
	}
	began, isOpen := p.open[id]
	if !kinds.begins {
		if isOpen {
			delete(p.open, id)
			p.write(map[string]any{"ph": "e", "name": began.name, "cat": kinds.end, "id": id},
				began.place, nil)
		}
		return
	}
	if !isOpen {
		p.open[id] = span{here, name}
		p.write(map[string]any{"ph": "b", "name": name, "cat": kinds.end, "id": id}, here, nil)
	}
}

// counter draws a replica's log end and high watermark as curves.
func (p *perfetto) counter(e *told, here place) {
	field, beyond, what := "after", int64(0), "log end offset"
	switch e.Event {
	case "HighWatermarkMoved":
		what = "high watermark"
	case "LogTruncated":
	case "BatchAppended":
		field, beyond = "lastOffset", 1
	default:
		return
	}
	offset, err := strconv.ParseInt(fmt.Sprint(e.Fields[field]), 10, 64)
	if err != nil {
		p.err = fmt.Errorf("trace: event %s: %s: %w", e.Seq, field, err)
		return
	}
	name := fmt.Sprintf("%s %v-%v", what, e.Fields["topic"], e.Fields["partition"])
	p.write(map[string]any{"ph": "C", "name": name, "args": map[string]any{"offset": offset + beyond}},
		here, nil)
}

// write adds one element; more joins its arguments.
func (p *perfetto) write(element map[string]any, here place, more map[string]any) {
	element["pid"], element["tid"] = here.node, p.areas[here.area]
	element["ts"] = json.Number(fmt.Sprintf("%d.%03d", p.drawn/1000, p.drawn%1000))
	if len(more) > 0 {
		args := map[string]any{}
		for _, part := range []any{element["args"], more} {
			if fields, ok := part.(map[string]any); ok {
				for name, value := range fields {
					args[name] = value
				}
			}
		}
		element["args"] = args
	}
	text, err := json.Marshal(element) // with sorted keys: one trace gives one file
	if err != nil {
		p.err = err
		return
	}
	if p.first {
		p.text(",")
	}
	p.first = true
	p.text("\n" + string(text))
}

func (p *perfetto) text(s string) {
	if p.err == nil {
		_, p.err = p.out.WriteString(s)
	}
}
