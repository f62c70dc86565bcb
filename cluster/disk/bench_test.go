package disk

import (
	"errors"
	"sync"
	"testing"
)

// BenchmarkWriteVAt appends batches of 16 KiB as a log does: a header and records.
func BenchmarkWriteVAt(b *testing.B) {
	run := func(b *testing.B, d *Disk) {
		f := create(b, d, "0.log")
		buffers := [][]byte{make([]byte, 61), make([]byte, 16<<10-61)}
		b.SetBytes(16 << 10)
		b.ReportAllocs()
		off := int64(0)
		for b.Loop() {
			n, err := f.WriteVAt(buffers, off)
			if err != nil {
				b.Fatal(err)
			}
			if off += n; off >= 256<<20 {
				off = 0
				b.StopTimer()
				must(b, f.Truncate(0))
				b.StartTimer()
			}
		}
	}
	b.Run("real", func(b *testing.B) { run(b, realDisk(b)) })
	b.Run("memory", func(b *testing.B) { run(b, NewMemory(Options{})) })
	b.Run("nothing", func(b *testing.B) { run(b, newDisk(nowhere{newMemory()}, Options{})) })
}

// nowhere writes nothing, so that what remains is the price of the bookkeeping.
type nowhere struct{ *memory }
type nowhereNode struct{ node }

func (b nowhere) open(name string, create bool) (node, int64, error) {
	opened, size, err := b.memory.open(name, create)
	return nowhereNode{opened}, size, err
}

func (nowhereNode) writeVectors(buffers [][]byte, _ int64) (int64, error) {
	return int64(len(buffers[0]) + len(buffers[1])), nil
}

func (nowhereNode) truncate(int64) error { return nil }

func TestAppendsAllocateNothing(t *testing.T) {
	d := realDisk(t)
	f := create(t, d, "0.log")
	buffers := [][]byte{make([]byte, 61), make([]byte, 1000)}
	off := int64(0)
	write := func() {
		n, err := f.WriteVAt(buffers, off)
		must(t, err)
		off += n
	}
	write()
	if n := testing.AllocsPerRun(100, write); n != 0 {
		t.Fatalf("%v allocations a write", n)
	}
}

func TestNodeReadersAndSyncsWorkTogetherUntilTheNodeDies(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		f := create(t, d, "0.log")
		write(t, f, "12", 0)
		other := create(t, d, "1.log")
		var working sync.WaitGroup
		ended := make(chan struct{}, 3)
		work := func(step func(i int64) error) {
			working.Go(func() {
				for i := int64(0); ; i++ {
					if err := step(i); err != nil {
						wantStale(t, err)
						return
					}
					if i == 200 {
						ended <- struct{}{}
					}
				}
			})
		}
		work(func(i int64) error {
			_, err := f.WriteVAt([][]byte{{1}, {2}}, i%1000*2)
			return err
		})
		work(func(int64) error { return f.Sync() })
		work(func(int64) error {
			_, err := f.ReadAt(make([]byte, 2), 0)
			_, _ = d.FileState("0.log")
			_ = d.Dirty()
			return err
		})
		for range 3 {
			<-ended
		}
		must(t, d.PowerCut(dice(1)))
		working.Wait()
		must(t, other.Close())
	})
}

func wantStale(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if stale := (*Error)(nil); !errors.As(err, &stale) || stale.Err != ErrStale {
		t.Errorf("ended by %v", err)
	}
}
