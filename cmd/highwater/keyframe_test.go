package main

import (
	"context"
	"testing"

	"highwater/cluster/event"
	"highwater/scenarios"
	"highwater/viz/audit"
	"highwater/viz/model"
)

// keptTurns is a sink that keeps every turn's events.
type keptTurns struct{ turns []*event.Chunk }

func (k *keptTurns) Publish(full *event.Chunk) *event.Chunk {
	k.turns = append(k.turns, full)
	return &event.Chunk{}
}

// judgeFrom gives what the referee says of the turns from one on, when it is told the state before
// them as a trace file tells it.
func (k *keptTurns) judgeFrom(t *testing.T, first int) []audit.Violation {
	t.Helper()
	before := model.New()
	for _, turn := range k.turns[:first] {
		before.ApplyChunk(turn)
	}
	read, err := model.Restore(before.AppendJSON(nil))
	if err != nil {
		t.Fatal(err)
	}
	referee := audit.New()
	referee.Begin(read)
	for _, turn := range k.turns[first:] {
		referee.Chunk(turn)
	}
	return referee.Violations()
}

func TestTraceThatLacksItsBeginningIsJudgedFromItsFirstState(t *testing.T) {
	for _, name := range []string{"kill-leader", "leader-epochs", "power-loss", "pause-zombie"} {
		s, err := scenarios.Library(name)
		if err != nil {
			t.Fatal(err)
		}
		kept := &keptTurns{}
		options := scenarios.Options{Events: kept}
		if _, err := scenarios.Play(context.Background(), s, options); err != nil {
			t.Fatal(err)
		}
		const cuts = 40
		for i := 1; i < cuts; i++ {
			first := i * len(kept.turns) / cuts
			for _, v := range kept.judgeFrom(t, first) {
				t.Errorf("%s from turn %d of %d: %v", name, first, len(kept.turns), v)
			}
		}
	}
}
