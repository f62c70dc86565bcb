package model

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Window holds the newest of many values in order. It keeps twice its limit in memory, so that
// pushing is a copy and now and then a move, never an allocation.
type Window[T any] struct {
	items []T
	start int // items before it have left the window
}

// Items returns what is in the window, oldest first; callers must not change it.
func (w *Window[T]) Items() []T { return w.items[w.start:] }

func (w *Window[T]) push(v T, limit int) {
	w.items = append(w.items, v)
	w.trim(limit)
}

// insert puts v at a position of Items.
func (w *Window[T]) insert(at int, v T, limit int) {
	w.items = append(w.items, v)
	live := w.items[w.start:]
	copy(live[at+1:], live[at:len(live)-1])
	live[at] = v
	w.trim(limit)
}

// trim lets the oldest leave until at most limit are in.
func (w *Window[T]) trim(limit int) {
	w.start = max(w.start, len(w.items)-limit)
	if w.start >= limit {
		n := copy(w.items, w.items[w.start:])
		clear(w.items[n:])
		w.items = w.items[:n]
		w.start = 0
	}
}

// keep removes from the window what f refuses.
func (w *Window[T]) keep(f func(*T) bool) {
	kept := w.items[:w.start]
	for i := w.start; i < len(w.items); i++ {
		if f(&w.items[i]) {
			kept = append(kept, w.items[i])
		}
	}
	clear(w.items[len(kept):])
	w.items = kept
}

func (w *Window[T]) clone() Window[T] {
	return Window[T]{items: append([]T(nil), w.Items()...)}
}

// MarshalJSON writes the window as an array.
func (w Window[T]) MarshalJSON() ([]byte, error) {
	if len(w.Items()) == 0 {
		return []byte("[]"), nil
	}
	return json.Marshal(w.Items())
}

// UnmarshalJSON reads the array back.
func (w *Window[T]) UnmarshalJSON(text []byte) error {
	*w = Window[T]{}
	return json.NewDecoder(bytes.NewReader(text)).Decode(&w.items)
}

// newest keeps the last of a list, so many at most.
func newest[T any](list []T, most int) []T {
	return slices.Delete(list, 0, max(0, len(list)-most))
}
