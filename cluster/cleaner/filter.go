package cleaner

import (
	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/record"
)

// inflatedMax bounds what one batch may inflate to.
const inflatedMax = 128 << 20

// filter decides what stays of each batch; Kafka's RecordFilter of the cleaner.
type filter struct {
	keys      *offsetMap
	txns      *transactions
	producers map[int64]commitlog.LastOfProducer
	nowMs     int64
	// horizonMs is what a deletion seen for the first time gets: it may go from then on.
	horizonMs int64
	counts    counts
}

// counts are what a pass did.
type counts struct {
	before, after                     int64 // records
	tombstonesKept, tombstonesExpired int64
}

// kept is what stays of a batch.
type kept struct {
	header  record.Header
	batch   []byte          // nil: nothing
	records []record.Record // that stay; their offsets are the batch's base plus their deltas
	// abort is the .txnindex entry of an abort marker that stays.
	abort *commitlog.AbortedTxn
}

// batch filters one batch.
func (f *filter) batch(h record.Header, batch []byte) (kept, error) {
	k := kept{header: h}
	f.counts.before += int64(h.RecordsCount)
	drop, spentMarker := false, false
	if h.Attributes.Control() {
		var err error
		if spentMarker, k.abort, err = f.txns.control(&h, batch); err != nil {
			return k, unreadable(&h, err)
		}
		// A marker's horizon is fixed by the first pass that finds nothing left of its transaction.
		drop = spentMarker && f.pastHorizon(&h)
	} else {
		drop = f.txns.data(&h)
	}
	deletions := 0
	err := record.EachRecord(batch, inflatedMax, func(r record.Record) error {
		if drop || !f.stays(&h, &r) {
			return nil
		}
		if r.Value == nil {
			deletions++
		}
		k.records = append(k.records, r)
		return nil
	})
	if err != nil {
		return k, unreadable(&h, err)
	}
	f.counts.after += int64(len(k.records))
	f.counts.tombstonesKept += int64(deletions)
	if len(k.records) > 0 {
		setHorizon := (deletions > 0 || spentMarker) && !h.Attributes.DeleteHorizon()
		if len(k.records) == int(h.RecordsCount) && !setHorizon {
			k.batch = batch
			return k, nil
		}
		return k, f.rebuild(&k, setHorizon)
	}
	if f.lastOfProducer(&h) {
		k.header, k.batch, err = emptied(h)
	}
	return k, err
}

// emptied is a batch without its records: what it says of offsets and of its producer stays.
func emptied(h record.Header) (record.Header, []byte, error) {
	h.RecordsCount, h.BaseTimestamp = 0, -1
	h.Attributes &= record.LogAppendTimeBit | record.TransactionalBit | record.ControlBit
	batch, err := record.Encode(h, nil)
	if err != nil {
		return h, nil, err
	}
	h, err = record.ParseHeader(batch)
	return h, batch, err
}

// stays says whether a record stays: it is above what was learned, or the newest of its key and
// not a deletion whose horizon has passed. Without a key nothing could ever replace it, so it goes.
func (f *filter) stays(h *record.Header, r *record.Record) bool {
	offset := event.Offset(h.BaseOffset + int64(r.OffsetDelta))
	switch {
	case h.Attributes.Control(), offset > f.keys.latest:
		return true
	case r.Key == nil || f.keys.superseded(r.Key, offset):
		return false
	case r.Value == nil && f.pastHorizon(h):
		f.counts.tombstonesExpired++
		return false
	}
	return true
}

// pastHorizon says whether the batch's deletions may go (KIP-534).
func (f *filter) pastHorizon(h *record.Header) bool {
	return h.Attributes.DeleteHorizon() && h.BaseTimestamp <= f.nowMs
}

// lastOfProducer says whether a producer's state is read from this batch: its newest sequence, or
// without data its epoch.
func (f *filter) lastOfProducer(h *record.Header) bool {
	last, known := f.producers[h.ProducerID]
	switch {
	case !h.HasProducer() || !known:
		return false
	case last.LastOffset >= 0:
		return event.Offset(h.LastOffset()) == last.LastOffset
	}
	return h.Attributes.Control() && h.ProducerEpoch == last.Epoch
}

// rebuild writes the batch anew with the records that stay. Base offset, last offset, epoch,
// producer and codec stay; the base timestamp becomes the horizon, where there is one.
func (f *filter) rebuild(k *kept, setHorizon bool) error {
	h := &k.header
	before := h.BaseTimestamp
	h.RecordsCount = int32(len(k.records))
	largest := before + k.records[0].TimestampDelta
	if !h.Attributes.DeleteHorizon() {
		h.BaseTimestamp = largest
	}
	if setHorizon {
		h.Attributes |= record.DeleteHorizonBit
		h.BaseTimestamp = f.horizonMs
	}
	var encoded []byte
	for _, r := range k.records {
		at := before + r.TimestampDelta
		largest = max(largest, at)
		r.TimestampDelta = at - h.BaseTimestamp
		encoded = record.AppendRecord(encoded, r)
	}
	if !h.Attributes.LogAppendTime() {
		h.MaxTimestamp = largest
	}
	var err error
	k.batch, err = record.Encode(*h, encoded)
	if err == nil {
		*h, err = record.ParseHeader(k.batch)
	}
	return err
}
