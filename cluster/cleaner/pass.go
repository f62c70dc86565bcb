package cleaner

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/record"
)

// Pass is one cleaning of one log. Begin and what is done with its outputs belong to the loop, Run to
// anybody.
type Pass struct {
	Look
	settings Settings
	rewrite  *commitlog.Rewrite
	filter   filter
	outputs  []*commitlog.Output
	end      event.Offset
	notes    notes
}

// Current says whether what the pass read is still what the log holds.
func (p *Pass) Current(l *commitlog.Log) bool { return l.Current(p.rewrite) }

// Result is what a pass came to.
type Result struct {
	Outputs                           []*commitlog.Output // finished, to be swapped in their order
	FirstDirty                        event.Offset        // once they are
	RecordsBefore, RecordsAfter       int64
	BytesBefore, BytesAfter           int64
	TombstonesKept, TombstonesExpired int64
	Survivors                         string // the newest few: alice@177,bob@178
}

// Begin takes hold of what a pass over a log will read. Run must follow.
func Begin(l *commitlog.Log, look Look, s Settings, nowMs int64) (*Pass, error) {
	rewrite, err := l.BeginRewrite(look.UpTo)
	if err != nil {
		return nil, err
	}
	p := &Pass{Look: look, settings: s, rewrite: rewrite, end: look.UpTo}
	p.filter = filter{keys: newOffsetMap(s.keysMax()), producers: l.LastOfProducers(),
		nowMs: nowMs, horizonMs: nowMs + min(s.DeleteRetentionMs, math.MaxInt64-nowMs)}
	aborted := l.TxnAborted(l.LogStartOffset(), look.UpTo)
	p.filter.txns = newTransactions(aborted)
	return p, nil
}

// Modelled costs of reading and writing a log once, for virtual time.
const (
	passCost        = 2 * time.Millisecond
	passCostPerByte = 10 * time.Nanosecond
)

// Cost is what the pass takes in virtual time.
func (p *Pass) Cost() time.Duration {
	return passCost + time.Duration(p.CleanBytes+2*p.DirtyBytes)*passCostPerByte
}

// Run reads and rewrites. On an error nothing is left behind.
func (p *Pass) Run() (Result, error) {
	err := p.learn()
	if err == nil {
		err = p.rewriteGroups()
	}
	err = errors.Join(err, p.rewrite.Release())
	if err != nil {
		return Result{}, errors.Join(err, Discard(p.outputs))
	}
	c := &p.filter.counts
	r := Result{Outputs: p.outputs, FirstDirty: p.end, RecordsBefore: c.before,
		RecordsAfter: c.after, TombstonesKept: c.tombstonesKept,
		TombstonesExpired: c.tombstonesExpired, Survivors: p.notes.survivorsText()}
	for _, o := range p.outputs {
		r.BytesBefore += o.Facts.BytesBefore
		r.BytesAfter += o.Facts.Bytes
	}
	return r, nil
}

// Discard removes outputs that are not swapped in.
func Discard(outputs []*commitlog.Output) error {
	var err error
	for _, o := range outputs {
		err = errors.Join(err, o.Discard())
	}
	return err
}

var errFull = errors.New("cleaner: the offset map is full")

// learn notes the newest offset of each key in the dirty part, until the map is full: then the pass
// ends there, and the next one goes on. Aborted records count for nothing.
func (p *Pass) learn() error {
	// A transaction that ended in the clean part says nothing about its producer's later ones.
	txns := newTransactions(slices.DeleteFunc(slices.Clone(p.filter.txns.waiting),
		func(t commitlog.AbortedTxn) bool { return t.LastOffset < p.FirstDirty }))
	for i := range p.rewrite.Sources {
		source := &p.rewrite.Sources[i]
		if source.NextOffset <= p.FirstDirty {
			continue
		}
		err := source.EachBatch(func(h record.Header, batch []byte) error {
			return p.learnBatch(txns, h, batch)
		})
		if errors.Is(err, errFull) {
			p.end = p.filter.keys.latest + 1
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unreadable says that a batch's records cannot be read, whatever the disk does.
func unreadable(h *record.Header, err error) error {
	if errors.Is(err, errFull) {
		return err
	}
	return fmt.Errorf("%w: batch %d: %w", commitlog.ErrCorrupt, h.BaseOffset, err)
}

func (p *Pass) learnBatch(txns *transactions, h record.Header, batch []byte) error {
	keys, dirty := p.filter.keys, event.Offset(h.LastOffset()) >= p.FirstDirty
	skip := h.Attributes.Control()
	if skip {
		if _, _, err := txns.control(&h, batch); err != nil {
			return unreadable(&h, err)
		}
	} else {
		skip = txns.data(&h)
	}
	if !dirty {
		return nil
	}
	if !skip {
		err := record.EachRecord(batch, inflatedMax, func(r record.Record) error {
			offset := event.Offset(h.BaseOffset + int64(r.OffsetDelta))
			if offset < p.FirstDirty || r.Key == nil || keys.learn(r.Key, offset) {
				return nil
			}
			return errFull
		})
		if err != nil {
			return unreadable(&h, err)
		}
	}
	keys.latest = event.Offset(h.LastOffset())
	return nil
}

// rewriteGroups rewrites the segments that the pass reaches, as many at a time as one segment holds.
func (p *Pass) rewriteGroups() error {
	sources := p.rewrite.Sources
	for first := 0; first < len(sources) && sources[first].BaseOffset < p.end; {
		count := p.groupAt(first)
		if err := p.rewriteGroup(first, count); err != nil {
			return err
		}
		first += count
	}
	return nil
}

// groupAt says how many segments from one on fit into one: by bytes, by entries of each index, and
// by offsets that an index can hold (Kafka's groupSegmentsBySize).
func (p *Pass) groupAt(first int) int {
	sources := p.rewrite.Sources
	head := &sources[first]
	bytes, offsets, times := head.Bytes, head.OffsetIndexBytes, head.TimeIndexBytes
	count := 1
	for _, s := range sources[first+1:] {
		bytes += s.Bytes
		offsets += s.OffsetIndexBytes
		times += s.TimeIndexBytes
		if s.BaseOffset >= p.end || bytes > p.settings.SegmentBytes ||
			offsets > p.settings.IndexBytes || times > p.settings.IndexBytes ||
			s.NextOffset-1-head.BaseOffset > math.MaxInt32 {
			break
		}
		count++
	}
	return count
}

// rewriteGroup writes the successor of some segments. Its last batch always stays, if need be
// empty: so it ends where its originals did, which recovery relies on.
func (p *Pass) rewriteGroup(first, count int) error {
	out, err := p.rewrite.Create(first, count)
	if err != nil {
		return err
	}
	p.outputs = append(p.outputs, out)
	before, after := p.filter.counts.before, p.filter.counts.after
	p.notes.begin(out.Facts.BaseOffset)
	var last record.Header
	lastStays := true // where there was none
	for i := first; i < first+count; i++ {
		err := p.rewrite.Sources[i].EachBatch(func(h record.Header, batch []byte) error {
			k, err := p.filter.batch(h, batch)
			last, lastStays = h, k.batch != nil
			if err != nil || k.batch == nil {
				return err
			}
			p.notes.keep(&k)
			if k.abort != nil {
				out.AppendAborted(*k.abort)
			}
			return out.Append(k.header, k.batch)
		})
		if err != nil {
			return err
		}
	}
	if !lastStays {
		h, batch, err := emptied(last)
		if err == nil {
			err = out.Append(h, batch)
		}
		if err != nil {
			return err
		}
	}
	out.Facts.RecordsBefore = p.filter.counts.before - before
	out.Facts.Records = p.filter.counts.after - after
	out.Facts.Holes = p.notes.holesText(out.Facts.NextOffset)
	return out.Finish()
}
