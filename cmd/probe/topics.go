package main

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cmd/probe/kit"
)

var topicsProbes = []kit.Probe{
	{
		Name:   "topics/create-versions",
		Intent: "a plain creation at every version",
		Run: func(p *kit.P) {
			p.HideBrokers()
			for version := int16(2); version <= 7; version++ {
				name := p.Name(fmt.Sprintf("v%d", version))
				p.Forget(name)
				response := kit.Ask[*kmsg.CreateTopicsResponse](
					p,
					p.Broker(0),
					version,
					kit.CreateTopic(name, 2, 3),
				)
				topic := response.Topics[0]
				p.NoteError(fmt.Sprintf("v%d", version), topic.ErrorCode)
				p.Note("partitions", topic.NumPartitions)
				p.Note("replicas", topic.ReplicationFactor)
				p.Note("has configs", len(topic.Configs) > 0)
				p.Note("has id", topic.TopicID != [16]byte{})
			}
		},
	},
	{
		Name:   "topics/create-bad-names",
		Intent: "names that no topic may have: INVALID_TOPIC_EXCEPTION",
		Run: func(p *kit.P) {
			for _, name := range []string{"", ".", "..", "a/b", "a b", "a,b", "é", strings.Repeat("n", 250)} {
				showCreate(p, fmt.Sprintf("%.8q", name), kit.CreateTopic(name, 1, 3))
			}
		},
	},
	{
		Name:   "topics/create-existing",
		Intent: "a name that exists: TOPIC_ALREADY_EXISTS, validating or not",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			showCreate(p, "create", kit.CreateTopic(topic.Name, 1, 3))
			request := kit.CreateTopic(topic.Name, 1, 3)
			request.ValidateOnly = true
			showCreate(p, "validate", request)
		},
	},
	{
		Name:   "topics/create-collision",
		Intent: "dots and underscores collide: INVALID_TOPIC_EXCEPTION",
		Run: func(p *kit.P) {
			topic := p.Topic("x.y", 1)
			other := strings.ReplaceAll(topic.Name, "x.y", "x_y")
			p.Hide(other, "<x_y>")
			showCreate(p, "x_y beside x.y", kit.CreateTopic(other, 1, 3))
		},
	},
	{
		Name:   "topics/create-duplicate-in-request",
		Intent: "the same name twice in one request: INVALID_REQUEST",
		Run: func(p *kit.P) {
			name := p.Name("a")
			request := kit.CreateTopic(name, 1, 3)
			request.Topics = append(request.Topics, kit.CreateTopic(name, 2, 3).Topics...)
			showCreate(p, "v7", request)
			showCreateAt(p, "v4", 4, request)
		},
	},
	{
		Name:   "topics/create-partitions",
		Intent: "partition counts 0 and -2",
		Run: func(p *kit.P) {
			for _, partitions := range []int32{0, -2} {
				showCreate(p, fmt.Sprint(partitions), kit.CreateTopic(p.Name("a"), partitions, 3))
			}
		},
	},
	{
		Name:   "topics/create-defaults",
		Intent: "-1 for partitions and replicas means the broker's defaults from v4 on",
		Run: func(p *kit.P) {
			for _, version := range []int16{3, 4, 7} {
				name := p.Name(fmt.Sprintf("v%d", version))
				p.Forget(name)
				response := kit.Ask[*kmsg.CreateTopicsResponse](
					p,
					p.Broker(0),
					version,
					kit.CreateTopic(name, -1, -1),
				)
				p.NoteError(fmt.Sprintf("v%d", version), response.Topics[0].ErrorCode)
				p.Note("partitions", response.Topics[0].NumPartitions)
				p.Note("replicas", response.Topics[0].ReplicationFactor)
			}
		},
	},
	{
		Name:   "topics/create-config-key",
		Intent: "an unknown config key: INVALID_CONFIG",
		Run: func(p *kit.P) {
			showCreate(p, "bogus", kit.CreateTopicWithConfig(p.Name("a"), "bogus.key", new("1")))
			showCreate(p, "empty key", kit.CreateTopicWithConfig(p.Name("a"), "", new("1")))
		},
	},
	{
		Name:   "topics/create-config-value",
		Intent: "values out of range, of the wrong type, or null: INVALID_CONFIG",
		Run: func(p *kit.P) {
			for _, config := range [][2]string{
				{"retention.ms", "-2"}, {"retention.ms", "soon"}, {"cleanup.policy", "shred"},
				{"min.insync.replicas", "0"}, {"compression.type", "brotli"}, {"segment.bytes", "13"},
				{"max.message.bytes", "-1"}, {"message.timestamp.type", "Never"},
				{"min.cleanable.dirty.ratio", "1.5"}, {"unclean.leader.election.enable", "perhaps"},
			} {
				showCreate(
					p,
					config[0]+"="+config[1],
					kit.CreateTopicWithConfig(p.Name("a"), config[0], &config[1]),
				)
			}
			showCreate(p, "null value", kit.CreateTopicWithConfig(p.Name("a"), "retention.ms", nil))
		},
	},
	{
		Name:   "topics/create-config-combination",
		Intent: "configs that are legal alone but not together",
		Run: func(p *kit.P) {
			request := kit.CreateTopicWithConfig(p.Name("a"), "min.compaction.lag.ms", new("1000"))
			request.Topics[0].Configs = append(
				request.Topics[0].Configs,
				kmsg.CreateTopicsRequestTopicConfig{
					Name:  "max.compaction.lag.ms",
					Value: new("10"),
				},
			)
			showCreate(p, "min lag over max lag", request)
			request = kit.CreateTopicWithConfig(p.Name("a"), "remote.storage.enable", new("true"))
			showCreate(p, "remote storage on a broker without it", request)
		},
	},
	{
		Name:   "topics/create-assignment-errors",
		Intent: "replica assignments that cannot be: INVALID_REPLICA_ASSIGNMENT",
		Run: func(p *kit.P) {
			a, b, c := p.BrokerID(0), p.BrokerID(1), p.BrokerID(2)
			showCreate(p, "same broker twice", kit.CreateTopicPlaced(p.Name("a"), []int32{a, a, b}))
			showCreate(p, "unknown broker", kit.CreateTopicPlaced(p.Name("a"), []int32{a, 9999}))
			showCreate(p, "negative broker", kit.CreateTopicPlaced(p.Name("a"), []int32{-1}))
			showCreate(p, "no replicas", kit.CreateTopicPlaced(p.Name("a"), []int32{}))
			showCreate(
				p,
				"uneven replicas",
				kit.CreateTopicPlaced(p.Name("a"), []int32{a, b, c}, []int32{a}),
			)
		},
	},
	{
		Name:   "topics/create-assignment-with-counts",
		Intent: "assignments exclude partition count and replication factor",
		Run: func(p *kit.P) {
			request := kit.CreateTopicPlaced(p.Name("a"), []int32{p.BrokerID(0)})
			request.Topics[0].NumPartitions = 1
			showCreate(p, "with partitions", request)
			request.Topics[0].NumPartitions, request.Topics[0].ReplicationFactor = -1, 1
			showCreate(p, "with replicas", request)
		},
	},
	{
		Name:   "topics/create-validate-only",
		Intent: "validateOnly answers like a creation and creates nothing",
		Run: func(p *kit.P) {
			name := p.Name("a")
			request := kit.CreateTopic(name, 3, 3)
			request.ValidateOnly = true
			response := kit.Ask[*kmsg.CreateTopicsResponse](p, p.Broker(0), 7, request)
			topic := response.Topics[0]
			p.NoteError("error", topic.ErrorCode)
			p.Note("partitions", topic.NumPartitions)
			p.Note("replicas", topic.ReplicationFactor)
			p.Note("has id", topic.TopicID != [16]byte{})
			p.Show("metadata", p.Broker(0), 12, kit.Metadata(name))
		},
	},
	{
		Name:   "topics/create-mixed",
		Intent: "one bad topic does not stop the good ones of the same request",
		Run: func(p *kit.P) {
			name := p.Name("good")
			p.Forget(name)
			request := kit.CreateTopicPlaced(name, []int32{p.BrokerID(0)})
			request.Topics = append(request.Topics, kit.CreateTopic("not a name", 1, 1).Topics...)
			response := kit.Ask[*kmsg.CreateTopicsResponse](p, p.Broker(0), 7, request)
			for _, topic := range response.Topics {
				p.NoteError(fmt.Sprint("good=", topic.Topic == name), topic.ErrorCode)
			}
		},
	},
	{
		Name:   "topics/create-none",
		Intent: "a request without topics",
		Run: func(p *kit.P) {
			request := kit.CreateTopic("x", 1, 1)
			request.Topics = nil
			showCreate(p, "v7", request)
		},
	},
	{
		Name:   "topics/delete-by-id",
		Intent: "v6 deletes by id",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			request := kit.DeleteTopics()
			request.Topics = []kmsg.DeleteTopicsRequestTopic{{TopicID: topic.ID}}
			p.Show("first", p.Broker(0), 6, request)
			p.Show("again", p.Broker(0), 6, request)
		},
	},
	{
		Name:   "topics/delete-name-and-id",
		Intent: "name and id together, neither, and the same topic twice: INVALID_REQUEST",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			request := kit.DeleteTopics(topic.Name)
			request.Topics[0].TopicID = topic.ID
			p.Show("both", p.Broker(0), 6, request)
			request.Topics = []kmsg.DeleteTopicsRequestTopic{{}}
			p.Show("neither", p.Broker(0), 6, request)
			p.Show("twice", p.Broker(0), 6, kit.DeleteTopics(topic.Name, topic.Name))
		},
	},
	{
		Name:   "topics/partitions-errors",
		Intent: "the same count, fewer, zero, negative, unknown topic: INVALID_PARTITIONS and friends",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 2)
			for _, count := range []int32{2, 1, 0, -1} {
				p.Show(fmt.Sprint(count), p.Broker(0), 3, kit.CreatePartitions(topic.Name, count))
			}
			p.Show("unknown", p.Broker(0), 3, kit.CreatePartitions(p.Name("unknown"), 2))
		},
	},
	{
		Name:   "topics/partitions-assignment",
		Intent: "assignments of new partitions that cannot be",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			place := func(replicas ...[]int32) *kmsg.CreatePartitionsRequest {
				request := kit.CreatePartitions(topic.Name, 2)
				for _, ids := range replicas {
					request.Topics[0].Assignment = append(request.Topics[0].Assignment,
						kmsg.CreatePartitionsRequestTopicAssignment{Replicas: ids})
				}
				return request
			}
			a, b, c := p.BrokerID(0), p.BrokerID(1), p.BrokerID(2)
			p.Show("too many lists", p.Broker(0), 3, place([]int32{a, b, c}, []int32{a, b, c}))
			p.Show("other replication factor", p.Broker(0), 3, place([]int32{a}))
			p.Show("same broker twice", p.Broker(0), 3, place([]int32{a, a, b}))
			p.Show("unknown broker", p.Broker(0), 3, place([]int32{a, b, 9999}))
			p.Show("right", p.Broker(0), 3, place([]int32{b, c, a}))
		},
	},
	{
		Name:   "topics/partitions-duplicate",
		Intent: "the same topic twice in one request",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			request := kit.CreatePartitions(topic.Name, 2)
			request.Topics = append(request.Topics, request.Topics[0])
			p.Show("v3", p.Broker(0), 3, request)
		},
	},
	{
		Name:   "topics/delete-records",
		Intent: "records before an offset go; -1 means the high watermark; too high is OFFSET_OUT_OF_RANGE",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Write(topic, 0, p.Values("0", "1", "2"), p.Values("3", "4"))
			p.Show("to 2", p.Broker(0), 2, kit.DeleteRecords(topic.Name, 0, 2))
			p.Show("back to 1", p.Broker(0), 2, kit.DeleteRecords(topic.Name, 0, 1))
			p.Show("fetch below", p.Broker(0), 12, kit.Fetch(topic, 0, 1))
			p.Show("fetch inside the batch", p.Broker(0), 12, kit.Fetch(topic, 0, 2))
			p.Show("earliest", p.Broker(0), 7, kit.ListOffsets(topic.Name, 0, -2))
			p.Show("beyond the end", p.Broker(0), 2, kit.DeleteRecords(topic.Name, 0, 6))
			p.Show("-2", p.Broker(0), 2, kit.DeleteRecords(topic.Name, 0, -2))
			p.Show("-1", p.Broker(0), 2, kit.DeleteRecords(topic.Name, 0, -1))
			p.Show("earliest after", p.Broker(0), 7, kit.ListOffsets(topic.Name, 0, -2))
		},
	},
	{
		Name:   "topics/delete-records-errors",
		Intent: "unknown partition, not the leader, compacted topic",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			compacted := p.Topic("compacted", 1, "cleanup.policy=compact")
			p.Show("unknown topic", p.Broker(0), 2, kit.DeleteRecords(p.Name("unknown"), 0, 0))
			p.Show("unknown partition", p.Broker(0), 2, kit.DeleteRecords(topic.Name, 5, 0))
			p.Show("not the leader", p.Broker(1), 2, kit.DeleteRecords(topic.Name, 0, 0))
			p.Show("compacted", p.Broker(0), 2, kit.DeleteRecords(compacted.Name, 0, -1))
		},
	},
}

// showCreate records the answer to a creation that is expected to fail.
func showCreate(p *kit.P, step string, request *kmsg.CreateTopicsRequest) {
	showCreateAt(p, step, 7, request)
}

func showCreateAt(p *kit.P, step string, version int16, request *kmsg.CreateTopicsRequest) {
	response := p.Show(step, p.Broker(0), version, request)
	if created, ok := response.(*kmsg.CreateTopicsResponse); ok && !request.ValidateOnly {
		for _, topic := range created.Topics {
			if topic.ErrorCode == 0 {
				p.Forget(topic.Topic)
			}
		}
	}
}
