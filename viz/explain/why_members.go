package explain

import (
	"cmp"
	"slices"

	"highwater/cluster/event"
	"highwater/viz/model"
)

func (w *witness) whyIsr(a *Answer) {
	p := w.partition
	a.Title = say("The in-sync replicas of %s are %s of %s.", w.name(), nodeList(p.Isr),
		nodeList(p.Replicas))
	if f := w.isr; f != nil {
		a.why(f, f.Rule, "The controller committed the ISR %s at %s.", nodeList(p.Isr), clock(f.At))
	}
	l := w.leading()
	if l == nil {
		w.noLeader(a)
		return
	}
	if l.Proposed != nil {
		a.notYet(w.last(event.KindIsrChangeProposed, l.Node), event.RuleIsrOnlyByController,
			"%s has asked the controller for %s; it counts once the controller has committed it.",
			capital(w.who(l.Node)), nodeList(l.Proposed))
	}
	w.outside(a, l)
	for _, id := range p.Isr {
		if n := w.state.Node(id); n != nil && (!n.Alive || n.Paused) {
			w.absence(a, id, "is still in the ISR")
		}
	}
}

// outside says of each replica that is not in the ISR what it lacks.
func (w *witness) outside(a *Answer, l *model.Log) {
	for _, id := range w.partition.Replicas {
		if slices.Contains(w.partition.Isr, id) || slices.Contains(l.Proposed, id) {
			continue
		}
		n := w.state.Node(id)
		if n == nil || !n.Alive || n.Paused {
			w.absence(a, id, "is out of the ISR")
			continue
		}
		if n.Fenced {
			w.fencedAlive(a, id)
			continue
		}
		proof := w.between(event.KindReplicaFetched, l.Node, id)
		if proof == nil || proof.Seq < w.last(event.KindBecameLeader, l.Node).seq() {
			a.notYet(w.last(event.KindBecameLeader, l.Node), event.RuleIsrExpandCaughtUp,
				"%s is out of the ISR and has not fetched from this leader yet.", capital(w.who(id)))
		} else {
			a.notYet(proof, event.RuleIsrExpandCaughtUp, "%s is out of the ISR and last fetched from "+
				"offset %d; it may rejoin when a fetch of its reaches the high watermark, %d.",
				capital(w.who(id)), proof.chunk.ReplicaFetched(proof.Record).Offset, l.HighWatermark)
		}
		w.cut(a.notYet, id, l.Node, "fetches")
	}
}

// fencedAlive says why a broker that runs is fenced.
func (w *witness) fencedAlive(a *Answer, id event.NodeID) {
	registered, fenced := w.last(event.KindBrokerRegistered, id), w.last(event.KindBrokerFenced, id)
	if registered.seq() >= fenced.seq() {
		a.notYet(registered, event.RuleCaughtUpWithMetadata, "%s is out of the ISR and fenced: it has "+
			"to replay its own registration first.", capital(w.who(id)))
		return
	}
	a.notYet(fenced, fenced.Rule, "%s is out of the ISR and was fenced at %s: for a whole session no "+
		"heartbeat of it had reached the active controller.", capital(w.who(id)), clock(fenced.At))
	w.cutFromController(a.notYet, id)
}

// cutFromController says which links between a broker and the active controller are cut now.
func (w *witness) cutFromController(tell teller, id event.NodeID) {
	for _, n := range w.state.Nodes {
		if n.Alive && n.State == "leader" {
			w.cut(tell, id, n.ID, "heartbeats")
		}
	}
}

func (w *witness) whyLeader(a *Answer) {
	p := w.partition
	a.Title = say("%s leads %s in epoch %d.", capital(w.who(p.Leader)), w.name(), p.LeaderEpoch)
	if p.Leader == event.NoNode {
		a.Title = say("Nobody leads %s.", w.name())
	}
	if f := w.leader; f != nil {
		e := f.chunk.PartitionChanged(f.Record)
		a.why(f, f.Rule, "The controller decided it at %s, %s.", clock(f.At), electedFrom(f.Rule, e))
		w.fallen(a, e.LeaderBefore, f)
	}
	if w.noLeader(a) {
		return
	}
	if n := w.state.Node(p.Leader); n != nil && n.Paused {
		w.absence(a, p.Leader, "leads "+w.name())
	}
	if first := p.Replicas; len(first) > 0 && first[0] != p.Leader && slices.Contains(p.Isr, first[0]) {
		a.notYet(w.isr, event.RuleElectionPreferred, "%s comes first in the assignment and is in "+
			"the ISR: a preferred election would bring it back.", capital(w.who(first[0])))
	}
}

// electedFrom says among whom a leader was chosen.
func electedFrom(rule event.Rule, e event.PartitionChanged) string {
	switch rule {
	case event.RuleElectionFromElr:
		return "among the eligible replicas, for the ISR was empty"
	case event.RuleElectionLastKnownLeader:
		return "when the ISR was empty and no replica was eligible: it was the last that had led"
	case event.RuleElectionUnclean:
		return "among the replicas that lived, for none of them was in the ISR or eligible"
	case event.RuleElectionPreferred:
		return "in a preferred election: it comes first in the assignment"
	case event.RuleNoLeader:
		return "for no replica of the ISR lived, and no eligible one"
	}
	return "among the ISR " + nodeList(e.Isr)
}

// fallen says what became of the leader before, when that was the reason.
func (w *witness) fallen(a *Answer, before event.NodeID, change *fact) {
	if before == event.NoNode || before == w.partition.Leader ||
		change.Rule == event.RuleElectionPreferred {
		return
	}
	fenced := w.last(event.KindBrokerFenced, before)
	if fenced != nil && fenced.Seq < change.Seq && fenced.At == change.At {
		a.why(fenced, fenced.Rule, "%s, which led before, was fenced.", capital(w.who(before)))
	}
	told := len(a.Why)
	stopped, back := w.last(event.KindNodeStopped, before), w.last(event.KindNodeStarted, before)
	if f := w.still(event.KindNodeStopped, event.KindNodeStarted, before, change); f != nil {
		a.why(f, event.RuleNone, "%s had gone (%s) at %s.", capital(w.who(before)),
			f.chunk.NodeStopped(f.Record).How, clock(f.At))
	} else if fenced != nil && fenced.Rule == event.RuleBrokerEpochFencing && stopped != nil &&
		stopped.Seq < fenced.Seq && back.seq() > stopped.Seq && back.seq() < fenced.Seq {
		a.why(back, fenced.Rule, "%s had gone (%s) at %s and was started again at %s, before anybody "+
			"missed it: its new registration ended the old one.", capital(w.who(before)),
			stopped.chunk.NodeStopped(stopped.Record).How, clock(stopped.At), clock(back.At))
	}
	if f := w.still(event.KindNodePaused, event.KindNodeResumed, before, change); f != nil {
		what := capital(w.who(before)) + " had been paused"
		if disk := w.last(event.KindDiskFaultSet, before); disk != nil && disk.At == f.At {
			f, what = disk, "The disk of "+w.who(before)+" had hung"
		}
		a.why(f, event.RuleNone, "%s at %s: it handled nothing.", what, clock(f.At))
	}
	if n := w.state.Node(before); len(a.Why) == told && n != nil && n.Fenced {
		w.cutFromController(a.why, before)
	}
}

// still is what had begun with a node before a change and had not ended by then.
func (w *witness) still(began, ended event.Kind, node event.NodeID, change *fact) *fact {
	from, to := w.last(began, node), w.last(ended, node)
	if from == nil || from.Seq > change.Seq || to.seq() > from.Seq && to.seq() < change.Seq {
		return nil
	}
	return from
}

// candidates says of each replica why it does not lead.
func (w *witness) candidates(a *Answer) {
	for _, id := range w.partition.Replicas {
		n := w.state.Node(id)
		safe := slices.Contains(w.partition.Isr, id) || slices.Contains(w.partition.Elr, id)
		switch {
		case n == nil || !n.Alive || n.Paused:
			w.absence(a, id, "holds a replica")
		case !safe:
			a.notYet(w.isr, event.RuleElectionUnclean, "%s lives and is neither in the ISR %s nor "+
				"eligible %s: only elect %s unclean could elect it, which may lose records.",
				capital(w.who(id)), nodeList(w.partition.Isr), nodeList(w.partition.Elr), w.name())
		}
	}
}

func (w *witness) whyAck(a *Answer) {
	waits := w.waiting(func(what string) bool { return what == "produce" })
	heldUp := w.heldUp()
	behind, first := w.behind()
	parked := w.parked(len(waits) + len(heldUp) + len(behind))
	kept := w.kept()
	all := len(waits) + len(heldUp) + len(behind) + len(parked)
	switch {
	case all == 0 && len(kept) > 0:
		a.Title = say("No broker has a produce to %s that waits, but %s.", w.name(), batches(len(kept)))
	case all == 0:
		a.Title = "No produce to " + w.name() + " waits for its acknowledgement."
	case all == 1:
		a.Title = "One produce to " + w.name() + " waits for its acknowledgement."
	default:
		a.Title = say("%d produces to %s wait for their acknowledgement.", all, w.name())
	}
	if f := w.newest[about{kind: event.KindResponseSent}]; f != nil {
		e := answerOf(f)
		if e.ErrorCode == 0 {
			a.why(f, event.RuleNone, "The newest acknowledgement, of the batch at offset %d, left for "+
				"%s at %s.",
				e.Offset, w.who(e.Connection), clock(f.At))
		} else {
			a.why(f, event.RuleNone, "The newest answer, %s, left for %s at %s.",
				event.ErrorName(int16(e.ErrorCode)), w.who(e.Connection), clock(f.At))
		}
	}
	l, atLeader := w.leading(), 0
	for _, wait := range waits {
		reached := event.Offset(0)
		at := w.partition.Log(wait.Node)
		if at != nil {
			reached = at.HighWatermark
		}
		a.notYet(w.waits[wait.ID], event.RuleAcksAllWaitsForHighWatermark, "The produce of %s waits "+
			"at %s since %s for the high watermark to reach %d; it is %d. %s", w.who(wait.For),
			w.who(wait.Node), clock(wait.Since), wait.Needs, reached,
			w.atLatest(&wait, "It fails at %s at the latest."))
		if wait.Node == w.partition.Leader {
			atLeader++
		} else if at != nil {
			a.notYet(w.leader, event.RuleLeaderEpochBump, "%s leads in epoch %d by now: %s, which does "+
				"not know, can commit nothing of its epoch %d.", capital(w.who(w.partition.Leader)),
				w.partition.LeaderEpoch, w.who(wait.Node), at.LeaderEpoch)
		}
	}
	for _, wait := range heldUp {
		a.notYet(w.waits[wait.ID], event.RuleAcksAllWaitsForHighWatermark, "All that the produce of %s "+
			"brought here is below the high watermark, but its request is answered as one, and waits at "+
			"%s since %s for that of %s-%d to reach %d. %s", w.who(wait.For), w.who(wait.Node),
			clock(wait.Since), wait.Topic, wait.Partition, wait.Needs,
			w.atLatest(&wait, "It fails at %s at the latest."))
	}
	for i, f := range behind {
		e := first[i].chunk.RequestReceived(first[i].Record)
		a.notYet(f, event.RuleNone, "The produce of %s that came at %s stands behind its %s of %s: "+
			"the answers to a connection leave in the order of its requests.", w.who(e.Connection),
			clock(f.At), e.API, clock(first[i].At))
	}
	for _, p := range parked {
		f, what := w.standing(w.state.Node(p.to))
		a.notYet(f, event.RuleNone, "What %s has sent to %s lies there unread: it %s and handles "+
			"nothing.", w.who(p.by), w.who(p.to), what)
	}
	w.keptBack(a, kept)
	if l == nil && len(waits)+len(kept) > 0 {
		w.noLeader(a)
	} else if atLeader > 0 {
		w.notRisen(a, l)
	}
}

// parcel is what a built-in producer has sent.
type parcel struct{ by, to event.NodeID }

// parked lists the batches for the partition that were sent to a broker that is paused, but for as
// many as are known to wait.
func (w *witness) parked(known int) (parcels []parcel) {
	for _, p := range w.state.Programs {
		for _, b := range p.Batches {
			n := w.state.Node(b.To)
			if w.isHere(b.Topic, b.Partition) && b.State == "sent" && n != nil && n.Paused {
				parcels = append(parcels, parcel{p.Node, b.To})
			}
		}
	}
	return parcels[min(known, len(parcels)):]
}

// keeping is a batch for the partition that is with its producer.
type keeping struct {
	by    event.NodeID
	batch *model.OwnBatch
}

// kept lists the batches for the partition that wait at built-in producers, and those that were sent
// to a broker that is gone. What is sent with acks=0 waits for no answer.
func (w *witness) kept() (list []keeping) {
	for _, p := range w.state.Programs {
		for i := range p.Batches {
			b := &p.Batches[i]
			to := w.state.Node(b.To)
			isUnderWay := b.State == "sent" && (to == nil || to.Alive)
			if w.isHere(b.Topic, b.Partition) && !isUnderWay && !p.WantsNoAnswer() {
				list = append(list, keeping{p.Node, b})
			}
		}
	}
	return list
}

func batches(n int) string {
	if n == 1 {
		return "a producer keeps a batch for it"
	}
	return say("producers keep %d batches for it", n)
}

// keptBack says how far the batches have come that are with their producers.
func (w *witness) keptBack(a *Answer, kept []keeping) {
	for _, k := range kept {
		who, again := w.who(k.by), w.last(event.KindBatchRequeued, k.by)
		switch {
		case k.batch.State == "sent":
			a.notYet(w.last(event.KindNodeStopped, k.batch.To), event.RuleNone, "What %s has sent to %s "+
				"went to nobody: it is gone.", who, w.who(k.batch.To))
		case k.batch.Attempt > 0 && again != nil:
			a.notYet(again, event.RuleNone, "%s sends a batch again, because at %s the last attempt "+
				"failed: %s.", capital(who), clock(again.At),
				again.chunk.BatchRequeued(again.Record).Reason)
		default:
			a.notYet(nil, event.RuleNone, "%s has a batch in its accumulator that it has not sent yet.",
				capital(who))
		}
	}
}

func (w *witness) whyFetch(a *Answer) {
	waits := w.waiting(func(what string) bool { return what != "produce" })
	switch len(waits) {
	case 0:
		a.Title = "No fetch of " + w.name() + " waits for records."
	case 1:
		a.Title = "One fetch of " + w.name() + " waits for records."
	default:
		a.Title = say("%d fetches of %s wait for records.", len(waits), w.name())
	}
	l := w.leading()
	if l != nil {
		a.why(w.last(event.KindBatchAppended, l.Node), event.RuleNone, "The log ends at %d and its "+
			"high watermark is %d; consumers see what lies below that, followers all of it.",
			l.LogEndOffset, l.HighWatermark)
		if l.LastStableOffset < l.HighWatermark {
			a.why(w.last(event.KindLastStableOffsetMoved, l.Node), event.RuleLastStableOffset,
				"Consumers that read committed only see what lies below the last stable offset, %d: "+
					"a transaction is open from there on.", l.LastStableOffset)
		}
	}
	for _, wait := range waits {
		if l != nil && wait.Needs > l.LastStableOffset && wait.Needs <= l.HighWatermark {
			a.notYet(w.waits[wait.ID], event.RuleLastStableOffset, "The fetch of %s, which reads "+
				"committed only, waits at %s since %s for the last stable offset to pass offset %d. %s",
				w.who(wait.For), w.who(wait.Node), clock(wait.Since), wait.Needs-1, w.atLatest(&wait,
					"It is answered at %s at the latest, with or without records."))
			continue
		}
		if l != nil && wait.What == "fetch" && wait.Needs <= l.LastStableOffset {
			a.notYet(w.waits[wait.ID], event.RuleLongPoll, "The fetch of %s waits at %s since %s for "+
				"more bytes than there are: fetch.min.bytes says how many. %s", w.who(wait.For),
				w.who(wait.Node), clock(wait.Since), w.atLatest(&wait,
					"It is answered at %s at the latest, with what there is."))
			continue
		}
		a.notYet(w.waits[wait.ID], event.RuleLongPoll, "The fetch of %s waits at %s since %s for "+
			"offset %d to be passed. %s", w.who(wait.For), w.who(wait.Node), clock(wait.Since),
			wait.Needs-1, w.atLatest(&wait, "It is answered at %s at the latest, with or without "+
				"records."))
	}
	if l == nil {
		w.noLeader(a)
	} else if n := w.state.Node(l.Node); n != nil && n.Paused {
		w.absence(a, l.Node, "leads "+w.name())
	}
}

// atLatest says when a wait ends whatever happens: not while who would end it stands still.
func (w *witness) atLatest(wait *model.Wait, otherwise string) string {
	n := w.state.Node(wait.Node)
	if n == nil || !n.Paused {
		return say(otherwise, clock(wait.Due))
	}
	_, what := w.standing(n)
	return say("Its time ends at %s, but %s %s and answers nothing before it goes on.",
		clock(wait.Due), w.who(wait.Node), what)
}

// waiting lists the waits on this partition, the oldest first.
func (w *witness) waiting(want func(what string) bool) []model.Wait {
	var found []model.Wait
	w.state.EachWait(w.partition, func(wait *model.Wait, needs event.Offset) {
		if want(wait.What) {
			found = append(found, *wait)
			found[len(found)-1].Needs = needs
		}
	})
	slices.SortStableFunc(found, func(a, b model.Wait) int { return cmp.Compare(a.Since, b.Since) })
	return found
}
