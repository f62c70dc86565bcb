package record

import (
	"encoding/binary"
	"fmt"
)

// The fewest bytes that a record, its length included, and a header take. Counts are checked
// against them before anything is allocated.
const (
	recordBytesMin = 7
	headerBytesMin = 2
)

// rawRecord is a record whose headers were checked but not taken apart, so that reading it
// allocates nothing.
type rawRecord struct {
	Record
	headerCount int
	headers     []byte
}

// decode takes the headers apart, which the cursor has checked.
func (r *rawRecord) decode() Record {
	out := r.Record
	if r.headerCount == 0 {
		return out
	}
	out.Headers = make([]RecordHeader, 0, r.headerCount)
	rest := r.headers
	for range r.headerCount {
		var key, value []byte
		key, rest, _ = nullable(rest)
		value, rest, _ = nullable(rest)
		out.Headers = append(out.Headers, RecordHeader{string(key), value})
	}
	return out
}

// cursor walks the uncompressed records of a batch.
type cursor struct {
	rest  []byte
	index int32
	count int32
	err   error
}

func newCursor(records []byte, count int32) (cursor, error) {
	if count < 0 || int64(count)*recordBytesMin > int64(len(records)) {
		return cursor{}, fmt.Errorf("record: %d records cannot lie in %d bytes", count, len(records))
	}
	return cursor{rest: records, count: count}, nil
}

// next reads one record into r, and says whether there was one. After the last it leaves an error
// when bytes remain, since then the count was wrong.
func (c *cursor) next(r *rawRecord) bool {
	if c.err != nil {
		return false
	}
	if c.index == c.count {
		if len(c.rest) > 0 {
			c.err = fmt.Errorf("record: %d bytes are left behind %d records", len(c.rest), c.count)
		}
		return false
	}
	body, rest, ok := nullable(c.rest)
	if !ok || !r.read(body) { // a record of length -1 has no body to read
		c.err = fmt.Errorf("record: record %d of %d is malformed", c.index, c.count)
		return false
	}
	c.rest = rest
	c.index++
	return true
}

// glance passes over one record of the shape that nearly all have: no headers, and no number of
// more than two bytes. It says what a check of the whole batch wants to know. ok is false, and
// nothing is passed, for a record of any other shape, be it right or wrong: next looks closer.
func (c *cursor) glance() (timestampDelta int64, keyed, ok bool) {
	b := c.rest
	// A number is looked at before it is known to lie within the record, so that no check is
	// needed for each: what follows the record is as long as a number.
	if c.index == c.count || len(b) < shortBytesMax {
		return 0, false, false
	}
	length, n := shortNumber(b)
	end := n + int(length)
	if n > shortBytesMax || length < recordBytesMin-1 || end > len(b)-shortBytesMax {
		return 0, false, false
	}
	at := n + 1 // behind the attributes
	timestampDelta, ofTimestamp := shortNumber(b[at:])
	at += ofTimestamp
	_, ofOffset := shortNumber(b[at:])
	at += ofOffset
	if max(ofTimestamp, ofOffset) > shortBytesMax || at > end {
		return 0, false, false
	}
	key, ofKey := shortNumber(b[at:])
	if at += ofKey + int(max(key, 0)); at > end {
		return 0, false, false
	}
	value, ofValue := shortNumber(b[at:])
	at += ofValue + int(max(value, 0))
	if max(ofKey, ofValue) > shortBytesMax || min(key, value) < -1 || at != end-1 || b[at] != 0 {
		return 0, false, false
	}
	c.rest = b[end:]
	c.index++
	return timestampDelta, key >= 0, true
}

// shortBytesMax is how many bytes of a varint shortNumber understands.
const shortBytesMax = 2

// shortNumber is the varint that b begins with, and its length; of one that is longer than
// shortBytesMax only that it is longer.
func shortNumber(b []byte) (v int64, n int) {
	u := uint64(b[0])
	if n = 1; u >= 0x80 {
		second := uint64(b[1])
		u = u&0x7f | second<<7
		if n = 2; second >= 0x80 {
			n = 3
		}
	}
	return int64(u>>1) ^ -int64(u&1), n
}

// read takes a record's body apart, and says whether that went well.
func (r *rawRecord) read(body []byte) bool {
	if len(body) == 0 {
		return false
	}
	r.Attributes = int8(body[0])
	rest := body[1:]
	var n int
	if r.TimestampDelta, n = number(rest); n == 0 {
		return false
	}
	rest = rest[n:]
	offsetDelta, n := number(rest)
	if r.OffsetDelta = int32(offsetDelta); n == 0 || int64(r.OffsetDelta) != offsetDelta {
		return false
	}
	ok := false
	if r.Key, rest, ok = nullable(rest[n:]); !ok {
		return false
	}
	if r.Value, rest, ok = nullable(rest); !ok {
		return false
	}
	headers, n := number(rest)
	rest = rest[n:]
	if n == 0 || headers < 0 || headers > int64(len(rest))/headerBytesMin {
		return false
	}
	r.headerCount, r.headers = int(headers), rest
	for range r.headerCount {
		key := []byte(nil)
		if key, rest, ok = nullable(rest); !ok || key == nil { // a header's key is never null
			return false
		}
		if _, rest, ok = nullable(rest); !ok {
			return false
		}
	}
	return len(rest) == 0
}

// nullable is the bytes that b begins with, behind their length, nil for Kafka's null; and what
// follows them.
func nullable(b []byte) (value, rest []byte, ok bool) {
	length, n := number(b)
	b = b[n:]
	if length == -1 {
		return nil, b, true
	}
	if n == 0 || uint64(length) > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:length:length], b[length:], true
}

// number is the varint that b begins with and its length in bytes, 0 if there is none. One and two
// bytes, nearly all there is in a record, are read without a loop.
func number(b []byte) (v int64, n int) {
	if len(b) == 0 {
		return 0, 0
	}
	first := uint64(b[0])
	if first < 0x80 {
		return int64(first>>1) ^ -int64(first&1), 1
	}
	if len(b) > 1 && b[1] < 0x80 {
		u := first&0x7f | uint64(b[1])<<7
		return int64(u>>1) ^ -int64(u&1), 2
	}
	if v, n = binary.Varint(b); n <= 0 {
		return 0, 0
	}
	return v, n
}
