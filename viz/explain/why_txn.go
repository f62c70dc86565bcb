package explain

import (
	"cmp"
	"maps"
	"slices"

	"highwater/cluster/event"
	"highwater/viz/model"
)

// writer is a producer's open transaction on one replica.
type writer struct {
	node     event.NodeID
	producer int64
}

// cutOpen forgets the transactions of a log that it lost the beginning of.
func (w *witness) cutOpen(f *fact) {
	var end event.Offset
	anew := false
	switch f.Kind {
	case event.KindLogTruncated:
		e := f.chunk.LogTruncated(f.Record)
		end, anew = e.After, e.After > e.Before
	case event.KindLogOpened:
		end = f.chunk.LogOpened(f.Record).LogEndOffset
	default:
		return
	}
	maps.DeleteFunc(w.open, func(of writer, began *fact) bool {
		return of.node == f.Node &&
			(anew || began.chunk.TransactionBegan(began.Record).FirstOffset >= end)
	})
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
	a.Title = say("The last stable offset of %s is %d, its high watermark %d.", w.name(),
		l.LastStableOffset, l.HighWatermark)
	if f := w.last(event.KindLastStableOffsetMoved, l.Node); f != nil &&
		f.chunk.LastStableOffsetMoved(f.Record).After == l.LastStableOffset {
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
	switch {
	case l.LastStableOffset >= l.HighWatermark:
		a.why(newer(w.last(event.KindHighWatermarkMoved, l.Node),
			w.last(event.KindBecameLeader, l.Node)), event.RuleLastStableOffset, "It is %s's own high "+
			"watermark, above which nothing is stable.", w.who(l.Node))
		if len(open) == 0 {
			a.why(w.last(event.KindTransactionMarkerWritten, l.Node), event.RuleNone,
				"No transaction is open below it.")
		}
		w.risen(a, l)
		w.notRisen(a, l)
	case !slices.ContainsFunc(open, func(f *fact) bool {
		return f.chunk.TransactionBegan(f.Record).FirstOffset <= l.LastStableOffset
	}):
		w.unstable(a, l)
	}
	for _, f := range open {
		e := f.chunk.TransactionBegan(f.Record)
		if e.FirstOffset > l.LastStableOffset {
			a.notYet(f, event.RuleNone, "The transaction of producer id %d is open since %s, from offset "+
				"%d on.", e.ProducerID, clock(f.At), e.FirstOffset)
			continue
		}
		a.notYet(f, event.RuleNone, "The transaction of producer id %d is open since %s: readers with "+
			"read_committed wait at its first record, offset %d, for its marker.", e.ProducerID,
			clock(f.At), e.FirstOffset)
	}
}

// unstable says what holds the last stable offset below the high watermark when every transaction
// that is known has its marker.
func (w *witness) unstable(a *Answer, l *model.Log) {
	if f := w.last(event.KindTransactionMarkerWritten, l.Node); f != nil {
		e := f.chunk.TransactionMarkerWritten(f.Record)
		if e.Offset >= l.HighWatermark {
			a.notYet(f, event.RuleLastStableOffset, "The marker of producer id %d lies at offset %d, "+
				"which the high watermark has not passed yet.", e.ProducerID, e.Offset)
			w.notRisen(a, l)
			return
		}
	}
	a.notYet(w.last(event.KindLogOpened, l.Node), event.RuleNone, "A transaction that began before "+
		"what is recorded is open: readers with read_committed wait at its first record, offset %d, "+
		"for its marker.", l.LastStableOffset)
}
