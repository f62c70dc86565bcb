package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Record is one record of a batch. A nil Key or Value is Kafka's null; an empty one is not nil.
type Record struct {
	Attributes     int8
	TimestampDelta int64 // milliseconds since the batch's BaseTimestamp
	OffsetDelta    int32
	Key, Value     []byte
	Headers        []RecordHeader
}

// RecordHeader is one of a record's headers; a nil Value is null.
type RecordHeader struct {
	Key   string
	Value []byte
}

// Timestamp is the time of one of the batch's records in milliseconds: its own, or with
// LogAppendTime the one that the broker gave to the whole batch.
func (h Header) Timestamp(r Record) int64 {
	if h.Attributes.LogAppendTime() {
		return h.MaxTimestamp
	}
	return h.BaseTimestamp + r.TimestampDelta
}

// EachRecord visits the records of a batch in order, inflating them to at most inflatedMax bytes.
// The records' slices lie in the batch or in memory of their own, so they may be kept as long as
// the batch is. An error of visit ends the walk and is returned as it is.
func EachRecord(batch []byte, inflatedMax int, visit func(Record) error) error {
	h, err := ParseHeader(batch)
	if err != nil {
		return err
	}
	if h.Size() > len(batch) {
		return fmt.Errorf("record: batch of %d bytes, only %d are there", h.Size(), len(batch))
	}
	records := batch[HeaderBytes:h.Size()]
	if h.Attributes.Codec() != None && len(records) > 0 {
		records, err = NewInflater(inflatedMax).Inflate(h.Attributes.Codec(), records)
		if err != nil {
			return err
		}
	}
	c, err := newCursor(records, h.RecordsCount)
	if err != nil {
		return err
	}
	var raw rawRecord
	for c.next(&raw) {
		if err := visit(raw.decode()); err != nil {
			return err
		}
	}
	return c.err
}

// AppendRecord appends the record's encoding to b.
func AppendRecord(b []byte, r Record) []byte {
	b = binary.AppendVarint(b, int64(r.bodyBytes()))
	b = append(b, byte(r.Attributes))
	b = binary.AppendVarint(b, r.TimestampDelta)
	b = binary.AppendVarint(b, int64(r.OffsetDelta))
	b = appendNullable(b, r.Key)
	b = appendNullable(b, r.Value)
	b = binary.AppendVarint(b, int64(len(r.Headers)))
	for _, h := range r.Headers {
		b = binary.AppendVarint(b, int64(len(h.Key)))
		b = append(b, h.Key...)
		b = appendNullable(b, h.Value)
	}
	return b
}

func (r *Record) bodyBytes() int {
	n := 1 + varintBytes(r.TimestampDelta) + varintBytes(int64(r.OffsetDelta)) +
		nullableBytes(r.Key) + nullableBytes(r.Value) + varintBytes(int64(len(r.Headers)))
	for _, h := range r.Headers {
		n += varintBytes(int64(len(h.Key))) + len(h.Key) + nullableBytes(h.Value)
	}
	return n
}

func varintBytes(v int64) int {
	n := 1
	for u := uint64(v)<<1 ^ uint64(v>>63); u >= 0x80; u >>= 7 {
		n++
	}
	return n
}

func nullableBytes(p []byte) int {
	if p == nil {
		return 1
	}
	return varintBytes(int64(len(p))) + len(p)
}

func appendNullable(b, p []byte) []byte {
	if p == nil {
		return binary.AppendVarint(b, -1)
	}
	return append(binary.AppendVarint(b, int64(len(p))), p...)
}

// Encode makes a batch of a header and its encoded, uncompressed records. The codec in the header's
// attributes decides how they are stored; batch length, magic and CRC are set here. No records are
// fine: compaction leaves such batches.
func Encode(h Header, records []byte) ([]byte, error) {
	return new(deflater).encode(h, records)
}

// Transcode gives the same batch with another codec, for topics whose compression.type decides
// over the producer's choice.
func Transcode(batch []byte, codec Codec, inflatedMax int) ([]byte, error) {
	h, err := ParseHeader(batch)
	if err != nil {
		return nil, err
	}
	if h.Size() > len(batch) {
		return nil, fmt.Errorf("record: batch of %d bytes, only %d are there", h.Size(), len(batch))
	}
	plain, err := NewInflater(inflatedMax).Inflate(h.Attributes.Codec(), batch[HeaderBytes:h.Size()])
	if err != nil {
		return nil, err
	}
	h.Attributes = h.Attributes.withCodec(codec)
	return Encode(h, plain)
}

func (d *deflater) encode(h Header, records []byte) ([]byte, error) {
	codec := h.Attributes.Codec()
	capacity := HeaderBytes + len(records)
	if codec != None {
		capacity = HeaderBytes + len(records)/2
	}
	out, err := make([]byte, HeaderBytes, capacity), error(nil)
	if len(records) > 0 {
		if out, err = d.appendDeflated(out, codec, records); err != nil {
			return nil, err
		}
	}
	if len(out)-LogOverhead > math.MaxInt32 {
		return nil, fmt.Errorf("record: a batch of %d bytes has no length", len(out))
	}
	h.BatchLength, h.Magic = int32(len(out)-LogOverhead), magicV2
	h.Put(out)
	Reseal(out)
	return out, nil
}

// Builder makes a batch of records added one by one. The zero fields of NewBuilder are a plain,
// uncompressed batch of no producer.
type Builder struct {
	Codec         Codec
	Attributes    Attributes // beside the codec's bits
	BaseOffset    int64
	LeaderEpoch   int32
	ProducerID    int64
	ProducerEpoch int16
	BaseSequence  int32

	first, largest int64
	count          int32
	records        []byte
	deflater       deflater
}

// NewBuilder returns a builder for a batch of no producer.
func NewBuilder() *Builder { return &Builder{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1} }

// Add appends a record; nil keys and values are null. The first record's timestamp is the batch's
// base timestamp (Kafka's MemoryRecordsBuilder).
func (b *Builder) Add(timestampMs int64, key, value []byte, headers ...RecordHeader) {
	if b.count == 0 {
		b.first, b.largest = timestampMs, timestampMs
	}
	b.largest = max(b.largest, timestampMs)
	b.records = AppendRecord(b.records, Record{TimestampDelta: timestampMs - b.first,
		OffsetDelta: b.count, Key: key, Value: value, Headers: headers})
	b.count++
}

// Len is how many records were added.
func (b *Builder) Len() int { return int(b.count) }

// Size is the batch's size so far, before compression.
func (b *Builder) Size() int { return HeaderBytes + len(b.records) }

// SizeWith is the batch's size, before compression, if this record were added.
func (b *Builder) SizeWith(timestampMs int64, key, value []byte, headers ...RecordHeader) int {
	r := Record{OffsetDelta: b.count, Key: key, Value: value, Headers: headers}
	if b.count > 0 {
		r.TimestampDelta = timestampMs - b.first
	}
	body := r.bodyBytes()
	return b.Size() + varintBytes(int64(body)) + body
}

// Reset drops the records, and keeps the settings and the memory, compressors among it, for the
// next batch.
func (b *Builder) Reset() { b.records, b.count = b.records[:0], 0 }

// Bytes returns the sealed batch, in memory of its own. A batch without records is an error: it
// has no timestamps.
func (b *Builder) Bytes() ([]byte, error) {
	if b.count == 0 {
		return nil, errors.New("record: a batch needs a record")
	}
	return b.deflater.encode(Header{BaseOffset: b.BaseOffset, PartitionLeaderEpoch: b.LeaderEpoch,
		Attributes: b.Attributes.withCodec(b.Codec), LastOffsetDelta: b.count - 1,
		BaseTimestamp: b.first, MaxTimestamp: b.largest, ProducerID: b.ProducerID,
		ProducerEpoch: b.ProducerEpoch, BaseSequence: b.BaseSequence, RecordsCount: b.count,
	}, b.records)
}
