package record

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestHeaderFieldsCoverTheHeaderWithoutGaps(t *testing.T) {
	at := 0
	for _, field := range HeaderFields() {
		if field.Offset != at {
			t.Errorf("%s begins at %d, the field before it ends at %d", field.Name, field.Offset, at)
		}
		at += field.Size
	}
	if at != HeaderBytes || len(HeaderFields()) != 13 {
		t.Errorf("%d fields of %d bytes, want 13 of %d", len(HeaderFields()), at, HeaderBytes)
	}
}

// Random records go through our encoder and franz-go's decoder, which knows nothing of ours.
func TestFranzGoDecodesEveryRecord(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	some := func() []byte {
		if n := dice.IntN(200); n > 0 {
			return bytes.Repeat([]byte{byte(n)}, n-1)
		}
		return nil
	}
	b := NewBuilder()
	var want []Record
	for i := range 500 {
		r := Record{TimestampDelta: dice.Int64N(1<<40) - 1<<39, OffsetDelta: int32(i), Key: some(),
			Value: some()}
		if i == 0 {
			r.TimestampDelta = 0
		}
		for range dice.IntN(3) {
			r.Headers = append(r.Headers, RecordHeader{string(some()), some()})
		}
		b.Add(r.TimestampDelta+1000, r.Key, r.Value, r.Headers...)
		want = append(want, r)
	}
	var theirs kmsg.RecordBatch
	if err := theirs.ReadFrom(mustBatch(t, b)); err != nil {
		t.Fatal(err)
	}
	rest := theirs.Records
	for i, r := range want {
		length, n := binary.Varint(rest)
		var got kmsg.Record
		if err := got.ReadFrom(rest[:n+int(length)]); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		rest = rest[n+int(length):]
		if got.TimestampDelta64 != r.TimestampDelta || got.OffsetDelta != r.OffsetDelta ||
			!sameBytes(got.Key, r.Key) || !sameBytes(got.Value, r.Value) ||
			len(got.Headers) != len(r.Headers) {
			t.Fatalf("record %d: %+v, want %+v", i, got, r)
		}
		for j, h := range r.Headers {
			if got.Headers[j].Key != h.Key || !sameBytes(got.Headers[j].Value, h.Value) {
				t.Fatalf("record %d, header %d: %+v, want %+v", i, j, got.Headers[j], h)
			}
		}
	}
	if len(rest) > 0 {
		t.Errorf("%d bytes left", len(rest))
	}
}

// sameBytes also tells null and empty apart.
func sameBytes(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

func TestLimitsOfNumbersSurviveARecord(t *testing.T) {
	for _, r := range []Record{
		{TimestampDelta: math.MaxInt64, OffsetDelta: math.MaxInt32},
		{TimestampDelta: math.MinInt64, OffsetDelta: math.MinInt32, Attributes: -1},
		{TimestampDelta: -1, OffsetDelta: 64}, {TimestampDelta: 63}, {TimestampDelta: 64},
	} {
		batch, err := Encode(Header{RecordsCount: 1}, AppendRecord(nil, r))
		if err != nil {
			t.Fatal(err)
		}
		if err := EachRecord(batch, 0, func(got Record) error {
			if got.TimestampDelta != r.TimestampDelta || got.OffsetDelta != r.OffsetDelta ||
				got.Attributes != r.Attributes {
				t.Errorf("%+v reads as %+v", r, got)
			}
			return nil
		}); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func TestTranscodingChangesTheCodecAndNothingElse(t *testing.T) {
	plain := mustBatch(t, twoOrders(None))
	for codec := None; codec <= Zstd; codec++ {
		packed, err := Transcode(plain, codec, 1<<20)
		if err != nil {
			t.Fatalf("%v: %v", codec, err)
		}
		if h, err := ParseHeader(packed); err != nil || h.Attributes.Codec() != codec {
			t.Errorf("%v: %+v, %v", codec, h, err)
		}
		back, err := Transcode(packed, None, 1<<20)
		if err != nil || !bytes.Equal(back, plain) {
			t.Errorf("%v and back: %v, %x", codec, err, back)
		}
	}
}

func TestBuilderMakesTheSameBatchAfterReset(t *testing.T) {
	for codec := None; codec <= Zstd; codec++ {
		b := twoOrders(codec)
		first := mustBatch(t, b)
		kept := bytes.Clone(first)
		b.Reset()
		b.Add(1790481955152, []byte("order-2"), []byte(`{"id":2,"amt":20}`))
		b.Add(1790481955153, []byte("order-3"), []byte(`{"id":3,"amt":30}`))
		if second := mustBatch(t, b); !bytes.Equal(first, second) || !bytes.Equal(first, kept) {
			t.Errorf("%v: a builder used again makes other bytes, or changes those it made", codec)
		}
	}
}

func TestEmptyBatchOfACleanedLogHasNoRecords(t *testing.T) {
	batch, err := Encode(Header{BaseOffset: 5, LastOffsetDelta: 3, Attributes: ControlBit,
		ProducerID: 7}, nil)
	if err != nil || len(batch) != HeaderBytes || !ChecksumHolds(batch) {
		t.Fatalf("%d bytes, %v", len(batch), err)
	}
	if err := EachRecord(batch, 0, func(Record) error {
		t.Error("a record")
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestPoolKeepsNoMoreThanItsBound(t *testing.T) {
	pool := NewPool(64 << 10)
	var slabs []*Slab
	for _, n := range []int{1, 16 << 10, 16<<10 + 1, 64 << 10, 1 << 20, 4<<20 + 1} {
		s := pool.Get(n)
		if len(s.Bytes()) < n {
			t.Errorf("asked for %d bytes, got %d", n, len(s.Bytes()))
		}
		slabs = append(slabs, s)
	}
	if inUse, kept := pool.Stats(); kept != 0 ||
		inUse != 16<<10+16<<10+32<<10+64<<10+1<<20+4<<20+1 {
		t.Errorf("%d bytes in use, %d kept", inUse, kept)
	}
	for _, s := range slabs {
		s.Release()
	}
	if inUse, kept := pool.Stats(); inUse != 0 || kept != 64<<10 {
		t.Errorf("after the release %d bytes in use, %d kept, want 0 and 65536", inUse, kept)
	}
	pool.Trim()
	if _, kept := pool.Stats(); kept != 0 {
		t.Errorf("after a trim %d bytes kept", kept)
	}
}

func TestSlabsAreSafeForSeveralGoroutines(t *testing.T) {
	pool := NewPool(1 << 20)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 1000 {
				s := pool.Get(1 + i*37%100_000)
				b := Buffer{s, s.Bytes()}
				b.Retain()
				s.Bytes()[0] = byte(g)
				b.Release()
				if s.Bytes()[0] != byte(g) {
					t.Error("a slab in use was given out again")
				}
				b.Release()
			}
		})
	}
	all.Wait()
	if inUse, _ := pool.Stats(); inUse != 0 {
		t.Errorf("%d bytes in use at the end", inUse)
	}
	Buffer{}.Retain() // plain memory counts nothing
	Buffer{}.Release()
}

func FuzzParse(f *testing.F) {
	f.Add(EndTxnMarker(Marker{ProducerID: 1}))
	f.Add(mustBatch(f, twoOrders(None)))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseHeader(b)
		if err != nil {
			return
		}
		again := make([]byte, HeaderBytes)
		h.Put(again)
		if !bytes.Equal(again, b[:HeaderBytes]) || h.Size() < HeaderBytes {
			t.Errorf("%x writes back as %x, size %d", b[:HeaderBytes], again, h.Size())
		}
	})
}
