package model

import (
	"encoding/json"
	"math/bits"
)

// Table holds values by id in the order of their arrival, up to a limit. Values come and go with
// nearly every event, so it keeps its slots and hashes for itself: in a steady state nothing is
// allocated.
type Table[T identified] struct {
	slots   []slot[T]
	buckets []int32 // slot + 1 by hash, 0 is empty; linear probing, at most half full
	free    int32   // first unused slot, chained by next
	first   int32   // oldest
	last    int32   // newest
	length  int
}

// identified is a value that knows the id it is kept under.
type identified interface{ id() int64 }

func (m Message) id() int64 { return m.ID }
func (w Wait) id() int64    { return w.ID }
func (t Timer) id() int64   { return t.ID }

type slot[T any] struct {
	id         int64
	prev, next int32
	value      T
}

const nobody = int32(-1)

// Len is how many values the table holds.
func (t *Table[T]) Len() int { return t.length }

// Each calls f with the values in order of arrival; f must not change the table.
func (t *Table[T]) Each(f func(*T)) {
	if t.length == 0 {
		return
	}
	for i := t.first; i != nobody; i = t.slots[i].next {
		f(&t.slots[i].value)
	}
}

// put makes room for an id as the newest and returns its zeroed value. evicted says that the oldest
// had to go for it.
func (t *Table[T]) put(id int64, limit int) (value *T, evicted bool) {
	t.remove(id)
	if t.length >= limit {
		t.remove(t.slots[t.first].id)
		evicted = true
	}
	if 2*(t.length+1) > len(t.buckets) {
		t.grow()
	}
	i := t.free
	if i == nobody {
		i = int32(len(t.slots))
		t.slots = append(t.slots, slot[T]{})
	} else {
		t.free = t.slots[i].next
	}
	s := &t.slots[i]
	s.id, s.prev, s.next = id, t.last, nobody
	if t.length == 0 {
		t.first, s.prev = i, nobody
	} else {
		t.slots[t.last].next = i
	}
	t.last = i
	t.length++
	b := t.bucket(id)
	for t.buckets[b] != 0 {
		b = t.after(b)
	}
	t.buckets[b] = i + 1
	return &s.value, evicted
}

// remove forgets an id; ok is false when it was not there.
func (t *Table[T]) remove(id int64) (ok bool) {
	if t.length == 0 {
		return false
	}
	b := t.bucket(id)
	for t.buckets[b] == 0 || t.slots[t.buckets[b]-1].id != id {
		if t.buckets[b] == 0 {
			return false
		}
		b = t.after(b)
	}
	i := t.buckets[b] - 1
	t.vacate(b)
	s := &t.slots[i]
	if s.prev == nobody {
		t.first = s.next
	} else {
		t.slots[s.prev].next = s.next
	}
	if s.next == nobody {
		t.last = s.prev
	} else {
		t.slots[s.next].prev = s.prev
	}
	*s = slot[T]{next: t.free}
	t.free = i
	t.length--
	return true
}

// vacate empties a bucket and moves back those behind it that were pushed on by it.
func (t *Table[T]) vacate(hole int) {
	for b := t.after(hole); t.buckets[b] != 0; b = t.after(b) {
		home := t.bucket(t.slots[t.buckets[b]-1].id)
		mask := len(t.buckets) - 1
		if (b-home)&mask >= (b-hole)&mask {
			t.buckets[hole] = t.buckets[b]
			hole = b
		}
	}
	t.buckets[hole] = 0
}

// removeIf forgets every value that f accepts.
func (t *Table[T]) removeIf(f func(*T) bool) {
	if t.length == 0 {
		return
	}
	for i := t.first; i != nobody; {
		s := &t.slots[i]
		next := s.next
		if f(&s.value) {
			t.remove(s.id)
		}
		i = next
	}
}

func (t *Table[T]) bucket(id int64) int {
	hash := uint64(id) * 0x9e3779b97f4a7c15
	return int(hash >> (65 - bits.Len(uint(len(t.buckets)))))
}

func (t *Table[T]) after(b int) int { return (b + 1) & (len(t.buckets) - 1) }

func (t *Table[T]) grow() {
	if len(t.buckets) == 0 {
		t.free, t.first, t.last = nobody, nobody, nobody
	}
	t.buckets = make([]int32, max(16, 2*len(t.buckets)))
	if t.length == 0 {
		return
	}
	for i := t.first; i != nobody; i = t.slots[i].next {
		b := t.bucket(t.slots[i].id)
		for t.buckets[b] != 0 {
			b = t.after(b)
		}
		t.buckets[b] = i + 1
	}
}

func (t *Table[T]) clone() Table[T] {
	c := *t
	c.slots = append([]slot[T](nil), t.slots...)
	c.buckets = append([]int32(nil), t.buckets...)
	return c
}

// MarshalJSON writes the values as an array in order of arrival.
func (t Table[T]) MarshalJSON() ([]byte, error) {
	values := make([]T, 0, t.length)
	t.Each(func(v *T) { values = append(values, *v) })
	return json.Marshal(values)
}

// UnmarshalJSON reads the array back.
func (t *Table[T]) UnmarshalJSON(text []byte) error {
	var values []T
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*t = Table[T]{}
	for _, v := range values {
		kept, _ := t.put(v.id(), len(values))
		*kept = v
	}
	return nil
}
