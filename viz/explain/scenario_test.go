package explain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"highwater/cluster/event"
	"highwater/scenarios"
	"highwater/viz/explain"
	"highwater/viz/model"
	"highwater/viz/trace"
)

// recording is a scenario's whole run.
type recording struct {
	*explain.Film
	t      *testing.T
	events *event.Chunk
}

// recorder writes events as a trace, from which they are read back as one chunk.
type recorder struct {
	text   bytes.Buffer
	writer *trace.Writer
	err    error
}

// Publish is world.Sink's.
func (r *recorder) Publish(full *event.Chunk) *event.Chunk {
	if n := len(full.Records); n > 0 && r.err == nil {
		r.err = r.writer.Chunk(full, full.Records[0].Seq, full.Records[n-1].Seq)
	}
	full.Reset()
	return full
}

func play(t *testing.T, name string) *recording {
	t.Helper()
	s, err := scenarios.Library(name)
	if err != nil {
		t.Fatal(err)
	}
	return record(t, s)
}

func record(t *testing.T, s *scenarios.Scenario) *recording {
	t.Helper()
	r := &recorder{}
	r.writer = trace.NewWriter(&r.text, trace.Header{})
	report, err := scenarios.Play(context.Background(), s, scenarios.Options{Events: r})
	if err != nil || !report.OK || r.err != nil {
		t.Fatalf("%s: %v %v %v", s.Name, err, r.err, report.Failure)
	}
	if err := r.writer.Flush(); err != nil {
		t.Fatal(err)
	}
	read, err := trace.ReadAll(&r.text)
	if err != nil {
		t.Fatal(err)
	}
	return &recording{explain.NewFilm(model.New(), read.Chunk), t, read.Chunk}
}

// command is the event of the nth command that begins so; the moment after it shows what a learner
// sees who stops there.
func (r *recording) command(begins string) event.Seq {
	r.t.Helper()
	for i := range r.events.Records {
		e := &r.events.Records[i]
		if e.Kind == event.KindCommandRan &&
			bytes.HasPrefix([]byte(r.events.CommandRan(e).Command), []byte(begins)) {
			return e.Seq
		}
	}
	r.t.Fatalf("no command begins with %q", begins)
	return 0
}

func (r *recording) last() event.Seq {
	_, last := r.Range()
	return last
}

func (r *recording) why(of, topic string, at event.Seq) *explain.Answer {
	r.t.Helper()
	a, err := explain.Why(r, explain.Question{Of: of, Topic: topic, At: at})
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

func (r *recording) passport(key string, at event.Seq) *explain.Passport {
	r.t.Helper()
	of, err := explain.Find(r, key, r.last())
	if err != nil {
		r.t.Fatal(err)
	}
	p, err := explain.PassportOf(r, of, at)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// says fails unless one of the sentences has the words, the rule, and an event of the kind.
func (r *recording) says(list []explain.Sentence, words string, rule event.Rule, kind event.Kind) {
	r.t.Helper()
	for _, s := range list {
		if !strings.Contains(s.Text, words) {
			continue
		}
		if s.Rule != rule.String() {
			r.t.Errorf("%q rests on the rule %q, not %q", s.Text, s.Rule, rule)
		}
		if got := r.kind(s.Seq); got != kind {
			r.t.Errorf("%q rests on event %d, a %v, not a %v", s.Text, s.Seq, got, kind)
		}
		return
	}
	r.t.Errorf("nothing says %q: %+v", words, list)
}

func (r *recording) kind(seq event.Seq) event.Kind {
	for i := range r.events.Records {
		if r.events.Records[i].Seq == seq {
			return r.events.Records[i].Kind
		}
	}
	return 0
}

func (r *recording) fate(key string, at event.Seq, fate string, kind event.Kind) *explain.Passport {
	r.t.Helper()
	p := r.passport(key, at)
	if p.Fate != fate {
		r.t.Errorf("at event %d the fate of %s is %q, want %q: %s", at, key, p.Fate, fate, p.FateText)
	}
	if got := r.kind(p.FateSeq); got != kind {
		r.t.Errorf("the fate of %s rests on event %d, a %v, not a %v", key, p.FateSeq, got, kind)
	}
	return p
}

// stations are the kinds of a passport's steps in order.
func stations(p *explain.Passport) string {
	var kinds []string
	for _, s := range p.Steps {
		kinds = append(kinds, s.Kind)
	}
	return strings.Join(kinds, " ")
}

func TestHighWatermarkIsSaidToStandStillUnderMinIsr(t *testing.T) {
	r := play(t, "record-nobody-can-read")
	at := r.command(`expect hw("strict-0") == 0`)
	a := r.why("hw", "strict", at)
	r.says(a.NotYet, "has 1 of the 2 replicas", event.RuleHighWatermarkFrozenUnderMinIsr,
		event.KindIsrChanged)
	r.says(a.NotYet, "Broker 3 is out of the ISR and is gone (kill)", 0, event.KindNodeStopped)
	r.says(a.NotYet, "Broker 3 is fenced", event.RuleSessionTimeout, event.KindBrokerFenced)
	isr := r.why("isr", "strict", at)
	r.says(isr.Why, "committed the ISR [1]", event.RuleIsrShrinkFenced, event.KindPartitionChanged)
	end := r.why("hw", "strict", r.last())
	if len(end.NotYet) != 0 {
		t.Errorf("at the end something is missing still: %+v", end.NotYet)
	}
	r.says(end.Why, "moved it from 0 to 2", event.RuleHighWatermarkMinOfIsr,
		event.KindHighWatermarkMoved)
}

func TestHighWatermarkIsSaidToWaitForFollowersThatAreCutOff(t *testing.T) {
	r := play(t, "leader-epochs")
	a := r.why("hw", "orders", r.command(`expect leo(1,"orders-0") == 2`))
	r.says(a.NotYet, "Broker 3 is in the ISR and has fetched from offset 1 since 1.207 s; the high "+
		"watermark is the minimum over the ISR [1, 2, 3]", event.RuleHighWatermarkMinOfIsr,
		event.KindReplicaFetched)
	r.says(a.NotYet, "link from broker 3 to broker 1 is cut: fetches do not reach broker 1", 0, event.KindLinkCut)
	dead := r.why("hw", "orders", r.command("wait leader("))
	r.says(dead.NotYet, "Broker 1 leads orders-0 on paper and is gone (kill)", 0,
		event.KindNodeStopped)
	r.says(dead.NotYet, "The session of broker 1 ends in 7.5 s", event.RuleSessionTimeout,
		event.KindNodeStopped)
}

func TestLeaderIsSaidToBeElectedBecauseTheOneBeforeWasFenced(t *testing.T) {
	r := play(t, "kill-leader")
	a := r.why("leader", "orders", r.command("send orders key=order value=after"))
	if !strings.HasPrefix(a.Title, "Broker 2 leads orders-0 in epoch 1") {
		t.Error(a.Title)
	}
	r.says(a.Why, "among the ISR [2, 3]", event.RuleElectionInAssignmentOrder,
		event.KindPartitionChanged)
	r.says(a.Why, "Broker 1, which led before, was fenced", event.RuleSessionTimeout,
		event.KindBrokerFenced)
	r.says(a.Why, "Broker 1 had gone (kill)", 0, event.KindNodeStopped)
	// That the ISR grew again changes nothing about why broker 2 leads.
	r.says(r.why("leader", "orders", r.last()).Why, "among the ISR [2, 3]",
		event.RuleElectionInAssignmentOrder, event.KindPartitionChanged)
}

func TestIsrIsSaidToKeepADeadBrokerUntilItsSessionEnds(t *testing.T) {
	r := play(t, "isr-shrink")
	a := r.why("isr", "orders", r.command(`expect isr("orders-0") == [1,2,3] && !fenced`))
	r.says(a.NotYet, "Broker 3 is still in the ISR and is gone (kill)", 0, event.KindNodeStopped)
	r.says(a.NotYet, "The session of broker 3 ends in 486 ms", event.RuleSessionTimeout,
		event.KindNodeStopped)
	f := r.why("fetch", "orders", r.command("kill 3"))
	r.says(f.NotYet, "The fetch of broker 3 waits at broker 1", event.RuleLongPoll,
		event.KindWaitBegan)
}

func TestAckIsSaidToWaitForTheHighWatermark(t *testing.T) {
	r := play(t, "order-3-committed")
	var began event.Seq
	for i := range r.events.Records {
		e := &r.events.Records[i]
		if e.Kind == event.KindWaitBegan && r.events.WaitBegan(e).What == "produce" &&
			r.events.WaitBegan(e).Topic == "orders" {
			began = e.Seq
		}
	}
	a := r.why("ack", "orders", began)
	r.says(a.NotYet, "for the high watermark to reach 2; it is 1", event.RuleAcksAllWaitsForHighWatermark,
		event.KindWaitBegan)
	r.says(a.NotYet, "has fetched from offset 1", event.RuleHighWatermarkMinOfIsr,
		event.KindReplicaFetched)
}

func TestPassportFollowsOrder3ToItsReader(t *testing.T) {
	r := play(t, "order-3-committed")
	p := r.fate("order-3", r.last(), explain.FateCommitted, event.KindHighWatermarkMoved)
	want := "key sent received appended appended appended committed acked believed delivered " +
		"below-hw below-hw"
	if got := stations(p); got != want {
		t.Errorf("stations %s\nwant     %s", got, want)
	}
	if p.Hash == nil || *p.Hash&0x7fffffff%3 != p.Partition {
		t.Errorf("hash %v and partition %d do not agree", p.Hash, p.Partition)
	}
	for _, c := range p.Copies {
		if !c.Holds || c.Below == 0 {
			t.Errorf("broker %d: %+v", c.Node, c)
		}
	}
}

func TestPassportNamesTheEpochThatCutTheRecordOff(t *testing.T) {
	r := play(t, "leader-epochs")
	open := r.fate("order-3", r.command(`expect leo(1,"orders-0") == 2`), explain.FateNotYet, 0)
	r.says(open.NotYet, "link from broker 2 to broker 1 is cut", 0, event.KindLinkCut)
	r.fate("order-3", r.command("restart 1"), explain.FateTruncated, event.KindPartitionChanged)
	lost := r.fate("order-3", r.last(), explain.FateTruncated, event.KindLogTruncated)
	if !strings.Contains(lost.FateText, "lost by truncation at epoch 1") {
		t.Error(lost.FateText)
	}
	kept := r.fate("order-4", r.last(), explain.FateCommitted, event.KindHighWatermarkMoved)
	if kept.Offset != lost.Offset || kept.Epoch == lost.Epoch {
		t.Errorf("two records were at one offset: %+v, %+v", kept.Record, lost.Record)
	}
}

func TestPassportsOfRecordsThatNobodyMayReadAreOpen(t *testing.T) {
	r := play(t, "record-nobody-can-read")
	at := r.command(`expect hw("strict-0") == 0`)
	of := explain.Record{Topic: "strict", Offset: 1, Epoch: explain.AnyEpoch}
	p, err := explain.PassportOf(r, of, at)
	if err != nil || p.Fate != explain.FateNotYet {
		t.Fatalf("%v %+v", err, p)
	}
	r.says(p.NotYet, "has 1 of the 2 replicas", event.RuleHighWatermarkFrozenUnderMinIsr,
		event.KindIsrChanged)
	p, err = explain.PassportOf(r, of, r.last())
	if err != nil || p.Fate != explain.FateCommitted {
		t.Fatalf("%v %+v", err, p)
	}
}

func TestPassportOfAllThatWasAcknowledgedBeforeAKillIsCommitted(t *testing.T) {
	r := play(t, "kill-leader")
	for offset := range event.Offset(12) {
		p, err := explain.PassportOf(r, explain.Record{Topic: "orders", Offset: offset,
			Epoch: explain.AnyEpoch}, r.last())
		if err != nil || p.Fate != explain.FateCommitted {
			t.Errorf("offset %d: %v %s", offset, err, p.FateText)
		}
	}
}

func TestPassportsAreTheSameEveryTime(t *testing.T) {
	r := play(t, "leader-epochs")
	written := func() string {
		text, err := json.Marshal(r.passport("order-4", r.last()))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := written()
	for range 20 {
		if again := written(); again != first {
			t.Fatalf("%s\n%s", first, again)
		}
	}
}

func TestAbortedRecordIsPassedOverAndItsMarkerIsNoRecord(t *testing.T) {
	r := play(t, "hanging-transaction")
	var aborted, open event.Seq
	var at event.Offset
	topic := ""
	for i := range r.events.Records {
		switch e := &r.events.Records[i]; e.Kind {
		case event.KindTransactionBegan:
			if open == 0 {
				open = e.Seq
			}
		case event.KindTransactionMarkerWritten:
			m := r.events.TransactionMarkerWritten(e)
			if !m.Commit && aborted == 0 {
				aborted, at, topic = e.Seq, m.Offset, m.Topic
			}
		}
	}
	of := explain.Record{Topic: topic, Offset: 0, Epoch: explain.AnyEpoch}
	fateOf := func(of explain.Record, at event.Seq) *explain.Passport {
		t.Helper()
		p, err := explain.PassportOf(r, of, at)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := fateOf(of, aborted-1); p.Fate != explain.FateNotYet ||
		!strings.Contains(p.FateText, "transaction that is open") {
		t.Errorf("before the marker: %s: %s", p.Fate, p.FateText)
	}
	end := fateOf(of, r.last())
	if end.Fate != explain.FateAborted {
		t.Errorf("after the marker: %s: %s", end.Fate, end.FateText)
	}
	for _, s := range end.Steps {
		if s.Kind == "delivered" && strings.Contains(s.Text, "patient") {
			t.Errorf("an aborted record is told as read: %s", s.Text)
		}
	}
	marker := fateOf(explain.Record{Topic: topic, Offset: at, Epoch: explain.AnyEpoch}, r.last())
	if marker.Fate != explain.FateMarker {
		t.Errorf("the marker at %d: %s: %s", at, marker.Fate, marker.FateText)
	}
	for _, s := range marker.Steps {
		if s.Kind == "delivered" {
			t.Errorf("a marker is told as read: %s", s.Text)
		}
	}
}

// Broker 2 never had order-3: what the reader got at its offset is the next leader's record.
func TestAnotherLeadersRecordAtTheOffsetIsNoDelivery(t *testing.T) {
	r := play(t, "phantom-read")
	for key, want := range map[string]bool{"order-3": false, "order-4": true} {
		delivered := slices.ContainsFunc(r.passport(key, r.last()).Steps, func(s explain.Step) bool {
			return s.Kind == "delivered"
		})
		if delivered != want {
			t.Errorf("%s delivered: %v, want %v", key, delivered, want)
		}
	}
}

func TestPassportsOfLessonsSayWhatHappened(t *testing.T) {
	for _, row := range []struct {
		scenario, topic string
		offset          event.Offset
		fate, step, not string
	}{
		{"hanging-transaction", "orders", 11, "aborted", "shop sends it", ""},
		{"tombstone", "profiles", 1, "stays for delete.retention.ms", "", ""},
		{"compaction-users2", "users2", 87, "offset 177 has the same key", "", ""},
		{"acks-0-1-all", "orders", 0, "committed", "careless with acks=0", "acknowledges"},
		{"acks-0-1-all", "orders", 7, "goes on without it in epoch 1", "", ""},
		{"acks-0-1-all", "orders", 8, "Sent again, it was appended at offset 6 in leader epoch 1",
			"careful sends it again 11 times, attempts 2 to 12", "believes it: acknowledged."},
		{"acks-0-1-all", "orders", 8, "lost", "acknowledges its batch, at offset 6,", ""},
		{"commit-before-or-after", "orders", 2, "committed", "delivered to shipping again", ""},
		{"truncate-to-hw", "orders", 0, "committed", "Broker 1 no longer has it", ""},
	} {
		r := play(t, row.scenario)
		of := explain.Record{Topic: row.topic, Offset: row.offset, Epoch: explain.AnyEpoch}
		p, err := explain.PassportOf(r, of, r.last())
		if err != nil {
			t.Fatal(err)
		}
		var way strings.Builder
		for _, s := range p.Steps {
			way.WriteString(s.Text)
		}
		if !strings.Contains(p.FateText, row.fate) || !strings.Contains(way.String(), row.step) ||
			row.not != "" && strings.Contains(way.String(), row.not) {
			t.Errorf("%s-0@%d of %s: %s %s", row.topic, row.offset, row.scenario, p.FateText, &way)
		}
	}
}

// recordOf plays a scenario of these commands.
func recordOf(t *testing.T, commands string) *recording {
	t.Helper()
	s, mistakes := scenarios.ParseScenario("short.md",
		[]byte("---\ntitle: Short\n---\n```highwater\n"+commands+"```\n"))
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	return record(t, s)
}

func TestFetchIsSaidToWaitForTheLastStableOffset(t *testing.T) {
	r := recordOf(t, "topic pay\nconsumer rc topic=pay from=earliest isolation.level=read_committed\n"+
		"consumer ru topic=pay from=earliest\nproducer p transactional=t\ntxn p begin\n"+
		"send pay value=x by=p\nsleep 100ms\n")
	a := r.why("fetch", "pay", r.last())
	r.says(a.NotYet, "rc, which reads committed only, waits", event.RuleLastStableOffset,
		event.KindWaitBegan)
	r.says(a.NotYet, "The fetch of ru waits", event.RuleLongPoll, event.KindWaitBegan)
	r.says(a.Why, "below the last stable offset, 0", event.RuleLastStableOffset, 0)
}

func TestTransactionThatALogLostIsNotOpenInIt(t *testing.T) {
	r := recordOf(t, "topic a replicas=1,2,3 min.insync.replicas=1 internal.segment.bytes=300\n"+
		"producer t transactional=tt\ntxn t begin\nsend a value=x times=3 by=t\nsleep 1s\nkill 3\n"+
		"txn t commit\nsend a value=yyyyyyyyyyyyyyyyyyy{n} times=40\nconfig a retention.bytes=100\n"+
		"retain a-0\nrestart 3\nsleep 8s\nstop 1\nstop 2\nsleep 5s\n")
	if a := r.why("lso", "a", r.last()); len(a.NotYet) > 0 {
		t.Errorf("%s %+v", a.Title, a.NotYet)
	}
}

func TestFetchIsSaidToWaitForEachPartitionThatItAsksFor(t *testing.T) {
	r := recordOf(t, "topic a replicas=1,2,3\ntopic b replicas=1,2,3\ntopic c replicas=1,2,3\n"+
		"send a value=v\nconsumer two topic=a,b group=g from=earliest\nsleep 8s\n")
	for topic, want := range map[string]int{"a": 3, "b": 3, "c": 2} {
		a := r.why("fetch", topic, r.last())
		if len(a.NotYet) != want {
			t.Errorf("%s: %s %v", topic, a.Title, a.NotYet)
		}
	}
	r.says(r.why("fetch", "b", r.last()).NotYet, "for offset 0 to be passed", event.RuleLongPoll,
		event.KindWaitBegan)
	r.says(r.why("fetch", "a", r.last()).NotYet, "for offset 1 to be passed", event.RuleLongPoll,
		event.KindWaitBegan)
}
