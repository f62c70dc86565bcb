package scenarios

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"highwater/cluster"
	"highwater/cluster/world"
)

// StepReport says how one step went. At is the virtual time at its end.
type StepReport struct {
	Line    int           `json:"line"`
	Command string        `json:"command"`
	OK      bool          `json:"ok"`
	Text    string        `json:"text"`
	At      time.Duration `json:"atNs,string"`
}

// Report says how a scenario went. It ends with the first step that failed.
type Report struct {
	Name    string        `json:"scenario"`
	Title   string        `json:"title"`
	Seed    uint64        `json:"seed,string"`
	OK      bool          `json:"ok"`
	Checks  int           `json:"checks"` // waits, expects and named outcomes that held
	Virtual time.Duration `json:"virtualNs,string"`
	Steps   []StepReport  `json:"steps"`
	// Failure is why the scenario did not even begin, or was broken off.
	Failure string `json:"failure,omitempty"`
}

// Judge fails a run that broke a promise, unless the scenario is there to break it; then it fails
// the run when the promise held. broken says, by promise, how it was broken first.
func (r *Report) Judge(s *Scenario, broken map[string]string) {
	var failures []string
	for _, promise := range slices.Sorted(maps.Keys(broken)) {
		if !slices.Contains(s.Breaks, promise) {
			failures = append(failures, "broken promise: "+broken[promise])
		}
	}
	for _, promise := range s.Breaks {
		if _, isBroken := broken[promise]; !isBroken {
			failures = append(failures, "nothing broke "+promise)
		}
	}
	if len(failures) > 0 {
		r.OK = false
		r.Failure = strings.TrimSpace(r.Failure + " " + strings.Join(failures, "; "))
	}
}

// World lets virtual time pass; *world.World is one.
type World interface {
	Now() time.Duration
	// RunWhile runs as long as the condition holds, at most up to a virtual time, and says whether
	// the condition ended.
	RunWhile(condition func() bool, until time.Duration) bool
}

// Bounds in virtual time.
const (
	bootMax = time.Minute
	// stepMax bounds what a step may take beyond what it says itself.
	stepMax = 10 * time.Minute
)

// Player runs a scenario's steps on a cluster in virtual time.
type Player struct {
	World    World
	Executor *Executor
	// Ready lists why the cluster does not serve yet.
	Ready func() []string
}

// Run runs a scenario to its end, or to the first step that fails.
func (p *Player) Run(ctx context.Context, s *Scenario) Report {
	report := Report{Name: s.Name, Title: s.Title, Seed: s.Seed, Steps: []StepReport{}}
	if !p.World.RunWhile(func() bool { return len(p.Ready()) > 0 }, p.World.Now()+bootMax) {
		report.Failure = "the cluster did not come up: " + strings.Join(p.Ready(), ", ")
		return report
	}
	report.OK = true
	for i := range s.Steps {
		if err := ctx.Err(); err != nil {
			report.OK, report.Failure = false, "broken off: "+err.Error()
			break
		}
		step := p.step(&s.Steps[i])
		report.Steps = append(report.Steps, step)
		if !step.OK {
			report.OK = false
			break
		}
		if s.Steps[i].Command.checks() {
			report.Checks++
		}
	}
	report.Virtual = p.World.Now()
	return report
}

// checks says whether the command can fail the scenario by what it finds.
func (c *Command) checks() bool { return c.expects != "" || c.given("expression") }

func (p *Player) step(s *Step) StepReport {
	report := StepReport{Line: s.Line, Command: s.Text}
	ended := false
	limit := p.World.Now() + stepMax
	for _, name := range []string{"within", "timeout", "duration"} {
		limit += s.Command.value(name).duration
	}
	p.Executor.Run(s.Command, "scenario", func(result Result, err *Error) {
		ended = true
		report.OK, report.Text = err == nil, result.Text
		if err != nil {
			report.Text = err.Error()
		}
	})
	if !p.World.RunWhile(func() bool { return !ended }, limit) {
		report.Text = fmt.Sprintf("it did not end by virtual time %v", limit)
	}
	report.At = p.World.Now()
	return report
}

// Options are what a headless run may choose.
type Options struct {
	Seed    *uint64 // instead of the scenario's own
	DataDir string  // "" keeps everything in memory
	Events  world.Sink
	Log     *slog.Logger
}

// Play runs a scenario on a fresh cluster of its own. An error means that there was no cluster; a
// scenario that failed is a report.
func Play(ctx context.Context, s *Scenario, o Options) (report Report, err error) {
	chosen := *s
	if o.Seed != nil {
		chosen.Seed = *o.Seed
	}
	settings := map[string]string{}
	for _, each := range s.Settings {
		settings[each.Name] = each.Value
	}
	c, err := cluster.New(cluster.Config{Seed: chosen.Seed, Latency: s.Latency, Brokers: s.Brokers,
		Controllers: s.Voters, DataDir: o.DataDir, Events: o.Events, Log: o.Log, Settings: settings,
		PanicThrough: true})
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.Start(); err != nil {
		return Report{}, err
	}
	player := &Player{World: c.World(), Executor: Attach(c, nil), Ready: c.Ready}
	report = player.Run(ctx, &chosen)
	// The last step's own events go out with the instant that follows it.
	next := c.World().Now() + lastInstant
	c.World().RunWhile(func() bool { return c.World().Now() < next }, next)
	return report, nil
}

// lastInstant is how long a cluster goes on after its scenario.
const lastInstant = time.Second

// Attach makes an executor for a cluster.
func Attach(c *cluster.Cluster, pacer Pacer) *Executor {
	present := func() Client {
		if running := c.Client(); running != nil {
			return running
		}
		return nil
	}
	return New(Config{Cluster: c, Client: present, Events: c.World().Events(),
		Now: c.World().Now, Pacer: pacer})
}
