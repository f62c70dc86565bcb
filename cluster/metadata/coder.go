package metadata

import (
	"encoding/binary"
	"errors"
	"fmt"

	"highwater/cluster/event"
)

// coder walks the fields of one record, in their order on disk, and either appends them to out or
// reads them from in. One walk serves both directions, so that they cannot drift apart.
type coder struct {
	// decoding says which way the walk goes.
	decoding bool
	// version is the record's version: fields newer than it are neither read nor written.
	version int16
	// in is what is read, and at the position of the next byte in it.
	in []byte
	at int
	// out is what was written so far.
	out []byte
	// err is the first thing that was wrong; after it every read yields zero values.
	err error
}

// errShort says that a field needs more bytes than there are.
var errShort = errors.New("the bytes end too early")

// fail keeps the first error, with the field and the position it was found at.
func (c *coder) fail(name string, err error) {
	if c.err == nil {
		c.err = fmt.Errorf("%s at byte %d: %w", name, c.at, err)
	}
}

// take returns the next n bytes, or nil when there are fewer.
func (c *coder) take(name string, n int) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 || n > len(c.in)-c.at {
		c.fail(name, errShort)
		return nil
	}
	c.at += n
	return c.in[c.at-n : c.at]
}

// uvarint codes Kafka's unsigned varint, of 32 bits at most.
func (c *coder) uvarint(name string, v *uint32) {
	if !c.decoding {
		c.out = binary.AppendUvarint(c.out, uint64(*v))
		return
	}
	if c.err != nil {
		return
	}
	value, n := binary.Uvarint(c.in[c.at:])
	switch {
	case n == 0:
		c.fail(name, errShort)
	case n < 0 || value > 1<<32-1:
		c.fail(name, errors.New("a varint of more than 32 bits"))
	default:
		c.at += n
		*v = uint32(value)
	}
}

func (c *coder) int8(name string, v *int8) {
	if !c.decoding {
		c.out = append(c.out, byte(*v))
	} else if b := c.take(name, 1); b != nil {
		*v = int8(b[0])
	}
}

func (c *coder) bool(name string, v *bool) {
	var n int8
	if *v {
		n = 1
	}
	c.int8(name, &n)
	*v = n != 0
}

func (c *coder) int16(name string, v *int16) {
	if !c.decoding {
		c.out = binary.BigEndian.AppendUint16(c.out, uint16(*v))
	} else if b := c.take(name, 2); b != nil {
		*v = int16(binary.BigEndian.Uint16(b))
	}
}

func (c *coder) uint16(name string, v *uint16) {
	n := int16(*v)
	c.int16(name, &n)
	*v = uint16(n)
}

// int32 codes any type that is an int32 underneath, such as event.NodeID and event.Epoch.
func int32Field[T ~int32](c *coder, name string, v *T) {
	if !c.decoding {
		c.out = binary.BigEndian.AppendUint32(c.out, uint32(*v))
	} else if b := c.take(name, 4); b != nil {
		*v = T(binary.BigEndian.Uint32(b))
	}
}

func (c *coder) int64(name string, v *int64) {
	if !c.decoding {
		c.out = binary.BigEndian.AppendUint64(c.out, uint64(*v))
	} else if b := c.take(name, 8); b != nil {
		*v = int64(binary.BigEndian.Uint64(b))
	}
}

func (c *coder) uuid(name string, v *event.UUID) {
	if !c.decoding {
		c.out = append(c.out, v[:]...)
	} else if b := c.take(name, len(v)); b != nil {
		copy(v[:], b)
	}
}

// nullableString codes a compact string, in which a length of zero means null.
func (c *coder) nullableString(name string, v **string) {
	var size uint32
	if !c.decoding && *v != nil {
		size = uint32(len(**v)) + 1
	}
	c.uvarint(name, &size)
	switch {
	case size == 0:
		*v = nil
	case !c.decoding:
		c.out = append(c.out, **v...)
	default:
		text := string(c.take(name, int(size)-1))
		*v = &text
	}
}

// string codes a compact string that may not be null.
func (c *coder) string(name string, v *string) {
	p := v
	c.nullableString(name, &p)
	if p == nil {
		c.fail(name, errors.New("null where a string is required"))
		return
	}
	*v = *p
}

// array codes a compact array. A nil slice is written as null when nullable and as empty
// otherwise; null and, unless nullable, empty are read as nil. sizeMin is the smallest size of an
// element in bytes: no more elements are allocated than the remaining bytes can hold.
func array[T any](c *coder, name string, v *[]T, nullable bool, sizeMin int, item func(*T)) {
	var count uint32
	if !c.decoding && (*v != nil || !nullable) {
		count = uint32(len(*v)) + 1
	}
	c.uvarint(name, &count)
	if !c.decoding {
		for i := range *v {
			item(&(*v)[i])
		}
		return
	}
	*v = nil
	if c.err != nil {
		return
	}
	if count == 0 {
		if !nullable {
			c.fail(name, errors.New("null where an array is required"))
		}
		return
	}
	n := int(count) - 1
	if n > (len(c.in)-c.at)/sizeMin {
		c.fail(name, fmt.Errorf("%d elements: %w", n, errShort))
		return
	}
	if n == 0 && !nullable {
		return
	}
	*v = make([]T, n)
	for i := range *v {
		item(&(*v)[i])
	}
}

func (c *coder) nodes(name string, v *[]event.NodeID, nullable bool) {
	array(c, name, v, nullable, 4, func(id *event.NodeID) { int32Field(c, name, id) })
}

func (c *coder) uuids(name string, v *[]event.UUID, nullable bool) {
	array(c, name, v, nullable, 16, func(id *event.UUID) { c.uuid(name, id) })
}

// tag is one tagged field. Only fields that differ from their default are present on disk.
type tag struct {
	number  uint32
	name    string
	present bool
	field   func()
}

// tags codes a record's tagged fields, given by rising number. Unknown tags are skipped, as Kafka
// does: they come from a newer version that promises to be ignorable.
func (c *coder) tags(known ...tag) {
	if c.decoding {
		c.readTags(known)
		return
	}
	var count uint32
	for _, t := range known {
		if t.present {
			count++
		}
	}
	c.uvarint("tagged fields", &count)
	for _, t := range known {
		if !t.present {
			continue
		}
		before := c.out
		c.out = nil
		t.field()
		body := c.out
		c.out = binary.AppendUvarint(before, uint64(t.number))
		c.out = binary.AppendUvarint(c.out, uint64(len(body)))
		c.out = append(c.out, body...)
	}
}

// readTags reads tagged fields; each must fill exactly the size that it announces.
func (c *coder) readTags(known []tag) {
	var count, size uint32
	c.uvarint("tagged fields", &count)
	last := int64(-1)
	for ; count > 0 && c.err == nil; count-- {
		var number uint32
		c.uvarint("tag", &number)
		c.uvarint("tag size", &size)
		if c.err != nil {
			return
		}
		if int64(number) <= last {
			c.fail("tag", fmt.Errorf("tag %d after tag %d", number, last))
			return
		}
		last = int64(number)
		c.readTag(known, number, int(size))
	}
}

// readTag reads the body of one tagged field.
func (c *coder) readTag(known []tag, number uint32, size int) {
	if size > len(c.in)-c.at {
		c.fail(fmt.Sprintf("tag %d", number), errShort)
		return
	}
	end := c.at + size
	for _, t := range known {
		if t.number != number {
			continue
		}
		whole := c.in
		c.in = whole[:end]
		t.field()
		c.in = whole
		if c.err == nil && c.at != end {
			c.fail(t.name, fmt.Errorf("%d bytes of its tag are left over", end-c.at))
		}
	}
	c.at = end
}
