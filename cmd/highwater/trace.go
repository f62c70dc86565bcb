package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"highwater/cluster/event"
	"highwater/viz/audit"
	"highwater/viz/model"
	"highwater/viz/trace"
)

// traceCommand checks, compares or shows trace files.
func traceCommand(args []string, stdout, stderr io.Writer) int {
	set := newFlags("trace", "check FILE… | diff FILE FILE | show FILE | convert FILE [flags]", stderr)
	var show showFlags
	set.Uint64Var(&show.from, "from", 0, "show: first event's `number`")
	to := set.String("to", "", "show: last event's number; convert: the `format`, perfetto")
	set.StringVar(&show.kind, "kind", "", "show: only events of this `kind`")
	set.Int64Var(&show.node, "node", -1, "show: only events of this `node`; 0 is the world")
	set.BoolVar(&show.json, "json", false, "show: the events' own lines")
	set.StringVar(&show.record, "record", "", "show: the way of the record at "+
		"`TOPIC-PARTITION@OFFSET`; /EPOCH behind it picks one of several that lay there")
	set.StringVar(&show.key, "key", "", "show: the way of the newest record with this `key`")
	out := set.String("out", "", "convert: write to this `file`, not to the terminal")
	rest, code, ok := parseMixed(set, args)
	if !ok {
		return code
	}
	if verbs := []string{"check", "diff", "show", "convert"}; len(rest) > 0 &&
		!slices.Contains(verbs, rest[0]) {
		complain(stderr, "trace can check, diff, show and convert, not %q%s", rest[0],
			meant(rest[0], verbs...))
		return exitBadInput
	}
	if len(rest) < 2 {
		set.Usage()
		return exitBadInput
	}
	switch verb, names := rest[0], rest[1:]; {
	case verb == "check":
		return checkTraces(names, stdout, stderr)
	case verb == "diff" && len(names) == 2:
		return diffTraces(names[0], names[1], stdout, stderr)
	case verb == "show" && len(names) == 1:
		if err := show.until(*to); err != nil {
			complain(stderr, "%v", err)
			return exitBadInput
		}
		if show.record != "" || show.key != "" {
			return show.passport(names[0], stdout, stderr)
		}
		return show.run(names[0], stdout, stderr)
	case verb == "convert" && len(names) == 1:
		return convertTrace(names[0], *to, *out, stdout, stderr)
	}
	set.Usage()
	return exitBadInput
}

// traceFile is an open trace, read event by event.
type traceFile struct {
	*trace.Reader
	file  *os.File
	chunk *event.Chunk
}

func openTrace(name string) (*traceFile, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	chunk := &event.Chunk{}
	reader, err := trace.NewReader(bufio.NewReaderSize(file, 1<<16), chunk)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
	}
	return &traceFile{reader, file, chunk}, nil
}

func (t *traceFile) next() (trace.Line, error) {
	t.chunk.Reset()
	return t.Next()
}

// narrator knows the names of who was there before the first event.
func (t *traceFile) narrator() (*trace.Narrator, error) {
	n := trace.NewNarrator()
	if t.Keyframe == nil {
		return n, nil
	}
	state, err := model.Restore(t.Keyframe)
	if err != nil {
		return nil, err
	}
	for _, c := range state.Clients {
		if c.ClientID != "" {
			n.Know(c.Connection, c.ClientID)
		}
	}
	for _, node := range state.Nodes {
		if node.Role == "client" {
			n.Know(node.ID, "the built-in client")
		}
	}
	for _, p := range state.Programs {
		n.Know(p.Node, p.Role+" "+p.Name)
	}
	return n, nil
}

// traceCheck is what makes a trace whole: time that never goes back and causes that came before.
// The reader itself refuses numbers with gaps.
type traceCheck struct {
	name     string
	at       int64
	events   int
	unknown  int
	mistakes int
	out      io.Writer
	referee  *audit.Auditor
}

func checkTraces(names []string, stdout, stderr io.Writer) int {
	code := exitGood
	for _, name := range names {
		t, err := openTrace(name)
		if err != nil {
			complain(stderr, "%v", err)
			code = exitBadInput
			continue
		}
		c := &traceCheck{name: name, out: stdout, referee: audit.New()}
		if err = c.begin(t); err == nil {
			err = c.all(t)
		}
		for _, v := range c.referee.Violations() {
			c.mistake(v.Seq, "breaks %s: %s", v.Promise, v.Text)
		}
		_ = t.file.Close() // it was only read
		if err != nil {
			fmt.Fprintf(stdout, "%s: %v\n", name, err)
			c.mistakes++
		}
		if c.mistakes > 0 {
			code = max(code, exitMistakes)
			continue
		}
		fmt.Fprintf(stdout, "%s: without a gap, and every promise holds to the last event: "+
			"%d events, %v of virtual time, %d of unknown kinds\n",
			name, c.events, time.Duration(c.at), c.unknown)
	}
	return code
}

// begin tells the referee what was true before the first event of a trace that lacks its beginning.
func (c *traceCheck) begin(t *traceFile) error {
	if t.Keyframe == nil {
		return nil
	}
	state, err := model.Restore(t.Keyframe)
	if err != nil {
		return err
	}
	c.referee.Begin(state)
	return nil
}

func (c *traceCheck) all(t *traceFile) error {
	for {
		line, err := t.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if c.events == 0 && t.Keyframe == nil && line.Seq > 1 {
			return fmt.Errorf("begins at event %d, and the state before it is missing: "+
				"nothing can be judged", line.Seq)
		}
		c.one(t.chunk, line)
	}
}

func (c *traceCheck) one(chunk *event.Chunk, line trace.Line) {
	c.events++
	if line.At < c.at {
		c.mistake(line.Seq, "goes back in time, from %d to %d ns", c.at, line.At)
	}
	c.at = max(c.at, line.At)
	if !line.Known {
		c.unknown++
		return
	}
	r := &chunk.Records[len(chunk.Records)-1]
	c.referee.Event(chunk, r)
	if r.Cause >= r.Seq {
		c.mistake(line.Seq, "names a cause that came later, event %d", r.Cause)
	}
}

func (c *traceCheck) mistake(seq event.Seq, format string, args ...any) {
	c.mistakes++
	fmt.Fprintf(c.out, "%s: event %d %s\n", c.name, seq, fmt.Sprintf(format, args...))
}

// diffTraces finds the first event in which two traces differ.
func diffTraces(one, other string, stdout, stderr io.Writer) int {
	a, err := openTrace(one)
	if err != nil {
		complain(stderr, "%v", err)
		return exitBadInput
	}
	defer a.file.Close() // both are only read
	b, err := openTrace(other)
	if err != nil {
		complain(stderr, "%v", err)
		return exitBadInput
	}
	defer b.file.Close()
	for events := 0; ; events++ {
		x, errA := a.next()
		y, errB := b.next()
		endA, endB := errors.Is(errA, io.EOF), errors.Is(errB, io.EOF)
		switch {
		case endA && endB:
			fmt.Fprintf(stdout, "equal: %d events\n", events)
			return exitGood
		case errA != nil && !endA, errB != nil && !endB:
			complain(stderr, "%v", errors.Join(errA, errB))
			return exitBadInput
		case endA || endB:
			short := one
			if endB {
				short = other
			}
			fmt.Fprintf(stdout, "%s ends after %d events, the other goes on\n", short, events)
			return exitMistakes
		case !bytes.Equal(x.Raw, y.Raw):
			fmt.Fprintf(stdout, "they differ after %d equal events\n- %s\n+ %s\n", events, x.Raw, y.Raw)
			return exitMistakes
		}
	}
}

// convertTrace writes a trace in another program's format.
func convertTrace(name, format, out string, stdout, stderr io.Writer) int {
	if format != "perfetto" {
		complain(stderr, "--to %q: traces are converted --to perfetto", format)
		return exitBadInput
	}
	t, err := openTrace(name)
	if err != nil {
		complain(stderr, "%v", err)
		return exitBadInput
	}
	defer t.file.Close() // it was only read
	narrator, err := t.narrator()
	if err != nil {
		complain(stderr, "%s: %v", name, err)
		return exitMistakes
	}
	if out == "" {
		err = trace.Perfetto(stdout, t.Reader, narrator)
	} else {
		err = writeFile(out, func(w io.Writer) error { return trace.Perfetto(w, t.Reader, narrator) })
	}
	if err != nil {
		complain(stderr, "%s: %v", name, err)
		return exitMistakes
	}
	return exitGood
}

// showFlags choose which events to print.
type showFlags struct {
	from, to uint64
	kind     string
	node     int64
	json     bool
	record   string // these two ask for a passport instead
	key      string
}

func (f *showFlags) until(text string) (err error) {
	if text == "" {
		return nil
	}
	if f.to, err = strconv.ParseUint(text, 10, 64); err != nil {
		return fmt.Errorf("--to %q is no event's number", text)
	}
	return nil
}

func (f *showFlags) run(name string, stdout, stderr io.Writer) int {
	if f.kind != "" && event.ParseKind(f.kind) == 0 {
		complain(stderr, "there is no kind of event %q; docs/EVENTS.md lists them", f.kind)
		return exitBadInput
	}
	t, err := openTrace(name)
	if err != nil {
		complain(stderr, "%v", err)
		return exitBadInput
	}
	defer t.file.Close() // it was only read
	narrator, err := t.narrator()
	out, shown, events := bufio.NewWriter(stdout), 0, 0
	for err == nil {
		var line trace.Line
		if line, err = t.next(); err != nil {
			break
		}
		events++
		narrator.Hear(line)
		if !f.wants(t.chunk, line) {
			continue
		}
		shown++
		if f.json {
			_, err = fmt.Fprintf(out, "%s\n", line.Raw)
			continue
		}
		_, err = fmt.Fprintf(out, "%7d %12s  %s\n", line.Seq,
			time.Duration(line.At).Round(time.Microsecond), escaped(narrator.Say(line)))
	}
	if flushed := out.Flush(); flushed != nil || !errors.Is(err, io.EOF) {
		complain(stderr, "%s: %v", name, errors.Join(err, flushed))
		return exitMistakes
	}
	if shown == 0 {
		complain(stderr, "%s: none of its %d events is one of those asked for", name, events)
	}
	return exitGood
}

func (f *showFlags) wants(chunk *event.Chunk, line trace.Line) bool {
	if uint64(line.Seq) < f.from || f.to > 0 && uint64(line.Seq) > f.to ||
		f.kind != "" && line.Kind != f.kind {
		return false
	}
	if f.node < 0 {
		return true
	}
	return line.Known && int64(chunk.Records[len(chunk.Records)-1].Node) == f.node
}
