package main

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cmd/probe/kit"
)

var shareProbes = []kit.Probe{
	{
		Name:   "share-groups/join",
		Intent: "join, heartbeat, leave of a share group member",
		Run: func(p *kit.P) {
			topic, group, c := newShareGroup(p)
			member := p.Name("member")
			p.Note("partitions", joinShare(p, c, group, member, topic))
			epoch := shareEpoch(p, c, group, member)
			p.Show("newer epoch", c, 1, kit.ShareHeartbeat(group, member, epoch+5))
			p.Show("leave", c, 1, kit.ShareHeartbeat(group, member, -1))
			p.Show("leave again", c, 1, kit.ShareHeartbeat(group, member, -1))
		},
	},
	{
		Name:   "share-groups/describe",
		Intent: "ShareGroupDescribe of an unknown and a known group; its type in ListGroups",
		Run: func(p *kit.P) {
			topic, group, c := newShareGroup(p)
			request := kmsg.NewPtrShareGroupDescribeRequest()
			request.GroupIDs = []string{group}
			p.Show("unknown", c, 1, request)
			joinShare(p, c, group, p.Name("member"), topic)
			response := kit.Ask[*kmsg.ShareGroupDescribeResponse](p, c, 1, request)
			p.Note("state", response.Groups[0].GroupState)
			p.Note("assignor", response.Groups[0].Assignor)
			p.Note("members", len(response.Groups[0].Members))
			showListed(p, "listed", c, 5, group, nil, nil)
			p.Show("classic join", c, 5, kit.JoinGroup(group, "", "range"))
		},
	},
	{
		Name:   "share-groups/fetch",
		Intent: "acquire from the start, accept one, release one; the released one comes again",
		Run: func(p *kit.P) {
			topic, group, c := newShareGroup(p)
			p.Write(topic, 0, p.Values("0", "1", "2"))
			p.Show(
				"earliest",
				c,
				1,
				kit.AlterConfig(
					kit.KindGroup,
					group,
					opSet,
					"share.auto.offset.reset",
					new("earliest"),
				),
			)
			member := p.Name("member")
			joinShare(p, c, group, member, topic)
			epoch := int32(0)
			fetch := func() *kmsg.ShareFetchResponse {
				request := shareFetch(group, member, epoch, topic)
				response := kit.Ask[*kmsg.ShareFetchResponse](p, p.Broker(0), 2, request)
				epoch++
				return response
			}
			var response *kmsg.ShareFetchResponse
			p.Await("acquired records", func() bool {
				response = fetch()
				return len(response.Topics) > 0 &&
					len(response.Topics[0].Partitions[0].AcquiredRecords) > 0
			})
			p.ShowResponse("acquired", response)
			acknowledge := shareAcknowledge(group, member, epoch, topic, 0, 2, 1, 2, 3)
			p.Show("accept, release, reject", p.Broker(0), 2, acknowledge)
			epoch++
			p.Await("the released record", func() bool {
				response = fetch()
				return len(response.Topics) > 0 &&
					len(response.Topics[0].Partitions[0].AcquiredRecords) > 0
			})
			p.ShowResponse("again", response)
			p.Show(
				"acknowledge before the window",
				p.Broker(0),
				2,
				shareAcknowledge(group, member, epoch, topic, 0, 0, 1),
			)
			p.Show(
				"acknowledge what is not acquired",
				p.Broker(0),
				2,
				shareAcknowledge(group, member, epoch+1, topic, 2, 2, 1),
			)
		},
	},
	{
		Name:   "share-groups/session-errors",
		Intent: "share fetches and acknowledgements outside a session",
		Run: func(p *kit.P) {
			topic, group, c := newShareGroup(p)
			member := "AAAAAAAAAAAAAAAAAAAAAw"
			joinShare(p, c, group, member, topic)
			p.Show("epoch 5 without a session", p.Broker(0), 2, shareFetch(group, member, 5, topic))
			p.Show(
				"acknowledge at epoch 0",
				p.Broker(0),
				2,
				shareAcknowledge(group, member, 0, topic, 0, 0, 1),
			)
			p.Show(
				"acknowledge without a session",
				p.Broker(0),
				2,
				shareAcknowledge(group, member, 3, topic, 0, 0, 1),
			)
			p.Show("member id that is no uuid", p.Broker(0), 2, shareFetch(group, "x y", 0, topic))
			unknown := kit.Topic{ID: [16]byte{4, 4, 4}}
			p.HideID(unknown.ID, "<unknown-id>")
			p.Show("unknown topic id", p.Broker(0), 2, shareFetch(group, member, 0, unknown))
		},
	},
	{
		Name:   "share-groups/offsets",
		Intent: "describe, alter and delete the start offsets of share groups",
		Run: func(p *kit.P) {
			topic, group, c := newShareGroup(p)
			describe := kmsg.NewPtrDescribeShareGroupOffsetsRequest()
			describe.Groups = []kmsg.DescribeShareGroupOffsetsRequestGroup{{GroupID: group,
				Topics: []kmsg.DescribeShareGroupOffsetsRequestGroupTopic{
					{Topic: topic.Name, Partitions: []int32{0}},
				}}}
			p.Show("describe unknown", c, 0, describe)
			alter := kmsg.NewPtrAlterShareGroupOffsetsRequest()
			alter.GroupID = group
			alter.Topics = []kmsg.AlterShareGroupOffsetsRequestTopic{{Topic: topic.Name,
				Partitions: []kmsg.AlterShareGroupOffsetsRequestTopicPartition{
					{Partition: 0, StartOffset: 0},
				}}}
			p.Show("alter unknown", c, 0, alter)
			remove := kmsg.NewPtrDeleteShareGroupOffsetsRequest()
			remove.GroupID = group
			remove.Topics = []kmsg.DeleteShareGroupOffsetsRequestTopic{{Topic: topic.Name}}
			p.Show("delete unknown", c, 0, remove)
			joinShare(p, c, group, p.Name("member"), topic)
			p.Show("alter with members", c, 0, alter)
			p.Show("delete with members", c, 0, remove)
		},
	},
}

func newShareGroup(p *kit.P) (kit.Topic, string, *kit.Conn) {
	topic, group := p.Topic("a", 1), p.Name("group")
	return topic, group, p.GroupCoordinator(group)
}

// joinShare joins and heartbeats until the member has a partition; it returns how many.
func joinShare(p *kit.P, c *kit.Conn, group, member string, topic kit.Topic) int {
	epoch, count := int32(0), 0
	p.Await("the assignment", func() bool {
		request := kit.ShareHeartbeat(group, member, epoch, topic.Name)
		response := kit.Ask[*kmsg.ShareGroupHeartbeatResponse](p, c, 1, request)
		if response.ErrorCode != 0 {
			p.Fail("share heartbeat: %s", kit.ErrorName(response.ErrorCode))
		}
		epoch = response.MemberEpoch
		if response.Assignment != nil {
			for _, t := range response.Assignment.TopicPartitions {
				count += len(t.Partitions)
			}
		}
		return count > 0
	})
	return count
}

func shareEpoch(p *kit.P, c *kit.Conn, group, member string) int32 {
	request := kmsg.NewPtrShareGroupDescribeRequest()
	request.GroupIDs = []string{group}
	response := kit.Ask[*kmsg.ShareGroupDescribeResponse](p, c, 1, request)
	for _, m := range response.Groups[0].Members {
		if m.MemberID == member {
			return m.MemberEpoch
		}
	}
	p.Fail("the member is not in the group")
	return 0
}

func shareFetch(group, member string, epoch int32, topic kit.Topic) *kmsg.ShareFetchRequest {
	request := kmsg.NewPtrShareFetchRequest()
	request.GroupID, request.MemberID, request.ShareSessionEpoch = &group, &member, epoch
	request.MaxWaitMillis, request.MinBytes, request.MaxBytes = 200, 1, 1<<20
	request.MaxRecords, request.BatchSize = 100, 100
	t := kmsg.NewShareFetchRequestTopic()
	t.TopicID = topic.ID
	t.Partitions = append(t.Partitions, kmsg.NewShareFetchRequestTopicPartition())
	request.Topics = append(request.Topics, t)
	return request
}

func shareAcknowledge(
	group, member string,
	epoch int32,
	topic kit.Topic,
	first, last int64,
	types ...int8,
) *kmsg.ShareAcknowledgeRequest {
	request := kmsg.NewPtrShareAcknowledgeRequest()
	request.GroupID, request.MemberID, request.ShareSessionEpoch = &group, &member, epoch
	request.Topics = []kmsg.ShareAcknowledgeRequestTopic{{TopicID: topic.ID,
		Partitions: []kmsg.ShareAcknowledgeRequestTopicPartition{{
			AcknowledgementBatches: []kmsg.ShareAcknowledgeRequestTopicPartitionAcknowledgementBatch{
				{
					FirstOffset: first, LastOffset: last, AcknowledgeTypes: types},
			}}}}}
	return request
}
