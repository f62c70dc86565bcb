package scenarios

import (
	"context"
	"testing"

	"highwater/cluster/event"
	"highwater/viz/audit"
)

// counter is a sink that counts, and has the referee judge.
type counter struct {
	events  int
	referee *audit.Auditor
}

func (c *counter) Publish(full *event.Chunk) *event.Chunk {
	c.events += len(full.Records)
	c.referee.Chunk(full)
	full.Reset()
	return full
}

func TestEveryScenarioOfTheLibraryHolds(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Library(name)
			if err != nil {
				t.Fatal(err)
			}
			sink := &counter{referee: audit.New()}
			report, err := Play(context.Background(), s, Options{Events: sink})
			if err != nil {
				t.Fatal(err)
			}
			broken := map[string]string{}
			for _, v := range sink.referee.Violations() {
				broken[v.Promise] = v.Text
			}
			report.Judge(s, broken)
			for _, step := range report.Steps {
				t.Logf("%12v line %d: %s: %s", step.At, step.Line, step.Command, step.Text)
			}
			if !report.OK {
				t.Errorf("failed %s", report.Failure)
			}
			if sink.events == 0 || report.Checks == 0 {
				t.Errorf("%d events, %d checks", sink.events, report.Checks)
			}
		})
	}
}

func TestRunIsJudgedByThePromisesThatItsScenarioIsThereToBreak(t *testing.T) {
	legacy := &Scenario{Breaks: []string{"log.committed-stays"}}
	for _, c := range []struct {
		scenario *Scenario
		broken   map[string]string
		failure  string
	}{
		{&Scenario{}, nil, ""},
		{&Scenario{}, map[string]string{"hw.never-back": "it went back"},
			"broken promise: it went back"},
		{legacy, map[string]string{"log.committed-stays": "gone"}, ""},
		{legacy, nil, "nothing broke log.committed-stays"},
	} {
		r := Report{OK: true}
		r.Judge(c.scenario, c.broken)
		if r.Failure != c.failure || r.OK != (c.failure == "") {
			t.Errorf("%v: %t %q, want %q", c.broken, r.OK, r.Failure, c.failure)
		}
	}
}
