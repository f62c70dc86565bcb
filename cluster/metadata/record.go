package metadata

import (
	"errors"
	"fmt"

	"highwater/cluster/event"
)

// Record is one record of the metadata log. The set is closed: a switch over the types of this
// file and Unknown sees everything that Decode can return.
type Record interface {
	// apiKey is the number that says on disk which record follows.
	apiKey() int16
	// newest is the highest version that Decode understands.
	newest() int16
	// versionToWrite is the version Kafka 4.4 writes at metadata.version 33.
	versionToWrite() int16
	// walk codes the fields in their order on disk.
	walk(c *coder)
}

// MetadataVersion is the metadata.version whose record versions Encode writes.
const MetadataVersion = 33

// frameVersion is the version of the frame around every record.
const frameVersion = 1

// valueBytesMax bounds the value of one metadata record; Kafka's own batches are smaller.
const valueBytesMax = 8 << 20

// Unknown is a record of another kind, or of a version newer than ours: carried, never applied.
type Unknown struct {
	// ApiKey and Version are the frame's, Bytes the message after it.
	ApiKey  int16
	Version int16
	Bytes   []byte
}

func (r *Unknown) apiKey() int16         { return r.ApiKey }
func (r *Unknown) newest() int16         { return r.Version }
func (r *Unknown) versionToWrite() int16 { return r.Version }

func (r *Unknown) walk(c *coder) {
	if c.decoding {
		r.Bytes = append([]byte(nil), c.take("bytes", len(c.in)-c.at)...)
		return
	}
	c.out = append(c.out, r.Bytes...)
}

// newRecord returns an empty record of the kind, or nil for kinds we do not know.
func newRecord(apiKey int16) Record {
	switch apiKey {
	case 0:
		return &RegisterBrokerRecord{}
	case 1:
		return &UnregisterBrokerRecord{}
	case 2:
		return &TopicRecord{}
	case 3:
		return &PartitionRecord{}
	case 4:
		return &ConfigRecord{}
	case 5:
		return NewPartitionChangeRecord(event.UUID{}, -1)
	case 9:
		return &RemoveTopicRecord{}
	case 12:
		return &FeatureLevelRecord{}
	case 15:
		return &ProducerIdsRecord{}
	case 17:
		return &BrokerRegistrationChangeRecord{}
	case 20:
		return &NoOpRecord{}
	case 23:
		return &BeginTransactionRecord{}
	case 24:
		return &EndTransactionRecord{}
	case 25:
		return &AbortTransactionRecord{}
	case 27:
		return &RegisterControllerRecord{}
	case 28:
		return &ClearElrRecord{}
	}
	return nil
}

// Encode returns the value under which r stands in the metadata log: frame version, api key and
// version as unsigned varints, then the flexible message.
func Encode(r Record) []byte {
	c := &coder{version: r.versionToWrite()}
	frame, key, version := uint32(frameVersion), uint32(r.apiKey()), uint32(c.version)
	c.uvarint("frame version", &frame)
	c.uvarint("api key", &key)
	c.uvarint("version", &version)
	r.walk(c)
	return c.out
}

// Decode reads one value of the metadata log. Its errors name the record, the field and the byte.
func Decode(value []byte) (Record, error) {
	if len(value) > valueBytesMax {
		return nil, fmt.Errorf("metadata: a record of %d bytes, over %d", len(value), valueBytesMax)
	}
	c := &coder{decoding: true, in: value}
	var frame, key, version uint32
	c.uvarint("frame version", &frame)
	if c.err == nil && frame != frameVersion {
		c.fail("frame version", fmt.Errorf("%d, not %d", frame, frameVersion))
	}
	c.uvarint("api key", &key)
	c.uvarint("version", &version)
	if c.err == nil && (key > 1<<15-1 || version > 1<<15-1) {
		c.fail("frame", fmt.Errorf("api key %d version %d", key, version))
	}
	if c.err != nil {
		return nil, fmt.Errorf("metadata: decode frame: %w", c.err)
	}
	c.version = int16(version)
	r := newRecord(int16(key))
	if r == nil || c.version > r.newest() {
		r = &Unknown{ApiKey: int16(key), Version: c.version}
	}
	r.walk(c)
	if c.err == nil && c.at != len(value) {
		c.fail("end", errors.New("bytes are left over"))
	}
	if c.err != nil {
		return nil, fmt.Errorf("metadata: decode %s version %d: %w", Name(r), version, c.err)
	}
	return r, nil
}

// Name returns Kafka's name of the record's kind, such as PartitionRecord.
func Name(r Record) string {
	switch r := r.(type) {
	case *Unknown:
		return fmt.Sprintf("record with api key %d", r.ApiKey)
	default:
		return fmt.Sprintf("%T", r)[len("*metadata."):]
	}
}
