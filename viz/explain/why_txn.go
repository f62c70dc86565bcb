package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"highwater/cluster/event"
)

// writer is a producer's open transaction on one replica.
type writer struct {
	node     event.NodeID
	producer int64
}

// seeTransaction keeps which transactions are open on which replica.
func (w *witness) seeTransaction(f *fact) {
	if !w.isHere(f.chunk.Text(f.Values[0]), int32(f.Values[1])) {
		return
	}
	switch f.Kind {
	case event.KindTransactionBegan:
		w.open[writer{f.Node, f.chunk.TransactionBegan(f.Record).ProducerID}] = f
	case event.KindTransactionMarkerWritten:
		delete(w.open, writer{f.Node, f.chunk.TransactionMarkerWritten(f.Record).ProducerID})
		w.newest[about{kind: f.Kind, node: f.Node}] = f
	case event.KindLastStableOffsetMoved:
		w.newest[about{kind: f.Kind, node: f.Node}] = f
	}
}

func (w *witness) whyLastStable(a *Answer) {
	l := w.leading()
	if l == nil {
		a.Title = "The last stable offset of " + w.name() + " is nobody's to move now."
		w.noLeader(a)
		return
	}
	a.Title = fmt.Sprintf("The last stable offset of %s is %d, its high watermark %d.", w.name(),
		l.LastStableOffset, l.HighWatermark)
	if f := w.last(event.KindLastStableOffsetMoved, l.Node); f != nil {
		e := f.chunk.LastStableOffsetMoved(f.Record)
		a.why(f, f.Rule, "It moved from %d to %d at %s.", e.Before, e.After, clock(f.At))
	}
	var open []*fact
	for _, of := range slices.SortedFunc(maps.Keys(w.open), func(a, b writer) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.producer, b.producer))
	}) {
		if of.node == l.Node {
			open = append(open, w.open[of])
		}
	}
	if len(open) == 0 && l.LastStableOffset < l.HighWatermark {
		a.notYet(w.last(event.KindLogOpened, l.Node), event.RuleNone, "A transaction that began before "+
			"what is recorded is open: readers with read_committed wait at its first record, offset %d, "+
			"for its marker.", l.LastStableOffset)
		return
	}
	if len(open) == 0 {
		a.why(w.last(event.KindTransactionMarkerWritten, l.Node), event.RuleNone,
			"No transaction is open, so it is where the high watermark is.")
		w.notRisen(a, l)
		return
	}
	for _, f := range open {
		e := f.chunk.TransactionBegan(f.Record)
		a.notYet(f, event.RuleNone, "The transaction of producer id %d is open since %s: readers with "+
			"read_committed wait at its first record, offset %d, for its marker.", e.ProducerID,
			clock(f.At), e.FirstOffset)
	}
}
