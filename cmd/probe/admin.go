package main

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cmd/probe/kit"
)

var adminProbes = []kit.Probe{
	{
		Name:   "admin/describe-quorum",
		Intent: "the metadata quorum: leader, voters, observers; another topic is unknown",
		Run: func(p *kit.P) {
			for version := int16(0); version <= 2; version++ {
				response := kit.Ask[*kmsg.DescribeQuorumResponse](
					p,
					p.Broker(0),
					version,
					describeQuorum("__cluster_metadata"),
				)
				p.NoteError(fmt.Sprintf("v%d", version), response.ErrorCode)
				for _, topic := range response.Topics {
					partition := topic.Partitions[0]
					p.NoteError("partition", partition.ErrorCode)
					p.Note("has a leader", partition.LeaderID >= 0)
					p.Note("voters", len(partition.CurrentVoters))
					p.Note("high watermark known", partition.HighWatermark > 0)
				}
				p.Note("nodes", len(response.Nodes))
			}
			p.Show("another topic", p.Broker(0), 1, describeQuorum(p.Name("other")))
		},
	},
	{
		Name:   "admin/log-dirs",
		Intent: "one directory a broker; a topic's partitions with their sizes",
		Run: func(p *kit.P) {
			topic := p.TopicWithReplicas("a", 1, 1)
			p.Write(topic, 0, p.Values("x"))
			for version := int16(1); version <= 5; version++ {
				request := kmsg.NewPtrDescribeLogDirsRequest()
				request.Topics = []kmsg.DescribeLogDirsRequestTopic{
					{Topic: topic.Name, Partitions: []int32{0, 7}},
				}
				response := kit.Ask[*kmsg.DescribeLogDirsResponse](p, p.Broker(0), version, request)
				p.NoteError(fmt.Sprintf("v%d", version), response.ErrorCode)
				for _, dir := range response.Dirs {
					p.NoteError("directory", dir.ErrorCode)
					for _, t := range dir.Topics {
						for _, partition := range t.Partitions {
							p.Note(t.Topic, fmt.Sprintf(
								"partition %d: %d bytes, lag %d, future %v",
								partition.Partition,
								partition.Size,
								partition.OffsetLag,
								partition.IsFuture,
							))
						}
					}
				}
			}
			request := kmsg.NewPtrDescribeLogDirsRequest()
			request.Topics = []kmsg.DescribeLogDirsRequestTopic{
				{Topic: topic.Name, Partitions: []int32{0}},
			}
			response := kit.Ask[*kmsg.DescribeLogDirsResponse](p, p.Broker(1), 4, request)
			for _, dir := range response.Dirs {
				p.Note("topics at a broker without a replica", len(dir.Topics))
			}
		},
	},
	{
		Name:   "admin/alter-log-dirs",
		Intent: "moving a replica to a directory that does not exist",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			request := kmsg.NewPtrAlterReplicaLogDirsRequest()
			request.Dirs = []kmsg.AlterReplicaLogDirsRequestDir{{Dir: "/no/such/directory",
				Topics: []kmsg.AlterReplicaLogDirsRequestDirTopic{
					{Topic: topic.Name, Partitions: []int32{0}},
				}}}
			p.Show("unknown directory", p.Broker(0), 2, request)
			request.Dirs[0].Dir = "relative"
			p.Show("relative directory", p.Broker(0), 2, request)
		},
	},
	{
		Name:   "admin/elect-leaders",
		Intent: "preferred and unclean elections where none is needed; unknown topics; bad type",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			elect := func(step string, version int16, kind int8, name string, partition int32) {
				request := kmsg.NewPtrElectLeadersRequest()
				request.ElectionType, request.TimeoutMillis = kind, 3000
				request.Topics = []kmsg.ElectLeadersRequestTopic{
					{Topic: name, Partitions: []int32{partition}},
				}
				p.Show(step, p.Broker(0), version, request)
			}
			elect("preferred v0", 0, 0, topic.Name, 0)
			elect("preferred v2", 2, 0, topic.Name, 0)
			elect("unclean", 2, 1, topic.Name, 0)
			elect("unknown partition", 2, 0, topic.Name, 9)
			elect("unknown topic", 2, 0, p.Name("unknown"), 0)
			elect("type 5", 2, 5, topic.Name, 0)
		},
	},
	{
		Name:   "admin/reassign-move",
		Intent: "a single replica moves to another broker with its data",
		Run: func(p *kit.P) {
			topic := p.TopicWithReplicas("a", 1, 1)
			p.Write(topic, 0, p.Values("x"))
			p.Show("alter", p.Broker(0), 1, reassign(topic.Name, 0, p.BrokerID(1)))
			p.Await("the move", func() bool {
				response := kit.Ask[*kmsg.MetadataResponse](
					p,
					p.Broker(1),
					9,
					kit.Metadata(topic.Name),
				)
				partition := response.Topics[0].Partitions[0]
				return partition.Leader == p.BrokerID(1) && len(partition.Replicas) == 1
			})
			p.Await("the data at the new leader", func() bool {
				response := kit.Ask[*kmsg.ListOffsetsResponse](
					p,
					p.Broker(1),
					7,
					kit.ListOffsets(topic.Name, 0, -1),
				)
				return response.Topics[0].Partitions[0].Offset == 1
			})
			p.Note("moved", true)
			grow := reassign(topic.Name, 0, p.BrokerID(1), p.BrokerID(2))
			grow.AllowReplicationFactorChange = false
			p.Show("another replication factor when forbidden", p.Broker(0), 1, grow)
		},
	},
	{
		Name:   "admin/quotas",
		Intent: "describe and alter client quotas, with errors",
		Run: func(p *kit.P) {
			client := p.Name("client")
			alter := func(step, kind string, name *string, key string, value float64, remove, validate bool) {
				request := kmsg.NewPtrAlterClientQuotasRequest()
				request.ValidateOnly = validate
				request.Entries = []kmsg.AlterClientQuotasRequestEntry{{
					Entity: []kmsg.AlterClientQuotasRequestEntryEntity{{Type: kind, Name: name}},
					Ops: []kmsg.AlterClientQuotasRequestEntryOp{
						{Key: key, Value: value, Remove: remove},
					},
				}}
				p.Show(step, p.Broker(0), 1, request)
			}
			describe := func(step string) {
				request := kmsg.NewPtrDescribeClientQuotasRequest()
				request.Components = []kmsg.DescribeClientQuotasRequestComponent{
					{EntityType: "client-id", MatchType: 0, Match: &client},
				}
				p.Show(step, p.Broker(0), 1, request)
			}
			describe("none")
			alter("validate", "client-id", &client, "producer_byte_rate", 1e6, false, true)
			alter("set", "client-id", &client, "producer_byte_rate", 1e6, false, false)
			p.Eventually(func() bool { return quotaCount(p, client) == 1 })
			describe("one")
			alter("unknown key", "client-id", &client, "bogus", 1, false, false)
			alter("negative value", "client-id", &client, "producer_byte_rate", -1, false, false)
			alter("unknown entity", "bogus", &client, "producer_byte_rate", 1, false, false)
			alter("empty name", "client-id", new(""), "producer_byte_rate", 1, false, false)
			alter("remove", "client-id", &client, "producer_byte_rate", 0, true, false)
			p.Eventually(func() bool { return quotaCount(p, client) == 0 })
			describe("none again")
		},
	},
	{
		Name:   "admin/scram",
		Intent: "SCRAM credentials: set, describe, delete, errors",
		Run: func(p *kit.P) {
			user := p.Name("user")
			describe := func(step string) {
				request := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
				request.Users = []kmsg.DescribeUserSCRAMCredentialsRequestUser{{Name: user}}
				p.Show(step, p.Broker(0), 0, request)
			}
			upsert := func(step string, mechanism int8, iterations int32, name string) {
				request := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
				request.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{{
					Name: name, Mechanism: mechanism, Iterations: iterations,
					Salt: []byte(
						"salt",
					), SaltedPassword: []byte("0123456789abcdef0123456789abcdef"),
				}}
				p.Show(step, p.Broker(0), 0, request)
			}
			describe("unknown")
			upsert("too few iterations", 1, 100, user)
			upsert("too many iterations", 1, 100_000, user)
			upsert("unknown mechanism", 9, 4096, user)
			upsert("empty user", 1, 4096, "")
			upsert("good", 1, 4096, user)
			awaitScram(p, user, true)
			describe("known")
			remove := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
			remove.Deletions = []kmsg.AlterUserSCRAMCredentialsRequestDeletion{
				{Name: user, Mechanism: 1},
			}
			p.Show("delete", p.Broker(0), 0, remove)
			awaitScram(p, user, false)
			p.Show("delete again", p.Broker(0), 0, remove)
		},
	},
	{
		Name:   "admin/acls",
		Intent: "ACL requests without an authorizer: SECURITY_DISABLED",
		Run: func(p *kit.P) {
			describe := kmsg.NewPtrDescribeACLsRequest()
			describe.ResourceType, describe.ResourcePatternType = 1, 1
			describe.Operation, describe.PermissionType = 1, 1
			p.Show("describe", p.Broker(0), 3, describe)
			create := kmsg.NewPtrCreateACLsRequest()
			create.Creations = []kmsg.CreateACLsRequestCreation{{
				ResourceType: 2, ResourceName: p.Name("topic"), ResourcePatternType: 3, Principal: "User:x",
				Host: "*", Operation: 3, PermissionType: 3,
			}}
			p.Show("create", p.Broker(0), 3, create)
			remove := kmsg.NewPtrDeleteACLsRequest()
			remove.Filters = []kmsg.DeleteACLsRequestFilter{
				{ResourceType: 1, ResourcePatternType: 1, Operation: 1, PermissionType: 1},
			}
			p.Show("delete", p.Broker(0), 3, remove)
		},
	},
	{
		Name:   "admin/delegation-tokens",
		Intent: "delegation tokens without a secret key on a plain listener",
		Run: func(p *kit.P) {
			create := kmsg.NewPtrCreateDelegationTokenRequest()
			p.Show("create", p.Broker(0), 3, create)
			p.Show("describe", p.Broker(0), 3, kmsg.NewPtrDescribeDelegationTokenRequest())
			renew := kmsg.NewPtrRenewDelegationTokenRequest()
			renew.HMAC = []byte("x")
			p.Show("renew", p.Broker(0), 2, renew)
			expire := kmsg.NewPtrExpireDelegationTokenRequest()
			expire.HMAC = []byte("x")
			p.Show("expire", p.Broker(0), 2, expire)
		},
	},
	{
		Name:   "admin/features",
		Intent: "UpdateFeatures, validating only: unknown feature, level too high, same level, none",
		Run: func(p *kit.P) {
			update := func(step, feature string, level int16, kind int8) {
				request := kmsg.NewPtrUpdateFeaturesRequest()
				request.TimeoutMillis, request.ValidateOnly = 3000, true
				request.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{
					{Feature: feature, MaxVersionLevel: level, UpgradeType: kind},
				}
				p.Show(step, p.Broker(0), 1, request)
				p.Show(step+" v2", p.Broker(0), 2, request)
			}
			update("unknown feature", "bogus", 1, 1)
			update("level too high", "transaction.version", 99, 1)
			update("same level", "transaction.version", 2, 1)
			update("downgrade as upgrade", "transaction.version", 1, 1)
			update("negative level", "transaction.version", -1, 1)
			update("empty name", "", 1, 1)
			none := kmsg.NewPtrUpdateFeaturesRequest()
			none.ValidateOnly = true
			p.Show("none", p.Broker(0), 1, none)
		},
	},
	{
		Name:   "admin/unregister",
		Intent: "unregistering a broker and a controller that do not exist",
		Run: func(p *kit.P) {
			broker := kmsg.NewPtrUnregisterBrokerRequest()
			broker.BrokerID = 9999
			p.Show("broker 9999", p.Broker(0), 0, broker)
			broker.BrokerID = -1
			p.Show("broker -1", p.Broker(0), 0, broker)
			controller := kmsg.NewPtrUnregisterControllerRequest()
			controller.ControllerID = 9999
			p.Show("controller 9999", p.Broker(0), 0, controller)
		},
	},
	{
		Name:   "admin/raft-voters",
		Intent: "adding and removing voters of a quorum with fixed voters",
		Run: func(p *kit.P) {
			add := kmsg.NewPtrAddRaftVoterRequest()
			add.VoterID, add.TimeoutMillis, add.VoterDirectoryID = 9999, 1000, [16]byte{1}
			add.Listeners = []kmsg.AddRaftVoterRequestListener{
				{Name: "CONTROLLER", Host: "localhost", Port: 1},
			}
			p.Show("add", p.Broker(0), 0, add)
			add.ClusterID = new("another-cluster")
			p.Show("add to another cluster", p.Broker(0), 0, add)
			remove := kmsg.NewPtrRemoveRaftVoterRequest()
			remove.VoterID, remove.VoterDirectoryID = 9999, [16]byte{1}
			p.Show("remove", p.Broker(0), 0, remove)
		},
	},
	{
		Name:   "admin/topic-partitions",
		Intent: "DescribeTopicPartitions: known, unknown and bad names",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 2)
			p.Show("known", p.Broker(0), 0, describePartitions(100, topic.Name))
			p.Show("unknown", p.Broker(0), 0, describePartitions(100, p.Name("unknown")))
			p.Show("bad name", p.Broker(0), 0, describePartitions(100, "not a name"))
			p.Show("twice", p.Broker(0), 0, describePartitions(100, topic.Name, topic.Name))
		},
	},
}

func describeQuorum(topic string) *kmsg.DescribeQuorumRequest {
	request := kmsg.NewPtrDescribeQuorumRequest()
	request.Topics = []kmsg.DescribeQuorumRequestTopic{
		{Topic: topic, Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{Partition: 0}}},
	}
	return request
}

func reassign(
	topic string,
	partition int32,
	replicas ...int32,
) *kmsg.AlterPartitionAssignmentsRequest {
	request := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	request.TimeoutMillis = 5000
	request.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: topic,
		Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{
			{Partition: partition, Replicas: replicas},
		}}}
	return request
}

func describePartitions(limit int32, names ...string) *kmsg.DescribeTopicPartitionsRequest {
	request := kmsg.NewPtrDescribeTopicPartitionsRequest()
	request.ResponsePartitionLimit = limit
	for _, name := range names {
		request.Topics = append(
			request.Topics,
			kmsg.DescribeTopicPartitionsRequestTopic{Topic: name},
		)
	}
	return request
}

func quotaCount(p *kit.P, client string) int {
	request := kmsg.NewPtrDescribeClientQuotasRequest()
	request.Components = []kmsg.DescribeClientQuotasRequestComponent{
		{EntityType: "client-id", MatchType: 0, Match: &client},
	}
	return len(kit.Ask[*kmsg.DescribeClientQuotasResponse](p, p.Broker(0), 1, request).Entries)
}

func awaitScram(p *kit.P, user string, known bool) {
	p.Await("the credentials", func() bool {
		request := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
		request.Users = []kmsg.DescribeUserSCRAMCredentialsRequestUser{{Name: user}}
		response := kit.Ask[*kmsg.DescribeUserSCRAMCredentialsResponse](p, p.Broker(0), 0, request)
		return (response.Results[0].ErrorCode == 0) == known
	})
}
