package record

import (
	"bytes"
	"testing"
)

// agree checks that a glance at the first record, if it passes, sees what a closer look sees.
func agree(t *testing.T, records []byte) (passed bool) {
	t.Helper()
	quick, slow := cursor{rest: records, count: 2}, cursor{rest: records, count: 2}
	delta, keyed, passed := quick.glance()
	if !passed {
		if len(quick.rest) != len(records) || quick.index != 0 {
			t.Errorf("% x: a glance that passed nothing moved", records)
		}
		return false
	}
	var r rawRecord
	if !slow.next(&r) || r.TimestampDelta != delta || (r.Key != nil) != keyed ||
		len(slow.rest) != len(quick.rest) || r.headerCount != 0 {
		t.Errorf("% x: a glance saw delta %d, key %v, %d bytes left; next %+v, %d left, %v", records,
			delta, keyed, len(quick.rest), r, len(slow.rest), slow.err)
	}
	return true
}

func manyShapes(t testing.TB) [][]byte {
	var shapes [][]byte
	for _, keyBytes := range []int{-1, 0, 1, 63, 64, 8191, 8192} {
		for _, valueBytes := range []int{-1, 0, 63, 64, 300} {
			for _, ms := range []int64{0, -1, 63, 64, 8191, 8192, 1 << 40} {
				b := NewBuilder()
				b.Add(1<<41, nil, nil)
				b.Add(1<<41+ms, filled(keyBytes), filled(valueBytes))
				b.Add(1<<41, nil, nil, RecordHeader{Key: "h"})
				shapes = append(shapes, mustBatch(t, b)[HeaderBytes+recordBytesMin:])
			}
		}
	}
	return shapes
}

func filled(n int) []byte {
	if n < 0 {
		return nil
	}
	return bytes.Repeat([]byte{'x'}, n)
}

func TestGlanceSeesWhatACloserLookSees(t *testing.T) {
	passed := 0
	for _, records := range manyShapes(t) {
		if agree(t, records) {
			passed++
		}
		// Any byte of what is not a key or value may be anything; so may be where it all ends.
		for at := range min(len(records), 12) {
			for _, to := range []byte{0, 1, 2, 0x7e, 0x7f, 0x80, 0x81, 0xfe, 0xff, records[at] + 2} {
				changed := bytes.Clone(records)
				changed[at] = to
				agree(t, changed)
				agree(t, changed[:len(changed)/2])
			}
			agree(t, records[:at])
		}
	}
	if passed < 50 {
		t.Errorf("only %d shapes were passed at a glance", passed)
	}
}

func FuzzGlance(f *testing.F) {
	for _, records := range manyShapes(f) {
		f.Add(records)
	}
	f.Add([]byte("\f0\xed\xed0\xed\xed0\xed")) // long numbers right up to the end
	f.Fuzz(func(t *testing.T, records []byte) { agree(t, records) })
}
