package server

import (
	"strings"
	"testing"
	"unicode/utf8"

	"highwater/cluster/record"
)

func TestABatchesRecordsAreShownAsPeopleReadThem(t *testing.T) {
	b := record.NewBuilder()
	b.Add(0, []byte("order-3"), []byte("two\nlines"))
	b.Add(0, []byte{0, 0, 0, 1}, nil)
	text, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		raw  []byte
		want [][2]string
	}{
		{text, [][2]string{{"order-3", "two\nlines"}, {"0x00000001", "null"}}},
		{record.EndTxnMarker(record.Marker{Commit: true, CoordinatorEpoch: 3}),
			[][2]string{{"COMMIT marker", "coordinator epoch 3"}}},
		{record.EndTxnMarker(record.Marker{}), [][2]string{{"ABORT marker", "coordinator epoch 0"}}},
	} {
		view, err := viewBatch(c.raw)
		if err != nil || len(view.Records) != len(c.want) {
			t.Fatalf("%v, %+v", err, view.Records)
		}
		for i, r := range view.Records {
			if got := [2]string{r.Key, r.Value}; got != c.want[i] {
				t.Errorf("record %d is shown as %q, want %q", i, got, c.want[i])
			}
		}
	}
}

func TestWhatIsLeftOutOfABatchIsSaid(t *testing.T) {
	b := record.NewBuilder()
	headers := make([]record.RecordHeader, 25)
	b.Add(0, nil, []byte("a"+strings.Repeat("é", 400)), headers...)
	for range 249 {
		b.Add(0, nil, nil)
	}
	raw, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	view, err := viewBatch(raw)
	if err != nil || len(view.Records) != 50 || view.Note != "200 more records are not shown" {
		t.Errorf("%v: %d records, %q", err, len(view.Records), view.Note)
	}
	first := view.Records[0]
	if last := first.Headers[20]; len(first.Headers) != 21 || last.Value != "and 5 more headers" {
		t.Errorf("the headers end with %+v", last)
	}
	if !utf8.ValidString(first.Value) || !strings.HasSuffix(first.Value, "é…") {
		t.Errorf("the value is cut to %q", first.Value)
	}
}
