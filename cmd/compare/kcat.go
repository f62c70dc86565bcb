package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

// kcatChecks let librdkafka's command-line client in.
var kcatChecks = []check{
	{"kcat-list", listWithKcat},
	{"kcat-none", func(ctx context.Context, l *lab) error { return throughKcat(ctx, l, "none") }},
	{"kcat-gzip", func(ctx context.Context, l *lab) error { return throughKcat(ctx, l, "gzip") }},
	{"kcat-snappy", func(ctx context.Context, l *lab) error { return throughKcat(ctx, l, "snappy") }},
	{"kcat-lz4", func(ctx context.Context, l *lab) error { return throughKcat(ctx, l, "lz4") }},
	{"kcat-zstd", func(ctx context.Context, l *lab) error { return throughKcat(ctx, l, "zstd") }},
}

func listWithKcat(ctx context.Context, l *lab) error {
	out, err := run(ctx, "", "kcat", "-b", l.server.bootstrap(), "-L")
	if err != nil {
		return err
	}
	for _, id := range []string{"1", "2", "3"} {
		line := regexp.MustCompile(`broker ` + id + ` at ` + regexp.QuoteMeta(l.server.Brokers[id]))
		if !line.MatchString(out) {
			return fmt.Errorf("broker %s is missing in\n%s", id, tail(out))
		}
	}
	if !strings.Contains(out, " 3 brokers:") {
		return fmt.Errorf("not three brokers:\n%s", tail(out))
	}
	return nil
}

// throughKcat produces a file line by line with acks=all, idempotently, and reads it back. All
// lines go into one partition, so that their order is comparable.
func throughKcat(ctx context.Context, l *lab, codec string) error {
	topic := "k-" + codec
	if _, err := l.tool(ctx, "", "topics", "--create", "--topic", topic, "--partitions", "1",
		"--replication-factor", "3", "--config", "min.insync.replicas=2",
		"--config", "segment.bytes=1048576"); err != nil {
		return err
	}
	file := lines(l.records)
	at := l.server.bootstrap()
	if _, err := run(ctx, file, "kcat", "-b", at, "-P", "-t", topic, "-p", "0", "-z", codec,
		"-X", "acks=all", "-X", "enable.idempotence=true",
		// Batches of a few dozen KiB give the indexes many entries to be checked.
		"-X", "batch.num.messages=400"); err != nil {
		return err
	}
	back, err := run(ctx, "", "kcat", "-b", at, "-C", "-t", topic, "-p", "0", "-o", "beginning",
		"-e", "-q", "-X", "check.crcs=true")
	if err != nil {
		return err
	}
	if sha256.Sum256([]byte(back)) != sha256.Sum256([]byte(file)) {
		return fmt.Errorf("%d bytes were written, %d read, and they are not the same",
			len(file), len(back))
	}
	return nil
}

// lines are the same pseudo-random words in every run: some compress well, some do not.
func lines(n int) string {
	dice := rand.New(rand.NewPCG(4, 4))
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "record %d of the file, worth %x", i, dice.Uint64())
		for range dice.IntN(8) {
			b.WriteString(" and then some more of the same")
		}
		b.WriteByte('\n')
	}
	return b.String()
}
