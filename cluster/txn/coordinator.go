package txn

import (
	"cmp"
	"slices"
	"time"

	"highwater/cluster/event"
	"highwater/cluster/world"
)

// Log is where a coordinator's records go.
type Log interface {
	// Append adds a record to the coordinator's partition. An error code that it returns says that
	// nothing was written. Otherwise then hears once, later: 0 after the record is committed and
	// was replayed; any other code says only that nobody waits for it any longer.
	Append(record Record, by Author, then func(code int16)) (refused int16)
}

// Author is why a record is written: it stands beside the record until that is replayed.
type Author struct {
	Reason    string
	Rule      event.Rule
	LastEpoch int16 // see Metadata.LastEpoch
}

// Host is what a coordinator needs of the broker that it runs on.
type Host interface {
	// ProducerID gives an id that no producer has had; done hears at once or later.
	ProducerID(done func(id int64, code int16))
	// WriteMarkers ends a transaction on its partitions and tries until every partition has its
	// marker; then done hears, once and never from within.
	WriteMarkers(m Markers, done func())
}

// Markers is how a transaction ends, and where.
type Markers struct {
	TransactionalID string
	ProducerID      int64
	ProducerEpoch   int16
	Commit          bool
	Version         int8
	Partitions      []Partition
}

// Settings are the broker configurations that change what a coordinator does.
type Settings struct {
	TimeoutMax time.Duration // transaction.max.timeout.ms
	Expiration time.Duration // transactional.id.expiration.ms
}

// DefaultSettings are Kafka's defaults.
func DefaultSettings() Settings {
	return Settings{TimeoutMax: 15 * time.Minute, Expiration: 7 * 24 * time.Hour}
}

// Coordinator keeps the transactional ids of one partition of __transaction_state while its broker
// leads it.
type Coordinator struct {
	env      *world.Env
	log      Log
	host     Host
	settings Settings
	byID     map[string]*transaction
	ordered  []*transaction // by id
	loaded   bool
	closed   bool
}

// New returns a coordinator that knows nothing until the log was replayed; Loaded ends that.
func New(env *world.Env, log Log, host Host, settings Settings) *Coordinator {
	return &Coordinator{env: env, log: log, host: host, settings: settings,
		byID: map[string]*transaction{}}
}

// Close ends the coordinator: another broker leads the partition now, or will, and finishes what is
// open.
func (c *Coordinator) Close() { c.closed = true }

func (c *Coordinator) findOrCreate(id string) *transaction {
	if t := c.byID[id]; t != nil {
		return t
	}
	t := &transaction{id: id}
	t.ProducerEpoch, t.LastEpoch = noProducerEpoch, noProducerEpoch
	c.byID[id] = t
	at, _ := slices.BinarySearchFunc(c.ordered, id, func(t *transaction, id string) int {
		return cmp.Compare(t.id, id)
	})
	c.ordered = slices.Insert(c.ordered, at, t)
	return t
}

func (c *Coordinator) forget(t *transaction) {
	delete(c.byID, t.id)
	c.ordered = slices.DeleteFunc(c.ordered, func(x *transaction) bool { return x == t })
}

// Replay takes one committed record over. It is the only way to what a transactional id remembers.
func (c *Coordinator) Replay(r Record, by Author) error {
	id, m, err := decode(r)
	if err != nil {
		return err
	}
	if m == nil {
		if t := c.byID[id]; t != nil {
			c.emitState(t, t.State.String(), Dead.String(), by)
			c.forget(t)
		}
		return nil
	}
	t := c.findOrCreate(id)
	before := t.Metadata
	known := t.recorded
	t.Metadata, t.recorded, t.pending = *m, true, nil
	if !c.loaded {
		return nil
	}
	t.LastEpoch = by.LastEpoch
	from := ""
	if known {
		from = before.State.String()
	}
	if !known || before.State != t.State || before.ProducerEpoch != t.ProducerEpoch {
		c.emitState(t, from, t.State.String(), by)
	}
	for _, p := range t.Partitions {
		if t.State == Ongoing && !before.contains(p) {
			event.TransactionPartitionAdded{TransactionalID: t.id, Topic: p.Topic, Partition: p.Index,
				ProducerID: t.ProducerID, ProducerEpoch: int32(t.ProducerEpoch)}.
				Emit(c.env.Events, event.RuleNone)
		}
	}
	if t.State.ending() {
		c.finish(t)
	}
	return nil
}

func (c *Coordinator) emitState(t *transaction, before, after string, by Author) {
	if !c.loaded {
		return
	}
	event.TransactionStateChanged{TransactionalID: t.id, Before: before, After: after,
		ProducerID: t.ProducerID, ProducerEpoch: int32(t.ProducerEpoch),
		Partitions: int32(len(t.Partitions)), Reason: by.Reason}.Emit(c.env.Events, by.Rule)
}

// Loaded says that the log was replayed up to where this leader's own epoch begins. What an earlier
// leader had decided to end is ended now.
func (c *Coordinator) Loaded() {
	c.loaded = true
	for _, t := range slices.Clone(c.ordered) {
		c.emitState(t, "", t.State.String(), Author{Reason: "loaded from the log"})
		if t.State.ending() {
			c.finish(t)
		}
	}
}

// transit writes where a transactional id goes next. then hears how that ended.
func (c *Coordinator) transit(t *transaction, next Metadata, reason string, rule event.Rule,
	then func(code int16)) {
	t.pending = &next
	by := Author{Reason: reason, Rule: rule, LastEpoch: next.LastEpoch}
	if code := c.log.Append(encode(t.id, &next), by, then); code != 0 {
		t.pending = nil
		then(code)
	}
}

// finish has markers written to all partitions of a transaction whose end is decided, and then
// notes that it is complete.
func (c *Coordinator) finish(t *transaction) {
	next := t.completed(c.env.UnixMilli())
	t.pending = &next
	c.host.WriteMarkers(Markers{TransactionalID: t.id, ProducerID: t.ProducerID,
		ProducerEpoch: t.ProducerEpoch, Commit: t.State == PrepareCommit,
		Version: int8(t.ClientVersion), Partitions: t.Partitions},
		func() { c.complete(t, next) })
}

// completeRetry is after how long a refused record is tried again.
const completeRetry = 100 * time.Millisecond

func (c *Coordinator) complete(t *transaction, next Metadata) {
	if c.closed || c.byID[t.id] != t {
		return
	}
	by := Author{Reason: "every partition has its marker", Rule: event.RuleTransactionAllMarkers,
		LastEpoch: next.LastEpoch}
	if refused := c.log.Append(encode(t.id, &next), by, func(int16) {}); refused != 0 {
		c.env.AfterQuiet("transaction-complete", completeRetry, func() { c.complete(t, next) })
	}
}
