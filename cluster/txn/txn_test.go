package txn

import (
	"encoding/hex"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/event"
	"highwater/cluster/world"
)

// bench is one coordinator in a world of its own, whose log commits and whose markers are written
// when the test says so.
type bench struct {
	t       *testing.T
	world   *world.World
	env     *world.Env
	c       *Coordinator
	log     []Record // committed
	open    []write
	markers []Markers // asked for
	written []func()
	nextID  int64
	refuses int16 // what Append answers
}

type write struct {
	record Record
	by     Author
	then   func(int16)
}

type idle struct{}

func (idle) Deliver(*world.Call)       {}
func (idle) Disconnected(event.NodeID) {}

func (b *bench) Publish(*event.Chunk) *event.Chunk { return &event.Chunk{} }

func (b *bench) Append(r Record, by Author, then func(int16)) int16 {
	if b.refuses == 0 {
		b.open = append(b.open, write{r, by, then})
	}
	return b.refuses
}

func (b *bench) ProducerID(done func(int64, int16)) {
	b.nextID++
	done(b.nextID-1, 0)
}

func (b *bench) WriteMarkers(m Markers, done func()) {
	b.markers = append(b.markers, m)
	b.written = append(b.written, done)
}

// commit lets the high watermark pass what was appended.
func (b *bench) commit() {
	for len(b.open) > 0 {
		w := b.open[0]
		b.open = b.open[1:]
		b.log = append(b.log, w.record)
		if err := b.c.Replay(w.record, w.by); err != nil {
			b.t.Error(err)
		}
		w.then(0)
	}
}

// mark lets every partition have its marker, and what follows be committed.
func (b *bench) mark() {
	for len(b.written) > 0 {
		done := b.written[0]
		b.written = b.written[1:]
		done()
	}
	b.commit()
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, nextID: 7}
	b.world = world.New(world.Config{Seed: 1, Origin: time.UnixMilli(1795961063540), Events: b,
		PanicThrough: true})
	b.world.Add(world.Spec{ID: 1, Role: "broker",
		Start: func(env *world.Env) (world.Node, error) { b.env = env; return idle{}, nil }})
	if err := b.world.StartNode(1); err != nil {
		t.Fatal(err)
	}
	b.c = New(b.env, b, b, DefaultSettings())
	b.c.Loaded()
	return b
}

// failover is a new coordinator that has the committed log and nothing else.
func (b *bench) failover() {
	b.t.Helper()
	b.c.Close()
	b.open, b.markers, b.written = nil, nil, nil
	b.c = New(b.env, b, b, DefaultSettings())
	for _, r := range b.log {
		if err := b.c.Replay(r, Author{}); err != nil {
			b.t.Error(err)
		}
	}
	b.c.Loaded()
}

func (b *bench) init(id int64, epoch int16) (given Identity) {
	b.t.Helper()
	answered := false
	b.c.Init(Init{Producer{"tx", id, epoch}, 60_000}, func(i Identity) { given, answered = i, true })
	b.commit()
	if !answered {
		b.t.Fatal("InitProducerId is not answered")
	}
	return given
}

func (b *bench) add(p Identity, partitions ...Partition) (code int16) {
	code = -1
	b.c.AddPartitions(Producer{"tx", p.ID, p.Epoch}, partitions, VersionEpochBumps,
		func(c int16) { code = c })
	b.commit()
	return code
}

func (b *bench) end(p Identity, commit bool, version int16) (given Identity) {
	given.Code = -1
	b.c.End(End{Producer{"tx", p.ID, p.Epoch}, commit, version}, func(i Identity) { given = i })
	b.commit()
	return given
}

func (b *bench) state(want State) {
	b.t.Helper()
	if d, _ := b.c.Describe("tx"); d.State != want {
		b.t.Errorf("the id is %v, want %v", d.State, want)
	}
}

var orders = Partition{"orders", 0}

func code(t *testing.T, got int16, want *kerr.Error) {
	t.Helper()
	if got != want.Code {
		t.Errorf("answered %v, want %v", kerr.ErrorForCode(got), want)
	}
}

func TestRecordsOfKafkaAreWrittenAgainToTheByte(t *testing.T) {
	text, err := os.ReadFile("testdata/kafka-records.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		n++
		var r Record
		r.Key, _ = hex.DecodeString(words[1])
		r.Value, _ = hex.DecodeString(words[2])
		id, m, err := decode(r)
		if err != nil {
			t.Fatal(err)
		}
		again := encode(id, m)
		// Kafka's topics come in the order of a hash set: compare what is read back instead.
		_, back, err := decode(again)
		if err != nil || !slices.Equal(back.Partitions, m.Partitions) {
			t.Errorf("record %d reads back as %+v, %v", n, back, err)
		}
		oneTopic := !slices.ContainsFunc(m.Partitions, func(p Partition) bool {
			return p.Topic != m.Partitions[0].Topic
		})
		if hex.EncodeToString(again.Key) != words[1] ||
			oneTopic && hex.EncodeToString(again.Value) != words[2] ||
			len(again.Value)*2 != len(words[2]) {
			t.Errorf("record %d is written as\n%x, Kafka wrote\n%s", n, again.Value, words[2])
		}
	}
	if n < 14 {
		t.Errorf("%d records were compared", n)
	}
}

func TestTransactionGoesThroughItsStatesByItsLog(t *testing.T) {
	b := newBench(t)
	p := b.init(-1, -1)
	if p.Code != 0 || p.ID != 7 || p.Epoch != 0 {
		t.Fatalf("given %+v", p)
	}
	b.state(Empty)
	if got := b.add(p, orders); got != 0 {
		t.Fatal(kerr.ErrorForCode(got))
	}
	b.state(Ongoing)
	next := b.end(p, true, VersionEpochBumps)
	if next.Code != 0 || next.Epoch != 1 {
		t.Errorf("the next transaction is %+v", next)
	}
	b.state(PrepareCommit)
	if m := b.markers[0]; m.ProducerEpoch != 1 || !m.Commit || m.Version != 2 {
		t.Errorf("markers %+v", m)
	}
	code(t, b.add(next, orders), kerr.ConcurrentTransactions)
	b.mark()
	b.state(CompleteCommit)
	if again := b.end(p, true, VersionEpochBumps); again != next {
		t.Errorf("the repeated end is answered %+v", again)
	}
	code(t, b.end(p, false, VersionEpochBumps).Code, kerr.InvalidTxnState)
	code(t, b.end(next, true, VersionEpochBumps).Code, kerr.InvalidTxnState)
}

func TestNothingIsRememberedBeforeItsRecordIsCommitted(t *testing.T) {
	b := newBench(t)
	p := b.init(-1, -1)
	b.c.AddPartitions(Producer{"tx", p.ID, p.Epoch}, []Partition{orders}, VersionEpochBumps,
		func(int16) { t.Error("answered before the record is committed") })
	b.state(Empty)
	code(t, b.c.Verify(Producer{"tx", p.ID, p.Epoch}, []Partition{orders})[0],
		kerr.TransactionAbortable)
	b.failover()
	b.state(Empty)
}

func TestNextCoordinatorFinishesWhatWasDecided(t *testing.T) {
	b := newBench(t)
	p := b.init(-1, -1)
	b.add(p, orders)
	b.end(p, false, VersionEpochBumps)
	b.failover()
	b.state(PrepareAbort)
	if len(b.markers) != 1 || b.markers[0].Commit || b.markers[0].ProducerEpoch != 1 {
		t.Errorf("markers %+v", b.markers)
	}
	b.mark()
	b.state(CompleteAbort)
}

func TestPlainTransactionsShareOneEpoch(t *testing.T) {
	b := newBench(t)
	p := b.init(-1, -1)
	for range 2 {
		b.add(p, orders)
		if next := b.end(p, true, VersionPlain); next.Epoch != 0 || next.Code != 0 {
			t.Errorf("the next transaction is %+v", next)
		}
		b.mark()
	}
	if again := b.end(p, true, VersionPlain); again.Code != 0 {
		t.Errorf("the repeated end is answered %v", kerr.ErrorForCode(again.Code))
	}
	code(t, b.end(p, false, VersionPlain).Code, kerr.InvalidTxnState)
}

func TestSecondProducerEndsWhatTheFirstHasOpen(t *testing.T) {
	b := newBench(t)
	old := b.init(-1, -1)
	b.add(old, orders)
	code(t, b.init(-1, -1).Code, kerr.ConcurrentTransactions)
	b.state(PrepareAbort)
	b.mark()
	next := b.init(-1, -1)
	if next.Code != 0 || next.Epoch != 2 {
		t.Errorf("the second producer is %+v", next)
	}
	code(t, b.add(old, orders), kerr.ProducerFenced)
	code(t, b.end(old, true, VersionEpochBumps).Code, kerr.ProducerFenced)
}

func TestProducerComesBackWithTheEpochItHad(t *testing.T) {
	b := newBench(t)
	p := b.init(-1, -1)
	next := b.init(p.ID, p.Epoch)
	if next.Epoch != 1 {
		t.Errorf("it is given %+v", next)
	}
	if again := b.init(p.ID, p.Epoch); again != next {
		t.Errorf("the repetition is given %+v", again)
	}
	b.init(-1, -1)
	code(t, b.init(p.ID, p.Epoch).Code, kerr.ProducerFenced)
	code(t, b.init(p.ID+100, 0).Code, kerr.ProducerFenced)
}

func TestEpochsThatRunOutBringAnotherProducerID(t *testing.T) {
	b := newBench(t)
	p := b.init(-1, -1)
	b.c.byID["tx"].ProducerEpoch = epochExhausted
	p.Epoch = epochExhausted
	b.add(p, orders)
	next := b.end(p, true, VersionEpochBumps)
	if next.Code != 0 || next.ID == p.ID || next.Epoch != 0 {
		t.Errorf("the next transaction is %+v", next)
	}
	if m := b.markers[0]; m.ProducerID != p.ID || m.ProducerEpoch != math.MaxInt16 {
		t.Errorf("markers %+v", m)
	}
	b.failover()
	b.mark()
	if again := b.end(p, true, VersionEpochBumps); again != next {
		t.Errorf("the repeated end is answered %+v, want %+v", again, next)
	}
	if got := b.add(next, orders); got != 0 {
		t.Errorf("the next transaction: %v", kerr.ErrorForCode(got))
	}
}

func TestTransactionTimesOutByTheClock(t *testing.T) {
	b := newBench(t)
	p := b.init(-1, -1)
	b.add(p, orders)
	b.world.RunFor(59 * time.Second)
	b.c.AbortTimedOut()
	b.commit()
	b.state(Ongoing)
	b.world.RunFor(2 * time.Second)
	b.c.AbortTimedOut()
	b.commit()
	b.state(PrepareAbort)
	b.mark()
	b.state(CompleteAbort)
	code(t, b.end(p, true, VersionEpochBumps).Code, kerr.InvalidTxnState)
}

func TestUnusedTransactionalIDIsForgotten(t *testing.T) {
	b := newBench(t)
	b.init(-1, -1)
	b.world.RunFor(7*24*time.Hour - time.Minute)
	b.c.Expire()
	b.commit()
	b.state(Empty)
	b.world.RunFor(2 * time.Minute)
	b.c.Expire()
	b.commit()
	if _, known := b.c.Describe("tx"); known {
		t.Error("the id is still there")
	}
	if last := b.log[len(b.log)-1]; last.Value != nil {
		t.Error("no tombstone was written")
	}
}

func TestRefusedRecordLeavesTheIDAsItWas(t *testing.T) {
	b := newBench(t)
	p := b.init(-1, -1)
	b.refuses = kerr.CoordinatorNotAvailable.Code
	code(t, b.add(p, orders), kerr.CoordinatorNotAvailable)
	b.refuses = 0
	if got := b.add(p, orders); got != 0 {
		t.Error(kerr.ErrorForCode(got))
	}
}
