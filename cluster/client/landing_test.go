package client

import (
	"slices"
	"testing"
)

func TestPollTellsWhichRecordsItReturned(t *testing.T) {
	var records []Record
	for _, offset := range []int64{0, 1, 2, 5, 7, 8} {
		records = append(records, Record{Offset: offset})
	}
	if got := offsetsText(records); got != "0-2,5-5,7-8" {
		t.Errorf("offsets %q", got)
	}
	if got := offsetsText(nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

func TestLandingsCountEachPartitionByItself(t *testing.T) {
	var l Landings
	l = l.add(1, 0, 3)
	l = l.add(0, 5, 1)
	l = l.add(1, 7, 2) // another producer's records lie at 3 to 6
	want := Landings{{Partition: 1, First: 0, Last: 8, Records: 5},
		{Partition: 0, First: 5, Last: 5, Records: 1}}
	if !slices.Equal(l, want) {
		t.Errorf("%+v, want %+v", l, want)
	}
	if silent := (Landings)(nil).add(2, -1, 4); silent[0] != (Landing{2, -1, -1, 4}) {
		t.Errorf("without an answer: %+v", silent[0])
	}
}
