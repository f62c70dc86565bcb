package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cmd/probe/kit"
)

var fetchProbes = []kit.Probe{
	{
		Name:   "fetch/versions",
		Intent: "one record at every version",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Write(topic, 0, p.Values("x"))
			for version := int16(4); version <= 18; version++ {
				p.Show(fmt.Sprintf("v%d", version), p.Broker(0), version, kit.Fetch(topic, 0, 0))
			}
		},
	},
	{
		Name:   "fetch/positions",
		Intent: "from the start, inside a batch, at the end, beyond it, negative",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Write(topic, 0, p.Values("0", "1", "2"), p.Values("3", "4"))
			for _, offset := range []int64{0, 1, 3, 4, 5, 6, -1, -2, 1 << 60} {
				p.Show(fmt.Sprint(offset), p.Broker(0), 12, kit.Fetch(topic, 0, offset))
			}
		},
	},
	{
		Name:   "fetch/empty-partition",
		Intent: "an empty partition at 0 and at 1",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Show("0", p.Broker(0), 12, kit.Fetch(topic, 0, 0))
			p.Show("1", p.Broker(0), 12, kit.Fetch(topic, 0, 1))
		},
	},
	{
		Name:   "fetch/unknown",
		Intent: "unknown topic and partition by name",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Show("topic", p.Broker(0), 12, kit.Fetch(kit.Topic{Name: p.Name("unknown")}, 0, 0))
			p.Show("partition", p.Broker(0), 12, kit.Fetch(topic, 9, 0))
		},
	},
	{
		Name:   "fetch/unknown-id",
		Intent: "v13+: an unknown id, the zero id, and the id of a deleted topic",
		Run: func(p *kit.P) {
			id := [16]byte{7, 7, 7}
			p.HideID(id, "<unknown-id>")
			p.Show("unknown", p.Broker(0), 13, kit.Fetch(kit.Topic{ID: id}, 0, 0))
			p.Show("zero", p.Broker(0), 13, kit.Fetch(kit.Topic{}, 0, 0))
			topic := p.Topic("a", 1)
			kit.Ask[*kmsg.DeleteTopicsResponse](p, p.Broker(0), 5, kit.DeleteTopics(topic.Name))
			p.Await("the deletion", func() bool {
				response := kit.Ask[*kmsg.FetchResponse](p, p.Broker(0), 13, kit.Fetch(topic, 0, 0))
				return len(response.Topics) == 1 &&
					response.Topics[0].Partitions[0].ErrorCode == 100
			})
			p.Show("deleted", p.Broker(0), 13, kit.Fetch(topic, 0, 0))
		},
	},
	{
		Name:   "fetch/not-leader",
		Intent: "a broker without a replica; the leader and its address are named from v16 on only",
		Run: func(p *kit.P) {
			topic := p.TopicWithReplicas("a", 1, 1)
			for _, version := range []int16{11, 12, 16} {
				p.Show(fmt.Sprintf("v%d", version), p.Broker(1), version, kit.Fetch(topic, 0, 0))
			}
		},
	},
	{
		Name:   "fetch/follower",
		Intent: "a consumer may read from a follower that has the data from v11 on",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Write(topic, 0, p.Values("x"))
			p.Await("the follower's high watermark", func() bool {
				response := kit.Ask[*kmsg.FetchResponse](p, p.Broker(1), 12, kit.Fetch(topic, 0, 0))
				return response.Topics[0].Partitions[0].HighWatermark == 1
			})
			p.Show("v10", p.Broker(1), 10, kit.Fetch(topic, 0, 0))
			p.Show("v11", p.Broker(1), 11, kit.Fetch(topic, 0, 0))
			p.Show("v12", p.Broker(1), 12, kit.Fetch(topic, 0, 0))
		},
	},
	{
		Name:   "fetch/max-bytes",
		Intent: "the first batch comes whole even over the limits; the second partition then nothing",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 4)
			p.Write(topic, 0, p.Values("00"), p.Values("01"))
			p.Write(topic, 3, p.Values("30"))
			request := kit.Fetch(topic, 0, 0)
			request.MaxBytes = 1
			second := kit.Fetch(topic, 3, 0).Topics[0].Partitions
			request.Topics[0].Partitions = append(request.Topics[0].Partitions, second...)
			p.Show("request limit 1", p.Broker(0), 12, request)
			request.MaxBytes = 1 << 20
			request.Topics[0].Partitions[0].PartitionMaxBytes = 1
			request.Topics[0].Partitions[1].PartitionMaxBytes = 1
			p.Show("partition limit 1", p.Broker(0), 12, request)
			request.Topics[0].Partitions[0].PartitionMaxBytes = 100
			p.Show("partition limit 100", p.Broker(0), 12, request)
			request.MaxBytes = 0
			p.Show("request limit 0", p.Broker(0), 12, request)
		},
	},
	{
		Name:   "fetch/partial-batch",
		Intent: "a limit inside the second batch: is a part of it sent?",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Write(topic, 0, p.Values("0"), p.Values(strings.Repeat("1", 300)))
			request := kit.Fetch(topic, 0, 0)
			request.Topics[0].Partitions[0].PartitionMaxBytes = 200
			p.Show("200 bytes", p.Broker(0), 12, request)
			request.Topics[0].Partitions[0].FetchOffset = 1
			p.Show("200 bytes at the large batch", p.Broker(0), 12, request)
		},
	},
	{
		Name:   "fetch/min-bytes",
		Intent: "the broker waits for min bytes up to the wait, and answers early when data comes",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			request := kit.Fetch(topic, 0, 0)
			request.MaxWaitMillis = 400
			p.Note("no data: waited", elapsed(p, request) >= 350*time.Millisecond)
			request.MinBytes = 0
			p.Note("min 0: at once", elapsed(p, request) < 300*time.Millisecond)
			p.Write(topic, 0, p.Values("x"))
			request.MinBytes = 1
			p.Note("data: at once", elapsed(p, request) < 300*time.Millisecond)
			request.MinBytes = 100_000
			p.Note("not enough data: waited", elapsed(p, request) >= 350*time.Millisecond)
			request.Topics[0].Partitions[0].FetchOffset = 99
			p.Note("error: at once", elapsed(p, request) < 300*time.Millisecond)
		},
	},
	{
		Name:   "fetch/wakes-on-produce",
		Intent: "a waiting fetch is answered when a record arrives",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			c := p.Dial(0)
			request := kit.Fetch(topic, 0, 0)
			request.MaxWaitMillis = 4000
			began := time.Now()
			correlation, _ := c.Send(12, request)
			time.Sleep(100 * time.Millisecond)
			p.Write(topic, 0, p.Values("x"))
			response, err := c.Receive(request, correlation)
			if err != nil {
				p.Fail("%v", err)
			}
			p.ShowResponse("fetch", response)
			p.Note("before the wait was over", time.Since(began) < 3*time.Second)
		},
	},
	{
		Name:   "fetch/leader-epoch",
		Intent: "current leader epoch: right, older (FENCED 74), newer (UNKNOWN 76), not given",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Write(topic, 0, p.Values("x"))
			for _, epoch := range []int32{-1, 0, 1, 99, -2} {
				request := kit.Fetch(topic, 0, 0)
				request.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
				p.Show(fmt.Sprint(epoch), p.Broker(0), 12, request)
			}
		},
	},
	{
		Name:   "fetch/session-life",
		Intent: "create, incremental fetch without news, with news, close",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Write(topic, 0, p.Values("0"))
			session := openSession(p, topic)
			next := func(epoch int32) *kmsg.FetchRequest {
				request := kit.Fetch(topic, 0, 1)
				request.Topics, request.SessionID, request.SessionEpoch = nil, session, epoch
				return request
			}
			moved := kit.Fetch(topic, 0, 1)
			moved.SessionID, moved.SessionEpoch = session, 1
			p.Show("1: move to offset 1", p.Broker(0), 12, moved)
			p.Show("2: no news", p.Broker(0), 12, next(2))
			p.Write(topic, 0, p.Values("1"))
			p.Show("3: a new record", p.Broker(0), 12, next(3))
			p.Show("4: still there", p.Broker(0), 12, next(4))
			p.Show("close", p.Broker(0), 12, next(-1))
			p.Show("5: gone", p.Broker(0), 12, next(5))
		},
	},
	{
		Name:   "fetch/session-errors",
		Intent: "wrong epoch (71), unknown id (70); the session survives a wrong epoch",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Write(topic, 0, p.Values("0"))
			session := openSession(p, topic)
			for _, try := range []struct {
				step      string
				id, epoch int32
			}{
				{"epoch 5", session, 5}, {"epoch 1", session, 1}, {"epoch 1 again", session, 1},
				{"unknown id", session ^ 0x55555, 1}, {"id 0 epoch 1", 0, 1}, {"epoch -2", session, -2},
			} {
				request := kit.Fetch(topic, 0, 1)
				request.SessionID, request.SessionEpoch = try.id, try.epoch
				p.Show(try.step, p.Broker(0), 12, request)
			}
		},
	},
	{
		Name:   "fetch/session-forget",
		Intent: "a forgotten partition is no longer served; forgetting all ends the session",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 4)
			p.Write(topic, 0, p.Values("0"))
			p.Write(topic, 3, p.Values("3"))
			request := kit.Fetch(topic, 0, 0)
			request.SessionEpoch = 0
			request.Topics[0].Partitions = append(
				request.Topics[0].Partitions,
				kit.Fetch(topic, 3, 0).Topics[0].Partitions...)
			opened := kit.Try[*kmsg.FetchResponse](p, "open", p.Broker(0), 12, request)
			forget := func(epoch, partition int32) *kmsg.FetchRequest {
				request := kit.Fetch(topic, 0, 0)
				request.Topics, request.SessionID, request.SessionEpoch = nil, opened.SessionID, epoch
				request.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{
					{Topic: topic.Name, TopicID: topic.ID, Partitions: []int32{partition}},
				}
				return request
			}
			p.Show("forget 0", p.Broker(0), 12, forget(1, 0))
			p.Show("forget 3", p.Broker(0), 12, forget(2, 3))
			p.Show("afterwards", p.Broker(0), 12, forget(3, 3))
		},
	},
	{
		Name:   "fetch/session-error-partition",
		Intent: "a partition with an error is repeated in every incremental answer",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			request := kit.Fetch(topic, 9, 0)
			request.SessionEpoch = 0
			opened := kit.Try[*kmsg.FetchResponse](p, "open", p.Broker(0), 12, request)
			for epoch := int32(1); epoch <= 2; epoch++ {
				next := kit.Fetch(topic, 9, 0)
				next.Topics, next.SessionID, next.SessionEpoch = nil, opened.SessionID, epoch
				p.Show(fmt.Sprintf("epoch %d", epoch), p.Broker(0), 12, next)
			}
		},
	},
	{
		Name:   "fetch/session-topic-made-again",
		Intent: "v13+: a session whose topic is deleted, and made again under the same name",
		Run: func(p *kit.P) {
			old := p.Topic("a", 1)
			request := kit.Fetch(old, 0, 0)
			request.SessionEpoch = 0
			opened := kit.Try[*kmsg.FetchResponse](p, "open", p.Broker(0), 13, request)
			next := func(epoch int32, add, forget []kit.Topic) *kmsg.FetchRequest {
				request := kit.Fetch(old, 0, 0)
				request.Topics, request.SessionID, request.SessionEpoch = nil, opened.SessionID, epoch
				for _, topic := range add {
					request.Topics = append(request.Topics, kit.Fetch(topic, 0, 0).Topics...)
				}
				for _, topic := range forget {
					request.ForgottenTopics = append(request.ForgottenTopics,
						kmsg.FetchRequestForgottenTopic{TopicID: topic.ID, Partitions: []int32{0}})
				}
				return request
			}
			kit.Ask[*kmsg.DeleteTopicsResponse](p, p.Broker(0), 5, kit.DeleteTopics(old.Name))
			p.Await("the deletion", func() bool {
				response := kit.Ask[*kmsg.FetchResponse](p, p.Dial(0), 13, kit.Fetch(old, 0, 0))
				return len(response.Topics) == 1 &&
					response.Topics[0].Partitions[0].ErrorCode == 100
			})
			p.Show("1: deleted", p.Broker(0), 13, next(1, nil, nil))
			again := p.Topic("a", 1)
			p.HideID(old.ID, "<old-id>")
			p.Write(again, 0, p.Values("new"))
			p.Show("2: made again", p.Broker(0), 13, next(2, nil, nil))
			p.Show("3: the new one, too", p.Broker(0), 13, next(3, []kit.Topic{again}, nil))
			p.Show("4: the old one forgotten", p.Broker(0), 13, next(4, nil, []kit.Topic{old}))
			p.Show("5: the new one forgotten", p.Broker(0), 13, next(5, nil, []kit.Topic{again}))
		},
	},
	{
		Name:   "fetch/duplicate-partition",
		Intent: "the same partition twice in one request",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Write(topic, 0, p.Values("0", "1"), p.Values("2"))
			request := kit.Fetch(topic, 0, 0)
			request.Topics[0].Partitions = append(
				request.Topics[0].Partitions,
				kit.Fetch(topic, 0, 2).Topics[0].Partitions...)
			p.Show("v12", p.Dial(0), 12, request)
		},
	},
}

// openSession creates a fetch session for partition 0 and returns its id.
func openSession(p *kit.P, topic kit.Topic) int32 {
	request := kit.Fetch(topic, 0, 0)
	request.SessionEpoch = 0
	return kit.Try[*kmsg.FetchResponse](p, "open", p.Broker(0), 12, request).SessionID
}

func elapsed(p *kit.P, request *kmsg.FetchRequest) time.Duration {
	began := time.Now()
	kit.Ask[*kmsg.FetchResponse](p, p.Broker(0), 12, request)
	return time.Since(began)
}
