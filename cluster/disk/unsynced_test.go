package disk

import (
	"errors"
	"strings"
	"testing"
)

func TestFailedSyncLeavesEverythingBeforeAndDuringItUnsynced(t *testing.T) {
	old := strings.Repeat("o", 4*pageBytes)
	changes := map[string]func(t *testing.T, f File){
		"overwritten before": nil,
		"overwritten during": func(t *testing.T, f File) { write(t, f, "during", 2*pageBytes) },
		"cut during":         func(t *testing.T, f File) { must(t, f.Truncate(pageBytes+1)) },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			lost, kept := false, false
			for seed := range uint64(60) {
				back := &interrupted{memory: newMemory()}
				d := newDisk(back, Options{})
				f := openOrCreate(t, d)
				write(t, f, old, 0)
				must(t, f.Sync())
				write(t, f, "before", 0)
				back.during = func() error {
					if change != nil {
						change(t, f)
					}
					return errors.New("medium error")
				}
				if f.Sync() == nil {
					t.Fatal("synced")
				}
				if dirty := d.Dirty(); dirty < pageBytes {
					t.Fatalf("dirty %d", dirty)
				}
				back.during = nil
				must(t, d.PowerCut(dice(seed)))
				got, err := d.ReadFile("0.log")
				must(t, err)
				lost = lost || string(got) == old
				kept = kept || strings.HasPrefix(string(got), "before")
			}
			if !lost || !kept {
				t.Fatalf("all lost: %v, something kept: %v", lost, kept)
			}
		})
	}
}

func TestBytesInFrontOfATruncationStayDirty(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		f := create(t, d, "0.log")
		write(t, f, strings.Repeat("x", 2*pageBytes), 0)
		must(t, f.Truncate(50))
		if dirty := d.Dirty(); dirty != 50 {
			t.Fatalf("dirty %d", dirty)
		}
		must(t, f.Sync())
		if dirty := d.Dirty(); dirty != 0 {
			t.Fatalf("dirty %d after the sync", dirty)
		}
	})
}

func TestPagesThatWereWrittenBackCountAsSynced(t *testing.T) {
	for _, cut := range []bool{false, true} {
		d := NewMemory(Options{WritebackBytes: 4 * pageBytes})
		f := openOrCreate(t, d)
		write(t, f, strings.Repeat("o", 10*pageBytes), 0)
		must(t, f.Sync())
		if cut {
			must(t, f.Truncate(0))
		}
		for page := range int64(10) {
			write(t, f, strings.Repeat("n", pageBytes), page*pageBytes)
		}
		if _, synced := d.FileState("0.log"); synced < 6*pageBytes {
			t.Fatalf("cut %v: synced %d", cut, synced)
		}
		if dirty := d.Dirty(); dirty > 4*pageBytes {
			t.Fatalf("cut %v: dirty %d", cut, dirty)
		}
	}
}

func TestRemovedFileComesBackWithoutWhatWasNeverSynced(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		took := map[string]func() error{
			"remove": func() error { return d.Remove("0.log") },
			"rename": func() error { return d.Rename("other", "0.log") },
		}
		for name, take := range took {
			lost := false
			for seed := range uint64(60) {
				must(t, create(t, d, "other").Close())
				f := create(t, d, "0.log")
				must(t, f.Truncate(0))
				must(t, f.Sync())
				must(t, d.SyncDir("."))
				write(t, f, "never synced", 0)
				must(t, take())
				must(t, d.PowerCut(dice(seed)))
				_, err := d.Stat("other")
				entry, missing := d.Stat("0.log")
				undone := missing == nil && (name == "remove" || err == nil)
				lost = lost || undone && entry.Size == 0
			}
			if !lost {
				t.Fatalf("%s: unsynced bytes always came back", name)
			}
		}
	})
}

func TestKilledNodeDoesNothingMoreWhereTheHookKilledIt(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		d.OnOperation(func(Operation) error {
			d.OnOperation(nil)
			d.Kill()
			return nil
		})
		_, err := d.Create("0.log")
		wantError(t, err, ErrStale)
		if got := tree(t, d); got != "" {
			t.Fatalf("the disk holds %q", got)
		}
	})
}

// A sync that waits its turn beside the loop must take the same bytes as one that runs at once.
func TestPreparedSyncTakesOnlyWhatWasWrittenWhenItWasPrepared(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		f := create(t, d, "0.log")
		must(t, d.SyncDir("."))
		write(t, f, strings.Repeat("a", pageBytes), 0)
		first, names := f.PrepareSync(), d.PrepareSyncDir(".")
		write(t, f, strings.Repeat("b", pageBytes), pageBytes)
		must(t, create(t, d, "1.log").Close())
		second := f.PrepareSync()
		write(t, f, strings.Repeat("c", pageBytes), 2*pageBytes)
		if dirty := d.Dirty(); dirty != 3*pageBytes {
			t.Errorf("%d bytes are dirty before any sync ran", dirty)
		}
		must(t, first())
		must(t, names())
		if dirty := d.Dirty(); dirty != 2*pageBytes {
			t.Errorf("%d bytes are dirty after the first", dirty)
		}
		if n := len(d.journal.operations); n != 1 {
			t.Errorf("%d names may still be lost, 1.log was made after the sync was prepared", n)
		}
		must(t, second())
		if written, synced := d.FileState("0.log"); written != 3*pageBytes || synced != 2*pageBytes {
			t.Errorf("%d written, %d synced after the second", written, synced)
		}
	})
}
