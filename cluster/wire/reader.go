package wire

import "encoding/binary"

// reader takes Kafka's primitive types from bytes without copying; its first error sticks.
type reader struct {
	b   []byte
	err error
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.b, r.err = nil, errCutShort
		return nil
	}
	taken := r.b[:n:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) int8() int8 {
	if b := r.take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

func (r *reader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *reader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// uvarint reads an unsigned varint of at most 32 bits.
func (r *reader) uvarint() int {
	v, n := binary.Uvarint(r.b[:min(len(r.b), 5)])
	if n <= 0 || v > 1<<32-1 {
		r.b, r.err = nil, errCutShort
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

// bytes takes n bytes; less than none is Kafka's null.
func (r *reader) bytes(n int) []byte {
	if n < 0 {
		return nil
	}
	return r.take(n)
}

// length reads the length of a string, bytes or array: -1 is null. wide says that an inflexible
// one has four bytes.
func (r *reader) length(flexible, wide bool) int {
	switch {
	case flexible:
		return r.uvarint() - 1
	case wide:
		return int(r.int32())
	}
	return int(r.int16())
}

// count reads an array's length and refuses one whose elements, of at least elementBytes each,
// cannot be in what is left. None is 0, like an empty one.
func (r *reader) count(flexible bool, elementBytes int) int {
	n := r.length(flexible, true)
	if n > len(r.b)/elementBytes {
		r.b, r.err = nil, errCount
		return 0
	}
	return max(n, 0)
}

// elements is the count of an array that may not be null.
func (r *reader) elements(flexible bool, elementBytes int) int {
	before := *r
	if before.length(flexible, true) < 0 && before.err == nil {
		r.b, r.err = nil, errNull
		return 0
	}
	return r.count(flexible, elementBytes)
}

// tags skips tagged fields.
func (r *reader) tags() {
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		r.uvarint()
		r.take(r.uvarint())
	}
}
