package audit

import (
	"fmt"
	"slices"

	"highwater/cluster/event"
)

// Violation is an event that breaks a promise.
type Violation struct {
	Seq     event.Seq `json:"seq,string"`
	Promise string    `json:"promise"` // short name, as in the tests and on the page
	Text    string    `json:"text"`
}

func (v Violation) String() string { return fmt.Sprintf("event %d: %s: %s", v.Seq, v.Promise, v.Text) }

// Promises lists the short names of all that is judged.
func Promises() []string {
	return []string{
		"acks.all-waits", "cleaner.only-committed", "group.one-owner",
		"hw.min-of-isr", "hw.never-back", "hw.within-the-log", "isr.only-by-controller",
		"log.committed-stays", "log.one-offset-one-record",
		"lso.below-hw", "lso.first-unstable", "lso.never-back", "lso.told-once",
		"metadata.committed-before-applied", "replica.nobody-pushes",
		"txn.decided-stays", "txn.one-at-a-time",
	}
}

// violationsMax bounds what is kept; after a broken promise one more tells little.
const violationsMax = 100

// requestsMax bounds the requests without an answer.
const requestsMax = 100_000

// Auditor follows one world from its first event, or from a state that Begin is given.
type Auditor struct {
	partitions map[key]*partition
	requests   map[request]produced
	recent     [8]*partition // looked up last, by a cheap hash
	pull       pull
	metadata   event.Offset                        // committed
	replayed   map[event.NodeID]event.Offset       // of the metadata log, by node
	deleted    map[string][]event.Offset           // where topics of a name were deleted
	owners     map[generation]map[key]event.NodeID // by the consumers' own word
	instances  map[event.NodeID]string             // of static members: their group and instance id
	// transactions are the states of transactional ids.
	transactions map[string]string
	violations   []Violation
	seq          event.Seq
	begun        event.Seq // the last event before those that are judged
}

type key struct {
	topic string
	index int32
	life  int // how many topics of the name were deleted before
}

// generation is one of a consumer group.
type generation struct {
	group  string
	number int32
}

type request struct {
	node event.NodeID
	id   int64
}

// produced is a Produce without an answer: its first partition, which nearly all have alone, and the
// others.
type produced struct {
	acks   int32
	first  brought
	others []brought
}

// brought is how many records it has for one partition.
type brought struct {
	topic   string
	index   int32
	records int32
}

// recordsFor is how many it has for a partition: 1 at least, so that an offset stands for itself.
func (p *produced) recordsFor(topic string, index int32) event.Offset {
	at := p.first
	if i := slices.IndexFunc(p.others, func(b brought) bool {
		return b.topic == topic && b.index == index
	}); i >= 0 {
		at = p.others[i]
	}
	return event.Offset(max(at.records, 1))
}

// partition is what the auditor knows of one partition.
type partition struct {
	key       key
	committed event.Offset // the highest high watermark that a leader had
	decided   map[int32][]event.NodeID
	reigns    map[event.Epoch][]event.NodeID // the ISR that was decided last in a leader epoch
	since     int32                          // the first partition epoch from which all decisions were seen
	unclean   bool                           // the newest leader was elected outside the ISR
	replicas  map[event.NodeID]*replica
}

// replica is one node's copy.
type replica struct {
	leads         bool
	epoch         event.Epoch // in which it leads
	isr           []event.NodeID
	proposed      []event.NodeID
	logEnd        event.Offset
	highWatermark event.Offset
	lastStable    event.Offset
	open          []transaction // of batches in the log, in the order in which they began
	fetched       map[event.NodeID]event.Offset
}

// New returns an auditor that has seen nothing.
func New() *Auditor {
	return &Auditor{partitions: map[key]*partition{}, requests: map[request]produced{},
		owners:    map[generation]map[key]event.NodeID{},
		instances: map[event.NodeID]string{}, transactions: map[string]string{},
		replayed: map[event.NodeID]event.Offset{}, deleted: map[string][]event.Offset{}}
}

// Violations lists the broken promises, oldest first.
func (a *Auditor) Violations() []Violation { return a.violations }

// Chunk judges a turn's events.
func (a *Auditor) Chunk(c *event.Chunk) {
	for i := range c.Records {
		a.Event(c, &c.Records[i])
	}
}

// Event judges one event.
func (a *Auditor) Event(c *event.Chunk, r *event.Record) {
	a.seq = r.Seq
	switch r.Kind {
	case event.KindMessageSent:
		a.sent(c.MessageSent(r))
	case event.KindMessageDelivered:
		a.pull.deliver(r.Seq, c.MessageDelivered(r).Message)
	case event.KindRequestReceived:
		e := c.RequestReceived(r)
		if e.API == "Produce" {
			if len(a.requests) == requestsMax { // of clients that left before the answer, mostly
				clear(a.requests)
			}
			a.requests[request{r.Node, e.Request}] = produced{acks: e.Acks,
				first: brought{e.Topic, e.Partition, e.Records}}
		}
	case event.KindPartitionReceived:
		e := c.PartitionReceived(r)
		k := request{r.Node, e.Request}
		if asked, known := a.requests[k]; known {
			asked.others = append(asked.others, brought{e.Topic, e.Partition, e.Records})
			a.requests[k] = asked
		}
	case event.KindPartitionAnswered:
		a.answered(r.Node, c.PartitionAnswered(r))
	case event.KindResponseSent:
		e := c.ResponseSent(r)
		a.answered(r.Node, e.OfPartition())
		delete(a.requests, request{r.Node, e.Request})
	case event.KindMetadataCommitted:
		a.metadata = max(a.metadata, c.MetadataCommitted(r).HighWatermark)
	case event.KindMetadataReplayed:
		e := c.MetadataReplayed(r)
		a.replayed[r.Node] = e.Offset
		if e.Offset > a.metadata {
			a.blame("metadata.committed-before-applied",
				"node %d applied the metadata log up to %d, committed is %d", r.Node, e.Offset, a.metadata)
		}
	case event.KindNodeStopped:
		a.stopped(r.Node)
		if c.NodeStopped(r).How == "power-cut" {
			a.forgotten() // what was not on disk
		}
	default:
		a.replicaEvent(c, r)
	}
}

// forgotten says that coordinators may know no more of groups their last generations, which they count
// again, and of transactions how they were to end.
func (a *Auditor) forgotten() {
	clear(a.owners)
	clear(a.transactions)
}

func (a *Auditor) replicaEvent(c *event.Chunk, r *event.Record) {
	switch r.Kind {
	case event.KindPartitionChanged:
		a.changed(r.Rule, c.PartitionChanged(r))
	case event.KindTopicDeleted:
		e := c.TopicDeleted(r)
		if e.Topic == "__consumer_offsets" || e.Topic == "__transaction_state" {
			a.forgotten()
		}
		a.deleted[e.Topic] = append(a.deleted[e.Topic], a.metadata)
		for k := range a.partitions {
			if k.topic == e.Topic && k.life < len(a.deleted[e.Topic])-livesMax {
				delete(a.partitions, k)
			}
		}
		a.recent = [8]*partition{}
	case event.KindLogOpened:
		e := c.LogOpened(r)
		rep := a.replica(e.Topic, e.Partition, r.Node)
		rep.logEnd, rep.highWatermark, rep.leads = e.LogEndOffset, e.HighWatermark, false
		rep.cut(e.LogEndOffset)
		rep.shorten(e.LogStartOffset)
	case event.KindBatchAppended:
		a.appended(r, c.BatchAppended(r))
	case event.KindLogTruncated:
		e := c.LogTruncated(r)
		rep := a.replica(e.Topic, e.Partition, r.Node)
		rep.logEnd = e.After
		rep.cut(e.After)
		if e.After > e.Before { // the log begins anew there
			rep.open = nil
		}
	case event.KindBecameLeader:
		a.becameLeader(r, c.BecameLeader(r))
	case event.KindBecameFollower:
		e := c.BecameFollower(r)
		a.replica(e.Topic, e.Partition, r.Node).leads = false
	case event.KindReplicaRemoved:
		e := c.ReplicaRemoved(r)
		delete(a.partition(r.Node, e.Topic, e.Partition).replicas, r.Node)
	case event.KindReplicaFetched:
		e := c.ReplicaFetched(r)
		a.replica(e.Topic, e.Partition, r.Node).fetched[e.Replica] = e.Offset
	case event.KindIsrChanged:
		e := c.IsrChanged(r)
		rep := a.replica(e.Topic, e.Partition, r.Node)
		rep.isr, rep.proposed = e.Isr, nil
		a.decided(e.Topic, e.Partition, e.PartitionEpoch, e.Isr, r.Node)
	case event.KindCleanerPassBegan:
		e := c.CleanerPassBegan(r)
		a.compacting(r.Node, e.Topic, e.Partition, e.UpTo)
	case event.KindSegmentsSwapped:
		e := c.SegmentsSwapped(r)
		a.compacting(r.Node, e.Topic, e.Partition, e.NextOffset)
	case event.KindClientStarted:
		a.instance(r.Node, c.ClientStarted(r))
	case event.KindPartitionAssigned:
		a.assigned(r.Node, c.PartitionAssigned(r))
	case event.KindGroupStateChanged:
		if e := c.GroupStateChanged(r); e.After == "Dead" { // the next one counts anew
			for g := range a.owners {
				if g.group == e.Group {
					delete(a.owners, g)
				}
			}
		}
	case event.KindHighWatermarkMoved:
		a.moved(r.Node, c.HighWatermarkMoved(r))
	default:
		a.transactionEvent(c, r)
	}
}

// compacting checks that the cleaner leaves alone what might still be truncated.
func (a *Auditor) compacting(node event.NodeID, topic string, index int32, upTo event.Offset) {
	if rep := a.replica(topic, index, node); upTo > rep.highWatermark && rep.logEnd != unknown {
		a.blame("cleaner.only-committed",
			"node %d compacts %s-%d up to %d, its high watermark is %d", node, topic, index, upTo,
			rep.highWatermark)
	}
}

func (a *Auditor) blame(promise, format string, args ...any) {
	if !slices.Contains(Promises(), promise) {
		panic("audit: " + promise + " is none of the promises")
	}
	if len(a.violations) < violationsMax {
		a.violations = append(a.violations, Violation{a.seq, promise, fmt.Sprintf(format, args...)})
	}
}

// livesMax is how many deleted topics of one name are kept for nodes that still replay them.
const livesMax = 8

// life tells which of the topics of one name a node speaks of: it may still be with one that the
// controllers have deleted.
func (a *Auditor) life(node event.NodeID, topic string) int {
	deleted := a.deleted[topic]
	life := len(deleted)
	if life == 0 {
		return 0
	}
	replayed, known := a.replayed[node]
	for known && life > 0 && deleted[life-1] > replayed {
		life--
	}
	return life
}

// partition is one as a node knows it.
func (a *Auditor) partition(node event.NodeID, topic string, index int32) *partition {
	k := key{topic, index, a.life(node, topic)}
	slot := &a.recent[(len(topic)+int(index))&(len(a.recent)-1)]
	if p := *slot; p != nil && p.key == k {
		return p
	}
	p := a.partitions[k]
	if p == nil {
		since, _ := a.blank()
		p = &partition{key: k, decided: map[int32][]event.NodeID{}, since: since,
			reigns:   map[event.Epoch][]event.NodeID{},
			replicas: map[event.NodeID]*replica{}}
		a.partitions[k] = p
	}
	*slot = p
	return p
}

func (a *Auditor) replica(topic string, index int32, node event.NodeID) *replica {
	p := a.partition(node, topic, index)
	r := p.replicas[node]
	if r == nil {
		_, logEnd := a.blank()
		r = &replica{logEnd: logEnd, fetched: map[event.NodeID]event.Offset{}}
		p.replicas[node] = r
	}
	return r
}

// stopped forgets what a node had in memory.
func (a *Auditor) stopped(node event.NodeID) {
	for _, p := range a.partitions {
		if r := p.replicas[node]; r != nil {
			r.leads = false
		}
	}
	for k := range a.requests {
		if k.node == node {
			delete(a.requests, k)
		}
	}
}

func (a *Auditor) sent(e event.MessageSent) {
	if e.API == "Fetch" && e.Records > 0 && e.Answers == 0 {
		a.blame("replica.nobody-pushes", "%d records were sent to %d unasked", e.Records, e.To)
	}
	a.pull.sent(e.Message, wordOf(e.API, e.Answers))
}

func (a *Auditor) appended(r *event.Record, e event.BatchAppended) {
	rep := a.replica(e.Topic, e.Partition, r.Node)
	if e.BaseOffset < rep.logEnd {
		a.blame("log.one-offset-one-record", "node %d appended at %d of %s-%d, its log ends at %d",
			r.Node, e.BaseOffset, e.Topic, e.Partition, rep.logEnd)
	}
	rep.logEnd = e.LastOffset + 1
	if e.Leader {
		return
	}
	if r.Cause <= a.begun && a.begun > 0 {
		return
	}
	if a.pull.cause(r.Cause) == anything {
		a.blame("replica.nobody-pushes",
			"node %d appended to %s-%d as follower, and not from the answer to a fetch",
			r.Node, e.Topic, e.Partition)
	}
}

// reignsKept bounds of how many leader epochs the ISR is remembered.
const reignsKept = 8

// changed notes what the controllers committed.
func (a *Auditor) changed(rule event.Rule, e event.PartitionChanged) {
	p := a.partition(event.NoNode, e.Topic, e.Partition)
	p.decided[e.PartitionEpoch] = slices.Clone(e.Isr)
	p.since = min(p.since, e.PartitionEpoch)
	p.reigns[e.LeaderEpoch] = p.decided[e.PartitionEpoch]
	delete(p.reigns, e.LeaderEpoch-reignsKept)
	if e.Leader != e.LeaderBefore {
		// A controller that did not decide it itself does not know the rule.
		p.unclean = e.Recovering || rule == event.RuleElectionUnclean ||
			rule == event.RuleElectionLastKnownLeader
	}
}

// decided checks that an ISR in use is one that the controllers committed.
func (a *Auditor) decided(topic string, index, epoch int32, isr []event.NodeID, node event.NodeID) {
	p := a.partition(node, topic, index)
	committed, known := p.decided[epoch]
	if !known && epoch < p.since {
		return
	}
	if !known || !sameSet(committed, isr) {
		a.blame("isr.only-by-controller",
			"node %d counts ISR %v of %s-%d in partition epoch %d; the controllers committed %v",
			node, isr, topic, index, epoch, committed)
	}
}

func sameSet(a, b []event.NodeID) bool {
	if len(a) != len(b) {
		return false
	}
	for _, id := range a {
		if !slices.Contains(b, id) {
			return false
		}
	}
	return true
}

// becameLeader checks that nothing committed is missing from the new leader's log.
func (a *Auditor) becameLeader(r *event.Record, e event.BecameLeader) {
	p := a.partition(r.Node, e.Topic, e.Partition)
	rep := a.replica(e.Topic, e.Partition, r.Node)
	rep.leads, rep.epoch, rep.isr, rep.proposed = true, e.LeaderEpoch, e.Isr, nil
	rep.highWatermark, rep.lastStable = e.HighWatermark, e.LastStableOffset
	clear(rep.fetched)
	a.decided(e.Topic, e.Partition, e.PartitionEpoch, e.Isr, r.Node)
	if e.StartOffset < p.committed {
		if !p.unclean {
			a.blame("log.committed-stays",
				"node %d leads %s-%d with a log that ends at %d; %d was the high watermark",
				r.Node, e.Topic, e.Partition, e.StartOffset, p.committed)
		}
		p.committed = e.StartOffset
	}
}

// moved checks a high watermark against what the leader can know.
func (a *Auditor) moved(node event.NodeID, e event.HighWatermarkMoved) {
	p := a.partition(node, e.Topic, e.Partition)
	rep := a.replica(e.Topic, e.Partition, node)
	rep.highWatermark = e.After
	a.stable(node, e)
	if e.After > rep.logEnd && rep.logEnd != unknown {
		a.blame("hw.within-the-log", "node %d has high watermark %d of %s-%d, its log ends at %d",
			node, e.After, e.Topic, e.Partition, rep.logEnd)
	}
	if !rep.leads {
		return
	}
	if e.After < e.Before {
		a.blame("hw.never-back", "the high watermark of %s-%d went from %d to %d on its leader %d",
			e.Topic, e.Partition, e.Before, e.After, node)
	}
	for _, id := range rep.isr {
		if id != node && rep.fetched[id] < e.After {
			a.blame("hw.min-of-isr",
				"leader %d has high watermark %d of %s-%d, but %d is in the ISR and fetched from %d",
				node, e.After, e.Topic, e.Partition, id, rep.fetched[id])
		}
	}
	for _, id := range p.reigns[rep.epoch] {
		if !slices.Contains(rep.isr, id) && rep.fetched[id] < e.After {
			a.blame("hw.min-of-isr", "leader %d has high watermark %d of %s-%d, but the controllers have "+
				"put %d into the ISR of its epoch %d, and it fetched from %d", node, e.After, e.Topic,
				e.Partition, id, rep.epoch, rep.fetched[id])
		}
	}
	p.committed = max(p.committed, e.After)
}

// answered checks that acks=all is answered only for what is committed.
func (a *Auditor) answered(node event.NodeID, e event.PartitionAnswered) {
	asked, known := a.requests[request{node, e.Request}]
	if !known || asked.acks != -1 || e.ErrorCode != 0 || e.Topic == "" {
		return
	}
	rep := a.replica(e.Topic, e.Partition, node)
	end := e.Offset + asked.recordsFor(e.Topic, e.Partition)
	if rep.leads && rep.highWatermark < end {
		a.blame("acks.all-waits", "node %d acknowledged %s-%d up to %d, its high watermark is %d",
			node, e.Topic, e.Partition, end, rep.highWatermark)
	}
}
