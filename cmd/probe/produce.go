package main

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cmd/probe/kit"
)

var produceProbes = []kit.Probe{
	{
		Name:   "produce/versions",
		Intent: "one record at every version",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			for version := int16(3); version <= 13; version++ {
				p.Show(
					fmt.Sprintf("v%d", version),
					p.Broker(0),
					version,
					kit.Produce(topic, 0, -1, p.Values("x")),
				)
			}
			p.Show("fetch", p.Broker(0), 12, kit.Fetch(topic, 0, 0))
		},
	},
	{
		Name:   "produce/acks-one",
		Intent: "acks=1 is answered with the offset",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Show("acks=1", p.Broker(0), 9, kit.Produce(topic, 0, 1, p.Values("x", "y")))
			p.Show("acks=1 again", p.Broker(0), 9, kit.Produce(topic, 0, 1, p.Values("z")))
		},
	},
	{
		Name:   "produce/acks-zero-error",
		Intent: "acks=0 with an error: the broker closes the connection",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			c := p.Dial(0)
			_, _ = c.Send(9, kit.Produce(kit.Topic{Name: p.Name("unknown")}, 0, 0, p.Values("x")))
			p.ShowSilence("unknown topic", c)
			c = p.Dial(1)
			_, _ = c.Send(9, kit.Produce(topic, 0, 0, p.Values("x")))
			p.ShowSilence("not the leader", c)
			c = p.Dial(0)
			broken := p.Values("x")
			broken.BreakCRC = true
			_, _ = c.Send(9, kit.Produce(topic, 0, 0, broken))
			p.ShowSilence("wrong checksum", c)
		},
	},
	{
		Name:   "produce/acks-invalid",
		Intent: "other values of acks: INVALID_REQUIRED_ACKS",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			for _, acks := range []int16{2, -2, 3} {
				p.Show(fmt.Sprint(acks), p.Broker(0), 9, kit.Produce(topic, 0, acks, p.Values("x")))
			}
			p.Note("end", p.HighWatermark(topic.Name, 0))
		},
	},
	{
		Name:   "produce/unknown-topic",
		Intent: "unknown topic and partition by name",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Show(
				"topic",
				p.Broker(0),
				9,
				kit.Produce(kit.Topic{Name: p.Name("unknown")}, 0, -1, p.Values("x")),
			)
			p.Show("partition", p.Broker(0), 9, kit.Produce(topic, 7, -1, p.Values("x")))
			p.Show("negative partition", p.Broker(0), 9, kit.Produce(topic, -1, -1, p.Values("x")))
			p.Show(
				"bad name",
				p.Broker(0),
				9,
				kit.Produce(kit.Topic{Name: "not a name"}, 0, -1, p.Values("x")),
			)
		},
	},
	{
		Name:   "produce/not-replica",
		Intent: "a broker without a replica of the partition",
		Run: func(p *kit.P) {
			topic := p.TopicWithReplicas("a", 1, 1)
			p.Show("v12", p.Broker(1), 12, kit.Produce(topic, 0, -1, p.Values("x")))
		},
	},
	{
		Name:   "produce/internal-topic",
		Intent: "clients may not write to internal topics",
		Run: func(p *kit.P) {
			p.GroupCoordinator(p.Name("group"))
			response := kit.Ask[*kmsg.ProduceResponse](p, p.Broker(0), 9,
				kit.Produce(kit.Topic{Name: "__consumer_offsets"}, 0, -1, p.Values("x")))
			p.NoteError("error", response.Topics[0].Partitions[0].ErrorCode)
		},
	},
	{
		Name:   "produce/wrong-checksum",
		Intent: "CORRUPT_MESSAGE and nothing appended",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			batch := p.Values("x")
			batch.BreakCRC = true
			showRefused(p, topic, "checksum", batch)
		},
	},
	{
		Name:   "produce/wrong-magic",
		Intent: "magic 0, 1 and 3",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			for _, magic := range []int8{0, 1, 3, -1} {
				batch := p.Values("x")
				batch.Magic = magic
				showRefused(p, topic, fmt.Sprintf("magic %d", magic), batch)
			}
		},
	},
	{
		Name:   "produce/base-offset",
		Intent: "a base offset that is not 0",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			batch := p.Values("x")
			batch.BaseOffset = 5
			showRefused(p, topic, "base 5", batch)
		},
	},
	{
		Name:   "produce/leader-epoch",
		Intent: "the leader stamps its own epoch over the client's",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			batch := p.Values("x")
			batch.LeaderEpoch = 77
			p.Show("produce", p.Broker(0), 9, kit.Produce(topic, 0, -1, batch))
			p.Show("fetch", p.Broker(0), 12, kit.Fetch(topic, 0, 0))
		},
	},
	{
		Name:   "produce/count-mismatch",
		Intent: "record count and last offset delta must agree with the records",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			more := p.Values("x", "y")
			more.Count = 3
			showRefused(p, topic, "count 3 of 2", more)
			fewer := p.Values("x", "y")
			fewer.Count = 1
			showRefused(p, topic, "count 1 of 2", fewer)
			delta := p.Values("x", "y")
			delta.LastOffsetDelta = 5
			showRefused(p, topic, "last delta 5", delta)
			both := p.Values("x", "y")
			both.Count, both.LastOffsetDelta = 3, 2
			showRefused(p, topic, "count 3, last delta 2", both)
			negative := p.Values("x")
			negative.Count = -1
			showRefused(p, topic, "count -1", negative)
		},
	},
	{
		Name:   "produce/offset-deltas",
		Intent: "records whose own deltas are not 0, 1, 2",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			batch := p.Values("x", "y")
			batch.OffsetDeltas = []int32{0, 5}
			showRefused(p, topic, "0, 5", batch)
			batch = p.Values("x", "y")
			batch.OffsetDeltas = []int32{1, 0}
			showRefused(p, topic, "1, 0", batch)
		},
	},
	{
		Name:   "produce/empty-batch",
		Intent: "a batch without records",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			batch := p.NewBatch()
			showRefused(p, topic, "count 0, last delta -1", batch)
			batch.LastOffsetDelta = 0
			showRefused(p, topic, "count 0, last delta 0", batch)
		},
	},
	{
		Name:   "produce/no-records",
		Intent: "a partition with no bytes of records",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Show("empty", p.Dial(0), 9, kit.ProduceBytes(topic, 0, -1, []byte{}))
		},
	},
	{
		Name:   "produce/two-batches",
		Intent: "two batches for one partition: INVALID_RECORD",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Show("v9", p.Broker(0), 9, kit.Produce(topic, 0, -1, p.Values("x"), p.Values("y")))
			p.Note("end", p.HighWatermark(topic.Name, 0))
		},
	},
	{
		Name:   "produce/duplicate-partition",
		Intent: "the same partition twice in one request",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			request := kit.Produce(topic, 0, -1, p.Values("x"))
			partitions := kit.Produce(topic, 0, -1, p.Values("y")).Topics[0].Partitions
			request.Topics[0].Partitions = append(request.Topics[0].Partitions, partitions...)
			p.Show("v9", p.Dial(0), 9, request)
			p.Note("end", p.HighWatermark(topic.Name, 0))
		},
	},
	{
		Name:   "produce/partial-failure",
		Intent: "one good and one bad partition in one request",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			request := kit.Produce(topic, 0, -1, p.Values("x"))
			partitions := kit.Produce(topic, 9, -1, p.Values("y")).Topics[0].Partitions
			request.Topics[0].Partitions = append(request.Topics[0].Partitions, partitions...)
			p.Show("v9", p.Broker(0), 9, request)
		},
	},
	{
		Name:   "produce/future-timestamp",
		Intent: "more than an hour ahead: INVALID_TIMESTAMP with the records named",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			batch := p.NewBatch(
				kit.Record{Value: []byte("now")},
				kit.Record{Value: []byte("later"), TimestampMS: 5 * 3600_000},
			)
			showRefused(p, topic, "one of two", batch)
		},
	},
	{
		Name:   "produce/max-timestamp",
		Intent: "the broker corrects a wrong maximum timestamp",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			batch := p.NewBatch(
				kit.Record{Value: []byte("x")},
				kit.Record{Value: []byte("y"), TimestampMS: 5},
			)
			batch.MaxTimestamp = batch.BaseTimestamp + 99
			p.Show("produce", p.Broker(0), 9, kit.Produce(topic, 0, -1, batch))
			p.Show("fetch", p.Broker(0), 12, kit.Fetch(topic, 0, 0))
		},
	},
	{
		Name:   "produce/log-append-time",
		Intent: "message.timestamp.type=LogAppendTime: the broker's time in answer and batch",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1, "message.timestamp.type=LogAppendTime")
			p.Show("produce", p.Broker(0), 9, kit.Produce(topic, 0, -1, p.Values("x")))
			p.Show("fetch", p.Broker(0), 12, kit.Fetch(topic, 0, 0))
		},
	},
	{
		Name:   "produce/too-large",
		Intent: "a batch over max.message.bytes: MESSAGE_TOO_LARGE; exactly at it: fine",
		Run: func(p *kit.P) {
			size := len(p.Values(strings.Repeat("v", 500)).Bytes())
			topic := p.Topic("a", 1, fmt.Sprintf("max.message.bytes=%d", size))
			showRefused(p, topic, "at the limit", p.Values(strings.Repeat("v", 500)))
			showRefused(p, topic, "one more", p.Values(strings.Repeat("v", 501)))
			compressed := p.Values(strings.Repeat("v", 5000))
			compressed.Codec = kgo.CodecGzip
			showRefused(p, topic, "larger, compressed below", compressed)
		},
	},
	{
		Name:   "produce/compacted-null-key",
		Intent: "records without a key on a compacted topic: the batch fails and names them (KIP-467)",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1, "cleanup.policy=compact")
			batch := p.NewBatch(
				kit.Record{Key: []byte("k"), Value: []byte("0")},
				kit.Record{Value: []byte("1")},
				kit.Record{Key: []byte("k"), Value: []byte("2")},
				kit.Record{Value: []byte("3")},
			)
			p.Show("v7", p.Broker(0), 7, kit.Produce(topic, 0, -1, batch))
			showRefused(p, topic, "v8+", batch)
			showRefused(
				p,
				topic,
				"with an empty key",
				p.NewBatch(kit.Record{Key: []byte{}, Value: []byte("x")}),
			)
		},
	},
	{
		Name:   "produce/unknown-codec",
		Intent: "codecs 5 to 7 do not exist",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			for codec := int16(5); codec <= 7; codec++ {
				batch := p.Values("x")
				batch.Attributes = codec
				showRefused(p, topic, fmt.Sprintf("codec %d", codec), batch)
			}
		},
	},
	{
		Name:   "produce/broken-compression",
		Intent: "plain bytes under a codec's flag",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			for codec := int16(1); codec <= 4; codec++ {
				batch := p.Values("not compressed at all")
				batch.Attributes = codec
				showRefused(p, topic, fmt.Sprintf("codec %d", codec), batch)
			}
		},
	},
	{
		Name:   "produce/topic-codec",
		Intent: "compression.type of the topic decides over the producer's choice",
		Run: func(p *kit.P) {
			topic := p.Topic("gzip", 1, "compression.type=gzip")
			p.Write(topic, 0, p.Values(strings.Repeat("x", 50)))
			noteCodec(p, "plain batch on gzip topic", topic)
			plain := p.Topic("uncompressed", 1, "compression.type=uncompressed")
			batch := p.Values(strings.Repeat("x", 50))
			batch.Codec = kgo.CodecGzip
			p.Write(plain, 0, batch)
			noteCodec(p, "gzip batch on uncompressed topic", plain)
		},
	},
	{
		Name:   "produce/control-batch",
		Intent: "clients may not write control batches: INVALID_RECORD",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			batch := p.NewBatch(
				kit.Record{Key: []byte{0, 0, 0, 1}, Value: []byte{0, 0, 0, 0, 0, 0}},
			)
			batch.Attributes = kit.AttributeControl
			showRefused(p, topic, "control", batch)
			batch.Attributes |= kit.AttributeTransactional
			batch.From(p.Idempotent(), 0)
			showRefused(p, topic, "control and transactional", batch)
		},
	},
	{
		Name:   "produce/min-isr",
		Intent: "min.insync.replicas above the replication factor counts as the replication factor",
		Run: func(p *kit.P) {
			four := p.Topic("four", 1, "min.insync.replicas=4")
			p.Show("min 4 of 3", p.Broker(0), 9, kit.Produce(four, 0, -1, p.Values("x")))
			single := p.TopicWithReplicas("single", 1, 1, "min.insync.replicas=2")
			p.Show("min 2 of 1", p.Broker(0), 9, kit.Produce(single, 0, -1, p.Values("x")))
			p.Show("min 2 of 1, acks=1", p.Broker(0), 9, kit.Produce(single, 0, 1, p.Values("x")))
			p.Show("fetch", p.Broker(0), 12, kit.Fetch(single, 0, 0))
		},
	},
	{
		Name:   "produce/null-transactional-id",
		Intent: "a transactional batch without a transactional id, and an id with a plain batch",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			batch := p.Values("x").From(p.Idempotent(), 0).InTransaction()
			p.Show("no id", p.Dial(0), 11, kit.Produce(topic, 0, -1, batch))
			id := p.Name("id")
			plain := kit.Produce(topic, 0, -1, p.Values("x"))
			plain.TransactionID = &id
			p.Show("id only", p.Dial(0), 11, plain)
			p.Note("end", p.HighWatermark(topic.Name, 0))
		},
	},
}

// showRefused produces a batch and records the answer and the end of the partition.
func showRefused(p *kit.P, topic kit.Topic, step string, batch *kit.Batch) {
	p.Show(step, p.Dial(0), 9, kit.Produce(topic, 0, -1, batch))
	p.Note("end", p.HighWatermark(topic.Name, 0))
}

func noteCodec(p *kit.P, step string, topic kit.Topic) {
	response := kit.Ask[*kmsg.FetchResponse](p, p.Broker(0), 12, kit.Fetch(topic, 0, 0))
	records := response.Topics[0].Partitions[0].RecordBatches
	if len(records) < 23 {
		p.Fail("no batch in the fetch response")
	}
	p.Note(step, fmt.Sprintf("codec %d", records[22]&7))
}
