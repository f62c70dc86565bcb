package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// batchHook counts what the client really put on the wire.
type batchHook struct{ batches, records, bytes atomic.Int64 }

func (h *batchHook) OnProduceBatchWritten(
	_ kgo.BrokerMetadata,
	_ string,
	_ int32,
	m kgo.ProduceBatchMetrics,
) {
	h.batches.Add(1)
	h.records.Add(int64(m.NumRecords))
	h.bytes.Add(int64(m.CompressedBytes))
}

func (c *config) client(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(c.brokers...),
		kgo.ProducerBatchCompression(c.codec()),
		kgo.RecordDeliveryTimeout(30 * time.Second),
	}, opts...)...)
}

func throughput(r *result, c *config, rf, n int, d time.Duration) {
	r.add("records_per_s", float64(n)/d.Seconds())
	r.add("mb_per_s", float64(n)*float64(c.size)/1e6/d.Seconds())
	if rf > 0 {
		r.add("rf", float64(rf))
	}
}

// produceBatched measures asynchronous production: one goroutine produces as
// fast as the client's buffer allows.
func produceBatched(
	ctx context.Context,
	c *config,
	batch int,
	linger time.Duration,
	buffered int,
) (*result, error) {
	r := &result{}
	err := withTopic(ctx, c, func(topic string, rf int) error {
		h := &batchHook{}
		cl, err := c.client(
			kgo.DefaultProduceTopic(topic),
			kgo.RequiredAcks(kgo.AllISRAcks()),
			kgo.ProducerLinger(linger),
			kgo.ProducerBatchMaxBytes(int32(batch)),
			kgo.MaxBufferedRecords(buffered),
			kgo.RecordPartitioner(kgo.UniformBytesPartitioner(batch, false, false, nil)),
			kgo.WithHooks(h),
		)
		if err != nil {
			return err
		}
		defer cl.Close()
		value := payload(c.size)
		if err := warm(ctx, cl, value); err != nil {
			return err
		}
		h.batches.Store(0)
		h.records.Store(0)
		h.bytes.Store(0)
		cpu, err := c.beginTimed()
		if err != nil {
			return err
		}
		start := time.Now()
		n, err := pump(ctx, cl, value, c.records, c.maxTime)
		d := time.Since(start)
		if err != nil {
			return err
		}
		throughput(r, c, rf, n, d)
		r.add("records_per_batch", float64(h.records.Load())/float64(max(h.batches.Load(), 1)))
		cpu.add(r, n)
		return nil
	})
	return r, err
}

func warm(ctx context.Context, cl *kgo.Client, value []byte) error {
	for range 20 {
		if err := cl.ProduceSync(ctx, &kgo.Record{Value: value}).FirstErr(); err != nil {
			return err
		}
	}
	return nil
}

// pump produces up to n records or until the time is up, waits for every
// acknowledgement, and returns how many there were. Records are reused.
func pump(
	ctx context.Context,
	cl *kgo.Client,
	value []byte,
	n int,
	most time.Duration,
) (int, error) {
	var acked atomic.Int64
	var firstErr atomic.Pointer[error]
	pool := sync.Pool{New: func() any { return new(kgo.Record) }}
	promise := func(rec *kgo.Record, err error) {
		if err != nil {
			firstErr.CompareAndSwap(nil, &err)
		} else {
			acked.Add(1)
		}
		pool.Put(rec)
	}
	deadline := time.Now().Add(most)
	for i := range n {
		if i&1023 == 0 && (time.Now().After(deadline) || firstErr.Load() != nil) {
			break
		}
		rec := pool.Get().(*kgo.Record)
		*rec = kgo.Record{Value: value}
		cl.Produce(ctx, rec, promise)
	}
	if err := cl.Flush(ctx); err != nil {
		return 0, err
	}
	if p := firstErr.Load(); p != nil {
		return 0, *p
	}
	return int(acked.Load()), nil
}

// produceUnbatched sends every record in a batch of its own: each client has
// one worker a partition, each worker waits for its record's acknowledgement.
func produceUnbatched(ctx context.Context, c *config, clients int) (*result, error) {
	r := &result{}
	err := withTopic(ctx, c, func(topic string, rf int) error {
		h := &batchHook{}
		value := payload(c.size)
		var cls []*kgo.Client
		defer func() {
			for _, cl := range cls {
				cl.Close()
			}
		}()
		for range clients {
			cl, err := c.client(
				kgo.DefaultProduceTopic(topic),
				kgo.RequiredAcks(kgo.AllISRAcks()),
				kgo.ProducerLinger(0),
				kgo.RecordPartitioner(kgo.ManualPartitioner()),
				kgo.WithHooks(h),
			)
			if err != nil {
				return err
			}
			cls = append(cls, cl)
			for p := range c.partitions {
				if err := cl.ProduceSync(ctx, &kgo.Record{Value: value, Partition: int32(p)}).FirstErr(); err != nil {
					return err
				}
			}
		}
		h.batches.Store(0)
		h.records.Store(0)
		var next, acked atomic.Int64
		var wg sync.WaitGroup
		errs := make(chan error, clients*c.partitions)
		l := newLats(c.smallRecs)
		cpu, err := c.beginTimed()
		if err != nil {
			return err
		}
		start := time.Now()
		deadline := start.Add(c.maxTime)
		for _, cl := range cls {
			for p := range c.partitions {
				wg.Go(func() {
					rec := new(kgo.Record)
					done := make(chan error, 1)
					promise := func(_ *kgo.Record, err error) { done <- err }
					for next.Add(1) <= int64(c.smallRecs) {
						t := time.Now()
						if t.After(deadline) {
							return
						}
						*rec = kgo.Record{Value: value, Partition: int32(p)}
						cl.Produce(ctx, rec, promise)
						if err := <-done; err != nil {
							errs <- err
							return
						}
						l.add(time.Since(t))
						acked.Add(1)
					}
				})
			}
		}
		wg.Wait()
		d := time.Since(start)
		select {
		case err := <-errs:
			return err
		default:
		}
		throughput(r, c, rf, int(acked.Load()), d)
		r.add("records_per_batch", float64(h.records.Load())/float64(max(h.batches.Load(), 1)))
		cpu.add(r, int(acked.Load()))
		l.report(r, "rtt_")
		return nil
	})
	return r, err
}

// latency measures, at a steady open-loop rate, how long after a record was
// due its promise is called.
func latency(ctx context.Context, c *config, acks kgo.Acks) (*result, error) {
	r := &result{}
	err := withTopic(ctx, c, func(topic string, rf int) error {
		h := &batchHook{}
		cl, err := c.client(
			kgo.DefaultProduceTopic(topic),
			kgo.RequiredAcks(acks),
			kgo.DisableIdempotentWrite(),
			kgo.MaxProduceRequestsInflightPerBroker(5),
			kgo.ProducerLinger(0),
			kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
			kgo.WithHooks(h),
		)
		if err != nil {
			return err
		}
		defer cl.Close()
		value := payload(c.size)
		if err := warm(ctx, cl, value); err != nil {
			return err
		}
		h.batches.Store(0)
		h.records.Store(0)
		n := int(float64(c.latRate) * c.steady.Seconds())
		l := newLats(n)
		var failed atomic.Int64
		cpu, err := c.beginTimed()
		if err != nil {
			return err
		}
		late := pace(c.latRate, c.steady, func(_ int, due time.Time) {
			cl.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
				if err != nil {
					failed.Add(1)
					return
				}
				l.add(time.Since(due))
			})
		})
		if err := cl.Flush(ctx); err != nil {
			return err
		}
		if f := failed.Load(); f > 0 {
			return fmt.Errorf("%d records failed", f)
		}
		l.report(r, "")
		late.report(r, "pacer_late_")
		r.add("records_per_batch", float64(h.records.Load())/float64(max(h.batches.Load(), 1)))
		cpu.add(r, n)
		return nil
	})
	return r, err
}
