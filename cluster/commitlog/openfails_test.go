package commitlog

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"highwater/cluster/disk"
)

// contents reads all files of the rig's directory.
func (r *rig) contents() map[string]string {
	r.t.Helper()
	entries, err := r.disk.List(rigDir)
	r.must(err)
	files := map[string]string{}
	for _, e := range entries {
		files[e.Name] = string(r.file(e.Name))
	}
	return files
}

// restore gives the rig a fresh disk with these files, all durable.
func (r *rig) restore(files map[string]string) {
	r.t.Helper()
	r.disk = disk.NewMemory(disk.Options{})
	r.must(r.disk.Mkdir(rigDir))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file, err := r.disk.Create(path.Join(rigDir, name))
		r.must(err)
		_, err = file.WriteAt([]byte(files[name]), 0)
		r.must(errors.Join(err, file.Sync(), file.Close()))
	}
	r.must(r.disk.SyncDir(rigDir))
}

// known is everything that a log knows, its records included.
func (r *rig) known() []any {
	r.t.Helper()
	return []any{r.log.LogStartOffset(), r.log.LogEndOffset(), r.log.Epochs(),
		r.log.ProducerStates(), r.log.TxnAborted(0, r.log.LogEndOffset()),
		r.log.LastStableOffset(r.log.LogEndOffset()), r.values()}
}

// crashed is a log of several segments with producers and transactions, as a crash or a clean stop
// leaves it.
func crashed(t *testing.T, clean bool) (*rig, map[string]string) {
	r := newRig(t, func(c *Config) {
		c.SegmentBytes, c.IndexIntervalBytes, c.SegmentIndexBytes = 900, 200, 240
	})
	for i := range int32(12) {
		_, err := r.sendAs(7, 0, i, 1, false)
		r.must(err)
		_, err = r.sendAs(8, 1, i*2, 2, true)
		r.must(err)
		if i%3 == 0 {
			_, err = r.mark(8, 1, i%2 == 0)
			r.must(err)
			r.epoch++
		}
		r.flush()
		r.runDeferred()
	}
	r.must(r.log.Close(clean))
	return r, r.contents()
}

// Each operation of an opening fails in turn. What the disk did not give or take is no damage: the
// batches and the producers' snapshots stay as they were, and the next opening finds all there was.
func TestDiskThatFailsWhileALogIsOpenedCostsNothing(t *testing.T) {
	for _, clean := range []bool{false, true} {
		r, files := crashed(t, clean)
		damaged := maps.Clone(files)
		damaged[FileName(0, extIndex)] = "no index"
		torn := maps.Clone(files)
		torn[FileName(r.log.active().base, extLog)] += strings.Repeat("torn", 40)
		for what, before := range map[string]map[string]string{
			"whole": files, "an index is damaged": damaged, "the tail is torn": torn,
		} {
			o := OpenOptions{CleanShutdown: clean}
			r.restore(before)
			operations := 0
			r.disk.OnOperation(func(disk.Operation) error { operations++; return nil })
			r.open(o)
			want := r.known()
			for fails := range operations {
				what := fmt.Sprintf("clean %v, %s, operation %d", clean, what, fails)
				r.restore(before)
				what += r.failingOpening(what, files, o, fails)
				r.open(OpenOptions{})
				if got := r.known(); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %v, want %v", what, got, want)
				}
				r.must(r.log.Close(false))
			}
			if operations < 40 {
				t.Errorf("clean %v, %s: only %d operations", clean, what, operations)
			}
		}
	}
}

// failingOpening lets one operation of an opening fail, looks at what it left of the files that are
// whole, and says which operation it was.
func (r *rig) failingOpening(
	what string, whole map[string]string, o OpenOptions, fails int,
) string {
	r.t.Helper()
	at := 0
	var failed disk.Operation
	r.disk.OnOperation(func(op disk.Operation) error {
		at++
		if at-1 != fails {
			return nil
		}
		failed = op
		return disk.ErrIO
	})
	log, _, err := Open(r.disk, rigDir, r.cfg, o)
	r.disk.OnOperation(nil)
	operation := fmt.Sprintf(", %v %s", failed.Kind, failed.Name)
	what += operation
	if err == nil {
		r.must(log.Close(false))
	} else if IsCorrupt(err) || !errors.Is(err, disk.ErrIO) {
		r.t.Errorf("%s: %v", what, err)
	}
	after := r.contents()
	for name, content := range whole {
		_, there := after[name]
		// Stray snapshots are the last to go, when all else is well.
		if err != nil && !there && failed.Kind != disk.OpRemove {
			r.t.Errorf("%s: %s is gone", what, name)
		}
		if strings.HasSuffix(name, extLog) && !strings.HasPrefix(after[name], content) {
			r.t.Errorf("%s: %s was cut to %d of %d bytes", what, name, len(after[name]), len(content))
		}
	}
	return operation
}
