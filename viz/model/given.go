package model

import (
	"strings"

	"highwater/cluster/event"
)

// readOld keeps which offsets of before the first event a built-in reader was given, where nothing
// else tells a record from a marker. Who reads with read_committed is given no aborted record either.
func (s *State) readOld(reader *Program, e event.RecordsPolled) {
	p := s.Partition(e.Topic, e.Partition)
	if p == nil {
		return
	}
	l := p.Log(p.Leader)
	if l == nil || l.KnownFrom <= e.Before {
		return
	}
	old := runsBelow(ParseRuns(e.Offsets), l.KnownFrom)
	p.Given = newest(joined(p.Given, old), runsMax)
	if reader.ReadsCommitted() {
		p.Assured = newest(joined(p.Assured, old), runsMax)
	}
}

// ReadsCommitted says that a client is a consumer with isolation.level=read_committed.
func (p *Program) ReadsCommitted() bool {
	return strings.Contains(p.Settings, "isolation.level=read_committed")
}

// WantsNoAnswer says whether a producer sends with acks=0.
func (p *Program) WantsNoAnswer() bool { return strings.Contains(p.Settings, "acks=0") }
