package metadata

import (
	"fmt"
	"reflect"
	"strconv"
	"testing"

	"highwater/cluster/event"
)

// applyAll applies records one after another and fails the test at the first error.
func applyAll(t testing.TB, im *Image, records ...Record) *Image {
	t.Helper()
	for _, r := range records {
		after, err := im.Apply(r)
		if err != nil {
			t.Fatal(err)
		}
		im = after
	}
	return im
}

// threeBrokers is a cluster with the topic orders (partitions 0 and 1 on 1, 2, 3) and a few
// configuration values.
func threeBrokers(t testing.TB) *Image {
	im := NewImage("cluster")
	for id := event.NodeID(3); id >= 1; id-- {
		im = applyAll(t, im, &RegisterBrokerRecord{BrokerID: id, BrokerEpoch: int64(id) * 10,
			EndPoints: []Endpoint{{Name: "PLAINTEXT", Host: "h", Port: uint16(9090 + id)}},
			Rack:      text("r"), LogDirs: []event.UUID{uuid(byte(id))}})
	}
	return applyAll(t, im,
		&RegisterControllerRecord{ControllerID: 101},
		&FeatureLevelRecord{Name: "share.version", FeatureLevel: 2},
		&FeatureLevelRecord{Name: FeatureElr, FeatureLevel: 1},
		&FeatureLevelRecord{Name: "metadata.version", FeatureLevel: 33},
		&TopicRecord{Name: "orders", TopicID: uuid(2)},
		partition(1), partition(0),
		&ConfigRecord{ResourceTopic, "orders", "retention.ms", text("5")},
		&ConfigRecord{ResourceTopic, "orders", "cleanup.policy", text("delete")},
		&ConfigRecord{ResourceBroker, "", "min.insync.replicas", text("1")},
		&ProducerIdsRecord{BrokerID: 1, BrokerEpoch: 10, NextProducerID: 1000},
	)
}

func partition(index int32) *PartitionRecord {
	return &PartitionRecord{PartitionID: index, TopicID: uuid(2), Replicas: nodes(1, 2, 3),
		Isr: nodes(1, 2, 3), Leader: 1, Directories: []event.UUID{uuid(1), uuid(2), uuid(3)}}
}

// dump writes all of an image as text, to compare it before and after.
func dump(im *Image) string {
	out := fmt.Sprint(im.ClusterID(), im.Features(), im.NextProducerID(), im.TopicCount())
	for _, r := range im.Records() {
		out += fmt.Sprintf("\n%s %x", Name(r), Encode(r))
	}
	return out
}

func TestImageListsEverythingInOrder(t *testing.T) {
	im := applyAll(t, threeBrokers(t), &TopicRecord{Name: "audit", TopicID: uuid(9)})
	var got []string
	for _, b := range im.Brokers() {
		got = append(got, strconv.Itoa(int(b.ID)))
	}
	for _, topic := range im.Topics() {
		got = append(got, topic.Name)
		for _, p := range topic.Partitions {
			got = append(got, strconv.Itoa(int(p.Index)))
		}
	}
	for _, f := range im.Features() {
		got = append(got, f.Name)
	}
	for _, e := range im.Config(ResourceTopic, "orders") {
		got = append(got, e.Name+"="+e.Value)
	}
	want := []string{"1", "2", "3", "audit", "orders", "0", "1", FeatureElr, "metadata.version",
		"share.version", "cleanup.policy=delete", "retention.ms=5"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if e, ok := im.Broker(2).Endpoint("PLAINTEXT"); !ok || e.Port != 9092 {
		t.Errorf("broker 2's end point is %v", e)
	}
	if im.TopicByID(uuid(2)) != im.TopicByName("orders") || im.TopicByID(uuid(3)) != nil {
		t.Error("topics are not found by id")
	}
	if im.Partition("orders", 2) != nil || im.Partition("orders", 1).Index != 1 {
		t.Error("partitions are not found by index")
	}
}

func TestApplyLeavesTheOldImageAlone(t *testing.T) {
	im := threeBrokers(t)
	before := dump(im)
	change := NewPartitionChangeRecord(uuid(2), 0)
	change.Isr, change.Leader = nodes(2), 2
	for _, r := range []Record{
		&RegisterBrokerRecord{BrokerID: 2, BrokerEpoch: 99},
		&RegisterBrokerRecord{BrokerID: 4},
		&UnregisterBrokerRecord{BrokerID: 2, BrokerEpoch: 20},
		&BrokerRegistrationChangeRecord{BrokerID: 3, BrokerEpoch: 30, Fenced: Fence},
		&RegisterControllerRecord{ControllerID: 101, ZkMigrationReady: true},
		&TopicRecord{Name: "a", TopicID: uuid(7)},
		partition(2), partition(0), change,
		&RemoveTopicRecord{TopicID: uuid(2)},
		&ConfigRecord{ResourceTopic, "orders", "retention.ms", text("6")},
		&ConfigRecord{ResourceTopic, "orders", "retention.ms", nil},
		&ConfigRecord{ResourceTopic, "orders", "segment.ms", text("6")},
		&FeatureLevelRecord{Name: FeatureElr}, &FeatureLevelRecord{Name: "a", FeatureLevel: 1},
		&ProducerIdsRecord{NextProducerID: 2000},
	} {
		after := applyAll(t, im, r)
		if dump(im) != before {
			t.Fatalf("%s changed the image it was applied to", Name(r))
		}
		if _, same := r.(*PartitionRecord); !same && dump(after) == before {
			t.Errorf("%s changed nothing", Name(r))
		}
	}
}

func TestApplyDoesNotKeepTheRecordsSlices(t *testing.T) {
	r := partition(2)
	im := applyAll(t, threeBrokers(t), r)
	r.Isr[0] = 42
	if im.Partition("orders", 2).Isr[0] != 1 {
		t.Error("changing a record changed the image")
	}
}

func TestPartitionChangeBumpsEpochs(t *testing.T) {
	im := threeBrokers(t)
	shrink := NewPartitionChangeRecord(uuid(2), 0)
	shrink.Isr = nodes(1, 2)
	p := applyAll(t, im, shrink).Partition("orders", 0)
	if p.LeaderEpoch != 0 || p.PartitionEpoch != 1 || p.Leader != 1 || len(p.Isr) != 2 {
		t.Errorf("after a shrink: %+v", p)
	}
	same := NewPartitionChangeRecord(uuid(2), 0)
	same.Leader = 1
	p = applyAll(t, im, shrink, same).Partition("orders", 0)
	if p.LeaderEpoch != 1 || p.PartitionEpoch != 2 || len(p.Isr) != 2 {
		t.Errorf("after naming the same leader: %+v", p)
	}
}

func TestClearElrChangesOnlyPartitionsThatHadOne(t *testing.T) {
	change := NewPartitionChangeRecord(uuid(2), 1)
	change.EligibleLeaderReplicas = nodes(3)
	im := applyAll(t, threeBrokers(t), change)
	for _, name := range []string{"orders", ""} {
		cleared := applyAll(t, im, &ClearElrRecord{TopicName: name})
		p0, p1 := cleared.Partition("orders", 0), cleared.Partition("orders", 1)
		if p0 != im.Partition("orders", 0) || len(p1.Elr) != 0 || p1.PartitionEpoch != 2 {
			t.Errorf("clearing %q: %+v, %+v", name, p0, p1)
		}
	}
}

func TestRemovedTopicTakesItsConfigurationAlong(t *testing.T) {
	im := applyAll(t, threeBrokers(t), &RemoveTopicRecord{TopicID: uuid(2)},
		&TopicRecord{Name: "orders", TopicID: uuid(3)})
	if got := im.Config(ResourceTopic, "orders"); len(got) != 0 {
		t.Errorf("the new topic has %v", got)
	}
	if im.TopicByID(uuid(2)) != nil || im.TopicCount() != 1 {
		t.Error("the old topic is still there")
	}
}

func TestApplyRefusesRecordsThatContradictTheImage(t *testing.T) {
	im := threeBrokers(t)
	for _, r := range []Record{
		&UnregisterBrokerRecord{BrokerID: 9},
		&UnregisterBrokerRecord{BrokerID: 1, BrokerEpoch: 11},
		&BrokerRegistrationChangeRecord{BrokerID: 1, BrokerEpoch: 9, Fenced: Fence},
		&TopicRecord{Name: "orders", TopicID: uuid(3)},
		&TopicRecord{Name: "other", TopicID: uuid(2)},
		&PartitionRecord{TopicID: uuid(7)},
		NewPartitionChangeRecord(uuid(7), 0), NewPartitionChangeRecord(uuid(2), 5),
		&RemoveTopicRecord{TopicID: uuid(7)}, &ClearElrRecord{TopicName: "nosuch"},
		&EndTransactionRecord{}, &AbortTransactionRecord{},
	} {
		if after, err := im.Apply(r); err == nil || after != nil {
			t.Errorf("%s %+v: %v, %v", Name(r), r, after, err)
		}
	}
}

func TestAbortedMetadataTransactionLeavesNothing(t *testing.T) {
	im := threeBrokers(t)
	open := applyAll(t, im, &BeginTransactionRecord{}, &TopicRecord{Name: "a", TopicID: uuid(9)})
	if !open.InTransaction() || open.TopicByName("a") == nil {
		t.Error("the open transaction does not show its records")
	}
	if _, err := open.Apply(&BeginTransactionRecord{}); err == nil {
		t.Error("a second transaction began inside the first")
	}
	if applyAll(t, open, &AbortTransactionRecord{}) != im {
		t.Error("something is left of the aborted transaction")
	}
	ended := applyAll(t, open, &EndTransactionRecord{})
	if ended.InTransaction() || ended.TopicByName("a") == nil {
		t.Error("the ended transaction is not there")
	}
}

func TestSnapshotRebuildsTheImage(t *testing.T) {
	change := NewPartitionChangeRecord(uuid(2), 1)
	change.Isr, change.Leader = nodes(), event.NoNode
	change.EligibleLeaderReplicas, change.LastKnownElr = nodes(1), nodes(1)
	im := applyAll(t, threeBrokers(t), change,
		&BrokerRegistrationChangeRecord{BrokerID: 2, BrokerEpoch: 20, Fenced: Fence,
			CordonedLogDirs: []event.UUID{}})
	records := im.Records()
	if f, ok := records[0].(*FeatureLevelRecord); !ok || f.Name != "metadata.version" {
		t.Errorf("the snapshot begins with %+v", records[0])
	}
	rebuilt := applyAll(t, NewImage("cluster"), records...)
	if dump(rebuilt) != dump(im) {
		t.Errorf("rebuilt\n%s\nwant\n%s", dump(rebuilt), dump(im))
	}
	if changes := Changes(im, rebuilt); len(changes) == 0 {
		t.Error("objects of their own count as the same objects")
	}
}

// TestTenThousandTopicsStayUsable bounds the memory a change takes: it must not copy all topics.
func TestTenThousandTopicsStayUsable(t *testing.T) {
	im := NewImage("cluster")
	for i := range 10_000 {
		id := event.UUID{0: byte(i), 1: byte(i >> 8), 15: 1}
		im = applyAll(t, im, &TopicRecord{Name: fmt.Sprintf("topic-%d", i), TopicID: id},
			&PartitionRecord{TopicID: id, Replicas: nodes(1), Isr: nodes(1), Leader: 1})
	}
	if im.TopicCount() != 10_000 || len(im.Topics()) != 10_000 {
		t.Fatalf("%d topics", len(im.Topics()))
	}
	change := NewPartitionChangeRecord(im.TopicByName("topic-77").ID, 0)
	change.Leader = 1
	var after *Image
	if got := testing.AllocsPerRun(10, func() { after = applyAll(t, im, change) }); got > 100 {
		t.Errorf("one change took %v allocations", got)
	}
	var changes []Change
	got := testing.AllocsPerRun(10, func() { changes = Changes(im, after) })
	if len(changes) != 1 || got > 200 {
		t.Errorf("%d changes were found with %v allocations", len(changes), got)
	}
}
