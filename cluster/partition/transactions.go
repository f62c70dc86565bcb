package partition

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/record"
)

// verification is a transaction that a producer is about to begin on this partition. It ends with
// the first batch, with a marker, and with the leadership: an answer of the coordinator that comes
// later speaks of a transaction that may be over (KIP-890).
type verification struct {
	id             int64
	epoch          int16
	lowestSequence int32
	epochBumps     bool // the client's transactions each have an epoch of their own
}

// LastStableOffset is the end of what a read_committed reader may see of this replica.
func (p *Partition) LastStableOffset() event.Offset {
	return p.Log.LastStableOffset(p.highWatermark)
}

// emitHighWatermark says that the high watermark moved, and the last stable offset where that is
// another.
func (p *Partition) emitHighWatermark(before event.Offset, rule event.Rule) event.Seq {
	stable := p.lastStable
	p.lastStable = p.LastStableOffset()
	moved := event.HighWatermarkMoved{Topic: p.Topic, Partition: p.Index, Before: before,
		After: p.highWatermark, LastStableOffset: p.lastStable}.Emit(p.env.Events, rule)
	pinned := stable != before || p.lastStable != p.highWatermark
	if pinned && stable != p.lastStable {
		event.LastStableOffsetMoved{Topic: p.Topic, Partition: p.Index, Before: stable,
			After: p.lastStable}.Emit(p.env.Events, event.RuleLastStableOffset)
	}
	return moved
}

// inTransaction says whether a producer of this epoch has a transaction open on the log.
func (p *Partition) inTransaction(producer int64, epoch int16) bool {
	state, known := p.Log.Producer(producer)
	return known && state.CurrentTxnFirstOffset >= 0 && state.ProducerEpoch == epoch
}

// BeginVerification says whether the coordinator has to be asked about a transactional batch before
// it may be appended, and gives the number to append it with; 0 needs no asking.
func (p *Partition) BeginVerification(h *record.Header, epochBumps bool) (number int64) {
	if p.leading == nil || p.Settings.Unverified && !epochBumps ||
		p.inTransaction(h.ProducerID, h.ProducerEpoch) {
		return 0
	}
	v := p.leading.verifying[h.ProducerID]
	if v == nil || v.epoch < h.ProducerEpoch {
		v = &verification{id: p.env.NextID(), epoch: h.ProducerEpoch, lowestSequence: h.BaseSequence}
		p.leading.verifying[h.ProducerID] = v
	}
	v.epochBumps = epochBumps
	if v.epoch == h.ProducerEpoch {
		v.lowestSequence = min(v.lowestSequence, h.BaseSequence)
	}
	return v.id
}

// EndVerification forgets one that came to nothing, unless another producer's epoch has taken its
// place.
func (p *Partition) EndVerification(producer, number int64) {
	if p.leading != nil && p.verified(producer, number) != nil {
		delete(p.leading.verifying, producer)
	}
}

func (p *Partition) verified(producer, number int64) *verification {
	if v := p.leading.verifying[producer]; v != nil && v.id == number {
		return v
	}
	return nil
}

// CheckVerified says whether a coordinator's own transactional batch may be appended: the producer's
// transaction is open here or was verified under this number.
func (p *Partition) CheckVerified(producer int64, epoch int16, number int64) int16 {
	switch {
	case p.leading == nil:
		return kerr.NotLeaderForPartition.Code
	case p.Settings.Unverified, p.inTransaction(producer, epoch),
		p.verified(producer, number) != nil:
		return 0
	}
	return kerr.InvalidTxnState.Code
}

// AppendTransactional is Append for a batch of a transaction. number is what BeginVerification gave.
func (p *Partition) AppendTransactional(buffer record.Buffer, h record.Header, number int64,
	allReplicas bool) (commitlog.Appended, error) {
	if p.leading != nil && !p.Settings.Unverified &&
		!p.inTransaction(h.ProducerID, h.ProducerEpoch) {
		v := p.verified(h.ProducerID, number)
		if err := p.refuseUnverified(&h, v); err != nil {
			event.AppendRefused{Topic: p.Topic, Partition: p.Index, ErrorCode: int32(err.Code),
				Detail: err.Message, ProducerID: h.ProducerID}.
				Emit(p.env.Events, event.RuleUnverifiedTransaction)
			return commitlog.Appended{}, err
		}
	}
	appended, err := p.Append(buffer, h, allReplicas)
	if err == nil && p.leading != nil {
		delete(p.leading.verifying, h.ProducerID)
	}
	return appended, err
}

// refuseUnverified also keeps the order: of batches that are verified together, the first one of
// the producer comes first.
func (p *Partition) refuseUnverified(h *record.Header, v *verification) *commitlog.AppendError {
	if v == nil {
		if state, known := p.Log.Producer(h.ProducerID); known && state.ProducerEpoch > h.ProducerEpoch {
			return &commitlog.AppendError{Code: kerr.InvalidProducerEpoch.Code,
				Message: "the producer's epoch is over"}
		}
		return &commitlog.AppendError{Code: kerr.InvalidTxnState.Code,
			Message: "the batch is not part of an ongoing transaction"}
	}
	_, known := p.Log.Producer(h.ProducerID)
	if h.BaseSequence > v.lowestSequence || !known && v.epochBumps && h.BaseSequence != 0 {
		return &commitlog.AppendError{Code: kerr.OutOfOrderSequenceNumber.Code,
			Message: fmt.Sprintf("sequence %d is not the transaction's first", h.BaseSequence)}
	}
	return nil
}

// epochBumpsFrom is the transaction version whose markers carry the next epoch.
const epochBumpsFrom = 2

// AppendMarker ends a producer's transaction on this partition. version is the transaction's: from
// 2 on a marker carries an epoch above its transaction's, and one that does not is late.
func (p *Partition) AppendMarker(m record.Marker, version int8) (commitlog.Appended, error) {
	if p.leading == nil {
		return commitlog.Appended{}, &commitlog.AppendError{
			Code: kerr.NotLeaderForPartition.Code, Message: "this broker does not lead the partition"}
	}
	if p.UnderMinIsr() {
		return commitlog.Appended{}, &commitlog.AppendError{Code: kerr.NotEnoughReplicas.Code,
			Message: "the ISR has fewer members than min.insync.replicas"}
	}
	state, known := p.Log.Producer(m.ProducerID)
	if known && version >= epochBumpsFrom && m.ProducerEpoch == state.ProducerEpoch &&
		state.CurrentTxnFirstOffset >= 0 {
		return commitlog.Appended{}, &commitlog.ProducerError{Code: kerr.InvalidProducerEpoch.Code,
			ProducerID: m.ProducerID, Expected: int64(state.ProducerEpoch) + 1,
			Got: int64(m.ProducerEpoch)}
	}
	batch := record.EndTxnMarker(m)
	h, err := record.ParseHeader(batch)
	if err != nil {
		return commitlog.Appended{}, err
	}
	appended, err := p.AppendOwn(record.Buffer{Bytes: batch}, h)
	if err == nil && p.leading != nil {
		delete(p.leading.verifying, m.ProducerID)
	}
	return appended, err
}
