package main

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cmd/probe/kit"
)

var offsetsProbes = []kit.Probe{
	{
		Name:   "list-offsets/versions",
		Intent: "the end of a partition at every version",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Write(topic, 0, p.Values("0", "1"))
			for version := int16(1); version <= 11; version++ {
				p.Show(
					fmt.Sprintf("v%d", version),
					p.Broker(0),
					version,
					kit.ListOffsets(topic.Name, 0, -1),
				)
			}
		},
	},
	{
		Name:   "list-offsets/special",
		Intent: "the special timestamps -1 to -7 on a partition with data",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Write(topic, 0, timed(p, 100, 300, 200))
			for timestamp := int64(-1); timestamp >= -7; timestamp-- {
				p.Show(
					fmt.Sprint(timestamp),
					p.Dial(0),
					11,
					kit.ListOffsets(topic.Name, 0, timestamp),
				)
			}
		},
	},
	{
		Name:   "list-offsets/special-old-version",
		Intent: "-3, -4 and -5 with versions that do not know them",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Write(topic, 0, p.Values("x"))
			p.Show("-3 at v6", p.Dial(0), 6, kit.ListOffsets(topic.Name, 0, -3))
			p.Show("-4 at v7", p.Dial(0), 7, kit.ListOffsets(topic.Name, 0, -4))
			p.Show("-5 at v8", p.Dial(0), 8, kit.ListOffsets(topic.Name, 0, -5))
			p.Show("-6 at v10", p.Dial(0), 10, kit.ListOffsets(topic.Name, 0, -6))
		},
	},
	{
		Name:   "list-offsets/timestamps-one-batch",
		Intent: "times 100, 300, 200 in one batch: the first record at or after the time asked",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Write(topic, 0, timed(p, 100, 300, 200))
			showTimes(p, topic)
		},
	},
	{
		Name:   "list-offsets/timestamps-gzip",
		Intent: "the same times in one compressed batch",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			batch := timed(p, 100, 300, 200)
			batch.Codec = kgo.CodecGzip
			p.Write(topic, 0, batch)
			showTimes(p, topic)
		},
	},
	{
		Name:   "list-offsets/after-delete-records",
		Intent: "deleted records are not found by time",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Write(topic, 0, timed(p, 100, 200, 300))
			kit.Ask[*kmsg.DeleteRecordsResponse](
				p,
				p.Broker(0),
				2,
				kit.DeleteRecords(topic.Name, 0, 2),
			)
			p.Show("earliest", p.Broker(0), 7, kit.ListOffsets(topic.Name, 0, -2))
			p.Show("time 100", p.Broker(0), 7, kit.ListOffsets(topic.Name, 0, p.Now()+100))
			p.Show("max timestamp", p.Broker(0), 7, kit.ListOffsets(topic.Name, 0, -3))
		},
	},
	{
		Name:   "list-offsets/leader-epoch",
		Intent: "current leader epoch: right, newer, not given",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			for _, epoch := range []int32{-1, 0, 1, 99} {
				request := kit.ListOffsets(topic.Name, 0, -1)
				request.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
				p.Show(fmt.Sprint(epoch), p.Broker(0), 7, request)
			}
		},
	},
	{
		Name:   "list-offsets/duplicate-partition",
		Intent: "the same partition twice in one request: INVALID_REQUEST",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			request := kit.ListOffsets(topic.Name, 0, -1)
			request.Topics[0].Partitions = append(
				request.Topics[0].Partitions,
				request.Topics[0].Partitions[0],
			)
			request.Topics[0].Partitions[1].Timestamp = -2
			p.Show("v7", p.Dial(0), 7, request)
		},
	},
	{
		Name:   "list-offsets/isolation",
		Intent: "an open transaction: latest is the high watermark or the last stable offset",
		Run: func(p *kit.P) {
			topic, id := p.Topic("a", 1), p.Name("id")
			c := p.TxnCoordinator(id)
			producer := p.Transactional(c, id)
			p.Write(topic, 0, p.Values("0", "1"))
			p.OpenTransaction(c, id, producer, topic, 0, "2", "3")
			for level := int8(0); level <= 1; level++ {
				for _, try := range []struct {
					step      string
					timestamp int64
				}{{"latest", -1}, {"earliest", -2}, {"max", -3}, {"T", p.Now()}, {"T+1", p.Now() + 1}} {
					request := kit.ListOffsets(topic.Name, 0, try.timestamp)
					request.IsolationLevel = level
					p.Show(fmt.Sprintf("level %d %s", level, try.step), p.Broker(0), 7, request)
				}
			}
			kit.Ask[*kmsg.EndTxnResponse](p, c, 3, kit.EndTxn(id, producer, false))
		},
	},
	{
		Name:   "leader-epoch/end-offset",
		Intent: "OffsetForLeaderEpoch: known, newer and negative epochs",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Write(topic, 0, p.Values("0", "1"))
			for _, epoch := range []int32{0, 1, 99, -1} {
				p.Show(
					fmt.Sprint(epoch),
					p.Broker(0),
					4,
					kit.OffsetForLeaderEpoch(topic.Name, 0, -1, epoch),
				)
			}
		},
	},
	{
		Name:   "leader-epoch/versions",
		Intent: "OffsetForLeaderEpoch at every version",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Write(topic, 0, p.Values("0", "1"))
			for version := int16(2); version <= 4; version++ {
				p.Show(
					fmt.Sprintf("v%d", version),
					p.Broker(0),
					version,
					kit.OffsetForLeaderEpoch(topic.Name, 0, 0, 0),
				)
			}
		},
	},
	{
		Name:   "leader-epoch/empty-partition",
		Intent: "OffsetForLeaderEpoch of a partition without records",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Show("0", p.Broker(0), 4, kit.OffsetForLeaderEpoch(topic.Name, 0, 0, 0))
		},
	},
}

// timed returns a batch of records at the given milliseconds after the run's time.
func timed(p *kit.P, after ...int64) *kit.Batch {
	records := make([]kit.Record, len(after))
	for i, ms := range after {
		records[i] = kit.Record{Value: fmt.Appendf(nil, "at %d", ms), TimestampMS: ms}
	}
	return p.NewBatch(records...)
}

func showTimes(p *kit.P, topic kit.Topic) {
	for _, ms := range []int64{0, 100, 101, 200, 201, 300, 301} {
		p.Show(fmt.Sprint(ms), p.Broker(0), 7, kit.ListOffsets(topic.Name, 0, p.Now()+ms))
	}
	p.Show("max timestamp", p.Broker(0), 7, kit.ListOffsets(topic.Name, 0, -3))
}
