package controller

import (
	"fmt"
	"slices"
	"strings"

	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/world"
)

// batchRecordsMax bounds the records of one batch; what is beyond goes into the next one. A single
// operation is never split.
const batchRecordsMax = 10_000

// active is what only the active controller has. Requests are decided on the latest image, which
// includes what is not committed yet; answers go out when what they rest on is committed.
type active struct {
	c *Controller

	// committed is the cluster as far as a majority stored it, latest with all that was proposed.
	committed, latest *metadata.Image
	// Offsets: committedEnd <= storedEnd <= end, each the offset after the last such record.
	committedEnd, storedEnd, end event.Offset

	// queue holds proposals that are not sent to Raft yet, sent those that are, in order.
	queue, sent []*proposal
	// inFlight says that a round of this leader is under way; scheduled that the turn's end will
	// send the queue.
	inFlight, scheduled bool

	upkeep upkeep
	// voterEnds is the log end offset of each other voter as last heard.
	voterEnds map[event.NodeID]event.Offset
	sessions  map[event.NodeID]*session
	fetches   []*waitingFetch
	observers map[event.NodeID]*observer
}

// proposal is the outcome of one request: its records in order, and what to do when they are
// committed. Without records it waits for all that was proposed before it.
type proposal struct {
	records []proposedRecord
	cause   event.Seq
	end     event.Offset // the offset after its last record
	// committed runs when everything below end is committed, lost when this controller no longer
	// leads; either may be nil.
	committed func()
	lost      func()
}

// proposedRecord is a record with the rule that asked for it.
type proposedRecord struct {
	record metadata.Record
	rule   event.Rule
}

// newActive begins a leader's work: it reads the whole log, which its election has committed.
func newActive(c *Controller, r *roundResult) *active {
	a := &active{c: c, latest: metadata.NewImage(c.cfg.ClusterID),
		committed: metadata.NewImage(c.cfg.ClusterID),
		storedEnd: r.stored, end: r.stored,
		sessions:  map[event.NodeID]*session{},
		observers: map[event.NodeID]*observer{},
		voterEnds: map[event.NodeID]event.Offset{}}
	a.advance(r.committed)
	a.latest = a.committed
	if len(a.latest.Features()) == 0 {
		a.propose(&proposal{records: bootstrapRecords(c.cfg.Properties)})
	}
	a.restartSessions()
	a.armNoOp()
	a.armImbalanceCheck()
	return a
}

// bootstrapRecords finalize the features of a new cluster, as Kafka's formatted storage does.
// share.version and streams.version are left out: they are not served.
// min.insync.replicas is written down as the properties have it, so that what the controllers count
// by is the same everywhere (KIP-966).
func bootstrapRecords(own Properties) []proposedRecord {
	name := "Bootstrap records"
	minIsr, _ := own.configOf(metadata.NewImage(""), "", configMinIsr)
	records := []metadata.Record{
		&metadata.BeginTransactionRecord{Name: &name},
		&metadata.FeatureLevelRecord{Name: "metadata.version",
			FeatureLevel: metadata.MetadataVersion},
		&metadata.FeatureLevelRecord{Name: metadata.FeatureElr, FeatureLevel: 1},
		&metadata.FeatureLevelRecord{Name: "group.version", FeatureLevel: 1},
		&metadata.FeatureLevelRecord{Name: "transaction.version", FeatureLevel: 2},
		&metadata.ConfigRecord{ResourceType: metadata.ResourceBroker,
			Name: configMinIsr, Value: &minIsr},
		&metadata.EndTransactionRecord{},
	}
	var proposed []proposedRecord
	for _, r := range records {
		proposed = append(proposed, proposedRecord{record: r})
	}
	return proposed
}

// changes collects the records of one decision, each seen by those after it.
type changes struct {
	image   *metadata.Image // the latest, with the records so far
	records []proposedRecord
}

func (a *active) decide() *changes { return &changes{image: a.latest} }

// add applies a record; one that does not fit is a broken invariant.
func (ch *changes) add(r metadata.Record, rule event.Rule) {
	image, err := ch.image.Apply(r)
	if err != nil {
		panic(fmt.Sprintf("controller: %v", err))
	}
	ch.image = image
	ch.records = append(ch.records, proposedRecord{r, rule})
}

// commit proposes what was decided and answers the call when it is committed.
func (a *active) commit(ch *changes, call *world.Call, answer func() any) {
	p := &proposal{records: ch.records}
	if call != nil {
		p.committed = func() { call.Reply(answer()) }
		p.lost = func() { call.Reply(&NotController{Leader: a.c.leader}) }
	}
	a.propose(p)
}

// conclude commits what a request asked for and answers it. One that only validates commits
// nothing, but its answer rests on the latest image, and so waits until that is committed.
func (a *active) conclude(ch *changes, call *world.Call, body any, validateOnly bool) {
	if validateOnly {
		ch = a.decide()
	}
	a.commit(ch, call, func() any { return body })
}

// propose takes a decision into the latest image and sends it to Raft at the end of the turn,
// together with what else comes up until then.
func (a *active) propose(p *proposal) {
	p.cause = a.c.env.Events.Cause
	for _, r := range p.records {
		image, err := a.latest.Apply(r.record)
		if err != nil {
			panic(fmt.Sprintf("controller: %v", err))
		}
		a.latest = image
	}
	a.end += event.Offset(len(p.records))
	p.end = a.end
	if len(p.records) == 0 && a.end == a.committedEnd {
		if p.committed != nil {
			p.committed()
		}
		return
	}
	a.queue = append(a.queue, p)
	a.schedule()
}

func (a *active) schedule() {
	if a.scheduled || a.inFlight || len(a.queue) == 0 {
		return
	}
	a.scheduled = true
	a.c.env.AtTurnEnd(func() {
		a.scheduled = false
		if a.c.active == a {
			a.send()
		}
	})
}

// send hands the queue to Raft as one batch.
func (a *active) send() {
	if a.inFlight || len(a.queue) == 0 {
		return
	}
	var values [][]byte
	taken := 0
	for _, p := range a.queue {
		if len(values) > 0 && len(values)+len(p.records) > batchRecordsMax {
			break
		}
		for _, r := range p.records {
			values = append(values, metadata.Encode(r.record))
		}
		taken++
	}
	a.sent = append(a.sent, a.queue[:taken]...)
	a.queue = slices.Clone(a.queue[taken:])
	if len(values) == 0 {
		a.answerCommitted() // what they waited for is committed, or no majority is there
		return
	}
	a.round(values)
}

// round lets Raft store values, or only lets the others catch up.
func (a *active) round(values [][]byte) {
	a.inFlight = true
	c := a.c
	c.beginRound(round{actor: c.env.ID(), peers: c.quorum.reachable(c.env.ID()), values: values,
		timestamp: c.env.UnixMilli()}, a.stored)
}

// stored takes note of a round's end.
func (a *active) stored(p *pendingRound, r *roundResult) {
	q := a.c.quorum
	q.tellVotes(p, r)
	q.tellLogs(p, r)
	q.failBroken(r)
	if a.c.active != a {
		return
	}
	a.inFlight = false
	if r.outcome == roundLost {
		a.c.resign()
		return
	}
	a.storedEnd = r.stored
	for _, e := range r.effects {
		a.voterEnds[e.node] = event.Offset(e.after.last)
	}
	a.advance(r.committed)
	if a.c.active == a {
		a.schedule()
	}
}

// compare begins a round for a voter that lacks what the leader has.
func (a *active) compare(v *VoterState) {
	if !a.inFlight && (v.LogEndOffset != a.storedEnd || v.Term != a.c.term ||
		v.LastTerm != int32(a.c.store.view().lastTerm) || a.committedEnd < a.storedEnd) {
		a.round(nil)
	}
}

// advance moves the high watermark: it applies and tells what is committed now, in order, and
// answers who waited for it.
func (a *active) advance(to event.Offset) {
	if to <= a.committedEnd {
		return
	}
	from := a.committedEnd
	a.committedEnd = to
	c := a.c
	if to > c.quorum.announced {
		event.MetadataCommitted{Before: c.quorum.announced, HighWatermark: to, Term: c.term}.
			Emit(c.env.Events, event.RuleQuorumMajority)
	}
	a.replay(from, to)
	c.quorum.announced = max(c.quorum.announced, to)
	a.answerCommitted()
	a.answerFetches()
}

// answerCommitted answers whoever waited for what is committed now.
func (a *active) answerCommitted() {
	events := a.c.env.Events
	cause := events.Cause
	for len(a.sent) > 0 && a.sent[0].end <= a.committedEnd {
		p := a.sent[0]
		a.sent = a.sent[1:]
		if p.committed != nil {
			events.Cause = p.cause
			p.committed()
		}
	}
	events.Cause = cause
}

// replay applies the records in [from, to) and tells those that nobody told before: an earlier
// leader may have died between storing them and telling.
func (a *active) replay(from, to event.Offset) {
	proposed := a.proposedAt(from)
	cause := a.c.env.Events.Cause
	stored := a.c.store.records(from, to)
	records := make([]metadata.Record, 0, len(stored))
	for _, s := range stored {
		r, err := metadata.Decode(s.value)
		if err != nil {
			panic(fmt.Sprintf("controller: metadata log at offset %d: %v", s.offset, err))
		}
		records = append(records, r)
	}
	elected := map[event.Rule][]string{}
	for i, r := range records {
		offset := stored[i].offset
		after, err := a.committed.Apply(r)
		if err != nil {
			panic(fmt.Sprintf("controller: metadata log at offset %d: %v", offset, err))
		}
		rule := event.RuleNone
		if p, ok := proposed[offset]; ok {
			rule = p.rule
			a.c.env.Events.Cause = p.cause
		}
		if offset >= a.c.quorum.announced {
			announce(a.c.env.Events, a.committed, after, r, records[i+1:], rule)
			if _, risky := risks[rule]; risky {
				elected[rule] = append(elected[rule], electedIn(r, after)...)
			}
		}
		a.committed = after
	}
	a.c.env.Events.Cause = cause
	a.warnOfLoss(event.RuleElectionUnclean, elected[event.RuleElectionUnclean])
	a.warnOfLoss(event.RuleElectionLastKnownLeader, elected[event.RuleElectionLastKnownLeader])
}

// risks say what an election may cost that looked at no replica in sync.
var risks = map[event.Rule]string{
	event.RuleElectionUnclean: "a leader that was not in sync was elected: acknowledged records " +
		"that it does not have are lost",
	event.RuleElectionLastKnownLeader: "no replica in sync or eligible was left, so the last known " +
		"leader leads again: acknowledged records that its disk lost are lost",
}

// warnOfLoss says it on the log, too: there is not always a page open.
func (a *active) warnOfLoss(rule event.Rule, elected []string) {
	if a.c.cfg.Log == nil || len(elected) == 0 {
		return
	}
	const namesMax = 5
	names := strings.Join(elected[:min(len(elected), namesMax)], ", ")
	if len(elected) > namesMax {
		names += ", ..."
	}
	a.c.cfg.Log.Warn(risks[rule], "partitions", len(elected), "first", names)
}

// electedIn names the partition whose leader a record changes, with that leader.
func electedIn(r metadata.Record, image *metadata.Image) []string {
	change, isChange := r.(*metadata.PartitionChangeRecord)
	if !isChange {
		return nil
	}
	t := image.TopicByID(change.TopicID)
	if t == nil || t.Partition(change.PartitionID) == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s-%d (leader %d)", t.Name, change.PartitionID,
		t.Partition(change.PartitionID).Leader)}
}

// origin is why a record was proposed.
type origin struct {
	rule  event.Rule
	cause event.Seq
}

// proposedAt finds the origins of the records that this leader sent, by offset.
func (a *active) proposedAt(from event.Offset) map[event.Offset]origin {
	origins := map[event.Offset]origin{}
	for _, p := range a.sent {
		for i, r := range p.records {
			offset := p.end - event.Offset(len(p.records)-i)
			if offset >= from {
				origins[offset] = origin{r.rule, p.cause}
			}
		}
	}
	return origins
}

// abandon ends an active controller: whoever waits is sent to another one.
func (a *active) abandon() {
	for _, s := range sortedSessions(a.sessions) {
		s.timer.Stop()
	}
	a.stopTimers()
	proposals := slices.Concat(a.sent, a.queue)
	a.sent, a.queue = nil, nil
	for _, p := range proposals {
		if p.lost != nil {
			p.lost()
		}
	}
	fetches := a.fetches
	a.fetches = nil
	for _, w := range fetches {
		w.timer.Stop()
		w.call.Reply(&NotController{Leader: a.c.leader})
	}
}
