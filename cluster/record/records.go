package record

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Record is one record of a batch. A nil Key or Value is Kafka's null; an empty one is not nil.
type Record struct {
	Attributes     int8
	TimestampDelta int64
	OffsetDelta    int32
	Key, Value     []byte
	Headers        []RecordHeader
}

// RecordHeader is one of a record's headers; a nil Value is null.
type RecordHeader struct {
	Key   string
	Value []byte
}

var errCut = errors.New("record: cut short")

// smallestRecord is the fewest bytes that a record takes, its length included.
const smallestRecord = 7

// EachRecord visits the records of a batch in order, inflating them to at most inflatedMax bytes.
// The records' slices are valid during the visit, and for uncompressed batches as long as the
// batch is. An error of visit ends the walk and is returned.
func EachRecord(batch []byte, inflatedMax int, visit func(Record) error) error {
	h, err := ParseHeader(batch)
	if err != nil {
		return err
	}
	if h.Size() > len(batch) {
		return fmt.Errorf("record: batch of %d bytes, only %d are there", h.Size(), len(batch))
	}
	p, err := inflate(h.Attributes.Codec(), batch[HeaderBytes:h.Size()], inflatedMax)
	if err != nil {
		return err
	}
	if int64(h.RecordsCount)*smallestRecord > int64(len(p)) {
		return fmt.Errorf("record: %d records cannot lie in %d bytes", h.RecordsCount, len(p))
	}
	for i := range h.RecordsCount {
		var r Record
		if p, err = r.read(p); err != nil {
			return fmt.Errorf("record: record %d of %d: %w", i, h.RecordsCount, err)
		}
		if err := visit(r); err != nil {
			return err
		}
	}
	if len(p) > 0 {
		return fmt.Errorf("record: %d bytes after the last record", len(p))
	}
	return nil
}

// read takes one record off p and returns the rest.
func (r *Record) read(p []byte) (rest []byte, err error) {
	length, n := binary.Varint(p)
	if n <= 0 || length < 0 || length > int64(len(p)-n) {
		return nil, errCut
	}
	body, rest := p[n:n+int(length)], p[n+int(length):]
	if len(body) < 1 {
		return nil, errCut
	}
	r.Attributes = int8(body[0])
	d := decoder{body[1:], false}
	r.TimestampDelta = d.varint()
	r.OffsetDelta = int32(d.varint())
	r.Key = d.bytes()
	r.Value = d.bytes()
	headers := d.varint()
	if headers < 0 || headers > int64(len(d.p))/2 {
		return nil, fmt.Errorf("%d headers in %d bytes", headers, len(d.p))
	}
	if headers > 0 {
		r.Headers = make([]RecordHeader, 0, headers)
	}
	for range headers {
		key := d.bytes()
		if key == nil {
			return nil, errors.New("a header without a key")
		}
		r.Headers = append(r.Headers, RecordHeader{Key: string(key), Value: d.bytes()})
	}
	if d.failed {
		return nil, errCut
	}
	if len(d.p) > 0 {
		return nil, fmt.Errorf("%d bytes after its last header", len(d.p))
	}
	return rest, nil
}

// decoder reads varints and byte strings; after the first failure everything reads as zero.
type decoder struct {
	p      []byte
	failed bool
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.p)
	if n <= 0 {
		d.failed = true
		d.p = nil
		return 0
	}
	d.p = d.p[n:]
	return v
}

func (d *decoder) bytes() []byte {
	n := d.varint()
	if n == -1 {
		return nil
	}
	if n < 0 || n > int64(len(d.p)) {
		d.failed = true
		d.p = nil
		return nil
	}
	b := d.p[:n:n]
	d.p = d.p[n:]
	return b
}

func (r *Record) append(b []byte) []byte {
	b = append(b, byte(r.Attributes))
	b = binary.AppendVarint(b, r.TimestampDelta)
	b = binary.AppendVarint(b, int64(r.OffsetDelta))
	b = appendBytes(b, r.Key)
	b = appendBytes(b, r.Value)
	b = binary.AppendVarint(b, int64(len(r.Headers)))
	for _, h := range r.Headers {
		b = binary.AppendVarint(b, int64(len(h.Key)))
		b = append(b, h.Key...)
		b = appendBytes(b, h.Value)
	}
	return b
}

func appendBytes(b, p []byte) []byte {
	if p == nil {
		return binary.AppendVarint(b, -1)
	}
	b = binary.AppendVarint(b, int64(len(p)))
	return append(b, p...)
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
	scratch        []byte
}

// NewBuilder returns a builder for a batch of no producer.
func NewBuilder() *Builder { return &Builder{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1} }

// Add appends a record; nil keys and values are null. The first record's timestamp is the batch's
// base timestamp.
func (b *Builder) Add(timestampMs int64, key, value []byte, headers ...RecordHeader) {
	if b.count == 0 {
		b.first, b.largest = timestampMs, timestampMs
	}
	b.largest = max(b.largest, timestampMs)
	r := Record{TimestampDelta: timestampMs - b.first, OffsetDelta: b.count, Key: key,
		Value: value, Headers: headers}
	b.scratch = r.append(b.scratch[:0])
	b.records = binary.AppendVarint(b.records, int64(len(b.scratch)))
	b.records = append(b.records, b.scratch...)
	b.count++
}

// Len is how many records were added.
func (b *Builder) Len() int { return int(b.count) }

// Size is the batch's size so far, before compression.
func (b *Builder) Size() int { return HeaderBytes + len(b.records) }

// Bytes returns the sealed batch. A batch without records has no meaning and is an error.
func (b *Builder) Bytes() ([]byte, error) {
	if b.count == 0 {
		return nil, errors.New("record: a batch needs a record")
	}
	records, err := deflate(b.Codec, b.records)
	if err != nil {
		return nil, err
	}
	out := make([]byte, HeaderBytes, HeaderBytes+len(records))
	out = append(out, records...)
	Header{BaseOffset: b.BaseOffset, BatchLength: int32(len(out) - LogOverhead),
		PartitionLeaderEpoch: b.LeaderEpoch, Magic: magicV2,
		Attributes: b.Attributes&^7 | Attributes(b.Codec), LastOffsetDelta: b.count - 1,
		BaseTimestamp: b.first, MaxTimestamp: b.largest, ProducerID: b.ProducerID,
		ProducerEpoch: b.ProducerEpoch, BaseSequence: b.BaseSequence, RecordsCount: b.count,
	}.Put(out)
	Reseal(out)
	return out, nil
}
