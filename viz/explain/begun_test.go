package explain_test

import (
	"strings"
	"testing"

	"highwater/cluster/event"
	"highwater/viz/explain"
)

// hears asks a story's end why, and looks for what the answer must and must not say.
func (s *story) hears(t *testing.T, of, says, not string) {
	t.Helper()
	film := s.film()
	_, end := film.Range()
	a, err := explain.Why(film, explain.Question{Of: of, Topic: "orders", At: end})
	if err != nil {
		t.Fatal(err)
	}
	text := a.Title
	for _, sentence := range append(a.Why, a.NotYet...) {
		text += "\n" + sentence.Text
	}
	if !strings.Contains(text, says) || not != "" && strings.Contains(text, not) {
		t.Errorf("why %s: without %q or with %q:\n%s", of, says, not, text)
	}
}

// led is a leader of a new topic.
func led(more ...emittable) *story {
	s := &story{log: event.NewLog()}
	alone := []event.NodeID{1}
	s.tell(1, event.NodeStarted{Role: "broker", Incarnation: 1},
		event.PartitionChanged{Topic: "orders", Leader: 1, LeaderBefore: -1, Replicas: alone, Isr: alone},
		event.LogOpened{Topic: "orders"},
		event.BecameLeader{Topic: "orders", Isr: alone, Replicas: alone, MinIsr: 1})
	s.tell(1, more...)
	return s
}

func TestFirstLeaderOfATopicHasTheHighWatermarkFromNobody(t *testing.T) {
	led().hears(t, "hw", "Broker 1 began to lead at 4.0 ms, the first to do so", "leader before")
}

func TestWhatAPowerCutTookIsSaidOfTheHighWatermarkAndTheLogEnd(t *testing.T) {
	alone := []event.NodeID{1}
	for how, took := range map[string]string{"power-cut": "The power cut at 7.0 ms took what the " +
		"disk of broker 1 had not synced: its log ended at 5 before, and at 2 when it was opened again",
		"kill": "at 2."} {
		for of, says := range map[string]string{"leo": took,
			"hw": "with what its own disk told when it opened its log at 9.0 ms: 2"} {
			led(event.BatchAppended{Topic: "orders", LastOffset: 4, Records: 5, Leader: true},
				event.HighWatermarkMoved{Topic: "orders", After: 5},
				event.NodeStopped{How: how, LostBytes: 300},
				event.NodeStarted{Role: "broker", Incarnation: 2},
				event.LogOpened{Topic: "orders", LogEndOffset: 2, HighWatermark: 2},
				event.BecameLeader{Topic: "orders", LeaderEpoch: 1, PartitionEpoch: 1, Isr: alone,
					Replicas: alone, MinIsr: 1, StartOffset: 2, HighWatermark: 2}).
				hears(t, of, says, "leader before")
		}
	}
}

func TestFetchThatWaitsAtAPausedBrokerIsNotPromisedAnAnswer(t *testing.T) {
	wait := event.WaitBegan{Wait: 9, What: "fetch", For: 2, Topic: "orders", Needs: 1, Due: 5e6}
	led(wait).hears(t, "fetch", "It is answered at 5.0 ms at the latest", "paused")
	led(wait, event.NodePaused{}).hears(t, "fetch", "Its time ends at 5.0 ms, but broker 1 is paused",
		"at the latest")
	led(event.NodePaused{}).hears(t, "fetch", "Broker 1 leads orders-0 and is paused", "")
}
