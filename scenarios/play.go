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
	"highwater/viz/explain"
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
	// Predictions are graded at the end of the section that decides them.
	Predictions []Graded `json:"predictions,omitempty"`
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
		r.fail(strings.Join(failures, "; "))
	}
}

// fail adds a reason for the failure.
func (r *Report) fail(reason string) {
	r.OK = false
	r.Failure = strings.TrimSpace(r.Failure + " " + reason)
}

// World lets virtual time pass; *world.World is one.
type World interface {
	Now() time.Duration
	// RunWhile runs as long as the condition holds, at most up to a virtual time, and says whether
	// the condition ended.
	RunWhile(condition func() bool, until time.Duration) bool
	// Publish hands on what has happened so far in the present instant.
	Publish()
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
	// Broken says which node broke an invariant, "" while none has. It may be nil.
	Broken func() string
}

// Run runs a scenario to its end, or to the first step that fails.
func (p *Player) Run(ctx context.Context, s *Scenario) Report {
	report := Report{Name: s.Name, Title: s.Title, Seed: s.Seed, Steps: []StepReport{}}
	if err := p.Boot(); err != nil {
		report.Failure = err.Error()
		return report
	}
	report.OK = true
	for i := range s.Steps {
		if err := ctx.Err(); err != nil {
			report.OK, report.Failure = false, "broken off: "+err.Error()
			break
		}
		step, graded := p.Step(s, i)
		report.Steps = append(report.Steps, step)
		report.Predictions = append(report.Predictions, graded...)
		if !step.OK {
			report.OK = false
			break
		}
		if s.Steps[i].Command.checks() {
			report.Checks++
		}
		for _, g := range graded {
			if !g.OK() {
				report.OK = false
				report.Failure = fmt.Sprintf("the prediction of line %d: %s", g.Line, g.Seen)
			}
		}
	}
	report.Virtual = p.World.Now()
	return report
}

// Boot runs the cluster until it serves.
func (p *Player) Boot() error {
	if !p.World.RunWhile(func() bool { return len(p.Ready()) > 0 }, p.World.Now()+bootMax) {
		return fmt.Errorf("the cluster did not come up: %s", strings.Join(p.Ready(), ", "))
	}
	return nil
}

// Checks says whether a step can fail the scenario by what it finds.
func (s *Step) Checks() bool { return s.Command.checks() }

// checks says whether the command can fail the scenario by what it finds.
func (c *Command) checks() bool { return c.expects != "" || c.given("expression") }

// Step runs the step at an index. After the last one of a section it also grades the predictions
// that the section decides.
func (p *Player) Step(s *Scenario, i int) (StepReport, []Graded) {
	step := &s.Steps[i]
	report := StepReport{Line: step.Line, Command: step.Text}
	report.OK, report.Text, report.At = p.run(step.Command, "scenario")
	if !report.OK || !s.EndsSection(i) {
		return report, nil
	}
	var graded []Graded
	for k := range s.Predictions {
		if q := &s.Predictions[k]; q.Section == step.Section {
			graded = append(graded, p.Grade(q))
		}
	}
	return report, graded
}

// run runs one command to its end in virtual time.
func (p *Player) run(command *Command, by string) (ok bool, text string, at time.Duration) {
	ended := false
	limit := p.World.Now() + stepMax
	for _, name := range []string{"within", "timeout", "duration"} {
		limit += command.value(name).duration
	}
	p.World.Publish() // for a why
	p.Executor.Run(command, by, func(result Result, err *Error) {
		ended = true
		ok, text = err == nil, result.Text
		if err != nil {
			text = err.Error()
		}
	})
	if !p.World.RunWhile(func() bool { return !ended && p.broken() == "" }, limit) {
		text = fmt.Sprintf("it did not end by virtual time %v", limit)
	}
	if broken := p.broken(); broken != "" {
		ok, text = false, strings.TrimPrefix(text+"; "+broken, "; ")
	}
	return ok, text, p.World.Now()
}

func (p *Player) broken() string {
	if p.Broken == nil {
		return ""
	}
	return p.Broken()
}

// Options are what a headless run may choose.
type Options struct {
	Seed    *uint64 // instead of the scenario's own
	DataDir string  // "" keeps everything in memory
	Events  world.Sink
	// Recording is what why answers from; nil where no events are kept.
	Recording explain.Source
	Log       *slog.Logger
	// Survive lets a broken invariant take down one node instead of the process.
	Survive bool
}

// Open starts a fresh cluster as a scenario wants it, in virtual time; nothing has run yet.
func Open(s *Scenario, o Options) (*cluster.Cluster, error) {
	seed := s.Seed
	if o.Seed != nil {
		seed = *o.Seed
	}
	settings := map[string]string{}
	for _, each := range s.Settings {
		settings[each.Name] = each.Value
	}
	c, err := cluster.New(cluster.Config{Seed: seed, Latency: s.Latency, Brokers: s.Brokers,
		Controllers: s.Voters, DataDir: o.DataDir, Events: o.Events, Log: o.Log, Settings: settings,
		PanicThrough: !o.Survive})
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// NewPlayer plays on a cluster that Open started; recording keeps its events, nil for none.
func NewPlayer(c *cluster.Cluster, recording explain.Source) *Player {
	return &Player{World: c.World(), Executor: Attach(c, nil, recording), Ready: c.Ready,
		Broken: c.Broken}
}

// Play runs a scenario on a fresh cluster of its own. An error means that there was no cluster; a
// scenario that failed is a report, and so is one whose cluster did not end well.
func Play(ctx context.Context, s *Scenario, o Options) (Report, error) {
	chosen := *s
	if o.Seed != nil {
		chosen.Seed = *o.Seed
	}
	c, err := Open(s, o)
	if err != nil {
		return Report{}, err
	}
	report := NewPlayer(c, o.Recording).Run(ctx, &chosen)
	// The last step's own events go out with the instant that follows it.
	next := c.World().Now() + lastInstant
	c.World().RunWhile(func() bool { return c.World().Now() < next }, next)
	if broken := c.Broken(); report.OK && broken != "" {
		report.fail(broken)
	}
	if err := c.Close(); err != nil {
		report.fail("closing the cluster: " + strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return report, nil
}

// lastInstant is how long a cluster goes on after its scenario.
const lastInstant = time.Second

// Attach makes an executor for a cluster; recording keeps its events, nil for none.
func Attach(c *cluster.Cluster, pacer Pacer, recording explain.Source) *Executor {
	present := func() Client {
		if running := c.Client(); running != nil {
			return running
		}
		return nil
	}
	return New(Config{Cluster: c, Client: present, Events: c.World().Events(),
		Now: c.World().Now, Pacer: pacer, Recording: recording})
}
