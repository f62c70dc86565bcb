package commitlog

import (
	"math"
	"sort"

	"highwater/cluster/event"
	"highwater/cluster/record"
)

// tailEntry is one batch kept in memory.
type tailEntry struct {
	buffer     record.Buffer
	base, last event.Offset
	records    int32
	// charge is the memory, in bytes, that goes free with this entry: that of its slab if no later
	// entry shares it.
	charge int64
}

// tail is the log's end in memory, by reference to the buffers that the batches arrived in. An
// entry goes once the file has it, nobody is expected to ask for it, and the bound is passed.
type tail struct {
	entries []tailEntry // entries[:head] are gone
	head    int
	charged int64        // bytes of memory pinned
	bound   int64        // Config.TailBytes
	hold    event.Offset // SetTailHold
}

func newTail(bound int64) tail { return tail{bound: bound, hold: math.MaxInt64} }

// add keeps a batch, taking a reference to its buffer. A slab is charged whole, for that is what
// one batch in it pins; the charge lies on the newest entry of the slab.
func (t *tail) add(buffer record.Buffer, h *record.Header) {
	buffer.Retain()
	charge := int64(len(buffer.Bytes))
	if buffer.Slab != nil {
		charge = int64(len(buffer.Slab.Bytes()))
	}
	n := len(t.entries)
	if n > t.head && buffer.Slab != nil && t.entries[n-1].buffer.Slab == buffer.Slab {
		t.charged -= t.entries[n-1].charge
		t.entries[n-1].charge = 0
	}
	t.charged += charge
	t.entries = append(t.entries, tailEntry{
		buffer, event.Offset(h.BaseOffset), event.Offset(h.LastOffset()), h.RecordsCount, charge,
	})
}

// evict drops the oldest entries while the tail is over its bound. Held entries stay until the
// tail is several times too large: memory is bounded whatever a follower does.
func (t *tail) evict(written event.Offset) {
	for t.charged > t.bound && t.head < len(t.entries) {
		e := &t.entries[t.head]
		held := e.last >= t.hold && t.charged <= t.bound*tailHoldFactor
		if e.last >= written || held {
			break
		}
		t.drop()
	}
	// Moving the rest down once half is gone costs nothing a batch and keeps the memory.
	if t.head > 64 && t.head*2 >= len(t.entries) {
		n := copy(t.entries, t.entries[t.head:])
		clear(t.entries[n:])
		t.entries, t.head = t.entries[:n], 0
	}
}

func (t *tail) drop() {
	e := &t.entries[t.head]
	t.charged -= e.charge
	e.buffer.Release()
	*e = tailEntry{}
	t.head++
}

// release drops every entry that ends at or above the offset.
func (t *tail) release(from event.Offset) {
	n := len(t.entries)
	for n > t.head && t.entries[n-1].last >= from {
		n--
		t.charged -= t.entries[n].charge
		t.entries[n].buffer.Release()
		t.entries[n] = tailEntry{}
	}
	t.entries = t.entries[:n]
	if n > t.head {
		t.recharge(&t.entries[n-1])
	}
}

// recharge puts the slab's charge back on what has become its newest entry.
func (t *tail) recharge(e *tailEntry) {
	if e.charge == 0 && e.buffer.Slab != nil {
		e.charge = int64(len(e.buffer.Slab.Bytes()))
		t.charged += e.charge
	}
}

// find is the index of the first entry that holds the offset or lies above it; false if the tail
// begins above it.
func (t *tail) find(offset event.Offset) (int, bool) {
	if t.head == len(t.entries) || t.entries[t.head].base > offset {
		return 0, false
	}
	kept := t.entries[t.head:]
	i := sort.Search(len(kept), func(i int) bool { return kept[i].last >= offset })
	return t.head + i, t.head+i < len(t.entries)
}

// releaseBelow drops the entries that end below the offset: their segment is gone.
func (t *tail) releaseBelow(offset event.Offset) {
	for t.head < len(t.entries) && t.entries[t.head].last < offset {
		t.drop()
	}
}
