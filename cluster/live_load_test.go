package cluster

import (
	"bytes"
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"highwater/cluster/event"
	"highwater/cluster/record"
)

// batchesBelowHighWatermark is what one replica holds and knows to be committed.
func batchesBelowHighWatermark(c *Cluster, id event.NodeID, topic string, p int32) (
	[]byte, error) {
	replica := c.Broker(id).Partition(topic, p)
	var all []byte
	_, err := replica.Log.ReadAll(replica.Log.LogStartOffset(), 1<<30, replica.HighWatermark(),
		func(_ record.Header, batch []byte) error {
			all = append(all, batch...)
			return nil
		})
	return all, err
}

// liveLoad is an idempotent producer with acks=all that sends numbered records, in order for each
// partition, until it is stopped.
type liveLoad struct {
	l      *liveCluster
	topic  string
	stop   context.CancelFunc
	done   chan struct{}
	mu     sync.Mutex
	acked  map[int32]map[int64]string // by offset
	counts map[int32]int
	sent   int
	failed error
}

// load starts producing to the partitions of a topic, pausing between records.
func (l *liveCluster) load(topic string, partitions int, pause time.Duration) *liveLoad {
	ctx, stop := context.WithCancel(context.Background())
	p := &liveLoad{l: l, topic: topic, stop: stop, done: make(chan struct{}),
		acked: map[int32]map[int64]string{}, counts: map[int32]int{}}
	client := l.client(kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerLinger(0),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RecordRetries(1<<30),
		kgo.RecordDeliveryTimeout(240*time.Second), kgo.RequestTimeoutOverhead(5*time.Second))
	go p.run(ctx, client, partitions, pause)
	l.t.Cleanup(stop)
	return p
}

func (p *liveLoad) run(ctx context.Context, client *kgo.Client, partitions int,
	pause time.Duration) {
	defer close(p.done)
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		value := strconv.Itoa(i)
		p.mu.Lock()
		p.sent++
		p.mu.Unlock()
		r := &kgo.Record{Topic: p.topic, Partition: int32(i % partitions), Value: []byte(value)}
		client.Produce(context.Background(), r, func(r *kgo.Record, err error) {
			p.acknowledged(r, value, err)
		})
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	limit, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if err := client.Flush(limit); err != nil {
		p.mu.Lock()
		p.failed = err
		p.mu.Unlock()
	}
	client.Close()
}

func (p *liveLoad) acknowledged(r *kgo.Record, value string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.failed = err
		return
	}
	offsets := p.acked[r.Partition]
	if offsets == nil {
		offsets = map[int64]string{}
		p.acked[r.Partition] = offsets
	}
	if before, taken := offsets[r.Offset]; taken {
		p.l.t.Errorf("offset %d of %s-%d acknowledged for %s and %s", r.Offset, p.topic,
			r.Partition, before, value)
	}
	offsets[r.Offset] = value
	p.counts[r.Partition]++
}

func (p *liveLoad) total() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, count := range p.counts {
		n += count
	}
	return n
}

// progress waits until n more records are acknowledged.
func (p *liveLoad) progress(n int) {
	p.l.t.Helper()
	before := p.total()
	p.l.await("progress of the load", 60*time.Second, func() bool { return p.total() >= before+n })
}

// check ends the load and holds what a consumer reads against what was acknowledged: nothing
// missing, nothing twice, order kept.
func (p *liveLoad) check(ctx context.Context, partitions int) {
	t := p.l.t
	t.Helper()
	p.stop()
	select {
	case <-p.done:
	case <-ctx.Done():
		t.Fatal("the producer does not end")
	}
	if p.failed != nil {
		t.Fatalf("a record was given up: %v", p.failed)
	}
	if p.total() != p.sent {
		t.Fatalf("%d of %d records were acknowledged", p.total(), p.sent)
	}
	p.l.level(p.topic)
	got := p.l.consume(ctx, p.topic, p.sent)
	for partition := range int32(partitions) {
		records := got[partition]
		if len(records) != p.counts[partition] {
			t.Errorf("%s-%d holds %d records, acknowledged were %d", p.topic, partition,
				len(records), p.counts[partition])
		}
		for i, r := range records {
			want := strconv.Itoa(i*partitions + int(partition))
			if string(r.Value) != want || p.acked[partition][r.Offset] != want {
				t.Fatalf("%s-%d at %d holds %s, acknowledged was %q, sent was %s", p.topic,
					partition, i, r.Value, p.acked[partition][r.Offset], want)
			}
		}
	}
	p.l.equalReplicas(p.topic)
}

func TestIdempotentProducerSeesNoLossAndNoDuplicateWhenLeadersDie(t *testing.T) {
	l := startLive(t, Config{Seed: 21, DataDir: t.TempDir()})
	ctx := within(t, 240*time.Second)
	l.topic(ctx, "orders", 3)
	l.level("orders")
	load := l.load("orders", 3, time.Millisecond)
	rounds := 6
	if testing.Short() {
		rounds = 3
	}
	for i := range rounds {
		load.progress(200)
		l.killAndRestart("orders", int32(i%3), i%2 == 1)
	}
	load.progress(200)
	load.check(ctx, 3)
}

// killAndRestart ends the leader of a partition, and starts it again one second later, which is
// inside its session. It waits until every replica is in sync first: Kafka promises to survive one
// broker at a time, and a power cut of the only replica in sync loses what it had acknowledged.
func (l *liveCluster) killAndRestart(topic string, p int32, power bool) {
	l.t.Helper()
	leader := event.NoNode
	l.await("a leader and every replica in sync", 60*time.Second, func() bool {
		for each := range int32(l.c.PartitionCount(topic)) {
			if isr, _ := l.c.Isr(topic, each); len(isr) != len(l.c.Brokers()) {
				return false
			}
		}
		leader, _ = l.c.Leader(topic, p)
		return leader != event.NoNode && l.c.Alive(leader)
	})
	l.do("", func() {
		err := error(nil)
		if power {
			err = l.c.PowerCut(leader)
		} else {
			err = l.c.Kill(leader)
		}
		if err != nil {
			l.t.Error(err)
		}
	})
	wait(time.Second)
	l.do("", func() {
		if err := l.c.Restart(leader); err != nil {
			l.t.Error(err)
		}
	})
}

func TestConsumerSeesNoGapWhileLeadersDie(t *testing.T) {
	l := startLive(t, Config{Seed: 22, DataDir: t.TempDir()})
	ctx := within(t, 240*time.Second)
	l.topic(ctx, "orders", 1)
	l.level("orders")
	client := l.client(kgo.ConsumeTopics("orders"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	seen := make(chan []byte, 1<<16)
	polling, stop := context.WithCancel(ctx)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		next := int64(0)
		for polling.Err() == nil {
			client.PollFetches(polling).EachRecord(func(r *kgo.Record) {
				if r.Offset != next {
					t.Errorf("offset %d came, %d was due", r.Offset, next)
				}
				next = r.Offset + 1
				seen <- bytes.Clone(r.Value)
			})
		}
	}()
	load := l.load("orders", 1, time.Millisecond)
	for i := range 3 {
		load.progress(100)
		l.killAndRestart("orders", 0, i%2 == 0)
	}
	load.progress(100)
	load.check(ctx, 1)
	for i := range load.sent {
		select {
		case value := <-seen:
			if string(value) != strconv.Itoa(i) {
				t.Fatalf("record %d reads %s", i, value)
			}
		case <-ctx.Done():
			t.Fatalf("the consumer saw %d of %d records", i, load.sent)
		}
	}
	stop()
	<-finished
}
