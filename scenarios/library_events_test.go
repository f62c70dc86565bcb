package scenarios

import (
	"context"
	"testing"

	"highwater/cluster/event"
)

// kindCounter is a sink that counts events by kind.
type kindCounter map[event.Kind]int

func (c kindCounter) Publish(full *event.Chunk) *event.Chunk {
	for i := range full.Records {
		c[full.Records[i].Kind]++
	}
	full.Reset()
	return full
}

// noScenarioShows are the kinds that no scenario can have, and which test has them instead.
func noScenarioShows() map[event.Kind]string {
	const outside = "a scenario has no clients but its own; with real sockets " +
		"cluster.TestFranzGoReadsBackTheSameBytesInEveryCodec sees it"
	const several = "the built-in clients speak of one partition a request; " +
		"broker.TestEventsTellEachPartitionOfAProduce sees it"
	return map[event.Kind]string{
		event.KindPartitionReceived:  several,
		event.KindPartitionAnswered:  several,
		event.KindClientConnected:    outside,
		event.KindClientDisconnected: outside,
		event.KindCommandFailed: "a scenario that has it fails; " +
			"scenarios.TestFailedCommandLeavesAnEvent sees it",
		event.KindRecordingTruncated: "it takes more events than a scenario has; " +
			"lesson.TestFullRecordingIsToldInTheTrace sees it",
	}
}

func TestEveryKindOfEventHappensInSomeScenario(t *testing.T) {
	seen := kindCounter{}
	for _, name := range Names() {
		s, err := Library(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Play(context.Background(), s, Options{Events: seen}); err != nil {
			t.Fatal(err)
		}
	}
	exempt := noScenarioShows()
	for _, row := range event.Rows() {
		switch reason := exempt[row.Kind]; {
		case seen[row.Kind] == 0 && reason == "":
			t.Errorf("no scenario has %s: %s", row.Name, row.Emitted)
		case seen[row.Kind] > 0 && reason != "":
			t.Errorf("%s is exempt, and a scenario has it", row.Name)
		}
	}
}

// quorumWatch is a sink that keeps what the metadata quorum's leaders have committed.
type quorumWatch struct{ committed []event.MetadataCommitted }

func (w *quorumWatch) Publish(full *event.Chunk) *event.Chunk {
	for i := range full.Records {
		if r := &full.Records[i]; r.Kind == event.KindMetadataCommitted {
			w.committed = append(w.committed, full.MetadataCommitted(r))
		}
	}
	full.Reset()
	return full
}

func TestNextControllerGoesOnInALaterEpochFromTheSameHighWatermark(t *testing.T) {
	s, err := Library("quorum-failover")
	if err != nil {
		t.Fatal(err)
	}
	watch := &quorumWatch{}
	if report, err := Play(context.Background(), s, Options{Events: watch}); err != nil || !report.OK {
		t.Fatalf("%v %+v", err, report)
	}
	terms := 0
	for i, c := range watch.committed[1:] {
		before := watch.committed[i]
		switch {
		case c.Term < before.Term || c.HighWatermark < before.HighWatermark:
			t.Errorf("%+v comes after %+v", c, before)
		case c.Term > before.Term:
			terms++
		}
	}
	if terms < 2 {
		t.Errorf("%d controllers took over, want two or more", terms)
	}
}
