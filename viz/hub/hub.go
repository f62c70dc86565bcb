package hub

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"highwater/cluster/event"
	"highwater/viz/model"
	"highwater/viz/trace"
)

// Defaults and fixed bounds.
const (
	EventsMax      = 1_000_000             // recorded
	FrameInterval  = 33 * time.Millisecond // at most 30 frames a second
	FrameEventsMax = 400                   // in one frame; more in an interval is a gap

	backlogFold = 8 << 10  // unfolded events at which the hub folds though nobody asked
	backlogMax  = 1 << 20  // at which the loop itself folds: the hub got no processor for seconds
	freeMax     = 64 << 10 // records that recycled chunks have room for, together
)

// Config says how much a hub keeps and how fast it serves.
type Config struct {
	// Run tells one run of a world from another: a viewer that comes back with another run's
	// position gets a snapshot.
	Run    string
	Header trace.Header // of the traces it writes
	// EventsMax, FrameInterval and FrameEventsMax take their defaults when 0.
	EventsMax      int
	FrameInterval  time.Duration
	FrameEventsMax int
	// Truncated is called by Publish, on the loop, when old events were dropped for the first time
	// and then whenever their number has doubled, so that the world can emit RecordingTruncated.
	Truncated func(events, from int64)
}

// Pace is how virtual time runs, as the page shows it.
type Pace struct {
	Mode   string  `json:"mode"` // live, slow, cinema, step
	Rate   float64 `json:"rate"`
	Paused bool    `json:"paused"`
	Now    int64   `json:"now,string"` // virtual nanoseconds
}

// NewPace names a pace by its rate and by whether time stands still.
func NewPace(rate float64, paused bool, now time.Duration) Pace {
	p := Pace{Mode: "live", Rate: rate, Paused: paused, Now: int64(now)}
	switch {
	case paused:
		p.Mode = "step"
	case rate != 1:
		p.Mode = "slow"
	}
	return p
}

// Hub receives a world's events. Publish belongs to the world's loop, everything else may be
// called from anywhere.
//
// Folding is lazy: it happens when somebody asks, when viewers are due a frame, or when many events
// wait. All of them come through fold, so that whoever asks sees all that was published.
type Hub struct {
	config Config
	wake   chan struct{}
	closed chan struct{}
	ended  chan struct{}
	// watched says that somebody wants to hear of news soon.
	watched atomic.Bool

	inbox inbox

	mu       sync.Mutex // guards all below; never held while anything is written to anybody
	state    *model.State
	recorder *recorder
	viewers  map[chan struct{}]bool // one notice channel each
	pace     Pace
	paceSet  int // counts changes of pace
	encoded  encoded
	told     int64 // dropped events at the last Truncated
}

// inbox is what the loop and the hub share; its lock is held for a few instructions only.
type inbox struct {
	mu     sync.Mutex
	full   []*event.Chunk
	events int
	free   []*event.Chunk
	room   int // records that free has room for
	// truncated waits for the loop to hear of it.
	truncated, truncatedFrom int64
}

// New starts a hub; Close ends it.
func New(config Config) *Hub {
	if config.EventsMax == 0 {
		config.EventsMax = EventsMax
	}
	if config.FrameInterval == 0 {
		config.FrameInterval = FrameInterval
	}
	if config.FrameEventsMax == 0 {
		config.FrameEventsMax = FrameEventsMax
	}
	state := model.New()
	h := &Hub{config: config, state: state, recorder: newRecorder(config.EventsMax, state),
		viewers: map[chan struct{}]bool{}, wake: make(chan struct{}, 1),
		closed: make(chan struct{}), ended: make(chan struct{})}
	go h.run()
	return h
}

// Close ends the hub's goroutine and all viewers. What was recorded can still be read.
func (h *Hub) Close() {
	close(h.closed)
	<-h.ended
}

// Publish takes a turn's events and returns an empty chunk for the next. It never waits for a
// reader.
func (h *Hub) Publish(full *event.Chunk) (empty *event.Chunk) {
	if len(full.Records) == 0 {
		return full
	}
	in := &h.inbox
	in.mu.Lock()
	in.full = append(in.full, full)
	in.events += len(full.Records)
	backlog := in.events
	if last := len(in.free) - 1; last >= 0 {
		empty = in.free[last]
		in.free = in.free[:last]
		in.room -= cap(empty.Records)
	}
	truncated, from := in.truncated, in.truncatedFrom
	in.truncated = 0
	in.mu.Unlock()
	if backlog >= backlogFold || h.watched.Load() {
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}
	if backlog >= backlogMax {
		h.mu.Lock()
		h.fold()
		h.mu.Unlock()
	}
	if empty == nil {
		empty = &event.Chunk{}
	}
	if truncated > 0 && h.config.Truncated != nil {
		h.config.Truncated(truncated, from)
	}
	return empty
}

// run folds what piles up and tells viewers of news, at most once a frame.
func (h *Hub) run() {
	defer close(h.ended)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-h.wake:
		case <-h.closed:
			return
		}
		h.mu.Lock()
		h.fold()
		for notice := range h.viewers {
			select {
			case notice <- struct{}{}:
			default:
			}
		}
		h.mu.Unlock()
		pause.Reset(h.config.FrameInterval)
		select {
		case <-pause.C:
		case <-h.closed:
			return
		}
	}
}

// fold takes what was published into the recording and the state. The caller holds mu.
func (h *Hub) fold() {
	in := &h.inbox
	in.mu.Lock()
	full := in.full
	in.full, in.events = nil, 0
	in.mu.Unlock()
	if len(full) == 0 {
		return
	}
	for _, c := range full {
		h.take(c)
		c.Reset()
	}
	dropped, from := h.recorder.dropped, int64(h.recorder.first())
	in.mu.Lock()
	for _, c := range full {
		if in.room+cap(c.Records) <= freeMax {
			in.free = append(in.free, c)
			in.room += cap(c.Records)
		}
	}
	if in.full == nil {
		clear(full)
		in.full = full[:0]
	}
	if dropped > 0 && dropped >= 2*h.told {
		h.told = dropped
		in.truncated, in.truncatedFrom = dropped, from
	}
	in.mu.Unlock()
}

// take records and folds one chunk, group by group.
func (h *Hub) take(c *event.Chunk) {
	for rest := c.Records; len(rest) > 0; {
		if h.recorder.room() == 0 {
			h.recorder.next(h.state)
		}
		run := rest[:min(len(rest), h.recorder.room())]
		rest = rest[len(run):]
		h.recorder.add(c, run)
		for i := range run {
			h.state.Apply(c, &run[i])
		}
	}
}

// Range says which events can be asked for; first is above last when there are none.
func (h *Hub) Range() (first, last event.Seq) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fold()
	return h.recorder.first(), h.state.Seq
}

// Latest returns the state after all that was published; it is the caller's.
func (h *Hub) Latest() *model.State {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fold()
	return h.state.Clone()
}

// State returns the state after the event at, which may be 0; it is the caller's.
func (h *Hub) State(at event.Seq) (*model.State, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fold()
	if at+1 < h.recorder.first() || at > h.state.Seq {
		return nil, h.notKept(at)
	}
	if at == h.state.Seq {
		return h.state.Clone(), nil
	}
	g := h.recorder.groupOf(at + 1)
	s := g.before.Clone()
	for i := range g.events.Records[:at-g.before.Seq] {
		s.Apply(&g.events, &g.events.Records[i])
	}
	return s, nil
}

func (h *Hub) notKept(seq event.Seq) error {
	return &NotKeptError{Seq: seq, First: h.recorder.first(), Last: h.state.Seq}
}

// Events returns the events from one to another, both included, as the caller's own chunk.
func (h *Hub) Events(from, to event.Seq) (*event.Chunk, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fold()
	if from < h.recorder.first() {
		return nil, h.notKept(from)
	}
	if to > h.state.Seq {
		return nil, h.notKept(to)
	}
	c, known := &event.Chunk{}, knownTexts{}
	for from <= to {
		g := h.recorder.groupOf(from)
		run := g.from(from)
		run = run[:min(len(run), int(to-from)+1)]
		h.recorder.copyInto(c, &g.events, run, &known)
		from += event.Seq(len(run))
	}
	return c, nil
}

// WriteTrace writes the events from one to another, both included, as a trace file; 0 stands for
// the oldest kept and the newest. A trace that does not begin with event 1 gets a keyframe.
func (h *Hub) WriteTrace(w io.Writer, from, to event.Seq) error {
	const piece = 2000 // copied at a time, so that a slow reader keeps nobody waiting
	first, last := h.Range()
	if from == 0 {
		from = first
	}
	if to == 0 {
		to = last
	}
	out := trace.NewWriter(w, h.config.Header)
	if from > 1 {
		before, err := h.State(from - 1)
		if err != nil {
			return err
		}
		if err := out.Keyframe(before.Seq, before.AppendJSON(nil)); err != nil {
			return err
		}
	}
	for from <= to {
		c, err := h.Events(from, min(to, from+piece-1))
		if err != nil {
			return err
		}
		if err := out.Chunk(c, from, to); err != nil {
			return err
		}
		from += event.Seq(len(c.Records))
	}
	return out.Flush()
}

// SetPace tells viewers how virtual time runs from now on.
func (h *Hub) SetPace(p Pace) {
	h.mu.Lock()
	h.pace = p
	h.paceSet++
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Viewers is how many streams are open.
func (h *Hub) Viewers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.viewers)
}

// Subscribe returns a channel that gets a notice, at most once a frame, after events were folded.
// cancel must be called.
func (h *Hub) Subscribe() (news <-chan struct{}, cancel func()) {
	notice := make(chan struct{}, 1)
	h.mu.Lock()
	h.viewers[notice] = true
	h.watched.Store(true)
	h.mu.Unlock()
	return notice, func() {
		h.mu.Lock()
		delete(h.viewers, notice)
		h.watched.Store(len(h.viewers) > 0)
		h.mu.Unlock()
	}
}
