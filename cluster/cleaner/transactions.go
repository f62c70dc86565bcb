package cleaner

import (
	"cmp"
	"slices"

	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/record"
)

// transactions follows the transactions through a log from its start, and says which batches belong
// to aborted ones and which markers nobody needs any more; Kafka's CleanedTransactionMetadata.
type transactions struct {
	waiting   []commitlog.AbortedTxn // by first offset, not reached yet
	aborted   map[int64]*abortedTxn  // by producer id, between first record and marker
	committed map[int64]bool         // producers of whose open transaction a batch was seen
}

type abortedTxn struct {
	commitlog.AbortedTxn
	seen bool // a batch of it is still in the log
}

func newTransactions(aborted []commitlog.AbortedTxn) *transactions {
	waiting := slices.Clone(aborted)
	slices.SortFunc(waiting, func(a, b commitlog.AbortedTxn) int {
		return cmp.Or(cmp.Compare(a.FirstOffset, b.FirstOffset),
			cmp.Compare(a.ProducerID, b.ProducerID))
	})
	return &transactions{waiting: waiting, aborted: map[int64]*abortedTxn{},
		committed: map[int64]bool{}}
}

func (t *transactions) reach(offset event.Offset) {
	for len(t.waiting) > 0 && t.waiting[0].FirstOffset <= offset {
		first := t.waiting[0]
		t.waiting = t.waiting[1:]
		t.aborted[first.ProducerID] = &abortedTxn{AbortedTxn: first}
	}
}

// data says whether a data batch belongs to an aborted transaction.
func (t *transactions) data(h *record.Header) bool {
	t.reach(event.Offset(h.LastOffset()))
	if !h.Attributes.Transactional() {
		return false
	}
	if txn := t.aborted[h.ProducerID]; txn != nil {
		txn.seen = true
		return true
	}
	t.committed[h.ProducerID] = true
	return false
}

// control says whether nothing of the transaction that a control batch ends was seen before it, so
// that the batch may go. An abort marker that must stay comes with its .txnindex entry.
func (t *transactions) control(
	h *record.Header, batch []byte,
) (spent bool, keep *commitlog.AbortedTxn, err error) {
	t.reach(event.Offset(h.LastOffset()))
	if h.RecordsCount == 0 {
		return true, nil, nil
	}
	kind := record.ControlType(-1)
	err = record.EachRecord(batch, inflatedMax, func(r record.Record) error {
		var err error
		kind, err = record.ParseControlType(r.Key)
		return err
	})
	switch {
	case err != nil:
		return false, nil, err
	case kind == record.ControlAbort:
		txn := t.aborted[h.ProducerID]
		delete(t.aborted, h.ProducerID)
		if txn != nil && txn.seen {
			return false, &txn.AbortedTxn, nil
		}
		return true, nil, nil
	case kind == record.ControlCommit:
		seen := t.committed[h.ProducerID]
		delete(t.committed, h.ProducerID)
		return !seen, nil, nil
	}
	return false, nil, nil
}
