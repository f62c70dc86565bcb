package disk

import (
	"io"
	"maps"
	"math/rand/v2"
	"slices"
)

const pageSectors = pageBytes / sectorBytes

// fate decides, page after page, how many sectors of each dirty page of one file were written
// before the power went.
type fate struct {
	dice *rand.Rand
	// kind: 0 nothing was written, 1 a leading part in order, 2 and 3 any pages.
	kind int
	left int64 // kind 1: how many more pages were written
}

func newFate(dice *rand.Rand, dirty int64) fate {
	f := fate{dice: dice, kind: dice.IntN(4)}
	if f.kind == 1 && dirty > 0 {
		f.left = dice.Int64N(dirty) // the last one at least was still on its way
	}
	return f
}

// sectors is the number of leading sectors of the next page that were written.
func (f *fate) sectors() int64 {
	switch f.kind {
	case 0:
		return 0
	case 1:
		f.left--
		if f.left >= 0 {
			return pageSectors
		}
		if f.left == -1 {
			return f.dice.Int64N(pageSectors) // the page under way is torn
		}
		return 0
	}
	switch f.dice.IntN(4) {
	case 0:
		return 0
	case 1:
		return 1 + f.dice.Int64N(pageSectors-1)
	}
	return pageSectors
}

// lose makes a file's content what a power cut leaves of it, and gives the new length.
func (c *changes) lose(file node, size int64, dice *rand.Rand) (int64, error) {
	// base is the length before any surviving write; back says that a truncation was undone.
	base, back := c.durable, false
	if c.lowest < c.durable {
		if back = dice.IntN(2) == 0; !back {
			base = c.lowest
		}
	}
	end := base
	chance := newFate(dice, c.dirty.count())
	for _, r := range c.dirty {
		for page := r.from; page < r.to; page++ {
			kept := chance.sectors()
			if back && page >= c.lowest/pageBytes {
				// Writes behind a truncation are never older than the truncation.
				kept = 0
			}
			if kept > 0 {
				end = max(end, min(page*pageBytes+kept*sectorBytes, size))
			}
			if err := c.losePage(file, page, kept, base); err != nil {
				return 0, err
			}
		}
	}
	if back {
		if err := c.restoreCut(file, base); err != nil {
			return 0, err
		}
	} else if dice.IntN(4) == 0 {
		// The length was journaled, the last pages were not written: they read as zero.
		end = max(end, size)
	}
	return end, file.truncate(end)
}

// losePage puts a dirty page's durable bytes back behind the sectors that were written.
func (c *changes) losePage(file node, page, kept, base int64) error {
	if kept == pageSectors {
		return nil
	}
	start := page * pageBytes
	var old [pageBytes]byte
	if image, overwritten := c.before[page]; overwritten {
		copy(old[:], image)
	} else if page >= pagesUp(c.zeros) {
		clear(old[:])
	} else if _, err := file.readAt(old[:], start); err != nil && err != io.EOF {
		return err
	}
	// Behind the old end there was nothing: a hole, should the file be longer.
	clear(old[min(pageBytes, max(0, base-start)):])
	from := kept * sectorBytes
	_, err := file.writeAt(old[from:], start+from)
	return err
}

// restoreCut writes the pages back that an undone truncation had cut off.
func (c *changes) restoreCut(file node, base int64) error {
	for _, page := range slices.Sorted(maps.Keys(c.before)) {
		if c.dirty.has(page) {
			continue // losePage has done it
		}
		image := c.before[page]
		image = image[:min(int64(len(image)), base-page*pageBytes)]
		if _, err := file.writeAt(image, page*pageBytes); err != nil {
			return err
		}
	}
	return nil
}

// PowerCut does what a power failure does to the disk: handles become stale, a suffix of the
// unsynced directory operations never happened, and every file falls back to what was synced
// plus some of its dirty pages. All chances come from the dice, in an order that depends only on
// the history and on names, so both kinds of disk end alike. What is left then is durable.
func (d *Disk) PowerCut(dice *rand.Rand) error {
	d.gate.Lock()
	d.mu.Lock()
	orphans := d.dieLocked()
	err := d.loseLocked(dice)
	d.mu.Unlock()
	d.gate.Unlock()
	return joinClose(err, orphans)
}

// loseLocked undoes directory operations, then content, file by file in order of name.
func (d *Disk) loseLocked(dice *rand.Rand) error {
	if err := d.undoLocked(dice); err != nil {
		return failed(OpPowerCut, ".", err)
	}
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		known := d.files[name]
		known.mu.Lock()
		err := d.loseFile(name, known, dice)
		known.mu.Unlock()
		if err != nil {
			return failed(OpPowerCut, name, err)
		}
	}
	clear(d.files) // no handle is left, and nothing is unsynced: nothing to remember
	return nil
}

func (d *Disk) loseFile(name string, known *inode, dice *rand.Rand) error {
	unsynced := known.unsynced()
	if !unsynced.any(known.size.Load()) {
		return nil
	}
	file, size, err := d.back.open(name, false)
	if err != nil {
		return err
	}
	size, err = unsynced.lose(file, size, dice)
	if err == nil {
		err = file.sync()
	}
	known.changes, known.pending = noChanges(size, size), nil
	known.size.Store(size)
	return joinClose(err, []node{file})
}
