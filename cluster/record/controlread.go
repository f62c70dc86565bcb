package record

import (
	"encoding/binary"
	"fmt"
)

// EndTxn is what a transaction marker's record says.
type EndTxn struct {
	Commit           bool
	CoordinatorEpoch int32
}

// ParseEndTxn reads the record of a marker batch.
func ParseEndTxn(r Record) (EndTxn, error) {
	t, err := ParseControlType(r.Key)
	if err != nil {
		return EndTxn{}, err
	}
	if t != ControlAbort && t != ControlCommit {
		return EndTxn{}, fmt.Errorf("record: %v ends no transaction", t)
	}
	in := flexible{b: r.Value}
	in.version()
	out := EndTxn{t == ControlCommit, int32(in.uint32())}
	return out, in.failure(t)
}

// LeaderChange is who leads the quorum, and who voted for it.
type LeaderChange struct {
	Leader           int32
	Voters, Granting []Voter // ids, and in version 1 directories
}

// ParseLeaderChange reads the value of a LEADER_CHANGE record, version 0 or 1.
func ParseLeaderChange(value []byte) (LeaderChange, error) {
	in := flexible{b: value}
	version := in.version()
	out := LeaderChange{Leader: int32(in.uint32())}
	for _, list := range []*[]Voter{&out.Voters, &out.Granting} {
		for range in.count(5) {
			v := Voter{ID: int32(in.uint32())}
			if version >= 1 {
				v.Directory = in.uuid()
			}
			in.skipTags()
			*list = append(*list, v)
		}
	}
	in.skipTags()
	return out, in.failure(ControlLeaderChange)
}

// ParseSnapshotHeader reads the value of a SNAPSHOT_HEADER record: the append time of the last
// record that the snapshot contains.
func ParseSnapshotHeader(value []byte) (lastContainedTimestampMs int64, err error) {
	in := flexible{b: value}
	in.version()
	ms := int64(in.uint64())
	in.skipTags()
	return ms, in.failure(ControlSnapshotHeader)
}

// ParseKRaftVersion reads the value of a KRAFT_VERSION record.
func ParseKRaftVersion(value []byte) (level int16, err error) {
	in := flexible{b: value}
	in.version()
	level = int16(in.uint16())
	in.skipTags()
	return level, in.failure(ControlKRaftVersion)
}

// ParseVoters reads the value of a KRAFT_VOTERS record. Of several endpoints it keeps the first.
func ParseVoters(value []byte) ([]Voter, error) {
	in := flexible{b: value}
	in.version()
	var out []Voter
	for range in.count(26) {
		v := Voter{ID: int32(in.uint32()), Directory: in.uuid()}
		for i := range in.count(5) {
			listener, host, port := in.string(), in.string(), in.uint16()
			in.skipTags()
			if i == 0 {
				v.Listener, v.Host, v.Port = listener, host, port
			}
		}
		in.take(4) // the range of kraft.version
		in.skipTags()
		in.skipTags()
		out = append(out, v)
	}
	in.skipTags()
	return out, in.failure(ControlKRaftVoters)
}

// flexible reads Kafka's flexible encoding. After a failure it returns zeros.
type flexible struct {
	b   []byte
	bad bool
}

// failure says that the message was cut short, or that something lies behind it.
func (f *flexible) failure(t ControlType) error {
	if f.bad {
		return fmt.Errorf("record: the value of %v is malformed", t)
	}
	if len(f.b) > 0 {
		return fmt.Errorf("record: the value of %v has %d bytes too many", t, len(f.b))
	}
	return nil
}

func (f *flexible) take(n int) []byte {
	if f.bad || n < 0 || n > len(f.b) {
		f.bad, f.b = true, nil
		return nil
	}
	out := f.b[:n]
	f.b = f.b[n:]
	return out
}

func (f *flexible) version() int16 { return int16(f.uint16()) }

func (f *flexible) uint16() uint16 {
	if b := f.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (f *flexible) uint32() uint32 {
	if b := f.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (f *flexible) uint64() uint64 {
	if b := f.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (f *flexible) uuid() (out [16]byte) {
	copy(out[:], f.take(16))
	return out
}

func (f *flexible) uvarint() uint64 {
	v, n := binary.Uvarint(f.b)
	if f.bad || n <= 0 {
		f.bad, f.b = true, nil
		return 0
	}
	f.b = f.b[n:]
	return v
}

// count reads an array's length and checks it against the least bytes that an element takes.
func (f *flexible) count(elementBytesMin int) int {
	n := f.uvarint()
	if f.bad || n == 0 || n-1 > uint64(len(f.b)/elementBytesMin) {
		f.bad, f.b = true, nil
		return 0
	}
	return int(n - 1)
}

func (f *flexible) string() string {
	n := f.uvarint()
	if f.bad || n == 0 || n-1 > uint64(len(f.b)) {
		f.bad, f.b = true, nil
		return ""
	}
	return string(f.take(int(n - 1)))
}

func (f *flexible) skipTags() {
	for tags := f.uvarint(); tags > 0 && !f.bad; tags-- {
		f.uvarint() // the tag
		size := f.uvarint()
		if size > uint64(len(f.b)) {
			f.bad, f.b = true, nil
			return
		}
		f.take(int(size))
	}
}
