package disk

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// oneFile is the reference for one file's history: whole snapshots instead of bookkeeping.
type oneFile struct {
	durable []byte // at the last sync
	current []byte
	touched map[int64]bool // pages written or cut since then
	// past are the contents since then, where the oldest pages may be written back by
	// themselves: then a later change can be lost and its predecessor kept.
	past      [][]byte
	keepsPast bool
}

// remember keeps the current content before it changes.
func (o *oneFile) remember() {
	if o.keepsPast {
		o.past = append(o.past, bytes.Clone(o.current))
	}
}

// was says whether byte i had a value at some time since the last sync, the end included.
func (o *oneFile) was(i int, b byte) bool {
	return slices.ContainsFunc(append(o.past, o.current), func(content []byte) bool {
		return i < len(content) && content[i] == b
	})
}

// lengthMax is the longest the file was.
func (o *oneFile) lengthMax() int {
	longest := max(len(o.durable), len(o.current))
	for _, content := range o.past {
		longest = max(longest, len(content))
	}
	return longest
}

func (o *oneFile) write(p []byte, off int64) {
	o.remember()
	if need := int(off) + len(p); need > len(o.current) {
		o.current = append(o.current, make([]byte, need-len(o.current))...)
	}
	copy(o.current[off:], p)
	o.touch(off, int64(len(p)))
}

func (o *oneFile) touch(off, n int64) {
	if n > 0 {
		for page := off / pageBytes; page <= (off+n-1)/pageBytes; page++ {
			o.touched[page] = true
		}
	}
}

func (o *oneFile) resize(size int64) {
	o.remember()
	if size < int64(len(o.current)) {
		o.touch(size, int64(o.lengthMax())-size)
		o.current = o.current[:size]
	}
	o.current = append(slices.Clip(o.current), make([]byte, size-int64(len(o.current)))...)
}

func (o *oneFile) synced() {
	o.durable, o.touched = bytes.Clone(o.current), map[int64]bool{}
	o.past = nil
}

// judge says why a file after a power cut can be no result of this history, or nothing.
func (o *oneFile) judge(got []byte) string {
	if len(got) > o.lengthMax() {
		return "longer than it ever was"
	}
	for i, b := range got {
		old := i < len(o.durable) && o.durable[i] == b
		touched := o.touched[int64(i/pageBytes)]
		switch {
		case old || touched && (b == 0 || o.was(i, b)):
		case i >= len(o.durable) && b == 0:
		default:
			return "holds a byte that is neither durable nor dirty"
		}
	}
	for i := len(got); i < len(o.durable); i++ {
		if !o.touched[int64(i/pageBytes)] {
			return "lost durable bytes that nobody touched"
		}
	}
	return ""
}

// randomWrites does a few random changes to a file and its reference.
func randomWrites(t testing.TB, f File, o *oneFile, random *rand.Rand) {
	for range random.IntN(8) {
		off := random.Int64N(int64(len(o.current)) + 1)
		switch random.IntN(6) {
		case 0:
			must(t, f.Truncate(off))
			o.resize(off)
		case 1:
			size := int64(len(o.current)) + random.Int64N(2*pageBytes)
			must(t, f.Preallocate(size))
			o.resize(size)
		default:
			p := bytes.Repeat([]byte{byte(1 + random.IntN(255))}, random.IntN(3*pageBytes))
			_, err := f.WriteAt(p, off)
			must(t, err)
			o.write(p, off)
		}
	}
}

// openOrCreate opens the one file of a test with its name durable.
func openOrCreate(t testing.TB, d *Disk) File {
	t.Helper()
	f, err := d.Open("0.log")
	if err != nil {
		f = create(t, d, "0.log")
		must(t, d.SyncDir("."))
	}
	return f
}

func TestPowerCutLeavesOnlyDurableOrDirtyBytes(t *testing.T) {
	for seed := range uint64(400) {
		random := dice(seed)
		// Odd seeds also let the oldest pages be written back by themselves.
		d := NewMemory(Options{WritebackBytes: int64(seed%2) * 5 * pageBytes})
		f := openOrCreate(t, d)
		o := &oneFile{touched: map[int64]bool{}, keepsPast: seed%2 == 1}
		for range 3 {
			for range 2 {
				randomWrites(t, f, o, random)
				must(t, f.Sync())
				o.synced()
			}
			randomWrites(t, f, o, random)
			must(t, d.PowerCut(random))
			got, err := d.ReadFile("0.log")
			must(t, err)
			if why := o.judge(got); why != "" {
				t.Fatalf("seed %d: the file %s", seed, why)
			}
			o.current = got
			o.synced()
			f = openOrCreate(t, d)
		}
	}
}

// interrupted is a backing whose syncs call back in their middle.
type interrupted struct {
	*memory
	during func() error
}

type interruptedNode struct {
	node
	back *interrupted
}

func (b *interrupted) open(name string, create bool) (node, int64, error) {
	opened, size, err := b.memory.open(name, create)
	if err != nil {
		return nil, 0, err
	}
	return interruptedNode{opened, b}, size, nil
}

func (n interruptedNode) sync() error {
	if n.back.during == nil {
		return nil
	}
	return n.back.during()
}

func TestWritesDuringASyncAreNotPartOfIt(t *testing.T) {
	for seed := range uint64(400) {
		for _, result := range []error{nil, errors.New("medium error")} {
			random := dice(seed)
			back := &interrupted{memory: newMemory()}
			d := newDisk(back, Options{})
			f := openOrCreate(t, d)
			o := &oneFile{touched: map[int64]bool{}}
			randomWrites(t, f, o, random)
			must(t, f.Sync())
			o.synced()
			randomWrites(t, f, o, random)
			back.during = func() error {
				if result == nil {
					o.synced()
				}
				randomWrites(t, f, o, random)
				return result
			}
			wantError(t, f.Sync(), result)
			back.during = nil
			must(t, d.PowerCut(random))
			got, err := d.ReadFile("0.log")
			must(t, err)
			if why := o.judge(got); why != "" {
				t.Fatalf("seed %d, sync gave %v: the file %s", seed, result, why)
			}
		}
	}
}

func TestTensOfGigabytesOfAppendsKeepTheBooksSmall(t *testing.T) {
	const batch = 16 << 10
	c := noChanges(0, 0)
	writeback := int64(writebackBytesDefault / pageBytes)
	for size := int64(0); size < 20<<30; size += batch {
		c.wrote(size, batch, size+batch, writeback)
		if len(c.dirty) > 1 || len(c.before) > 0 || c.dirty.count() > writeback {
			t.Fatalf("at %d: %d runs, %d pre-images, %d pages", size, len(c.dirty),
				len(c.before), c.dirty.count())
		}
	}
}

func TestScatteredWritesKeepTheBooksBounded(t *testing.T) {
	d := NewMemory(Options{})
	f := openOrCreate(t, d)
	must(t, f.Preallocate(4*preImagesMax*pageBytes))
	must(t, f.Sync())
	known := f.(*handle).known
	for page := int64(0); page < 4*preImagesMax; page += 2 {
		_, err := f.WriteAt([]byte{1}, page*pageBytes)
		must(t, err)
		if len(known.changes.before) > preImagesMax || len(known.changes.dirty) > runsMax {
			t.Fatalf("%d pre-images, %d runs", len(known.changes.before), len(known.changes.dirty))
		}
	}
}

func TestJournalIsBoundedAndItsOldestOperationsBecomeDurable(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		for i := range 2 * journalMax {
			must(t, create(t, d, string(rune('a'+i%26))+string(rune('a'+i/26))).Close())
		}
		if n := len(d.journal.operations); n != journalMax {
			t.Fatalf("%d operations", n)
		}
		must(t, d.PowerCut(dice(1)))
		entries, err := d.List(".")
		must(t, err)
		if len(entries) < journalMax {
			t.Fatalf("%d files left", len(entries))
		}
	})
}

func TestPageSetEqualsASetOfPages(t *testing.T) {
	for seed := range uint64(500) {
		random := dice(seed)
		var runs pageSet
		var want [64]bool
		for range 30 {
			from := random.Int64N(60)
			switch random.IntN(6) {
			case 0:
				runs.dropFrom(from)
				clear(want[from:])
			case 1:
				runs.dropBefore(from)
				clear(want[:from])
			default:
				to := from + 1 + random.Int64N(4)
				runs.add(run{from, to})
				for page := from; page < to; page++ {
					want[page] = true
				}
			}
			for page := range want {
				if runs.has(int64(page)) != want[page] {
					t.Fatalf("seed %d: page %d, runs %v", seed, page, runs)
				}
			}
			for i := 1; i < len(runs); i++ {
				if runs[i-1].to >= runs[i].from {
					t.Fatalf("seed %d: runs %v touch", seed, runs)
				}
			}
		}
	}
}

// countedReads is a backing whose files count the reads below the bookkeeping.
type countedReads struct {
	*memory
	reads int
}

type countedNode struct {
	node
	back *countedReads
}

func (b *countedReads) open(name string, create bool) (node, int64, error) {
	opened, size, err := b.memory.open(name, create)
	return countedNode{opened, b}, size, err
}

func (n countedNode) readAt(p []byte, off int64) (int, error) {
	n.back.reads++
	return n.node.readAt(p, off)
}

// A clean stop trims two indexes of 10 MiB a partition.
func TestTrimmingAPreallocatedIndexReadsOnlyWhatWasWritten(t *testing.T) {
	back := &countedReads{memory: newMemory()}
	d := newDisk(back, Options{})
	f := openOrCreate(t, d)
	must(t, f.Preallocate(10<<20))
	_, err := f.WriteAt([]byte("an entry"), 0)
	must(t, err)
	must(t, f.Sync())
	must(t, f.Truncate(0))
	if back.reads != 1 {
		t.Fatalf("%d reads for one page that was written", back.reads)
	}
}

// afterPowerCut gives what is left of a preallocated, synced file after writes and a power cut.
func afterPowerCut(t *testing.T, seed uint64, options Options, writes func(f File)) []byte {
	t.Helper()
	d := NewMemory(options)
	f := openOrCreate(t, d)
	must(t, f.Preallocate(16*pageBytes))
	must(t, f.Sync())
	writes(f)
	must(t, d.PowerCut(dice(seed)))
	got, err := d.ReadFile("0.log")
	must(t, err)
	return got
}

func writePage(t *testing.T, f File, page int64, fill byte) {
	t.Helper()
	_, err := f.WriteAt(bytes.Repeat([]byte{fill}, pageBytes), page*pageBytes)
	must(t, err)
}

func TestUnsyncedEntryInAPreallocatedIndexMayBeLost(t *testing.T) {
	left := map[byte]int{}
	for seed := range uint64(100) {
		got := afterPowerCut(t, seed, Options{}, func(f File) {
			writePage(t, f, 3, 7)
			if safe := f.(*handle).known.changes.safe(f.Size()); safe > 3*pageBytes {
				t.Fatalf("%d bytes count as safe, and page 3 was written", safe)
			}
		})
		left[got[3*pageBytes]]++
	}
	if left[0] == 0 || left[7] == 0 || len(left) != 2 {
		t.Fatalf("first bytes of the entry after 100 power cuts: %v", left)
	}
}

func TestPageThatWasWrittenBackIsNotZeroAgain(t *testing.T) {
	for seed := range uint64(100) {
		got := afterPowerCut(t, seed, Options{WritebackBytes: 4 * pageBytes}, func(f File) {
			for page := range int64(5) { // the fifth is one too many: two are written back
				writePage(t, f, page, 7)
			}
			writePage(t, f, 0, 8)
		})
		if got[0] != 7 && got[0] != 8 {
			t.Fatalf("seed %d: page 0 begins with %d", seed, got[0])
		}
	}
}
