package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"highwater/cluster/event"
	"highwater/viz/audit"
	"highwater/viz/model"
)

// ErrClosed says that the hub serves no more frames.
var ErrClosed = errors.New("hub: closed")

const (
	// catchUpMax is how many missed events a viewer that comes back gets one by one.
	catchUpMax = 5000
	// In a flood a viewer gets this many times fewer frames: a snapshot is no small message.
	floodFactor = 8
)

// Viewer reads the stream of frames for one browser. It holds a position and no events: a viewer
// that reads slowly finds a gap and a fresh snapshot when it comes back, and costs nobody else.
type Viewer struct {
	hub    *Hub
	notice <-chan struct{}
	cancel func()

	cursor  event.Seq        // the last event sent, or contained in the snapshot sent
	counts  model.KindCounts // events by kind up to the cursor; nil when they are not known
	fresh   bool             // nothing was sent yet
	paceSet int
	broken  int // promises that the viewer was told of
	flooded bool
	queue   [][]byte
	sent    time.Time // when the last built frame was, for the pace of frames
}

// Watch opens a stream after the event from of the run; 0, or another run, begins with a snapshot.
// The viewer must be closed.
func (h *Hub) Watch(from event.Seq, run string) *Viewer {
	v := &Viewer{hub: h, fresh: true}
	if run == h.config.Run {
		v.cursor = from
	}
	v.notice, v.cancel = h.Subscribe()
	return v
}

// Close ends the stream.
func (v *Viewer) Close() { v.cancel() }

// Next returns the next frame, waiting for one if need be. A frame is one JSON object.
func (v *Viewer) Next(ctx context.Context) ([]byte, error) {
	for len(v.queue) == 0 {
		if err := v.rest(ctx); err != nil {
			return nil, err
		}
		if v.build(); len(v.queue) > 0 {
			v.sent = time.Now()
			break
		}
		select {
		case <-v.notice:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-v.hub.closed:
			return nil, ErrClosed
		}
	}
	frame := v.queue[0]
	v.queue = v.queue[1:]
	return frame, nil
}

// rest waits until the next frame is due.
func (v *Viewer) rest(ctx context.Context) error {
	interval := v.hub.config.FrameInterval
	if v.flooded {
		interval *= floodFactor
	}
	left := interval - time.Since(v.sent)
	if v.sent.IsZero() || left <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-v.hub.closed:
		return ErrClosed
	}
}

// build queues the frames for all that is new.
func (v *Viewer) build() {
	h := v.hub
	h.mu.Lock()
	h.fold()
	last := h.state.Seq
	renew := false
	switch missed := last - v.cursor; {
	case v.cursor == 0 && v.fresh || v.cursor > last:
		renew = true
	case v.cursor == last:
	case v.cursor+1 < h.recorder.first() || missed > event.Seq(v.allowance()):
		v.queue = append(v.queue, v.gapFrame(last))
		v.flooded = !v.fresh
		renew = true
	default:
		v.flooded = v.flooded && int(missed) > h.config.FrameEventsMax*floodFactor/2
		v.tailFrames(last)
	}
	var snapshot *model.State
	encoded := h.encoded
	if renew && (encoded.seq != last || encoded.frame == nil) {
		snapshot = h.state.Clone()
	}
	v.cursor, v.fresh = last, false
	v.counts = append(v.counts[:0], h.state.Counters.Events...)
	pace, paceSet := h.pace, h.paceSet
	violations := h.referee.Violations() // what it holds never changes
	h.mu.Unlock()
	if renew {
		if snapshot != nil {
			encoded = h.encode(snapshot)
		}
		v.queue = append(v.queue, encoded.frame)
	}
	if len(violations) != v.broken {
		v.broken = len(violations)
		v.queue = append(v.queue, violationsFrame(violations))
	}
	if paceSet != v.paceSet {
		v.paceSet = paceSet
		v.queue = append(v.queue, paceFrame(pace))
	}
}

// allowance is how many events a viewer may get one by one now.
func (v *Viewer) allowance() int {
	allowed := v.hub.config.FrameEventsMax
	switch {
	case v.fresh:
		return max(allowed, catchUpMax)
	case v.flooded:
		return allowed * floodFactor
	}
	return allowed
}

// tailFrames queues the events up to last in frames of bounded size. The caller holds the hub's mu.
func (v *Viewer) tailFrames(last event.Seq) {
	h := v.hub
	for from := v.cursor + 1; from <= last; {
		to := min(last, from+event.Seq(h.config.FrameEventsMax)-1)
		frame := append(make([]byte, 0, 64+320*int(to+1-from)), `{"type":"events","events":[`...)
		h.recorder.each(from, to, func(c *event.Chunk, r *event.Record) {
			if r.Seq > from {
				frame = append(frame, ',')
			}
			frame = c.AppendJSON(frame, r)
		})
		v.queue = append(v.queue, append(frame, `]}`...))
		from = to + 1
	}
}

// gapFrame says which events the viewer does not get, and how many of each kind they were.
func (v *Viewer) gapFrame(last event.Seq) []byte {
	missed := make(model.KindCounts, len(v.hub.state.Counters.Events))
	for kind := range v.counts {
		missed[kind] = v.hub.state.Counters.Events[kind] - v.counts[kind]
	}
	return mustJSON(map[string]any{"type": "gap", "from": text(v.cursor + 1), "to": text(last),
		"counts": missed})
}

// violationsFrame lists all promises that were broken.
func violationsFrame(violations []audit.Violation) []byte {
	return mustJSON(map[string]any{"type": "violations", "violations": violations})
}

func paceFrame(p Pace) []byte {
	return mustJSON(struct {
		Type string `json:"type"`
		Pace
	}{"pace", p})
}

// encoded is a snapshot frame, kept so that many viewers of one moment share it.
type encoded struct {
	seq   event.Seq
	frame []byte
}

// encode writes a snapshot frame; it takes milliseconds and holds no lock meanwhile.
func (h *Hub) encode(s *model.State) encoded {
	frame := append([]byte(`{"type":"snapshot","run":`), mustJSON(h.config.Run)...)
	frame = append(frame, `,"seq":"`+text(s.Seq)+`","state":`...)
	frame = append(s.AppendJSON(frame), '}')
	e := encoded{seq: s.Seq, frame: frame}
	h.mu.Lock()
	if e.seq >= h.encoded.seq {
		h.encoded = e
	}
	h.mu.Unlock()
	return e
}

func text(seq event.Seq) string { return strconv.FormatUint(uint64(seq), 10) }

// mustJSON writes what cannot fail to be written.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("hub: a frame that is no JSON: %v", err))
	}
	return b
}
