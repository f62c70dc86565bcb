package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"highwater/cluster/event"
)

// AppendJSON writes the state as one JSON object. The bytes depend only on the events folded.
func (s *State) AppendJSON(b []byte) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		// Nothing in a State can fail to be written; a field that can is a bug of this package.
		panic(fmt.Sprintf("model: a state that is no JSON: %v", err))
	}
	return append(b, text...)
}

// Restore reads the JSON form back into a state that can be folded on.
func Restore(text []byte) (*State, error) {
	s := New()
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("model: restore a state: %w", err)
	}
	s.reindex()
	return s, nil
}

// reindex builds what is looked up from what is kept.
func (s *State) reindex() {
	s.partitions = map[partitionKey]*Partition{}
	s.links = map[linkKey]*Link{}
	s.clients = map[event.NodeID]*Client{}
	clear(s.recent[:])
	clear(s.recentLinks[:])
	s.logCount = 0
	for _, l := range s.Links {
		s.links[linkKey{l.From, l.To}] = l
	}
	for _, c := range s.Clients {
		s.clients[c.Connection] = c
	}
	for _, t := range s.Topics {
		for _, p := range t.Partitions {
			p.Topic = t.Name
			s.partitions[partitionKey{p.Topic, p.Index}] = p
			s.logCount += len(p.Logs)
		}
	}
}

// Offsets is a list of offsets, in JSON an array of strings.
type Offsets []event.Offset

// MarshalJSON writes the offsets as strings.
func (o Offsets) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, offset := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = strconv.AppendInt(b, int64(offset), 10)
		b = append(b, '"')
	}
	return append(b, ']'), nil
}

// UnmarshalJSON reads them back.
func (o *Offsets) UnmarshalJSON(text []byte) error {
	var words []string
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&words); err != nil {
		return err
	}
	*o = make(Offsets, len(words))
	for i, word := range words {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return fmt.Errorf("model: offset %q is not a number", word)
		}
		(*o)[i] = event.Offset(n)
	}
	return nil
}

// KindCounts counts events by kind. In JSON it is an object of those that occurred.
type KindCounts []int64

// MarshalJSON writes the counts by the kinds' names.
func (k KindCounts) MarshalJSON() ([]byte, error) { return json.Marshal(k.Named()) }

// Named returns the counts of the kinds that occurred by name.
func (k KindCounts) Named() map[string]int64 {
	named := map[string]int64{}
	for kind, n := range k {
		if n != 0 {
			named[event.Kind(kind).String()] = n
		}
	}
	return named
}

// UnmarshalJSON reads the counts back; those of kinds that this version lacks are let go.
func (k *KindCounts) UnmarshalJSON(text []byte) error {
	var named map[string]int64
	if err := json.Unmarshal(text, &named); err != nil {
		return err
	}
	*k = make(KindCounts, len(event.Rows())+1)
	for name, n := range named {
		if kind := event.ParseKind(name); kind != 0 {
			(*k)[kind] = n
		}
	}
	return nil
}

// MarshalJSON writes the counts by API.
func (a APICounts) MarshalJSON() ([]byte, error) {
	named := make(map[string]int64, len(a))
	for _, count := range a {
		named[count.API] = count.Count
	}
	return json.Marshal(named)
}

// UnmarshalJSON reads them back, sorted.
func (a *APICounts) UnmarshalJSON(text []byte) error {
	var named map[string]int64
	if err := json.Unmarshal(text, &named); err != nil {
		return err
	}
	*a = APICounts{}
	for _, api := range slices.Sorted(maps.Keys(named)) {
		*a = append(*a, APICount{API: api, Count: named[api]})
	}
	return nil
}
