package cluster

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/client"
	"highwater/cluster/event"
)

const (
	txnPartitions = 3
	txnTick       = 100 * time.Millisecond
)

// txnWorker runs one transaction after the other while brokers die, as a careful client does: it
// repeats what was not answered, and begins anew with another epoch after anything final.
type txnWorker struct {
	w        *txnWatch
	name     string
	id       int64
	epoch    int16
	ready    bool // has a producer id
	sequence [txnPartitions]int32
	n        int           // transactions begun
	plan     []int32       // partitions still to write to
	offsets  bool          // and an offset to commit
	ending   bool          // EndTxn was sent
	commit   bool          // as decided
	wrote    map[int32]int // batches answered in this transaction
	pending  *txnOutcome   // of the open transaction
	stopped  bool
}

// txnOutcome is what a worker knows of one transaction.
type txnOutcome struct {
	name    string
	fate    string // committed, aborted, unknown
	records map[string]int32
	offset  int64 // -1: none
}

// txnWatch judges all workers together.
type txnWatch struct {
	t        *testing.T
	d        *driver
	outcomes []*txnOutcome
	ended    int
	seen     [txnPartitions][]string // by readers with read_committed, so far
	reading  bool
	reads    int
}

func (x *txnWorker) later(f func()) {
	x.w.d.env.AfterQuiet("txn-worker", txnTick, func() {
		if !x.stopped {
			f()
		}
	})
}

// ask sends a request to a broker; again is called when there was no answer.
func (x *txnWorker) ask(to event.NodeID, r *broker.Request, again func(), then func(any)) {
	r.ClientID = x.name
	x.w.d.env.Request(to, kmsg.NameForKey(r.Key), r, 10*time.Second, func(answer any, err error) {
		switch {
		case x.stopped:
		case err != nil || answer == nil:
			x.later(again)
		default:
			then(answer)
		}
	})
}

// coordinator sends a request to whoever coordinates a key.
func (x *txnWorker) coordinator(kind int8, key string, body kmsg.Request, again func(),
	then func(any)) {
	r := kmsg.NewPtrFindCoordinatorRequest()
	r.Version, r.CoordinatorType, r.CoordinatorKeys = 4, kind, []string{key}
	ids := x.w.d.c.Brokers()
	find := &broker.Request{Key: 10, Version: 4, Body: r}
	x.ask(ids[x.w.d.env.Dice().IntN(len(ids))], find, again, func(answer any) {
		found, ok := answer.(*kmsg.FindCoordinatorResponse)
		if !ok || found.Coordinators[0].ErrorCode != 0 {
			x.later(again)
			return
		}
		x.ask(event.NodeID(found.Coordinators[0].NodeID), &broker.Request{Key: body.Key(),
			Version: body.GetVersion(), Body: body}, again, then)
	})
}

// passes sorts out a code: transient errors are tried again, final ones end the transaction.
func (x *txnWorker) passes(code int16, again func()) bool {
	switch {
	case code == 0:
		return true
	case kerr.IsRetriable(kerr.ErrorForCode(code)), code == kerr.ConcurrentTransactions.Code:
		x.later(again)
	default:
		x.abandon()
	}
	return false
}

// abandon gives the transaction up: unless its commit was under way, none of it may be seen.
func (x *txnWorker) abandon() {
	if o := x.pending; o != nil && o.fate == "" {
		o.fate = "aborted"
		if x.ending && x.commit {
			o.fate = "unknown"
		}
	}
	x.pending, x.ready = nil, false
	x.later(x.next)
}

func (x *txnWorker) next() {
	if !x.ready {
		x.init()
		return
	}
	dice := x.w.d.env.Dice()
	x.n++
	x.plan = nil
	for p := range int32(txnPartitions) {
		for range dice.IntN(3) {
			x.plan = append(x.plan, p)
		}
	}
	x.offsets, x.commit, x.ending = dice.IntN(2) == 0, dice.IntN(4) > 0, false
	x.wrote = map[int32]int{}
	x.pending = &txnOutcome{name: fmt.Sprintf("%s-%d", x.name, x.n), records: map[string]int32{},
		offset: -1}
	x.w.outcomes = append(x.w.outcomes, x.pending)
	x.work()
}

func (x *txnWorker) init() {
	r := kmsg.NewPtrInitProducerIDRequest()
	r.Version, r.TransactionalID, r.TransactionTimeoutMillis = 4, &x.name, 20_000
	r.ProducerID, r.ProducerEpoch = -1, -1
	x.coordinator(1, x.name, r, x.next, func(answer any) {
		given, ok := answer.(*kmsg.InitProducerIDResponse)
		if ok && x.passes(given.ErrorCode, x.next) {
			x.begin(given.ProducerID, given.ProducerEpoch)
		}
	})
}

func (x *txnWorker) begin(id int64, epoch int16) {
	x.id, x.epoch, x.ready, x.sequence = id, epoch, true, [txnPartitions]int32{}
	x.later(x.next)
}

// work does the next thing that the transaction is to do.
func (x *txnWorker) work() {
	switch {
	case len(x.plan) > 0:
		x.produce()
	case x.offsets:
		x.commitOffset()
	default:
		x.end()
	}
}

func (x *txnWorker) produce() {
	p := x.plan[0]
	leader, _ := x.w.d.c.Leader("txn", p)
	if leader == event.NoNode {
		x.later(x.work)
		return
	}
	value := fmt.Sprintf("%s/%d/%d", x.pending.name, p, x.wrote[p])
	x.pending.records[value] = p
	r := transactionalBatch(x.name, "txn", p, x.id, x.epoch, x.sequence[p], x.w.d.env.UnixMilli(),
		value)
	x.ask(leader, r, x.work, func(answer any) {
		response, ok := answer.(*kmsg.ProduceResponse)
		if !ok {
			x.later(x.work)
			return
		}
		if x.passes(response.Topics[0].Partitions[0].ErrorCode, x.work) {
			x.sequence[p]++
			x.wrote[p]++
			x.plan = x.plan[1:]
			x.work()
		}
	})
}

func (x *txnWorker) commitOffset() {
	r := kmsg.NewPtrTxnOffsetCommitRequest()
	r.Version, r.TransactionalID, r.Group, r.Generation = 5, x.name, x.name, -1
	r.ProducerID, r.ProducerEpoch = x.id, x.epoch
	t := kmsg.NewTxnOffsetCommitRequestTopic()
	t.Topic = "txn"
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Offset = int64(x.n)
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	x.coordinator(0, x.name, r, x.work, func(answer any) {
		response, ok := answer.(*kmsg.TxnOffsetCommitResponse)
		if ok && x.passes(response.Topics[0].Partitions[0].ErrorCode, x.work) {
			x.offsets, x.pending.offset = false, int64(x.n)
			x.work()
		}
	})
}

func (x *txnWorker) end() {
	if len(x.pending.records) == 0 && x.pending.offset < 0 {
		x.pending.fate, x.pending = "aborted", nil // nothing was begun
		x.later(x.next)
		return
	}
	r := kmsg.NewPtrEndTxnRequest()
	r.Version, r.TransactionalID, r.Commit = 5, x.name, x.commit
	r.ProducerID, r.ProducerEpoch = x.id, x.epoch
	x.ending = true
	x.coordinator(1, x.name, r, x.end, func(answer any) {
		ended, ok := answer.(*kmsg.EndTxnResponse)
		if !ok || !x.passes(ended.ErrorCode, x.end) {
			return
		}
		x.pending.fate = "aborted"
		if x.commit {
			x.pending.fate = "committed"
		}
		x.pending = nil
		x.w.ended++
		x.begin(ended.ProducerID, ended.ProducerEpoch)
	})
}

// read goes on reading with read_committed: what was seen once stays, and stays where it was.
func (w *txnWatch) read(p int32) {
	w.reading = true
	w.d.c.Client().Read(client.ReadRequest{Topic: "txn", Partition: p, From: client.FromEarliest,
		Committed: true, TimeoutMs: 60_000}, func(r client.ReadResult) {
		if r.Code == 0 {
			w.reads++
			var values []string
			for _, one := range r.Records {
				values = append(values, *one.Value)
			}
			before := w.seen[p]
			if len(values) < len(before) || !slices.Equal(values[:len(before)], before) {
				w.t.Errorf("a reader of txn-%d saw %d records and then %d others", p, len(before),
					len(values))
			}
			w.seen[p] = values
		}
		w.d.env.AfterQuiet("txn-reader", txnTick, func() { w.read((p + 1) % txnPartitions) })
	})
}

// judge holds what the workers were told against what is there in the end.
func (w *txnWatch) judge() {
	seen := map[string]int{}
	for p := range w.seen {
		for _, value := range w.d.visible("txn", int32(p), true) {
			seen[value]++
		}
	}
	for _, o := range w.outcomes {
		visible := 0
		for value := range o.records {
			if seen[value] > 1 {
				w.t.Errorf("%s is there %d times", value, seen[value])
			}
			visible += seen[value]
		}
		switch {
		case o.fate == "committed" && visible != len(o.records):
			w.t.Errorf("%s was committed; %d of %d records are visible", o.name, visible,
				len(o.records))
		case o.fate == "aborted" && visible != 0:
			w.t.Errorf("%s was aborted; %d of its records are visible", o.name, visible)
		case visible != 0 && visible != len(o.records):
			w.t.Errorf("%s is torn: %d of %d records are visible", o.name, visible, len(o.records))
		}
	}
}

// judgeOffsets compares each worker's group with the last transaction that committed its offset.
func (w *txnWatch) judgeOffsets(names ...string) {
	for _, name := range names {
		least, most := int64(-1), int64(-1)
		for _, o := range w.outcomes {
			if !strings.HasPrefix(o.name, name+"-") || o.offset < 0 || o.fate == "aborted" {
				continue
			}
			if o.fate == "committed" {
				least = o.offset
			}
			most = o.offset
		}
		if got := w.d.stableOffset(name); got < least || got > most {
			w.t.Errorf("group %s has offset %d, want %d to %d", name, got, least, most)
		}
	}
}

// stableOffset asks for a group's stable offset of txn-0.
func (d *driver) stableOffset(group string) int64 {
	d.t.Helper()
	offset, found := int64(0), false
	x := &txnWorker{w: &txnWatch{t: d.t, d: d}, name: "judge"}
	var ask func()
	ask = func() {
		r := kmsg.NewPtrOffsetFetchRequest()
		r.Version, r.Group, r.RequireStable = 7, group, true
		topic := kmsg.NewOffsetFetchRequestTopic()
		topic.Topic, topic.Partitions = "txn", []int32{0}
		r.Topics = append(r.Topics, topic)
		x.coordinator(0, group, r, ask, func(answer any) {
			response, ok := answer.(*kmsg.OffsetFetchResponse)
			if !ok || response.ErrorCode != 0 || response.Topics[0].Partitions[0].ErrorCode != 0 {
				x.later(ask)
				return
			}
			offset, found = response.Topics[0].Partitions[0].Offset, true
		})
	}
	ask()
	d.until("stable offset of "+group, 2*time.Minute, func() bool { return found })
	return offset
}

// runTransactions lets two producers work and readers read while brokers die.
func runTransactions(t *testing.T, seed uint64, faults int) (*txnWatch, *tape) {
	d, s := startTransactions(t, seed)
	c := d.c
	d.partitionsOf("txn", txnPartitions, "2")
	w := &txnWatch{t: t, d: d}
	workers := []*txnWorker{{w: w, name: "one"}, {w: w, name: "two"}}
	for _, x := range workers {
		x.next()
	}
	d.until("first transactions", time.Minute, func() bool { return w.ended >= 4 })
	w.read(0)
	dice := rand.New(rand.NewPCG(seed, 7))
	for range faults {
		c.World().RunFor(time.Duration(dice.IntN(2500)) * time.Millisecond)
		victim := d.victim(dice, workers[dice.IntN(2)].name)
		if dice.IntN(2) == 0 {
			must(t, c.Kill(victim))
		} else {
			must(t, c.PowerCut(victim))
		}
		c.World().RunFor(time.Duration(dice.IntN(15_000)) * time.Millisecond)
		must(t, c.Restart(victim))
		d.until("all back", 2*time.Minute, func() bool { return len(c.Ready()) == 0 })
		goal := w.ended + 2
		d.until("transactions after the fault", 3*time.Minute, func() bool { return w.ended >= goal })
	}
	for _, x := range workers {
		x.stopped = true
	}
	c.World().RunFor(45 * time.Second) // what is open times out
	for p := range int32(txnPartitions) {
		d.level("txn", p)
	}
	for _, x := range workers {
		if o := x.pending; o != nil && o.fate == "" {
			o.fate = "unknown"
		}
	}
	return w, s
}

// victim is a transaction's coordinator or the leader of a partition that it writes to.
func (d *driver) victim(dice *rand.Rand, name string) event.NodeID {
	if dice.IntN(2) == 0 {
		return d.coordinator(name)
	}
	leader, _ := d.c.Leader("txn", dice.Int32N(txnPartitions))
	if leader == event.NoNode || !d.c.Alive(leader) {
		return d.coordinator(name)
	}
	return leader
}

// level waits until a partition's replicas are in sync, and compares their bytes.
func (d *driver) level(topic string, p int32) {
	d.t.Helper()
	d.until("level replicas", 2*time.Minute, func() bool {
		isr, _ := d.c.Isr(topic, p)
		end, _ := d.c.LogEndOffset(1, topic, p)
		level := len(isr) == 3
		for _, id := range d.c.Brokers() {
			hw, _ := d.c.HighWatermarkOn(id, topic, p)
			leo, _ := d.c.LogEndOffset(id, topic, p)
			lso, _ := d.c.LastStableOffsetOn(id, topic, p)
			level = level && hw == end && leo == end && lso == end
		}
		return level
	})
	var first []byte
	for _, id := range d.c.Brokers() {
		all, err := batchesBelowHighWatermark(d.c, id, topic, p)
		must(d.t, err)
		if first == nil {
			first = all
		} else if !bytes.Equal(first, all) {
			d.t.Errorf("%s-%d of broker %d differs", topic, p, id)
		}
	}
}

func TestNoTornTransactionIsVisibleWhoeverDies(t *testing.T) {
	for seed := range seeds(t, 10, 120) {
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) {
			w, _ := runTransactions(t, seed, 4)
			w.judge()
			w.judgeOffsets("one", "two")
			if w.ended < 12 || w.reads < 20 {
				t.Errorf("%d transactions and %d reads: nothing was tried", w.ended, w.reads)
			}
		})
	}
}

func TestSameSeedRunsTransactionsTheSameWay(t *testing.T) {
	first, a := runTransactions(t, 5, 2)
	second, b := runTransactions(t, 5, 2)
	for i := range min(len(a.lines), len(b.lines)) {
		if a.lines[i] != b.lines[i] {
			t.Fatalf("event %d is\n%s and\n%s", i, a.lines[i], b.lines[i])
		}
	}
	if len(a.lines) != len(b.lines) || files(t, first.d.c) != files(t, second.d.c) {
		t.Errorf("%d and %d events, or other files", len(a.lines), len(b.lines))
	}
	for _, kind := range []string{"TransactionStateChanged", "TransactionPartitionAdded",
		"TransactionBegan", "TransactionMarkerWritten", "LastStableOffsetMoved"} {
		if !slices.ContainsFunc(a.lines, func(line string) bool {
			return strings.Contains(line, `"event":"`+kind+`"`)
		}) {
			t.Errorf("%s is never told", kind)
		}
	}
}
