package commitlog

import (
	"testing"

	"highwater/cluster/record"
)

// BenchmarkAppendAndFlush is one 1-record batch a turn: the append and its flush to memory files.
func BenchmarkAppendAndFlush(b *testing.B) {
	r := newRig(b, nil)
	pool := record.NewPool(64 << 20)
	batch := batchOf(b, []entry{{testTime, "order-2", `{"id":2,"amt":20}`}}, nil)
	h, err := record.ParseHeader(batch)
	r.must(err)
	slab, used := pool.Get(len(batch)), 0
	b.ReportAllocs()
	for b.Loop() {
		if used+len(batch) > len(slab.Bytes()) {
			slab.Release()
			slab, used = pool.Get(len(batch)), 0
		}
		bytes := slab.Bytes()[used : used+len(batch)]
		used += copy(bytes, batch)
		if _, err := r.log.AppendAsLeader(
			record.Buffer{Slab: slab, Bytes: bytes}, h, 0, Client); err != nil {
			b.Fatal(err)
		}
		if err := r.log.Flush(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadAtTheTail is a follower's read of the newest batch.
func BenchmarkReadAtTheTail(b *testing.B) {
	r := newRig(b, nil)
	for range 1000 {
		r.send(entry{testTime, "order-2", `{"id":2,"amt":20}`})
	}
	r.flush()
	var s Slices
	b.ReportAllocs()
	for b.Loop() {
		if err := r.log.ReadInto(&s, 999, 1<<20, 1000, true); err != nil || s.Bytes == 0 {
			b.Fatal(err)
		}
		s.Release()
	}
}
