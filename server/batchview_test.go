package server

import (
	"testing"

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
		{text, [][2]string{{"order-3", "two\nlines"}, {"00000001", "null"}}},
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
