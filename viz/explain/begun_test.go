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

func TestALeadersOwnAppendsDoNotChangeWhereItHadTheHighWatermarkFrom(t *testing.T) {
	all := []event.NodeID{1, 2}
	led(event.NodeStopped{How: "kill"}, event.NodeStarted{Role: "broker", Incarnation: 2},
		event.LogOpened{Topic: "orders"},
		event.BecameLeader{Topic: "orders", LeaderEpoch: 1, PartitionEpoch: 1, Isr: all, Replicas: all,
			MinIsr: 2},
		event.BatchAppended{Topic: "orders", LastOffset: 4, Records: 5, Leader: true}).
		hears(t, "hw", "with what its own disk told when it opened its log", "leader before")
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

// A client's produce brings records for many partitions.
func TestAnswersForEachPartitionOfAProduceAreItsOwn(t *testing.T) {
	const timedOut = 7
	client := event.FirstOutside
	both := []emittable{
		event.RequestReceived{Connection: client, Request: 5, API: "Produce", Topic: "plain", Acks: -1},
		event.PartitionReceived{Connection: client, Request: 5, API: "Produce", Topic: "orders"},
		event.WaitBegan{Wait: 8, What: "produce", For: client, Topic: "plain", Needs: 1, Due: 5e6,
			Request: 5},
		event.WaitBegan{Wait: 9, What: "produce", For: client, Topic: "orders", Needs: 1, Due: 5e6,
			Request: 5}}
	led(both...).hears(t, "ack", "One produce to orders-0 waits", "newest")
	answered := append(both, event.WaitEnded{Wait: 9, Outcome: "satisfied"})
	led(answered...).hears(t, "ack", "One produce to orders-0 waits", "newest")
	led(answered...).hears(t, "ack", "answered as one, and waits at broker 1", "newest")
	gone := append(answered, event.ClientDisconnected{Connection: client})
	led(gone...).hears(t, "ack", "No produce to orders-0 waits", "answered as one")
	answered = append(answered, event.WaitEnded{Wait: 8, Outcome: "timed-out"},
		event.PartitionAnswered{Connection: client, Request: 5, API: "Produce", Topic: "orders"},
		event.ResponseSent{Connection: client, Request: 5, API: "Produce", Topic: "plain",
			ErrorCode: timedOut})
	led(answered...).hears(t, "ack", "The newest acknowledgement, of the batch at offset 0, left", "TIMED_OUT")
}

func TestPassportOfARecordOfAnotherPartitionThanTheFirstOfItsRequestIsWhole(t *testing.T) {
	const producer, consumer = event.FirstOutside, event.FirstOutside + 1
	s := led()
	cause := s.tell(1, event.RequestReceived{Connection: producer, Request: 5, API: "Produce",
		Topic: "plain", Acks: 1})
	leader := event.NewEmitter(s.log, &s.now, 1)
	leader.Cause = cause
	for _, fact := range []emittable{
		event.PartitionReceived{Connection: producer, Request: 5, API: "Produce", Topic: "orders"},
		event.BatchAppended{Topic: "orders", Records: 1, ProducerID: -1, Leader: true},
		event.RecordDescribed{Topic: "orders", Key: "order-3", KeyBytes: 7},
	} {
		fact.Emit(leader, event.RuleNone)
	}
	event.HighWatermarkMoved{Topic: "orders", After: 1}.Emit(leader, event.RuleHighWatermarkMinOfIsr)
	s.tell(1,
		event.PartitionAnswered{Connection: producer, Request: 5, API: "Produce", Topic: "orders"},
		event.ResponseSent{Connection: producer, Request: 5, API: "Produce", Topic: "plain", ErrorCode: 3},
		event.PartitionAnswered{Connection: consumer, Request: 6, API: "Fetch", Topic: "orders", Records: 1},
		event.ResponseSent{Connection: consumer, Request: 6, API: "Fetch", Topic: "plain", Records: 9})
	film := s.film()
	_, end := film.Range()
	p, err := explain.PassportOf(film, explain.Record{Topic: "orders"}, end)
	if err != nil {
		t.Fatal(err)
	}
	if got := stations(p); got != "key received appended committed acked delivered" {
		t.Errorf("%s: %+v", got, p.Steps)
	}
}

func TestWhatABatchHasBeforeTheOffsetAskedForIsNotDelivered(t *testing.T) {
	const consumer = event.FirstOutside
	s := led(event.BatchAppended{Topic: "orders", LastOffset: 1, Records: 2, ProducerID: -1, Leader: true},
		event.HighWatermarkMoved{Topic: "orders", After: 2},
		event.RequestReceived{Connection: consumer, Request: 5, API: "Fetch", Topic: "orders", Offset: 1},
		event.ResponseSent{Connection: consumer, Request: 5, API: "Fetch", Topic: "orders", Records: 2})
	film := s.film()
	_, last := film.Range()
	for offset, want := range []string{"appended below-hw", "appended below-hw delivered"} {
		p, err := explain.PassportOf(film, explain.Record{Topic: "orders",
			Offset: event.Offset(offset)}, last)
		if err != nil {
			t.Fatal(err)
		}
		if got := stations(p); got != want {
			t.Errorf("offset %d: %s, want %s", offset, got, want)
		}
	}
}

func TestProduceThatStandsBehindAnotherRequestOfItsConnectionIsSaidToWait(t *testing.T) {
	const client = event.FirstOutside
	behind := []emittable{
		event.RequestReceived{Connection: client, Request: 5, API: "Fetch", Topic: "plain"},
		event.RequestReceived{Connection: client, Request: 6, API: "Produce", Topic: "orders", Acks: 1}}
	led(behind...).hears(t, "ack", "stands behind its Fetch of 5.0 ms", "No produce")
	led(append(behind, event.ResponseSent{Connection: client, Request: 5, API: "Fetch"})...).
		hears(t, "ack", "No produce to orders-0 waits", "stands behind")
}

func TestAnswersToARepeatedBatchAreTold(t *testing.T) {
	const producer = event.FirstOutside
	s := led()
	ask := func(request int64, fact emittable, code int32) {
		leader := event.NewEmitter(s.log, &s.now, 1)
		leader.Cause = s.tell(1, event.RequestReceived{Connection: producer, Request: request,
			API: "Produce", Topic: "orders", Acks: -1})
		fact.Emit(leader, event.RuleNone)
		s.tell(1, event.ResponseSent{Connection: producer, Request: request, API: "Produce",
			Topic: "orders", ErrorCode: code})
	}
	again := event.DuplicateSuppressed{Topic: "orders", ProducerID: 7}
	ask(5, event.BatchAppended{Topic: "orders", Records: 1, ProducerID: 7, Leader: true}, 7)
	ask(6, again, 7)
	ask(7, again, 0)
	film := s.film()
	_, last := film.Range()
	p, err := explain.PassportOf(film, explain.Record{Topic: "orders"}, last)
	if err != nil {
		t.Fatal(err)
	}
	if got := stations(p); got != "received appended refused retry refused retry acked" {
		t.Errorf("%s: %+v", got, p.Steps)
	}
}

func TestPassportSaysThatAProducerWasNeverAnswered(t *testing.T) {
	const producer = event.FirstOutside
	for _, end := range []emittable{event.NodeStopped{How: "kill"},
		event.ClientDisconnected{Connection: producer}} {
		s := led(event.RequestReceived{Connection: producer, Request: 5, API: "Produce", Topic: "orders",
			Acks: -1}, event.BatchAppended{Topic: "orders", Records: 1, ProducerID: -1, Leader: true},
			event.ClientDisconnected{Connection: producer + 1}, end)
		film := s.film()
		_, last := film.Range()
		p, err := explain.PassportOf(film, explain.Record{Topic: "orders"}, last)
		if err != nil {
			t.Fatal(err)
		}
		if got := stations(p); got != "received appended unanswered" {
			t.Errorf("%T: %s: %+v", end, got, p.Steps)
		}
	}
}

func TestProduceThatNobodyWaitsForIsNotSaidToBeAcknowledged(t *testing.T) {
	led(event.RequestReceived{Request: 5, API: "Produce", Topic: "orders"},
		event.ResponseSent{Request: 5, API: "Produce", Topic: "orders"}).
		hears(t, "ack", "No produce to orders-0 waits", "newest acknowledgement")
}

func TestFetchThatWaitsAtAPausedBrokerIsNotPromisedAnAnswer(t *testing.T) {
	wait := event.WaitBegan{Wait: 9, What: "fetch", For: 2, Topic: "orders", Needs: 1, Due: 5e6}
	led(wait).hears(t, "fetch", "It is answered at 5.0 ms at the latest", "paused")
	led(wait, event.NodePaused{}).hears(t, "fetch", "Its time ends at 5.0 ms, but broker 1 is paused",
		"at the latest")
	led(event.NodePaused{}).hears(t, "fetch", "Broker 1 leads orders-0 and is paused", "")
}
