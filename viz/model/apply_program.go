package model

import (
	"cmp"
	"slices"

	"highwater/cluster/event"
)

// Program returns a built-in producer or consumer by its node, nil when it is not known.
func (s *State) Program(node event.NodeID) *Program {
	at, found := slices.BinarySearchFunc(s.Programs, node, func(p *Program, id event.NodeID) int {
		return cmp.Compare(p.Node, id)
	})
	if !found {
		return nil
	}
	return s.Programs[at]
}

// applyProgram folds the kinds of built-in producers and consumers.
func (s *State) applyProgram(c *event.Chunk, r *event.Record) {
	if r.Kind == event.KindClientStarted {
		s.programStarted(r.Node, c.ClientStarted(r))
		return
	}
	p := s.Program(r.Node)
	if p == nil {
		s.NotKept.Programs++
		return
	}
	switch r.Kind {
	case event.KindRecordsBuffered, event.KindBatchDrained, event.KindBatchRequeued,
		event.KindBatchBelieved, event.KindRecordsNotBuffered:
		s.applyBatch(p, c, r)
	case event.KindSendBlocked:
		p.Blocked = c.SendBlocked(r).What
	case event.KindSendUnblocked:
		p.Blocked = ""
	case event.KindProducerIDChanged:
		e := c.ProducerIDChanged(r)
		p.ProducerID, p.ProducerEpoch = e.ProducerID, e.ProducerEpoch
	case event.KindClientTransactionChanged:
		p.Transaction = c.ClientTransactionChanged(r).After
	case event.KindMembershipChanged:
		e := c.MembershipChanged(r)
		p.Member, p.Generation, p.State = e.Member, e.Generation, e.State
	case event.KindCommitFailed:
		p.fail(r.At, c.CommitFailed(r).Reason)
	default:
		s.applyBookmark(p, c, r)
	}
}

func (s *State) programStarted(node event.NodeID, e event.ClientStarted) {
	p := s.Program(node)
	if p == nil {
		if len(s.Programs) >= programsMax {
			s.NotKept.Programs++
			return
		}
		p = &Program{Node: node}
		s.Programs = insertSorted(s.Programs, p, func(a, b *Program) int {
			return cmp.Compare(a.Node, b.Node)
		})
	}
	kept := p.keptFor(e)
	*p = Program{Node: node, Name: e.Name, Role: e.Role, Group: e.Group, Settings: e.Settings,
		Alive: true, BufferMemory: e.BufferMemory, ProducerID: -1, ProducerEpoch: -1,
		Generation: -1, Batches: []OwnBatch{}, Partitions: kept}
}

// keptFor is what outlives a client that is started again: what its group committed, and what it was
// given before, which tells what became of records though it knows nothing of it any more.
func (p *Program) keptFor(e event.ClientStarted) []OwnPartition {
	kept := []OwnPartition{}
	if p.Role != e.Role || p.Name != e.Name {
		return kept
	}
	for _, old := range p.Partitions {
		own := blankPart(old.Topic, old.Partition)
		own.Former = readMore(old.Former, old.Read)
		if e.Group != "" && e.Group == p.Group {
			own.Committed = old.Committed
		}
		if len(own.Former) > 0 || own.Committed >= 0 {
			kept = append(kept, own)
		}
	}
	return kept
}

// forgetOffsets lets go of what clients have of a topic whose name another topic has now. A consumer
// keeps its position, from which it reads on; what lies before it was not of this topic.
func (s *State) forgetOffsets(topic string) {
	for _, p := range s.Programs {
		for i := range p.Partitions {
			own := &p.Partitions[i]
			if own.Topic == topic {
				own.Acknowledged, own.Committed, own.Began = -1, -1, own.Position
				own.Read, own.Former = []Run{}, []Run{}
			}
		}
	}
}

// readBelow takes from what clients read what a leader's log lacks: the records that come there are
// others, and who is beyond them begins there.
func (s *State) readBelow(of *Partition, end event.Offset) {
	for _, p := range s.Programs {
		for i := range p.Partitions {
			own := &p.Partitions[i]
			if own.Topic == of.Topic && own.Partition == of.Index {
				own.Former = runsBelow(own.Former, end)
				own.Read = runsBelow(own.Read, end)
				if own.Position > end {
					own.Began = own.Position
				}
			}
		}
	}
}

// end is what the end of an incarnation takes. What it believed for good stays to be looked at.
func (p *Program) end() {
	p.Alive, p.Memory, p.Blocked, p.Transaction = false, 0, "", ""
	p.Pending, p.Sent, p.Unkept, p.Batches = 0, 0, 0, []OwnBatch{}
	p.Member, p.Generation, p.State = "", -1, ""
	for i := range p.Partitions {
		own := &p.Partitions[i]
		own.Former = readMore(own.Former, own.Read)
		own.Assigned, own.Began, own.Position, own.Read = false, -1, -1, []Run{}
	}
}

func (p *Program) fail(at int64, reason string) { p.LastError, p.LastErrorAt = reason, at }

func (s *State) applyBatch(p *Program, c *event.Chunk, r *event.Record) {
	switch r.Kind {
	case event.KindRecordsBuffered:
		e := c.RecordsBuffered(r)
		p.Memory = e.Memory
		p.Pending += int64(e.Added)
		if b := p.batch(e.Batch, e.Topic, e.Partition); b != nil {
			b.Records, b.Bytes = e.Records, e.Bytes
		}
	case event.KindRecordsNotBuffered:
		e := c.RecordsNotBuffered(r)
		p.Failed += int64(e.Records)
		p.fail(r.At, e.Reason)
	case event.KindBatchDrained:
		e := c.BatchDrained(r)
		if e.Attempt == 1 {
			p.Pending -= int64(e.Records)
			p.Sent += int64(e.Records)
		}
		if b := p.batch(e.Batch, e.Topic, e.Partition); b != nil {
			b.State, b.To, b.Attempt, b.Sequence = "sent", e.To, e.Attempt, e.Sequence
			b.Records, b.Bytes = e.Records, e.Bytes
		}
	case event.KindBatchRequeued:
		e := c.BatchRequeued(r)
		p.fail(r.At, e.Reason)
		if b := p.batch(e.Batch, e.Topic, e.Partition); b != nil {
			b.State, b.Uncertain = "waiting to be sent again", e.Uncertain
		}
	case event.KindBatchBelieved:
		s.believed(p, r.At, c.BatchBelieved(r))
	}
}

// batch finds a batch of a producer or makes room for it; nil when there is none left.
func (p *Program) batch(id int64, topic string, partition int32) *OwnBatch {
	at, found := slices.BinarySearchFunc(p.Batches, id, func(b OwnBatch, id int64) int {
		return cmp.Compare(b.ID, id)
	})
	if !found {
		if len(p.Batches) >= ownBatchesMax {
			p.Unkept++
			return nil
		}
		p.Batches = slices.Insert(p.Batches, at, OwnBatch{ID: id, Topic: topic,
			Partition: partition, State: "buffered", To: event.NoNode, Sequence: -1})
	}
	return &p.Batches[at]
}

func (s *State) believed(p *Program, at int64, e event.BatchBelieved) {
	p.Memory = e.Memory
	sent := true
	p.Batches = slices.DeleteFunc(p.Batches, func(b OwnBatch) bool {
		if b.ID == e.Batch {
			sent = b.Attempt > 0
		}
		return b.ID == e.Batch
	})
	if sent {
		p.Sent -= int64(e.Records)
	} else {
		p.Pending -= int64(e.Records)
	}
	switch e.Belief {
	case "acknowledged":
		p.Acknowledged += int64(e.Records)
		if part := s.part(p, e.Topic, e.Partition); part != nil && e.BaseOffset >= 0 {
			part.Acknowledged = max(part.Acknowledged, e.BaseOffset+event.Offset(e.Records)-1)
		}
		return
	case "failed":
		p.Failed += int64(e.Records)
	default:
		p.Unknown += int64(e.Records)
	}
	p.fail(at, e.Reason)
}

// applyBookmark folds what happens to a consumer's partitions.
func (s *State) applyBookmark(p *Program, c *event.Chunk, r *event.Record) {
	switch r.Kind {
	case event.KindPartitionAssigned:
		e := c.PartitionAssigned(r)
		if part := s.part(p, e.Topic, e.Partition); part != nil {
			part.Assigned = true
		}
	case event.KindPartitionRevoked:
		e := c.PartitionRevoked(r)
		if part := s.part(p, e.Topic, e.Partition); part != nil {
			part.Assigned = false
		}
	case event.KindPositionMoved:
		e := c.PositionMoved(r)
		if part := s.part(p, e.Topic, e.Partition); part != nil {
			part.Began, part.Position = e.After, e.After
			if e.Reason == "committed" { // what the coordinator answered is what the group committed
				part.Committed = e.After
			}
		}
	case event.KindRecordsPolled:
		e := c.RecordsPolled(r)
		p.Polled += int64(e.Records)
		s.readOld(p, e)
		if part := s.part(p, e.Topic, e.Partition); part != nil {
			part.Position = e.After
			part.Read = readMore(part.Read, ParseRuns(e.Offsets))
		}
	case event.KindPositionCommitted:
		e := c.PositionCommitted(r)
		if part := s.part(p, e.Topic, e.Partition); part != nil {
			part.Committed = e.Offset
		}
	}
}

// applyOffset has the members of a group, and who was one, know what the group has committed:
// whoever committed it, also with a transaction.
func (s *State) applyOffset(e event.OffsetCommitted) {
	for _, p := range s.Programs {
		for i := range p.Partitions {
			part := &p.Partitions[i]
			if p.Group == e.Group && part.Topic == e.Topic && part.Partition == e.Partition {
				part.Committed = e.Offset
			}
		}
	}
}

// part finds a partition of a client or makes room for it; nil when there is none left.
func (s *State) part(p *Program, topic string, index int32) *OwnPartition {
	key := blankPart(topic, index)
	at, found := slices.BinarySearchFunc(p.Partitions, key, func(a, b OwnPartition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	if !found {
		if len(p.Partitions) >= ownPartsMax {
			s.NotKept.Programs++
			return nil
		}
		p.Partitions = slices.Insert(p.Partitions, at, key)
	}
	return &p.Partitions[at]
}

func blankPart(topic string, index int32) OwnPartition {
	return OwnPartition{Topic: topic, Partition: index, Acknowledged: -1, Began: -1, Position: -1,
		Committed: -1, Read: []Run{}, Former: []Run{}}
}
