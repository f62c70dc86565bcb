package commitlog

import (
	"slices"
	"testing"
)

func TestAppendedRecordsAreReadBackAfterReopen(t *testing.T) {
	for _, clean := range []bool{true, false} {
		r := newRig(t, func(c *Config) { c.SegmentBytes, c.IndexIntervalBytes = 400, 100 })
		var want []string
		for i := range 30 {
			v := string(rune('a' + i))
			r.send(entry{testTime + int64(i), "k", v})
			want = append(want, v)
			if i%4 == 0 {
				r.flush()
			}
		}
		r.flush()
		if got := r.values(); !slices.Equal(got, want) {
			t.Fatalf("from the tail: %v", got)
		}
		rec := r.reopen(clean)
		if got := r.values(); !slices.Equal(got, want) {
			t.Fatalf("clean %v: %v after %+v", clean, got, rec)
		}
		if len(r.log.Segments()) < 3 {
			t.Fatalf("segments: %+v", r.log.Segments())
		}
	}
}
