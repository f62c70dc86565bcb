package partition

import (
	"testing"

	"highwater/cluster/event"
)

// passed counts how often it was told.
type passed int

func (n *passed) Passed(*Partition, int16) { *n++ }

func TestARetryWaitsForItsOwnRecordsOnly(t *testing.T) {
	p := &Partition{isr: []event.NodeID{1}, leading: &leading{}}
	var first, behind, retry passed
	p.WaitForHighWatermark(5, &first)
	p.WaitForHighWatermark(9, &behind)
	p.WaitForHighWatermark(7, &retry) // a duplicate of a batch before the one that needs 9
	p.highWatermark = 7
	p.leading.releaseWaits(p)
	if first != 1 || retry != 1 || behind != 0 {
		t.Errorf("told %d, %d and %d times, want 1, 1 and 0", first, retry, behind)
	}
	p.highWatermark = 9
	p.leading.releaseWaits(p)
	if first != 1 || retry != 1 || behind != 1 {
		t.Errorf("told %d, %d and %d times, want 1 each", first, retry, behind)
	}
}
