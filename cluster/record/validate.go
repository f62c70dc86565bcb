package record

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Kafka's error codes that the checks here answer with.
const (
	codeUnknownServerError    = -1
	codeCorruptMessage        = 2
	codeInvalidRecord         = 87
	codeUnsupportedForMessage = 43
)

// InvalidError says why a client's bytes are no batch to append.
type InvalidError struct {
	Code    int16
	Message string
	Records []RecordError
}

// RecordError names one record that is at fault.
type RecordError struct {
	BatchIndex int32
	Message    string
}

func (e *InvalidError) Error() string { return "record: " + e.Message }

// Validation bounds the checks.
type Validation struct {
	InflatedMax int // bytes that records may inflate to
}

// Facts is what the checks learned of a batch, for what only the broker can decide.
type Facts struct {
	Header
	// NullKey is the index of the first record without a key, -1 when all have one: a compacted
	// topic refuses it.
	NullKey int32
	// LatestTimestamp is the largest record timestamp seen, which the header's should equal.
	LatestTimestamp int64
}

func invalid(code int16, format string, args ...any) *InvalidError {
	return &InvalidError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Validate checks that b is exactly one sound batch that a client may produce: bounds, CRC, count,
// no control batch, and every record readable within the bound (Kafka's ProduceRequest and
// LogValidator). It allocates nothing for a good uncompressed batch.
func Validate(b []byte, v Validation) (Facts, *InvalidError) {
	if len(b) >= HeaderBytes && int8(b[16]) != magicV2 {
		return Facts{}, invalid(codeUnsupportedForMessage,
			"the batch has magic %d; only record batches of magic 2 are taken", int8(b[16]))
	}
	h, err := ParseHeader(b)
	facts := Facts{Header: h, NullKey: -1, LatestTimestamp: h.MaxTimestamp}
	switch {
	case err != nil:
		return facts, invalid(codeCorruptMessage, "%v", err)
	case h.Size() > len(b):
		return facts, invalid(codeCorruptMessage, "the batch says %d bytes, %d came", h.Size(), len(b))
	case h.Size() < len(b):
		return facts, invalid(codeInvalidRecord,
			"a partition's records must be exactly one batch; %d bytes follow the first", len(b)-h.Size())
	case !ChecksumHolds(b):
		return facts, invalid(codeCorruptMessage, "the CRC does not agree with the batch's bytes")
	case h.Attributes.Control():
		return facts, invalid(codeInvalidRecord, "clients may not write control batches")
	case h.RecordsCount == 0 || h.RecordsCount != h.LastOffsetDelta+1:
		return facts, invalid(codeInvalidRecord,
			"the batch has %d records but a last offset delta of %d", h.RecordsCount, h.LastOffsetDelta)
	case h.HasProducer() && h.BaseSequence < 0:
		return facts, invalid(codeInvalidRecord,
			"producer %d sent the sequence number %d", h.ProducerID, h.BaseSequence)
	case h.Attributes.Codec() > Zstd:
		return facts, invalid(codeUnknownServerError, "unknown codec %d", h.Attributes.Codec())
	}
	if h.Attributes.Codec() == None {
		return facts, facts.scanPlain(b[HeaderBytes:])
	}
	i := int32(0)
	err = EachRecord(b, v.InflatedMax, func(r Record) error {
		if r.Key == nil && facts.NullKey < 0 {
			facts.NullKey = i
		}
		i++
		return nil
	})
	if errors.Is(err, ErrTooLarge) {
		return facts, invalid(codeInvalidRecord, "the records inflate to more than %d bytes", v.InflatedMax)
	}
	if err != nil {
		return facts, invalid(codeCorruptMessage, "%v", err)
	}
	return facts, nil
}

// scanPlain walks uncompressed records without keeping any of them.
func (f *Facts) scanPlain(p []byte) *InvalidError {
	for i := range f.RecordsCount {
		length, n := binary.Varint(p)
		if n <= 0 || length < 1 || length > int64(len(p)-n) {
			return invalid(codeInvalidRecord, "record %d of %d is cut short", i, f.RecordsCount)
		}
		d := decoder{p[n+1 : n+int(length)], false}
		d.varint()
		d.varint()
		if d.bytes() == nil && f.NullKey < 0 {
			f.NullKey = i
		}
		d.bytes()
		for headers := d.varint(); headers > 0 && !d.failed; headers-- {
			if d.bytes() == nil {
				d.failed = true
			}
			d.bytes()
		}
		if d.failed || len(d.p) > 0 {
			return invalid(codeInvalidRecord, "record %d of %d cannot be read", i, f.RecordsCount)
		}
		p = p[n+int(length):]
	}
	if len(p) > 0 {
		return invalid(codeInvalidRecord, "%d bytes follow the last record", len(p))
	}
	return nil
}
