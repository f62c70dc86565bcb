package hub

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"highwater/cluster/event"
	"highwater/viz/audit"
	"highwater/viz/model"
	"highwater/viz/trace"
)

// Defaults and fixed bounds.
const (
	EventsMax      = 1_000_000             // recorded
	FrameInterval  = 33 * time.Millisecond // at most 30 frames a second
	FrameEventsMax = 400                   // in one frame; more in an interval is a gap

	backlogFold = 8 << 10 // unfolded events at which the hub folds though nobody asked
	backlogMax  = 1 << 20 // at which the loop itself folds: the hub got no processor for seconds
	chunkMax    = 8 << 10 // records of a chunk that is worth keeping for the next turn
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
	referee  *audit.Auditor // judges every event as it is folded
	recorder *recorder
	viewers  map[chan struct{}]bool // one notice channel each
	pace     Pace
	paceSet  int // counts changes of pace
	encoded  encoded
	told     int64 // dropped events at the last Truncated
}

// inbox is what the loop and the hub share; its lock is held no longer than a turn's events take
// to copy.
type inbox struct {
	mu         sync.Mutex
	pageEvents int
	open       page // the newest, which the loop appends to
	known      knownTexts
	full       []page // that nobody has taken yet
	events     int    // published and not folded
	free       []page
	// truncated waits for the loop to hear of it.
	truncated, truncatedFrom int64
}

// add appends a turn's events.
func (in *inbox) add(c *event.Chunk) {
	for rest := c.Records; len(rest) > 0; {
		if len(in.open.starts)%in.pageEvents == 0 {
			in.begin(rest[0].Seq)
		}
		run := rest[:min(len(rest), in.pageEvents-len(in.open.starts))]
		in.open.add(c, run, &in.known)
		rest = rest[len(run):]
	}
	in.events += len(c.Records)
}

// begin opens the next page, in the memory of one that was dropped if there is any.
func (in *inbox) begin(first event.Seq) {
	var memory page
	if last := len(in.free) - 1; last >= 0 {
		memory = in.free[last]
		in.free[last] = page{}
		in.free = in.free[:last]
	}
	if done := in.open; len(done.starts) > 0 {
		in.full = append(in.full, done)
		if memory.words == nil { // the next will be about as long, and growing costs a copy
			memory.words = make([]int64, 0, len(done.words)+len(done.words)/16)
			memory.starts = make([]int32, 0, len(done.starts))
		}
	}
	in.known = knownTexts{}
	in.open = memory.empty(first)
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
	pageEvents, _, _ := bounds(config.EventsMax)
	h := &Hub{config: config, inbox: inbox{pageEvents: pageEvents}, state: state,
		referee:  audit.New(),
		recorder: newRecorder(config.EventsMax, state),
		viewers:  map[chan struct{}]bool{}, wake: make(chan struct{}, 1),
		closed: make(chan struct{}), ended: make(chan struct{})}
	go h.run()
	return h
}

// Close ends the hub's goroutine and all viewers. What was recorded can still be read.
func (h *Hub) Close() {
	close(h.closed)
	<-h.ended
}

// Publish takes a turn's events and returns an empty chunk for the next. They are copied at once,
// while they are in the cache, and the next turn finds its chunk there too. It never waits for a
// reader.
func (h *Hub) Publish(full *event.Chunk) (empty *event.Chunk) {
	if len(full.Records) == 0 {
		return full
	}
	in := &h.inbox
	in.mu.Lock()
	in.add(full)
	backlog := in.events
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
	if truncated > 0 && h.config.Truncated != nil {
		h.config.Truncated(truncated, from)
	}
	if cap(full.Records) > chunkMax {
		return &event.Chunk{}
	}
	full.Reset()
	return full
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
	full, open := in.full, in.open
	in.full, in.events = nil, 0
	in.mu.Unlock()
	for _, p := range full {
		h.take(p)
	}
	if len(open.starts) > 0 {
		h.take(open)
	}
	h.giveBack()
}

// take records a page and folds what is new in it.
func (h *Hub) take(p page) {
	h.recorder.put(p, h.state)
	var record event.Record
	for i := int(h.state.Seq + 1 - p.first); i < len(p.starts); i++ {
		p.read(i, &record)
		h.state.Apply(&p.pointed, &record)
		h.referee.Event(&p.pointed, &record)
	}
}

// Violations lists the promises that the world has broken so far, oldest first.
func (h *Hub) Violations() []audit.Violation {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fold()
	return append([]audit.Violation{}, h.referee.Violations()...)
}

// giveBack lets the loop have the memory of dropped pages, and tells it of the loss.
func (h *Hub) giveBack() {
	r := h.recorder
	if len(r.recycled) == 0 {
		return
	}
	in := &h.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	room := max(0, r.pagesPerGroup-len(in.free))
	in.free = append(in.free, r.recycled[:min(room, len(r.recycled))]...)
	clear(r.recycled)
	r.recycled = r.recycled[:0]
	if r.dropped >= 2*h.told {
		h.told = r.dropped
		in.truncated, in.truncatedFrom = r.dropped, int64(r.first())
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

// TopicID is the id of the topic that has a name now, "" when none has.
func (h *Hub) TopicID(name string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fold()
	if t := h.state.Topic(name); t != nil {
		return t.TopicID
	}
	return ""
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
	s := h.recorder.groupOf(at + 1).before.Clone()
	h.recorder.each(s.Seq+1, at, func(c *event.Chunk, r *event.Record) { s.Apply(c, r) })
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
	h.recorder.each(from, to, func(kept *event.Chunk, r *event.Record) {
		shapeOf(r.Kind).relink(c, kept, r.Values[:], &known)
		c.Records = append(c.Records, *r)
	})
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
	var found []trace.Violation
	for _, v := range h.Violations() {
		found = append(found, trace.Violation(v))
	}
	out := trace.NewWriter(w, h.config.Header.WithVerdict(found, from, to))
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
