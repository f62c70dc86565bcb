package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"highwater/cluster/event"
	"highwater/viz/model"
)

// steps are the stations that the record has passed, in the order of their events.
func (j *journey) steps(w *witness) []Step {
	steps := []Step{}
	add := func(kind string, f *fact, node event.NodeID, format string, args ...any) {
		if f == nil {
			return
		}
		steps = append(steps, Step{Kind: kind, Who: w.who(node), Node: node,
			Sentence: because(f, f.Rule, format, args...)})
	}
	if j.drained != nil {
		e := j.drained.chunk.BatchDrained(j.drained.Record)
		add("sent", j.drained, j.drained.Node, "%s sends it to %s, attempt %d.",
			w.who(j.drained.Node), w.who(e.To), e.Attempt)
	}
	if j.request != nil {
		e := j.request.chunk.RequestReceived(j.request.Record)
		add("received", j.request, e.Connection, "The produce of %s with acks=%s reaches %s.",
			w.who(e.Connection), acks(e.Acks), w.who(j.request.Node))
	}
	copies := slices.Clone(j.former)
	for _, id := range slices.Sorted(maps.Keys(j.copies)) {
		copies = append(copies, former{id, j.copies[id]})
	}
	for _, s := range copies {
		who := capital(w.who(s.node))
		add("appended", s.appended, s.node, "%s appends it at offset %d in leader epoch %d.", who,
			j.of.Offset, j.of.Epoch)
		if s.below != j.committed {
			add("below-hw", s.below, s.node, "%s hears that the high watermark has passed it.", who)
		}
		add("gone", s.gone, s.node, "%s no longer has it: %s.", who, goneBy(s.gone))
	}
	if j.committed != nil {
		add("committed", j.committed, j.committed.Node, "It is committed: the high watermark of the "+
			"leader, %s, has passed it.", w.who(j.committed.Node))
	}
	for _, f := range j.retries {
		add("retry", f, f.Node, "The same batch comes again; %s knows it by its sequence and appends "+
			"nothing.", w.who(f.Node))
	}
	if j.marker != nil {
		what := "aborts"
		if j.marker.chunk.TransactionMarkerWritten(j.marker.Record).Commit {
			what = "commits"
		}
		add("marker", j.marker, j.marker.Node, "A marker %s the transaction that it belongs to.", what)
	}
	j.answered(w, add)
	for _, f := range j.delivered {
		if j.isMarker() {
			break // readers pass over markers
		}
		to := f.Node
		if f.Kind == event.KindResponseSent {
			to = f.chunk.ResponseSent(f.Record).Connection
		}
		if j.aborted() && w.readsCommitted(to) {
			add("passed-over", f, to, "%s passes over it, because its transaction was aborted.",
				capital(w.who(to)))
			continue
		}
		if j.aborted() && w.state.Program(to) == nil {
			add("passed-over", f, to, "It is sent to %s, with word that its transaction was aborted: with "+
				"read_committed a client passes over it.", w.who(to))
			continue
		}
		add("delivered", f, to, "It is delivered to %s.", w.who(to))
	}
	if j.deleted != nil {
		add("deleted", j.deleted, j.deleted.Node, "The log begins at %d from now on, which deletes it.",
			j.deleted.chunk.LogStartOffsetMoved(j.deleted.Record).After)
	}
	for _, f := range j.commits {
		e := f.chunk.OffsetCommitted(f.Record)
		add("group-committed", f, f.Node, "Group %s has committed offset %d, past it.", e.Group,
			e.Offset)
	}
	slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Compare(a.Seq, b.Seq) })
	return steps
}

// answered tells what the producer was told, and what it believes.
func (j *journey) answered(w *witness, add func(string, *fact, event.NodeID, string, ...any)) {
	// With acks=0 the broker ends the request too, but nobody is told.
	isTold := j.request == nil || j.request.chunk.RequestReceived(j.request.Record).Acks != 0
	if j.answer != nil && isTold {
		e := j.answer.chunk.ResponseSent(j.answer.Record)
		kind, what := "acked", fmt.Sprintf("acknowledges offset %d", e.Offset)
		if e.ErrorCode != 0 {
			kind, what = "refused", fmt.Sprintf("answers with error %d", e.ErrorCode)
		}
		add(kind, j.answer, e.Connection, "%s %s to %s.", capital(w.who(j.answer.Node)), what,
			w.who(e.Connection))
	}
	if j.belief != nil {
		e := j.belief.chunk.BatchBelieved(j.belief.Record)
		add("believed", j.belief, j.belief.Node, "%s believes it: %s.", w.who(j.belief.Node), e.Belief)
	}
}

func acks(n int32) string {
	if n == -1 {
		return "all"
	}
	return fmt.Sprint(n)
}

func goneBy(f *fact) string {
	if f == nil {
		return ""
	}
	switch f.Kind {
	case event.KindLogTruncated:
		return fmt.Sprintf("its log was cut to %d", f.chunk.LogTruncated(f.Record).After)
	case event.KindLogOpened:
		return "recovery did not find it on the disk"
	}
	return "compaction left a hole there"
}

// seal names the fate.
func (p *Passport) seal(j *journey, w *witness) {
	leading := w.partition.Log(w.partition.Leader)
	holders := 0
	for _, c := range p.Copies {
		if c.Holds {
			holders++
		}
	}
	name := p.Key
	if name == "" {
		name = fmt.Sprintf("offset %d", p.Offset)
	}
	switch {
	case j.isMarker():
		p.end(FateMarker, j.append, "%s holds no record but a marker: it says how a transaction ended, "+
			"and no reader is given it.", name)
	case !p.Known && holders == 0:
		p.end(FateUnrecorded, nil, "No kept event tells of %s.", name)
	case j.compacted != nil && !holds(leading, j.of):
		by := "a newer record has the same key"
		switch {
		case j.by != nil:
			by = fmt.Sprintf("offset %d has the same key", j.by.chunk.RecordDescribed(j.by.Record).Offset)
		case j.isTombstone() && len(j.newer) == 0:
			by = "a tombstone stays for delete.retention.ms, and a pass after that removes it"
		}
		p.end(FateCompacted, j.compacted, "%s is compacted: %s.", name, by)
	case j.deleted != nil && leading != nil && leading.LogStartOffset > p.Offset:
		p.end(FateDeleted, j.deleted, "%s is below the start of the log, %d: deleted.", name,
			leading.LogStartOffset)
	case p.isLost(j, w, holders):
		p.lost(j, w, name, holders)
	case j.aborted():
		p.end(FateAborted, j.marker, "%s is aborted: readers with read_committed never see it.", name)
	case j.undecided():
		p.end(FateNotYet, j.append, "%s is in a transaction that is open: readers with "+
			"read_committed wait for its end, the others may have it.", name)
	case j.committed != nil || leading != nil && holds(leading, j.of) &&
		leading.HighWatermark > p.Offset:
		p.committed(j, w, name)
	default:
		p.open(w, name, holders)
	}
}

func (j *journey) isTombstone() bool {
	return j.described != nil && j.described.chunk.RecordDescribed(j.described.Record).ValueBytes < 0
}

func (j *journey) isMarker() bool {
	return j.append != nil && j.append.chunk.BatchAppended(j.append.Record).Control
}

// aborted says that a marker has aborted the record's transaction.
func (j *journey) aborted() bool {
	return j.marker != nil && !j.marker.chunk.TransactionMarkerWritten(j.marker.Record).Commit
}

// undecided says that the record's transaction has no marker yet.
func (j *journey) undecided() bool {
	return j.marker == nil && j.append != nil &&
		j.append.chunk.BatchAppended(j.append.Record).Transactional
}

// readsCommitted says that a client is a built-in consumer with isolation.level=read_committed. What
// outside clients make of what they are sent, nobody here can know.
func (w *witness) readsCommitted(client event.NodeID) bool {
	program := w.state.Program(client)
	return program != nil && strings.Contains(program.Settings, "isolation.level=read_committed")
}

func (p *Passport) end(fate string, f *fact, format string, args ...any) {
	p.Fate, p.FateSeq, p.FateText = fate, f.seq(), fmt.Sprintf(format, args...)
}

// isLost says that the leader's history goes on without the record: nobody has it any more, or
// another record is at its offset in a later epoch.
func (p *Passport) isLost(j *journey, w *witness, holders int) bool {
	if j.known() && holders == 0 {
		return true
	}
	l := w.partition.Log(w.partition.Leader)
	if l == nil || holds(l, j.of) || w.partition.LeaderEpoch <= p.Epoch {
		return false
	}
	goesOn := slices.ContainsFunc(l.Epochs, func(e model.Epoch) bool {
		return e.Epoch > p.Epoch && e.StartOffset <= p.Offset && e.StartOffset < l.LogEndOffset
	})
	return goesOn || l.LogEndOffset > p.Offset
}

func (p *Passport) lost(j *journey, w *witness, name string, holders int) {
	var cut *fact
	for _, s := range j.copies {
		cut = newer(cut, s.gone)
	}
	switch {
	case cut != nil && cut.Kind == event.KindLogOpened:
		p.end(FateRecovery, cut, "%s is lost: what held it was not on the disk.", name)
	case cut != nil:
		p.end(FateTruncated, cut, "%s is lost by truncation at epoch %d: the leader's log goes on "+
			"without it.", name, j.goneEpoch)
	default:
		p.end(FateTruncated, w.leader, "%s is lost: the leader's log goes on without it in epoch %d, and "+
			"%d of %d copies still hold what no reader gets.", name, w.partition.LeaderEpoch, holders,
			len(p.Copies))
	}
}

// committed is the good end, unless its producer does not know of it.
func (p *Passport) committed(j *journey, w *witness, name string) {
	f := j.committed
	if f == nil {
		f = w.last(event.KindHighWatermarkMoved, w.partition.Leader)
	}
	if j.belief != nil {
		e := j.belief.chunk.BatchBelieved(j.belief.Record)
		if e.Belief != "acknowledged" {
			p.end(FateUnknown, j.belief, "%s is committed, but %s believes that it %s.", name,
				w.who(j.belief.Node), map[string]string{"failed": "failed",
					"unknown": "may or may not be there"}[e.Belief])
			return
		}
	}
	at := ""
	if p.Key != "" {
		at = fmt.Sprintf(" at offset %d", p.Offset)
	}
	p.end(FateCommitted, f, "%s is committed%s.", name, at)
	if n := len(j.retries); n > 0 {
		arrivals := "one more arrival of its batch was"
		if n > 1 {
			arrivals = fmt.Sprintf("%d more arrivals of its batch were", n)
		}
		p.end(FateDuplicate, j.retries[n-1], "%s is committed once, at offset %d: %s recognised and "+
			"suppressed.", name, p.Offset, arrivals)
	}
}

// open says why the record has no fate yet.
func (p *Passport) open(w *witness, name string, holders int) {
	p.end(FateNotYet, nil, "%s is not committed yet; %d of %d replicas hold it.", name, holders,
		len(w.partition.Replicas))
	a := &Answer{}
	l := w.leading()
	switch {
	case l == nil:
		w.noLeader(a)
	case !holds(l, p.Record):
		a.notYet(w.leader, event.RuleLeaderEpochBump, "%s leads in epoch %d and does not have it; "+
			"with the next record that it writes the others will be cut.", capital(w.who(l.Node)),
			w.partition.LeaderEpoch)
	default:
		w.notRisen(a, l)
	}
	p.NotYet = append(p.NotYet, a.NotYet...)
}
