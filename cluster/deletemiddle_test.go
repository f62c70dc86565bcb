package cluster

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/event"
	"highwater/cluster/record"
)

// produced sends a batch of so many records with acks=all.
func (d *driver) produced(to event.NodeID, topic string, records int) {
	d.t.Helper()
	b := record.NewBuilder()
	for range records {
		b.Add(d.env.UnixMilli(), nil, []byte("x"))
	}
	bytes, err := b.Bytes()
	must(d.t, err)
	facts, invalid := record.Validate(bytes, record.Validation{InflatedMax: 1 << 20})
	request := produceRequest(topic, -1, "", "", 0)
	request.Batches = []broker.Batch{{Buffer: record.Buffer{Bytes: bytes}, Facts: facts, Err: invalid}}
	answer, err := d.ask(to, "Produce", request)
	must(d.t, err)
	if code := answer.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode; code != 0 {
		d.t.Fatalf("produce: error %d", code)
	}
}

// DeleteRecords may take a part of a batch: a follower that begins there is sent the whole batch.
func TestAFollowerBeginsInsideABatch(t *testing.T) {
	c, _ := start(t, Config{Seed: 1, Latency: time.Millisecond})
	d := drive(t, c)
	d.ready()
	d.topic("mid", "2", 1, 2, 3)
	must(t, c.Kill(3))
	d.produced(1, "mid", 30)
	body := kmsg.NewPtrDeleteRecordsRequest()
	body.Version, body.TimeoutMillis = 2, 1000
	body.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "mid",
		Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: 15}}}}
	_, err := d.ask(1, "DeleteRecords", &broker.Request{Key: 21, Version: 2, Body: body})
	must(t, err)
	must(t, c.Restart(3))
	d.until("broker 3 is in sync", time.Minute, func() bool {
		isr, _ := c.Isr("mid", 0)
		return slices.Contains(isr, 3)
	})
	must(t, c.Kill(2))
	d.produced(1, "mid", 1)
	c.World().RunFor(2 * time.Second) // the follower hears of the high watermark
	first, all := contents(t, c, 1, "mid")
	other, same := contents(t, c, 3, "mid")
	if !slices.Equal(all, same) || len(first) != len(other) {
		t.Errorf("broker 3 has %d records, the leader %d", len(other), len(first))
	}
}
