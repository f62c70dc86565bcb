package partition

import (
	"errors"
	"unicode/utf8"

	"highwater/cluster/event"
	"highwater/cluster/record"
)

const (
	describedRecordsMax = 20  // of one batch
	describedTextMax    = 120 // bytes of a key or value
	describedInflateMax = 1 << 20
)

var errEnough = errors.New("partition: enough records described")

// describe tells what the first records of a batch say, if the budget for that allows.
func (p *Partition) describe(batch []byte, h record.Header, base event.Offset) {
	if !p.env.Events.On() || h.Attributes.Control() ||
		!p.host.Describe(min(h.RecordsCount, describedRecordsMax)) {
		return
	}
	left := describedRecordsMax
	// A batch that cannot be read was refused before; what is described here is for the eye only.
	_ = record.EachRecord(batch, describedInflateMax, func(r record.Record) error {
		if left == 0 {
			return errEnough
		}
		left--
		event.RecordDescribed{Topic: p.Topic, Partition: p.Index,
			Offset: base + event.Offset(r.OffsetDelta), Key: shown(r.Key), Value: shown(r.Value),
			KeyBytes: size(r.Key), ValueBytes: size(r.Value), Headers: int32(len(r.Headers)),
			Timestamp: h.BaseTimestamp + r.TimestampDelta}.Emit(p.env.Events, event.RuleNone)
		return nil
	})
}

func size(b []byte) int32 {
	if b == nil {
		return -1
	}
	return int32(len(b))
}

// shown cuts a key or value to what a person reads, at a whole rune.
func shown(b []byte) string {
	if len(b) <= describedTextMax {
		return string(b)
	}
	cut := describedTextMax
	for cut > 0 && !utf8.RuneStart(b[cut]) {
		cut--
	}
	return string(b[:cut]) + "…"
}
