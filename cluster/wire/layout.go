package wire

import "fmt"

//go:generate go run highwater/cluster/wire/generate

// kind is what a field is on the wire.
type kind uint8

const (
	fixed       kind = iota
	text             // a string with its length in front
	textOrNull       // whose length may be negative
	blob             // bytes with their length in front
	blobOrNull       // whose length may be negative
	array            // a count and that many elements
	arrayOrNull      // whose count may be negative
	optional         // a byte that says whether a structure follows
	tags             // tagged fields
)

// field is one field of a request, in the versions from and to included.
type field struct {
	from, to int16
	kind     kind
	size     int // bytes of a fixed field
	// of is what an element of an array, or an optional structure, consists of. For tags it has
	// one field a known tag, whose own of is what the tag holds.
	of []field
}

const (
	// elementsMax bounds the array elements of one request. Parsed, each takes up to a hundred
	// bytes, though it may be two bytes long.
	elementsMax = 1 << 18
	// unknownTagsMax bounds the tagged fields that nobody here knows.
	unknownTagsMax = 256
)

// walk goes through a body as its decoder would, but allocates nothing.
type walk struct {
	reader
	version  int16
	flexible bool
	elements int
	unknown  int
}

// checkCounts refuses a body whose lengths and counts its bytes cannot hold, and null where Kafka
// knows none, which kmsg would take as empty. Decoders allocate for
// an array before they see its elements, so this comes first.
func checkCounts(key, version int16, flexible bool, body []byte) error {
	w := walk{reader: reader{b: body}, version: version, flexible: flexible}
	w.fields(layoutOf(key))
	if w.err != nil {
		return fmt.Errorf("%s version %d: %w", Name(key), version, w.err)
	}
	return nil
}

func (w *walk) fields(list []field) {
	for i := range list {
		f := &list[i]
		if w.err != nil {
			return
		}
		if w.version < f.from || w.version > f.to {
			continue
		}
		switch f.kind {
		case fixed:
			w.take(f.size)
		case text:
			w.take(w.length(w.flexible, false))
		case textOrNull:
			w.bytes(w.length(w.flexible, false))
		case blob:
			w.take(w.length(w.flexible, true))
		case blobOrNull:
			w.bytes(w.length(w.flexible, true))
		case array:
			w.array(w.reader.elements(w.flexible, 1), f.of)
		case arrayOrNull:
			w.array(w.count(w.flexible, 1), f.of)
		case optional:
			if w.int8() != -1 {
				w.fields(f.of)
			}
		case tags:
			w.tagged(f.of)
		}
	}
}

func (w *walk) array(n int, of []field) {
	if w.elements += n; w.elements > elementsMax {
		w.fail(fmt.Errorf("more than %d elements in one request", elementsMax))
	}
	for ; n > 0 && w.err == nil; n-- {
		w.fields(of)
	}
}

func (w *walk) tagged(known []field) {
	if !w.flexible {
		return
	}
	for n := w.uvarint(); n > 0 && w.err == nil; n-- {
		tag := w.uvarint()
		content := w.take(w.uvarint())
		if tag >= len(known) {
			w.unknown++
		} else if w.err == nil {
			rest := w.b
			w.b = content
			w.fields(known[tag].of)
			if w.err == nil {
				w.b = rest
			}
		}
		if w.unknown > unknownTagsMax {
			w.fail(fmt.Errorf("more than %d unknown tagged fields", unknownTagsMax))
		}
	}
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.b, r.err = nil, err
	}
}
