package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/viz/audit"
)

// recorder is the sink of a live cluster: it judges every event, counts it, and keeps it when a
// test compares two runs. Only the loop touches it until the cluster is closed.
type recorder struct {
	audit *audit.Auditor
	keep  bool
	lines []string
	// seen counts events by kind.
	seen map[event.Kind]int
	text []byte
}

func newRecorder() *recorder {
	return &recorder{audit: audit.New(), seen: map[event.Kind]int{}}
}

// Publish, of world.Sink.
func (r *recorder) Publish(full *event.Chunk) *event.Chunk {
	r.audit.Chunk(full)
	for i := range full.Records {
		e := &full.Records[i]
		r.seen[e.Kind]++
		if !r.keep {
			continue
		}
		r.text = full.AppendJSON(r.text[:0], e)
		r.lines = append(r.lines, string(r.text))
	}
	full.Reset()
	return full
}

// liveCluster is a cluster that meets the wall clock and listens on free ports.
type liveCluster struct {
	t      *testing.T
	c      *Cluster
	events *recorder
	closed bool
	took   time.Duration // to close
}

var anyPorts = []string{"127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"}

func startLive(t *testing.T, config Config) *liveCluster {
	t.Helper()
	l := &liveCluster{t: t, events: newRecorder()}
	l.events.keep = config.InputLogBytesMax > 0
	config.Live, config.Events, config.PanicThrough = true, l.events, true
	if config.Kafka == nil {
		config.Kafka = anyPorts
	}
	if config.Origin.IsZero() {
		config.Origin = time.Now()
	}
	var err error
	if l.c, err = New(config); err != nil {
		t.Fatal(err)
	}
	if err := l.c.Start(); err != nil {
		t.Fatal(err)
	}
	l.c.Run()
	t.Cleanup(l.close)
	l.await("readiness", 60*time.Second, func() bool { return len(l.c.Ready()) == 0 })
	return l
}

// close stops the cluster and reads the verdict. How long it takes is for one test to judge: on a
// machine that is busy with other things a single sync may take a second.
func (l *liveCluster) close() {
	if l.closed {
		return
	}
	l.closed = true
	began := time.Now()
	if err := l.c.Close(); err != nil {
		l.t.Errorf("close: %v", err)
	}
	l.took = time.Since(began)
	for _, v := range l.events.audit.Violations() {
		l.t.Error(v)
	}
}

// do runs f on the loop; with a text it is part of the session's inputs.
func (l *liveCluster) do(text string, f func()) {
	l.t.Helper()
	if err := l.c.World().Do(text, f); err != nil {
		l.t.Fatal(err)
	}
}

// await looks on the loop, again and again, until condition holds.
func (l *liveCluster) await(what string, limit time.Duration, condition func() bool) {
	l.t.Helper()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for {
		var holds bool
		l.do("", func() { holds = condition() })
		if holds {
			return
		}
		select {
		case <-again.C:
		case <-deadline.C:
			var reasons []string
			l.do("", func() { reasons = l.c.Ready() })
			l.t.Fatalf("no %s after %v %v", what, limit, reasons)
		}
	}
}

// wait lets wall time pass, which is what the test is about.
func wait(d time.Duration) { <-time.After(d) }

func (l *liveCluster) seeds() []string {
	var seeds []string
	for _, id := range l.c.Brokers() {
		seeds = append(seeds, l.c.Addresses()[id])
	}
	return seeds
}

func (l *liveCluster) client(options ...kgo.Opt) *kgo.Client {
	l.t.Helper()
	options = append([]kgo.Opt{kgo.SeedBrokers(l.seeds()...),
		kgo.MetadataMinAge(50 * time.Millisecond), kgo.RetryBackoffFn(func(int) time.Duration {
			return 50 * time.Millisecond
		})}, options...)
	client, err := kgo.NewClient(options...)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(client.Close)
	return client
}

// topic creates a topic of three replicas with min.insync.replicas=2.
func (l *liveCluster) topic(ctx context.Context, name string, partitions int32) {
	l.t.Helper()
	client := l.client()
	defer client.Close()
	two := "2"
	r := kmsg.NewPtrCreateTopicsRequest()
	r.TimeoutMillis = 10_000
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 3
	config := kmsg.NewCreateTopicsRequestTopicConfig()
	config.Name, config.Value = "min.insync.replicas", &two
	topic.Configs = append(topic.Configs, config)
	r.Topics = append(r.Topics, topic)
	response, err := r.RequestWith(ctx, client)
	if err == nil {
		err = kerr.ErrorForCode(response.Topics[0].ErrorCode)
	}
	if err != nil {
		l.t.Fatalf("create topic %s: %v", name, err)
	}
}

func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// consume reads a topic from its start until it has n records or none come within the context. It
// checks that offsets of a partition have no gap.
func (l *liveCluster) consume(ctx context.Context, topic string, n int) map[int32][]*kgo.Record {
	l.t.Helper()
	client := l.client(kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer client.Close()
	got := map[int32][]*kgo.Record{}
	for count := 0; count < n; {
		fetches := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			l.t.Fatalf("consumed %d of %d records of %s: %v", count, n, topic, err)
		}
		fetches.EachError(func(_ string, p int32, err error) {
			if !errors.Is(err, context.Canceled) {
				l.t.Errorf("fetch of %s-%d: %v", topic, p, err)
			}
		})
		fetches.EachRecord(func(r *kgo.Record) {
			if want := int64(len(got[r.Partition])); r.Offset != want {
				l.t.Fatalf("%s-%d: offset %d comes after %d", topic, r.Partition, r.Offset, want-1)
			}
			got[r.Partition] = append(got[r.Partition], r)
			count++
		})
	}
	return got
}

// level waits until all replicas of a topic are in sync and agree on where the log ends.
func (l *liveCluster) level(topic string) {
	l.t.Helper()
	l.await("level replicas of "+topic, 60*time.Second, func() bool {
		for p := range int32(l.c.PartitionCount(topic)) {
			if isr, _ := l.c.Isr(topic, p); len(isr) != 3 {
				return false
			}
			end, _ := l.c.LogEndOffset(1, topic, p)
			for _, id := range l.c.Brokers() {
				hw, _ := l.c.HighWatermarkOn(id, topic, p)
				leo, _ := l.c.LogEndOffset(id, topic, p)
				if hw != end || leo != end {
					return false
				}
			}
		}
		return l.c.PartitionCount(topic) > 0
	})
}

// equalReplicas compares all replicas byte by byte below the high watermark.
func (l *liveCluster) equalReplicas(topic string) {
	l.t.Helper()
	l.do("", func() {
		for p := range int32(l.c.PartitionCount(topic)) {
			var first []byte
			for _, id := range l.c.Brokers() {
				all, err := batchesBelowHighWatermark(l.c, id, topic, p)
				if err != nil {
					l.t.Errorf("read %s-%d of broker %d: %v", topic, p, id, err)
				}
				if first == nil {
					first = all
				} else if !bytes.Equal(first, all) {
					l.t.Errorf("%s-%d of broker %d differs below the high watermark", topic, p, id)
				}
			}
		}
	})
}

// sequence is the n-th record's value: compressible text of changing length.
func sequence(n int) []byte {
	line := fmt.Sprintf("order %d of customer %d: ", n, n*7919%1009)
	return append([]byte(line), bytes.Repeat([]byte("item "), n%37)...)
}

func TestFranzGoReadsBackTheSameBytesInEveryCodec(t *testing.T) {
	l := startLive(t, Config{Seed: 11, DataDir: t.TempDir()})
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	codecs := map[string]kgo.CompressionCodec{"none": kgo.NoCompression(),
		"gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}
	for _, name := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		topic := "codec-" + name
		ctx := within(t, 90*time.Second)
		l.topic(ctx, topic, 3)
		client := l.client(kgo.ProducerBatchCompression(codecs[name]),
			kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		for i := range n {
			r := &kgo.Record{Topic: topic, Partition: int32(i % 3), Value: sequence(i),
				Key:     []byte{byte(i), byte(i >> 8)},
				Headers: []kgo.RecordHeader{{Key: "n", Value: []byte{byte(i % 251)}}}}
			client.Produce(ctx, r, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Errorf("%s: record %d: %v", name, i, err)
				}
			})
		}
		if err := client.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		client.Close()
		for p, records := range l.consume(ctx, topic, n) {
			for i, r := range records {
				at := 3*i + int(p)
				if !bytes.Equal(r.Value, sequence(at)) || len(r.Headers) != 1 ||
					!bytes.Equal(r.Key, []byte{byte(at), byte(at >> 8)}) ||
					!bytes.Equal(r.Headers[0].Value, []byte{byte(at % 251)}) {
					t.Fatalf("%s: %s-%d at %d holds %q", name, topic, p, i, r.Value)
				}
			}
		}
		l.level(topic)
		l.equalReplicas(topic)
	}
	l.close()
	for _, kind := range []event.Kind{event.KindClientConnected, event.KindClientDisconnected} {
		if l.events.seen[kind] == 0 {
			t.Errorf("clients came and went, and no %v tells of it", kind)
		}
	}
}
