package record

import (
	"bytes"
	"encoding/binary"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// changed is a copy of the batch with bytes changed and the CRC made right again, so that the CRC
// is not what the check under test finds.
func changed(batch []byte, change func(b []byte)) []byte {
	b := bytes.Clone(batch)
	change(b)
	Reseal(b)
	return b
}

func TestCodesAreThoseThatKafkaAnswers(t *testing.T) {
	good := mustBatch(t, twoOrders(None))
	magic := func(m byte) []byte { return changed(good, func(b []byte) { b[16] = m }) }
	length := func(n uint32) []byte {
		return changed(good, func(b []byte) { binary.BigEndian.PutUint32(b[8:], n) })
	}
	for _, c := range []struct {
		name  string
		batch []byte
		code  int16
	}{
		{"no bytes", nil, 87},
		{"ten bytes", good[:10], 87},
		{"magic 0", magic(0), 87},
		{"magic 3", magic(3), 2},
		{"magic -1", magic(0xff), 2},
		{"negative length", length(1 << 31), 2},
		{"length 13", length(13), 2},
		{"length 48 of 48", length(48)[:60], 2},
		{"length 48, cut", length(48)[:59], 87},
		{"base offset 5", changed(good, func(b []byte) { b[7] = 5 }), 87},
		{"count -1", changed(good, func(b []byte) { binary.BigEndian.PutUint32(b[57:], 1<<32-1) }), 87},
		{"count 0, delta -1", changed(good, func(b []byte) {
			binary.BigEndian.PutUint32(b[57:], 0)
			binary.BigEndian.PutUint32(b[23:], 1<<32-1)
		}), 87},
		{"largest count and delta", changed(good, func(b []byte) {
			binary.BigEndian.PutUint32(b[57:], math.MaxInt32)
			binary.BigEndian.PutUint32(b[23:], math.MaxInt32-1)
		}), 87},
		{"codec 5", changed(good, func(b []byte) { b[22] |= 5 }), 87},
		{"not zstd", changed(good, func(b []byte) { b[22] |= byte(Zstd) }), 87},
		{"not gzip", changed(good, func(b []byte) { b[22] |= byte(Gzip) }), 87},
	} {
		if _, bad := Validate(c.batch, Validation{InflatedMax: 1 << 20}); bad == nil ||
			bad.Code != c.code {
			t.Errorf("%s: %+v, want code %d", c.name, bad, c.code)
		}
	}
	if _, bad := Validate(good, Validation{BatchBytesMax: len(good) - 1}); bad == nil ||
		bad.Code != 10 {
		t.Errorf("a batch over max.message.bytes: %+v, want code 10", bad)
	}
	if _, bad := Validate(good, Validation{BatchBytesMax: len(good)}); bad != nil {
		t.Errorf("a batch exactly at max.message.bytes: %v", bad)
	}
}

func TestValidateRefusesRecordsThatDoNotFitTheirBytes(t *testing.T) {
	body := func(b ...byte) []byte { return append(binary.AppendVarint(nil, int64(len(b))), b...) }
	for _, c := range []struct {
		name    string
		records []byte
		good    bool
	}{
		{"null key and value", body(0, 0, 0, 1, 1, 0, 0)[:7], false},
		{"smallest", body(0, 0, 0, 1, 1, 0), true},
		{"negative header count", body(0, 0, 0, 1, 1, 9), false},
		{"more headers than bytes", body(0, 0, 0, 1, 1, 4, 0, 1), false},
		{"null header key", body(0, 0, 0, 1, 1, 2, 1, 1), false},
		{"empty header key", body(0, 0, 0, 1, 1, 2, 0, 1), true},
		{"key length -2", body(0, 0, 0, 3, 1, 0), false},
		{"key beyond the record", body(0, 0, 0, 8, 1, 0), false},
		{"offset delta over 32 bits",
			body(0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 1, 1, 0), false},
		{"byte behind the headers", body(0, 0, 0, 1, 1, 0, 0), false},
		{"byte behind the record", append(body(0, 0, 0, 1, 1, 0), 0), false},
		{"empty record", append(body(), 0, 0, 0, 0, 0, 0, 0), false},
	} {
		batch, err := Encode(Header{ProducerID: -1, BaseSequence: -1, RecordsCount: 1}, c.records)
		if err != nil {
			t.Fatal(err)
		}
		_, bad := Validate(batch, Validation{})
		err = EachRecord(batch, 0, func(Record) error { return nil })
		if (bad == nil) != c.good || (err == nil) != c.good {
			t.Errorf("%s: Validate says %v, EachRecord says %v", c.name, bad, err)
		}
	}
}

func TestCompactedTopicNamesEveryRecordWithoutAKey(t *testing.T) {
	b := NewBuilder()
	for _, key := range [][]byte{[]byte("a"), nil, {}, nil} {
		b.Add(1000, key, []byte("v"))
	}
	batch := mustBatch(t, b)
	facts, bad := Validate(batch, Validation{KeysRequired: true})
	if bad == nil || bad.Code != 87 || len(bad.Records) != 2 || bad.Records[0].BatchIndex != 1 ||
		bad.Records[1].BatchIndex != 3 {
		t.Errorf("%+v, want records 1 and 3 named with code 87", bad)
	}
	if facts.NullKey != 1 {
		t.Errorf("first record without key is %d, want 1", facts.NullKey)
	}
	if _, bad := Validate(batch, Validation{}); bad != nil {
		t.Errorf("an ordinary topic: %v", bad)
	}
}

func TestTimestampsOutsideTheWindowAreNamed(t *testing.T) {
	b := NewBuilder()
	b.Add(1000, nil, nil)
	b.Add(-1, nil, nil) // none given
	b.Add(2001, nil, nil)
	window := Validation{Timestamps: TimestampWindow{EarliestMs: 1000, LatestMs: 2000}}
	facts, bad := Validate(mustBatch(t, b), window)
	if bad == nil || bad.Code != 32 || len(bad.Records) != 1 || bad.Records[0].BatchIndex != 2 {
		t.Errorf("%+v, want record 2 named with code 32", bad)
	}
	if facts.EarliestTimestamp != 1000 || facts.LatestTimestamp != 2001 {
		t.Errorf("timestamps %d to %d, want 1000 to 2001", facts.EarliestTimestamp,
			facts.LatestTimestamp)
	}
}

func TestFactsFindAWrongMaximumTimestamp(t *testing.T) {
	batch := changed(mustBatch(t, twoOrders(None)), func(b []byte) {
		binary.BigEndian.PutUint64(b[35:], 7)
	})
	facts, bad := Validate(batch, Validation{})
	if bad != nil || facts.MaxTimestamp != 7 || facts.LatestTimestamp != 1790481955153 {
		t.Fatalf("%v, header %d, records %d", bad, facts.MaxTimestamp, facts.LatestTimestamp)
	}
	SetTimestamps(batch, facts.LatestTimestamp, false)
	if !bytes.Equal(batch, mustBatch(t, twoOrders(None))) {
		t.Error("a corrected batch differs from one that was right")
	}
	SetTimestamps(batch, 42, true)
	h, err := ParseHeader(batch)
	if err != nil || !ChecksumHolds(batch) || !h.Attributes.LogAppendTime() ||
		h.Timestamp(Record{TimestampDelta: 1}) != 42 {
		t.Errorf("with LogAppendTime: %+v, %v", h, err)
	}
}

func TestFirstRecordsAreBoundedCopies(t *testing.T) {
	for codec := None; codec <= Zstd; codec++ {
		batch := mustBatch(t, twoOrders(codec))
		facts, bad := Validate(batch, Validation{InflatedMax: 1 << 20, KeepRecords: 1, KeepBytes: 5})
		if bad != nil || len(facts.FirstRecords) != 1 {
			t.Fatalf("%v: %v, %d records kept", codec, bad, len(facts.FirstRecords))
		}
		clear(batch)
		kept := facts.FirstRecords[0]
		if string(kept.Key) != "order" || string(kept.Value) != `{"id"` {
			t.Errorf("%v: kept %q %q", codec, kept.Key, kept.Value)
		}
	}
}

func TestUncompressedBatchIsCheckedWithoutAllocating(t *testing.T) {
	b := twoOrders(None)
	b.Add(1790481955160, nil, nil, RecordHeader{"trace", []byte("1")})
	batch := mustBatch(t, b)
	n := testing.AllocsPerRun(100, func() {
		if _, bad := Validate(batch, Validation{KeysRequired: false}); bad != nil {
			t.Fatal(bad)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestBombsAreRefusedBeforeTheyGrow(t *testing.T) {
	const boundBytes = 64 << 10
	for codec := Gzip; codec <= Zstd; codec++ {
		b := NewBuilder()
		b.Codec = codec
		b.Add(0, nil, make([]byte, 32<<20))
		batch := mustBatch(t, b)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, bad := Validate(batch, Validation{InflatedMax: boundBytes})
		runtime.ReadMemStats(&after)
		if bad == nil || bad.Code != 10 {
			t.Errorf("%v: %+v, want code 10", codec, bad)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
			t.Errorf("%v: %d bytes were allocated for a bound of %d", codec, grown, boundBytes)
		}
	}
}

func TestBatchOfExactlyTheBoundInflates(t *testing.T) {
	for codec := Gzip; codec <= Zstd; codec++ {
		b := NewBuilder()
		b.Codec = codec
		b.Add(0, nil, bytes.Repeat([]byte("highwater "), 9_000))
		inflatedBytes := b.Size() - HeaderBytes
		batch := mustBatch(t, b)
		if _, bad := Validate(batch, Validation{InflatedMax: inflatedBytes}); bad != nil {
			t.Errorf("%v at the bound: %v", codec, bad)
		}
		if _, bad := Validate(batch, Validation{InflatedMax: inflatedBytes - 1}); bad == nil ||
			bad.Code != 10 {
			t.Errorf("%v one byte over it: %+v, want code 10", codec, bad)
		}
	}
}

// Kafka's Java client compresses with zstd as a stream and level 3, whose frames declare a window
// of 2 MiB and no size.
func TestSmallBatchMayDeclareALargeZstdWindow(t *testing.T) {
	var stream bytes.Buffer
	w, err := zstd.NewWriter(&stream, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(2<<20))
	if err != nil {
		t.Fatal(err)
	}
	records := AppendRecord(nil, Record{Value: []byte("order-3")})
	for _, part := range [][]byte{records[:3], records[3:]} { // a flush between hides the size
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var header zstd.Header
	if err := header.Decode(stream.Bytes()); err != nil || header.WindowSize != 2<<20 {
		t.Fatalf("the frame declares %d, %v", header.WindowSize, err)
	}
	inflater := NewInflater(1000)
	for range 2 { // an inflater is used again
		out, err := inflater.Inflate(Zstd, stream.Bytes())
		if err != nil || !bytes.Equal(out, records) {
			t.Errorf("%x, %v", out, err)
		}
	}
}

func TestInflaterGoesOnAfterBrokenInput(t *testing.T) {
	inflater := NewInflater(1 << 20)
	for codec := Gzip; codec <= Zstd; codec++ {
		batch := mustBatch(t, twoOrders(codec))
		v := Validation{Inflater: inflater}
		broken := changed(batch, func(b []byte) { clear(b[HeaderBytes:]) })
		cut := batch[HeaderBytes : len(batch)-1]
		if _, bad := Validate(broken, v); bad == nil {
			t.Errorf("%v: zeros were taken", codec)
		}
		if _, err := inflater.Inflate(codec, cut); err == nil && codec != Snappy {
			t.Errorf("%v: a cut stream was taken", codec)
		}
		if _, bad := Validate(batch, v); bad != nil {
			t.Errorf("%v: after broken input: %v", codec, bad)
		}
	}
}

func TestRefusalNamesAtMostTenThousandRecords(t *testing.T) {
	b := NewBuilder()
	for range recordErrorsMax + 5 {
		b.Add(0, nil, nil)
	}
	_, bad := Validate(mustBatch(t, b), Validation{KeysRequired: true})
	if bad == nil || len(bad.Records) != recordErrorsMax || !strings.HasPrefix(bad.Message, "10005 ") {
		t.Errorf("%d records named, %.80s", len(bad.Records), bad.Message)
	}
}
