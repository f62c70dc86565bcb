package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/client"
	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/record"
)

// txnSettings keep a test's world small.
var txnSettings = map[string]string{"offsets.topic.num.partitions": "5",
	"transaction.state.log.num.partitions": "5", "group.initial.rebalance.delay.ms": "0"}

// txnProducer is a producer id that speaks for a transactional id, at one broker's leave.
type txnProducer struct {
	d        *driver
	name     string
	id       int64
	epoch    int16
	sequence map[int32]int32 // by partition of the topic
	topic    string
}

// transactional asks for a producer id until the coordinator gives one.
func (d *driver) transactional(name, topic string) *txnProducer {
	d.t.Helper()
	p := &txnProducer{d: d, name: name, topic: topic}
	p.init(60_000)
	return p
}

func (p *txnProducer) init(timeoutMs int32) {
	p.d.t.Helper()
	r := kmsg.NewPtrInitProducerIDRequest()
	r.Version, r.TransactionalID, r.TransactionTimeoutMillis = 4, &p.name, timeoutMs
	r.ProducerID, r.ProducerEpoch = -1, -1
	for range 100 {
		answer := p.askCoordinator(r).(*kmsg.InitProducerIDResponse)
		if answer.ErrorCode == 0 {
			p.id, p.epoch, p.sequence = answer.ProducerID, answer.ProducerEpoch, map[int32]int32{}
			return
		}
		err := kerr.ErrorForCode(answer.ErrorCode)
		if !kerr.IsRetriable(err) && answer.ErrorCode != kerr.ConcurrentTransactions.Code {
			p.d.t.Fatalf("%s: InitProducerId: %v", p.name, err)
		}
		p.d.c.World().RunFor(100 * time.Millisecond)
	}
	p.d.t.Fatalf("%s gets no producer id", p.name)
}

// coordinator looks for who coordinates a transactional id.
func (d *driver) coordinator(name string) event.NodeID {
	d.t.Helper()
	for range 100 {
		r := kmsg.NewPtrFindCoordinatorRequest()
		r.Version, r.CoordinatorType, r.CoordinatorKeys = 4, 1, []string{name}
		for _, id := range d.c.Brokers() {
			if !d.c.Alive(id) {
				continue
			}
			answer, err := d.ask(id, "FindCoordinator", &broker.Request{Key: 10, Version: 4,
				ClientID: "driver", Body: r})
			found, ok := answer.(*kmsg.FindCoordinatorResponse)
			if err == nil && ok && found.Coordinators[0].ErrorCode == 0 {
				return event.NodeID(found.Coordinators[0].NodeID)
			}
		}
		d.c.World().RunFor(100 * time.Millisecond)
	}
	d.t.Fatalf("nobody coordinates %s", name)
	return event.NoNode
}

// askCoordinator sends a request until the coordinator takes it.
func (p *txnProducer) askCoordinator(body kmsg.Request) kmsg.Response {
	p.d.t.Helper()
	for range 100 {
		answer, err := p.d.ask(p.d.coordinator(p.name), kmsg.NameForKey(body.Key()),
			&broker.Request{Key: body.Key(), Version: body.GetVersion(), ClientID: p.name, Body: body})
		if response, ok := answer.(kmsg.Response); err == nil && ok {
			return response
		}
		p.d.c.World().RunFor(100 * time.Millisecond)
	}
	p.d.t.Fatalf("%s is never answered", p.name)
	return nil
}

// transactionalBatch builds a Produce of one batch within a transaction.
func transactionalBatch(name, topic string, partition int32, producer int64, epoch int16,
	sequence int32, timestamp int64, values ...string) *broker.Request {
	b := record.NewBuilder()
	b.Attributes = record.TransactionalBit
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = producer, epoch, sequence
	for _, v := range values {
		b.Add(timestamp, nil, []byte(v))
	}
	bytes, err := b.Bytes()
	if err != nil {
		panic(err)
	}
	facts, invalid := record.Validate(bytes, record.Validation{InflatedMax: 1 << 20})
	r := kmsg.NewPtrProduceRequest()
	r.Version, r.Acks, r.TimeoutMillis, r.TransactionID = 12, -1, 30_000, &name
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	row := kmsg.NewProduceRequestTopicPartition()
	row.Partition, row.Records = partition, bytes
	t.Partitions = append(t.Partitions, row)
	r.Topics = append(r.Topics, t)
	return &broker.Request{Key: 0, Version: 12, ClientID: name, Body: r,
		Batches: []broker.Batch{{Buffer: record.Buffer{Bytes: bytes}, Facts: facts, Err: invalid}}}
}

// send writes values in one batch and gives the code that the partition's leader answers.
func (p *txnProducer) send(partition int32, values ...string) int16 {
	p.d.t.Helper()
	leader, _ := p.d.c.Leader(p.topic, partition)
	answer, err := p.d.ask(leader, "Produce", transactionalBatch(p.name, p.topic, partition, p.id,
		p.epoch, p.sequence[partition], p.d.env.UnixMilli(), values...))
	response, ok := answer.(*kmsg.ProduceResponse)
	if err != nil || !ok {
		p.d.t.Fatalf("%s: Produce: %T, %v", p.name, answer, err)
	}
	code := response.Topics[0].Partitions[0].ErrorCode
	if code == 0 {
		p.sequence[partition] += int32(len(values))
	}
	return code
}

// end ends the transaction and takes over the next one's identity. It waits until the markers are
// written.
func (p *txnProducer) end(commit bool) int16 {
	p.d.t.Helper()
	r := kmsg.NewPtrEndTxnRequest()
	r.Version, r.TransactionalID, r.Commit = 5, p.name, commit
	r.ProducerID, r.ProducerEpoch = p.id, p.epoch
	answer := p.askCoordinator(r).(*kmsg.EndTxnResponse)
	if answer.ErrorCode == 0 {
		p.id, p.epoch, p.sequence = answer.ProducerID, answer.ProducerEpoch, map[int32]int32{}
		p.d.until("complete transaction "+p.name, time.Minute, func() bool {
			state, _ := p.d.c.TransactionState(p.name)
			return state == "CompleteCommit" || state == "CompleteAbort"
		})
	}
	return answer.ErrorCode
}

// visible is what a consumer reads of a partition.
func (d *driver) visible(topic string, partition int32, committed bool) []string {
	d.t.Helper()
	var values []string
	done := false
	d.c.Client().Read(client.ReadRequest{Topic: topic, Partition: partition,
		From: client.FromEarliest, Committed: committed}, func(r client.ReadResult) {
		done = true
		if r.Code != 0 {
			d.t.Fatalf("read %s-%d: %v", topic, partition, kerr.ErrorForCode(r.Code))
		}
		for _, one := range r.Records {
			values = append(values, *one.Value)
		}
	})
	d.until("read", 3*time.Minute, func() bool { return done })
	return values
}

func numbered(n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprint(i)
	}
	return values
}

func startTransactions(t *testing.T, seed uint64) (*driver, *tape) {
	c, s := start(t, Config{Seed: seed, Latency: time.Millisecond, Settings: txnSettings})
	d := drive(t, c)
	d.ready()
	return d, s
}

// Three transactions of 1,001, 1,019 and 980 records: the numbers that the scenario tells.
func TestEachTransactionEndsWithAMarkerOfTheNextEpoch(t *testing.T) {
	d, _ := startTransactions(t, 1)
	d.topic("txn", "2", 1, 2, 3)
	p := d.transactional("perf-tx", "txn")
	for i, n := range []int{1001, 1019, 980} {
		if p.epoch != int16(i) {
			t.Errorf("transaction %d has epoch %d", i, p.epoch)
		}
		if code := p.send(0, numbered(n)...); code != 0 {
			t.Fatal(kerr.ErrorForCode(code))
		}
		if code := p.end(true); code != 0 {
			t.Fatal(kerr.ErrorForCode(code))
		}
	}
	var markers, epochs, markerEpochs []int64
	log := d.c.Broker(1).Partition("txn", 0).Log
	_, err := log.ReadAll(0, 1<<30, log.LogEndOffset(), func(h record.Header, batch []byte) error {
		if !h.Attributes.Control() {
			epochs = append(epochs, int64(h.ProducerEpoch))
			return nil
		}
		markers = append(markers, h.BaseOffset)
		markerEpochs = append(markerEpochs, int64(h.ProducerEpoch))
		if len(batch) != 78 {
			t.Errorf("the marker at %d has %d bytes", h.BaseOffset, len(batch))
		}
		return nil
	})
	must(t, err)
	if want := []int64{1001, 2021, 3002}; !slices.Equal(markers, want) {
		t.Errorf("markers at %v, want %v", markers, want)
	}
	if end := log.LogEndOffset(); end != 3003 {
		t.Errorf("the log ends at %d", end)
	}
	if !slices.Equal(epochs, []int64{0, 1, 2}) || !slices.Equal(markerEpochs, []int64{1, 2, 3}) {
		t.Errorf("epochs of data %v, of markers %v", epochs, markerEpochs)
	}
	d.settled("txn")
	if n := len(d.visible("txn", 0, true)); n != 3000 {
		t.Errorf("read_committed sees %d records", n)
	}
}

func TestMarkerPinsTheLastStableOffsetUntilItIsCommitted(t *testing.T) {
	d, _ := startTransactions(t, 2)
	d.topic("txn", "2", 1, 2, 3)
	p := d.transactional("tx-open", "txn")
	if code := p.send(0, numbered(10)...); code != 0 {
		t.Fatal(kerr.ErrorForCode(code))
	}
	if a, b := d.visible("txn", 0, false), d.visible("txn", 0, true); len(a) != 10 || len(b) != 0 {
		t.Errorf("open: %d and %d records, want 10 and 0", len(a), len(b))
	}
	state, _ := d.c.Broker(1).Partition("txn", 0).Log.Producer(p.id)
	if state.LastSequence != 9 || state.CurrentTxnFirstOffset != 0 || state.CoordinatorEpoch != -1 {
		t.Errorf("the open transaction is described as %+v", state)
	}
	if _, err := d.send(1, "txn", -1, "k", "plain"); err != nil {
		t.Fatal(err)
	}
	if n := len(d.visible("txn", 0, true)); n != 0 {
		t.Errorf("a record behind the open transaction is visible")
	}
	d.c.World().RunFor(40 * time.Second)
	if lso, _ := d.c.LastStableOffset("txn", 0); lso != 0 {
		t.Errorf("the last stable offset is %d", lso)
	}
	if code := p.end(false); code != 0 {
		t.Fatal(kerr.ErrorForCode(code))
	}
	d.settled("txn")
	if end, _ := d.c.LogEndOffset(1, "txn", 0); end != 12 {
		t.Errorf("the log ends at %d", end)
	}
	if got := d.visible("txn", 0, true); !slices.Equal(got, []string{"plain"}) {
		t.Errorf("after the abort read_committed sees %q", got)
	}
	for _, id := range d.c.Brokers() {
		if lso, _ := d.c.LastStableOffsetOn(id, "txn", 0); lso != 12 {
			t.Errorf("broker %d has last stable offset %d", id, lso)
		}
	}
}

func TestTransactionThatIsOpenTooLongIsAborted(t *testing.T) {
	d, _ := startTransactions(t, 3)
	d.topic("txn", "2", 1, 2, 3)
	p := &txnProducer{d: d, name: "tx-late", topic: "txn"}
	p.init(4_000)
	if code := p.send(0, "late"); code != 0 {
		t.Fatal(kerr.ErrorForCode(code))
	}
	d.until("abort by timer", 30*time.Second, func() bool {
		state, _ := d.c.TransactionState("tx-late")
		return state == "CompleteAbort"
	})
	if code := p.end(true); code != kerr.InvalidTxnState.Code {
		t.Errorf("the late commit is answered %v", kerr.ErrorForCode(code))
	}
	if code := p.send(0, "later"); code != kerr.InvalidProducerEpoch.Code {
		t.Errorf("the late record is answered %v", kerr.ErrorForCode(code))
	}
	if got := d.visible("txn", 0, true); len(got) != 0 {
		t.Errorf("read_committed sees %q", got)
	}
}

func TestSecondProducerOfATransactionalIDFencesTheFirst(t *testing.T) {
	d, _ := startTransactions(t, 4)
	d.topic("txn", "2", 1, 2, 3)
	old := d.transactional("tx", "txn")
	if code := old.send(0, "zombie"); code != 0 {
		t.Fatal(kerr.ErrorForCode(code))
	}
	next := d.transactional("tx", "txn")
	if next.id != old.id || next.epoch <= old.epoch {
		t.Errorf("the second producer is %d/%d after %d/%d", next.id, next.epoch, old.id, old.epoch)
	}
	if code := old.send(0, "again"); code != kerr.InvalidProducerEpoch.Code {
		t.Errorf("the zombie's record is answered %v", kerr.ErrorForCode(code))
	}
	if code := old.end(true); code != kerr.ProducerFenced.Code {
		t.Errorf("the zombie's commit is answered %v", kerr.ErrorForCode(code))
	}
	if code := next.send(0, "fresh"); code != 0 {
		t.Fatal(kerr.ErrorForCode(code))
	}
	if code := next.end(true); code != 0 {
		t.Fatal(kerr.ErrorForCode(code))
	}
	if got := d.visible("txn", 0, true); !slices.Equal(got, []string{"fresh"}) {
		t.Errorf("read_committed sees %q", got)
	}
}

func TestTransactionTopicIsCreatedAsKafkaDoes(t *testing.T) {
	c, _ := start(t, Config{Seed: 1})
	d := drive(t, c)
	d.ready()
	d.coordinator("any")
	topic := c.Image().TopicByName("__transaction_state")
	if len(topic.Partitions) != 50 || len(topic.Partitions[0].Replicas) != 3 {
		t.Errorf("%d partitions of %d replicas", len(topic.Partitions),
			len(topic.Partitions[0].Replicas))
	}
	for name, want := range map[string]string{"cleanup.policy": "compact",
		"segment.bytes": "104857600", "compression.type": "uncompressed",
		"min.insync.replicas": "2", "unclean.leader.election.enable": "false"} {
		got, _ := c.Image().ConfigValue(metadata.ResourceTopic, "__transaction_state", name)
		if got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
