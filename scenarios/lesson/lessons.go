package lesson

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"

	"highwater/scenarios"
)

// WorldsMax bounds how many worlds of lessons are open at a time. The next one closes the one that
// nobody watches, and of those the one that was used least lately.
const WorldsMax = 8

// Lessons holds the open worlds. Its methods may be called from anywhere.
type Lessons struct {
	log *slog.Logger
	// booting lets one cluster come up at a time, whoever asks for how many.
	booting sync.Mutex

	mu      sync.Mutex // guards what follows
	open    []*Lesson
	counted int // worlds ever opened: the number in the next one's id
}

// New makes an empty set of lessons.
func New(log *slog.Logger) *Lessons { return &Lessons{log: log} }

// GoneError says that a world was closed, or never was.
type GoneError struct {
	ID     string
	Closed bool
}

func (e *GoneError) Error() string {
	if e.Closed {
		return fmt.Sprintf("the world %s was closed: %d lessons may be open, and it was the one that "+
			"was used least lately", e.ID, WorldsMax)
	}
	return "there is no world " + e.ID
}

// Start opens a world for a scenario of the library.
func (l *Lessons) Start(name string) (*Lesson, error) {
	s, err := scenarios.Library(name)
	if err != nil {
		return nil, err
	}
	l.booting.Lock()
	defer l.booting.Unlock()
	r, err := begin(s, false, l.log)
	if err != nil {
		return nil, err
	}
	return l.admit(&Lesson{scenario: s, log: l.log, run: r}, name)
}

// Free opens a world that runs a lesson's scenario again up to a step, and then lets time go.
func (l *Lessons) Free(id string, steps int) (*Lesson, error) {
	parent, err := l.Find(id)
	if err != nil {
		return nil, err
	}
	s := parent.scenario
	if steps < 0 || steps > len(s.Steps) {
		return nil, fmt.Errorf("%s has %d steps, not %d", s.Name, len(s.Steps), steps)
	}
	l.booting.Lock()
	defer l.booting.Unlock()
	r, err := begin(s, true, l.log)
	if err != nil {
		return nil, err
	}
	for range steps {
		if r.next(); r.failure != "" {
			return nil, errors.Join(fmt.Errorf("lesson: step %d: %s", len(r.steps), r.failure), r.close())
		}
	}
	r.letGo()
	return l.admit(&Lesson{scenario: s, log: l.log, run: r, parent: id, from: steps}, s.Name+"-free")
}

// admit names a world and makes room for it.
func (l *Lessons) admit(fresh *Lesson, name string) (*Lesson, error) {
	fresh.touch()
	l.mu.Lock()
	l.counted++
	fresh.id = name + "-" + strconv.Itoa(l.counted)
	var victim *Lesson
	if len(l.open) >= WorldsMax {
		victim = slices.MinFunc(l.open, func(a, b *Lesson) int {
			if x, y := min(a.watched(), 1), min(b.watched(), 1); x != y {
				return x - y
			}
			return int(min(1, max(-1, a.used.Load()-b.used.Load())))
		})
		l.open = slices.DeleteFunc(l.open, func(each *Lesson) bool { return each == victim })
	}
	l.open = append(l.open, fresh)
	l.mu.Unlock()
	if victim != nil {
		return fresh, victim.close()
	}
	return fresh, nil
}

func (l *Lesson) watched() int { return l.Hub().Viewers() }

// Find returns an open world; a *GoneError says that there is none under this id.
func (l *Lessons) Find(id string) (*Lesson, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, each := range l.open {
		if each.id == id {
			each.touch()
			return each, nil
		}
	}
	number, err := strconv.Atoi(id[strings.LastIndexByte(id, '-')+1:])
	return nil, &GoneError{ID: id, Closed: err == nil && 0 < number && number <= l.counted}
}

// List says where all open lessons stand, the oldest first.
func (l *Lessons) List() []State {
	l.mu.Lock()
	open := slices.Clone(l.open)
	l.mu.Unlock()
	states := []State{}
	for _, each := range open {
		states = append(states, each.State())
	}
	return states
}

// Close closes all worlds.
func (l *Lessons) Close() error {
	l.mu.Lock()
	open := l.open
	l.open = nil
	l.mu.Unlock()
	var errs []error
	for _, each := range open {
		errs = append(errs, each.close())
	}
	return errors.Join(errs...)
}
