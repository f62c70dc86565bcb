package record

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Kafka's error codes that the checks here answer with.
const (
	codeCorruptMessage   = 2
	codeMessageTooLarge  = 10
	codeInvalidTimestamp = 32
	codeInvalidRecord    = 87
)

const (
	noTimestamp = -1 // in a record: its producer gave it none
	// recordErrorsMax bounds what one refused batch answers; a batch can hold 100,000 records.
	recordErrorsMax = 10_000
	// legacyBytesMin is the least batch length in any magic (Kafka's LegacyRecord): with less, a
	// batch is corrupt, while bytes that merely end too early are no batch.
	legacyBytesMin = 14
	magicOffset    = 16
)

// InvalidError says why a client's bytes are no batch to append.
type InvalidError struct {
	Stage   Stage
	Code    int16
	Message string
	Records []RecordError // at most 10,000
}

// Stage is how far the checks had come when they refused a batch. What Kafka answers beside the code
// depends on it.
type Stage uint8

// The stages, in their order.
const (
	StageFrame   Stage = iota // the bytes are not one whole batch
	StageHeader               // the batch's own fields contradict its bytes, or what clients may do
	StageInflate              // the records cannot be inflated
	StageRecords              // the records cannot be read, or some of them break the topic's rules
)

// RecordError names one record that is at fault (KIP-467).
type RecordError struct {
	BatchIndex int32
	Message    string
}

func (e *InvalidError) Error() string { return "record: " + e.Message }

// Validation bounds the checks, and says which of the topic's rules to apply. The edge does not
// know the topic: it leaves the rules out, and the leader looks at Facts instead.
type Validation struct {
	InflatedMax   int       // bytes that records may inflate to
	Inflater      *Inflater // used instead of a new one, when given; its own bound counts
	BatchBytesMax int       // the topic's max.message.bytes, 0 for no bound
	KeysRequired  bool      // a compacted topic
	Timestamps    TimestampWindow
	KeepRecords   int // how many records Facts.FirstRecords may hold
	KeepBytes     int // to which keys and values are cut in it
}

// TimestampWindow is where record timestamps must lie (message.timestamp.before.max.ms and
// after.max.ms around the broker's time), both ends included. The zero window allows all.
type TimestampWindow struct {
	EarliestMs, LatestMs int64
}

func (w TimestampWindow) allows(ms int64) bool {
	return w == TimestampWindow{} || ms == noTimestamp || ms >= w.EarliestMs && ms <= w.LatestMs
}

// Facts is what the checks learned of a batch, for what only the broker can decide.
type Facts struct {
	Header
	// NullKey is the index of the first record without a key, -1 when all have one: a compacted
	// topic refuses it.
	NullKey int32
	// EarliestTimestamp and LatestTimestamp are the bounds of the records' own timestamps, -1
	// when none has one. The leader corrects a MaxTimestamp that is not LatestTimestamp.
	EarliestTimestamp, LatestTimestamp int64
	// FirstRecords are copies of the first records, without their headers.
	FirstRecords []Record
}

func invalid(code int16, format string, args ...any) *InvalidError {
	return &InvalidError{Code: code, Message: fmt.Sprintf(format, args...)}
}

func (e *InvalidError) at(stage Stage) *InvalidError {
	e.Stage = stage
	return e
}

// Validate checks that b is exactly one sound batch that a client may produce: bounds, CRC, count,
// no control batch, and every record readable within the bound (Kafka's ProduceRequest,
// UnifiedLog and LogValidator, in their order). It allocates nothing for a good uncompressed
// batch. Two codes are clearer than Kafka's: a codec that does not exist or bytes that do not
// inflate are INVALID_RECORD here, where Kafka says UNKNOWN_SERVER_ERROR.
func Validate(b []byte, v Validation) (Facts, *InvalidError) {
	facts := Facts{NullKey: -1, EarliestTimestamp: noTimestamp, LatestTimestamp: noTimestamp}
	if bad := checkFrame(b); bad != nil {
		return facts, bad
	}
	facts.Header = readHeader(b)
	if bad := facts.checkHeader(b, v.BatchBytesMax); bad != nil {
		return facts, bad.at(StageHeader)
	}
	records := b[HeaderBytes:]
	if codec := facts.Attributes.Codec(); codec != None {
		inflater := v.Inflater
		if inflater == nil {
			inflater = NewInflater(v.InflatedMax)
		}
		var err error
		if records, err = inflater.Inflate(codec, records); errors.Is(err, ErrTooLarge) {
			return facts, invalid(codeMessageTooLarge,
				"the records inflate to more than %d bytes", inflater.bytesMax).at(StageInflate)
		} else if err != nil {
			return facts, invalid(codeInvalidRecord, "%v", err).at(StageInflate)
		}
	}
	if bad := facts.checkRecords(records, &v); bad != nil {
		return facts, bad.at(StageRecords)
	}
	return facts, nil
}

// checkFrame finds out whether b is one whole batch of magic 2. Like Kafka it takes bytes that end
// too early for no batch at all.
func checkFrame(b []byte) *InvalidError {
	if len(b) < LogOverhead {
		return invalid(codeInvalidRecord, "a batch is missing; %d bytes came", len(b))
	}
	length := int(int32(binary.BigEndian.Uint32(b[8:])))
	if length < legacyBytesMin {
		return invalid(codeCorruptMessage, "the batch length %d is less than any batch has", length)
	}
	if len(b) <= magicOffset {
		return invalid(codeInvalidRecord, "a batch is missing; %d bytes came", len(b))
	}
	switch magic := int8(b[magicOffset]); {
	case magic < 0 || magic > magicV2:
		return invalid(codeCorruptMessage, "there is no magic %d", magic)
	case len(b)-LogOverhead < length:
		return invalid(codeInvalidRecord,
			"the batch says %d bytes, %d came", length+LogOverhead, len(b))
	case magic != magicV2:
		return invalid(codeInvalidRecord,
			"the batch has magic %d; only record batches of magic 2 are taken", magic)
	case len(b)-LogOverhead > length:
		return invalid(codeInvalidRecord,
			"a partition's records must be exactly one batch; %d bytes follow the first",
			len(b)-LogOverhead-length)
	case length < HeaderBytes-LogOverhead:
		return invalid(codeCorruptMessage, "batch length %d is less than a header", length)
	}
	return nil
}

// checkHeader makes the checks that need no records, cheap ones before the CRC only where Kafka
// has them before it.
func (f *Facts) checkHeader(b []byte, bytesMax int) *InvalidError {
	switch {
	case f.BaseOffset != 0:
		return invalid(codeInvalidRecord, "the base offset must be 0, it is %d", f.BaseOffset)
	case bytesMax > 0 && len(b) > bytesMax:
		return invalid(codeMessageTooLarge,
			"the batch has %d bytes, max.message.bytes is %d", len(b), bytesMax)
	case !ChecksumHolds(b):
		return invalid(codeCorruptMessage, "the CRC does not agree with the batch's bytes")
	case f.RecordsCount <= 0 || int64(f.RecordsCount) != int64(f.LastOffsetDelta)+1:
		return invalid(codeInvalidRecord,
			"the batch has %d records but a last offset delta of %d",
			f.RecordsCount, f.LastOffsetDelta)
	case f.Attributes.Control():
		return invalid(codeInvalidRecord, "clients may not write control batches")
	case f.HasProducer() && f.BaseSequence < 0:
		return invalid(codeInvalidRecord,
			"producer %d sent the sequence number %d", f.ProducerID, f.BaseSequence)
	}
	return nil
}

// checkRecords reads every record. Offset deltas are not looked at, as Kafka does not.
func (f *Facts) checkRecords(records []byte, v *Validation) *InvalidError {
	c, err := newCursor(records, f.RecordsCount)
	if err != nil {
		return invalid(codeInvalidRecord, "%v", err)
	}
	var bad refusals
	var raw rawRecord
	for i := int32(0); ; i++ {
		delta, keyed, passed := int64(0), false, false
		if len(f.FirstRecords) == v.KeepRecords {
			delta, keyed, passed = c.glance()
		}
		if !passed {
			if !c.next(&raw) {
				break
			}
			delta, keyed = raw.TimestampDelta, raw.Key != nil
			f.keep(&raw, v)
		}
		ms := f.MaxTimestamp
		if !f.Attributes.LogAppendTime() {
			ms = f.BaseTimestamp + delta
		}
		f.note(i, keyed, ms)
		if v.KeysRequired && !keyed {
			bad.add(i, "a compacted topic takes no record without a key")
		} else if !v.Timestamps.allows(ms) {
			bad.timestamps = true
			bad.add(i, fmt.Sprintf("the timestamp %d is not between %d and %d",
				ms, v.Timestamps.EarliestMs, v.Timestamps.LatestMs))
		}
	}
	if c.err != nil {
		return invalid(codeInvalidRecord, "%v", c.err)
	}
	return bad.verdict()
}

// refusals collects the records at fault. One of them refuses the whole batch.
type refusals struct {
	count      int
	timestamps bool // one of them has a bad timestamp, which decides the batch's code
	records    []RecordError
}

func (r *refusals) add(index int32, message string) {
	r.count++
	if len(r.records) < recordErrorsMax {
		r.records = append(r.records, RecordError{index, message})
	}
}

func (r *refusals) verdict() *InvalidError {
	if r.count == 0 {
		return nil
	}
	code := int16(codeInvalidRecord)
	if r.timestamps {
		code = codeInvalidTimestamp
	}
	bad := invalid(code, "%d of the batch's records were refused, record %d first: %s",
		r.count, r.records[0].BatchIndex, r.records[0].Message)
	bad.Records = r.records
	return bad
}

func (f *Facts) note(index int32, keyed bool, ms int64) {
	if !keyed && f.NullKey < 0 {
		f.NullKey = index
	}
	if ms != noTimestamp {
		if f.EarliestTimestamp == noTimestamp || ms < f.EarliestTimestamp {
			f.EarliestTimestamp = ms
		}
		f.LatestTimestamp = max(f.LatestTimestamp, ms)
	}
}

// keep copies what is told of a batch's first records.
func (f *Facts) keep(r *rawRecord, v *Validation) {
	if len(f.FirstRecords) < v.KeepRecords {
		kept := r.Record
		kept.Key, kept.Value = cut(kept.Key, v.KeepBytes), cut(kept.Value, v.KeepBytes)
		f.FirstRecords = append(f.FirstRecords, kept)
	}
}

// cut copies at most bytesMax bytes, and keeps null apart from empty.
func cut(p []byte, bytesMax int) []byte {
	if p == nil {
		return nil
	}
	return append([]byte{}, p[:min(len(p), bytesMax)]...)
}
