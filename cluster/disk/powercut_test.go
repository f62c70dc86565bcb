package disk

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
)

// history does random operations on two disks alike, and checks that they answer alike.
type history struct {
	t      *testing.T
	seed   uint64
	dice   *rand.Rand
	disks  [2]*Disk
	opened [2][]File
	log    []string
}

var (
	dirNames  = []string{".", "orders-0", "orders-0/deep", "audit-1"}
	fileNames = []string{"0.log", "0.index", "5.log", "checkpoint"}
)

func (h *history) failf(format string, values ...any) {
	h.t.Helper()
	h.t.Fatalf("seed %d: %s\nhistory:\n%s", h.seed, fmt.Sprintf(format, values...),
		strings.Join(h.log, "\n"))
}

// both does one operation on both disks; the reasons of failure must be equal.
func (h *history) both(what string, work func(i int, d *Disk) error) {
	h.t.Helper()
	memory, real := work(0, h.disks[0]), work(1, h.disks[1])
	h.log = append(h.log, fmt.Sprintf("%s: %v", what, memory))
	if fmt.Sprint(memory) != fmt.Sprint(real) {
		h.failf("%s: memory %v, real %v", what, memory, real)
	}
}

func (h *history) name() string {
	return path.Join(dirNames[h.dice.IntN(len(dirNames))], fileNames[h.dice.IntN(len(fileNames))])
}

// step does one random operation.
func (h *history) step() {
	switch h.dice.IntN(14) {
	case 0, 1:
		dir := dirNames[h.dice.IntN(len(dirNames))]
		h.both("mkdir "+dir, func(_ int, d *Disk) error { return d.Mkdir(dir) })
	case 2, 3:
		name := h.name()
		h.both("create "+name, func(i int, d *Disk) error {
			f, err := d.Create(name)
			if err == nil {
				h.opened[i] = append(h.opened[i], f)
			}
			return err
		})
	case 4:
		name := h.name()
		h.both("open "+name, func(i int, d *Disk) error {
			f, err := d.Open(name)
			if err == nil {
				h.opened[i] = append(h.opened[i], f)
			}
			return err
		})
	case 5:
		name, all := h.name(), h.dice.IntN(4) == 0
		h.both(fmt.Sprint("remove ", name, all), func(_ int, d *Disk) error {
			if all {
				return d.RemoveAll(path.Dir(name))
			}
			return d.Remove(name)
		})
	case 6:
		old, new := h.name(), h.name()
		if h.dice.IntN(3) == 0 {
			old, new = path.Dir(old), path.Dir(new)
		}
		h.both("rename "+old+" "+new, func(_ int, d *Disk) error { return d.Rename(old, new) })
	case 7:
		dir := dirNames[h.dice.IntN(len(dirNames))]
		h.both("sync directory "+dir, func(_ int, d *Disk) error { return d.SyncDir(dir) })
	default:
		h.fileStep()
	}
}

// fileStep does one random operation on one open file.
func (h *history) fileStep() {
	if len(h.opened[0]) == 0 {
		return
	}
	at := h.dice.IntN(len(h.opened[0]))
	size := h.opened[0][at].Size()
	off := h.dice.Int64N(size + 1)
	if h.dice.IntN(2) == 0 {
		off = size
	}
	long := h.dice.Int64N(1 + []int64{100, 3 * pageBytes, 20 * pageBytes}[h.dice.IntN(3)])
	content := bytes.Repeat([]byte{byte(1 + h.dice.IntN(255))}, int(long))
	kind := h.dice.IntN(8)
	what := fmt.Sprint("file ", h.opened[0][at].Name(), " kind ", kind, " at ", off, "+", long)
	h.both(what, func(i int, _ *Disk) error {
		f := h.opened[i][at]
		switch kind {
		case 0:
			return f.Truncate(off)
		case 1:
			return f.Preallocate(size + long)
		case 2:
			return f.Sync()
		case 3:
			h.opened[i] = slices.Delete(h.opened[i], at, at+1)
			return f.Close()
		case 4:
			_, err := f.WriteAt(content, off)
			return err
		}
		half := len(content) / 2
		_, err := f.WriteVAt([][]byte{content[:half], content[half:]}, off)
		return err
	})
}

// safeBytes are the leading bytes of each file that must survive, and its durable names.
func safeBytes(t testing.TB, d *Disk) map[string][]byte {
	safe := map[string][]byte{}
	for _, dir := range dirNames {
		entries, err := d.List(dir)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			if name := path.Join(dir, entry.Name); !entry.Dir {
				content, err := d.ReadFile(name)
				must(t, err)
				written, synced := d.FileState(name)
				if written != int64(len(content)) || synced > written {
					t.Fatalf("%s: %d bytes, written %d, synced %d", name, len(content), written,
						synced)
				}
				safe[name] = content[:synced]
			}
		}
	}
	return safe
}

func TestBothDisksEndAlikeAfterEveryHistoryAndPowerCut(t *testing.T) {
	seeds := uint64(50)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		h := &history{t: t, seed: seed, dice: dice(seed)}
		options := Options{WritebackBytes: 12 * pageBytes}
		onFiles, err := NewReal(t.TempDir(), options)
		must(t, err)
		h.disks = [2]*Disk{NewMemory(options), onFiles}
		for range 3 {
			for range 20 + h.dice.IntN(60) {
				h.step()
			}
			if memory, real := tree(t, h.disks[0]), tree(t, h.disks[1]); memory != real {
				h.failf("memory:\n%.2000s\nreal:\n%.2000s", memory, real)
			}
			if memory, real := h.disks[0].Dirty(), h.disks[1].Dirty(); memory != real {
				h.failf("dirty: memory %d, real %d", memory, real)
			}
			h.cutAndCheck()
		}
		must(t, onFiles.Close())
	}
}

// cutAndCheck cuts the power of both disks with equal dice and judges what is left.
func (h *history) cutAndCheck() {
	h.t.Helper()
	quiet := len(h.disks[0].journal.operations) == 0
	safe := safeBytes(h.t, h.disks[0])
	cutSeed := h.dice.Uint64()
	h.both("power cut", func(_ int, d *Disk) error { return d.PowerCut(dice(cutSeed)) })
	h.opened = [2][]File{}
	memory, real := tree(h.t, h.disks[0]), tree(h.t, h.disks[1])
	if memory != real {
		h.failf("after the cut: memory:\n%.2000s\nreal:\n%.2000s", memory, real)
	}
	if dirty := h.disks[0].Dirty(); dirty != 0 {
		h.failf("dirty after the cut: %d", dirty)
	}
	if !quiet {
		return // names may be gone or back, so contents cannot be told by name
	}
	for name, want := range safe {
		got, err := h.disks[0].ReadFile(name)
		if err != nil || !bytes.HasPrefix(got, want) {
			h.failf("%s lost synced bytes: %v", name, err)
		}
	}
}

func TestSyncedBytesSurviveWhateverIsWrittenOverThem(t *testing.T) {
	old := strings.Repeat("o", 3*pageBytes+100)
	onEachDisk(t, func(t *testing.T, d *Disk) {
		seen := map[string]bool{}
		for seed := range uint64(60) {
			f := create(t, d, "0.log")
			write(t, f, old, 0)
			must(t, f.Sync())
			must(t, d.SyncDir("."))
			must(t, f.Truncate(pageBytes+50))
			write(t, f, strings.Repeat("n", pageBytes), pageBytes+50)
			if _, synced := d.FileState("0.log"); synced != pageBytes {
				t.Fatalf("synced %d", synced)
			}
			must(t, d.PowerCut(dice(seed)))
			got, err := d.ReadFile("0.log")
			must(t, err)
			// Either the truncation never happened and everything is old, or it did and each
			// later byte is new or a hole.
			cut := string(got[:pageBytes+50]) == old[:pageBytes+50] &&
				strings.Trim(string(got[pageBytes+50:]), "n\x00") == ""
			if string(got) != old && !cut {
				t.Fatalf("seed %d: %d bytes that never were", seed, len(got))
			}
			seen[string(got)] = true
		}
		if !seen[old] || len(seen) < 5 {
			t.Fatalf("only %d different ends", len(seen))
		}
	})
}

func TestPowerCutTearsPagesAtSectors(t *testing.T) {
	d := NewMemory(Options{})
	torn := 0
	for seed := range uint64(100) {
		f := create(t, d, "0.log")
		must(t, f.Truncate(0))
		must(t, f.Sync())
		must(t, d.SyncDir("."))
		write(t, f, strings.Repeat("n", 2*pageBytes), 0)
		must(t, d.PowerCut(dice(seed)))
		got, err := d.ReadFile("0.log")
		must(t, err)
		for page := range slices.Chunk(got, pageBytes) {
			news := bytes.Count(page, []byte("n"))
			if news%sectorBytes != 0 || strings.Trim(string(page[:news]), "n") != "" {
				t.Fatalf("seed %d: torn inside a sector", seed)
			}
			if news > 0 && news < pageBytes {
				torn++
			}
		}
	}
	if torn < 5 {
		t.Fatalf("only %d torn pages", torn)
	}
}

func TestUnsyncedNamesAreUndoneFromTheEnd(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		seen := map[int]bool{}
		for seed := range uint64(40) {
			must(t, d.RemoveAll("topic"))
			must(t, d.Mkdir("topic"))
			must(t, d.SyncDir("."))
			for i := range 5 {
				must(t, create(t, d, fmt.Sprintf("topic/%d", i)).Close())
			}
			must(t, d.PowerCut(dice(seed)))
			entries, err := d.List("topic")
			must(t, err)
			for i, entry := range entries {
				if entry.Name != fmt.Sprint(i) {
					t.Fatalf("seed %d: %v is no prefix", seed, entries)
				}
			}
			seen[len(entries)] = true
		}
		if len(seen) != 6 {
			t.Fatalf("only %d of 6 ends seen", len(seen))
		}
	})
}

func TestSyncOfADirectoryMakesItsParentsDurableAndNotItsSiblings(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		siblingLost := false
		for seed := range uint64(30) {
			must(t, d.RemoveAll("a"))
			must(t, d.RemoveAll("b"))
			must(t, d.SyncDir("."))
			must(t, d.Mkdir("a/deep"))
			must(t, d.Mkdir("b"))
			f := create(t, d, "a/deep/0.log")
			write(t, f, "x", 0)
			must(t, f.Sync())
			must(t, d.SyncDir("a/deep"))
			must(t, d.PowerCut(dice(seed)))
			wantContent(t, d, "a/deep/0.log", "x")
			_, err := d.Stat("b")
			siblingLost = siblingLost || err != nil
		}
		if !siblingLost {
			t.Fatal("a directory nobody synced always survived")
		}
	})
}

func TestRemovedFileComesBackWithItsSyncedContent(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		back := 0
		for seed := range uint64(20) {
			f := create(t, d, "0.log")
			write(t, f, "synced", 0)
			must(t, f.Sync())
			must(t, d.SyncDir("."))
			must(t, d.Remove("0.log"))
			must(t, d.PowerCut(dice(seed)))
			if _, err := d.Stat("0.log"); err == nil {
				wantContent(t, d, "0.log", "synced")
				back++
			}
		}
		if back == 0 || back == 20 {
			t.Fatalf("came back %d of 20 times", back)
		}
	})
}

func TestAtomicWriteLeavesOldOrNewContentAfterACutAtEveryStep(t *testing.T) {
	old, new := strings.Repeat("old", 3000), strings.Repeat("new", 4000)
	errCut := errors.New("the power is gone")
	onEachDisk(t, func(t *testing.T, d *Disk) {
		finished, olds, news := false, 0, 0
		for step := 0; !finished; step++ {
			for seed := range uint64(20) {
				must(t, WriteFileAtomically(d, "checkpoint", []byte(old)))
				n := 0
				d.OnOperation(func(Operation) error {
					if n++; n <= step {
						return nil
					}
					must(t, d.PowerCut(dice(seed)))
					return errCut
				})
				err := WriteFileAtomically(d, "checkpoint", []byte(new))
				finished = err == nil
				d.OnOperation(nil)
				must(t, d.PowerCut(dice(seed+1000)))
				got, readError := d.ReadFile("checkpoint")
				must(t, readError)
				switch {
				case string(got) == old && !finished:
					olds++
				case string(got) == new:
					news++
				default:
					t.Fatalf("step %d seed %d: %d bytes, finished %v", step, seed, len(got),
						finished)
				}
			}
		}
		if olds == 0 || news == 0 {
			t.Fatalf("old %d times, new %d times", olds, news)
		}
	})
}

func TestHookFailsTheNthOperationAndNothingIsDone(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		f := create(t, d, "0.log")
		errHook := errors.New("not this one")
		var seen []Operation
		d.OnOperation(func(operation Operation) error {
			seen = append(seen, operation)
			if len(seen) == 2 {
				return errHook
			}
			return nil
		})
		write(t, f, "one", 0)
		_, err := f.WriteAt([]byte("two"), 3)
		wantError(t, err, errHook)
		d.OnOperation(nil)
		wantContent(t, d, "0.log", "one")
		want := []Operation{
			{Kind: OpWrite, Name: "0.log", Bytes: 3},
			{Kind: OpWrite, Name: "0.log", Offset: 3, Bytes: 3},
		}
		if !slices.Equal(seen, want) {
			t.Fatalf("saw %v", seen)
		}
	})
}
