package lesson

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"highwater/cluster"
	"highwater/cluster/event"
	"highwater/cluster/world"
	"highwater/scenarios"
	"highwater/viz/hub"
	"highwater/viz/trace"
)

// Range is a stretch of a world's events, both ends included; To below From is an empty one.
type Range struct {
	From event.Seq `json:"from,string"`
	To   event.Seq `json:"to,string"`
}

// ran is one step that ran.
type ran struct {
	Range
	report scenarios.StepReport
}

// run is one cluster that plays a scenario, with what was recorded of it. It belongs to whoever
// holds the lesson's lock, but for the hub and live, which are everybody's.
type run struct {
	scenario *scenarios.Scenario
	cluster  *cluster.Cluster
	player   *scenarios.Player
	hub      *hub.Hub
	live     *scenarios.Live // nil while steps are run
	freed    time.Duration   // the virtual time since when it is not
	booted   Range
	steps    []ran
	graded   map[int]scenarios.Graded // by the line of the prediction
	failure  string
}

const (
	// recordedEventsMax bounds what one lesson keeps: far more than any scenario of the library.
	recordedEventsMax = 400_000
	// stepEventsMax is how many events of a step a page gets one by one. A step happens at once, and
	// its page plays it afterwards, for which it needs them all.
	stepEventsMax = 100_000
)

// begin starts a cluster as the scenario wants it and runs it until it serves.
func begin(s *scenarios.Scenario, free bool, log *slog.Logger) (*run, error) {
	r := &run{scenario: s, graded: map[int]scenarios.Graded{}}
	config := hub.Config{Run: rand.Text(), EventsMax: recordedEventsMax, Truncated: r.truncated}
	if !free {
		config.FrameEventsMax = stepEventsMax
	}
	config.Header = trace.Header{Seed: int64(s.Seed), Origin: cluster.SeededOrigin().UnixMilli(),
		Software: cluster.Version}
	r.hub = hub.New(config)
	c, err := scenarios.Open(s, scenarios.Options{Events: r.hub, Log: log, Survive: true})
	if err != nil {
		r.hub.Close()
		return nil, err
	}
	r.cluster, r.player = c, scenarios.NewPlayer(c, r.hub)
	err = r.player.Boot()
	r.booted = Range{1, r.published()}
	r.stand()
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *run) truncated(events, from int64) {
	event.RecordingTruncated{Events: events, From: from}.
		Emit(r.cluster.World().Events(), event.RuleNone)
}

// published hands all events to the hub and says which is the last one.
func (r *run) published() event.Seq {
	r.cluster.World().Publish()
	_, last := r.hub.Range()
	return last
}

// stand tells the page that time stands still.
func (r *run) stand() {
	r.hub.SetPace(hub.NewPace(1, true, r.cluster.World().Now()))
}

// next runs one step, and grades what it decides.
func (r *run) next() {
	from := r.published() + 1
	report, graded := r.player.Step(r.scenario, len(r.steps))
	r.steps = append(r.steps, ran{Range{from, r.published()}, report})
	if !report.OK {
		r.failure = report.Text
	}
	for _, g := range graded {
		r.graded[g.Line] = g
		if !g.OK() {
			r.failure = g.Seen
		}
	}
	r.stand()
}

// letGo lets time run by the wall clock, with all controls.
func (r *run) letGo() {
	r.live = scenarios.NewLive(r.cluster, r.hub)
	w := r.cluster.World()
	r.freed = w.Now()
	w.OnPace(func(p world.Pace) {
		r.hub.SetPace(hub.NewPace(p.Rate, p.Paused, w.Now()))
	})
	r.cluster.Run()
}

func (r *run) close() error {
	err := r.cluster.Close()
	r.hub.Close()
	return err
}
