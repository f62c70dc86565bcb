package disk

import (
	"io"
	"maps"
	"math"
	"slices"
)

// Bounds on the bookkeeping of one file. Past them the oldest changes count as written back, as
// a kernel does it on its own when too much is dirty.
const (
	preImagesMax = 4096 // pages, 16 MiB, besides what one write or truncation adds
	runsMax      = 4096
)

// never is a lowest length that no truncation has reached.
const never = math.MaxInt64

// changes says how a file's content differs from what is durable.
//
// Invariant: a durable byte is in the file itself, unless its page has a pre-image; then it is
// there, or unless its page begins at or after zeros; then it is zero. Other pages of durable bytes
// that were overwritten or cut off always have a pre-image.
type changes struct {
	durable int64            // length at the last sync, bytes
	zeros   int64            // from here on the durable bytes are zeros that nobody had written
	lowest  int64            // smallest length since then, bytes; never if not cut below durable
	dirty   pageSet          // pages written since then
	before  map[int64][]byte // pre-images: a page's durable bytes, at most pageBytes
}

// noChanges is the state of a file that is durable as it is; what was written ends at written.
func noChanges(size, written int64) changes {
	return changes{durable: size, zeros: written, lowest: never}
}

// any says whether a power cut could change a file of the given length.
func (c *changes) any(size int64) bool {
	return len(c.dirty) > 0 || c.lowest != never || c.durable != size
}

// intact is the number of leading durable bytes that the file itself may still hold.
func (c *changes) intact() int64 { return min(c.durable, c.lowest) }

// safe is the number of leading bytes that a power cut cannot change.
func (c *changes) safe(size int64) int64 {
	safe := min(c.intact(), size)
	for page := range c.before { // a minimum: the order does not matter
		safe = min(safe, page*pageBytes)
	}
	if page, written := c.dirty.first(pagesUp(c.zeros)); written {
		safe = min(safe, page*pageBytes)
	}
	return safe
}

// keep takes pre-images of the durable bytes among off … off+n−1, before they change.
func (c *changes) keep(from node, off, n int64) error {
	end := min(off+n, c.intact())
	if off >= end {
		return nil
	}
	pages := pagesOf(off, end-off)
	// An index is preallocated long before it is filled: its zeros are not worth reading.
	for page := pages.from; page < min(pages.to, pagesUp(c.zeros)); page++ {
		if _, kept := c.before[page]; kept {
			continue
		}
		image := make([]byte, min(pageBytes, c.durable-page*pageBytes))
		if n, err := from.readAt(image, page*pageBytes); err != nil && err != io.EOF {
			return err
		} else if n < len(image) && page*pageBytes+int64(n) < c.intact() {
			return io.ErrUnexpectedEOF
		}
		if c.before == nil {
			c.before = map[int64][]byte{}
		}
		c.before[page] = image
	}
	return nil
}

// wrote notes that off … off+n−1 were written and the file is size bytes long now. What it no
// longer keeps in detail counts as durable, zeros or not.
func (c *changes) wrote(off, n, size, writebackPages int64) {
	if n <= 0 {
		return
	}
	c.dirty.add(pagesOf(off, n))
	if len(c.before) > preImagesMax || len(c.dirty) > runsMax {
		*c = noChanges(size, size)
		return
	}
	// The sum over the runs costs nothing: an appended file has one.
	if writebackPages > 0 && c.dirty.count() > writebackPages {
		c.settleHalf(size)
	}
}

// settleHalf counts the first half of the dirty pages as written back.
func (c *changes) settleHalf(size int64) {
	half := c.dirty.count() / 2
	for _, r := range c.dirty {
		if pages := r.to - r.from; pages < half {
			half -= pages
			continue
		}
		c.settleBefore(r.from+half, size)
		return
	}
}

// settleBefore makes everything before a page durable. Lengths reach the drive in order, so a
// truncation before it does so too.
func (c *changes) settleBefore(page, size int64) {
	if c.lowest < c.durable {
		c.durable = c.lowest
		maps.DeleteFunc(c.before, func(at int64, _ []byte) bool {
			return at*pageBytes >= c.durable
		})
	}
	c.lowest = never
	maps.DeleteFunc(c.before, func(at int64, _ []byte) bool { return at < page })
	c.dirty.dropBefore(page)
	c.zeros = max(c.zeros, page*pageBytes)
	c.durable = max(c.durable, min(page*pageBytes, size))
}

// cut prepares a truncation from size to a smaller length.
func (c *changes) cut(from node, length int64) error {
	lost := c.intact() - length
	if lost > preImagesMax*pageBytes {
		return nil // cutDone settles it
	}
	return c.keep(from, length, lost)
}

// cutDone notes a truncation that cut prepared.
func (c *changes) cutDone(length int64) {
	switch lost := c.intact() - length; {
	case lost > preImagesMax*pageBytes || len(c.before) > 2*preImagesMax:
		*c = noChanges(length, length)
	default:
		if lost > 0 {
			c.lowest = length
		}
		c.dirty.dropFrom(pagesUp(length))
	}
}

// merge puts back what a sync that failed had taken: what was unsynced then still is.
func merge(older, newer changes) changes {
	merged := changes{
		durable: older.durable, zeros: older.zeros, lowest: older.lowest,
		before: maps.Clone(older.before),
	}
	if newer.lowest < merged.intact() {
		merged.lowest = newer.lowest
	}
	merged.dirty = slices.Clone(older.dirty)
	for _, r := range newer.dirty {
		merged.dirty.add(r)
	}
	for page, image := range newer.before { // each page by itself: the order does not matter
		length := min(int64(len(image)), older.intact()-page*pageBytes)
		if _, kept := merged.before[page]; kept || length <= 0 || page >= pagesUp(older.zeros) {
			continue
		}
		if merged.before == nil {
			merged.before = map[int64][]byte{}
		}
		merged.before[page] = image[:length]
	}
	return merged
}
