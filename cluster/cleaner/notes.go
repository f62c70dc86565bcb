package cleaner

import (
	"strconv"
	"strings"

	"highwater/cluster/event"
)

// The bounds of what events tell of a pass; of more, the newest are told.
const (
	survivorsMax = 16
	shownMax     = 24 // bytes of a key
)

// notes collects what events tell of a pass.
type notes struct {
	holes     [][2]event.Offset // first and last offset
	next      event.Offset      // below it everything is told
	survivors []string
}

// begin starts the holes of one segment.
func (n *notes) begin(base event.Offset) { n.holes, n.next = n.holes[:0], base }

func (n *notes) keep(k *kept) {
	for _, r := range k.records {
		offset := event.Offset(k.header.BaseOffset + int64(r.OffsetDelta))
		n.skipTo(offset)
		n.next = offset + 1
		if k.header.Attributes.Control() {
			continue
		}
		if len(n.survivors) == survivorsMax {
			n.survivors = append(n.survivors[:0], n.survivors[1:]...)
		}
		n.survivors = append(n.survivors, shown(r.Key)+"@"+strconv.FormatInt(int64(offset), 10))
	}
}

func (n *notes) skipTo(offset event.Offset) {
	if offset <= n.next {
		return
	}
	if len(n.holes) == event.RunsMax {
		n.holes = append(n.holes[:0], n.holes[1:]...)
	}
	n.holes = append(n.holes, [2]event.Offset{n.next, offset - 1})
}

// holesText ends the holes of one segment.
func (n *notes) holesText(end event.Offset) string {
	n.skipTo(end)
	return event.RunsText(n.holes)
}

func (n *notes) survivorsText() string { return strings.Join(n.survivors, ",") }

// shown is a key as a person reads it; bytes that are no text become question marks.
func shown(key []byte) string {
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r == '\uFFFD' {
			return '?'
		}
		return r
	}, string(key[:min(len(key), shownMax)]))
	if len(key) > shownMax {
		text += "…"
	}
	return text
}
