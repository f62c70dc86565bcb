package audit

import (
	"slices"

	"highwater/cluster/event"
)

// transaction is one that a replica's log holds batches of; its marker is at end, -1 while there is
// none.
type transaction struct {
	producer   int64
	first, end event.Offset
}

// transactionEvent judges what concerns transactions (promise P5).
func (a *Auditor) transactionEvent(c *event.Chunk, r *event.Record) {
	switch r.Kind {
	case event.KindTransactionBegan:
		e := c.TransactionBegan(r)
		rep := a.replica(e.Topic, e.Partition, r.Node)
		if slices.ContainsFunc(rep.open, func(t transaction) bool {
			return t.producer == e.ProducerID && t.end < 0
		}) {
			a.blame("txn.one-at-a-time", "node %d has two transactions of producer %d open in %s-%d",
				r.Node, e.ProducerID, e.Topic, e.Partition)
		}
		rep.open = append(rep.open, transaction{e.ProducerID, e.FirstOffset, -1})
	case event.KindTransactionMarkerWritten:
		e := c.TransactionMarkerWritten(r)
		a.replica(e.Topic, e.Partition, r.Node).marked(e)
	case event.KindLastStableOffsetMoved:
		e := c.LastStableOffsetMoved(r)
		rep := a.replica(e.Topic, e.Partition, r.Node)
		if e.After != rep.lastStable {
			a.blame("lso.told-once", "node %d has last stable offset %d of %s-%d and tells %d", r.Node,
				rep.lastStable, e.Topic, e.Partition, e.After)
		}
	case event.KindLogStartOffsetMoved:
		e := c.LogStartOffsetMoved(r)
		a.replica(e.Topic, e.Partition, r.Node).shorten(e.After)
	case event.KindTransactionStateChanged:
		a.transactionChanged(c.TransactionStateChanged(r))
	}
}

// transactionChanged checks that a decided end stays decided, whichever broker coordinates.
func (a *Auditor) transactionChanged(e event.TransactionStateChanged) {
	before := a.transactions[e.TransactionalID]
	want := e.After
	switch before {
	case "PrepareCommit":
		want = "CompleteCommit"
	case "PrepareAbort":
		want = "CompleteAbort"
	}
	if e.After != want && e.After != before {
		a.blame("txn.decided-stays", "transaction %s was %s and is %s", e.TransactionalID, before,
			e.After)
	}
	a.transactions[e.TransactionalID] = e.After
}

// marked ends a producer's transaction on a replica.
func (r *replica) marked(e event.TransactionMarkerWritten) {
	for i := range r.open {
		if t := &r.open[i]; t.producer == e.ProducerID && t.end < 0 {
			t.end = e.Offset
		}
	}
}

// cut takes back what a shorter log no longer holds.
func (r *replica) cut(end event.Offset) {
	r.open = slices.DeleteFunc(r.open, func(t transaction) bool { return t.first >= end })
	for i := range r.open {
		if r.open[i].end >= end {
			r.open[i].end = -1
		}
	}
	r.lastStable = min(r.lastStable, end)
}

// shorten forgets what retention has deleted, of open transactions too: as in Kafka the last stable
// offset may then lie at the log's start, where the rest of them begins.
func (r *replica) shorten(start event.Offset) {
	for i := range r.open {
		r.open[i].first = max(r.open[i].first, start)
	}
}

// stable checks what readers with read_committed may see now: nothing of a transaction whose end is
// not committed, and on a leader never less than before.
func (a *Auditor) stable(node event.NodeID, e event.HighWatermarkMoved) {
	rep := a.replica(e.Topic, e.Partition, node)
	stable := e.LastStableOffset
	if stable > e.After {
		a.blame("lso.below-hw", "node %d has last stable offset %d of %s-%d above high watermark %d",
			node, stable, e.Topic, e.Partition, e.After)
	}
	if rep.leads && stable < rep.lastStable {
		a.blame("lso.never-back", "the last stable offset of %s-%d went from %d to %d on its leader %d",
			e.Topic, e.Partition, rep.lastStable, stable, node)
	}
	rep.lastStable = stable
	for _, t := range rep.open {
		if stable > t.first && (t.end < 0 || t.end >= e.After) {
			a.blame("lso.first-unstable",
				"node %d shows %s-%d up to %d; producer %d's transaction from %d has no committed end",
				node, e.Topic, e.Partition, stable, t.producer, t.first)
		}
	}
	rep.open = slices.DeleteFunc(rep.open, func(t transaction) bool {
		return t.end >= 0 && t.end < e.After
	})
}
