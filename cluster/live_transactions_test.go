package cluster

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// committed reads with read_committed until n records came, and a moment longer for what should not
// come.
func (l *liveCluster) committed(ctx context.Context, topic string, n int) (values []string) {
	l.t.Helper()
	consumer := l.client(kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer consumer.Close()
	limit := ctx
	for ctx.Err() == nil {
		if len(values) >= n {
			short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			defer cancel()
			limit = short
		}
		before := len(values)
		consumer.PollFetches(limit).EachRecord(func(r *kgo.Record) {
			values = append(values, string(r.Value))
		})
		if limit != ctx && len(values) == before {
			return values
		}
	}
	l.t.Fatalf("%d of %d records of %s came", len(values), n, topic)
	return nil
}

func TestFranzGoTransactionsAreSeenWholeOrNotAtAll(t *testing.T) {
	l := startLive(t, Config{Seed: 31, Settings: txnSettings})
	ctx := within(t, 60*time.Second)
	l.topic(ctx, "txn", 3)
	producer := l.client(kgo.TransactionalID("franz"), kgo.DefaultProduceTopic("txn"))
	var want []string
	for i := range 9 {
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		commit := i%3 != 1
		for j := range 40 {
			value := fmt.Sprintf("%d/%d", i, j)
			producer.Produce(ctx, kgo.StringRecord(value), func(_ *kgo.Record, err error) {
				if err != nil {
					t.Errorf("produce %s: %v", value, err)
				}
			})
			if commit {
				want = append(want, value)
			}
		}
		if err := producer.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		if err := producer.EndTransaction(ctx, kgo.TransactionEndTry(commit)); err != nil {
			t.Fatalf("end of transaction %d: %v", i, err)
		}
	}
	got := l.committed(ctx, "txn", len(want))
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d records are visible, want %d", len(got), len(want))
	}
	l.level("txn")
	l.equalReplicas("txn")
	id, epoch, err := producer.ProducerID(ctx)
	if err != nil || epoch < 9 {
		t.Errorf("producer %d has epoch %d (%v): the epoch is bumped for each transaction", id, epoch,
			err)
	}
}

// A copy from one topic into another: each record once, though the work is thrown away now and then
// and the coordinators' broker dies.
func TestFranzGoReadsProcessesAndWritesExactlyOnce(t *testing.T) {
	l := startLive(t, Config{Seed: 32, Settings: txnSettings})
	ctx := within(t, 120*time.Second)
	l.topic(ctx, "in", 3)
	l.topic(ctx, "out", 3)
	const n = 300
	source := l.client(kgo.DefaultProduceTopic("in"))
	var want []string
	for i := range n {
		value := fmt.Sprintf("order-%d", i)
		want = append(want, value)
		if err := source.ProduceSync(ctx, kgo.StringRecord(value)).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	session := l.session("copy", "in", "out")
	// An answer that got lost leaves open whether its transaction counts: a reader sees.
	reader := l.client(kgo.ConsumeTopics("out"), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	copied := 0
	for round := 1; copied < n && ctx.Err() == nil; round++ {
		if round == 4 {
			l.killCoordinator("copy")
		}
		l.copyOnce(ctx, session, round%4 == 2)
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		copied += len(reader.PollFetches(short).Records())
		cancel()
	}
	got := l.committed(ctx, "out", n)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d records were copied exactly once, want %d", len(slices.Compact(got)), n)
	}
}

// session is a member of a group that writes what it makes of the topic to another one.
func (l *liveCluster) session(id, from, to string) *kgo.GroupTransactSession {
	l.t.Helper()
	s, err := kgo.NewGroupTransactSession(kgo.SeedBrokers(l.seeds()...), kgo.TransactionalID(id),
		kgo.ConsumerGroup(id), kgo.ConsumeTopics(from), kgo.DefaultProduceTopic(to),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(s.Close)
	return s
}

// copyOnce copies what one poll gives in one transaction.
func (l *liveCluster) copyOnce(ctx context.Context, s *kgo.GroupTransactSession, discard bool) {
	l.t.Helper()
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	records := s.PollRecords(short, 40).Records()
	if len(records) == 0 {
		return
	}
	if err := s.Begin(); err != nil {
		l.t.Fatal(err)
	}
	for _, r := range records {
		s.Produce(ctx, kgo.SliceRecord(r.Value), nil) // an error has the transaction aborted
	}
	if _, err := s.End(ctx, kgo.TransactionEndTry(!discard)); err != nil {
		l.t.Logf("end: %v", err)
	}
}
