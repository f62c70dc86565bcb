package txn

import (
	"cmp"
	"math"
	"slices"
)

// State is where a transactional id is in its life.
type State int8

// The states of Kafka's TransactionState, by the numbers that they have in records.
const (
	Empty State = iota
	Ongoing
	PrepareCommit
	PrepareAbort
	CompleteCommit
	CompleteAbort
	Dead
	PrepareEpochFence
)

var stateNames = [...]string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit",
	"CompleteAbort", "Dead", "PrepareEpochFence"}

// String is the state's name in Kafka.
func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return "Unknown"
	}
	return stateNames[s]
}

// ending says that the transaction's end is decided and not marked everywhere yet.
func (s State) ending() bool { return s == PrepareCommit || s == PrepareAbort }

const (
	noProducerID    int64 = -1
	noProducerEpoch int16 = -1
	noTimestamp     int64 = -1
	// epochExhausted is the last epoch that a producer may use: the one behind it only ends what is
	// open, and then the transactional id gets another producer id.
	epochExhausted = math.MaxInt16 - 1
)

// The versions of transactions that a client can speak (the feature transaction.version).
const (
	// VersionPlain has one epoch for all transactions of a producer.
	VersionPlain int16 = 0
	// VersionEpochBumps begins every transaction with an epoch of its own.
	VersionEpochBumps int16 = 2
)

// Partition is a partition of a topic that takes part in a transaction.
type Partition struct {
	Topic string
	Index int32
}

func comparePartitions(a, b Partition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Index, b.Index))
}

// Metadata is what a record of __transaction_state says of a transactional id.
type Metadata struct {
	State         State
	ProducerID    int64
	ProducerEpoch int16
	// PreviousProducerID is the one before this record, NextProducerID the one that the next
	// transaction begins with; -1 without.
	PreviousProducerID int64
	NextProducerID     int64
	TimeoutMs          int32
	Partitions         []Partition // sorted; never changed, only replaced
	StartTimestamp     int64       // ms, -1 before the first transaction
	LastUpdate         int64       // ms
	// ClientVersion is the transaction version that the client spoke last.
	ClientVersion int16
	// LastEpoch is the epoch that the producer had before this one, -1 when nobody may come back
	// with it. It is not in the record: who has it only retries what was answered.
	LastEpoch int16
}

// next begins a transition: what it does not change stays.
func (m *Metadata) next(to State, now int64) Metadata {
	n := *m
	n.State, n.LastUpdate = to, now
	n.PreviousProducerID, n.NextProducerID = m.ProducerID, noProducerID
	return n
}

func (m *Metadata) epochExhausted() bool { return m.ProducerEpoch >= epochExhausted }

// begun is the metadata of an id whose producer starts afresh with this epoch.
func (m *Metadata) begun(id int64, epoch, last int16, timeoutMs int32, now int64) Metadata {
	n := m.next(Empty, now)
	n.ProducerID, n.ProducerEpoch, n.LastEpoch = id, epoch, last
	n.TimeoutMs, n.Partitions, n.StartTimestamp = timeoutMs, nil, noTimestamp
	return n
}

// added is the metadata with more partitions in the transaction, which begins if none is open.
func (m *Metadata) added(partitions []Partition, version int16, now int64) Metadata {
	n := m.next(Ongoing, now)
	if m.State != Ongoing {
		n.StartTimestamp = now
	}
	n.Partitions = append(slices.Clone(m.Partitions), partitions...)
	slices.SortFunc(n.Partitions, comparePartitions)
	n.Partitions = slices.Compact(n.Partitions)
	n.ClientVersion = version
	return n
}

// prepared is the metadata once the end is decided. With epoch bumps it has the next epoch already:
// the markers carry it, and fence whatever of the transaction comes late.
func (m *Metadata) prepared(commit bool, version int16, nextID, now int64) Metadata {
	to := PrepareAbort
	if commit {
		to = PrepareCommit
	}
	n := m.next(to, now)
	n.NextProducerID, n.ClientVersion = nextID, version
	if version >= VersionEpochBumps {
		n.LastEpoch, n.ProducerEpoch = m.ProducerEpoch, m.ProducerEpoch+1
	}
	if m.State != Ongoing {
		n.StartTimestamp = now // an abort of nothing
	}
	return n
}

// completed is the metadata once every partition has its marker.
func (m *Metadata) completed(now int64) Metadata {
	to := CompleteAbort
	if m.State == PrepareCommit {
		to = CompleteCommit
	}
	n := m.next(to, now)
	n.Partitions = []Partition{}
	if m.ClientVersion >= VersionEpochBumps && m.NextProducerID != noProducerID {
		n.ProducerID, n.ProducerEpoch = m.NextProducerID, 0
	}
	return n
}

func (m *Metadata) contains(p Partition) bool {
	_, found := slices.BinarySearchFunc(m.Partitions, p, comparePartitions)
	return found
}

// transaction is what is known of one transactional id.
type transaction struct {
	id string
	// Metadata is replayed, but for a new id: that has a producer id before its first record.
	Metadata
	recorded bool
	// pending is where the id is going: a record that is not committed yet, or markers that are
	// not written yet. Until it is there the id takes no other request.
	pending *Metadata
}
