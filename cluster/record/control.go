package record

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ControlType is what a control record says.
type ControlType int16

// Kafka's control record types (ControlRecordType).
const (
	ControlAbort ControlType = iota
	ControlCommit
	ControlLeaderChange
	ControlSnapshotHeader
	ControlSnapshotFooter
	ControlKRaftVersion
	ControlKRaftVoters
)

var controlNames = [...]string{"ABORT", "COMMIT", "LEADER_CHANGE", "SNAPSHOT_HEADER",
	"SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS"}

// String is Kafka's name of the type.
func (t ControlType) String() string {
	if t >= 0 && int(t) < len(controlNames) {
		return controlNames[t]
	}
	return fmt.Sprintf("control type %d", int16(t))
}

// ParseControlType reads the key of a control record.
func ParseControlType(key []byte) (ControlType, error) {
	if len(key) < 4 {
		return 0, errors.New("record: a control record's key has 4 bytes: version and type")
	}
	if version := int16(binary.BigEndian.Uint16(key)); version < 0 {
		return 0, fmt.Errorf("record: a control record's key has version %d", version)
	}
	return ControlType(binary.BigEndian.Uint16(key[2:])), nil
}

// ControlKey is the key of a control record of the type.
func ControlKey(t ControlType) []byte {
	return binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(t))
}

// Marker is what ends a transaction on a partition.
type Marker struct {
	Commit           bool
	ProducerID       int64
	ProducerEpoch    int16
	CoordinatorEpoch int32
	TimestampMs      int64
}

// EndTxnMarker builds the 78-byte batch that holds the marker.
func EndTxnMarker(m Marker) []byte {
	t := ControlAbort
	if m.Commit {
		t = ControlCommit
	}
	value := binary.BigEndian.AppendUint32([]byte{0, 0}, uint32(m.CoordinatorEpoch))
	b := NewBuilder()
	b.Attributes = ControlBit | TransactionalBit
	b.ProducerID, b.ProducerEpoch = m.ProducerID, m.ProducerEpoch
	b.Add(m.TimestampMs, ControlKey(t), value)
	return b.mustBytes()
}

// mustBytes is Bytes of an uncompressed batch with records, which cannot fail.
func (b *Builder) mustBytes() []byte {
	out, err := b.Bytes()
	if err != nil {
		panic(fmt.Sprintf("record: an uncompressed batch of %d records: %v", b.count, err))
	}
	return out
}

// ControlBatch builds a batch of one control record of the quorum's log: its value is one of the
// flexible messages below.
func ControlBatch(
	t ControlType, value []byte, baseOffset int64, epoch int32, timestampMs int64,
) []byte {
	b := NewBuilder()
	b.Attributes = ControlBit
	b.BaseOffset, b.LeaderEpoch = baseOffset, epoch
	b.Add(timestampMs, ControlKey(t), value)
	return b.mustBytes()
}

// Voter is one member of the quorum in the control records below.
type Voter struct {
	ID        int32
	Directory [16]byte
	Listener  string
	Host      string
	Port      uint16
}

// LeaderChangeMessage encodes, in version 1, who leads the quorum and who voted for it.
func LeaderChangeMessage(leader int32, voters, granting []Voter) []byte {
	return leaderChange(1, leader, voters, granting)
}

// LeaderChangeMessageV0 is the form without directory ids, as static quorums write it.
func LeaderChangeMessageV0(leader int32, voters, granting []Voter) []byte {
	return leaderChange(0, leader, voters, granting)
}

func leaderChange(version uint16, leader int32, voters, granting []Voter) []byte {
	b := binary.BigEndian.AppendUint16(nil, version)
	b = binary.BigEndian.AppendUint32(b, uint32(leader))
	for _, list := range [][]Voter{voters, granting} {
		b = binary.AppendUvarint(b, uint64(len(list))+1)
		for _, v := range list {
			b = binary.BigEndian.AppendUint32(b, uint32(v.ID))
			if version > 0 {
				b = append(b, v.Directory[:]...)
			}
			b = append(b, 0)
		}
	}
	return append(b, 0)
}

// SnapshotHeaderMessage encodes the first record of a metadata snapshot.
func SnapshotHeaderMessage(lastContainedTimestampMs int64) []byte {
	b := binary.BigEndian.AppendUint16(nil, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(lastContainedTimestampMs))
	return append(b, 0)
}

// SnapshotFooterMessage encodes the last record of a metadata snapshot.
func SnapshotFooterMessage() []byte { return []byte{0, 0, 0} }

// KRaftVersionMessage encodes the quorum's feature level.
func KRaftVersionMessage(level int16) []byte {
	b := binary.BigEndian.AppendUint16(nil, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(level))
	return append(b, 0)
}

// VotersMessage encodes the quorum's members.
func VotersMessage(voters []Voter) []byte {
	b := binary.BigEndian.AppendUint16(nil, 0)
	b = binary.AppendUvarint(b, uint64(len(voters))+1)
	for _, v := range voters {
		b = binary.BigEndian.AppendUint32(b, uint32(v.ID))
		b = append(b, v.Directory[:]...)
		b = binary.AppendUvarint(b, 2) // one endpoint
		b = appendCompact(b, v.Listener)
		b = appendCompact(b, v.Host)
		b = binary.BigEndian.AppendUint16(b, v.Port)
		b = append(b, 0)          // of the endpoint
		b = append(b, 0, 0, 0, 1) // kraft.version 0 to 1
		b = append(b, 0, 0)       // of the feature range, of the voter
	}
	return append(b, 0)
}

func appendCompact(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s))+1)
	return append(b, s...)
}
