package disk

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

func dice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func TestFirstSyncErrorFailsTheDiskClosed(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		f, other := create(t, d, "0.log"), create(t, d, "1.log")
		d.SetFault(Fault{Kind: SyncError})
		write(t, f, "before", 0) // a write alone does not find out
		err := f.Sync()
		wantError(t, err, ErrIO)
		if err.Error() != "disk: sync 0.log: input/output error" {
			t.Fatalf("the text is %q", err)
		}
		d.SetFault(Fault{}) // the drive is well again, and still not to be trusted
		if !d.Failed() {
			t.Fatal("not failed")
		}
		_, err = other.WriteAt([]byte("x"), 0)
		wantError(t, err, ErrFailed)
		_, err = other.WriteVAt([][]byte{[]byte("x")}, 0)
		wantError(t, err, ErrFailed)
		wantError(t, other.Sync(), ErrFailed)
		wantError(t, other.Truncate(0), ErrFailed)
		wantError(t, d.SyncDir("."), ErrFailed)
		wantError(t, d.Remove("1.log"), ErrFailed)
		_, err = d.Create("2.log")
		wantError(t, err, ErrFailed)
		wantContent(t, d, "0.log", "before") // reads go on
		d.ClearFault()
		must(t, other.Sync())
	})
}

func TestDeathOfTheNodeClearsTheLatchAndKeepsTheFault(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		d.SetFault(Fault{Kind: SyncError})
		wantError(t, d.SyncDir("."), ErrIO)
		d.Kill()
		f := create(t, d, "0.log")
		wantError(t, f.Sync(), ErrIO)
		wantError(t, f.Sync(), ErrFailed)
	})
}

// brokenSync is a backing whose next sync fails, as a real drive's would.
type brokenSync struct{ *memory }
type brokenNode struct{ node }

func (b brokenSync) open(name string, create bool) (node, int64, error) {
	opened, size, err := b.memory.open(name, create)
	if err != nil {
		return nil, 0, err
	}
	return brokenNode{opened}, size, nil
}

func (brokenNode) sync() error { return errors.New("medium error") }

func TestDriveThatFailsToSyncFailsClosedAndSyncedNothing(t *testing.T) {
	d := newDisk(brokenSync{newMemory()}, Options{})
	f := create(t, d, "0.log")
	write(t, f, "12345", 0)
	if err := f.Sync(); err == nil || err.Error() != "disk: sync 0.log: medium error" {
		t.Fatal(err)
	}
	wantError(t, f.Sync(), ErrFailed)
	if written, synced := d.FileState("0.log"); written != 5 || synced != 0 {
		t.Fatalf("written %d, synced %d", written, synced)
	}
}

func TestFullDiskRefusesBytesAndNamesButNothingElse(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		f := create(t, d, "orders.log")
		write(t, f, "kept", 0)
		d.SetFault(Fault{Kind: Full})
		_, err := f.WriteAt([]byte("more"), 4)
		wantError(t, err, ErrFull)
		if err.Error() != "disk: write orders.log: no space left on device" {
			t.Fatalf("the text is %q", err)
		}
		_, err = d.Create("new")
		wantError(t, err, ErrFull)
		wantError(t, d.Mkdir("new"), ErrFull)
		must(t, f.Sync())
		wantContent(t, d, "orders.log", "kept")
		must(t, d.Remove("orders.log"))
		d.SetFault(Fault{})
		must(t, create(t, d, "new").Close())
	})
}

func TestReadAndWriteErrorsHitOnlyTheirSide(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		f := create(t, d, "0.log")
		write(t, f, "x", 0)
		d.SetFault(Fault{Kind: ReadError})
		_, err := f.ReadAt(make([]byte, 1), 0)
		wantError(t, err, ErrIO)
		write(t, f, "y", 0)
		d.SetFault(Fault{Kind: WriteError})
		_, err = f.WriteVAt([][]byte{{1}}, 0)
		wantError(t, err, ErrIO)
		wantError(t, d.Rename("0.log", "1.log"), ErrIO)
		must(t, f.Sync())
		wantContent(t, d, "0.log", "y")
	})
}

func TestHungDiskWithoutAClockAnswersAtOnce(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		f := create(t, d, "0.log")
		d.SetFault(Fault{Kind: Hung})
		_, err := f.WriteAt([]byte("x"), 0)
		wantError(t, err, ErrHung)
		if f.Size() != 0 {
			t.Fatal("written all the same")
		}
	})
}

func TestSlowDiskHoldsItsCallerUpForTheDelay(t *testing.T) {
	asked := make(chan time.Duration, 1)
	fire := make(chan time.Time)
	d := NewMemory(Options{After: func(delay time.Duration) <-chan time.Time {
		asked <- delay
		return fire
	}})
	f := create(t, d, "0.log")
	d.SetFault(Fault{Kind: Slow, Delay: 50 * time.Millisecond})
	done := make(chan error)
	go func() {
		_, err := f.WriteAt([]byte("x"), 0)
		done <- err
	}()
	if delay := <-asked; delay != 50*time.Millisecond {
		t.Fatalf("asked for %v", delay)
	}
	select {
	case err := <-done:
		t.Fatalf("done before the delay: %v", err)
	default:
	}
	fire <- time.Time{}
	must(t, <-done)
}

func TestHungDiskLetsGoWhenClearedOrKilled(t *testing.T) {
	for _, kill := range []bool{false, true} {
		d := NewMemory(Options{After: func(time.Duration) <-chan time.Time { return nil }})
		f := create(t, d, "0.log")
		d.SetFault(Fault{Kind: Hung})
		done := make(chan error)
		entered := make(chan struct{})
		d.OnOperation(func(Operation) error { close(entered); return nil })
		go func() {
			_, err := f.WriteAt([]byte("x"), 0)
			done <- err
		}()
		<-entered
		if kill {
			d.Kill()
			wantError(t, <-done, ErrStale)
			continue
		}
		d.SetFault(Fault{})
		must(t, <-done)
	}
}

func TestHandlesAreStaleAfterTheNodeDied(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		for _, die := range []func(){d.Kill, func() { must(t, d.PowerCut(dice(1))) }} {
			f := create(t, d, "0.log")
			write(t, f, "x", 0)
			must(t, f.Sync())
			must(t, d.SyncDir("."))
			die()
			_, err := f.WriteAt([]byte("y"), 0)
			wantError(t, err, ErrStale)
			_, err = f.ReadAt(make([]byte, 1), 0)
			wantError(t, err, ErrStale)
			wantError(t, f.Sync(), ErrStale)
			must(t, f.Close())
			wantContent(t, d, "0.log", "x")
		}
	})
}

func TestKillKeepsUnsyncedBytesAndStillKnowsTheyAreUnsynced(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		write(t, create(t, d, "0.log"), "12345", 0)
		d.Kill()
		wantContent(t, d, "0.log", "12345")
		if written, synced := d.FileState("0.log"); written != 5 || synced != 0 {
			t.Fatalf("written %d, synced %d", written, synced)
		}
	})
}

func TestRetainedFileOutlivesRemovalCloseAndKill(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		f := create(t, d, "0.log")
		write(t, f, "x", 0)
		if !f.Retain() {
			t.Fatal("not retained")
		}
		must(t, d.Remove("0.log"))
		must(t, f.Close())
		wantError(t, f.Close(), ErrClosed)
		p := make([]byte, 1)
		if _, err := f.ReadAt(p, 0); err != nil || p[0] != 'x' {
			t.Fatal(err, p)
		}
		_, err := f.WriteAt(p, 0)
		wantError(t, err, ErrClosed)
		d.Kill()
		if system := f.OS(); system != nil {
			if _, err := system.ReadAt(p, 0); err != nil {
				t.Fatalf("pulled away from its reader: %v", err)
			}
		}
		must(t, f.Release())
		if f.Retain() {
			t.Fatal("retained after its end")
		}
		wantError(t, f.Release(), ErrClosed)
	})
}
