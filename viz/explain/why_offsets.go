package explain

import (
	"slices"

	"highwater/cluster/event"
	"highwater/viz/model"
)

func (w *witness) whyHighWatermark(a *Answer) {
	l := w.leading()
	if l == nil {
		a.Title = "The high watermark of " + w.name() + " is nobody's to move now."
		w.noLeader(a)
		return
	}
	a.Title = say("The high watermark of %s is %d.", w.name(), l.HighWatermark)
	w.risen(a, l)
	w.notRisen(a, l)
}

// risen says how the high watermark came to be where it is.
func (w *witness) risen(a *Answer, l *model.Log) {
	moved := w.last(event.KindHighWatermarkMoved, l.Node)
	reign := w.last(event.KindBecameLeader, l.Node)
	if moved.seq() > reign.seq() {
		e := moved.chunk.HighWatermarkMoved(moved.Record)
		isr := "in-sync replica"
		if changed := w.last(event.KindIsrChanged, l.Node); changed.seq() < moved.seq() {
			isr = "replica of the ISR " + nodeList(l.Isr)
		}
		a.why(moved, moved.Rule, "%s moved it from %d to %d at %s: every %s had the log up to there.",
			capital(w.who(l.Node)), e.Before, e.After, clock(moved.At), isr)
		for _, f := range l.Followers {
			proof := w.between(event.KindReplicaFetched, l.Node, f.Node)
			if proof != nil && proof.Seq <= moved.Seq && proof.At == moved.At {
				a.why(proof, event.RuleReplicaPulls, "%s's fetch from offset %d was the proof.",
					capital(w.who(f.Node)), proof.chunk.ReplicaFetched(proof.Record).Offset)
			}
		}
		return
	}
	if reign != nil {
		w.begun(a, l.Node, reign)
	}
}

// begun says where a leader that has not moved the high watermark yet has it from.
func (w *witness) begun(a *Answer, node event.NodeID, reign *fact) {
	e, who := reign.chunk.BecameLeader(reign.Record), capital(w.who(node))
	opened := w.last(event.KindLogOpened, node)
	switch {
	case e.LeaderEpoch == 0 && e.HighWatermark == 0:
		a.why(reign, event.RuleNone, "%s began to lead at %s, the first to do so, and nothing was "+
			"committed yet: the high watermark began at 0.", who, clock(reign.At))
	case opened.seq() > w.heard[node].seq():
		a.why(reign, event.RuleNone, "%s began to lead at %s with what its own disk told when it "+
			"opened its log at %s: %d.", who, clock(reign.At), clock(opened.At), e.HighWatermark)
		w.powerTook(a, node)
	default:
		a.why(reign, event.RuleHighWatermarkFromLeader, "%s began to lead at %s with what it had "+
			"heard from the leader before: %d.", who, clock(reign.At), e.HighWatermark)
	}
}

// powerTook says what a power cut took from the end of a node's log, if one did and nothing was
// appended since.
func (w *witness) powerTook(a *Answer, node event.NodeID) bool {
	appended := w.last(event.KindBatchAppended, node)
	stopped := w.last(event.KindNodeStopped, node)
	opened := w.last(event.KindLogOpened, node)
	if appended == nil || stopped.seq() < appended.seq() || opened.seq() < stopped.seq() {
		return false
	}
	cut, end := stopped.chunk.NodeStopped(stopped.Record), opened.chunk.LogOpened(opened.Record)
	had := appended.chunk.BatchAppended(appended.Record).LastOffset + 1
	if cut.How != "power-cut" || end.LogEndOffset >= had {
		return false
	}
	a.why(stopped, event.RuleNone, "The power cut at %s took what the disk of %s had not synced: its "+
		"log ended at %d before, and at %d when it was opened again.", clock(stopped.At),
		w.who(node), had, end.LogEndOffset)
	return true
}

// notRisen says what the high watermark waits for.
func (w *witness) notRisen(a *Answer, l *model.Log) {
	if l.HighWatermark >= l.LogEndOffset {
		end := newer(newer(w.last(event.KindBatchAppended, l.Node),
			w.last(event.KindLogTruncated, l.Node)), w.last(event.KindLogOpened, l.Node))
		a.why(end, event.RuleHighWatermarkMinOfIsr,
			"Nothing waits above it: the leader's log ends at %d too.", l.LogEndOffset)
		return
	}
	if n := w.state.Node(l.Node); n != nil && n.Paused {
		w.absence(a, l.Node, "leads "+w.name())
		return
	}
	if int32(len(l.Isr)) < w.partition.MinIsr {
		a.notYet(newer(w.last(event.KindIsrChanged, l.Node), w.last(event.KindBecameLeader, l.Node)),
			event.RuleHighWatermarkFrozenUnderMinIsr, "The ISR %s has %d of the %d replicas that "+
				"min.insync.replicas asks for, so the high watermark stands still.", nodeList(l.Isr),
			len(l.Isr), w.partition.MinIsr)
		w.outside(a, l)
		return
	}
	for _, id := range l.Isr {
		if id != l.Node {
			w.lacking(a, l, id)
		}
	}
	for _, id := range l.Proposed {
		if !slices.Contains(l.Isr, id) {
			a.notYet(w.last(event.KindIsrChangeProposed, l.Node), event.RuleIsrOnlyByController,
				"%s is proposed for the ISR and counts already.", capital(w.who(id)))
			w.lacking(a, l, id)
		}
	}
}

// lacking says that one replica holds the high watermark back, and why it does.
func (w *witness) lacking(a *Answer, l *model.Log, id event.NodeID) {
	who := capital(w.who(id))
	known := event.Offset(-1)
	for _, f := range l.Followers {
		if f.Node == id {
			known = f.Offset
		}
	}
	proof := w.between(event.KindReplicaFetched, l.Node, id)
	switch {
	case known > l.HighWatermark:
		return
	case known < 0 || proof == nil:
		a.notYet(w.last(event.KindBecameLeader, l.Node), event.RuleHighWatermarkMinOfIsr,
			"%s is in the ISR and has not fetched from this leader yet; the high watermark is the "+
				"minimum over the ISR %s.", who, nodeList(l.Isr))
	default:
		a.notYet(proof, event.RuleHighWatermarkMinOfIsr, "%s is in the ISR and has fetched from "+
			"offset %d since %s; the high watermark is the minimum over the ISR %s.", who, known,
			clock(proof.At), nodeList(l.Isr))
	}
	w.fetching(a, l, id)
}

// fetching says where a follower's next fetch is, or why there will be none.
func (w *witness) fetching(a *Answer, l *model.Log, id event.NodeID) {
	if n := w.state.Node(id); n == nil || !n.Alive || n.Paused {
		role := "holds a replica"
		if slices.Contains(l.Isr, id) {
			role = "is in the ISR"
		}
		w.absence(a, id, role)
		return
	}
	if w.cut(a.notYet, id, l.Node, "fetches") {
		return
	}
	asked := w.between(event.KindMessageSent, id, l.Node)
	messages := w.underWay(id, l.Node)
	switch {
	case len(messages) == 0:
	case messages[0].Answers == 0:
		a.notYet(asked, event.RuleReplicaPulls, "%s's fetch from offset %d is under way to %s.",
			capital(w.who(id)), messages[0].Offset, w.who(l.Node))
		return
	default:
		a.notYet(asked, event.RuleReplicaPulls, "%s's answer with %s is under way to %s; only "+
			"the next fetch tells that it arrived.", capital(w.who(l.Node)),
			recordCount(messages[0].Records), w.who(id))
		return
	}
	a.notYet(asked, event.RuleReplicaPulls, "%s's next fetch is not here yet; nobody pushes, and "+
		"nothing else tells the leader what a follower has.", capital(w.who(id)))
}

// cut says that messages do not pass between two nodes in some direction; asking is what is sent to
// the second of them.
func (w *witness) cut(tell teller, follower, leader event.NodeID, asking string) bool {
	found := false
	for _, link := range w.state.Links {
		to := link.From == follower && link.To == leader
		if !link.Cut || !to && !(link.From == leader && link.To == follower) {
			continue
		}
		found = true
		what := "answers do not reach " + w.who(follower)
		if to {
			what = asking + " do not reach " + w.who(leader)
		}
		tell(w.between(event.KindLinkCut, link.From, link.To), event.RuleNone,
			"The link from %s to %s is cut: %s.", w.who(link.From), w.who(link.To), what)
	}
	return found
}

// underWay lists the fetches between two nodes and their answers that speak of this partition.
func (w *witness) underWay(follower, leader event.NodeID) []*model.Message {
	var found []*model.Message
	w.state.Messages.Each(func(m *model.Message) {
		asks := m.From == follower && m.To == leader && m.Answers == 0
		answers := m.From == leader && m.To == follower && m.Answers != 0 && m.Records > 0
		if m.API == "Fetch" && (asks || answers) && w.isHere(m.Topic, m.Partition) {
			found = append(found, m)
		}
	})
	return found
}

// sinceReign says that a leader has appended nothing.
func (w *witness) sinceReign(a *Answer, node event.NodeID) {
	f := newer(w.last(event.KindLogOpened, node), w.last(event.KindBecameLeader, node))
	if f != nil {
		a.why(f, event.RuleNone, "%s has appended nothing since %s.", capital(w.who(node)),
			clock(f.At))
	}
}

func (w *witness) whyLogEnd(a *Answer) {
	l := w.leading()
	if l == nil {
		a.Title = "The log of " + w.name() + " has nobody who appends to it now."
		w.noLeader(a)
		return
	}
	a.Title = say("The leader's log of %s ends at %d.", w.name(), l.LogEndOffset)
	if w.powerTook(a, l.Node) {
		w.sinceReign(a, l.Node)
	} else if f := w.last(event.KindLogTruncated, l.Node); f.seq() >
		w.last(event.KindBatchAppended, l.Node).seq() {
		e := f.chunk.LogTruncated(f.Record)
		a.why(f, f.Rule, "%s cut it from %d back to %d at %s, and has appended nothing since.",
			capital(w.who(l.Node)), e.Before, e.After, clock(f.At))
	} else if f := w.last(event.KindBatchAppended, l.Node); f != nil {
		e := f.chunk.BatchAppended(f.Record)
		what := say("offsets %d to %d", e.BaseOffset, e.LastOffset)
		if e.BaseOffset == e.LastOffset {
			what = say("offset %d", e.BaseOffset)
		}
		a.why(f, event.RuleNone, "%s appended %s at %s, in leader epoch %d.", capital(w.who(l.Node)),
			what, clock(f.At), e.LeaderEpoch)
	} else {
		w.sinceReign(a, l.Node)
	}
	for _, other := range w.partition.Logs {
		if other.Node != l.Node && other.LogEndOffset < l.LogEndOffset {
			told := newer(w.last(event.KindBatchAppended, other.Node),
				newer(w.last(event.KindLogOpened, other.Node),
					w.last(event.KindBecameFollower, other.Node)))
			a.notYet(told, event.RuleReplicaPulls, "%s's log ends at %d.",
				capital(w.who(other.Node)), other.LogEndOffset)
			w.fetching(a, l, other.Node)
		}
	}
}
