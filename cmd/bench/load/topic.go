package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var topicSeq atomic.Int64

// withTopic makes a fresh topic, calls f with its name and the replication
// factor it got, and deletes it again.
func withTopic(ctx context.Context, c *config, f func(topic string, rf int) error) error {
	admin, err := kgo.NewClient(kgo.SeedBrokers(c.brokers...))
	if err != nil {
		return err
	}
	defer admin.Close()
	name := fmt.Sprintf("bench-%d-%d", time.Now().UnixNano(), topicSeq.Add(1))
	rf := c.rf
	err = createTopic(ctx, admin, name, c.partitions, rf)
	if errors.Is(err, kerr.InvalidReplicationFactor) || errors.Is(err, kerr.InvalidRequest) {
		rf = 1
		err = createTopic(ctx, admin, name, c.partitions, rf)
	}
	if err != nil {
		return fmt.Errorf("create topic: %w", err)
	}
	if err := awaitLeaders(ctx, admin, name, c.partitions); err != nil {
		return err
	}
	if !c.keep {
		defer func() {
			dctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			req := kmsg.NewPtrDeleteTopicsRequest()
			t := kmsg.NewDeleteTopicsRequestTopic()
			t.Topic = kmsg.StringPtr(name)
			req.Topics = append(req.Topics, t)
			req.TopicNames = []string{name}
			req.TimeoutMillis = 5000
			_, _ = req.RequestWith(dctx, admin)
		}()
	}
	return f(name, rf)
}

func createTopic(ctx context.Context, cl *kgo.Client, name string, partitions, rf int) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 10_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic = name
	t.NumPartitions = int32(partitions)
	t.ReplicationFactor = int16(rf)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return err
		}
	}
	return nil
}

// awaitLeaders waits, at most 15 s, until every partition has a leader.
func awaitLeaders(ctx context.Context, cl *kgo.Client, name string, partitions int) error {
	deadline := time.Now().Add(15 * time.Second)
	for {
		_, leaders, err := leadersOf(ctx, cl, name)
		if err == nil && len(leaders) == partitions {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf(
				"topic %s has %d of %d leaders after 15s: %v",
				name,
				len(leaders),
				partitions,
				err,
			)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// leadersOf returns each broker's address and each partition's leader.
func leadersOf(
	ctx context.Context,
	cl *kgo.Client,
	name string,
) (map[int32]string, map[int32]int32, error) {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(name)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return nil, nil, err
	}
	addrs := map[int32]string{}
	for _, b := range resp.Brokers {
		addrs[b.NodeID] = net.JoinHostPort(b.Host, fmt.Sprint(b.Port))
	}
	leaders := map[int32]int32{}
	for _, t := range resp.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return addrs, leaders, err
		}
		for _, p := range t.Partitions {
			if p.ErrorCode == 0 && p.Leader >= 0 {
				leaders[p.Partition] = p.Leader
			}
		}
	}
	return addrs, leaders, nil
}

// payload returns n bytes that do not compress to nothing.
func payload(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('!' + r.IntN(90))
	}
	return b
}

func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
