package commitlog

import (
	"math"
	"slices"

	"highwater/cluster/event"
	"highwater/cluster/record"
)

// batchesRemembered is how many of a producer's newest batches are known for recognising a
// retry, Kafka's ProducerStateEntry.NUM_BATCHES_TO_RETAIN.
const batchesRemembered = 5

const (
	noSequence      int32        = -1
	noProducerEpoch int16        = -1
	noOffset        event.Offset = -1
)

// producerBatch is what is remembered of one batch.
type producerBatch struct {
	lastSequence int32
	offsetDelta  int32 // last minus first sequence
	lastOffset   event.Offset
	timestamp    int64
}

// firstSequence counts back from the last one; sequences wrap from the largest int32 to 0.
func (b *producerBatch) firstSequence() int32 {
	first := int64(b.lastSequence) - int64(b.offsetDelta)
	if first < 0 {
		first += math.MaxInt32 + 1
	}
	return int32(first)
}

// producer is the state of one producer id on this partition.
type producer struct {
	epoch            int16
	coordinatorEpoch int32 // of the newest marker, -1 without
	lastTimestamp    int64
	txnFirstOffset   event.Offset // of the open transaction, -1 without
	// batches[:count] are the newest batches of this epoch, oldest first.
	batches [batchesRemembered]producerBatch
	count   int
}

// ProducerState is what DescribeProducers shows of a producer.
type ProducerState struct {
	ProducerID            int64
	ProducerEpoch         int16
	CoordinatorEpoch      int32
	LastSequence          int32
	LastTimestamp         int64
	CurrentTxnFirstOffset event.Offset // -1: no open transaction
}

func newProducer() *producer {
	return &producer{
		epoch: noProducerEpoch, coordinatorEpoch: -1, lastTimestamp: -1, txnFirstOffset: noOffset,
	}
}

func (p *producer) lastSequence() int32 {
	if p.count == 0 {
		return noSequence
	}
	return p.batches[p.count-1].lastSequence
}

// duplicate finds the batch among the remembered ones that this one repeats.
func (p *producer) duplicate(h *record.Header) (*producerBatch, bool) {
	if h.ProducerEpoch != p.epoch {
		return nil, false
	}
	for i := range p.batches[:p.count] {
		b := &p.batches[i]
		if b.firstSequence() == h.BaseSequence && b.lastSequence == h.LastSequence() {
			return b, true
		}
	}
	return nil, false
}

// setEpoch begins a new epoch; the old one's batches cannot be repeated any more.
func (p *producer) setEpoch(epoch int16) {
	if p.epoch != epoch {
		p.epoch, p.count = epoch, 0
	}
}

func (p *producer) remember(b producerBatch) {
	if p.count == batchesRemembered {
		copy(p.batches[:], p.batches[1:])
		p.count--
	}
	p.batches[p.count] = b
	p.count++
}

// openTxn is a transaction whose marker is not there yet or, once ended, not below the high
// watermark yet.
type openTxn struct {
	producerID  int64
	firstOffset event.Offset
	lastOffset  event.Offset // of the marker, once there
}

// producers is the producer state of a partition, a pure function of its batches (and of expiry).
type producers struct {
	byID map[int64]*producer
	// ongoing are transactions without a marker, ended those whose marker is not known to be
	// replicated; both in order of their first offset.
	ongoing, ended []openTxn
	// snapshotEnd is the offset of the newest snapshot file, -1 if none.
	snapshotEnd event.Offset
}

func newProducers() producers {
	return producers{byID: map[int64]*producer{}, snapshotEnd: -1}
}

// check applies the rules for a batch that a leader is about to append.
func (ps *producers) check(h *record.Header, origin Origin) error {
	p := ps.byID[h.ProducerID]
	if p == nil {
		return nil
	}
	wrong := func(code int16, expected, got int64) error {
		return &ProducerError{code, h.ProducerID, expected, got}
	}
	if h.ProducerEpoch < p.epoch {
		return wrong(codeInvalidProducerEpoch, int64(p.epoch), int64(h.ProducerEpoch))
	}
	if h.Attributes.Control() || origin != Client {
		return nil
	}
	switch last := p.lastSequence(); {
	case h.ProducerEpoch != p.epoch:
		if h.BaseSequence != 0 && p.epoch != noProducerEpoch {
			return wrong(codeOutOfOrderSequence, 0, int64(h.BaseSequence))
		}
	case p.epoch != noProducerEpoch && h.BaseSequence != sequenceAfter(last):
		return wrong(codeOutOfOrderSequence, int64(sequenceAfter(last)), int64(h.BaseSequence))
	}
	if p.txnFirstOffset >= 0 && !h.Attributes.Transactional() {
		return wrong(codeInvalidTxnState, int64(p.txnFirstOffset), h.BaseOffset)
	}
	return nil
}

func sequenceAfter(sequence int32) int32 {
	if sequence == math.MaxInt32 {
		return 0
	}
	return sequence + 1
}

// checkMarker refuses a marker from a coordinator that another one has replaced.
func (ps *producers) checkMarker(producerID int64, m marker) error {
	p := ps.byID[producerID]
	if p == nil || m.coordinatorEpoch >= p.coordinatorEpoch {
		return nil
	}
	return &ProducerError{codeCoordinatorFenced, producerID,
		int64(p.coordinatorEpoch), int64(m.coordinatorEpoch)}
}

// entry finds or makes the state of a producer.
func (ps *producers) entry(id int64) *producer {
	p := ps.byID[id]
	if p == nil {
		p = newProducer()
		ps.byID[id] = p
	}
	return p
}

// appended takes a data batch of a producer into the state and says whether it begins a
// transaction.
func (ps *producers) appended(h *record.Header) (begins bool) {
	p := ps.entry(h.ProducerID)
	p.setEpoch(h.ProducerEpoch)
	p.lastTimestamp = h.MaxTimestamp
	p.remember(producerBatch{
		h.LastSequence(), h.LastOffsetDelta, event.Offset(h.LastOffset()), h.MaxTimestamp,
	})
	if h.Attributes.Transactional() && p.txnFirstOffset < 0 {
		p.txnFirstOffset = event.Offset(h.BaseOffset)
		insertTxn(&ps.ongoing,
			openTxn{h.ProducerID, event.Offset(h.BaseOffset), noOffset})
		return true
	}
	return false
}

// marked takes a transaction marker into the state. It returns the transaction that it ends; false
// if none was open, as after a retried marker.
func (ps *producers) marked(h *record.Header, m marker) (AbortedTxn, bool) {
	p := ps.entry(h.ProducerID)
	p.setEpoch(h.ProducerEpoch)
	p.coordinatorEpoch = m.coordinatorEpoch
	p.lastTimestamp = h.BaseTimestamp
	first := p.txnFirstOffset
	p.txnFirstOffset = noOffset
	if first < 0 {
		return AbortedTxn{}, false
	}
	offset := event.Offset(h.BaseOffset)
	ps.ongoing = slices.DeleteFunc(ps.ongoing,
		func(t openTxn) bool { return t.producerID == h.ProducerID })
	stable := offset + 1
	if len(ps.ongoing) > 0 {
		stable = ps.ongoing[0].firstOffset
	}
	insertTxn(&ps.ended, openTxn{h.ProducerID, first, offset})
	return AbortedTxn{h.ProducerID, first, offset, stable}, true
}

func insertTxn(txns *[]openTxn, t openTxn) {
	i, _ := slices.BinarySearchFunc(*txns, t.firstOffset, func(have openTxn, o event.Offset) int {
		return int(min(max(have.firstOffset-o, -1), 1))
	})
	*txns = slices.Insert(*txns, i, t)
}

// replicated forgets ended transactions whose marker is below the high watermark.
func (ps *producers) replicated(highWatermark event.Offset) {
	ps.ended = slices.DeleteFunc(ps.ended,
		func(t openTxn) bool { return t.lastOffset < highWatermark })
}

// firstUnstable is the first offset that a read_committed reader may not pass.
func (ps *producers) firstUnstable() (event.Offset, bool) {
	first, found := event.Offset(math.MaxInt64), false
	for _, txns := range [...][]openTxn{ps.ongoing, ps.ended} {
		if len(txns) > 0 {
			first, found = min(first, txns[0].firstOffset), true
		}
	}
	return first, found
}

// expire forgets producers that were silent for too long, never one with an open transaction.
func (ps *producers) expire(now, expirationMs int64) int {
	before := len(ps.byID)
	for id, p := range ps.byID {
		if p.txnFirstOffset < 0 && now-p.lastTimestamp >= expirationMs {
			delete(ps.byID, id)
		}
	}
	return before - len(ps.byID)
}

// ids lists the producer ids in order, so that nothing depends on the map's.
func (ps *producers) ids() []int64 {
	ids := make([]int64, 0, len(ps.byID))
	for id := range ps.byID {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// ProducerStates lists the known producers by id.
func (l *Log) ProducerStates() []ProducerState {
	states := make([]ProducerState, 0, len(l.producers.byID))
	for _, id := range l.producers.ids() {
		states = append(states, l.producers.byID[id].state(id))
	}
	return states
}

func (p *producer) state(id int64) ProducerState {
	return ProducerState{
		ProducerID: id, ProducerEpoch: p.epoch, CoordinatorEpoch: p.coordinatorEpoch,
		LastSequence: p.lastSequence(), LastTimestamp: p.lastTimestamp,
		CurrentTxnFirstOffset: p.txnFirstOffset,
	}
}

// Producer is what the log knows of one producer; ok is false for one that it does not know.
func (l *Log) Producer(id int64) (state ProducerState, ok bool) {
	p := l.producers.byID[id]
	if p == nil {
		return ProducerState{}, false
	}
	return p.state(id), true
}

// ExpireProducers forgets producers that have been silent for ProducerExpirationMs and says how
// many; Kafka runs it every ten minutes.
func (l *Log) ExpireProducers(nowMs int64) int {
	return l.producers.expire(nowMs, l.cfg.ProducerExpirationMs)
}

// LastStableOffset is the end of what a read_committed reader may see: the high watermark, or the
// first offset of a transaction that is open or whose marker is not below the high watermark.
func (l *Log) LastStableOffset(highWatermark event.Offset) event.Offset {
	if len(l.producers.ongoing) == 0 && len(l.producers.ended) == 0 {
		return highWatermark
	}
	l.producers.replicated(highWatermark)
	if first, found := l.producers.firstUnstable(); found {
		// What an open transaction began with may have been deleted.
		return min(max(first, l.start), highWatermark)
	}
	return highWatermark
}

// TxnAborted lists the aborted transactions that a read_committed reader of [from, upTo) must
// know.
func (l *Log) TxnAborted(from, upTo event.Offset) []AbortedTxn {
	var found []AbortedTxn
	for _, s := range l.segments[l.segmentFor(from):] {
		for _, t := range s.aborted.txns {
			if t.LastOffset >= from && t.FirstOffset < upTo {
				found = append(found, t)
			}
			if t.LastStableOffset >= upTo {
				return found
			}
		}
	}
	return found
}
