// Package event is the vocabulary of facts: one struct a kind of fact, one catalogue row each, and
// the fixed-size form in which the engine records them. It imports nothing of ours and knows
// nothing of how facts come about or are shown. Nodes call Emit right after a change; package
// viz and its children read what was emitted.
//
//go:generate go run highwater/cluster/event/generate
package event
