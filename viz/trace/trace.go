package trace

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"highwater/cluster/event"
)

const (
	// Version is the format's major version: a reader refuses any other.
	Version = 1
	// minorLast is the minor version since which a header may say with which event its trace ends;
	// since the one before it may say what the referee found.
	minorLast = 2
	// LineMax bounds an event's line, KeyframeMax the line of a keyframe.
	LineMax     = 1 << 20
	KeyframeMax = 64 << 20
)

// Header is the first line. Minor versions add fields and kinds that older readers pass over.
type Header struct {
	Highwater string `json:"highwater"` // always "trace"
	Version   int    `json:"version"`
	Minor     int    `json:"minor,omitempty"`
	Seed      int64  `json:"seed,string"`
	Origin    int64  `json:"origin,string"` // unix milliseconds of virtual time 0
	Software  string `json:"software"`
	// Judged says that the referee has seen all of it, and Violations what it found. A page shows
	// them, for it cannot judge a file by itself.
	Judged     bool        `json:"judged,omitempty"`
	Violations []Violation `json:"violations,omitempty"`
	// Last is the last event's number; 0 where it was not known when the header was written.
	Last event.Seq `json:"last,string,omitempty"`
}

// Violation is an event that broke a promise.
type Violation struct {
	Seq     event.Seq `json:"seq,string"`
	Promise string    `json:"promise"`
	Text    string    `json:"text"`
}

// WithVerdict is the header of those events of a judged world from one to another.
func (h Header) WithVerdict(found []Violation, from, to event.Seq) Header {
	h.Minor, h.Judged, h.Violations, h.Last = max(h.Minor, minorLast), true, nil, to
	for _, v := range found {
		if from <= v.Seq && v.Seq <= to {
			h.Violations = append(h.Violations, v)
		}
	}
	return h
}

// keyframe is the line after the header of a trace that does not begin with event 1.
type keyframe struct {
	Keyframe event.Seq       `json:"keyframe,string"`
	State    json.RawMessage `json:"state"`
}

// Writer streams a trace. It keeps its first error and returns it from every later call.
type Writer struct {
	out  *bufio.Writer
	line []byte
	err  error
}

// NewWriter writes the header; its Highwater and Version are filled in.
func NewWriter(w io.Writer, h Header) *Writer {
	h.Highwater, h.Version = "trace", Version
	t := &Writer{out: bufio.NewWriterSize(w, 64<<10)}
	text, err := json.Marshal(h)
	t.err = err
	return t.writeLine(text)
}

func (t *Writer) writeLine(text []byte) *Writer {
	if t.err == nil {
		_, t.err = t.out.Write(text)
	}
	if t.err == nil {
		t.err = t.out.WriteByte('\n')
	}
	return t
}

// Keyframe writes the state before the first event, for a trace that does not begin with event 1.
func (t *Writer) Keyframe(seq event.Seq, state []byte) error {
	text, err := json.Marshal(keyframe{Keyframe: seq, State: state})
	if t.err == nil {
		t.err = err
	}
	return t.writeLine(text).err
}

// Chunk writes those events of a chunk whose seq lies from the first to the last, both included.
func (t *Writer) Chunk(c *event.Chunk, from, to event.Seq) error {
	for i := range c.Records {
		if r := &c.Records[i]; r.Seq >= from && r.Seq <= to {
			t.line = c.AppendJSON(t.line[:0], r)
			t.writeLine(t.line)
		}
	}
	return t.err
}

// CopyWithHeader copies a trace behind another header.
func CopyWithHeader(w io.Writer, r io.Reader, h Header) error {
	in := bufio.NewReaderSize(r, 64<<10)
	if _, err := in.ReadString('\n'); err != nil {
		return fmt.Errorf("trace: read the header: %w", err)
	}
	out := NewWriter(w, h)
	if out.err == nil {
		_, out.err = io.Copy(out.out, in)
	}
	return out.Flush()
}

// Raw writes an event's line as it was read.
func (t *Writer) Raw(line []byte) error { return t.writeLine(line).err }

// Flush writes what is buffered.
func (t *Writer) Flush() error {
	if t.err == nil {
		t.err = t.out.Flush()
	}
	return t.err
}

// Line is one event as it was read.
type Line struct {
	// Raw is the line without its end, valid until the next one is read; it also has what this
	// version does not know.
	Raw  []byte
	Seq  event.Seq
	At   int64
	Kind string
	// Known says that the event is the last record of the reader's chunk.
	Known bool
}

// Reader streams a trace.
type Reader struct {
	Header Header
	// KeyframeSeq and Keyframe are the state before the first event; nil when the trace begins with
	// event 1.
	KeyframeSeq event.Seq
	Keyframe    []byte

	in     *bufio.Reader
	chunk  *event.Chunk
	number int // of the line last read, from 1
	held   []byte
	line   []byte
	// unended says that the line last read has no end.
	unended bool
	last    event.Seq
}

// ErrNotATrace says that the first line is no header, in the page's words.
var ErrNotATrace = errors.New("trace: line 1: this is no header of a Highwater trace")

// NewReader reads the header, and the keyframe if there is one. Known events are added to chunk; a
// caller that wants them one by one resets it between.
func NewReader(r io.Reader, chunk *event.Chunk) (*Reader, error) {
	t := &Reader{in: bufio.NewReaderSize(r, 64<<10), chunk: chunk}
	text, err := t.readLine(LineMax)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	// Another version may have anything but these two in another form.
	var kind struct {
		Highwater string
		Version   int
	}
	if json.Unmarshal(text, &kind) != nil || kind.Highwater != "trace" {
		return nil, ErrNotATrace
	}
	if kind.Version != Version {
		return nil, fmt.Errorf("trace: line 1: the trace has version %d, this reader knows version %d",
			kind.Version, Version)
	}
	if json.Unmarshal(text, &t.Header) != nil {
		return nil, ErrNotATrace
	}
	return t, t.readKeyframe()
}

func (t *Reader) readKeyframe() error {
	text, err := t.readLine(KeyframeMax)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(text, []byte(`{"keyframe":`)) {
		t.held = bytes.Clone(text)
		return nil
	}
	var k keyframe
	if err := json.Unmarshal(text, &k); err != nil {
		return fmt.Errorf("trace: line 2: keyframe: %w", err)
	}
	t.KeyframeSeq, t.Keyframe, t.last = k.Keyframe, k.State, k.Keyframe
	return nil
}

// Next reads one event; io.EOF says that there are no more.
func (t *Reader) Next() (Line, error) {
	text := t.held
	t.held = nil
	if text == nil {
		var err error
		text, err = t.readLine(LineMax)
		if errors.Is(err, io.EOF) && t.last < t.Header.Last {
			err = t.cutShort()
		}
		if err != nil {
			return Line{}, err
		}
	}
	known, err := t.chunk.AppendParsed(text)
	if err != nil && t.unended {
		return Line{}, t.cutShort()
	}
	if err != nil {
		return Line{}, fmt.Errorf("trace: line %d: %w", t.number, err)
	}
	line := Line{Raw: text, Known: known}
	if known {
		r := &t.chunk.Records[len(t.chunk.Records)-1]
		line.Seq, line.At, line.Kind = r.Seq, r.At, r.Kind.String()
	} else if err := line.readEnvelope(); err != nil {
		return Line{}, fmt.Errorf("trace: line %d: %w", t.number, err)
	}
	if t.last != 0 && line.Seq != t.last+1 {
		return Line{}, fmt.Errorf("trace: line %d: seq %d follows %d", t.number, line.Seq, t.last)
	}
	t.last = line.Seq
	return line, nil
}

func (t *Reader) cutShort() error {
	return fmt.Errorf("trace: line %d: the file is cut short here", t.number)
}

// readEnvelope reads what even an event of an unknown kind has.
func (l *Line) readEnvelope() error {
	var envelope struct {
		Seq   event.Seq `json:"seq,string"`
		At    int64     `json:"at,string"`
		Event string    `json:"event"`
	}
	if err := json.Unmarshal(l.Raw, &envelope); err != nil {
		return err
	}
	if envelope.Event == "" || envelope.Seq == 0 {
		return fmt.Errorf("no event: %.80s", l.Raw)
	}
	l.Seq, l.At, l.Kind = envelope.Seq, envelope.At, envelope.Event
	return nil
}

// readLine reads up to the line's end; a last line without one counts.
func (t *Reader) readLine(limit int) ([]byte, error) {
	t.line = t.line[:0]
	t.number++
	for {
		part, err := t.in.ReadSlice('\n')
		t.line = append(t.line, part...)
		if len(t.line) > limit {
			return nil, fmt.Errorf("trace: line %d is longer than %d bytes", t.number, limit)
		}
		switch {
		case err == nil:
			return bytes.TrimRight(t.line, "\r\n"), nil
		case errors.Is(err, io.EOF) && len(t.line) > 0:
			t.unended = true
			return t.line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if errors.Is(err, io.EOF) {
				return nil, io.EOF
			}
			return nil, fmt.Errorf("trace: line %d: %w", t.number, err)
		}
	}
}

// Trace is a whole trace in memory.
type Trace struct {
	Header      Header
	KeyframeSeq event.Seq
	Keyframe    []byte
	// Chunk holds the events of known kinds in order, Unknown the raw lines of the others.
	Chunk   *event.Chunk
	Unknown [][]byte
}

// ReadAll reads a trace into memory.
func ReadAll(r io.Reader) (*Trace, error) {
	t := &Trace{Chunk: &event.Chunk{}}
	reader, err := NewReader(r, t.Chunk)
	if err != nil {
		return nil, err
	}
	t.Header, t.KeyframeSeq, t.Keyframe = reader.Header, reader.KeyframeSeq, reader.Keyframe
	for {
		line, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		if !line.Known {
			t.Unknown = append(t.Unknown, bytes.Clone(line.Raw))
		}
	}
}

// Hash is the SHA-256, in hexadecimal, of a trace's event lines: of what happened, without the
// header.
func Hash(r io.Reader) (string, error) {
	var discard event.Chunk
	reader, err := NewReader(r, &discard)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for {
		discard.Reset()
		line, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(sum.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
		sum.Write(line.Raw)
		sum.Write([]byte{'\n'})
	}
}
