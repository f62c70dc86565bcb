package lesson

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"highwater/cluster/event"
	"highwater/scenarios"
	"highwater/viz/hub"
)

// Lesson is one world: a scenario at one of its steps, or free play from there.
type Lesson struct {
	id       string
	scenario *scenarios.Scenario
	parent   string // of free play, the lesson that it left
	from     int    // of free play, how many steps ran before it
	log      *slog.Logger
	used     atomic.Int64 // when somebody last asked for it, in wall-clock nanoseconds

	mu     sync.Mutex // guards what follows, and the run's cluster while steps are run
	run    *run
	closed bool
}

// Errors of what cannot be done with a lesson now.
var (
	errFree   = errors.New("this is free play: steps are run in the lesson")
	errOver   = errors.New("the lesson is over: step back, reset it, or play freely")
	errFailed = errors.New("the lesson cannot go on: a check of its last step failed")
)

// ID names the lesson's world.
func (l *Lesson) ID() string { return l.id }

// Scenario is what the lesson runs.
func (l *Lesson) Scenario() *scenarios.Scenario { return l.scenario }

// Hub has the events of the world as it is now; a reset makes another one.
func (l *Lesson) Hub() *hub.Hub {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.run.hub
}

// Live runs commands in free play; it is nil in a lesson.
func (l *Lesson) Live() *scenarios.Live {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.run.live
}

// Ready lists why the world's cluster does not serve.
func (l *Lesson) Ready() (reasons []string) {
	if err := l.do(func(r *run) { reasons = r.cluster.Ready() }); err != nil {
		return []string{err.Error()}
	}
	return reasons
}

// Batch reads the bytes of one batch of a broker's log.
func (l *Lesson) Batch(node event.NodeID, topic string, partition int32, offset event.Offset) (
	b []byte, err error) {
	failed := l.do(func(r *run) { b, err = r.cluster.Batch(node, topic, partition, offset) })
	return b, errors.Join(err, failed)
}

// do runs f where it may touch the cluster: on its loop in free play, else under the lock, since
// nothing runs between two steps.
func (l *Lesson) do(f func(*run)) error {
	l.mu.Lock()
	r := l.run
	if l.closed || r.live == nil {
		defer l.mu.Unlock()
		if l.closed {
			return l.gone()
		}
		f(r)
		return nil
	}
	l.mu.Unlock()
	return r.cluster.World().Do("", func() { f(r) })
}

// Next runs the next step. after is how many steps the asker believes to have run, so that two
// who ask at once run one; a negative one runs whichever is next.
func (l *Lesson) Next(after int) (State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch r := l.run; {
	case l.closed:
		return State{}, l.gone()
	case r.live != nil:
		return State{}, errFree
	case after >= 0 && after != len(r.steps):
	case r.failure != "":
		return State{}, errFailed
	case len(r.steps) == len(l.scenario.Steps):
		return State{}, errOver
	default:
		r.next()
	}
	return l.state(), nil
}

// Reset begins the lesson again, with the same seed.
func (l *Lesson) Reset() (State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return State{}, l.gone()
	case l.run.live != nil:
		return State{}, errFree
	}
	fresh, err := begin(l.scenario, false, l.log)
	if err != nil {
		return State{}, err
	}
	old := l.run
	l.run = fresh
	return l.state(), old.close()
}

// State says where the lesson stands.
func (l *Lesson) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state()
}

// Save writes what was done as a scenario.
func (l *Lesson) Save() []byte {
	l.mu.Lock()
	r, steps := l.run, len(l.run.steps)
	l.mu.Unlock()
	session := scenarios.Session{Of: l.scenario, Steps: steps}
	if r.live != nil {
		given, complete := r.live.Given()
		session.Given, session.Incomplete, session.Began = given, !complete, r.freed
	}
	return scenarios.Save(session)
}

func (l *Lesson) touch() { l.used.Store(time.Now().UnixNano()) }

func (l *Lesson) gone() error { return &GoneError{ID: l.id, Closed: true} }

func (l *Lesson) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if err := l.run.close(); err != nil {
		return fmt.Errorf("lesson: close %s: %w", l.id, err)
	}
	return nil
}
