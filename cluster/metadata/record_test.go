package metadata

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"highwater/cluster/event"
)

func uuid(b byte) event.UUID { return event.UUID{0: b, 15: b} }

func text(s string) *string { return &s }

func nodes(ids ...event.NodeID) []event.NodeID {
	if ids == nil {
		return []event.NodeID{}
	}
	return ids
}

// everyRecord holds each kind at least once, with every field filled and with none.
func everyRecord() []Record {
	endpoints := []Endpoint{{Name: "PLAINTEXT", Host: "h", Port: 65535, SecurityProtocol: 3}}
	features := []FeatureRange{{Name: "metadata.version", Min: 7, Max: 33}}
	full := NewPartitionChangeRecord(uuid(2), 7)
	full.Isr, full.Leader, full.Replicas = nodes(1), 1, nodes(1, 2)
	full.RemovingReplicas, full.AddingReplicas = nodes(3), nodes()
	full.LeaderRecoveryState, full.EligibleLeaderReplicas = Recovered, nodes(2)
	full.LastKnownElr, full.Directories = nodes(), []event.UUID{uuid(8), uuid(9)}
	return []Record{
		&RegisterBrokerRecord{BrokerID: 1, BrokerEpoch: 1 << 40, IncarnationID: uuid(1),
			IsMigratingZkBroker: true, EndPoints: endpoints, Features: features,
			Rack: text("r1"), Fenced: true, InControlledShutdown: true,
			LogDirs: []event.UUID{uuid(4)}, CordonedLogDirs: []event.UUID{}},
		&RegisterBrokerRecord{},
		&UnregisterBrokerRecord{BrokerID: 2, BrokerEpoch: 9},
		&TopicRecord{Name: "orders", TopicID: uuid(2)},
		&PartitionRecord{PartitionID: 3, TopicID: uuid(2), Replicas: nodes(1, 2, 3),
			Isr: nodes(1), RemovingReplicas: nodes(2), AddingReplicas: nodes(3), Leader: -1,
			LeaderRecoveryState: 1, LeaderEpoch: 4, PartitionEpoch: 5,
			Directories:            []event.UUID{uuid(5), uuid(6), uuid(7)},
			EligibleLeaderReplicas: nodes(2), LastKnownElr: nodes(1)},
		&PartitionRecord{},
		&ConfigRecord{ResourceType: ResourceTopic, ResourceName: "orders",
			Name: "min.insync.replicas", Value: text("2")},
		&ConfigRecord{},
		full,
		NewPartitionChangeRecord(uuid(2), 0),
		&RemoveTopicRecord{TopicID: uuid(2)},
		&FeatureLevelRecord{Name: "metadata.version", FeatureLevel: 33},
		&ProducerIdsRecord{BrokerID: 1, BrokerEpoch: 2, NextProducerID: 3000},
		&BrokerRegistrationChangeRecord{BrokerID: 1, BrokerEpoch: 2, Fenced: Unfence,
			InControlledShutdown: 1, LogDirs: []event.UUID{uuid(1)},
			CordonedLogDirs: []event.UUID{}},
		&BrokerRegistrationChangeRecord{},
		&NoOpRecord{},
		&BeginTransactionRecord{Name: text("Bootstrap records")},
		&BeginTransactionRecord{},
		&EndTransactionRecord{},
		&AbortTransactionRecord{Reason: text("")},
		&RegisterControllerRecord{ControllerID: 101, IncarnationID: uuid(1),
			ZkMigrationReady: true, EndPoints: endpoints, Features: features},
		&ClearElrRecord{TopicName: "orders"},
		&Unknown{ApiKey: 14, Version: 0, Bytes: []byte{1, 2, 3}},
	}
}

func TestEveryRecordDecodesToWhatWasEncoded(t *testing.T) {
	for _, r := range everyRecord() {
		got, err := Decode(Encode(r))
		if err != nil {
			t.Errorf("%s: %v", Name(r), err)
		} else if !reflect.DeepEqual(got, r) {
			t.Errorf("%s: decoded\n%+v, want\n%+v", Name(r), got, r)
		}
	}
}

// The shapes and versions are those found in a Kafka 4.4 cluster's own metadata log.
func TestRecordsHaveKafkasBytes(t *testing.T) {
	change := NewPartitionChangeRecord(uuid(2), 1)
	change.Isr, change.Leader = nodes(), event.NoNode
	change.EligibleLeaderReplicas, change.LastKnownElr = nodes(1, 2), nodes(1)
	id := "0200000000000000" + "0000000000000002"
	for _, c := range []struct {
		record Record
		want   string
	}{
		{&NoOpRecord{}, "01140000"},
		{&FeatureLevelRecord{Name: "group.version", FeatureLevel: 1},
			"010c000e" + hex.EncodeToString([]byte("group.version")) + "000100"},
		{&BrokerRegistrationChangeRecord{BrokerID: 2, BrokerEpoch: 11, Fenced: Unfence},
			"011100" + "00000002" + "000000000000000b" + "01" + "0001ff"},
		{&BrokerRegistrationChangeRecord{BrokerID: 2, BrokerEpoch: 11,
			CordonedLogDirs: []event.UUID{}},
			"011103" + "00000002" + "000000000000000b" + "01" + "030101"},
		{change, "010502" + "00000001" + id + "04" + "000101" + "0104ffffffff" +
			"0609" + "030000000100000002" + "0705" + "0200000001"},
	} {
		if got := hex.EncodeToString(Encode(c.record)); got != c.want {
			t.Errorf("%s %+v:\n got %s\nwant %s", Name(c.record), c.record, got, c.want)
		}
	}
}

func TestBrokerRegistrationChangeIsWrittenInTheLowestVersionThatCanSayIt(t *testing.T) {
	for want, r := range []*BrokerRegistrationChangeRecord{
		{Fenced: Fence}, {InControlledShutdown: 1}, {LogDirs: []event.UUID{uuid(1)}},
		{CordonedLogDirs: []event.UUID{}},
	} {
		if got := Encode(r)[2]; int(got) != want {
			t.Errorf("%+v: version %d, want %d", r, got, want)
		}
	}
}

func TestOlderVersionsDecodeWithoutTheNewerFields(t *testing.T) {
	old := Encode(&PartitionRecord{PartitionID: 1, TopicID: uuid(2), Replicas: nodes(1)})
	old[2] = 0
	// Version 0 has no directories, which were written as one byte before the tag count.
	old = append(old[:len(old)-2], 0)
	r, err := Decode(old)
	if err != nil {
		t.Fatal(err)
	}
	if p := r.(*PartitionRecord); p.PartitionID != 1 || p.Directories != nil {
		t.Errorf("decoded %+v", p)
	}
}

func TestRecordsOfOtherKindsAndNewerVersionsAreKept(t *testing.T) {
	for _, value := range [][]byte{{1, 14, 0, 9, 9}, {1, 3, 99, 7}} {
		r, err := Decode(value)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := r.(*Unknown); !ok || !bytes.Equal(Encode(r), value) {
			t.Errorf("% x became %+v, % x", value, r, Encode(r))
		}
	}
}

func TestUnknownTagsAreSkipped(t *testing.T) {
	r, err := Decode([]byte{1, 20, 0, 1, 5, 2, 0xaa, 0xbb})
	if _, ok := r.(*NoOpRecord); err != nil || !ok {
		t.Errorf("got %v, %v", r, err)
	}
}

func TestDecodeNamesWhatIsWrongAndWhere(t *testing.T) {
	topic := Encode(&TopicRecord{Name: "orders", TopicID: uuid(2)})
	for _, c := range []struct {
		value []byte
		want  []string
	}{
		{nil, []string{"frame version", "byte 0"}},
		{[]byte{2, 20, 0, 0}, []string{"frame version", "2, not 1"}},
		{topic[:8], []string{"TopicRecord", "name", "byte 4"}},
		{append(bytes.Clone(topic), 0), []string{"TopicRecord", "left over"}},
		{[]byte{1, 2, 0, 0}, []string{"TopicRecord", "null"}},
		{[]byte{1, 20, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, []string{"32 bits"}},
		{[]byte{1, 20, 0, 2, 1, 0, 1, 0}, []string{"tag 1 after tag 1"}},
		{[]byte{1, 23, 0, 1, 0, 3, 2, 'a', 'b'}, []string{"name", "1 bytes of its tag"}},
	} {
		_, err := Decode(c.value)
		if err == nil {
			t.Errorf("% x: no error", c.value)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("% x: %q lacks %q", c.value, err, want)
			}
		}
	}
}

func TestCountsAreBoundedByTheBytesThereAre(t *testing.T) {
	value := append([]byte{1, 3, 2}, make([]byte, 20)...)
	value = append(value, 0xff, 0xff, 0xff, 0xff, 0x0f)
	allocated := testing.AllocsPerRun(1, func() {
		if _, err := Decode(value); err == nil {
			t.Error("four billion replicas in no bytes: no error")
		}
	})
	if allocated > 50 {
		t.Errorf("%v allocations", allocated)
	}
}

func FuzzDecode(f *testing.F) {
	for _, r := range everyRecord() {
		f.Add(Encode(r))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		r, err := Decode(value)
		if err != nil {
			return
		}
		again, err := Decode(Encode(r))
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("% x: %+v became %+v, %v", value, r, again, err)
		}
	})
}
