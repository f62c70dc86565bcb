package world

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"highwater/cluster/event"
)

// InputLog keeps what came into a world from outside, so that the session can be run again
// exactly. Each entry says after how many dispatches, and at which virtual time, it came in. Past
// its bound it keeps nothing more and the session is no longer re-runnable.
type InputLog struct {
	bytesMax int
	size     int
	full     [][]byte // chunks that are complete, so that a growing log is not copied again and again
	bytes    []byte
	over     bool
}

const inputChunkBytes = 1 << 20

// NewInputLog returns a log that keeps up to bytesMax bytes.
func NewInputLog(bytesMax int) *InputLog { return &InputLog{bytesMax: bytesMax} }

// Bytes is the log so far; complete is false when it reached its bound.
func (l *InputLog) Bytes() (b []byte, complete bool) {
	return slices.Concat(append(slices.Clone(l.full), l.bytes)...), !l.over
}

func (l *InputLog) add(w *World, in *Inbound) {
	if l == nil || l.over || in.kind == inboundCommand && in.text == "" {
		return
	}
	need := len(in.raw) + len(in.text) + 64
	if l.size+need > l.bytesMax {
		l.over = true
		return
	}
	if len(l.bytes)+need > cap(l.bytes) {
		l.full = append(l.full, l.bytes)
		l.bytes = make([]byte, 0, max(need, inputChunkBytes))
	}
	b, before := l.bytes, len(l.bytes)
	b = append(b, byte(in.kind))
	b = binary.AppendUvarint(b, uint64(w.dispatched))
	b = binary.AppendUvarint(b, uint64(w.now))
	b = binary.AppendUvarint(b, uint64(in.node))
	b = binary.AppendUvarint(b, uint64(in.connection))
	b = binary.AppendUvarint(b, uint64(in.id))
	b = binary.AppendUvarint(b, uint64(in.ahead/time.Millisecond))
	b = appendBytes(b, []byte(in.text))
	l.bytes = appendBytes(b, in.raw)
	l.size += len(l.bytes) - before
}

func appendBytes(b, p []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(p)))
	return append(b, p...)
}

// Rerun is what running an input log again needs from the world's builder.
type Rerun struct {
	// Parse makes a request body from what CallIn gave as raw.
	Parse func(raw []byte) (api string, body any, err error)
	// Command runs a command's text on the loop.
	Command func(text string)
}

var errInputLog = errors.New("world: the input log is cut short")

// reader takes an input log apart; its first error sticks.
type reader struct {
	b   []byte
	err error
}

func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.err = errInputLog
		r.b = nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) take() []byte {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.err = errInputLog
		r.b = nil
		return nil
	}
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}

// Rerun runs the log in this fresh world, which must have been made with the same seed and Live
// false. Tickets run when they are asked for and complete when the log says so.
func (w *World) Rerun(log []byte, with Rerun) error {
	w.replaying = true
	r := &reader{b: log}
	for len(r.b) > 0 {
		kind := inboundKind(r.b[0])
		r.b = r.b[1:]
		position, at := int64(r.number()), int64(r.number())
		in := Inbound{kind: kind, node: event.NodeID(r.number()),
			connection: event.NodeID(r.number()), id: int64(r.number()),
			ahead: time.Duration(r.number()) * time.Millisecond}
		in.text, in.raw = string(r.take()), r.take()
		if r.err != nil {
			return r.err
		}
		if err := w.runTo(position, at); err != nil {
			return err
		}
		if err := w.reenter(&in, with); err != nil {
			return err
		}
		if w.pace.over {
			break
		}
	}
	if !w.pace.over {
		w.settle()
	}
	w.endTurn()
	return nil
}

// runTo dispatches until as many things have happened as when the entry came in. Entries of one
// turn share its time; a later one begins a turn, and the turn before it has ended, unless a person
// gave it between two steps of one instant.
func (w *World) runTo(position, at int64) error {
	due, some := w.queue.next()
	if isOver := !some || due > w.now; w.now < at || w.dispatched < position && isOver {
		w.settle()
		w.endTurn()
	}
	for w.dispatched < position {
		due, some := w.queue.next()
		if !some || due > at {
			break
		}
		w.now = max(w.now, due)
		w.dispatch(w.queue.pop())
		if next, more := w.queue.next(); !more || next > w.now {
			w.settle()
			w.endTurn()
		}
	}
	if w.dispatched != position || w.now > at {
		return fmt.Errorf("world: the re-run goes another way: %d things happened until %d ns, "+
			"in the session %d until %d ns", w.dispatched, w.now, position, at)
	}
	w.now = at
	return nil
}

func (w *World) reenter(in *Inbound, with Rerun) (err error) {
	switch in.kind {
	case inboundCall:
		if in.api, in.body, err = with.Parse(in.raw); err != nil {
			return fmt.Errorf("world: input at %d ns: %w", w.now, err)
		}
	case inboundWork:
		t := w.works[in.id]
		if t == nil {
			return fmt.Errorf("world: the re-run goes another way: nobody asked for work %d", in.id)
		}
		in.result = t.result
	case inboundCommand:
		text := in.text
		in.run = func() { with.Command(text) }
	}
	w.enter(in)
	return nil
}

// WriteTo writes the log as it is on disk.
func (l *InputLog) WriteTo(to io.Writer) (int64, error) {
	b, _ := l.Bytes()
	n, err := to.Write(b)
	return int64(n), err
}
