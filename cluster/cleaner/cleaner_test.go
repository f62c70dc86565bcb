package cleaner

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/record"
)

func want(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// A cleaner that numbered what is left anew would begin at 0 here.
func TestNewestRecordOfEachKeyStaysAtItsOffset(t *testing.T) {
	r := newRig(t)
	for round := range 3 {
		for n := range 30 {
			for _, key := range []string{"alice", "bob", "carol"} {
				r.send(put(key, "v"+strconv.Itoa(round*30+n+1)))
			}
		}
		r.roll()
	}
	r.send(put("alice", "v91"))
	result := r.clean(false)
	texts, _ := r.contents()
	want(t, "records", texts, []string{"267 alice=v90", "268 bob=v90", "269 carol=v90", "270 alice=v91"})
	if got := r.bases(); !slices.Equal(got, []event.Offset{0, 270}) {
		t.Errorf("segments %v", got)
	}
	if result.RecordsBefore != 270 || result.RecordsAfter != 3 || result.FirstDirty != 270 ||
		result.Survivors != "alice@267,bob@268,carol@269" {
		t.Errorf("%+v", result)
	}
	if got := result.Outputs[0].Facts.Holes; got != "0-266" {
		t.Errorf("holes %q", got)
	}
	r.sound()
}

func TestBatchKeepsItsOffsetsCodecAndSequence(t *testing.T) {
	for _, codec := range []record.Codec{record.None, record.Gzip, record.Snappy, record.Lz4,
		record.Zstd} {
		r := newRig(t)
		r.append(r.batch(func(b *record.Builder) {
			b.Codec, b.ProducerID, b.ProducerEpoch, b.BaseSequence = codec, 7, 1, 40
		}, put("a", "1"), put("b", "1"), put("a", "2"), put("b", "2"), put("b", "3")))
		r.append(r.batch(nil, put("b", "4")))
		r.roll()
		r.clean(false)
		texts, headers := r.contents()
		want(t, codec.String(), texts, []string{"2 a=2", "5 b=4"})
		h := headers[0]
		if h.BaseOffset != 0 || h.LastOffset() != 4 || h.Attributes.Codec() != codec ||
			h.BaseSequence != 40 || h.LastSequence() != 44 || h.ProducerEpoch != 1 ||
			h.RecordsCount != 1 || h.MaxTimestamp != testTime+2 {
			t.Errorf("%v: %+v", codec, h)
		}
		r.sound()
	}
}

// A cleaner that dropped deletions at once would leave a slow reader with a value that is no more.
func TestDeletionStaysUntilItsHorizon(t *testing.T) {
	r := newRig(t)
	r.send(put("a", "1"))
	r.send(del("a"))
	r.roll()
	if result := r.clean(false); result.TombstonesKept != 1 {
		t.Errorf("%+v", result)
	}
	texts, headers := r.contents()
	want(t, "after the first pass", texts, []string{"1 -a"})
	horizon := headers[0].BaseTimestamp
	if !headers[0].Attributes.DeleteHorizon() || horizon != testTime+10_000 {
		t.Errorf("the horizon is %d in %+v", horizon, headers[0])
	}
	if got := headers[0].MaxTimestamp; got != testTime {
		t.Errorf("the record's time became %d", got)
	}
	// The horizon is fixed: what delete.retention.ms says later does not move it.
	r.s.DeleteRetentionMs = 1
	r.now += 9_999
	r.clean(true)
	texts, headers = r.contents()
	want(t, "a moment before", texts, []string{"1 -a"})
	if headers[0].BaseTimestamp != horizon {
		t.Errorf("the horizon moved to %d", headers[0].BaseTimestamp)
	}
	r.now++
	if result := r.clean(true); result.TombstonesExpired != 1 {
		t.Errorf("%+v", result)
	}
	texts, headers = r.contents()
	want(t, "after it", texts, nil)
	if len(headers) != 1 || headers[0].RecordsCount != 0 || headers[0].LastOffset() != 1 {
		t.Errorf("the last batch should stay, empty: %+v", headers)
	}
	r.sound()
}

func TestLastSequenceOfAProducerSurvives(t *testing.T) {
	r := newRig(t)
	r.append(r.batch(func(b *record.Builder) {
		b.ProducerID, b.ProducerEpoch, b.BaseSequence = 9, 0, 0
	}, put("a", "1")))
	r.send(put("a", "2"))
	r.send(put("b", "1"))
	r.roll()
	r.send(put("a", "3"))
	r.roll()
	r.clean(false)
	texts, headers := r.contents()
	want(t, "records", texts, []string{"2 b=1", "3 a=3"})
	if h := headers[0]; h.ProducerID != 9 || h.RecordsCount != 0 || h.BaseSequence != 0 {
		t.Errorf("the producer's batch is %+v", h)
	}
	before := r.log.ProducerStates()
	r.must(r.log.Close(false))
	r.open(commitlog.OpenOptions{})
	if after := r.log.ProducerStates(); !slices.Equal(before, after) {
		t.Errorf("%+v became %+v", before, after)
	}
	r.sound()
}

func TestFullOffsetMapTakesSeveralPasses(t *testing.T) {
	r := newRig(t)
	r.s.BufferBytes = 5 * keyBytes // times the load factor: four keys
	for round := range 2 {
		for n := range 20 {
			r.send(put("k"+strconv.Itoa(n), strconv.Itoa(round)))
		}
	}
	r.roll()
	passes := 0
	for r.log.FirstDirtyOffset() < 40 {
		before := r.log.FirstDirtyOffset()
		r.clean(false)
		if passes++; r.log.FirstDirtyOffset() <= before || passes > 20 {
			t.Fatalf("pass %d went from %d to %d", passes, before, r.log.FirstDirtyOffset())
		}
	}
	texts, _ := r.contents()
	if passes < 5 || len(texts) != 20 || texts[0] != "20 k0=1" {
		t.Errorf("%d passes left %v", passes, texts)
	}
	r.sound()
}

func TestRecordsWithoutAKeyGo(t *testing.T) {
	r := newRig(t)
	r.send(put("", "lost"), put("a", "1"))
	r.roll()
	r.clean(false)
	texts, _ := r.contents()
	want(t, "records", texts, []string{"1 a=1"})
}

func TestOnlyWhatIsClosedCommittedAndOldEnoughIsCompacted(t *testing.T) {
	r := newRig(t)
	for i := range 3 {
		r.send(put("a", strconv.Itoa(i)))
		r.roll()
		r.now += 1000
	}
	r.send(put("a", "3"))
	for _, row := range []struct {
		bound    event.Offset
		lagMs    int64
		upTo     event.Offset
		overdue  bool
		lagMaxMs int64
	}{
		{4, 0, 3, false, 1 << 62}, {2, 0, 2, false, 1 << 62}, {1, 0, 1, false, 1 << 62},
		{0, 0, 0, false, 1 << 62}, {4, 1500, 2, false, 1 << 62}, {4, 0, 3, true, 2500},
	} {
		s := r.s
		s.LagMinMs, s.LagMaxMs = row.lagMs, row.lagMaxMs
		look, err := LookAt(r.log, &s, r.now, row.bound)
		if err != nil || look.UpTo != row.upTo || look.Overdue != row.overdue {
			t.Errorf("%+v: %+v, %v", row, look, err)
		}
	}
}

func TestDirtyRatioDecides(t *testing.T) {
	s := Settings{DirtyRatioMin: 0.5}
	for _, row := range []struct {
		look   Look
		wanted bool
	}{
		{Look{CleanBytes: 50, DirtyBytes: 50}, false},
		{Look{CleanBytes: 49, DirtyBytes: 51}, true},
		{Look{CleanBytes: 99, DirtyBytes: 1, Overdue: true}, true},
		{Look{CleanBytes: 99}, false},
		{Look{}, false},
	} {
		if _, wanted := row.look.Wanted(&s); wanted != row.wanted {
			t.Errorf("%+v: %v", row.look, wanted)
		}
	}
}

func TestNeighboursAreMergedUpToSegmentBytes(t *testing.T) {
	r := newRig(t)
	for i := range 6 {
		r.send(put("k"+strconv.Itoa(i), strings.Repeat("x", 300)))
		r.roll()
	}
	r.s.SegmentBytes = 800
	r.clean(false)
	if got := r.bases(); !slices.Equal(got, []event.Offset{0, 2, 4, 6}) {
		t.Errorf("segments %v", got)
	}
	r.sound()
}

func TestAbortedRecordsGoAndMarkersOnlyWhenNothingNeedsThem(t *testing.T) {
	r := newRig(t)
	txn := func(id int64, sequence int32, records ...one) {
		r.append(r.batch(func(b *record.Builder) {
			b.ProducerID, b.ProducerEpoch, b.BaseSequence = id, 0, sequence
			b.Attributes |= record.TransactionalBit
		}, records...))
	}
	mark := func(id int64, commit bool) {
		r.append(record.EndTxnMarker(record.Marker{Commit: commit, ProducerID: id, TimestampMs: r.now}))
	}
	r.send(put("a", "before"))
	txn(1, 0, put("a", "aborted"))
	txn(2, 0, put("b", "committed"))
	mark(1, false)
	mark(2, true)
	r.roll()
	r.clean(false)
	texts, headers := r.contents()
	want(t, "after the first pass", texts,
		[]string{"0 a=before", "2 b=committed", "3 marker", "4 marker"})
	if headers[1].RecordsCount != 0 || headers[1].BaseOffset != 1 {
		t.Errorf("the producer's last batch is %+v", headers[1])
	}
	r.sound()
	if got := r.log.TxnAborted(0, 5); len(got) != 1 || got[0].LastOffset != 3 {
		t.Errorf("aborted transactions: %+v", got)
	}
	// Once their producers are forgotten nothing holds the emptied batch, and then not the marker.
	r.now += r.cfg.ProducerExpirationMs + 1<<40
	r.log.ExpireProducers(r.now)
	r.clean(true)
	r.clean(true)
	r.now += r.s.DeleteRetentionMs
	r.clean(true)
	texts, _ = r.contents()
	want(t, "at the end", texts, []string{"0 a=before", "2 b=committed", "4 marker"})
	r.sound()
}
