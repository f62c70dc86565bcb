package scenarios

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"highwater/cluster"
	"highwater/cluster/event"
	"highwater/cluster/world"
	"highwater/viz/explain"
)

// givenMax bounds how many commands of a session are remembered.
const givenMax = 2000

// Given is one command that somebody gave by hand, and how it ended. Times are virtual.
type Given struct {
	Command *Command
	Began   time.Duration
	Ended   time.Duration
	Err     *Error
	// Running says that the command has not ended yet.
	Running bool
}

// Live runs commands on a cluster whose loop meets the wall clock, from any goroutine, and
// remembers them, so that they can be saved as a scenario.
type Live struct {
	cluster  *cluster.Cluster
	executor *Executor

	mu    sync.Mutex
	given []*Given
	over  bool // more commands came than are remembered
}

// NewLive makes the executor of a running cluster; recording keeps its events, nil for none.
func NewLive(c *cluster.Cluster, recording explain.Source) *Live {
	return &Live{cluster: c, executor: Attach(c, livePacer{c.World()}, recording)}
}

// ended is what a command gave.
type ended struct {
	result Result
	err    *Error
}

// stillTimeout is how long somebody waits for a command while time stands still, which only one that
// needs no time ends in.
const stillTimeout = 2 * time.Second

// Command runs one command and waits until it has ended; an *Error says what was wrong with it.
// The text goes into the session's input log.
func (l *Live) Command(ctx context.Context, text, by string) (event.Seq, Result, error) {
	done := make(chan ended, 1)
	var seq event.Seq
	var still <-chan time.Time
	err := l.cluster.World().Do(text, func() {
		given := l.remember(text)
		seq = l.executor.Execute(text, by, func(r Result, err *Error) {
			l.endOf(given, err)
			done <- ended{r, err}
		})
		if l.cluster.World().Pace().Paused {
			still = time.After(stillTimeout)
		}
	})
	if err != nil {
		return 0, Result{}, err
	}
	select {
	case e := <-done:
		if e.err != nil {
			return seq, Result{}, e.err
		}
		return seq, e.result, nil
	case <-still:
		return seq, Result{}, errors.New("time stands still, and the command goes on when time does: " +
			"resume-time or step lets it")
	case <-ctx.Done():
		return seq, Result{}, fmt.Errorf("the command runs on; its answer took too long: %w", ctx.Err())
	}
}

// Help says what a line that is being written is about, and how it could go on.
func (l *Live) Help(line string) (h Help, err error) {
	err = l.cluster.World().Do("", func() { h = l.executor.Help(line) })
	return h, err
}

// remember keeps a command before its first effect. What is no command is not worth keeping.
func (l *Live) remember(text string) *Given {
	command, err := Parse(text)
	if err != nil || command == nil || command.spec.paces {
		return nil
	}
	now := l.cluster.World().Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.given) == givenMax {
		l.over = true
		return nil
	}
	g := &Given{Command: command, Began: now, Ended: now, Running: true}
	l.given = append(l.given, g)
	return g
}

// endOf notes how a remembered command ended.
func (l *Live) endOf(g *Given, err *Error) {
	if g == nil {
		return
	}
	now := l.cluster.World().Now()
	l.mu.Lock()
	g.Ended, g.Err, g.Running = now, err, false
	l.mu.Unlock()
}

// Given lists what was given so far; complete is false when more came than is remembered.
func (l *Live) Given() (list []Given, complete bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.given {
		list = append(list, *g)
	}
	return list, !l.over
}

// livePacer lets commands stop, step and slow a live clock.
type livePacer struct{ world *world.World }

// errRunning says that steps are for a stopped clock.
var errRunning = errors.New("time is running: pause-time first, then step")

func (p livePacer) PauseTime() error {
	pace := p.world.Pace()
	pace.Paused = true
	p.world.SetPace(pace)
	return nil
}

func (p livePacer) ResumeTime() error {
	pace := p.world.Pace()
	pace.Paused = false
	p.world.SetPace(pace)
	return nil
}

func (p livePacer) Step(steps int) error {
	if !p.world.Pace().Paused {
		return errRunning
	}
	for range steps {
		if !p.world.Step() {
			return errors.New("nothing is due any more")
		}
	}
	p.world.SetPace(p.world.Pace())
	return nil
}

func (p livePacer) Slow(factor float64) error {
	if factor <= 0 {
		return fmt.Errorf("a clock cannot run %g times slower", factor)
	}
	p.world.SetPace(world.Pace{Rate: 1 / factor})
	return nil
}

func (p livePacer) Live() error {
	p.world.SetPace(world.Pace{Rate: 1})
	return nil
}
