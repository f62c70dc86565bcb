package audit

import (
	"math"

	"highwater/cluster/event"
	"highwater/viz/model"
)

// Begin goes on from the state before a trace's first event, for a trace that lacks the beginning.
// What the state does not tell, such as partition epochs long past or copies beyond what it keeps,
// is believed until an event tells it.
func (a *Auditor) Begin(s *model.State) {
	a.begun = s.Seq
	a.metadata = s.Metadata.HighWatermark
	s.Messages.Each(func(m *model.Message) {
		a.pull.sent(m.ID, wordOf(m.API, m.Answers))
	})
	for _, t := range s.Topics {
		for _, p := range t.Partitions {
			a.beginPartition(t.Name, p)
		}
	}
}

func (a *Auditor) beginPartition(topic string, from *model.Partition) {
	p := a.partition(event.NoNode, topic, from.Index)
	if from.Known {
		p.decided[from.PartitionEpoch], p.since = from.Isr, from.PartitionEpoch
		p.reigns[from.LeaderEpoch] = from.Isr
	}
	for _, l := range from.Logs {
		r := a.replica(topic, from.Index, l.Node)
		r.leads, r.isr, r.proposed = l.Role == "leader", l.Isr, l.Proposed
		r.epoch = l.LeaderEpoch
		r.logEnd, r.highWatermark = l.LogEndOffset, l.HighWatermark
		for _, f := range l.Followers {
			r.fetched[f.Node] = f.Offset
		}
		if r.leads {
			p.committed = max(p.committed, l.HighWatermark)
		}
	}
}

// unknown is the log end of a replica that neither an event nor the first state has told of.
const unknown event.Offset = -1

// blank is a partition and a copy of it that no event has told of yet.
func (a *Auditor) blank() (since int32, logEnd event.Offset) {
	if a.begun > 0 {
		return math.MaxInt32, unknown
	}
	return 0, 0
}
