package cleaner

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"highwater/cluster/commitlog"
	"highwater/cluster/disk"
	"highwater/cluster/event"
)

var errCrash = errors.New("the machine stops here")

// crashRig has three closed segments, in part compacted before, and one that is active. All of it is
// durable.
func crashRig(t testing.TB) *rig {
	r := newRig(t)
	r.s.SegmentBytes = 900 // two segments become one, the third stays alone
	for round := range 3 {
		for n := range 6 {
			r.send(put(fmt.Sprint("k", n%(round+3)), fmt.Sprint(round, ".", n)),
				put("all", fmt.Sprint(round, ".", n)))
		}
		if round == 1 {
			r.send(del("k0"))
		}
		r.roll()
		if round == 0 {
			r.clean(false)
		}
	}
	r.send(put("k1", "active"))
	r.must(r.log.Sync())
	return r
}

// newest is the value of each key, and what lies at each offset.
func (r *rig) newest() (byKey map[string]string, byOffset map[string]bool) {
	texts, _ := r.contents()
	byKey, byOffset = map[string]string{}, map[string]bool{}
	for _, text := range texts {
		byOffset[text] = true
		var offset int64
		var rest string
		if _, err := fmt.Sscan(text, &offset, &rest); err != nil {
			r.t.Fatal(err)
		}
		key, deleted := rest, rest[0] == '-'
		if deleted {
			delete(byKey, rest[1:])
			continue
		}
		for i := range rest {
			if rest[i] == '=' {
				key = rest[:i]
				break
			}
		}
		byKey[key] = text
	}
	return byKey, byOffset
}

// crashAt fails the n-th change of the disk in a pass, and everything after it; false says that the
// pass has fewer.
func (r *rig) crashAt(n int) bool {
	changes, crashed := 0, false
	r.disk.OnOperation(func(o disk.Operation) error {
		switch o.Kind {
		case disk.OpRead, disk.OpOpen, disk.OpList, disk.OpStat, disk.OpLock, disk.OpClose:
			if !crashed {
				return nil
			}
		default:
			changes++
		}
		if crashed = crashed || changes > n; crashed {
			return errCrash
		}
		return nil
	})
	_, err := r.tryClean(false)
	r.disk.OnOperation(nil)
	if crashed != errors.Is(err, errCrash) {
		r.t.Fatalf("change %d: crashed %v, the pass ended with %v", n, crashed, err)
	}
	return crashed
}

// Every change of the disk in a pass is a crash point, for a kill and for power cuts. Whatever the
// moment, and wherever the recovery point was: the newest record of each key is there, at its
// offset, and the directory is sound. A second crash during recovery changes nothing about that.
func TestCrashAtEveryPointOfAPassLosesNothing(t *testing.T) {
	const powerCuts = 3
	for n, more := 0, true; more; n++ {
		for how := range powerCuts + 1 {
			for _, recoveryPoint := range []event.Offset{0, 1 << 40} {
				r := crashRig(t)
				before, known := r.newest()
				end := r.log.LogEndOffset()
				dirty := r.log.FirstDirtyOffset()
				more = r.crashAt(n)
				r.crash(uint64(n), how)
				r.crashInRecovery(uint64(n), how, recoveryPoint)
				r.open(commitlog.OpenOptions{RecoveryPoint: recoveryPoint, FirstDirtyOffset: dirty})
				what := fmt.Sprintf("change %d, crash %d, recovery point %d", n, how, recoveryPoint)
				r.compare(what, before, known, end)
				r.clean(false)
				r.compare(what+", cleaned again", before, known, end)
				if t.Failed() {
					return
				}
			}
		}
	}
}

func (r *rig) crash(seed uint64, how int) {
	if how == 0 {
		r.disk.Kill()
	} else {
		r.must(r.disk.PowerCut(rand.New(rand.NewPCG(seed, uint64(how)))))
	}
	r.log.Drop()
}

// crashInRecovery stops the recovery at some change, and crashes again.
func (r *rig) crashInRecovery(seed uint64, how int, recoveryPoint event.Offset) {
	dice := rand.New(rand.NewPCG(seed, uint64(how)+100))
	left := dice.IntN(12)
	r.disk.OnOperation(func(o disk.Operation) error {
		if o.Kind == disk.OpRename || o.Kind == disk.OpRemove || o.Kind == disk.OpSyncDir ||
			o.Kind == disk.OpCreate || o.Kind == disk.OpWrite {
			left--
		}
		if left < 0 {
			return errCrash
		}
		return nil
	})
	log, _, err := commitlog.Open(r.disk, testDir, r.cfg,
		commitlog.OpenOptions{RecoveryPoint: recoveryPoint})
	r.disk.OnOperation(nil)
	if err == nil {
		r.log = log
	}
	r.crash(seed+1, how)
}

func (r *rig) compare(
	what string, before map[string]string, known map[string]bool, end event.Offset,
) {
	r.t.Helper()
	after, there := r.newest()
	for key, text := range before {
		if after[key] != text {
			r.t.Errorf("%s: the newest of %s is %q, was %q", what, key, after[key], text)
		}
	}
	if len(after) != len(before) {
		r.t.Errorf("%s: keys %v, were %v", what, after, before)
	}
	for text := range there {
		if !known[text] {
			r.t.Errorf("%s: %q was not there before", what, text)
		}
	}
	if got := r.log.LogEndOffset(); got != end {
		r.t.Errorf("%s: the log ends at %d, ended at %d", what, got, end)
	}
	r.sound()
}

// Who reads a segment while it is replaced goes on reading what it began with.
func TestReaderKeepsTheOldSegmentAcrossTheSwap(t *testing.T) {
	r := crashRig(t)
	r.must(r.log.Close(true))
	r.open(commitlog.OpenOptions{CleanShutdown: true, RecoveryPoint: 1 << 40,
		FirstDirtyOffset: r.log.FirstDirtyOffset()})
	read, err := r.log.Read(20, 1<<20, r.log.LogEndOffset(), true)
	r.must(err)
	if len(read.Ranges) != 1 {
		t.Fatalf("read %+v", read)
	}
	r.clean(false)
	loaded, err := read.Load()
	r.must(err)
	if len(loaded[0].Bytes) != read.Bytes {
		t.Errorf("%d of %d bytes", len(loaded[0].Bytes), read.Bytes)
	}
	read.Release()
}

// What changes segments while a swap is between two stages first brings the swap to its end.
func TestTruncationAndRetentionDuringASwapKeepTheLogSound(t *testing.T) {
	for _, stages := range []int{0, 1, 2} {
		for what, change := range map[string]func(r *rig) error{
			"truncation": func(r *rig) error { return r.log.Truncate(20, event.RuleNone) },
			"retention": func(r *rig) error {
				if err := r.log.AdvanceStart(20, event.RuleNone); err != nil {
					return err
				}
				return r.log.RetentionPass(r.now, r.log.LogEndOffset())
			},
			"close": func(r *rig) error {
				if err := r.log.Close(true); err != nil {
					return err
				}
				r.open(commitlog.OpenOptions{CleanShutdown: true})
				return nil
			},
		} {
			r := crashRig(t)
			look, err := LookAt(r.log, &r.s, r.now, r.log.LogEndOffset())
			r.must(err)
			pass, err := Begin(r.log, look, r.s, r.now)
			r.must(err)
			result, err := pass.Run()
			r.must(err)
			for _, output := range result.Outputs {
				r.must(r.log.Swap(output, func() {}))
			}
			for range stages {
				for _, ticket := range r.log.Deferred() {
					r.must(ticket.Done(ticket.Run()))
				}
			}
			if err := change(r); err != nil {
				t.Errorf("%s after %d stages: %v", what, stages, err)
				continue
			}
			r.tickets()
			r.sound()
			if t.Failed() {
				t.Fatalf("%s after %d stages", what, stages)
			}
		}
	}
}

// Segments that were cut off while the pass ran are not replaced.
func TestPassOverSegmentsThatChangedIsRefused(t *testing.T) {
	r := crashRig(t)
	look, err := LookAt(r.log, &r.s, r.now, r.log.LogEndOffset())
	r.must(err)
	pass, err := Begin(r.log, look, r.s, r.now)
	r.must(err)
	result, err := pass.Run()
	r.must(err)
	r.must(r.log.Truncate(14, event.RuleNone))
	if pass.Current(r.log) {
		t.Error("the pass does not know that the log was cut")
	}
	if err := r.log.Swap(result.Outputs[0], nil); !errors.Is(err, commitlog.ErrSuperseded) {
		t.Errorf("the swap ended with %v", err)
	}
	r.must(Discard(result.Outputs))
	r.tickets()
	r.sound()
	if got := r.log.LogEndOffset(); got != 14 {
		t.Errorf("the log ends at %d", got)
	}
}
