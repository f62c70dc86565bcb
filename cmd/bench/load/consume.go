package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// preload fills a topic and returns how many records went in.
func preload(ctx context.Context, c *config, topic string) (int, error) {
	cl, err := c.client(
		kgo.DefaultProduceTopic(topic),
		kgo.ProducerLinger(5*time.Millisecond),
		kgo.ProducerBatchMaxBytes(64<<10),
		kgo.MaxBufferedRecords(20_000),
		kgo.RecordPartitioner(kgo.UniformBytesPartitioner(64<<10, false, false, nil)),
	)
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	return pump(ctx, cl, payload(c.size), c.records, 2*c.maxTime)
}

// consume reads a preloaded topic from its beginning.
func consume(ctx context.Context, c *config) (*result, error) {
	r := &result{}
	err := withTopic(ctx, c, func(topic string, rf int) error {
		want, err := preload(ctx, c, topic)
		if err != nil {
			return fmt.Errorf("preload: %w", err)
		}
		cl, err := c.client(
			kgo.ConsumeTopics(topic),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.FetchMaxWait(500*time.Millisecond),
		)
		if err != nil {
			return err
		}
		defer cl.Close()
		tctx, cancel := context.WithTimeout(ctx, 2*c.maxTime)
		defer cancel()
		cpu, err := c.beginTimed()
		if err != nil {
			return err
		}
		start := time.Now()
		got, bytes, polls := 0, 0, 0
		for got < want {
			fs := cl.PollFetches(tctx)
			if err := fs.Err0(); err != nil && errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("got %d of %d records in time", got, want)
			}
			for _, e := range fs.Errors() {
				return e.Err
			}
			polls++
			fs.EachPartition(func(p kgo.FetchTopicPartition) {
				got += len(p.Records)
				for _, rec := range p.Records {
					bytes += len(rec.Value)
				}
			})
		}
		d := time.Since(start)
		if bytes != got*c.size {
			return fmt.Errorf("%d bytes in %d records of %d", bytes, got, c.size)
		}
		throughput(r, c, rf, got, d)
		r.add("records_per_poll", float64(got)/float64(max(polls, 1)))
		cpu.add(r, got)
		return nil
	})
	return r, err
}

// endToEnd measures, at a steady rate, how long after a record was due a
// consumer that waits at the end of the log has it.
func endToEnd(ctx context.Context, c *config) (*result, error) {
	r := &result{}
	err := withTopic(ctx, c, func(topic string, rf int) error {
		prod, err := c.client(
			kgo.DefaultProduceTopic(topic),
			kgo.ProducerLinger(0),
			kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		)
		if err != nil {
			return err
		}
		defer prod.Close()
		cons, err := c.client(
			kgo.ConsumeTopics(topic),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.FetchMaxWait(500*time.Millisecond),
			kgo.FetchMinBytes(1),
		)
		if err != nil {
			return err
		}
		defer cons.Close()

		size := max(c.size, 16)
		base := time.Now()
		value := func(at time.Time) []byte {
			b := make([]byte, size)
			binary.BigEndian.PutUint64(b, uint64(at.Sub(base)))
			return b
		}
		warmN := 20
		for range warmN {
			if err := prod.ProduceSync(ctx, &kgo.Record{Value: value(base)}).FirstErr(); err != nil {
				return err
			}
		}
		n := int(float64(c.e2eRate) * c.steady.Seconds())
		l := newLats(n)
		tctx, cancel := context.WithTimeout(ctx, c.steady+20*time.Second)
		defer cancel()
		warmed := make(chan struct{})
		done := make(chan error, 1)
		go func() {
			seen := 0
			for seen < n+warmN {
				fs := cons.PollFetches(tctx)
				now := time.Now()
				if tctx.Err() != nil {
					done <- fmt.Errorf("saw %d of %d records in time", seen-warmN, n)
					return
				}
				for _, e := range fs.Errors() {
					done <- e.Err
					return
				}
				fs.EachRecord(func(rec *kgo.Record) {
					if seen++; seen <= warmN {
						if seen == warmN {
							close(warmed)
						}
						return
					}
					l.add(now.Sub(base) - time.Duration(binary.BigEndian.Uint64(rec.Value)))
				})
			}
			done <- nil
		}()
		select {
		case <-warmed:
		case err := <-done:
			return err
		}
		cpu, err := c.beginTimed()
		if err != nil {
			return err
		}
		late := pace(c.e2eRate, c.steady, func(_ int, due time.Time) {
			prod.Produce(ctx, &kgo.Record{Value: value(due)}, nil)
		})
		if err := <-done; err != nil {
			return err
		}
		l.report(r, "")
		late.report(r, "pacer_late_")
		cpu.add(r, n)
		return nil
	})
	return r, err
}

// transactions commits one transaction after another.
func transactions(ctx context.Context, c *config) (*result, error) {
	r := &result{}
	err := withTopic(ctx, c, func(topic string, rf int) error {
		cl, err := c.client(
			kgo.DefaultProduceTopic(topic),
			kgo.TransactionalID("txn-"+topic),
			kgo.ProducerLinger(0),
			kgo.MaxBufferedRecords(max(10_000, 2*c.txnRecords)),
		)
		if err != nil {
			return err
		}
		defer cl.Close()
		value := payload(c.size)
		one := func() error {
			if err := cl.BeginTransaction(); err != nil {
				return err
			}
			n, err := pump(ctx, cl, value, c.txnRecords, c.maxTime)
			if err == nil && n != c.txnRecords {
				err = fmt.Errorf("%d of %d records in time", n, c.txnRecords)
			}
			if err != nil {
				_ = cl.EndTransaction(ctx, kgo.TryAbort)
				return err
			}
			return cl.EndTransaction(ctx, kgo.TryCommit)
		}
		for range 3 { // coordinator, producer id, first registration
			if err := one(); err != nil {
				return err
			}
		}
		most := max(1, c.records/c.txnRecords)
		l := newLats(most)
		cpu, err := c.beginTimed()
		if err != nil {
			return err
		}
		start := time.Now()
		txns := 0
		for txns < most && time.Since(start) < c.txnMaxTime {
			t := time.Now()
			if err := one(); err != nil {
				return err
			}
			l.add(time.Since(t))
			txns++
		}
		d := time.Since(start)
		throughput(r, c, rf, txns*c.txnRecords, d)
		r.add("txns_per_s", float64(txns)/d.Seconds())
		cpu.add(r, txns*c.txnRecords)
		l.report(r, "txn_")
		return nil
	})
	return r, err
}
