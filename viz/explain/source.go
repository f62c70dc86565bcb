package explain

import (
	"fmt"

	"highwater/cluster/event"
	"highwater/viz/model"
)

// Source is a recording: the events that are kept, and the state after each of them.
type Source interface {
	// Range says which events are kept; first is above last when there are none.
	Range() (first, last event.Seq)
	// State returns the state after an event.
	State(at event.Seq) (*model.State, error)
	// Events returns the events from one to another, both included.
	Events(from, to event.Seq) (*event.Chunk, error)
}

// pieceEvents is how many events are looked at together, so that a live recording is not held up.
const pieceEvents = 4000

// scan shows every kept event up to at, in order. It returns the oldest that was kept.
func scan(src Source, at event.Seq, see func(*fact)) (event.Seq, error) {
	first, last := src.Range()
	for from := first; from <= min(at, last); from += pieceEvents {
		c, err := src.Events(from, min(at, last, from+pieceEvents-1))
		if err != nil {
			return first, err
		}
		for i := range c.Records {
			see(&fact{chunk: c, Record: &c.Records[i]})
		}
	}
	return first, nil
}

// fact is one event with what its texts and lists point into.
type fact struct {
	*event.Record
	chunk *event.Chunk
}

// seq is the event's number, 0 for no fact.
func (f *fact) seq() event.Seq {
	if f == nil {
		return 0
	}
	return f.Seq
}

// Film is a Source in memory: a trace, or the events of a test.
type Film struct {
	before *model.State
	chunk  *event.Chunk
}

// NewFilm makes a source of consecutive events; before is the state ahead of the first of them.
func NewFilm(before *model.State, events *event.Chunk) *Film {
	return &Film{before: before, chunk: events}
}

// Range is Source's.
func (f *Film) Range() (first, last event.Seq) {
	first = f.before.Seq + 1
	if n := len(f.chunk.Records); n > 0 {
		return first, f.chunk.Records[n-1].Seq
	}
	return first, f.before.Seq
}

// State is Source's. Events of kinds that this version lacks are not in a film, so it goes by the
// numbers that the events carry.
func (f *Film) State(at event.Seq) (*model.State, error) {
	first, last := f.Range()
	if at+1 < first || at > last {
		return nil, fmt.Errorf("explain: event %d is not kept; there are %d to %d", at, first, last)
	}
	s := f.before.Clone()
	for i := range f.chunk.Records {
		if f.chunk.Records[i].Seq > at {
			break
		}
		s.Apply(f.chunk, &f.chunk.Records[i])
	}
	return s, nil
}

// Events is Source's; texts and lists are shared with the film.
func (f *Film) Events(from, to event.Seq) (*event.Chunk, error) {
	c := &event.Chunk{Texts: f.chunk.Texts, Lists: f.chunk.Lists}
	for i := range f.chunk.Records {
		if seq := f.chunk.Records[i].Seq; from <= seq && seq <= to {
			c.Records = append(c.Records, f.chunk.Records[i])
		}
	}
	return c, nil
}
