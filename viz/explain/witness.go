package explain

import (
	"cmp"
	"maps"
	"slices"

	"highwater/cluster/event"
	"highwater/viz/model"
)

// witness knows the newest event of each sort that an answer about one partition can rest on.
type witness struct {
	state     *model.State
	partition *model.Partition

	newest map[about]*fact
	waits  map[int64]*fact
	leader *fact // the newest PartitionChanged that changed the leader
	isr    *fact // the newest one that changed the ISR
	isrNow []event.NodeID
	heard  map[event.NodeID]*fact // the newest append or high watermark before it began to lead
	open   map[writer]*fact       // TransactionBegan without a marker
	// produces are those without an answer, asked all requests without one of the outside
	// connections, in their order.
	produces map[requested]*producing
	asked    map[event.NodeID][]*fact
	names    map[event.NodeID]string
}

// about is what makes one event the successor of another: what it says, and of whom.
type about struct {
	kind event.Kind
	node event.NodeID // who says it, or whom it is about
	peer event.NodeID
}

func newWitness(s *model.State, p *model.Partition) *witness {
	return &witness{state: s, partition: p, newest: map[about]*fact{}, waits: map[int64]*fact{},
		heard: map[event.NodeID]*fact{}, open: map[writer]*fact{}, produces: map[requested]*producing{},
		asked: map[event.NodeID][]*fact{}, names: map[event.NodeID]string{}}
}

// see keeps an event that concerns the partition, or the nodes and links under it.
func (w *witness) see(f *fact) {
	switch f.Kind {
	case event.KindTopicCreated, event.KindTopicDeleted:
		if w.isAnother(f) {
			w.forget()
		}
	case event.KindClientIdentified:
		// Inside the world a client's connection is its node, which has a name already.
		if e := f.chunk.ClientIdentified(f.Record); e.Connection >= event.FirstOutside {
			w.names[e.Connection] = e.ClientID
		}
	case event.KindNodeStarted, event.KindNodeStopped, event.KindNodePaused, event.KindNodeResumed:
		w.newest[about{kind: f.Kind, node: f.Node}] = f
		if f.Kind == event.KindNodeStopped {
			maps.DeleteFunc(w.produces, func(of requested, _ *producing) bool { return of.node == f.Node })
		}
	case event.KindDiskFaultSet:
		if f.chunk.DiskFaultSet(f.Record).Fault == diskHung {
			w.newest[about{kind: f.Kind, node: f.Node}] = f
		}
	case event.KindBrokerFenced, event.KindBrokerUnfenced, event.KindBrokerRegistered:
		w.newest[about{kind: f.Kind, node: event.NodeID(f.Values[0])}] = f
	case event.KindLinkCut, event.KindLinkDelayed:
		w.newest[about{f.Kind, event.NodeID(f.Values[0]), event.NodeID(f.Values[1])}] = f
	case event.KindMessageSent:
		w.seeMessage(f)
	case event.KindWaitBegan:
		w.waits[f.chunk.WaitBegan(f.Record).Wait] = f // a fetch waits for more than it names
	case event.KindWaitEnded:
		delete(w.waits, f.chunk.WaitEnded(f.Record).Wait)
	case event.KindRequestReceived:
		e := f.chunk.RequestReceived(f.Record)
		if e.Connection >= event.FirstOutside {
			w.asked[e.Connection] = append(w.asked[e.Connection], f)
		}
		if e.API == "Produce" {
			w.produces[requested{f.Node, e.Request}] = &producing{received: f,
				isHere: w.isHere(e.Topic, e.Partition), isUnheard: e.Acks == 0}
		}
	case event.KindPartitionReceived:
		e := f.chunk.PartitionReceived(f.Record)
		if p := w.produces[requested{f.Node, e.Request}]; p != nil && w.isHere(e.Topic, e.Partition) {
			p.isHere = true
		}
	case event.KindClientDisconnected:
		e := f.chunk.ClientDisconnected(f.Record)
		delete(w.asked, e.Connection)
		maps.DeleteFunc(w.produces, func(_ requested, p *producing) bool {
			return p.received.chunk.RequestReceived(p.received.Record).Connection == e.Connection
		})
	case event.KindResponseSent, event.KindPartitionAnswered:
		w.seeAnswer(f)
	case event.KindBatchRequeued:
		if w.isHere(f.chunk.Text(f.Values[1]), int32(f.Values[2])) {
			w.newest[about{kind: f.Kind, node: f.Node}] = f
		}
	case event.KindPartitionChanged:
		w.seeChange(f)
	case event.KindTransactionBegan, event.KindTransactionMarkerWritten,
		event.KindLastStableOffsetMoved:
		w.seeTransaction(f)
	case event.KindHighWatermarkMoved, event.KindBecameLeader, event.KindBecameFollower,
		event.KindIsrChangeProposed, event.KindIsrChanged, event.KindBatchAppended,
		event.KindLogOpened, event.KindLogTruncated, event.KindReplicaFetched:
		if !w.isHere(f.chunk.Text(f.Values[0]), int32(f.Values[1])) {
			return
		}
		key := about{kind: f.Kind, node: f.Node}
		if f.Kind == event.KindReplicaFetched {
			key.peer = f.chunk.ReplicaFetched(f.Record).Replica
		}
		if f.Kind == event.KindBecameLeader {
			w.heard[f.Node] = newer(w.last(event.KindHighWatermarkMoved, f.Node),
				w.last(event.KindBatchAppended, f.Node))
		}
		w.newest[key] = f
		w.cutOpen(f)
	}
}

// seeAnswer keeps the newest answer to a produce to the partition.
func (w *witness) seeAnswer(f *fact) {
	e := answerOf(f)
	of := requested{f.Node, e.Request}
	isUnheard := w.produces[of] != nil && w.produces[of].isUnheard
	if e.API == "Produce" && w.isHere(e.Topic, e.Partition) && !isUnheard {
		w.newest[about{kind: event.KindResponseSent}] = f
	}
	if f.Kind == event.KindResponseSent {
		delete(w.produces, of)
		w.asked[e.Connection] = slices.DeleteFunc(w.asked[e.Connection], func(asked *fact) bool {
			return asked.chunk.RequestReceived(asked.Record).Request == e.Request
		})
	}
}

// producing is a produce without an answer.
type producing struct {
	received  *fact
	isHere    bool // whether it brings records for the partition
	isUnheard bool // acks=0: nobody is told how it ends
}

// heldUp lists the waits on other partitions for which produces to this one are not answered though
// it has done its part: a request is answered as one.
func (w *witness) heldUp() (waits []model.Wait) {
	isOwn := map[requested]bool{}
	w.eachProduceWait(func(wait *model.Wait, of requested) {
		isOwn[of] = isOwn[of] || w.isHere(wait.Topic, wait.Partition)
	})
	w.eachProduceWait(func(wait *model.Wait, of requested) {
		if !isOwn[of] {
			isOwn[of] = true // one wait tells enough
			waits = append(waits, *wait)
		}
	})
	return waits
}

// behind lists the produces to the partition that wait for nothing themselves, but whose connection
// has to be answered something else first, oldest first, and what that is.
func (w *witness) behind() (produces, first []*fact) {
	waits := map[requested]bool{}
	w.eachProduceWait(func(_ *model.Wait, of requested) { waits[of] = true })
	for of, p := range w.produces {
		asked := w.asked[p.received.chunk.RequestReceived(p.received.Record).Connection]
		if p.isHere && !p.isUnheard && !waits[of] && len(asked) > 0 && asked[0].Seq < p.received.Seq {
			produces = append(produces, p.received)
		}
	}
	slices.SortFunc(produces, func(a, b *fact) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, f := range produces {
		first = append(first, w.asked[f.chunk.RequestReceived(f.Record).Connection][0])
	}
	return produces, first
}

func (w *witness) eachProduceWait(f func(wait *model.Wait, of requested)) {
	w.state.Waits.Each(func(wait *model.Wait) {
		began := w.waits[wait.ID]
		if wait.What != "produce" || began == nil {
			return
		}
		of := requested{wait.Node, began.chunk.WaitBegan(began.Record).Request}
		if p := w.produces[of]; p != nil && p.isHere {
			f(wait, of)
		}
	})
}

// requested is one request at a broker.
type requested struct {
	node    event.NodeID
	request int64
}

// answerOf is what the answer to a client tells of the partition that an event names.
func answerOf(f *fact) event.PartitionAnswered {
	if f.Kind == event.KindPartitionAnswered {
		return f.chunk.PartitionAnswered(f.Record)
	}
	return f.chunk.ResponseSent(f.Record).OfPartition()
}

// isAnother says that what follows is told of another topic of this name.
func (w *witness) isAnother(f *fact) bool {
	return (f.Kind == event.KindTopicCreated || f.Kind == event.KindTopicDeleted) &&
		f.chunk.Text(f.Values[0]) == w.partition.Topic
}

// forget lets go of all that was told of the partition: its topic is another one from now on.
func (w *witness) forget() {
	w.leader, w.isr, w.isrNow = nil, nil, nil
	clear(w.waits)
	clear(w.heard)
	clear(w.open)
	maps.DeleteFunc(w.newest, func(of about, _ *fact) bool {
		switch of.kind {
		case event.KindNodeStarted, event.KindNodeStopped, event.KindNodePaused,
			event.KindNodeResumed, event.KindBrokerFenced, event.KindBrokerUnfenced,
			event.KindBrokerRegistered, event.KindLinkCut, event.KindLinkDelayed,
			event.KindDiskFaultSet:
			return false
		}
		return true
	})
}

func (w *witness) isHere(topic string, index int32) bool {
	return topic == w.partition.Topic && index == w.partition.Index
}

// seeMessage keeps who asked whom for this partition last; the answers bring nothing that the log's
// own events do not tell.
func (w *witness) seeMessage(f *fact) {
	e := f.chunk.MessageSent(f.Record)
	if e.API == "Fetch" && e.Answers == 0 && w.isHere(e.Topic, e.Partition) {
		w.newest[about{f.Kind, f.Node, e.To}] = f
	}
}

func (w *witness) seeChange(f *fact) {
	e := f.chunk.PartitionChanged(f.Record)
	if !w.isHere(e.Topic, e.Partition) {
		return
	}
	w.newest[about{kind: f.Kind}] = f
	if w.leader == nil || e.Leader != e.LeaderBefore {
		w.leader = f
	}
	if w.isr == nil || !sameNodes(e.Isr, w.isrNow) {
		w.isr = f
	}
	w.isrNow = e.Isr
}

func sameNodes(a, b []event.NodeID) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// last is the newest event of a kind that a node told, or that was told about it.
func (w *witness) last(kind event.Kind, node event.NodeID) *fact {
	return w.newest[about{kind: kind, node: node}]
}

func (w *witness) between(kind event.Kind, from, to event.NodeID) *fact {
	return w.newest[about{kind, from, to}]
}

// newer is the later of two facts, either of which may be missing.
func newer(a, b *fact) *fact {
	if a.seq() >= b.seq() {
		return a
	}
	return b
}
