package partition

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/record"
)

// Waiter is a produce request that waits for the high watermark.
type Waiter interface {
	// Passed says that the high watermark reached what was waited for, or, with a Kafka error
	// code, that it will not under this leader.
	Passed(p *Partition, code int16)
}

type wait struct {
	needs  event.Offset
	waiter Waiter
}

// leading is what only a leader has.
type leading struct {
	epochStart event.Offset
	followers  []*follower
	proposed   []event.NodeID // the ISR asked for, nil when nothing is
	unanswered []event.NodeID // the one that the controller has not answered: the same, or one before
	waits      []wait         // ascending by needs
	passing    []wait         // room for those being told, so that none is made for each
	// verifying are the transactions that producers have begun to write here and that their
	// coordinator has been asked about, by producer id.
	verifying map[int64]*verification
}

// follower is what a leader knows of another replica.
type follower struct {
	id            event.NodeID
	logEndOffset  event.Offset // what its last fetch proved; -1 before the first
	brokerEpoch   int64
	lastFetch     int64 // virtual ns of its last fetch
	lastFetchEnd  event.Offset
	lastCaughtUp  int64 // virtual ns at which it last had all that the leader had
	caughtUpKnown bool
	mayAsk        bool // a fetch came while another proposal was open
}

func (p *Partition) becomeLeader(m *metadata.Partition) {
	old := p.leading
	l := &leading{epochStart: p.Log.LogEndOffset(), verifying: map[int64]*verification{}}
	p.Log.AssignEpochStart(p.leaderEpoch, l.epochStart)
	p.host.LogChanged(p)
	now := p.env.VirtualNow()
	for _, id := range m.Replicas {
		if id == p.env.ID() {
			continue
		}
		// Members of the ISR get a full lag period before they can be found lagging.
		f := &follower{id: id, logEndOffset: -1, brokerEpoch: -1, lastFetch: now}
		if contains(m.Isr, id) {
			f.lastCaughtUp, f.caughtUpKnown = now, true
		}
		l.followers = append(l.followers, f)
	}
	p.leading = l
	if old != nil {
		old.failWaits(p, kerr.NotLeaderForPartition.Code)
	}
	p.holdTail()
	event.BecameLeader{Topic: p.Topic, Partition: p.Index, LeaderEpoch: p.leaderEpoch,
		PartitionEpoch: p.partitionEpoch, Replicas: p.replicas, Isr: p.isr,
		StartOffset: l.epochStart, HighWatermark: p.highWatermark,
		MinIsr: int32(p.effectiveMinIsr()), LastStableOffset: p.lastStable}.Emit(p.env.Events, event.RuleLeaderEpochBump)
	p.maybeMoveHighWatermark()
}

func (p *Partition) stopLeading() {
	l := p.leading
	p.leading = nil
	if l != nil {
		l.failWaits(p, kerr.NotLeaderForPartition.Code)
		p.Log.SetTailHold(p.Log.LogEndOffset())
	}
}

// EpochStart is the log end offset at which this leader's epoch began.
func (p *Partition) EpochStart() event.Offset { return p.leading.epochStart }

func (p *Partition) effectiveMinIsr() int {
	return max(1, min(p.Settings.MinIsr, len(p.replicas)))
}

// UnderMinIsr says whether acks=all has to be refused.
func (p *Partition) UnderMinIsr() bool { return len(p.isr) < p.effectiveMinIsr() }

// maximalIsr counts a replica that the leader has proposed to add before the controller answered,
// and one proposed to leave until it has: the high watermark waits for both kinds.
func (p *Partition) inMaximalIsr(id event.NodeID) bool {
	return contains(p.isr, id) || p.leading != nil && contains(p.leading.proposed, id)
}

func (p *Partition) maximalIsrSize() int {
	n := len(p.isr)
	for _, id := range p.leading.proposed {
		if !contains(p.isr, id) {
			n++
		}
	}
	return n
}

// Append adds a client's batch to the log. allReplicas is acks=all, which is refused before
// anything is written when the ISR is too small.
func (p *Partition) Append(buffer record.Buffer, header record.Header, allReplicas bool) (
	commitlog.Appended, error) {
	if p.leading == nil {
		return commitlog.Appended{}, &commitlog.AppendError{
			Code: kerr.NotLeaderForPartition.Code, Message: "this broker does not lead the partition"}
	}
	if allReplicas && p.UnderMinIsr() {
		event.AppendRefused{Topic: p.Topic, Partition: p.Index,
			ErrorCode: int32(kerr.NotEnoughReplicas.Code), Detail: "the ISR is too small for acks=all",
			ProducerID: header.ProducerID, Expected: int64(p.effectiveMinIsr()),
			Got: int64(len(p.isr))}.Emit(p.env.Events, event.RuleNotEnoughReplicas)
		return commitlog.Appended{}, &commitlog.AppendError{Code: kerr.NotEnoughReplicas.Code,
			Message: "the ISR has fewer members than min.insync.replicas"}
	}
	p.noteCaughtUp()
	appended, err := p.Log.AppendAsLeader(buffer, header, p.leaderEpoch, commitlog.Client)
	if err != nil || appended.Duplicate {
		return appended, err
	}
	p.appended(buffer.Bytes, header, appended)
	return appended, nil
}

// AppendOwn adds a coordinator's batch: offset commits, transaction states and markers.
func (p *Partition) AppendOwn(buffer record.Buffer, header record.Header) (
	commitlog.Appended, error) {
	if p.leading == nil {
		return commitlog.Appended{}, &commitlog.AppendError{
			Code: kerr.NotLeaderForPartition.Code, Message: "this broker does not lead the partition"}
	}
	p.noteCaughtUp()
	appended, err := p.Log.AppendAsLeader(buffer, header, p.leaderEpoch, commitlog.Coordinator)
	if err == nil {
		p.appended(buffer.Bytes, header, appended)
	}
	return appended, err
}

func (p *Partition) appended(batch []byte, header record.Header, appended commitlog.Appended) {
	p.describe(batch, header, appended.BaseOffset)
	p.host.LogChanged(p)
	p.host.LogEndMoved(p)
	p.maybeMoveHighWatermark()
}

// noteCaughtUp keeps, before the log grows, that followers at its end were caught up when they
// last fetched.
func (p *Partition) noteCaughtUp() {
	end := p.Log.LogEndOffset()
	for _, f := range p.leading.followers {
		if f.logEndOffset == end {
			f.lastCaughtUp, f.caughtUpKnown = f.lastFetch, true
		}
	}
}

// WaitForHighWatermark calls the waiter once the high watermark is at needs or beyond.
func (p *Partition) WaitForHighWatermark(needs event.Offset, w Waiter) (waits bool) {
	if p.highWatermark >= needs {
		return false
	}
	all := p.leading.waits
	at := len(all)
	for at > 0 && all[at-1].needs > needs { // a retry needs less than what was sent behind it
		at--
	}
	p.leading.waits = slices.Insert(all, at, wait{needs, w})
	return true
}

// Forget takes a waiter whose time has passed off the list.
func (p *Partition) Forget(w Waiter) {
	if p.leading == nil {
		return
	}
	kept := p.leading.waits[:0]
	for _, x := range p.leading.waits {
		if x.waiter != w {
			kept = append(kept, x)
		}
	}
	clear(p.leading.waits[len(kept):])
	p.leading.waits = kept
}

func (l *leading) releaseWaits(p *Partition) {
	n := 0
	for n < len(l.waits) && l.waits[n].needs <= p.highWatermark {
		n++
	}
	if n == 0 {
		return
	}
	var code int16
	if p.maximalIsrSize() < p.effectiveMinIsr() {
		code = kerr.NotEnoughReplicasAfterAppend.Code
	}
	// They leave the list first: a coordinator that hears of one batch appends the next, and a
	// leader without followers in its ISR comes here again from within.
	passing := append(l.passing[:0], l.waits[:n]...)
	l.passing = nil
	left := copy(l.waits, l.waits[n:])
	clear(l.waits[left:])
	l.waits = l.waits[:left]
	for _, w := range passing {
		w.waiter.Passed(p, code)
	}
	clear(passing)
	l.passing = passing[:0]
}

func (l *leading) failWaits(p *Partition, code int16) {
	waits := l.waits
	l.waits = nil
	for _, w := range waits {
		w.waiter.Passed(p, code)
	}
}

// follower finds what the leader knows of a replica.
func (l *leading) follower(id event.NodeID) *follower {
	for _, f := range l.followers {
		if f.id == id {
			return f
		}
	}
	return nil
}

// FollowerFetched notes what a follower's fetch proves: it has everything below offset. This, the
// next fetch after the one that carried the records, is the only thing that moves the high
// watermark.
func (p *Partition) FollowerFetched(id event.NodeID, offset event.Offset, brokerEpoch int64) {
	l := p.leading
	f := l.follower(id)
	if f == nil {
		return
	}
	now, end := p.env.VirtualNow(), p.Log.LogEndOffset()
	switch {
	case offset >= end:
		f.lastCaughtUp, f.caughtUpKnown = now, true
	case f.logEndOffset >= 0 && offset >= f.lastFetchEnd:
		f.lastCaughtUp, f.caughtUpKnown = max(f.lastCaughtUp, f.lastFetch), true
	}
	f.lastFetch, f.lastFetchEnd, f.brokerEpoch = now, end, brokerEpoch
	if before := f.logEndOffset; before != offset {
		f.logEndOffset = offset
		fetched := event.ReplicaFetched{Topic: p.Topic, Partition: p.Index, Replica: id,
			Before: before, Offset: offset}.Emit(p.env.Events, event.RuleReplicaPulls)
		if fetched != 0 {
			cause := p.env.Events.Cause
			p.env.Events.Cause = fetched
			defer func() { p.env.Events.Cause = cause }()
		}
		p.holdTail()
	}
	p.maybeExpandIsr(f)
	p.maybeMoveHighWatermark()
}

// FollowerSeen notes that a follower is still fetching although nothing changed for it.
func (p *Partition) FollowerSeen(id event.NodeID) {
	f := p.leading.follower(id)
	if f == nil {
		return
	}
	f.lastFetch, f.lastFetchEnd = p.env.VirtualNow(), p.Log.LogEndOffset()
	if f.logEndOffset >= f.lastFetchEnd {
		f.lastCaughtUp, f.caughtUpKnown = f.lastFetch, true
	}
	// Its broker may have been unfenced since its position last changed.
	p.maybeExpandIsr(f)
}

// holdTail keeps in memory what followers still have to be sent.
func (p *Partition) holdTail() {
	lowest := p.Log.LogEndOffset()
	for _, f := range p.leading.followers {
		if f.logEndOffset >= 0 && p.inMaximalIsr(f.id) {
			lowest = min(lowest, f.logEndOffset)
		}
	}
	p.Log.SetTailHold(lowest)
}

// maybeMoveHighWatermark applies the rule: the smallest log end offset of the maximal ISR and of
// replicas that are about to join it; never back; not while the ISR is under its minimum.
func (p *Partition) maybeMoveHighWatermark() {
	l := p.leading
	if l == nil {
		return
	}
	if p.UnderMinIsr() {
		return
	}
	to := p.Log.LogEndOffset()
	for _, f := range l.followers {
		if p.inMaximalIsr(f.id) || p.aboutToJoin(f) {
			to = min(to, max(f.logEndOffset, 0))
		}
	}
	if to > p.highWatermark {
		p.moveHighWatermark(to, event.RuleHighWatermarkMinOfIsr)
	}
}

// aboutToJoin says whether a follower outside the ISR has kept up lately and may join: the high
// watermark waits for it too, or it could never catch up under load.
func (p *Partition) aboutToJoin(f *follower) bool {
	return f.caughtUpKnown && f.logEndOffset >= 0 &&
		p.env.VirtualNow()-f.lastCaughtUp <= int64(p.Settings.ReplicaLagMax) &&
		p.host.MayJoinIsr(f.id, f.brokerEpoch)
}
