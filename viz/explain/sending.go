package explain

import (
	"highwater/cluster/event"
)

// sending is a batch of a built-in producer, with every time that it was sent: one record can reach
// the logs by several of them, at several places.
type sending struct {
	buffered []*fact // RecordsBuffered, as it filled
	attempts []*attempt
	belief   *fact // BatchBelieved
}

// attempt is one time that a batch was sent.
type attempt struct {
	of       *sending
	drained  *fact // BatchDrained
	request  *fact // RequestReceived
	appended *fact // BatchAppended of the leader that it reached
	answer   *fact // ResponseSent or PartitionAnswered
	failed   *fact // BatchRequeued
}

// ownBatch names a batch among those of all producers.
type ownBatch struct {
	producer event.NodeID
	batch    int64
}

// wire follows produce requests from a built-in producer's batch to the broker.
type wire struct {
	open     map[ownBatch]*sending     // without a belief
	drained  map[event.NodeID]*attempt // not yet in a message, by producer
	sent     map[int64]*attempt        // by message
	arrived  map[event.Seq]*attempt    // by the delivery
	from     map[event.NodeID]*fact    // the last delivery to a built-in client
	received map[event.Seq]*fact       // requests without an answer, by their event
	here     map[event.Seq]bool        // those of them that bring records for the partition
	brought  map[event.Seq]*attempt    // by the request that brought them
}

func newWire() wire {
	return wire{map[ownBatch]*sending{}, map[event.NodeID]*attempt{}, map[int64]*attempt{},
		map[event.Seq]*attempt{}, map[event.NodeID]*fact{}, map[event.Seq]*fact{},
		map[event.Seq]bool{}, map[event.Seq]*attempt{}}
}

func (w *wire) forget(request event.Seq) {
	delete(w.received, request)
	delete(w.here, request)
	delete(w.brought, request)
}

// seeSending takes in what a built-in producer says of a batch for the partition.
func (j *journey) seeSending(f *fact) {
	if !j.isHere(f.chunk.Text(f.Values[1]), int32(f.Values[2])) {
		return
	}
	batch := ownBatch{f.Node, f.Values[0]}
	s := j.wire.open[batch]
	if s == nil && (f.Kind == event.KindRecordsBuffered || f.Kind == event.KindBatchDrained) {
		s = &sending{}
		j.wire.open[batch] = s
	}
	if f.Kind == event.KindBatchDrained {
		a := &attempt{of: s, drained: f}
		s.attempts = append(s.attempts, a)
		j.wire.drained[f.Node] = a
		return
	}
	switch {
	case s == nil:
	case f.Kind == event.KindRecordsBuffered:
		s.buffered = append(s.buffered, f)
	case f.Kind == event.KindBatchRequeued && len(s.attempts) > 0:
		s.attempts[len(s.attempts)-1].failed = f
	case f.Kind == event.KindBatchRequeued:
	default:
		s.belief = f
		delete(j.wire.open, batch)
	}
}

// seeWire ties a request at the leader to the batch of the producer that sent it: each event names
// the one before as its cause, or speaks in the same breath.
func (j *journey) seeWire(f *fact) {
	switch f.Kind {
	case event.KindMessageSent:
		e := f.chunk.MessageSent(f.Record)
		if a := j.wire.drained[f.Node]; a != nil && e.API == "Produce" && e.Answers == 0 {
			j.wire.sent[e.Message] = a
			delete(j.wire.drained, f.Node)
		}
	case event.KindMessageDelivered:
		message := f.chunk.MessageDelivered(f.Record).Message
		if j.state.Program(f.Node) != nil {
			j.wire.from[f.Node] = f
		}
		if a := j.wire.sent[message]; a != nil {
			j.wire.arrived[f.Seq] = a
			delete(j.wire.sent, message)
		}
	case event.KindPartitionReceived:
		if e := f.chunk.PartitionReceived(f.Record); j.isHere(e.Topic, e.Partition) {
			j.wire.here[f.Cause] = true
		}
	case event.KindRequestReceived:
		e := f.chunk.RequestReceived(f.Record)
		if e.API == "Fetch" && j.isHere(e.Topic, e.Partition) {
			j.asks[e.Connection] = e.Offset
		}
		if e.API != "Produce" {
			return
		}
		j.wire.received[f.Seq] = f
		if j.isHere(e.Topic, e.Partition) {
			j.wire.here[f.Seq] = true
		}
		if a := j.wire.arrived[f.Cause]; a != nil {
			a.request = f
			j.wire.brought[f.Seq] = a
			delete(j.wire.arrived, f.Cause)
		}
	}
}

// sentFrom is where what a client is given of an answer begins: a batch may begin before what was
// asked for, which the client passes over. A later fetch may have asked for more already.
func (j *journey) sentFrom(e event.PartitionAnswered) event.Offset {
	if asked := j.asks[e.Connection]; asked < e.Offset+event.Offset(e.Records) {
		return max(e.Offset, asked)
	}
	return e.Offset
}

func (j *journey) seeAnswer(f *fact) {
	e := answerOf(f)
	isHere := j.isHere(e.Topic, e.Partition)
	switch {
	case e.API == "Produce":
		if j.request != nil && j.answer == nil && f.Node == j.request.Node && isHere &&
			e.Request == j.request.chunk.RequestReceived(j.request.Record).Request {
			j.answer = f
		}
		if isHere && j.repeats[requested{f.Node, e.Request}] {
			delete(j.repeats, requested{f.Node, e.Request})
			j.repeated = append(j.repeated, f)
		}
		for seq, request := range j.wire.received {
			if request.chunk.RequestReceived(request.Record).Request != e.Request {
				continue
			}
			if a := j.wire.brought[seq]; a != nil && isHere {
				a.answer = f
			}
			if f.Kind == event.KindResponseSent {
				j.wire.forget(seq)
			}
		}
	case e.API == "Fetch" && e.Records > 0 && isHere &&
		j.covers(j.sentFrom(e), e.Offset+event.Offset(e.Records)) && j.holder(f.Node) &&
		j.state.Program(e.Connection) == nil:
		j.deliver(f)
	}
}

// seeEnd notes that the request which brought the record will have no answer any more.
func (j *journey) seeEnd(f *fact) {
	if f.Kind == event.KindClientDisconnected {
		defer j.forgetRequests(f.chunk.ClientDisconnected(f.Record).Connection)
	}
	if j.request == nil || j.answer != nil || j.cutOff != nil || f.Node != j.request.Node {
		return
	}
	asked := j.request.chunk.RequestReceived(j.request.Record)
	if asked.Acks != 0 && (f.Kind == event.KindNodeStopped ||
		f.chunk.ClientDisconnected(f.Record).Connection == asked.Connection) {
		j.cutOff = f
	}
}

// forgetRequests lets go of what a client that is gone had asked.
func (j *journey) forgetRequests(of event.NodeID) {
	for seq, request := range j.wire.received {
		if request.chunk.RequestReceived(request.Record).Connection == of {
			j.wire.forget(seq)
		}
	}
}

// broughtBy finds the request that a leader appended for, and the attempt of a built-in producer
// that it was; nil for none.
func (j *journey) broughtBy(appended *fact) (request *fact, a *attempt) {
	e := appended.chunk.BatchAppended(appended.Record)
	if !e.Leader || e.Control {
		return nil, nil
	}
	seq := appended.Cause
	if j.wire.received[seq] == nil { // the broker asked about its transaction first
		seq = j.askedFor(appended.Node, e)
	}
	if a = j.wire.brought[seq]; a != nil {
		a.appended = appended
	}
	return j.wire.received[seq], a
}

// askedFor is the request without an answer that brought a batch: the one whose batch has its
// sequence, or the only one from outside.
func (j *journey) askedFor(node event.NodeID, e event.BatchAppended) (brought event.Seq) {
	var outside []event.Seq
	for seq, request := range j.wire.received {
		if request.Node != node || !j.wire.here[seq] {
			continue
		}
		a := j.wire.brought[seq]
		if a == nil {
			outside = append(outside, seq)
			continue
		}
		b := a.drained.chunk.BatchDrained(a.drained.Record)
		if b.ProducerID == e.ProducerID && b.Sequence == e.BaseSequence {
			brought = max(brought, seq)
		}
	}
	if brought == 0 && len(outside) == 1 {
		return outside[0]
	}
	return brought
}

// chosen is the earliest event that tells of the record: its producer had hashed the key by then.
func (j *journey) chosen() *fact {
	if j.sent != nil {
		index := j.of.Offset - j.append.chunk.BatchAppended(j.append.Record).BaseOffset
		for _, f := range j.sent.buffered {
			if event.Offset(f.chunk.RecordsBuffered(f.Record).Records) > index {
				return f
			}
		}
		return j.sent.attempts[0].drained
	}
	if j.request != nil {
		return j.request
	}
	return j.described
}

// adder adds a station to a passport, unless there is no fact for it.
type adder func(kind string, f *fact, node event.NodeID, format string, args ...any)

// attempts tells how often the batch was sent, and where else it came to lie.
func (j *journey) attempts(w *witness, add adder) {
	if j.sent == nil {
		return
	}
	for i := 0; i < len(j.sent.attempts); i++ {
		a := j.sent.attempts[i]
		e := a.drained.chunk.BatchDrained(a.drained.Record)
		who := w.who(a.drained.Node)
		first, again := i, "again "
		if i == 0 {
			again = ""
		}
		for j.isVain(i) && i+1 < len(j.sent.attempts) && j.isVain(i+1) {
			i++
		}
		if j.isVain(first) {
			failed := j.sent.attempts[i].failed
			reason := failed.chunk.BatchRequeued(failed.Record).Reason
			if i == first {
				add("sent", a.drained, a.drained.Node, "%s sends it %sto %s, attempt %d, which fails: %s.",
					who, again, w.who(e.To), e.Attempt, reason)
				continue
			}
			add("sent", a.drained, a.drained.Node, "%s sends it %s%d times, attempts %d to %d, and all "+
				"of them fail: %s.", who, again, i-first+1, e.Attempt, int(e.Attempt)+i-first, reason)
			continue
		}
		add("sent", a.drained, a.drained.Node, "%s sends it %sto %s, attempt %d.", who, again,
			w.who(e.To), e.Attempt)
		if a.failed != nil {
			add("failed", a.failed, a.failed.Node, "%s counts attempt %d as failed: %s.", who, e.Attempt,
				a.failed.chunk.BatchRequeued(a.failed.Record).Reason)
		}
		if a != j.attempt {
			j.elsewhere(w, a, add)
		}
	}
}

// isVain says that nothing came of an attempt.
func (j *journey) isVain(i int) bool {
	a := j.sent.attempts[i]
	return a != j.attempt && a.failed != nil && a.request == nil
}

// elsewhere tells what came of an attempt that did not bring this record.
func (j *journey) elsewhere(w *witness, a *attempt, add adder) {
	if a.appended != nil {
		at, epoch := j.placeIn(a)
		add("appended-elsewhere", a.appended, a.appended.Node, "%s appends the same batch: this record "+
			"is there at offset %d in leader epoch %d.", capital(w.who(a.appended.Node)), at, epoch)
	}
	answered(w, a.request, a.answer, add)
}

// placeIn is where a batch that was sent several times has this record, by another attempt.
func (j *journey) placeIn(a *attempt) (event.Offset, event.Epoch) {
	here := j.append.chunk.BatchAppended(j.append.Record)
	there := a.appended.chunk.BatchAppended(a.appended.Record)
	return there.BaseOffset + j.of.Offset - here.BaseOffset, there.LeaderEpoch
}

// appendedLater is where the record was appended after it had been appended here, "" for nowhere.
func (j *journey) appendedLater() string {
	if j.sent == nil {
		return ""
	}
	for _, a := range j.sent.attempts {
		if a.appended.seq() > j.append.seq() {
			at, epoch := j.placeIn(a)
			return say("offset %d in leader epoch %d", at, epoch)
		}
	}
	return ""
}

// answered tells what the producer was told.
func answered(w *witness, request, answer *fact, add adder) {
	if answer == nil {
		return
	}
	// With acks=0 the broker ends the request too, but nobody is told.
	if request != nil && request.chunk.RequestReceived(request.Record).Acks == 0 {
		return
	}
	e := answerOf(answer)
	kind, what := "acked", say("acknowledges its batch, at offset %d,", e.Offset)
	if e.ErrorCode != 0 {
		kind, what = "refused", "answers "+event.ErrorName(int16(e.ErrorCode))
	}
	add(kind, answer, e.Connection, "%s %s to %s.", capital(w.who(answer.Node)), what,
		w.who(e.Connection))
}

// unanswered tells that the producer heard nothing of a request; one of the cluster tells itself that
// it gave it up.
func (j *journey) unanswered(w *witness, add adder) {
	if j.cutOff == nil || j.sent != nil {
		return
	}
	from := j.request.chunk.RequestReceived(j.request.Record).Connection
	if j.cutOff.Kind == event.KindNodeStopped {
		add("unanswered", j.cutOff, from, "%s goes down before it has answered: %s is told nothing.",
			capital(w.who(j.cutOff.Node)), w.who(from))
		return
	}
	add("unanswered", j.cutOff, from, "The connection of %s ends before it is answered.", w.who(from))
}

// believed tells what the producer takes for true of its batch.
func (j *journey) believed(w *witness, add adder) {
	f := j.belief()
	if f == nil {
		return
	}
	e := f.chunk.BatchBelieved(f.Record)
	where := ""
	if first := j.append.chunk.BatchAppended(j.append.Record).BaseOffset; e.BaseOffset >= 0 &&
		e.BaseOffset != first {
		where = say(", at offset %d", e.BaseOffset+j.of.Offset-first)
	}
	add("believed", f, f.Node, "%s believes it: %s%s.", w.who(f.Node), e.Belief, where)
}

// belief is what a built-in producer came to believe of the record, nil before and for others.
func (j *journey) belief() *fact {
	if j.sent == nil {
		return nil
	}
	return j.sent.belief
}
