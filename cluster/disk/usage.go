package disk

import (
	"path"
	"slices"
	"strings"
	"sync/atomic"
)

// classesMax bounds the file classes that are counted apart; the rest is one class, "other".
const classesMax = 64

// Usage is what one class of files was used for since the disk was made.
type Usage struct {
	Class        string // extension with its dot, or the whole name of a file without one
	Reads        int64
	ReadBytes    int64
	Writes       int64
	WrittenBytes int64
	Syncs        int64
}

// counters are the running numbers of one class.
type counters struct{ reads, readBytes, writes, writtenBytes, syncs atomic.Int64 }

// classOf is a file's class; ".log.deleted" counts as ".deleted".
func classOf(name string) string {
	if extension := path.Ext(name); extension != "" {
		return extension
	}
	return path.Base(name)
}

// countersLocked finds or makes the counters of a file's class.
func (d *Disk) countersLocked(name string) *counters {
	class := classOf(name)
	if found := d.usage[class]; found != nil {
		return found
	}
	if len(d.usage) >= classesMax-1 {
		class = "other"
	}
	if d.usage[class] == nil {
		d.usage[class] = &counters{}
	}
	return d.usage[class]
}

// Usage counts the work done so far, sorted by class.
func (d *Disk) Usage() []Usage {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]Usage, 0, len(d.usage))
	for class, c := range d.usage {
		all = append(all, Usage{
			Class: class, Reads: c.reads.Load(), ReadBytes: c.readBytes.Load(),
			Writes: c.writes.Load(), WrittenBytes: c.writtenBytes.Load(), Syncs: c.syncs.Load(),
		})
	}
	slices.SortFunc(all, func(a, b Usage) int { return strings.Compare(a.Class, b.Class) })
	return all
}
