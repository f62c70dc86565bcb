package txn

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/event"
)

// check says whether a producer speaks for its transactional id.
func (c *Coordinator) check(who Producer) (*transaction, int16) {
	t := c.byID[who.TransactionalID]
	switch {
	case t == nil:
		return nil, kerr.InvalidProducerIDMapping.Code
	case t.ProducerID != who.ID:
		return nil, kerr.InvalidProducerIDMapping.Code
	case t.ProducerEpoch != who.Epoch:
		return nil, kerr.ProducerFenced.Code
	}
	return t, 0
}

// AddPartitions adds partitions to a producer's transaction, which begins with the first of them.
// done hears once that is committed; only then may the producer's records be taken.
func (c *Coordinator) AddPartitions(who Producer, partitions []Partition, version int16,
	done func(code int16)) {
	if t := c.byID[who.TransactionalID]; t != nil && t.pending != nil {
		done(kerr.ConcurrentTransactions.Code)
		return
	}
	t, code := c.check(who)
	switch {
	case code != 0:
		done(code)
	case t.State.ending():
		done(kerr.ConcurrentTransactions.Code)
	case t.State == Ongoing && !slices.ContainsFunc(partitions, func(p Partition) bool {
		return !t.contains(p)
	}):
		done(0)
	default:
		c.transit(t, t.added(partitions, version, c.env.UnixMilli()), "a partition is added",
			event.RuleNone, done)
	}
}

// Verify says of each partition whether it belongs to the producer's open transaction.
func (c *Coordinator) Verify(who Producer, partitions []Partition) []int16 {
	t, code := c.check(who)
	if code == 0 && t.State.ending() {
		code = kerr.ConcurrentTransactions.Code
	}
	codes := make([]int16, len(partitions))
	for i, p := range partitions {
		codes[i] = code
		if code == 0 && !t.contains(p) {
			codes[i] = kerr.TransactionAbortable.Code
		}
	}
	return codes
}
