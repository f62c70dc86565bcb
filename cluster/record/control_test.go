package record

import (
	"reflect"
	"testing"
)

var quorum = []Voter{
	{ID: 101, Directory: [16]byte{1, 2, 3}, Listener: "CONTROLLER", Host: "localhost", Port: 9093},
	{ID: 102, Directory: [16]byte{4}, Listener: "CONTROLLER", Host: "127.0.0.1", Port: 65535},
}

func TestLeaderChangeReadsBackInBothVersions(t *testing.T) {
	ids := []Voter{{ID: 101}, {ID: 102}}
	with := []Voter{{ID: 101, Directory: [16]byte{1, 2, 3}}, {ID: 102, Directory: [16]byte{4}}}
	for _, c := range []struct {
		value []byte
		want  LeaderChange
	}{
		{LeaderChangeMessageV0(102, ids, ids[1:]), LeaderChange{102, ids, ids[1:]}},
		{LeaderChangeMessage(102, with, with[1:]), LeaderChange{102, with, with[1:]}},
		{LeaderChangeMessage(102, nil, nil), LeaderChange{Leader: 102}},
	} {
		got, err := ParseLeaderChange(c.value)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%x reads as %+v, %v; want %+v", c.value, got, err, c.want)
		}
	}
}

// Kafka 4.4 wrote a first LEADER_CHANGE of three voters, two of which granted, in 106 bytes, a
// snapshot header in 83 and a footer in 75.
func TestControlBatchesHaveKafkasSizes(t *testing.T) {
	three := []Voter{{ID: 101}, {ID: 102}, {ID: 103}}
	for _, c := range []struct {
		kind  ControlType
		value []byte
		bytes int
	}{
		{ControlLeaderChange, LeaderChangeMessageV0(103, three, three[1:]), 106},
		{ControlSnapshotHeader, SnapshotHeaderMessage(1795961237322), 83},
		{ControlSnapshotFooter, SnapshotFooterMessage(), 75},
	} {
		batch := ControlBatch(c.kind, c.value, 7, 2, 1795961063540)
		h, err := ParseHeader(batch)
		if err != nil || len(batch) != c.bytes || h.Attributes != ControlBit || h.BaseOffset != 7 ||
			h.PartitionLeaderEpoch != 2 || h.ProducerID != -1 || !ChecksumHolds(batch) {
			t.Errorf("%v: %d bytes, want %d: %+v, %v", c.kind, len(batch), c.bytes, h, err)
		}
		if _, bad := Validate(changed(batch, func(b []byte) { Stamp(b, 0, 0) }),
			Validation{}); bad == nil || bad.Code != 87 {
			t.Errorf("%v from a client: %+v, want code 87", c.kind, bad)
		}
		if err := EachRecord(batch, 0, func(r Record) error {
			kind, err := ParseControlType(r.Key)
			if kind != c.kind {
				t.Errorf("%v reads as %v", c.kind, kind)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	}
}

func TestSnapshotAndQuorumMessagesReadBack(t *testing.T) {
	ms, err := ParseSnapshotHeader(SnapshotHeaderMessage(1795961237322))
	if err != nil || ms != 1795961237322 {
		t.Errorf("snapshot header: %d, %v", ms, err)
	}
	level, err := ParseKRaftVersion(KRaftVersionMessage(1))
	if err != nil || level != 1 {
		t.Errorf("kraft.version: %d, %v", level, err)
	}
	voters, err := ParseVoters(VotersMessage(quorum))
	if err != nil || !reflect.DeepEqual(voters, quorum) {
		t.Errorf("voters: %+v, %v", voters, err)
	}
}

func TestCutControlMessagesAreErrors(t *testing.T) {
	for name, c := range map[string]struct {
		value []byte
		parse func([]byte) error
	}{
		"leader change": {LeaderChangeMessage(101, quorum, quorum), func(b []byte) error {
			_, err := ParseLeaderChange(b)
			return err
		}},
		"voters": {VotersMessage(quorum), func(b []byte) error {
			_, err := ParseVoters(b)
			return err
		}},
		"snapshot header": {SnapshotHeaderMessage(1), func(b []byte) error {
			_, err := ParseSnapshotHeader(b)
			return err
		}},
		"kraft.version": {KRaftVersionMessage(1), func(b []byte) error {
			_, err := ParseKRaftVersion(b)
			return err
		}},
	} {
		for n := range c.value {
			if c.parse(c.value[:n]) == nil {
				t.Errorf("%s: %d of %d bytes were taken", name, n, len(c.value))
			}
		}
		if c.parse(append(c.value[:len(c.value):len(c.value)], 0)) == nil {
			t.Errorf("%s: a byte too many was taken", name)
		}
	}
}

func TestMarkerReadsBack(t *testing.T) {
	for _, commit := range []bool{true, false} {
		batch := EndTxnMarker(Marker{Commit: commit, ProducerID: 5, CoordinatorEpoch: 3})
		if err := EachRecord(batch, 0, func(r Record) error {
			got, err := ParseEndTxn(r)
			if got != (EndTxn{commit, 3}) {
				t.Errorf("commit %v reads as %+v", commit, got)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	}
	leaderChange := Record{Key: ControlKey(ControlLeaderChange), Value: make([]byte, 6)}
	if _, err := ParseEndTxn(leaderChange); err == nil {
		t.Error("a leader change was read as the end of a transaction")
	}
}

func FuzzControlMessages(f *testing.F) {
	f.Add(LeaderChangeMessage(101, quorum, quorum))
	f.Add(LeaderChangeMessageV0(101, quorum, quorum))
	f.Add(VotersMessage(quorum))
	f.Fuzz(func(t *testing.T, b []byte) {
		if voters, err := ParseVoters(b); err == nil && len(voters) > len(b) {
			t.Errorf("%d voters from %d bytes", len(voters), len(b))
		}
		if c, err := ParseLeaderChange(b); err == nil && len(c.Voters)+len(c.Granting) > len(b) {
			t.Errorf("%d voters from %d bytes", len(c.Voters)+len(c.Granting), len(b))
		}
	})
}
