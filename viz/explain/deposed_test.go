package explain_test

import (
	"slices"
	"strings"
	"testing"

	"highwater/cluster/event"
	"highwater/viz/explain"
)

// A leader that nobody can tell of its successor goes on, and answers keep the two apart; what once
// befell a broker that has been back since is no reason.
func TestAnswersKnowADeposedLeaderAndWhatIsOver(t *testing.T) {
	r := script(t, "topic orders replicas=1,2,3", "kill 1", "sleep 12s", "restart 1", "sleep 5s",
		"elect orders-0 preferred", "sleep 2s", "why leader orders-0",
		"producer p", "send orders key=kept by=p", "cut 1-101", "cut 1-102", "cut 1-103", "sleep 20s",
		"send orders key=lost by=p nowait", "sleep 1s", "why ack orders-0",
		"heal all", "sleep 5s", "pause 2", "sleep 15s", "resume 2", "sleep 1s", "why hw orders-0")
	a := r.why("leader", "orders", r.command("why leader"))
	r.says(a.Why, "in a preferred election", event.RuleElectionPreferred, event.KindPartitionChanged)
	for _, s := range a.Why {
		if strings.Contains(s.Text, "had gone") {
			t.Errorf("a reason that was over: %s", s.Text)
		}
	}
	at := r.command("why ack")
	a = r.why("leader", "orders", at)
	r.says(a.Why, "Broker 1, which led before, was fenced", event.RuleSessionTimeout,
		event.KindBrokerFenced)
	if text := a.Why[len(a.Why)-1].Text; strings.Contains(text, "had gone") {
		t.Errorf("a reason that was over: %s", text)
	}
	r.says(a.Why, "heartbeats do not reach controller", 0, event.KindLinkCut)
	a = r.why("isr", "orders", at)
	r.says(a.NotYet, "no heartbeat of it had reached", event.RuleSessionTimeout, event.KindBrokerFenced)
	r.says(a.NotYet, "heartbeats do not reach controller", 0, event.KindLinkCut)
	a = r.why("ack", "orders", at)
	r.says(a.NotYet, "for the high watermark to reach 2; it is 1",
		event.RuleAcksAllWaitsForHighWatermark, event.KindWaitBegan)
	r.says(a.NotYet, "can commit nothing of its epoch", event.RuleLeaderEpochBump,
		event.KindPartitionChanged)
	for _, s := range a.Why {
		if strings.Contains(s.Text, "Nothing waits") {
			t.Errorf("the new leader's high watermark explains nothing here: %s", s.Text)
		}
	}
	p, err := explain.PassportOf(r, explain.Record{Topic: "orders", Offset: 1, Epoch: 2}, at)
	if err != nil {
		t.Fatal(err)
	}
	r.says(p.NotYet, "cuts it off at its next fetch", event.RuleLeaderEpochBump,
		event.KindPartitionChanged)
	a = r.why("leader", "orders", r.last())
	r.says(a.Why, "Broker 2 had been paused at", 0, event.KindNodePaused)
}

func TestAProduceThatAPausedLeaderHasNotReadWaitsToo(t *testing.T) {
	r := script(t, "topic orders replicas=1,2,3", "producer p", "send orders value=a by=p", "pause 1",
		"send orders value=b by=p nowait", "sleep 1s", "why ack orders-0")
	a := r.why("ack", "orders", r.last())
	r.says(a.NotYet, "What p has sent to broker 1 lies there unread", 0, event.KindNodePaused)
	if a.Title != "One produce to orders-0 waits for its acknowledgement." {
		t.Error(a.Title)
	}
}

func TestAnswersAboutLogsThatWereCutDeletedOrWaitForBytes(t *testing.T) {
	r := script(t, "topic orders replicas=1,2,3", "send orders value=a", "cut 1-2", "cut 1-3",
		"send orders value=b acks=1", "kill 1", "sleep 12s", "heal all", "restart 1", "sleep 5s",
		"elect orders-0 preferred", "why leo orders-0",
		"consumer slow topic=orders from=earliest fetch.min.bytes=100000 fetch.max.wait.ms=20000",
		"sleep 2s", "why fetch orders-0",
		"topic old replicas=1,2,3 segment.ms=1000 retention.ms=5000", "send old key=gone value=1",
		"sleep 20s", "send old value=2", "retain old-0", "sleep 1s", "kill 1", "kill 2", "kill 3",
		"sleep 20s")
	a := r.why("leo", "orders", r.command("why leo"))
	r.says(a.Why, "cut it from 2 back to 1", event.RuleTruncateToEndOfEpoch, event.KindLogTruncated)
	a = r.why("fetch", "orders", r.command("why fetch"))
	r.says(a.NotYet, "for more bytes than there are", event.RuleLongPoll, event.KindWaitBegan)
	if p := r.passport("gone", r.last()); p.Fate != "deleted" {
		t.Errorf("what retention deleted is %s once nobody leads: %s", p.Fate, p.FateText)
	}
}

// An ISR that nobody proposed comes of a broker that is fenced or shuts down.
func TestAnIsrSaysWhetherItsLeaderHadProposedIt(t *testing.T) {
	r := script(t, "topic orders replicas=1,2,3", "kill 3", "sleep 12s", "restart 3",
		`wait isr("orders-0") == [1,2,3] within 20s`, "stop 2", "sleep 3s", "restart 2",
		`wait isr("orders-0") == [1,2,3] within 20s`)
	var rules []string
	for i := range r.events.Records {
		if e := &r.events.Records[i]; e.Kind == event.KindIsrChanged {
			if r.events.IsrChanged(e).Topic == "orders" {
				rules = append(rules, e.Rule.String())
			}
		}
	}
	want := []string{"isr.shrink-fenced", "isr.only-by-controller", "isr.shrink-fenced",
		"isr.only-by-controller"}
	if !slices.Equal(rules, want) {
		t.Errorf("the rules are %q, not %q", rules, want)
	}
}

// What an unclean election took away stays lost when its leader is gone, too.
func TestWhatWasLostStaysLostWithoutALeader(t *testing.T) {
	r := script(t, "topic w replicas=1,2,3 unclean.leader.election.enable=true",
		"producer p acks=1", "send w by=p key=k0", "sleep 1s", "kill 3", "sleep 12s",
		"send w by=p key=k1", "sleep 6s", "kill 1", "kill 2", "sleep 11s", "restart 3", "sleep 5s",
		"send w by=p key=new", "sleep 3s", "kill 3", "sleep 12s")
	for key, fate := range map[string]string{"k1": "lost by truncation", "new": "committed"} {
		if p := r.passport(key, r.last()); p.Fate != fate {
			t.Errorf("%s is %s: %s", key, p.Fate, p.FateText)
		}
	}
}

// What was committed is lost with an election whose winner does not have it, and not only when that
// one has written something else there.
func TestACommittedRecordThatTheElectedLeaderLacksIsLost(t *testing.T) {
	r := script(t, "topic w replicas=1,2,3 min.insync.replicas=2 unclean.leader.election.enable=true",
		"producer p", "send w by=p key=k1", "sleep 3s", "kill 3", "sleep 11s", "send w by=p key=k2",
		"sleep 1s", "kill 2", "sleep 11s", "kill 1", "sleep 11s", "restart 3", "sleep 15s", "sleep 1ms",
		"kill 3", "sleep 12s", "sleep 2ms", "restart 3", "sleep 5s", "restart 1", "sleep 60s")
	for _, at := range []event.Seq{r.command("sleep 1ms"), r.command("sleep 2ms"), r.last()} {
		if p := r.passport("k2", at); p.Fate != "lost by truncation" {
			t.Errorf("k2 is %s: %s", p.Fate, p.FateText)
		}
		if p := r.passport("k1", at); p.Fate != "committed" {
			t.Errorf("k1 is %s: %s", p.Fate, p.FateText)
		}
	}
}

// A leader that was back before its session had ended was fenced by its own new registration.
func TestALeaderThatCameBackInsideItsSessionIsSaidToHaveBeenAway(t *testing.T) {
	r := script(t, "topic w replicas=1,2,3", "sleep 2s", "kill 1", "restart 1", "sleep 2s")
	a := r.why("leader", "w", r.last())
	r.says(a.Why, "Broker 1 had gone (kill) at", event.RuleBrokerEpochFencing, event.KindNodeStarted)
}

// A batch that its producer keeps waits for its acknowledgement, too.
func TestWhatAProducerKeepsBecauseOfADeadLeaderIsSaidToWait(t *testing.T) {
	r := script(t, "topic w replicas=1,2,3", "producer p", "send w value=a by=p", "kill 1",
		"send w value=b by=p nowait", "sleep 3s", "why ack w-0")
	a := r.why("ack", "w", r.last())
	r.says(a.NotYet, "p sends a batch again, because", 0, event.KindBatchRequeued)
	r.says(a.NotYet, "Broker 1 leads w-0 on paper and is gone (kill)", 0, event.KindNodeStopped)
}

// A disk that hangs makes a broker stand still, which is no pause that anybody asked for; and
// without an active controller nobody can be elected.
func TestAnswersKnowAHungDiskAndThatNoControllerIsActive(t *testing.T) {
	r := script(t, "topic orders replicas=1,2,3", "producer p", "disk 3 hung",
		"send orders value=1 by=p nowait", "sleep 1s", "why hw orders-0", "disk 3 ok", "sleep 5s",
		"send orders value=2 by=p nowait", "disk 1 hung", "sleep 1s", "why ack orders-0",
		`wait leader("orders-0") != 1 within 30s`, "why leader orders-0",
		"kill 102", "kill 103", "kill 2", "sleep 1s")
	a := r.why("hw", "orders", r.command("why hw"))
	r.says(a.NotYet, "Broker 3 is in the ISR and waits for its disk: it handles", 0, event.KindDiskFaultSet)
	a = r.why("ack", "orders", r.command("why ack"))
	r.says(a.NotYet, "lies there unread: it waits for its disk and", 0, event.KindDiskFaultSet)
	a = r.why("leader", "orders", r.command("why leader"))
	r.says(a.Why, "The disk of broker 1 had hung at", 0, event.KindDiskFaultSet)
	a = r.why("leader", "orders", r.last())
	r.says(a.NotYet, "on paper and is gone (kill)", 0, event.KindNodeStopped)
	r.says(a.NotYet, "No controller is active that could elect another leader", 0, 0)
}
