package main

import (
	"context"
	"errors"
	"fmt"

	"highwater/cluster/event"
	"highwater/cluster/world"
	"highwater/scenarios"
	"highwater/server"
)

// commander runs the page's commands on the live cluster's loop.
type commander struct {
	world    *world.World
	executor *scenarios.Executor
}

func newCommander(m *mainWorld) *commander {
	return &commander{world: m.cluster.World(),
		executor: scenarios.Attach(m.cluster, livePacer{m.cluster.World()})}
}

// ended is what a command gave.
type ended struct {
	result scenarios.Result
	err    *scenarios.Error
}

// Command, of server.Commands, runs one command and waits until it has ended. The text goes into
// the session's input log.
func (c *commander) Command(ctx context.Context, text, by string) (uint64, any, error) {
	done := make(chan ended, 1)
	var seq event.Seq
	err := c.world.Do(text, func() {
		seq = c.executor.Execute(text, by, func(r scenarios.Result, err *scenarios.Error) {
			done <- ended{r, err}
		})
	})
	if err != nil {
		return 0, nil, err
	}
	select {
	case e := <-done:
		if e.err != nil {
			return uint64(seq), nil, &server.CommandError{Message: e.err.Message,
				Position: e.err.Position, Hint: e.err.Hint}
		}
		return uint64(seq), e.result, nil
	case <-ctx.Done():
		return uint64(
				seq,
			), nil, fmt.Errorf(
				"the command runs on; its answer took too long: %w",
				ctx.Err(),
			)
	}
}

// livePacer lets commands stop, step and slow the live clock.
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
