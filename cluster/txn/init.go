package txn

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/event"
)

// Producer is who speaks for a transactional id.
type Producer struct {
	TransactionalID string
	ID              int64
	Epoch           int16
}

// Init asks for a producer id and epoch for a transactional id. A producer that has some already
// names them; -1 without.
type Init struct {
	Producer
	TimeoutMs int32
}

// Identity is a producer id with its epoch, or why there is none.
type Identity struct {
	Code  int16
	ID    int64
	Epoch int16
}

func refusedIdentity(code int16) Identity {
	return Identity{Code: code, ID: noProducerID, Epoch: noProducerEpoch}
}

// Init gives a producer the next epoch of its transactional id, which fences whoever had it before.
// A transaction that is open is aborted first: the producer is told to come again.
func (c *Coordinator) Init(asked Init, done func(Identity)) {
	limit := int64(c.settings.TimeoutMax / time.Millisecond)
	if asked.TimeoutMs <= 0 || int64(asked.TimeoutMs) > limit {
		done(refusedIdentity(kerr.InvalidTransactionTimeout.Code))
		return
	}
	if t := c.byID[asked.TransactionalID]; t != nil {
		c.initKnown(t, asked, done)
		return
	}
	c.host.ProducerID(func(id int64, code int16) {
		if c.closed {
			code = kerr.NotCoordinator.Code
		}
		if code != 0 {
			done(refusedIdentity(code))
			return
		}
		t := c.byID[asked.TransactionalID]
		if t == nil {
			t = c.findOrCreate(asked.TransactionalID)
			t.ProducerID, t.PreviousProducerID, t.NextProducerID = id, noProducerID, noProducerID
			t.StartTimestamp, t.LastUpdate = noTimestamp, c.env.UnixMilli()
			t.TimeoutMs = asked.TimeoutMs
		}
		c.initKnown(t, asked, done)
	})
}

func (c *Coordinator) initKnown(t *transaction, asked Init, done func(Identity)) {
	expects := asked.ID >= 0
	switch {
	case t.pending != nil, t.State.ending():
		done(refusedIdentity(kerr.ConcurrentTransactions.Code))
	case expects && !t.mayComeBack(asked.ID, asked.Epoch):
		done(refusedIdentity(kerr.ProducerFenced.Code))
	case t.State == Ongoing:
		c.fence(t, "another producer initialises the id", event.RuleTransactionFencing)
		done(refusedIdentity(kerr.ConcurrentTransactions.Code))
	case t.epochExhausted() && (!expects || asked.Epoch == t.ProducerEpoch):
		c.rotate(t, asked, done)
	default:
		epoch, last, ok := t.nextEpoch(expects, asked.Epoch)
		if !ok {
			done(refusedIdentity(kerr.ProducerFenced.Code))
			return
		}
		c.begin(t, t.begun(t.ProducerID, epoch, last, asked.TimeoutMs, c.env.UnixMilli()), done)
	}
}

// mayComeBack says whether a producer id that a client names is one of the transactional id's; the
// epoch is looked at later.
func (t *transaction) mayComeBack(id int64, epoch int16) bool {
	return t.ProducerEpoch == noProducerEpoch || id == t.ProducerID ||
		id == t.PreviousProducerID && epoch >= epochExhausted
}

// nextEpoch is the epoch for a producer that initialises. One that names the epoch before retries
// what it was not answered, and gets the current one.
func (t *transaction) nextEpoch(expects bool, expected int16) (epoch, last int16, ok bool) {
	switch {
	case !expects:
		return t.ProducerEpoch + 1, noProducerEpoch, true
	case t.ProducerEpoch == noProducerEpoch || expected == t.ProducerEpoch:
		return t.ProducerEpoch + 1, t.ProducerEpoch, true
	case expected == t.LastEpoch:
		return t.ProducerEpoch, t.LastEpoch, true
	}
	return 0, 0, false
}

// rotate gives the id another producer id, whose epochs begin anew.
func (c *Coordinator) rotate(t *transaction, asked Init, done func(Identity)) {
	c.withNewID(t, done, func(id int64) {
		last := noProducerEpoch
		if asked.ID >= 0 {
			last = t.ProducerEpoch
		}
		c.begin(t, t.begun(id, 0, last, asked.TimeoutMs, c.env.UnixMilli()), done)
	})
}

// withNewID asks for a producer id that no producer has had; refused hears why there is none.
func (c *Coordinator) withNewID(t *transaction, refused func(Identity), then func(id int64)) {
	next := t.Metadata
	t.pending = &next // nobody else may begin meanwhile
	c.host.ProducerID(func(id int64, code int16) {
		t.pending = nil
		if c.closed {
			code = kerr.NotCoordinator.Code
		}
		if code != 0 {
			refused(refusedIdentity(code))
			return
		}
		then(id)
	})
}

func (c *Coordinator) begin(t *transaction, next Metadata, done func(Identity)) {
	c.transit(t, next, "a producer initialises the id", event.RuleNone, func(code int16) {
		if code != 0 {
			done(refusedIdentity(code))
			return
		}
		done(Identity{ID: next.ProducerID, Epoch: next.ProducerEpoch})
	})
}
