package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func twoOrders(codec Codec) *Builder {
	b := NewBuilder()
	b.Codec = codec
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = 1000, 0, 0
	b.Add(1790481955152, []byte("order-2"), []byte(`{"id":2,"amt":20}`))
	b.Add(1790481955153, []byte("order-3"), []byte(`{"id":3,"amt":30}`))
	return b
}

func mustBatch(t testing.TB, b *Builder) []byte {
	t.Helper()
	out, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBatchOfTwoOrdersHasKafkasBytes(t *testing.T) {
	b := mustBatch(t, twoOrders(None))
	h, err := ParseHeader(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) != 123 || h.Size() != 123 || h.CRC != 2772778610 || !ChecksumHolds(b) {
		t.Errorf("%d bytes, CRC %d; Kafka writes 123 bytes, CRC 2772778610", len(b), h.CRC)
	}
	Stamp(b, 42, 7)
	if h, _ = ParseHeader(b); h.BaseOffset != 42 || h.PartitionLeaderEpoch != 7 || !ChecksumHolds(b) {
		t.Errorf("stamped: offset %d, epoch %d, CRC holds: %v", h.BaseOffset,
			h.PartitionLeaderEpoch, ChecksumHolds(b))
	}
}

func TestMarkerHas78Bytes(t *testing.T) {
	b := EndTxnMarker(Marker{Commit: true, ProducerID: 5, ProducerEpoch: 1, CoordinatorEpoch: 3})
	h, err := ParseHeader(b)
	if err != nil || len(b) != 78 || h.Attributes != 0x30 || h.BaseSequence != -1 {
		t.Errorf("%d bytes, attributes %#x, %v", len(b), h.Attributes, err)
	}
	var key kmsg.ControlRecordKey
	var value kmsg.EndTxnMarker
	if err := EachRecord(b, 1<<20, func(r Record) error {
		return errors.Join(key.ReadFrom(r.Key), value.ReadFrom(r.Value))
	}); err != nil || key.Type != kmsg.ControlRecordKeyTypeCommit || value.CoordinatorEpoch != 3 {
		t.Errorf("decoded as %+v %+v, %v", key, value, err)
	}
}

func TestFullDefaultBatchHolds148Records(t *testing.T) {
	b := NewBuilder()
	for i := range 148 {
		b.Add(1790481955152, nil, bytes.Repeat([]byte{byte(i)}, 100))
	}
	if n := len(mustBatch(t, b)); n != 16277 {
		t.Errorf("148 records of 100 bytes make %d bytes, want 16277", n)
	}
}

func TestEveryCodecReadsBackWhatWasWritten(t *testing.T) {
	for codec := None; codec <= Zstd; codec++ {
		b := twoOrders(codec)
		big := bytes.Repeat([]byte("highwater "), 10_000)
		b.Add(1790481955160, []byte{}, big, RecordHeader{"trace", nil}, RecordHeader{"", []byte{}})
		b.Add(1790481955160, nil, nil)
		batch := mustBatch(t, b)
		if _, invalid := Validate(batch, Validation{InflatedMax: 1 << 20}); invalid != nil {
			t.Errorf("%v: %v", codec, invalid)
		}
		var got []Record
		if err := EachRecord(batch, 1<<20, func(r Record) error {
			got = append(got, r)
			return nil
		}); err != nil || len(got) != 4 {
			t.Fatalf("%v: %d records, %v", codec, len(got), err)
		}
		if !bytes.Equal(got[2].Value, big) || got[2].Key == nil || got[3].Key != nil ||
			got[3].Value != nil || got[2].Headers[0].Value != nil || got[2].Headers[1].Value == nil {
			t.Errorf("%v: nulls and empties were mixed up", codec)
		}
		err := EachRecord(batch, 1000, func(Record) error { return nil })
		if codec != None && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%v: inflating past the bound gave %v", codec, err)
		}
	}
}

func TestReadsAsFranzGoReads(t *testing.T) {
	batch := mustBatch(t, twoOrders(None))
	var theirs kmsg.RecordBatch
	if err := theirs.ReadFrom(batch); err != nil {
		t.Fatal(err)
	}
	if theirs.NumRecords != 2 || theirs.FirstTimestamp != 1790481955152 || theirs.ProducerID != 1000 {
		t.Errorf("franz-go reads %+v", theirs)
	}
}

func TestValidateNamesWhatIsWrong(t *testing.T) {
	good := mustBatch(t, twoOrders(None))
	change := func(f func(b []byte)) []byte {
		b := bytes.Clone(good)
		f(b)
		Reseal(b)
		return b
	}
	for _, c := range []struct {
		name  string
		batch []byte
		code  int16
		says  string
	}{
		{"cut", good[:100], 87, "100 came"},
		{"two batches", append(bytes.Clone(good), good...), 87, "exactly one batch"},
		{"bit flip", func() []byte { b := bytes.Clone(good); b[70] ^= 1; return b }(), 2, "CRC"},
		{"control", change(func(b []byte) { b[22] |= 0x20 }), 87, "control"},
		{"count", change(func(b []byte) { b[60] = 3 }), 87, "3 records"},
		{"sequence", change(func(b []byte) { binary.BigEndian.PutUint32(b[53:], 1<<31) }), 87,
			"sequence number"},
		{"magic 1", func() []byte { b := bytes.Clone(good); b[16] = 1; return b }(), 87, "magic 1"},
	} {
		_, err := Validate(c.batch, Validation{InflatedMax: 1 << 20})
		if err == nil || err.Code != c.code || !strings.Contains(err.Message, c.says) {
			t.Errorf("%s: %+v; want code %d and %q", c.name, err, c.code, c.says)
		}
	}
}

func TestLastSequenceWrapsAfterTheLargestInteger(t *testing.T) {
	h := Header{BaseSequence: 2147483646, LastOffsetDelta: 2}
	if got := h.LastSequence(); got != 0 {
		t.Errorf("2147483646 and two more is %d, want 0", got)
	}
}

func TestReleasingASlabTooOftenPanics(t *testing.T) {
	pool := NewPool(1 << 20)
	s := pool.Get(20_000)
	s.Retain()
	s.Release()
	s.Release()
	if again := pool.Get(20_000); again != s {
		t.Error("a released slab is not used again")
	} else {
		again.Release()
	}
	defer func() {
		if recover() == nil {
			t.Error("one release too many went unnoticed")
		}
	}()
	s.Release()
}

func FuzzEachRecord(f *testing.F) {
	for codec := None; codec <= Zstd; codec++ {
		f.Add(mustBatch(f, twoOrders(codec)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= HeaderBytes { // length and CRC are set right, else no change gets past them
			b = bytes.Clone(b)
			Stamp(b, 0, 0)
			binary.BigEndian.PutUint32(b[8:], uint32(len(b)-LogOverhead))
			Reseal(b)
		}
		n := 0
		_ = EachRecord(b, 1<<16, func(Record) error { n++; return nil })
		facts, err := Validate(b, Validation{InflatedMax: 1 << 16})
		if err == nil && int(facts.RecordsCount) != n {
			t.Errorf("a valid batch of %d records shows %d", facts.RecordsCount, n)
		}
	})
}

func BenchmarkValidate(b *testing.B) {
	for _, records := range []int{1, 148} {
		builder := NewBuilder()
		for range records {
			builder.Add(1, nil, make([]byte, 100))
		}
		batch := mustBatch(b, builder)
		b.Run(fmt.Sprintf("%d-records", records), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(batch)))
			for range b.N {
				if _, err := Validate(batch, Validation{InflatedMax: 1 << 20}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
