package explain

import (
	"slices"
	"strconv"
	"strings"

	"highwater/cluster/event"
	"highwater/viz/model"
)

// deliveriesMax is how many deliveries of one record are told.
const deliveriesMax = 100

// journey collects the events in which one record plays a part.
type journey struct {
	of    Record
	state *model.State

	key, value string
	hasKey     bool // the key is whole
	described  *fact
	append     *fact // the leader's own
	copies     map[event.NodeID]*station
	former     []former     // copies that were cut off and appended again later
	committed  *fact        // the first leader whose high watermark passed it
	epoch      event.Epoch  // of the partition, as the metadata log had it so far
	leader     event.NodeID // likewise
	goneEpoch  event.Epoch  // when a copy was cut last

	request   *fact    // RequestReceived
	answer    *fact    // ResponseSent or PartitionAnswered
	cutOff    *fact    // NodeStopped or ClientDisconnected, after which there is no answer
	sent      *sending // its batch, of a built-in producer
	attempt   *attempt // the one of sent that brought it here
	retries   []*fact
	repeats   map[requested]bool            // those of them, of an outside client, without an answer
	repeated  []*fact                       // their answers
	delivered []*fact                       // ResponseSent, PartitionAnswered or RecordsPolled
	commits   []*fact                       // OffsetCommitted, one a group
	newer     []*fact                       // RecordDescribed of later records with the same key
	upTo      map[event.NodeID]event.Offset // where a cleaner's pass under way ends
	compacted *fact
	hadHole   bool  // compaction had left one there where the kept events begin
	by        *fact // the one of newer for which it was removed
	deleted   *fact
	marker    *fact // TransactionMarkerWritten of its transaction, where it came first
	nature    nature

	asks map[event.NodeID]event.Offset // what a client's fetches ask for, from where on
	wire wire
	seen map[string]bool
}

// station is the record on one replica. What was there before the first event has no append: it was
// found when the log was opened, or was there already where the kept events begin, then without fact.
type station struct {
	appended, found, below, gone *fact
	wasBelow                     bool // then already
}

// former is a copy that a broker had before the one it has now.
type former struct {
	node event.NodeID
	*station
}

func newJourney(s *model.State, of Record) *journey {
	return &journey{of: of, state: s, copies: map[event.NodeID]*station{}, seen: map[string]bool{},
		upTo: map[event.NodeID]event.Offset{}, asks: map[event.NodeID]event.Offset{},
		repeats: map[requested]bool{}, wire: newWire()}
}

// newJourneyFrom is one that begins where the kept events do.
func newJourneyFrom(src Source, s *model.State, of Record, from event.Seq) (*journey, error) {
	j := newJourney(s, of)
	before, err := src.State(from - 1)
	if err != nil || !isThere(before, of) {
		return j, err
	}
	p := before.Partition(of.Topic, of.Partition)
	j.epoch, j.leader = p.LeaderEpoch, p.Leader
	for _, a := range before.Asks {
		if j.isHere(a.Topic, a.Partition) {
			j.asks[a.By] = a.Offset
		}
	}
	for _, l := range p.Logs {
		j.hadHole = j.hadHole || model.Tells(l.Holes, of.Offset)
		if holds(l, of) && of.Offset >= l.HolesFrom {
			j.copies[l.Node] = &station{wasBelow: l.HighWatermark > of.Offset}
		}
	}
	return j, nil
}

func (j *journey) known() bool { return j.append != nil || len(j.copies) > 0 }

// isCompacted says that a log was told to have a hole where the record was.
func (j *journey) isCompacted() bool { return j.compacted != nil || j.hadHole && !j.known() }

func (j *journey) isHere(topic string, index int32) bool {
	return topic == j.of.Topic && index == j.of.Partition
}

func (j *journey) covers(base, next event.Offset) bool {
	return base <= j.of.Offset && j.of.Offset < next
}

// see takes an event in.
func (j *journey) see(f *fact) {
	switch f.Kind {
	case event.KindRecordsBuffered, event.KindBatchDrained, event.KindBatchRequeued,
		event.KindBatchBelieved:
		j.seeSending(f)
	case event.KindMessageSent, event.KindMessageDelivered, event.KindRequestReceived,
		event.KindPartitionReceived:
		j.seeWire(f)
	case event.KindResponseSent, event.KindPartitionAnswered:
		j.seeAnswer(f)
	case event.KindFetchPositionChanged:
		if e := f.chunk.FetchPositionChanged(f.Record); j.isHere(e.Topic, e.Partition) {
			j.asks[e.Connection] = e.Offset
		}
	case event.KindNodeStopped, event.KindClientDisconnected:
		j.seeEnd(f)
	case event.KindRecordsPolled:
		e := f.chunk.RecordsPolled(f.Record)
		if j.isHere(e.Topic, e.Partition) && e.Before <= j.of.Offset && j.of.Offset < e.After &&
			j.holder(j.servedBy(f)) {
			j.deliver(f)
		}
	case event.KindOffsetCommitted:
		e := f.chunk.OffsetCommitted(f.Record)
		if j.isHere(e.Topic, e.Partition) && e.Offset > j.of.Offset && j.known() {
			j.once("group "+e.Group, func() { j.commits = append(j.commits, f) })
		}
	case event.KindTransactionMarkerWritten:
		j.seeMarker(f)
	case event.KindTopicCreated, event.KindTopicDeleted:
		if f.chunk.Text(f.Values[0]) == j.of.Topic { // what follows is another topic's
			*j = *newJourney(j.state, j.of)
		}
	case event.KindPartitionChanged:
		if e := f.chunk.PartitionChanged(f.Record); j.isHere(e.Topic, e.Partition) {
			j.epoch, j.leader = e.LeaderEpoch, e.Leader
		}
	default:
		if f.Kind > event.KindWaitEnded && f.Kind < event.KindLogDirFailed ||
			f.Kind == event.KindHighWatermarkMoved || f.Kind == event.KindBecameLeader {
			if j.isHere(f.chunk.Text(f.Values[0]), int32(f.Values[1])) {
				j.seeLog(f)
			}
		}
	}
}

func (j *journey) once(what string, do func()) {
	if !j.seen[what] {
		j.seen[what] = true
		do()
	}
}

// servedBy is the broker that a poll's records came from: its cause is the delivery, or it took what
// was fetched before, from the leader as far as anybody knows. Another leader's record may lie at
// the same offset.
func (j *journey) servedBy(poll *fact) event.NodeID {
	if last := j.wire.from[poll.Node]; last != nil && last.Seq == poll.Cause {
		return last.chunk.MessageDelivered(last.Record).From
	}
	return j.leader
}

// deliver notes every time that a reader is given the record: who begins again at an older offset
// gets it again.
func (j *journey) deliver(f *fact) {
	if !j.known() {
		return
	}
	if len(j.delivered) == deliveriesMax { // the first and the newest are told
		j.delivered = slices.Delete(j.delivered, 1, 2)
	}
	j.delivered = append(j.delivered, f)
}

func (j *journey) holder(node event.NodeID) bool {
	s := j.copies[node]
	return s != nil && s.gone == nil
}

// seeLog takes in what happened to a replica's log.
func (j *journey) seeLog(f *fact) {
	switch f.Kind {
	case event.KindBatchAppended:
		j.seeAppend(f)
	case event.KindRecordDescribed:
		j.seeDescribed(f)
	case event.KindLogTruncated:
		e := f.chunk.LogTruncated(f.Record)
		if j.holder(f.Node) && (e.After <= j.of.Offset || e.After > e.Before) {
			j.copies[f.Node].gone, j.goneEpoch = f, j.epoch
		}
	case event.KindLogOpened:
		j.seeOpened(f)
	case event.KindHighWatermarkMoved:
		if e := f.chunk.HighWatermarkMoved(f.Record); e.Before <= j.of.Offset {
			j.passed(f, e.After, f.Rule == event.RuleHighWatermarkMinOfIsr)
		}
	case event.KindBecameLeader:
		j.passed(f, f.chunk.BecameLeader(f.Record).HighWatermark, true)
	case event.KindDuplicateSuppressed:
		j.seeRetry(f)
	case event.KindLogStartOffsetMoved:
		if f.chunk.LogStartOffsetMoved(f.Record).After > j.of.Offset && j.deleted == nil {
			j.deleted = f
		}
	case event.KindCleanerPassBegan:
		j.upTo[f.Node] = f.chunk.CleanerPassBegan(f.Record).UpTo
	case event.KindSegmentsSwapped:
		j.seeSwap(f)
	}
}

// seeOpened notes what recovery lost, and what was there before the first event that tells of a log.
func (j *journey) seeOpened(f *fact) {
	e := f.chunk.LogOpened(f.Record)
	hasHole := model.Tells(model.ParseRuns(e.Holes), j.of.Offset)
	if j.holder(f.Node) && (e.LogEndOffset <= j.of.Offset || hasHole) {
		j.copies[f.Node].gone = f
	}
	if hasHole && j.compacted == nil { // before this recording, or by a pass that a crash ended
		j.compacted, j.by = f, j.newestBelow(e.LogEndOffset)
	}
	if j.copies[f.Node] != nil || e.LogEndOffset <= j.of.Offset {
		return
	}
	alone := model.New()
	alone.Apply(f.chunk, f.Record)
	p := alone.Partition(e.Topic, e.Partition)
	if l := p.Log(f.Node); holds(l, j.of) && j.of.Offset >= l.HolesFrom {
		j.copies[f.Node] = &station{found: f, wasBelow: e.HighWatermark > j.of.Offset}
	}
}

// passed notes that a replica's high watermark lies above the record.
func (j *journey) passed(f *fact, mark event.Offset, leads bool) {
	if !j.holder(f.Node) || mark <= j.of.Offset {
		return
	}
	if s := j.copies[f.Node]; s.below == nil && !s.wasBelow {
		s.below = f
	}
	if leads && j.committed == nil {
		j.committed = f
	}
}

func (j *journey) seeAppend(f *fact) {
	e := f.chunk.BatchAppended(f.Record)
	request, brought := j.broughtBy(f)
	if e.LeaderEpoch != j.of.Epoch || !j.covers(e.BaseOffset, e.LastOffset+1) {
		return
	}
	if s := j.copies[f.Node]; s != nil {
		j.former = append(j.former, former{f.Node, s})
	}
	j.copies[f.Node] = &station{appended: f}
	if !e.Leader {
		return
	}
	j.append, j.request, j.answer, j.cutOff, j.attempt = f, request, nil, nil, brought
	if brought != nil {
		j.sent = brought.of
	}
}

func (j *journey) seeDescribed(f *fact) {
	e := f.chunk.RecordDescribed(f.Record)
	switch {
	case e.Offset == j.of.Offset && j.append != nil && j.append.Node == f.Node &&
		j.append.Seq < f.Seq && j.described == nil:
		j.described, j.key, j.value = f, e.Key, e.Value
		j.hasKey = e.KeyBytes >= 0 && int(e.KeyBytes) == len(e.Key)
	case j.described != nil && j.hasKey && e.Key == j.key && e.Offset > j.of.Offset:
		j.newer = append(j.newer, f)
	}
}

// seeRetry notes that the same batch came again and was recognised by its sequence.
func (j *journey) seeRetry(f *fact) {
	e := f.chunk.DuplicateSuppressed(f.Record)
	if j.append == nil || e.ProducerID < 0 {
		return
	}
	first := j.append.chunk.BatchAppended(j.append.Record)
	if e.ProducerID == first.ProducerID && e.BaseOffset == first.BaseOffset {
		j.retries = append(j.retries, f)
		if request := j.wire.received[f.Cause]; request != nil && j.sent == nil {
			r := request.chunk.RequestReceived(request.Record)
			j.repeats[requested{request.Node, r.Request}] = r.Acks != 0
		}
	}
}

// seeMarker notes how the transaction that the record belongs to ended.
func (j *journey) seeMarker(f *fact) {
	e := f.chunk.TransactionMarkerWritten(f.Record)
	if j.marker != nil || !j.isHere(e.Topic, e.Partition) || e.FirstOffset < 0 ||
		!j.covers(e.FirstOffset, e.Offset) {
		return
	}
	if !j.holder(f.Node) {
		return
	}
	appended := j.copies[f.Node].appended
	if appended == nil {
		return // whose it is was not told
	}
	if e.ProducerID == appended.chunk.BatchAppended(appended.Record).ProducerID {
		j.marker = f
	}
}

// seeSwap notes that compaction left a hole where the record was.
func (j *journey) seeSwap(f *fact) {
	for _, run := range strings.Split(f.chunk.SegmentsSwapped(f.Record).Holes, ",") {
		low, high, isRun := strings.Cut(run, "-")
		if !isRun {
			high = low
		}
		from, err := strconv.ParseInt(low, 10, 64)
		to, err2 := strconv.ParseInt(high, 10, 64)
		if err != nil || err2 != nil || !j.covers(event.Offset(from), event.Offset(to)+1) {
			continue
		}
		if j.holder(f.Node) {
			j.copies[f.Node].gone = f
		}
		if j.compacted == nil {
			j.compacted, j.by = f, j.newestBelow(j.upTo[f.Node])
		}
	}
}

// newestBelow is the newest record with the same key that a pass looked at.
func (j *journey) newestBelow(end event.Offset) *fact {
	for _, f := range slices.Backward(j.newer) {
		if f.chunk.RecordDescribed(f.Record).Offset < end {
			return f
		}
	}
	return nil
}

// copiesOf lists the record on every replica that the partition has, or had it on.
func (j *journey) copiesOf(w *witness) []Copy {
	list := []Copy{}
	ids := slices.Clone(w.partition.Replicas)
	for id := range j.copies {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		c := Copy{Node: id}
		if s := j.copies[id]; s != nil {
			c.Appended, c.Below, c.Gone = s.appended.seq(), s.below.seq(), s.gone.seq()
			if s.wasBelow {
				c.Below = s.found.seq()
			}
		}
		if l := w.partition.Log(id); l != nil {
			c.Holds = holds(l, j.of)
			c.OnDisk = c.Holds && j.of.Offset < l.SyncedOffset
			c.Unpowered = l.Unpowered
		}
		list = append(list, c)
	}
	return list
}
