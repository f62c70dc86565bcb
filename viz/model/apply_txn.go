package model

import (
	"cmp"
	"slices"

	"highwater/cluster/event"
)

const (
	transactionsMax    = 256
	LogTransactionsMax = 64 // of one log
)

// LogTransaction is a transaction as one log has it. LastOffset is its marker's, -1 while it is open.
type LogTransaction struct {
	ProducerID    int64        `json:"producerId,string"`
	ProducerEpoch int32        `json:"producerEpoch"`
	FirstOffset   event.Offset `json:"first,string"`
	LastOffset    event.Offset `json:"last,string"`
	State         string       `json:"state"` // open, committed, aborted
}

// Transaction is a transactional id.
type Transaction struct {
	ID            string       `json:"id"`
	State         string       `json:"state"` // Kafka's name
	Before        string       `json:"before"`
	Coordinator   event.NodeID `json:"coordinator"` // who said so
	ProducerID    int64        `json:"producerId,string"`
	ProducerEpoch int32        `json:"producerEpoch"`
	Partitions    int32        `json:"partitions"` // in the transaction
	Reason        string       `json:"reason"`
	At            int64        `json:"at,string"`
}

// applyTxn folds what transactions did: at their coordinators, and in the logs that they write to.
func (s *State) applyTxn(c *event.Chunk, r *event.Record) {
	switch r.Kind {
	case event.KindTransactionStateChanged:
		s.transactionChanged(c.TransactionStateChanged(r), r.Node, r.At)
	case event.KindTransactionPartitionAdded:
		// How many there are comes with the state, and each tells of itself when it is written to.
	case event.KindTransactionBegan:
		e := c.TransactionBegan(r)
		if _, l := s.log(e.Topic, e.Partition, r.Node); l != nil {
			l.addTransaction(LogTransaction{ProducerID: e.ProducerID, ProducerEpoch: e.ProducerEpoch,
				FirstOffset: e.FirstOffset, LastOffset: -1, State: "open"})
		}
	case event.KindTransactionMarkerWritten:
		e := c.TransactionMarkerWritten(r)
		if _, l := s.log(e.Topic, e.Partition, r.Node); l != nil {
			l.endTransaction(e)
		}
	case event.KindLastStableOffsetMoved:
		e := c.LastStableOffsetMoved(r)
		if _, l := s.log(e.Topic, e.Partition, r.Node); l != nil {
			l.LastStableOffset = e.After
		}
	}
}

// transactionChanged keeps the ids by name; a dead one is forgotten.
func (s *State) transactionChanged(e event.TransactionStateChanged, node event.NodeID, at int64) {
	i, found := slices.BinarySearchFunc(s.Transactions, e.TransactionalID,
		func(t *Transaction, id string) int { return cmp.Compare(t.ID, id) })
	switch {
	case e.After == "Dead":
		if found {
			s.Transactions = slices.Delete(s.Transactions, i, i+1)
		}
		return
	case !found && len(s.Transactions) >= transactionsMax:
		s.NotKept.Transactions++
		return
	case !found:
		s.Transactions = slices.Insert(s.Transactions, i, &Transaction{ID: e.TransactionalID})
	}
	t := s.Transactions[i]
	t.State, t.Before, t.Coordinator, t.At = e.After, e.Before, node, at
	t.ProducerID, t.ProducerEpoch = e.ProducerID, e.ProducerEpoch
	t.Partitions, t.Reason = e.Partitions, e.Reason
}

// addTransaction drops the oldest that has ended when there are too many, or else the oldest.
func (l *Log) addTransaction(t LogTransaction) {
	l.Transactions = append(l.Transactions, t)
	if len(l.Transactions) <= LogTransactionsMax {
		return
	}
	oldest := slices.IndexFunc(l.Transactions, func(t LogTransaction) bool {
		return t.LastOffset >= 0
	})
	l.Transactions = slices.Delete(l.Transactions, max(oldest, 0), max(oldest, 0)+1)
}

// endTransaction ends the producer's open one. One that began before it could be told is added, and
// so is one that left nothing here: of it there is the marker alone.
func (l *Log) endTransaction(e event.TransactionMarkerWritten) {
	state := "aborted"
	if e.Commit {
		state = "committed"
	}
	i := slices.IndexFunc(l.Transactions, func(t LogTransaction) bool {
		return t.ProducerID == e.ProducerID && t.LastOffset < 0
	})
	if i < 0 {
		first := e.FirstOffset
		if first < 0 {
			first = e.Offset
		}
		l.addTransaction(LogTransaction{ProducerID: e.ProducerID, ProducerEpoch: e.ProducerEpoch,
			FirstOffset: first, LastOffset: e.Offset, State: state})
		return
	}
	l.Transactions[i].LastOffset, l.Transactions[i].State = e.Offset, state
}

// cutTransactions forgets the transactions that a cut took, and opens those again whose marker it
// took.
func (l *Log) cutTransactions(gone func(event.Offset) bool) {
	l.Transactions = slices.DeleteFunc(l.Transactions, func(t LogTransaction) bool {
		return gone(t.FirstOffset)
	})
	for i := range l.Transactions {
		if t := &l.Transactions[i]; t.LastOffset >= 0 && gone(t.LastOffset) {
			t.LastOffset, t.State = -1, "open"
		}
	}
}
