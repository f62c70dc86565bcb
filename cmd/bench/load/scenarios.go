package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// scenarios are what can be measured; a name's first word is its group.
func scenarios() []scenario {
	batched := func(batch int, linger time.Duration, buffered int) func(context.Context, *config) (*result, error) {
		return func(ctx context.Context, c *config) (*result, error) {
			return produceBatched(ctx, c, batch, linger, buffered)
		}
	}
	return []scenario{
		{
			"produce-nobatch-1",
			"acks=all, 1 record a batch, 1 in flight a partition",
			func(ctx context.Context, c *config) (*result, error) { return produceUnbatched(ctx, c, 1) },
		},
		{
			"produce-nobatch-5",
			"acks=all, 1 record a batch, 5 in flight a partition (5 clients)",
			func(ctx context.Context, c *config) (*result, error) { return produceUnbatched(ctx, c, 5) },
		},
		{
			"produce-linger0",
			"acks=all, linger 0, client's default batch limit (1 MB)",
			batched(1_000_012, 0, 10_000),
		},
		{
			"produce-16k-5ms",
			"acks=all, linger 5 ms, 16 KiB batches",
			batched(16<<10, 5*time.Millisecond, 10_000),
		},
		{
			"produce-64k",
			"acks=all, linger 5 ms, 64 KiB batches",
			batched(64<<10, 5*time.Millisecond, 20_000),
		},
		{
			"produce-1m",
			"acks=all, linger 50 ms, 1 MB batches",
			batched(1_000_012, 50*time.Millisecond, 200_000),
		},
		{
			"latency-acks0",
			"steady rate, acks=0: call to promise",
			func(ctx context.Context, c *config) (*result, error) { return latency(ctx, c, kgo.NoAck()) },
		},
		{
			"latency-acks1",
			"steady rate, acks=1",
			func(ctx context.Context, c *config) (*result, error) { return latency(ctx, c, kgo.LeaderAck()) },
		},
		{
			"latency-all",
			"steady rate, acks=all",
			func(ctx context.Context, c *config) (*result, error) { return latency(ctx, c, kgo.AllISRAcks()) },
		},
		{"consume", "consume from the beginning, franz-go", consume},
		{"e2e", "steady rate, acks=all: produce call to consumer's poll", endToEnd},
		{"txn", "transactions of -txn-records records, acks=all", transactions},
		{
			"raw-produce-1",
			"pre-encoded frames, 1 record a batch, 1 in flight a broker",
			func(ctx context.Context, c *config) (*result, error) { return rawProduce(ctx, c, 0, 1) },
		},
		{
			"raw-produce-1x5",
			"pre-encoded frames, 1 record a batch, 5 in flight a broker",
			func(ctx context.Context, c *config) (*result, error) { return rawProduce(ctx, c, 0, 5) },
		},
		{
			"raw-produce-16k",
			"pre-encoded frames, 16 KiB batches, 5 in flight a broker",
			func(ctx context.Context, c *config) (*result, error) { return rawProduce(ctx, c, 16<<10, 5) },
		},
		{
			"raw-produce-64k",
			"pre-encoded frames, 64 KiB batches, 5 in flight a broker",
			func(ctx context.Context, c *config) (*result, error) { return rawProduce(ctx, c, 64<<10, 5) },
		},
		{
			"raw-produce-1m",
			"pre-encoded frames, 1 MB batches, 5 in flight a broker",
			func(ctx context.Context, c *config) (*result, error) { return rawProduce(ctx, c, 1_000_000, 5) },
		},
		{"raw-fetch", "fetch from the beginning, batches counted, records not decoded", rawFetch},
	}
}
