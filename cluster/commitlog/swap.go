package commitlog

import (
	"errors"
	"slices"

	"highwater/cluster/event"
)

// ErrSuperseded says that the segments that an Output replaces are no longer all in the log.
var ErrSuperseded = errors.New("commitlog: the segments to be replaced have changed")

// swapStage is how far a replacement of segments has come. Each stage begins when what the one
// before it renamed is durable, so that whenever the power fails, recovery finds either all of
// the originals or a whole successor, named .swap or already in its place.
type swapStage uint8

const (
	swapNamed    swapStage = iota // the successor's files are named .swap
	swapInLog                     // it serves readers; the originals are named .deleted
	swapFinished                  // it has its own name
)

type swap struct {
	output *Output
	stage  swapStage
	then   func() // nil once nobody is to be told
}

// Swap replaces the output's sources by it. Readers see it with the next ticket, then runs once it
// has its own name for good. An output that is refused with ErrSuperseded is for the caller to
// discard. Outputs of one Rewrite must be swapped in their order.
func (l *Log) Swap(o *Output, then func()) error {
	if l.failed != nil {
		return l.failed
	}
	if _, ok := l.placeOf(o); !ok {
		return ErrSuperseded
	}
	if err := l.rename(o, suffixCleaned, suffixSwap); err != nil {
		return err
	}
	sw := &swap{output: o, then: then}
	l.swaps = append(l.swaps, sw)
	l.deferNames("swap", func() error { return l.installSwap(sw) })
	return nil
}

// placeOf finds where the output's sources lie among the closed segments.
func (l *Log) placeOf(o *Output) (int, bool) {
	at := slices.Index(l.segments, o.sources[0].segment)
	if at < 0 || !l.Current(o.rewrite) || at+len(o.sources) >= len(l.segments) {
		return 0, false
	}
	for i := range o.sources {
		if l.segments[at+i] != o.sources[i].segment {
			return 0, false
		}
	}
	return at, true
}

func (l *Log) rename(o *Output, from, to string) error {
	for _, ext := range o.exts {
		if err := l.fs.Rename(o.name(ext, from), o.name(ext, to)); err != nil {
			return l.fail("swap", err)
		}
	}
	l.namesDirty++
	return nil
}

// deferNames hands out a sync of the directory's names, after which the next stage may begin.
func (l *Log) deferNames(name string, next func() error) {
	files, dir, names := l.fs, l.dir, l.namesDirty
	l.deferred = append(l.deferred, Ticket{Name: name, log: l,
		Run: func() error { return files.SyncDir(dir) },
		done: func(err error) error {
			if err == nil && l.failed == nil {
				l.namesSynced = max(l.namesSynced, names)
				return next()
			}
			return l.fail("swap", err)
		}})
}

// installSwap lets the successor take its originals' place for readers. From here on they are not
// needed: what is named .swap is durable, and recovery would finish it.
func (l *Log) installSwap(sw *swap) error {
	if sw.stage != swapNamed {
		return nil
	}
	o := sw.output
	at, ok := l.placeOf(o)
	if !ok {
		return l.fail("swap", ErrSuperseded) // Swap has looked, and whoever changes them settles
	}
	for i := range o.sources {
		s := o.sources[i].segment
		names, err := l.renameDeleted(s)
		if err != nil {
			return l.fail("swap", err)
		}
		l.deferDelete(s, names)
	}
	l.segments = slices.Concat(
		l.segments[:at], []*segment{o.segment}, l.segments[at+len(o.sources):])
	// The batches in memory are the originals'.
	l.tail.releaseBelow(o.Facts.NextOffset)
	first, next := o.segment.base, o.Facts.NextOffset
	err := l.removeSnapshots(func(at event.Offset) bool { return at > first && at < next })
	if err != nil {
		return l.fail("swap", err)
	}
	sw.stage = swapInLog
	o.Facts.Topic, o.Facts.Partition = l.cfg.Topic, l.cfg.Partition
	o.Facts.Emit(l.cfg.Events, event.RuleCleanerLastValue)
	l.deferNames("swap", func() error { return l.nameSwap(sw) })
	return nil
}

// nameSwap gives the successor its own name.
func (l *Log) nameSwap(sw *swap) error {
	if sw.stage != swapInLog {
		return nil
	}
	if err := l.rename(sw.output, suffixSwap, ""); err != nil {
		return err
	}
	sw.stage = swapFinished
	l.deferNames("swap", func() error {
		l.swaps = slices.DeleteFunc(l.swaps, func(x *swap) bool { return x == sw })
		if sw.then != nil {
			sw.then()
		}
		return nil
	})
	return nil
}

// settleSwaps finishes the replacements under way at once, for who is about to change segments.
func (l *Log) settleSwaps() error {
	for _, sw := range l.swaps {
		if sw.stage == swapFinished || l.failed != nil {
			continue
		}
		if err := l.fs.SyncDir(l.dir); err != nil {
			return l.fail("swap", err)
		}
		if err := l.installSwap(sw); err != nil {
			return err
		}
		if err := l.fs.SyncDir(l.dir); err != nil {
			return l.fail("swap", err)
		}
		if err := l.nameSwap(sw); err != nil {
			return err
		}
	}
	return l.failed
}
