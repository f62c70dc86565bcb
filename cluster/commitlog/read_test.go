package commitlog

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/record"
)

// forget empties the log's tail, so that reads go to the files.
func (r *rig) forget() {
	r.flush()
	r.log.tail.release(math.MinInt64)
}

func TestReadGivesWholeBatchesWithinItsBounds(t *testing.T) {
	for _, fromFile := range []bool{false, true} {
		r := newRig(t, func(c *Config) { c.IndexIntervalBytes, c.SegmentBytes = 150, 2000 })
		for i := range 60 {
			r.send(entry{testTime, "k", fmt.Sprint(i)}, entry{testTime, "k", "second"},
				entry{testTime, "k", "third"})
		}
		if fromFile {
			r.forget()
		}
		for from := event.Offset(0); from < 180; from++ {
			for _, limit := range []event.Offset{30, 99, 179, 180, 500} {
				for _, maxBytes := range []int{1, 300, 100000} {
					checkRead(t, r, from, limit, maxBytes, fromFile)
				}
			}
		}
	}
}

func checkRead(t *testing.T, r *rig, from, limit event.Offset, maxBytes int, fromFile bool) {
	t.Helper()
	s, err := r.log.Read(from, maxBytes, limit, true)
	r.must(err)
	defer s.Release()
	what := fmt.Sprintf("read(%d, %d, %d, file %v)", from, maxBytes, limit, fromFile)
	batch := from - from%3
	if batch+3 > limit {
		if s.Bytes != 0 || s.NextOffset != from {
			t.Fatalf("%s passed its limit: %+v", what, s)
		}
		return
	}
	if s.FirstOffset != batch || s.NextOffset <= from || s.NextOffset > limit ||
		s.NextOffset%3 != 0 || (len(s.Ranges) > 0) != fromFile {
		t.Fatalf("%s: %+v", what, s)
	}
	next, bytes := batch, 0
	buffers, err := s.Load()
	r.must(err)
	for _, b := range buffers {
		r.must(EachBatch(b, func(h record.Header, b record.Buffer) error {
			if event.Offset(h.BaseOffset) != next || !record.ChecksumHolds(b.Bytes) {
				t.Fatalf("%s: batch %d at %d", what, h.BaseOffset, next)
			}
			next, bytes = event.Offset(h.LastOffset())+1, bytes+len(b.Bytes)
			return nil
		}))
	}
	if next != s.NextOffset || bytes != s.Bytes || bytes > maxBytes && next != batch+3 {
		t.Fatalf("%s: ended at %d after %d bytes: %+v", what, next, bytes, s)
	}
}

func TestReadWithoutMinOneRespectsTheBoundStrictly(t *testing.T) {
	for _, fromFile := range []bool{false, true} {
		r := newRig(t, nil)
		r.send(entry{testTime, "k", "v"})
		if fromFile {
			r.forget()
		}
		s, err := r.log.Read(0, 10, 9, false)
		if err != nil || s.Bytes != 0 || s.NextOffset != 0 {
			t.Errorf("file %v: %+v, %v", fromFile, s, err)
		}
	}
}

func TestReadOutsideTheLogIsOutOfRange(t *testing.T) {
	r := newRig(t, nil)
	r.send(entry{testTime, "k", "v"})
	for offset, in := range map[event.Offset]bool{-1: false, 0: true, 1: true, 2: false} {
		_, err := r.log.Read(offset, 100, 10, true)
		if out := (*OutOfRangeError)(nil); errors.As(err, &out) == in {
			t.Errorf("offset %d: %v", offset, err)
		}
	}
}

func TestRetainedRangeOutlivesTheSegmentsDeletion(t *testing.T) {
	r := rolledRig(t)
	r.forget()
	s, err := r.log.Read(0, 300, 200, true)
	r.must(err)
	r.must(r.log.TruncateFullyAndStartAt(500))
	r.runDeferred()
	buffers, err := s.Load()
	if err != nil || len(buffers) != 1 || !record.ChecksumHolds(buffers[0].Bytes[:206]) {
		t.Errorf("%v, %v", buffers, err)
	}
	s.Release()
}

func TestTailKeepsWhatIsUnwrittenOrHeldButNotWithoutBound(t *testing.T) {
	const slabBytes = 16 << 10
	pool := record.NewPool(1 << 30)
	r := newRig(t, func(c *Config) { c.TailBytes = 2 * slabBytes })
	batch := batchOf(t, []entry{{testTime, "k", "v"}}, nil)
	add := func(n int) {
		for range n {
			slab := pool.Get(slabBytes)
			copy(slab.Bytes(), batch)
			h, err := record.ParseHeader(batch)
			r.must(err)
			_, err = r.log.AppendAsLeader(
				record.Buffer{Slab: slab, Bytes: slab.Bytes()[:len(batch)]}, h, 0, Client)
			r.must(err)
			slab.Release()
		}
	}
	inUse := func(want int64) {
		t.Helper()
		if got, _ := pool.Stats(); got != want*slabBytes {
			t.Errorf("%d slabs in use, want %d", got/slabBytes, want)
		}
	}
	add(5)
	inUse(5)
	r.flush()
	inUse(2)
	r.log.SetTailHold(5)
	add(3)
	r.flush()
	inUse(3)
	add(100)
	r.flush()
	inUse(2 * tailHoldFactor)
	r.log.SetTailHold(math.MaxInt64)
	inUse(2)
	r.must(r.log.Truncate(3, event.RuleNone))
	inUse(0)
	add(1)
	r.must(r.log.Close(true))
	inUse(0)
}

func TestTimestampLookupAsKafkaAnswersIt(t *testing.T) {
	stamps := []int64{100, 300, 200}
	for _, codec := range []record.Codec{record.None, record.Gzip} {
		for _, together := range []bool{true, false} {
			r := newRig(t, nil)
			var entries []entry
			for _, at := range stamps {
				entries = append(entries, entry{at, "k", "v"})
			}
			groups := [][]entry{entries}
			if !together {
				groups = [][]entry{entries[:1], entries[1:2], entries[2:]}
			}
			for _, g := range groups {
				_, err := r.leader(
					batchOf(t, g, func(b *record.Builder) { b.Codec = codec }), Client)
				r.must(err)
			}
			for asked, want := range map[int64]TimestampOffset{
				100: {100, 0, 0}, 101: {300, 1, 0}, 200: {300, 1, 0}, 301: {-1, -1, -1},
				TimestampOfMax: {300, 1, 0}, TimestampLatest: {-1, 3, 0},
				TimestampEarliest: {-1, 0, 0},
			} {
				if got, err := r.log.OffsetForTimestamp(asked); err != nil || got != want {
					t.Errorf("%v together %v: %d is %+v (%v)", codec, together, asked, got, err)
				}
			}
		}
	}
}

func TestTimestampIsFoundAcrossSegments(t *testing.T) {
	r := rolledRig(t)
	for offset := range int64(200) {
		at := testTime + offset/5*100 + offset%5
		got, err := r.log.OffsetForTimestamp(at)
		if err != nil || got != (TimestampOffset{at, event.Offset(offset), 0}) {
			t.Fatalf("%d: %+v, %v", offset, got, err)
		}
	}
}

func TestFollowerRefusesWhatItMustNotStore(t *testing.T) {
	r := newRig(t, nil)
	batch := batchOf(t, []entry{{testTime, "k", "v"}}, nil)
	follow := func(base int64, spoil bool) error {
		b := append([]byte(nil), batch...)
		record.Stamp(b, base, 2)
		if spoil {
			b[len(b)-2] ^= 1
		}
		h, err := record.ParseHeader(b)
		r.must(err)
		return r.log.AppendAsFollower(record.Buffer{Bytes: b}, h)
	}
	r.must(follow(0, false))
	if err := follow(1, true); !errors.Is(err, ErrCorrupt) {
		t.Errorf("spoilt: %v", err)
	}
	if err := follow(0, false); !errors.Is(err, ErrUnexpectedOffset) {
		t.Errorf("repeated: %v", err)
	}
	r.must(follow(7, false)) // Compaction leaves gaps at the leader.
	if r.log.LogEndOffset() != 8 || r.log.LastEpoch() != 2 {
		t.Errorf("end %d, epoch %d", r.log.LogEndOffset(), r.log.LastEpoch())
	}
}

func TestFirstWriteErrorClosesTheLogForWrites(t *testing.T) {
	r := newRig(t, nil)
	r.send(entry{testTime, "k", "v"})
	r.flush()
	r.disk.SetFault(disk.Fault{Kind: disk.Full})
	r.send(entry{testTime, "k", "v"})
	if err := r.log.Flush(); !errors.Is(err, disk.ErrFull) || r.log.WrittenEnd() != 1 {
		t.Errorf("flush: %v, written %d", err, r.log.WrittenEnd())
	}
	r.disk.ClearFault()
	batch := batchOf(t, []entry{{testTime, "k", "v"}}, nil)
	if _, err := r.leader(batch, Client); !errors.Is(err, disk.ErrFull) {
		t.Errorf("append afterwards: %v", err)
	}
	r.must(r.log.Close(false))
	r.open(OpenOptions{})
	if r.log.LogEndOffset() != 1 {
		t.Errorf("end %d", r.log.LogEndOffset())
	}
}

// A deleted replica's directory is renamed while its tickets are out.
func TestWorkThatEndsAfterTheLogWasClosedFailsNobody(t *testing.T) {
	for _, closed := range []bool{true, false} {
		r := newRig(t, nil)
		r.send(entry{testTime, "k", "v"})
		r.flush()
		ticket := r.log.PrepareSync()
		if closed {
			r.must(r.log.Close(false))
		}
		r.must(r.disk.Rename(rigDir, "orders-0.gone-delete"))
		err := ticket.Run()
		if err == nil {
			t.Fatal("a sync of a directory that is gone succeeds")
		}
		if err := ticket.Done(err); (err == nil) != closed {
			t.Errorf("closed %t: the log fails with %v", closed, err)
		}
	}
}
