package txn

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/event"
)

// End asks for a transaction's end. Version is the transaction version of the client.
type End struct {
	Producer
	Commit  bool
	Version int16
}

func (e *End) reason() string {
	if e.Commit {
		return "the producer commits"
	}
	return "the producer aborts"
}

// End decides how a transaction ends. done hears once that is committed, which is before the
// markers are written: from then on the end is certain. It hears the identity that the producer's
// next transaction begins with.
func (c *Coordinator) End(asked End, done func(Identity)) {
	t := c.byID[asked.TransactionalID]
	if t == nil {
		done(refusedIdentity(kerr.InvalidProducerIDMapping.Code))
		return
	}
	decide := c.decideBumping
	if asked.Version < VersionEpochBumps {
		decide = c.decidePlain
	}
	prepare, code := decide(t, &asked)
	switch {
	case code != 0:
		done(refusedIdentity(code))
	case !prepare:
		done(Identity{ID: t.ProducerID, Epoch: t.ProducerEpoch})
	case asked.Version >= VersionEpochBumps && t.epochExhausted():
		c.endWithNewID(t, asked, done)
	default:
		c.prepare(t, asked, noProducerID, done)
	}
}

// decidePlain applies the rules for clients whose transactions share one epoch. prepare is false
// for a repetition of an end that is complete.
func (c *Coordinator) decidePlain(t *transaction, asked *End) (prepare bool, code int16) {
	switch {
	case t.ProducerID != asked.ID:
		return false, kerr.InvalidProducerIDMapping.Code
	case t.ProducerEpoch != asked.Epoch:
		return false, kerr.ProducerFenced.Code
	case t.pending != nil:
		return false, kerr.ConcurrentTransactions.Code
	case t.State == Ongoing:
		return true, 0
	}
	return false, t.repeated(asked.Commit)
}

// repeated judges an end that comes again: the same one is fine once it is complete.
func (t *transaction) repeated(commit bool) int16 {
	switch {
	case t.State == PrepareCommit && commit, t.State == PrepareAbort && !commit:
		return kerr.ConcurrentTransactions.Code
	case t.State == CompleteCommit && commit, t.State == CompleteAbort && !commit:
		return 0
	}
	return kerr.InvalidTxnState.Code
}

// decideBumping applies the rules for clients whose every transaction has its own epoch: the epoch
// tells a repetition, which comes with the one before, from the next transaction's end.
func (c *Coordinator) decideBumping(t *transaction, asked *End) (prepare bool, code int16) {
	rotated := t.PreviousProducerID == asked.ID && asked.Epoch == epochExhausted &&
		t.ProducerEpoch == 0
	retry := rotated || int32(t.ProducerEpoch) == int32(asked.Epoch)+1
	current := t.ProducerEpoch == asked.Epoch
	switch {
	case t.pending != nil:
		return false, kerr.ConcurrentTransactions.Code
	case t.ProducerID != asked.ID && !rotated:
		return false, kerr.InvalidProducerIDMapping.Code
	case t.State == Empty && !current, t.State == Ongoing && !current,
		t.State.ending() && !retry, !retry && !current:
		return false, kerr.ProducerFenced.Code
	case t.State == Ongoing:
		return true, 0
	case t.State == Empty, !retry && !t.State.ending():
		if asked.Commit {
			return false, kerr.InvalidTxnState.Code
		}
		return true, 0 // an abort of nothing, which still begins the next epoch
	}
	return false, t.repeated(asked.Commit)
}

func (c *Coordinator) prepare(t *transaction, asked End, nextID int64, done func(Identity)) {
	next := t.prepared(asked.Commit, asked.Version, nextID, c.env.UnixMilli())
	rule := event.RuleNone
	if asked.Version >= VersionEpochBumps {
		rule = event.RuleTransactionEpochBump
	}
	c.transit(t, next, asked.reason(), rule, func(code int16) {
		if code != 0 {
			done(refusedIdentity(code))
			return
		}
		complete := next.completed(c.env.UnixMilli())
		done(Identity{ID: complete.ProducerID, Epoch: complete.ProducerEpoch})
	})
}

// endWithNewID ends a producer id's last transaction: the next one needs another id.
func (c *Coordinator) endWithNewID(t *transaction, asked End, done func(Identity)) {
	c.withNewID(t, done, func(id int64) { c.prepare(t, asked, id, done) })
}

// fence aborts an open transaction without its producer, whose epoch is over with that.
func (c *Coordinator) fence(t *transaction, reason string, rule event.Rule) {
	next := t.prepared(false, VersionEpochBumps, noProducerID, c.env.UnixMilli())
	c.transit(t, next, reason, rule, func(int16) {})
}

// AbortTimedOut aborts the transactions that have been open for longer than they may.
func (c *Coordinator) AbortTimedOut() {
	now := c.env.UnixMilli()
	for _, t := range slices.Clone(c.ordered) {
		if t.State == Ongoing && t.pending == nil && t.StartTimestamp+int64(t.TimeoutMs) < now {
			c.fence(t, "transaction.timeout.ms is over", event.RuleTransactionTimeout)
		}
	}
}

// Expire forgets transactional ids that nobody has used for long.
func (c *Coordinator) Expire() {
	oldest := c.env.UnixMilli() - c.settings.Expiration.Milliseconds()
	for _, t := range slices.Clone(c.ordered) {
		if t.pending != nil || t.State == Ongoing || t.State.ending() || t.LastUpdate > oldest {
			continue
		}
		next := t.Metadata
		t.pending = &next
		by := Author{Reason: "transactional.id.expiration.ms is over"}
		if c.log.Append(Record{Key: recordKey(t.id)}, by, func(int16) {}) != 0 {
			t.pending = nil
		}
	}
}
