package broker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/partition"
	"highwater/cluster/record"
	"highwater/cluster/replica"
	"highwater/cluster/world"
)

// followerSession is what a leader remembers of one follower's fetches: its position in each
// partition, and what there is to tell it.
type followerSession struct {
	pendingWait
	b         *Broker
	replica   event.NodeID
	session   int64
	epoch     int32
	positions map[replica.PartitionKey]*position
	order     []*position
	ready     []*position // with records, an error or a new high watermark to tell
	call      *world.Call // the waiting request, nil when none waits
	bytesMax  int
	lastSeen  int64 // virtual ns at which unchanged positions were last noted as fetched
	woken     bool
	news      bool // something in ready that ends the wait
}

// position is one partition of a follower's session.
type position struct {
	replica.FetchPartition
	h      *held
	sentHW event.Offset
	// sentStart is the log start offset that the follower was told last.
	sentStart event.Offset
	queued    bool
	code      int16
	diverge   *replica.FetchedPartition
}

// seenInterval bounds how often unchanged positions of a session are walked.
const seenInterval = 100 * time.Millisecond

// serveFollower takes a follower's fetch: first what it proves, then what there is to answer.
func (b *Broker) serveFollower(call *world.Call, r *replica.FetchRequest) {
	s := b.followers[r.Replica]
	if r.Epoch == 0 {
		if s != nil {
			b.endFollowerWait(s, "disconnected")
		}
		s = &followerSession{b: b, replica: r.Replica, session: r.Session,
			positions: map[replica.PartitionKey]*position{}}
		s.waiter = s
		b.followers[r.Replica] = s
	}
	if s == nil || s.session != r.Session || s.epoch != r.Epoch {
		call.Reply(&replica.FetchResponse{Code: kerr.InvalidFetchSessionEpoch.Code})
		return
	}
	s.epoch++
	if s.call != nil {
		// Whoever asks again no longer waits for its last answer; one wait can be pending only.
		b.endFollowerWait(s, "disconnected")
	}
	s.call, s.bytesMax = call, r.BytesMax
	for _, key := range r.Forgotten {
		s.forget(key)
	}
	for i := range r.Partitions {
		b.takePosition(s, &r.Partitions[i], r.BrokerEpoch)
	}
	if len(b.deletions) > 0 {
		b.tryDeletions()
	}
	s.seen(b.env.VirtualNow())
	b.answerFollower(s, r.MaxWait == 0)
	if s.call == call {
		b.waits.begin(&s.pendingWait, time.Duration(r.MaxWait), s.waitFacts(r))
	}
}

func (s *followerSession) waitFacts(r *replica.FetchRequest) event.WaitBegan {
	w := event.WaitBegan{What: "follower-fetch", For: s.replica, Idle: len(r.Partitions) == 0}
	if len(r.Partitions) > 0 {
		p := &r.Partitions[0]
		w.Topic, w.Partition, w.Needs = p.Topic, p.Index, p.Offset+1
	} else if len(s.order) > 0 {
		p := s.order[0]
		w.Topic, w.Partition, w.Needs = p.Topic, p.Index, p.Offset+1
	}
	return w
}

func (s *followerSession) forget(key replica.PartitionKey) {
	pos := s.positions[key]
	if pos == nil {
		return
	}
	delete(s.positions, key)
	for i, x := range s.order {
		if x == pos {
			s.order = append(s.order[:i], s.order[i+1:]...)
			break
		}
	}
	pos.h = nil
}

// takePosition checks a position and lets the partition learn from it.
func (b *Broker) takePosition(s *followerSession, fp *replica.FetchPartition, brokerEpoch int64) {
	pos := s.positions[fp.PartitionKey]
	if pos == nil {
		pos = &position{sentHW: -1, sentStart: -1}
		s.positions[fp.PartitionKey] = pos
		s.order = append(s.order, pos)
	}
	pos.FetchPartition = *fp
	pos.h, pos.code, pos.diverge = nil, 0, nil
	h := b.held(fp.Topic, fp.Index)
	switch {
	case h == nil || h.TopicID != fp.TopicID:
		pos.code = kerr.UnknownTopicOrPartition.Code
	case !h.Leads():
		pos.code = kerr.NotLeaderForPartition.Code
	case fp.LeaderEpoch < h.LeaderEpoch():
		pos.code = kerr.FencedLeaderEpoch.Code
	case fp.LeaderEpoch > h.LeaderEpoch():
		pos.code = kerr.UnknownLeaderEpoch.Code
	default:
		pos.h = h
		b.comparePosition(s, pos, brokerEpoch)
		return
	}
	s.tell(pos)
}

// comparePosition finds out whether the follower's log is a prefix of this one, and if so what its
// position proves.
func (b *Broker) comparePosition(s *followerSession, pos *position, brokerEpoch int64) {
	log := pos.h.Log
	if pos.LastEpoch >= 0 {
		epoch, end, ok := log.EndOffsetForEpoch(pos.LastEpoch)
		if ok && (epoch < pos.LastEpoch || end < pos.Offset) {
			pos.diverge = &replica.FetchedPartition{Diverging: true, DivergingEpoch: epoch,
				DivergingEnd: end}
			s.tell(pos)
			return
		}
	}
	if pos.Offset > log.LogEndOffset() || pos.Offset < log.LogStartOffset() {
		pos.code = kerr.OffsetOutOfRange.Code
		s.tell(pos)
		return
	}
	pos.h.FollowerFetched(s.replica, pos.Offset, brokerEpoch)
	if pos.Offset < log.LogEndOffset() {
		s.tell(pos)
	} else if pos.sentHW != pos.h.HighWatermark() || pos.LogStart < log.LogStartOffset() {
		s.queue(pos)
	}
}

// seen notes, now and then, that positions without news were fetched too.
func (s *followerSession) seen(now int64) {
	if now-s.lastSeen < int64(seenInterval) {
		return
	}
	s.lastSeen = now
	for _, pos := range s.order {
		if pos.h != nil && pos.h.Leads() && pos.Offset == pos.h.Log.LogEndOffset() {
			pos.h.FollowerSeen(s.replica)
		}
	}
}

// queue has the position told with the next answer; tell ends the wait for it.
func (s *followerSession) queue(pos *position) {
	if !pos.queued {
		pos.queued = true
		s.ready = append(s.ready, pos)
	}
}

func (s *followerSession) tell(pos *position) {
	s.queue(pos)
	s.news = true
}

func (s *followerSession) grew(p *partition.Partition) {
	if pos := s.positions[replica.PartitionKey{Topic: p.Topic, Index: p.Index}]; pos != nil &&
		pos.h != nil && pos.h.Partition == p {
		s.tell(pos)
	}
}

func (s *followerSession) rose(p *partition.Partition) {
	if pos := s.positions[replica.PartitionKey{Topic: p.Topic, Index: p.Index}]; pos != nil &&
		pos.h != nil && pos.h.Partition == p {
		s.queue(pos)
	}
}

// expired, of waiter: the long poll is over.
func (s *followerSession) expired() { s.b.answerFollower(s, true) }

func (b *Broker) endFollowerWait(s *followerSession, outcome string) {
	b.waits.end(&s.pendingWait, outcome)
	s.call = nil
}

// answerFollower answers the waiting fetch if there is news or if it has to be answered now. A new
// high watermark alone is no news: it goes with the next answer, one fetch behind.
func (b *Broker) answerFollower(s *followerSession, now bool) {
	if s.call == nil || !s.news && !now {
		return
	}
	response := replica.NewFetchResponse(len(s.ready))
	left := s.bytesMax
	ready := s.ready
	s.ready, s.news = nil, false
	for _, pos := range ready {
		pos.queued = false
		if left <= 0 {
			s.tell(pos)
			continue
		}
		f, ok := b.fetched(pos, left, s.bytesMax, response.BatchesMemory())
		for _, batch := range f.Batches {
			left -= len(batch.Bytes)
		}
		if ok {
			response.Partitions = append(response.Partitions, f)
		}
		if f.Code == 0 && !f.Diverging && len(f.Batches) == 0 && f.FirstOffset < f.LogEndOffset {
			// What found no room comes with the next answer: its position, being what it was, does
			// not come again.
			s.tell(pos)
		}
	}
	if cap(ready) > 0 && s.ready == nil {
		s.ready = ready[:0]
	}
	if len(response.Partitions) == 0 && !now {
		return
	}
	call := s.call
	outcome := "satisfied"
	if len(response.Partitions) == 0 {
		outcome = "timed-out"
	}
	b.endFollowerWait(s, outcome)
	call.Reply(response)
}

// fetched makes the answer for one position; ok is false when there is nothing to say.
func (b *Broker) fetched(pos *position, bytesMax, whole int, memory []record.Buffer) (
	replica.FetchedPartition, bool) {
	f := replica.FetchedPartition{PartitionKey: pos.PartitionKey, Code: pos.code}
	if pos.code != 0 && pos.code != kerr.OffsetOutOfRange.Code || pos.h == nil || !pos.h.Leads() {
		if f.Code == 0 {
			f.Code = kerr.NotLeaderForPartition.Code
		}
		return f, true
	}
	log := pos.h.Log
	f.LeaderEpoch, f.HighWatermark = pos.h.LeaderEpoch(), pos.h.HighWatermark()
	f.LogStartOffset, f.LogEndOffset = log.LogStartOffset(), log.LogEndOffset()
	f.FirstOffset = pos.Offset
	if pos.code != 0 {
		return f, true
	}
	if pos.diverge != nil {
		f.Diverging = true
		f.DivergingEpoch, f.DivergingEnd = pos.diverge.DivergingEpoch, pos.diverge.DivergingEnd
		return f, true
	}
	if pos.Offset < log.LogEndOffset() {
		read := commitlog.Slices{Buffers: memory}
		err := log.ReadInto(&read, pos.Offset, bytesMax, log.LogEndOffset(), bytesMax == whole)
		if err == nil {
			f.Records = int32(read.Records)
			f.Batches, err = single(&read)
		}
		if err != nil {
			b.failDisk("read", err)
			return f, false
		}
	}
	if len(f.Batches) == 0 && pos.sentHW == f.HighWatermark && pos.sentStart == f.LogStartOffset {
		return f, false
	}
	pos.sentHW, pos.sentStart = f.HighWatermark, f.LogStartOffset
	return f, true
}

// single returns what was read as one buffer a batch. Batches at the log's end are shared; older
// ones are read from the file and cut apart.
func single(read *commitlog.Slices) ([]record.Buffer, error) {
	if len(read.Ranges) == 0 {
		return read.Buffers, nil
	}
	defer read.Release()
	loaded, err := read.Load()
	if err != nil {
		return nil, err
	}
	var batches []record.Buffer
	for _, buffer := range loaded {
		err := commitlog.EachBatch(buffer, func(_ record.Header, batch record.Buffer) error {
			batch.Retain()
			batches = append(batches, batch)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return batches, nil
}
