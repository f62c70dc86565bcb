package commitlog

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"highwater/cluster/event"
	"highwater/cluster/record"
)

// What follows compares with facts that Apache Kafka 4.4.0's own files and kafka-dump-log gave for
// the same records.

func TestOneBatchHasKafkasBytes(t *testing.T) {
	r := newRig(t, nil)
	batch := batchOf(t, []entry{
		{1790481955152, "order-2", `{"id":2,"amt":20}`}, {1790481955153, "order-3", `{"id":3,"amt":30}`},
	}, func(b *record.Builder) { b.ProducerID, b.ProducerEpoch, b.BaseSequence = 1000, 0, 0 })
	_, err := r.leader(batch, Client)
	r.must(err)
	r.flush()
	log := r.file("00000000000000000000.log")
	if len(log) != 123 || binary.BigEndian.Uint32(log[17:]) != 2772778610 {
		t.Errorf("%d bytes, CRC %d", len(log), binary.BigEndian.Uint32(log[17:]))
	}
	for name, size := range map[string]int{".index": 10485760, ".timeindex": 10485756} {
		if b := r.file("00000000000000000000" + name); len(b) != size {
			t.Errorf("%s has %d bytes while active", name, len(b))
		}
	}
	r.must(r.log.Close(true))
	for name, want := range map[string]string{
		"00000000000000000000.index":     "",
		"00000000000000000000.timeindex": "000001a0e10a795100000001",
		"leader-epoch-checkpoint":        hex.EncodeToString([]byte("0\n1\n0 0\n")),
		"partition.metadata": hex.EncodeToString(
			[]byte("version: 0\ntopic_id: BwAAAAAAAAAAAAAAAAAAAA")),
	} {
		if got := hex.EncodeToString(r.file(name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	// One producer: sequence 1, offset 1, delta 1, no coordinator, no transaction.
	snapshot := hex.EncodeToString(r.file("00000000000000000002.snapshot"))
	want := "00000001" + "00000000000003e8" + "0000" + "00000001" + "0000000000000001" + "00000001" +
		"000001a0e10a7951" + "ffffffff" + "ffffffffffffffff"
	if snapshot[12:] != want {
		t.Errorf("snapshot %s, want ...%s", snapshot, want)
	}
}

// rolledRig writes 40 batches of 5 records into segments of 4096 bytes, as the recording did.
func rolledRig(t *testing.T) *rig {
	r := newRig(t, func(c *Config) { c.SegmentBytes, c.IndexIntervalBytes = 4096, 512 })
	for batch := range 40 {
		var entries []entry
		for i := range 5 {
			entries = append(entries, entry{testTime + int64(batch*100+i),
				fmt.Sprintf("k%d", batch*5+i), strings.Repeat("v", 20+batch)})
		}
		r.send(entries...)
		if batch%3 == 0 {
			r.flush()
		}
	}
	return r
}

func TestRolledSegmentsHaveKafkasIndexes(t *testing.T) {
	r := rolledRig(t)
	r.must(r.log.Close(true))
	for name, want := range map[string]string{
		"00000000000000000000.index": "000000130000027e" + "0000002200000533" + "0000003100000815" +
			"0000003b00000a1a" + "0000004500000c33" + "0000004f00000e60",
		"00000000000000000000.timeindex": "000001a0e10a79e800000013" + "000001a0e10a7b1400000022" +
			"000001a0e10a7c4000000031" + "000001a0e10a7d080000003b" + "000001a0e10a7dd000000045" +
			"000001a0e10a7e980000004f",
		"00000000000000000190.index": "",
	} {
		if got := hex.EncodeToString(r.file(name)); got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	for name, size := range map[string]int{
		"00000000000000000000.log": 3966, "00000000000000000080.log": 3862,
		"00000000000000000080.index": 40, "00000000000000000080.timeindex": 72,
		"00000000000000000140.log": 3805, "00000000000000000140.timeindex": 60,
		"00000000000000000190.log": 827, "00000000000000000190.timeindex": 12,
		"00000000000000000200.snapshot": 10,
	} {
		if got := len(r.file(name)); got != size {
			t.Errorf("%s has %d bytes, want %d", name, got, size)
		}
	}
	noProblems(t, r)
}

func TestTransactionsHaveKafkasSnapshotAndTxnIndex(t *testing.T) {
	r := newRig(t, nil)
	must := func(_ Appended, err error) { t.Helper(); r.must(err) }
	marker := func(at int64, id int64, epoch int16, commit bool) {
		t.Helper()
		r.now = at
		must(r.mark(id, epoch, commit))
	}
	r.now = 1790481955000
	must(r.sendAs(2000, 0, 0, 2, true))
	marker(1795961888167, 2000, 1, true)
	r.now = 1790481955002
	must(r.sendAs(2000, 1, 0, 1, true))
	must(r.sendAs(2001, 0, 0, 1, true))
	r.send(entry{1790481955004, "plain", "1"})
	marker(1795961888463, 2001, 1, false)
	must(r.sendAs(2000, 1, 1, 1, true))
	marker(1795961888499, 2000, 2, false)
	must(r.sendAs(2001, 1, 0, 1, true))
	marker(1795961888543, 2001, 2, true)
	r.must(r.log.Close(true))
	// The first marker is more than segment.ms younger than the data, so it rolls the segment.
	if got := hex.EncodeToString(r.file("00000000000000000002.txnindex")); got !=
		"0000"+"00000000000007d1"+"0000000000000004"+"0000000000000006"+"0000000000000003"+
			"0000"+"00000000000007d0"+"0000000000000003"+"0000000000000008"+"0000000000000009" {
		t.Errorf("txnindex %s", got)
	}
	if got := hex.EncodeToString(r.file("00000000000000000011.snapshot")); got !=
		"00012a95f74100000002"+
			"00000000000007d00002ffffffffffffffffffffffff00000000000001a227ab9ef300000000"+
			"ffffffffffffffff"+
			"00000000000007d10002ffffffffffffffffffffffff00000000000001a227ab9f1f00000000"+
			"ffffffffffffffff" {
		t.Errorf("snapshot %s", got)
	}
	noProblems(t, r)
}

func TestEpochsWithoutRecordsLeaveNoLine(t *testing.T) {
	r := newRig(t, nil)
	r.send(entry{testTime, "k", "0"})
	for epoch := event.Epoch(1); epoch <= 4; epoch++ {
		if epoch == 2 {
			r.epoch = 1
			r.send(entry{testTime, "k", "1"})
			r.send(entry{testTime, "k", "2"})
		}
		r.must(r.log.AssignEpochStart(epoch, r.log.LogEndOffset()))
	}
	r.flush()
	if got := string(r.file("leader-epoch-checkpoint")); got != "0\n3\n0 0\n1 1\n4 3\n" {
		t.Errorf("checkpoint %q", got)
	}
	for _, c := range []struct {
		asked, epoch event.Epoch
		end          event.Offset
		known        bool
	}{{0, 0, 1, true}, {1, 1, 3, true}, {2, 1, 3, true}, {3, 1, 3, true}, {4, 4, 3, true},
		{5, 0, 0, false}, {-1, 0, 0, false}} {
		epoch, end, known := r.log.EndOffsetForEpoch(c.asked)
		if epoch != c.epoch || end != c.end || known != c.known {
			t.Errorf("epoch %d: %d ends at %d (%v)", c.asked, epoch, end, known)
		}
	}
}

func TestDeleteRecordsCutsTheEpochsToo(t *testing.T) {
	r := newRig(t, func(c *Config) { c.SegmentBytes, c.RetentionMs = 200, -1 })
	for i := range 10 {
		r.send(entry{testTime, "a", "1"}, entry{testTime, "b", fmt.Sprint(i)})
	}
	r.flush()
	r.must(r.log.AdvanceStart(9, event.RuleRetentionStartOffset))
	r.must(r.log.RetentionPass(testTime, r.log.LogEndOffset()))
	r.runDeferred()
	if got := string(r.file("leader-epoch-checkpoint")); got != "0\n1\n0 9\n" {
		t.Errorf("checkpoint %q", got)
	}
	if s := r.log.Segments(); s[0].BaseOffset != 8 || r.log.LogStartOffset() != 9 {
		t.Errorf("start %d in segments %+v", r.log.LogStartOffset(), s)
	}
	r.reopen(true)
	if got := r.values(); r.log.LogStartOffset() != 9 || got[0] != "4" {
		t.Errorf("start %d, values %v", r.log.LogStartOffset(), got)
	}
}

func noProblems(t *testing.T, r *rig) {
	t.Helper()
	if problems := slices.Collect(Check(r.disk, rigDir)); len(problems) > 0 {
		t.Errorf("check: %v", problems)
	}
}
