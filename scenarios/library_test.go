package scenarios

import (
	"context"
	"testing"

	"highwater/cluster/event"
)

// counter is a sink that only counts, so that runs have their events on.
type counter struct{ events int }

func (c *counter) Publish(full *event.Chunk) *event.Chunk {
	c.events += len(full.Records)
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
			sink := &counter{}
			report, err := Play(context.Background(), s, Options{Events: sink})
			if err != nil {
				t.Fatal(err)
			}
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
