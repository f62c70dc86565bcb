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
	in := reader{b: r.headers}
	for range r.headerCount {
		key, value := in.nullable(), in.nullable()
		out.Headers = append(out.Headers, RecordHeader{string(key), value})
	}
	return out
}

// cursor walks the uncompressed records of a batch.
type cursor struct {
	in    reader
	index int32
	count int32
	err   error
}

func newCursor(records []byte, count int32) (cursor, error) {
	if count < 0 || int64(count)*recordBytesMin > int64(len(records)) {
		return cursor{}, fmt.Errorf("record: %d records cannot lie in %d bytes", count, len(records))
	}
	return cursor{in: reader{b: records}, count: count}, nil
}

// next reads one record into r, and says whether there was one. After the last it leaves an error
// when bytes remain, since then the count was wrong.
func (c *cursor) next(r *rawRecord) bool {
	if c.err != nil {
		return false
	}
	if c.index == c.count {
		if rest := len(c.in.b) - c.in.at; rest > 0 {
			c.err = fmt.Errorf("record: %d bytes are left behind %d records", rest, c.count)
		}
		return false
	}
	body := c.in.take(int(c.in.varint()))
	if c.in.bad || !r.read(body) {
		c.err = fmt.Errorf("record: record %d of %d is malformed", c.index, c.count)
		return false
	}
	c.index++
	return true
}

// read takes a record's body apart, and says whether that went well.
func (r *rawRecord) read(body []byte) bool {
	in := reader{b: body}
	r.Attributes = int8(in.byte())
	r.TimestampDelta = in.varint()
	offsetDelta := in.varint()
	r.OffsetDelta = int32(offsetDelta)
	r.Key = in.nullable()
	r.Value = in.nullable()
	headers := in.varint()
	if in.bad || int64(r.OffsetDelta) != offsetDelta ||
		headers < 0 || headers > int64(len(body)-in.at)/headerBytesMin {
		return false
	}
	r.headerCount, r.headers = int(headers), body[in.at:]
	for i := 0; i < r.headerCount && !in.bad; i++ {
		in.take(int(in.varint())) // a header's key is never null
		in.nullable()
	}
	return !in.bad && in.at == len(body)
}

// reader reads Kafka's variable-length numbers. After a failure nothing is left to read, and
// everything reads as zero.
type reader struct {
	b   []byte
	at  int
	bad bool
}

func (r *reader) fail() { r.b, r.at, r.bad = nil, 0, true }

func (r *reader) byte() byte {
	if r.at >= len(r.b) {
		r.fail()
		return 0
	}
	r.at++
	return r.b[r.at-1]
}

func (r *reader) take(n int) []byte {
	if uint(n) > uint(len(r.b)-r.at) {
		r.fail()
		return nil
	}
	r.at += n
	return r.b[r.at-n : r.at : r.at]
}

func (r *reader) nullable() []byte {
	n := r.varint()
	if n == -1 {
		return nil
	}
	return r.take(int(n))
}

// varint is split so that numbers of one byte, nearly all in a record, are read in line.
func (r *reader) varint() int64 {
	if r.at < len(r.b) && r.b[r.at] < 0x80 {
		r.at++
		return int64(r.b[r.at-1]>>1) ^ -int64(r.b[r.at-1]&1)
	}
	return r.varintLong()
}

func (r *reader) varintLong() int64 {
	v, n := binary.Varint(r.b[r.at:])
	if n <= 0 {
		r.fail()
		return 0
	}
	r.at += n
	return v
}
