package model

import (
	"slices"
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
	p.Given = newestRuns(p.Given, old)
	if reader.ReadsCommitted() {
		p.Assured = newestRuns(p.Assured, old)
	}
}

// ReadsCommitted says that a client is a consumer with isolation.level=read_committed.
func (p *Program) ReadsCommitted() bool {
	return strings.Contains(p.Settings, "isolation.level=read_committed")
}

// newestRuns joins runs and lets the lowest of too many go.
func newestRuns(runs, more []Run) []Run {
	all := joined(runs, more)
	return slices.Clone(all[max(0, len(all)-runsMax):])
}

// Tells says whether an offset is among runs.
func Tells(runs []Run, offset event.Offset) bool {
	return slices.ContainsFunc(runs, func(r Run) bool { return r.From <= offset && offset < r.To })
}
