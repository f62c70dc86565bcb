package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

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
		rule := f.Rule
		if f.Kind == event.KindBecameLeader {
			rule = event.RuleNone // its own says why there is a new epoch, which no step tells
		}
		steps = append(steps, Step{Kind: kind, Who: w.who(node), Node: node,
			Sentence: because(f, rule, format, args...)})
	}
	j.attempts(w, add)
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
		if s.found != nil {
			add("found", s.found, s.node, "%s opens its log, which ends at %d, and has it there from "+
				"leader epoch %d: it was written before this recording began.", who,
				s.found.chunk.LogOpened(s.found.Record).LogEndOffset, j.of.Epoch)
		}
		if s.appended == nil && s.found == nil {
			steps = append(steps, Step{Kind: "found", Who: w.who(s.node), Node: s.node,
				Sentence: because(nil, event.RuleNone, "%s had it before the first event that is kept, "+
					"from leader epoch %d.", who, j.of.Epoch)})
		}
		add("appended", s.appended, s.node, "%s appends it at offset %d in leader epoch %d.", who,
			j.of.Offset, j.of.Epoch)
		if s.below != j.committed {
			add("below-hw", s.below, s.node, "%s hears that the high watermark has passed it.", who)
		}
		add("gone", s.gone, s.node, "%s no longer has it: %s.", who, goneBy(s.gone, j.of.Offset))
	}
	if f := j.committed; f != nil && j.isInDoubt() {
		add("committed", f, f.Node, "The high watermark of the leader, %s, has passed it.", w.who(f.Node))
	} else if f != nil {
		add("committed", f, f.Node, "It is committed: the high watermark of the leader, %s, has passed "+
			"it.", w.who(f.Node))
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
	answered(w, j.request, j.answer, add)
	for _, answer := range j.repeated {
		answered(w, nil, answer, add)
	}
	j.unanswered(w, add)
	j.believed(w, add)
	j.deliveries(w, add)
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

// deliveries tells who was given the record, every time; readers pass over markers.
func (j *journey) deliveries(w *witness, add adder) {
	had := map[event.NodeID]bool{}
	for _, f := range j.delivered {
		to := f.Node
		isSent := f.Kind != event.KindRecordsPolled
		if isSent {
			to = answerOf(f).Connection
		}
		switch {
		case j.nature.control:
		case !j.nature.known && isSent:
			add("delivered", f, to, "What lies there is sent to %s.", w.who(to))
		case !j.nature.known && j.isPassedOver(f):
			add("passed-over", f, to, "%s passes over it.", capital(w.who(to)))
		case j.aborted() && w.readsCommitted(to):
			add("passed-over", f, to, "%s passes over it, because its transaction was aborted.",
				capital(w.who(to)))
		case j.aborted() && w.state.Program(to) == nil:
			add("delivered", f, to, "It is sent to %s. Its transaction was aborted, so a client with "+
				"read_committed passes over it; any other is given it.", w.who(to))
		case had[to]:
			add("delivered", f, to, "It is delivered to %s again.", w.who(to))
		default:
			add("delivered", f, to, "It is delivered to %s.", w.who(to))
		}
		had[to] = true
	}
}

func acks(n int32) string {
	if n == -1 {
		return "all"
	}
	return fmt.Sprint(n)
}

func goneBy(f *fact, offset event.Offset) string {
	if f == nil {
		return ""
	}
	switch f.Kind {
	case event.KindLogTruncated:
		return say("its log was cut to %d", f.chunk.LogTruncated(f.Record).After)
	case event.KindLogOpened:
		if f.chunk.LogOpened(f.Record).LogEndOffset > offset {
			break // a hole
		}
		return "recovery did not find it on the disk"
	}
	return "compaction left a hole there"
}

// logStart is where the leader's log begins; without a leader, where the last one that is known
// does.
func (w *witness) logStart(leading *model.Log) (start event.Offset) {
	if leading != nil {
		return leading.LogStartOffset
	}
	for _, l := range w.partition.Logs {
		start = max(start, l.LogStartOffset)
	}
	return start
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
	isBelow := j.committed != nil ||
		leading != nil && holds(leading, j.of) && leading.HighWatermark > p.Offset
	name := p.name()
	switch {
	case j.nature.control:
		p.end(FateMarker, j.nature.told, "%s holds no record but a marker: it says how a transaction "+
			"ended, and no reader is given it.", name)
	case j.compacted != nil && !holds(leading, j.of) && j.aborted():
		p.end(FateAborted, j.marker, "%s is aborted: readers with read_committed never see it, and the "+
			"cleaner has removed it since.", name)
	case j.isCompacted() && !holds(leading, j.of):
		by := "a newer record has the same key"
		switch {
		case j.compacted == nil:
			by = "it was removed before the first event that is kept"
		case j.compacted.Kind == event.KindLogOpened && !j.known():
			by = say("when %s opened its log it had been removed already, before this recording began",
				w.who(j.compacted.Node))
		case j.by != nil:
			by = say("offset %d has the same key", j.by.chunk.RecordDescribed(j.by.Record).Offset)
		case j.isTombstone() && len(j.newer) == 0:
			by = "a tombstone stays for delete.retention.ms, and a pass after that removes it"
		}
		p.end(FateCompacted, j.compacted, "%s is compacted: %s.", name, by)
	case j.deleted != nil && w.logStart(leading) > p.Offset:
		p.end(FateDeleted, j.deleted, "%s is below the start of the log, %d: deleted.", name,
			w.logStart(leading))
	case !j.nature.known && !j.known() && leading != nil && leading.LogEndOffset <= p.Offset:
		p.end(FateUnrecorded, nil, "There is no %s: the leader's log ends at %d.", name,
			leading.LogEndOffset)
	case !j.nature.known && !j.known():
		p.end(FateUnrecorded, nil, "No kept event tells of %s, so what is there and what became of it "+
			"is not known.", name)
	case p.isLost(j, w, holders):
		p.lost(j, w, name, holders)
	case j.aborted():
		p.end(FateAborted, j.marker, "%s is aborted: readers with read_committed never see it.", name)
	case j.isInDoubt() && isBelow:
		p.below(j, w, name)
	case j.nature.known && j.nature.end == "":
		p.end(FateUnrecorded, nil, "%s is of a transaction, and no kept event tells how that ended.",
			name)
	case j.nature.end == "open":
		p.end(FateNotYet, j.append, "%s is in a transaction that is open: readers with "+
			"read_committed wait for its end, the others may have it.", name)
	case isBelow:
		p.committed(j, w, name)
	default:
		p.open(w, name, holders)
	}
}

// nature is what is known of the batch that a record is in.
type nature struct {
	known, control, transactional bool
	given                         bool // to a reader, so it is no marker
	producer                      int64
	told                          *fact // BatchAppended, nil where only the state knows the batch
	// end is how its transaction ended: committed, also without one; aborted; open; "": not known.
	end string
}

// natureOf reads what a record is from the events, and otherwise from what the leader's log is known
// to hold. Before the first kept event a log may have held markers and aborted records, and
// compaction may have made holes in it: nothing may be guessed of what lies there.
func (j *journey) natureOf(w *witness) nature {
	n := nature{told: j.append}
	leading := w.partition.Log(w.partition.Leader)
	for _, id := range slices.Sorted(maps.Keys(j.copies)) {
		if n.told == nil {
			n.told = j.copies[id].appended
		}
	}
	if n.told != nil {
		e := n.told.chunk.BatchAppended(n.told.Record)
		n.known, n.control, n.transactional, n.producer = true, e.Control, e.Transactional, e.ProducerID
	} else if b := batchOfAny(w.partition, j.of); b != nil {
		n.known, n.control, n.transactional, n.producer = true, b.Control, b.Transactional, b.ProducerID
	} else {
		n.known = holds(leading, j.of) && leading.KnownFrom <= j.of.Offset &&
			!mayHang(leading.Transactions, j.of.Offset)
	}
	n.end = j.endOf(n, leading)
	if holds(leading, j.of) && j.of.Offset < leading.KnownFrom {
		n.given = model.Tells(w.partition.Given, j.of.Offset)
		if model.Tells(w.partition.Assured, j.of.Offset) && n.end != "aborted" && !n.control {
			n.known, n.end = true, "committed"
		}
	}
	return n
}

// mayHang says that a transaction was around an offset, or may have been before those that are kept.
func mayHang(known []model.LogTransaction, offset event.Offset) bool {
	first := offset + 1
	for _, t := range known {
		if t.FirstOffset <= offset && (t.LastOffset < 0 || t.LastOffset >= offset) {
			return true
		}
		first = min(first, t.FirstOffset)
	}
	return len(known) >= model.LogTransactionsMax && first > offset
}

// isPassedOver says that a poll went past the offset and brought nothing from it. Of too many runs of
// offsets an event tells the newest, and nothing of those below.
func (j *journey) isPassedOver(poll *fact) bool {
	runs := model.ParseRuns(poll.chunk.RecordsPolled(poll.Record).Offsets)
	isUntold := len(runs) >= event.RunsMax && j.of.Offset < runs[0].From
	return !isUntold && !model.Tells(runs, j.of.Offset)
}

// isInDoubt says that a record below the high watermark may be a marker, or aborted.
func (j *journey) isInDoubt() bool { return !j.nature.known || j.nature.end == "" }

// below is as much as is known of what is in doubt.
func (p *Passport) below(j *journey, w *witness, name string) {
	f := j.committed
	if f == nil {
		f = w.last(event.KindHighWatermarkMoved, w.partition.Leader)
	}
	lies := name + " lies below the high watermark"
	before := "it was written before this recording began"
	if l := w.partition.Log(w.partition.Leader); l == nil || l.KnownFrom <= p.Offset {
		before = "the event of its batch is not kept"
	}
	switch {
	case j.nature.known:
		p.end(FateBelow, f, "%s, in a transaction, and no kept event tells how that ended.", lies)
	case j.nature.given:
		p.end(FateBelow, f, "%s, and readers were given it. Whether it was in a transaction that was "+
			"aborted is not recorded here: %s.", lies, before)
	default:
		p.end(FateBelow, f, "%s. Whether it is a record or a marker, and whether it was in a "+
			"transaction that was aborted, is not recorded here: %s.", lies, before)
	}
}

// endOf says how the transaction of a record ended.
func (j *journey) endOf(n nature, leading *model.Log) string {
	switch {
	case j.marker != nil && j.marker.chunk.TransactionMarkerWritten(j.marker.Record).Commit:
		return "committed"
	case j.marker != nil:
		return "aborted"
	case !n.transactional:
		return "committed"
	case j.append != nil:
		return "open" // a marker would have come later than this
	case leading == nil:
		return ""
	}
	for _, t := range leading.Transactions {
		if t.ProducerID == n.producer && t.FirstOffset <= j.of.Offset &&
			(t.LastOffset < 0 || j.of.Offset < t.LastOffset) {
			return t.State
		}
	}
	return ""
}

// batchOfAny is the batch on any replica, the leader's first.
func batchOfAny(p *model.Partition, of Record) *model.Batch {
	if b := batchOf(p.Log(p.Leader), of); b != nil {
		return b
	}
	for _, l := range p.Logs {
		if b := batchOf(l, of); b != nil {
			return b
		}
	}
	return nil
}

// batchOf is the batch that holds a record, nil where that is not known.
func batchOf(l *model.Log, of Record) *model.Batch {
	if !holds(l, of) {
		return nil
	}
	items := l.Batches.Items()
	for i := range items {
		if b := &items[i]; b.BaseOffset <= of.Offset && of.Offset <= b.LastOffset {
			return b
		}
	}
	return nil
}

func (j *journey) isTombstone() bool {
	return j.described != nil && j.described.chunk.RecordDescribed(j.described.Record).ValueBytes < 0
}

// aborted says that the record's transaction was.
func (j *journey) aborted() bool { return j.nature.end == "aborted" }

// readsCommitted says that a client is a built-in consumer with isolation.level=read_committed. What
// outside clients make of what they are sent, nobody here can know.
func (w *witness) readsCommitted(client event.NodeID) bool {
	program := w.state.Program(client)
	return program != nil && program.ReadsCommitted()
}

func (p *Passport) end(fate string, f *fact, format string, args ...any) {
	p.Fate, p.FateSeq, p.FateText = fate, f.seq(), say(format, args...)
}

// isLost says that the history goes on without the record: nobody has it any more, or whoever led
// last does not have it, in a later epoch, and it had been committed or another one is in its place.
func (p *Passport) isLost(j *journey, w *witness, holders int) bool {
	if j.known() && holders == 0 {
		return true
	}
	l := w.ledLast()
	if l == nil || holds(l, j.of) || w.partition.LeaderEpoch <= p.Epoch {
		return false
	}
	goesOn := slices.ContainsFunc(l.Epochs, func(e model.Epoch) bool {
		return e.Epoch > p.Epoch && e.StartOffset <= p.Offset && e.StartOffset < l.LogEndOffset
	})
	return goesOn || l.LogEndOffset > p.Offset || j.committed != nil
}

// ledLast is the log of the leader or, without one, of whoever led last: a leader notes its epoch
// before it writes in it.
func (w *witness) ledLast() *model.Log {
	if l := w.partition.Log(w.partition.Leader); l != nil || len(w.partition.Logs) == 0 {
		return l
	}
	newest := func(l *model.Log) event.Epoch {
		if len(l.Epochs) == 0 {
			return -1
		}
		return l.Epochs[len(l.Epochs)-1].Epoch
	}
	return slices.MaxFunc(w.partition.Logs, func(a, b *model.Log) int {
		return cmp.Or(cmp.Compare(newest(a), newest(b)), cmp.Compare(a.LogEndOffset, b.LogEndOffset))
	})
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
	case w.partition.Leader == event.NoNode:
		p.end(FateTruncated, w.leader, "%s is lost: %s, which led last, does not have it, and %d of %d "+
			"copies still hold what no reader gets.", name, w.who(w.ledLast().Node), holders, len(p.Copies))
	default:
		p.end(FateTruncated, w.leader, "%s is lost: the leader's log goes on without it in epoch %d, and "+
			"%d of %d copies still hold what no reader gets.", name, w.partition.LeaderEpoch, holders,
			len(p.Copies))
	}
	if at := j.appendedLater(); at != "" {
		p.FateText += " Sent again, it was appended at " + at + "."
	}
}

// committed is the good end, unless its producer does not know of it.
func (p *Passport) committed(j *journey, w *witness, name string) {
	f := j.committed
	if f == nil {
		f = w.last(event.KindHighWatermarkMoved, w.partition.Leader)
	}
	if belief := j.belief(); belief != nil {
		e := belief.chunk.BatchBelieved(belief.Record)
		if e.Belief != "acknowledged" {
			p.end(FateUnknown, belief, "%s is committed, but %s believes that it %s.", name,
				w.who(belief.Node), map[string]string{"failed": "failed",
					"unknown": "may or may not be there"}[e.Belief])
			return
		}
	}
	at := ""
	if p.Key != "" {
		at = say(" at offset %d", p.Offset)
	}
	p.end(FateCommitted, f, "%s is committed%s.", name, at)
	if n := len(j.retries); n > 0 {
		arrivals := "one more arrival of its batch was"
		if n > 1 {
			arrivals = say("%d more arrivals of its batch were", n)
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
		a.notYet(w.leader, event.RuleLeaderEpochBump, "%s leads in epoch %d and does not have it: "+
			"whoever has it cuts it off at its next fetch from there.", capital(w.who(l.Node)),
			w.partition.LeaderEpoch)
	default:
		w.notRisen(a, l)
	}
	p.NotYet = append(p.NotYet, a.NotYet...)
}
