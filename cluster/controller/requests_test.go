package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/metadata"
)

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func TestCreateTopicsRefusesInKafkasWords(t *testing.T) {
	c := ready(t)
	c.mustCreate("a.b", 1, 1)
	for _, tt := range []struct {
		name       string
		partitions int32
		factor     int16
		config     string
		code       int16
		message    string
	}{
		{"t-rf", 1, 4, "", 38, "Unable to replicate the partition 4 time(s): The target replication " +
			"factor of 4 cannot be reached because only 3 broker(s) are registered or some brokers " +
			"have all their log directories cordoned."},
		{"orders", 3, 1, "", 36, "Topic 'orders' already exists."},
		{"t-zero", 0, 1, "", 37, "Number of partitions was set to an invalid non-positive value."},
		{"t-cfg", 1, 1, "no.such.setting=1", 40, "Unknown topic config name: no.such.setting"},
		{"t-cfg", 1, 1, "retention.ms=abc", 40,
			"Invalid value abc for configuration retention.ms: Not a number of type LONG"},
		{"a_b", 1, 1, "", 17, "Topic 'a_b' collides with existing topic: a.b"},
		{"..", 1, 1, "", 17, "Topic name is invalid: '..' is not allowed"},
	} {
		var configs []string
		if tt.config != "" {
			configs = append(configs, tt.config)
		}
		r := c.createTopic(tt.name, tt.partitions, tt.factor, configs...)
		if r.ErrorCode != tt.code || text(r.ErrorMessage) != tt.message {
			t.Errorf("%s: %d %q", tt.name, r.ErrorCode, text(r.ErrorMessage))
		}
	}
}

func TestMoreReplicasThanThereCanBeFilesAreRefused(t *testing.T) {
	c := ready(t) // orders has replicas already
	present := 0
	for _, p := range c.leader().active.committed.TopicByName("orders").Partitions {
		present += len(p.Replicas)
	}
	c.leader().cfg.ReplicasMax = int64(present + 6)
	if r := c.createTopic("big", 7, 1); r.ErrorCode != kerr.PolicyViolation.Code ||
		!strings.Contains(text(r.ErrorMessage), "7 more are asked for") {
		t.Errorf("got %d %q", r.ErrorCode, text(r.ErrorMessage))
	}
	if r := c.createTopic("small", 2, 3); r.ErrorCode != 0 {
		t.Errorf("got %d %q", r.ErrorCode, text(r.ErrorMessage))
	}
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "small", Count: 3}}
	if r := c.ask(req).(*kmsg.CreatePartitionsResponse).Topics[0]; r.ErrorCode !=
		kerr.PolicyViolation.Code {
		t.Errorf("got %d %q", r.ErrorCode, text(r.ErrorMessage))
	}
}

func TestValidateOnlyCreatesNothing(t *testing.T) {
	c := ready(t)
	req := createRequest("dry", 2, 2)
	req.ValidateOnly = true
	r := c.ask(req).(*kmsg.CreateTopicsResponse).Topics[0]
	if r.ErrorCode != 0 || r.NumPartitions != 2 || c.leader().active.latest.TopicByName("dry") != nil {
		t.Errorf("got %+v", r)
	}
}

func TestCreateTopicsDescribesTheNewTopic(t *testing.T) {
	c := newCluster(t, 11, 3)
	c.untilReady()
	r := c.createTopic("orders", -1, -1, "retention.ms=1000")
	if r.ErrorCode != 0 || r.NumPartitions != 1 || r.ReplicationFactor != 1 {
		t.Fatalf("got %+v", r)
	}
	for _, config := range r.Configs {
		source := map[string]int8{"retention.ms": sourceTopic,
			configMinIsr: sourceDefaultBrokers}[config.Name]
		if source == 0 {
			source = sourceDefault
		}
		if config.Source != source {
			t.Errorf("%s has source %d, not %d", config.Name, config.Source, source)
		}
	}
}

func TestDeletedTopicIsGoneByNameAndID(t *testing.T) {
	c := ready(t)
	c.mustCreate("second", 1, 1)
	id := c.leader().active.committed.TopicByName("second").ID
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version = 6
	name := "orders"
	none := "none"
	req.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: &name}, {TopicID: id}, {Topic: &none},
		{TopicID: event.UUID{3: 3}}}
	r := c.ask(req).(*kmsg.DeleteTopicsResponse)
	var codes []int16
	for _, topic := range r.Topics {
		codes = append(codes, topic.ErrorCode)
	}
	if !slices.Equal(codes, []int16{0, 0, kerr.UnknownTopicOrPartition.Code, kerr.UnknownTopicID.Code}) {
		t.Errorf("codes %v", codes)
	}
	if n := c.leader().active.committed.TopicCount(); n != 0 {
		t.Errorf("%d topics are left", n)
	}
}

func TestTopicsNamedTwiceAreRefusedAndAnsweredOnce(t *testing.T) {
	c := ready(t)
	name := "orders"
	id := c.leader().active.committed.TopicByName(name).ID
	remove := kmsg.NewPtrDeleteTopicsRequest()
	remove.Version = 6
	remove.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: &name}, {TopicID: id}}
	removed := c.ask(remove).(*kmsg.DeleteTopicsResponse).Topics
	if len(removed) != 1 || removed[0].ErrorCode != kerr.InvalidRequest.Code ||
		*removed[0].Topic != name || !event.UUID(removed[0].TopicID).IsZero() {
		t.Errorf("delete: %+v", removed)
	}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version = 7
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "twice", 1, 1
	create.Topics = []kmsg.CreateTopicsRequestTopic{topic, topic}
	created := c.ask(create).(*kmsg.CreateTopicsResponse).Topics
	if len(created) != 1 || created[0].ErrorCode != kerr.InvalidRequest.Code || created[0].Configs == nil {
		t.Errorf("create: %+v", created)
	}
	if c.leader().active.committed.TopicByName("twice") != nil ||
		c.leader().active.committed.TopicByName(name) == nil {
		t.Error("a topic that was refused came or went")
	}
}

func TestCreatePartitionsOnlyAdds(t *testing.T) {
	c := ready(t)
	add := func(count int32) kmsg.CreatePartitionsResponseTopic {
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "orders", Count: count}}
		return c.ask(req).(*kmsg.CreatePartitionsResponse).Topics[0]
	}
	if r := add(4); r.ErrorCode != 0 {
		t.Fatalf("got %+v", r)
	}
	if n := len(c.leader().active.committed.TopicByName("orders").Partitions); n != 4 {
		t.Errorf("%d partitions", n)
	}
	if r := add(4); text(r.ErrorMessage) != "Topic already has 4 partition(s)." {
		t.Errorf("got %d %s", r.ErrorCode, text(r.ErrorMessage))
	}
	if r := add(2); text(r.ErrorMessage) !=
		"The topic orders currently has 4 partition(s); 2 would not be an increase." {
		t.Errorf("got %d %s", r.ErrorCode, text(r.ErrorMessage))
	}
}

// alter proposes an ISR as the partition's leader.
func (c *cluster) alter(p *metadata.Partition, change func(*kmsg.AlterPartitionRequest),
	isr ...event.NodeID) kmsg.AlterPartitionResponseTopicPartition {
	c.t.Helper()
	b := c.brokers[p.Leader].running
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version = 3
	req.BrokerID, req.BrokerEpoch = int32(p.Leader), b.epoch
	partition := kmsg.NewAlterPartitionRequestTopicPartition()
	partition.LeaderEpoch, partition.PartitionEpoch = int32(p.LeaderEpoch), p.PartitionEpoch
	for _, id := range isr {
		partition.NewEpochISR = append(partition.NewEpochISR,
			kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: int32(id),
				BrokerEpoch: c.brokers[id].running.epoch})
	}
	req.Topics = []kmsg.AlterPartitionRequestTopic{{
		TopicID:    c.leader().active.committed.TopicByName("orders").ID,
		Partitions: []kmsg.AlterPartitionRequestTopicPartition{partition}}}
	if change != nil {
		change(req)
	}
	r := c.askFrom(b, req).(*kmsg.AlterPartitionResponse)
	if r.ErrorCode != 0 {
		return kmsg.AlterPartitionResponseTopicPartition{ErrorCode: r.ErrorCode}
	}
	return r.Topics[0].Partitions[0]
}

func TestAlterPartitionTakesOnlyWhatFits(t *testing.T) {
	c := ready(t)
	p := c.partition("orders", 0)
	leader, other := p.Replicas[0], p.Replicas[1]
	first := func(req *kmsg.AlterPartitionRequest) *kmsg.AlterPartitionRequestTopicPartition {
		return &req.Topics[0].Partitions[0]
	}
	for _, tt := range []struct {
		name   string
		code   int16
		change func(*kmsg.AlterPartitionRequest)
		isr    []event.NodeID
	}{
		{"stale broker epoch", kerr.StaleBrokerEpoch.Code,
			func(r *kmsg.AlterPartitionRequest) { r.BrokerEpoch-- }, p.Replicas},
		{"leader epoch ahead", kerr.NotController.Code,
			func(r *kmsg.AlterPartitionRequest) { first(r).LeaderEpoch++ }, p.Replicas},
		{"leader epoch behind", kerr.FencedLeaderEpoch.Code,
			func(r *kmsg.AlterPartitionRequest) { first(r).LeaderEpoch-- }, p.Replicas},
		{"partition epoch behind", kerr.InvalidUpdateVersion.Code,
			func(r *kmsg.AlterPartitionRequest) { first(r).PartitionEpoch-- }, p.Replicas},
		{"without the leader", kerr.InvalidRequest.Code, nil, []event.NodeID{other}},
		{"member of an older incarnation", kerr.IneligibleReplica.Code,
			func(r *kmsg.AlterPartitionRequest) { first(r).NewEpochISR[1].BrokerEpoch-- }, p.Replicas},
		{"unknown topic", kerr.UnknownTopicID.Code,
			func(r *kmsg.AlterPartitionRequest) { r.Topics[0].TopicID = event.UUID{9: 9} }, p.Replicas},
		{"unknown partition", kerr.UnknownTopicOrPartition.Code,
			func(r *kmsg.AlterPartitionRequest) { first(r).Partition = 7 }, p.Replicas},
	} {
		if r := c.alter(p, tt.change, tt.isr...); r.ErrorCode != tt.code {
			t.Errorf("%s: %d, not %d", tt.name, r.ErrorCode, tt.code)
		}
	}
	r := c.alter(p, nil, leader, other)
	if r.ErrorCode != 0 || r.PartitionEpoch != p.PartitionEpoch+1 || len(r.ISR) != 2 {
		t.Errorf("got %+v", r)
	}
	if now := c.partition("orders", 0); !slices.Equal(now.Isr, []event.NodeID{leader, other}) {
		t.Errorf("the partition is %+v", now)
	}
}

func (c *cluster) setConfig(kind kmsg.ConfigResourceType, name, key, value string) int16 {
	c.t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kind,
		ResourceName: name, Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{
			{Name: key, Value: &value}}}}
	return c.ask(req).(*kmsg.IncrementalAlterConfigsResponse).Resources[0].ErrorCode
}

func TestUncleanElectionWaitsForPermission(t *testing.T) {
	c := ready(t)
	p := c.partition("orders", 0)
	c.alter(p, nil, p.Leader)
	c.kill(p.Leader)
	c.until("nobody leads", 15*time.Second, func() bool {
		return c.partition("orders", 0).Leader == event.NoNode
	})
	if code := c.setConfig(kmsg.ConfigResourceTypeTopic, "orders", configUnclean,
		"true"); code != 0 {
		t.Fatalf("code %d", code)
	}
	now := c.partition("orders", 0)
	if now.Leader == event.NoNode || now.LeaderRecoveryState != metadata.Recovering {
		t.Errorf("the partition is %+v", now)
	}
}

func TestPreferredElectionReturnsTheLeadership(t *testing.T) {
	c := ready(t)
	p := c.partition("orders", 0)
	elect := func(kind int8, topic string) int16 {
		req := kmsg.NewPtrElectLeadersRequest()
		req.ElectionType = kind
		req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: topic, Partitions: []int32{0}}}
		return c.ask(req).(*kmsg.ElectLeadersResponse).Topics[0].Partitions[0].ErrorCode
	}
	if code := elect(electPreferred, "orders"); code != kerr.ElectionNotNeeded.Code {
		t.Errorf("a preferred leader: code %d", code)
	}
	if code := elect(electPreferred, "nosuch"); code != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("an unknown topic: code %d", code)
	}
	if code := elect(electUnclean, "orders"); code != kerr.ElectionNotNeeded.Code {
		t.Errorf("an unclean election with a leader: code %d", code)
	}
	preferred := p.Leader
	c.cleanStop(preferred)
	if code := elect(electPreferred, "orders"); code != kerr.PreferredLeaderNotAvailable.Code {
		t.Errorf("the preferred leader is away: code %d", code)
	}
	c.start(preferred)
	c.untilReady()
	now := c.partition("orders", 0)
	c.alter(now, nil, p.Replicas...)
	if code := elect(electPreferred, "orders"); code != 0 {
		t.Errorf("code %d", code)
	}
	if now := c.partition("orders", 0); now.Leader != preferred {
		t.Errorf("the partition is %+v", now)
	}
}

func TestImbalanceCheckReturnsLeaderships(t *testing.T) {
	c := ready(t)
	p := c.partition("orders", 0)
	c.cleanStop(p.Leader)
	c.start(p.Leader)
	c.untilReady()
	c.alter(c.partition("orders", 0), nil, p.Replicas...)
	c.world.RunFor(301 * time.Second)
	if now := c.partition("orders", 0); now.Leader != p.Leader {
		t.Errorf("the partition is %+v", now)
	}
}

func TestDescribeQuorumKnowsVotersAndObservers(t *testing.T) {
	c := ready(t)
	c.world.RunFor(2 * time.Second)
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Version = 2
	req.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: metadataTopic,
		Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
	p := c.ask(req).(*kmsg.DescribeQuorumResponse).Topics[0].Partitions[0]
	if p.LeaderID != int32(c.leader().env.ID()) || len(p.CurrentVoters) != 3 ||
		len(p.Observers) != 3 {
		t.Fatalf("got %+v", p)
	}
	for _, s := range slices.Concat(p.CurrentVoters, p.Observers) {
		if s.LogEndOffset != p.HighWatermark {
			t.Errorf("%d is at %d of %d", s.ReplicaID, s.LogEndOffset, p.HighWatermark)
		}
	}
	req.Topics[0].Topic = "orders"
	r := c.ask(req).(*kmsg.DescribeQuorumResponse)
	if p := r.Topics[0].Partitions[0]; p.ErrorCode != kerr.UnknownTopicOrPartition.Code ||
		text(p.ErrorMessage) == "" || len(r.Nodes) > 0 {
		t.Errorf("of another topic: %+v", r)
	}
}

func TestManualAssignmentIsTakenOrRefused(t *testing.T) {
	c := ready(t)
	for _, tt := range []struct {
		name        string
		assignments [][]int32
		code        int16
		message     string
	}{
		{"good", [][]int32{{3, 1}, {1, 2}}, 0, ""},
		{"unknown", [][]int32{{1, 9}}, 39, "The manual partition assignment includes broker 9, " +
			"but no such broker is registered."},
		{"twice", [][]int32{{1, 1}}, 39, "The manual partition assignment includes the broker 1 " +
			"more than once."},
	} {
		req := createRequest(tt.name, -1, -1)
		for i, replicas := range tt.assignments {
			req.Topics[0].ReplicaAssignment = append(req.Topics[0].ReplicaAssignment,
				kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(i),
					Replicas: replicas})
		}
		r := c.ask(req).(*kmsg.CreateTopicsResponse).Topics[0]
		if r.ErrorCode != tt.code || text(r.ErrorMessage) != tt.message {
			t.Errorf("%s: %d %q", tt.name, r.ErrorCode, text(r.ErrorMessage))
		}
	}
	if p := c.partition("good", 0); p == nil || !slices.Equal(p.Replicas, []event.NodeID{3, 1}) {
		t.Errorf("the partition is %+v", p)
	}
}

func TestElectionEverywhereTellsOnlyWhatChanged(t *testing.T) {
	c := ready(t)
	c.mustCreate("second", 4, 1)
	p := c.partition("orders", 0)
	c.cleanStop(p.Leader)
	c.start(p.Leader)
	c.untilReady()
	c.alter(c.partition("orders", 0), nil, p.Replicas...)
	req := kmsg.NewPtrElectLeadersRequest()
	req.Topics = nil
	r := c.ask(req).(*kmsg.ElectLeadersResponse)
	if len(r.Topics) != 1 || r.Topics[0].Topic != "orders" ||
		r.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Errorf("got %+v", r.Topics)
	}
}
