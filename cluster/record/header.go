package record

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Sizes of the record batch v2 (Kafka's DefaultRecordBatch and Records).
const (
	HeaderBytes = 61 // of a batch before its records
	LogOverhead = 12 // baseOffset and batchLength, which batchLength does not count
	magicV2     = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Attributes are the bits of a batch's attributes field.
type Attributes int16

// The attribute bits beside the codec's three.
const (
	LogAppendTimeBit Attributes = 1 << 3
	TransactionalBit Attributes = 1 << 4
	ControlBit       Attributes = 1 << 5
	DeleteHorizonBit Attributes = 1 << 6
)

// Codec is how the batch's records are compressed.
func (a Attributes) Codec() Codec { return Codec(a & 7) }

func (a Attributes) withCodec(c Codec) Attributes { return a&^7 | Attributes(c)&7 }

// LogAppendTime says that the broker, not the client, set the timestamps.
func (a Attributes) LogAppendTime() bool { return a&LogAppendTimeBit != 0 }

// Transactional says that the batch belongs to a transaction.
func (a Attributes) Transactional() bool { return a&TransactionalBit != 0 }

// Control says that the batch holds a control record, which clients never see.
func (a Attributes) Control() bool { return a&ControlBit != 0 }

// DeleteHorizon says that BaseTimestamp is the time at which tombstones may go (KIP-534).
func (a Attributes) DeleteHorizon() bool { return a&DeleteHorizonBit != 0 }

// Header is the fixed part of a batch.
type Header struct {
	BaseOffset           int64
	BatchLength          int32
	PartitionLeaderEpoch int32
	Magic                int8
	CRC                  uint32
	Attributes           Attributes
	LastOffsetDelta      int32
	BaseTimestamp        int64
	MaxTimestamp         int64
	ProducerID           int64
	ProducerEpoch        int16
	BaseSequence         int32
	RecordsCount         int32
}

// ParseHeader reads a batch's header and refuses what cannot be a batch v2. It does not look
// beyond the header: whether the bytes are all there and whether the CRC holds is the caller's.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderBytes {
		return Header{}, fmt.Errorf("record: %d bytes are less than a batch header", len(b))
	}
	h := readHeader(b)
	switch {
	case h.Magic != magicV2:
		return h, fmt.Errorf("record: batch has magic %d, only 2 is known", h.Magic)
	case h.BatchLength < HeaderBytes-LogOverhead:
		return h, fmt.Errorf("record: batch length %d is less than a header", h.BatchLength)
	case h.LastOffsetDelta < 0 || h.RecordsCount < 0:
		return h, fmt.Errorf("record: batch with last offset delta %d and %d records",
			h.LastOffsetDelta, h.RecordsCount)
	}
	return h, nil
}

func readHeader(b []byte) Header {
	return Header{
		BaseOffset:           int64(binary.BigEndian.Uint64(b)),
		BatchLength:          int32(binary.BigEndian.Uint32(b[8:])),
		PartitionLeaderEpoch: int32(binary.BigEndian.Uint32(b[12:])),
		Magic:                int8(b[16]),
		CRC:                  binary.BigEndian.Uint32(b[17:]),
		Attributes:           Attributes(binary.BigEndian.Uint16(b[21:])),
		LastOffsetDelta:      int32(binary.BigEndian.Uint32(b[23:])),
		BaseTimestamp:        int64(binary.BigEndian.Uint64(b[27:])),
		MaxTimestamp:         int64(binary.BigEndian.Uint64(b[35:])),
		ProducerID:           int64(binary.BigEndian.Uint64(b[43:])),
		ProducerEpoch:        int16(binary.BigEndian.Uint16(b[51:])),
		BaseSequence:         int32(binary.BigEndian.Uint32(b[53:])),
		RecordsCount:         int32(binary.BigEndian.Uint32(b[57:])),
	}
}

// Put writes the header to the first 61 bytes of b.
func (h Header) Put(b []byte) {
	binary.BigEndian.PutUint64(b, uint64(h.BaseOffset))
	binary.BigEndian.PutUint32(b[8:], uint32(h.BatchLength))
	binary.BigEndian.PutUint32(b[12:], uint32(h.PartitionLeaderEpoch))
	b[16] = byte(h.Magic)
	binary.BigEndian.PutUint32(b[17:], h.CRC)
	binary.BigEndian.PutUint16(b[21:], uint16(h.Attributes))
	binary.BigEndian.PutUint32(b[23:], uint32(h.LastOffsetDelta))
	binary.BigEndian.PutUint64(b[27:], uint64(h.BaseTimestamp))
	binary.BigEndian.PutUint64(b[35:], uint64(h.MaxTimestamp))
	binary.BigEndian.PutUint64(b[43:], uint64(h.ProducerID))
	binary.BigEndian.PutUint16(b[51:], uint16(h.ProducerEpoch))
	binary.BigEndian.PutUint32(b[53:], uint32(h.BaseSequence))
	binary.BigEndian.PutUint32(b[57:], uint32(h.RecordsCount))
}

// Size is the whole batch's length in bytes.
func (h Header) Size() int { return LogOverhead + int(h.BatchLength) }

// LastOffset is the offset of the batch's last record, kept also when compaction removed it.
func (h Header) LastOffset() int64 { return h.BaseOffset + int64(h.LastOffsetDelta) }

// HasProducer says whether an idempotent producer wrote the batch.
func (h Header) HasProducer() bool { return h.ProducerID >= 0 }

// LastSequence is the sequence number of the last record; after 2^31-1 comes 0.
func (h Header) LastSequence() int32 {
	if h.BaseSequence < 0 {
		return h.BaseSequence
	}
	return int32((int64(h.BaseSequence) + int64(h.LastOffsetDelta)) & 0x7fffffff)
}

// Field is one named field of the batch header, for showing its bytes.
type Field struct {
	Name         string
	Offset, Size int
}

// HeaderFields lists the fields in their order, with Kafka's names.
func HeaderFields() []Field {
	return []Field{
		{"BaseOffset", 0, 8}, {"BatchLength", 8, 4}, {"PartitionLeaderEpoch", 12, 4},
		{"Magic", 16, 1}, {"CRC", 17, 4}, {"Attributes", 21, 2}, {"LastOffsetDelta", 23, 4},
		{"BaseTimestamp", 27, 8}, {"MaxTimestamp", 35, 8}, {"ProducerId", 43, 8},
		{"ProducerEpoch", 51, 2}, {"BaseSequence", 53, 4}, {"RecordsCount", 57, 4},
	}
}

// Stamp sets base offset and leader epoch in place. Both lie outside the CRC, so a leader can
// stamp a client's batch without touching its records.
func Stamp(b []byte, baseOffset int64, leaderEpoch int32) {
	binary.BigEndian.PutUint64(b, uint64(baseOffset))
	binary.BigEndian.PutUint32(b[12:], uint32(leaderEpoch))
}

// Checksum computes the CRC-32C of a batch: everything from the attributes on.
func Checksum(b []byte) uint32 { return crc32.Checksum(b[21:], castagnoli) }

// ChecksumHolds says whether the batch's bytes agree with its CRC.
func ChecksumHolds(b []byte) bool {
	return len(b) >= HeaderBytes && Checksum(b) == binary.BigEndian.Uint32(b[17:])
}

// SetTimestamps gives the batch its maximum timestamp, which the leader corrects when a client's
// is wrong and chooses itself under LogAppendTime, and reseals it if that changed anything.
func SetTimestamps(b []byte, maxTimestampMs int64, logAppendTime bool) {
	attributes := Attributes(binary.BigEndian.Uint16(b[21:])) &^ LogAppendTimeBit
	if logAppendTime {
		attributes |= LogAppendTimeBit
	}
	if attributes == Attributes(binary.BigEndian.Uint16(b[21:])) &&
		maxTimestampMs == int64(binary.BigEndian.Uint64(b[35:])) {
		return
	}
	binary.BigEndian.PutUint16(b[21:], uint16(attributes))
	binary.BigEndian.PutUint64(b[35:], uint64(maxTimestampMs))
	Reseal(b)
}

// Reseal recomputes the CRC after a change of the bytes that it covers.
func Reseal(b []byte) { binary.BigEndian.PutUint32(b[17:], Checksum(b)) }
