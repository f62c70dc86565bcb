package commitlog

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"

	"highwater/cluster/event"
)

// overwrite replaces a file's content, as a crash or a bad disk might.
func (r *rig) overwrite(name string, content []byte) {
	r.t.Helper()
	file, err := r.disk.Create(rigDir + "/" + name)
	r.must(err)
	if len(content) > 0 {
		_, err = file.WriteAt(content, 0)
		r.must(err)
	}
	r.must(file.Close())
}

func TestTornTailIsCutAtTheLastWholeBatchWhereverItTears(t *testing.T) {
	r := newRig(t, nil)
	var ends []int
	for i := range 3 {
		r.send(entry{testTime, "k", fmt.Sprint(i)})
		r.flush()
		ends = append(ends, int(r.log.Size()))
	}
	r.must(r.log.Close(false))
	whole := r.file("00000000000000000000.log")
	for cut := 0; cut < len(whole); cut++ {
		for _, garbage := range []bool{false, true} {
			torn := slices.Clone(whole[:cut])
			if garbage {
				torn = append(torn, make([]byte, len(whole)-cut)...)
			}
			r.overwrite("00000000000000000000.log", torn)
			r.overwrite("00000000000000000000.index", nil)
			recovered := r.open(OpenOptions{})
			want, keep := 0, 0
			for _, end := range ends {
				// A batch may end in zero bytes of its own.
				if end <= len(torn) && bytes.Equal(torn[:end], whole[:end]) {
					want, keep = want+1, end
				}
			}
			if got := r.log.LogEndOffset(); got != event.Offset(want) {
				t.Fatalf("torn at %d (zeroes %v): end %d, want %d", cut, garbage, got, want)
			}
			if recovered.TruncatedBytes != int64(len(torn)-keep) {
				t.Fatalf("torn at %d: %+v", cut, recovered)
			}
			noProblems(t, r)
			r.must(r.log.Close(false))
		}
	}
}

func TestBatchLengthOfGarbageDoesNotBlockTheStart(t *testing.T) {
	r := rolledRig(t)
	r.must(r.log.Close(false))
	name := "00000000000000000080.log"
	b := r.file(name)
	copy(b[8:], []byte{0x7f, 0xff, 0xff, 0xff})
	r.overwrite(name, b)
	recovered := r.open(OpenOptions{})
	if r.log.LogEndOffset() != 80 || recovered.DeletedSegments != 2 {
		t.Errorf("end %d after %+v", r.log.LogEndOffset(), recovered)
	}
	r.send(entry{testTime, "k", "again"})
	r.flush()
	r.runDeferred()
	noProblems(t, r)
}

func TestBrokenIndexesAreRebuiltOnce(t *testing.T) {
	for _, ext := range []string{".index", ".timeindex"} {
		for what, breakIt := range map[string]func([]byte) []byte{
			"missing":      nil,
			"odd length":   func(b []byte) []byte { return b[:len(b)-3] },
			"out of range": func(b []byte) []byte { b[4], b[0] = 0x7f, 0x7f; return b },
			"below zero":   func(b []byte) []byte { b[4], b[0] = 0xff, 0xff; return b },
			"noise": func(b []byte) []byte {
				for i := range b {
					b[i] = byte(i*i*37 + 0x91)
				}
				return b
			},
		} {
			if ext == ".timeindex" && what == "out of range" {
				continue // Any rising timestamps are plausible without reading the batches.
			}
			r := rolledRig(t)
			r.must(r.log.Close(true))
			name := "00000000000000000080" + ext
			before := r.file(name)
			if breakIt == nil {
				r.must(r.disk.Remove(rigDir + "/" + name))
			} else {
				r.overwrite(name, breakIt(slices.Clone(before)))
			}
			recovered := r.open(OpenOptions{CleanShutdown: true})
			if recovered.RebuiltIndexes != 1 || recovered.TruncatedBytes != 0 ||
				r.log.LogEndOffset() != 200 {
				t.Errorf("%s %s: end %d, %+v", ext, what, r.log.LogEndOffset(), recovered)
			}
			if after := r.file(name); !slices.Equal(before, after) {
				t.Errorf("%s %s: %x became %x", ext, what, before, after)
			}
			if again := r.reopen(true); again.RebuiltIndexes != 0 {
				t.Errorf("%s %s: rebuilt again: %+v", ext, what, again)
			}
			noProblems(t, r)
		}
	}
}

func TestProducerStateSurvivesLossOfItsSnapshots(t *testing.T) {
	r := newRig(t, nil)
	for i := range int32(4) {
		_, err := r.sendAs(7, 0, i, 1, false)
		r.must(err)
	}
	_, err := r.sendAs(8, 3, 0, 2, true)
	r.must(err)
	before := r.log.ProducerStates()
	r.must(r.log.Close(true))
	r.overwrite("00000000000000000006.snapshot", []byte("torn"))
	if recovered := r.open(OpenOptions{CleanShutdown: true}); recovered.ReplayedBatches != 5 {
		t.Errorf("%+v", recovered)
	}
	if after := r.log.ProducerStates(); !slices.Equal(before, after) {
		t.Errorf("%+v became %+v", before, after)
	}
	if got := r.log.LastStableOffset(6); got != 4 {
		t.Errorf("last stable offset %d", got)
	}
}

func TestCleanersCommittedSwapIsFinished(t *testing.T) {
	r := rolledRig(t)
	r.must(r.log.Close(true))
	merged := append(r.file("00000000000000000000.log"), r.file("00000000000000000080.log")...)
	r.overwrite("00000000000000000000.log.swap", merged)
	r.overwrite("00000000000000000140.log.deleted", []byte("x"))
	recovered := r.open(OpenOptions{CleanShutdown: true})
	if recovered.SwappedSegments != 1 || len(r.log.Segments()) != 3 || len(r.values()) != 200 {
		t.Errorf("%+v, %+v", recovered, r.log.Segments())
	}
	noProblems(t, r)
	entries, err := r.disk.List(rigDir)
	r.must(err)
	for _, e := range entries {
		if _, ext, _ := parseName(e.Name); ext == ".log.swap" || ext == ".log.deleted" {
			t.Errorf("left behind: %s", e.Name)
		}
	}
}

func TestUnfinishedCleaningIsDropped(t *testing.T) {
	r := rolledRig(t)
	r.must(r.log.Close(true))
	r.overwrite("00000000000000000000.log.cleaned", []byte("half"))
	r.overwrite("00000000000000000080.log.swap", []byte("written after the cleaned one"))
	recovered := r.open(OpenOptions{CleanShutdown: true})
	if recovered.SwappedSegments != 0 || len(r.values()) != 200 {
		t.Errorf("%+v", recovered)
	}
	noProblems(t, r)
}

func TestLostEpochCheckpointIsRebuiltFromTheBatches(t *testing.T) {
	for _, clean := range []bool{true, false} {
		r := newRig(t, nil)
		for r.epoch = range event.Epoch(4) {
			r.send(entry{testTime, "k", "v"})
		}
		want := r.log.Epochs()
		r.must(r.log.Close(true))
		r.overwrite("leader-epoch-checkpoint", []byte("0\n4\n0 0\n1"))
		r.open(OpenOptions{CleanShutdown: clean, RecoveryPoint: 4})
		if got := r.log.Epochs(); !slices.Equal(got, want) {
			t.Errorf("clean %v: %v, want %v", clean, got, want)
		}
	}
}

func TestEpochsOfCompactedBatchesOutliveACrash(t *testing.T) {
	r := newRig(t, nil)
	for r.epoch = range event.Epoch(4) {
		r.send(entry{testTime, "k", "v"}, entry{testTime, "k", "w"})
	}
	want := r.log.Epochs()
	r.must(r.log.Close(true))
	whole := r.file("00000000000000000000.log")
	batch := len(whole) / 4
	// The cleaner may leave nothing of the first epochs, and none of the third either.
	for _, left := range [][]byte{whole[2*batch:], whole[3*batch:]} {
		r.overwrite("00000000000000000000.log", left)
		r.open(OpenOptions{})
		if got := r.log.Epochs(); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		noProblems(t, r)
		r.must(r.log.Close(false))
	}
}

func TestBatchesOverruleAnEpochCheckpointThatAPowerCutBroughtBack(t *testing.T) {
	r := newRig(t, nil)
	for _, r.epoch = range []event.Epoch{1, 1, 3, 6} {
		r.send(entry{testTime, "k", "v"}, entry{testTime, "k", "w"})
	}
	want := r.log.Epochs()
	r.must(r.log.Close(true))
	for _, stale := range []string{
		"0\n2\n1 0\n2 3\n",           // of a leader that was not followed
		"0\n3\n1 0\n3 2\n6 6\n",      // an epoch that began later
		"0\n4\n1 0\n3 4\n6 6\n7 8\n", // of batches that are lost
		"0\n3\n0 0\n3 4\n4 6\n",
	} {
		r.overwrite("leader-epoch-checkpoint", []byte(stale))
		r.open(OpenOptions{})
		if got := r.log.Epochs(); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", stale, got, want)
		}
		r.must(r.log.Close(false))
	}
}

func TestLeaderEpochsAreToldWhenTheLogIsOpened(t *testing.T) {
	r := newRig(t, nil)
	for _, r.epoch = range []event.Epoch{0, 0, 3} {
		r.send(entry{testTime, "k", "v"})
	}
	events, now := event.NewLog(), int64(0)
	r.cfg.Events = event.NewEmitter(events, &now, 1)
	r.reopen(true)
	c := events.Swap(&event.Chunk{})
	opened := slices.IndexFunc(c.Records, func(e event.Record) bool {
		return e.Kind == event.KindLogOpened
	})
	if opened < 0 {
		t.Fatal("nobody said that the log was opened")
	}
	if got := c.LogOpened(&c.Records[opened]).Epochs; got != "0@0,3@2" {
		t.Errorf("epochs %q, want 0@0,3@2", got)
	}
}

func TestCheckFindsEachKindOfDamage(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"00000000000000000000.log":       func(b []byte) []byte { b[100] ^= 1; return b },
		"00000000000000000080.log":       func(b []byte) []byte { return b[:len(b)-1] },
		"00000000000000000080.index":     func(b []byte) []byte { b[7]++; return b },
		"00000000000000000080.timeindex": func(b []byte) []byte { b[11]++; return b },
		"00000000000000000140.index":     func(b []byte) []byte { return b[:5] },
		"00000000000000000080.snapshot":  func(b []byte) []byte { b[3]++; return b },
		"leader-epoch-checkpoint":        func([]byte) []byte { return []byte("0\n1\n3 0\n") },
	} {
		r := rolledRig(t)
		r.must(r.log.Close(true))
		noProblems(t, r)
		r.overwrite(name, damage(r.file(name)))
		found := false
		for p := range Check(r.disk, rigDir) {
			found = found || p.File == name
		}
		if !found {
			t.Errorf("damage in %s is not found", name)
		}
	}
}

func TestLogBelowItsStartBeginsAnew(t *testing.T) {
	r := newRig(t, nil)
	r.send(entry{testTime, "k", "v"})
	r.must(r.log.Close(true))
	r.open(OpenOptions{CleanShutdown: true, LogStartOffset: 50})
	if r.log.LogStartOffset() != 50 || r.log.LogEndOffset() != 50 {
		t.Errorf("spans %d..%d", r.log.LogStartOffset(), r.log.LogEndOffset())
	}
	if got := r.send(entry{testTime, "k", "v"}); got.BaseOffset != 50 {
		t.Errorf("appended at %d", got.BaseOffset)
	}
	if s, err := r.log.Read(0, 1, math.MaxInt64, true); err == nil {
		t.Errorf("read %+v", s)
	}
}

func TestCutOffTailIsSaidInTheLogOnce(t *testing.T) {
	var said bytes.Buffer
	r := newRig(t, func(cfg *Config) { cfg.Log = slog.New(slog.NewTextHandler(&said, nil)) })
	r.send(entry{testTime, "k", "v"})
	r.flush()
	r.reopen(true)
	if said.Len() > 0 {
		t.Errorf("a whole log is complained of: %s", said.String())
	}
	r.must(r.log.Close(false))
	r.overwrite("00000000000000000000.log", append(r.file("00000000000000000000.log"), "torn"...))
	r.open(OpenOptions{})
	text := said.String()
	if strings.Count(text, "\n") != 1 || !strings.Contains(text, "orders-0") ||
		!strings.Contains(text, "bytes=4") {
		t.Errorf("said: %s", text)
	}
}
