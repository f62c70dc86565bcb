package model

import (
	"cmp"
	"slices"
	"strings"

	"highwater/cluster/event"
)

// applyReplica folds a replica's role, and what it believes of the others. Every kind begins with
// the topic and the partition.
func (s *State) applyReplica(c *event.Chunk, r *event.Record) {
	topic, index := c.Text(r.Values[0]), int32(r.Values[1])
	if r.Kind == event.KindReplicaRemoved {
		s.replicaRemoved(topic, index, r.Node)
		return
	}
	p, l := s.log(topic, index, r.Node)
	if l == nil {
		return
	}
	switch r.Kind {
	case event.KindReplicaFetched:
		e := c.ReplicaFetched(r)
		l.fetched(e.Replica, e.Offset, r.At)
	case event.KindHighWatermarkMoved:
		e := c.HighWatermarkMoved(r)
		l.HighWatermark, l.LastStableOffset = e.After, e.LastStableOffset
		if l.Role == "leader" {
			p.commitBelow(l)
		}
	case event.KindBecameLeader:
		l.becameLeader(p, c.BecameLeader(r))
		s.readBelow(p, l.LogEndOffset)
	case event.KindBecameFollower:
		e := c.BecameFollower(r)
		l.Role, l.Leader, l.LeaderEpoch = "follower", e.Leader, e.LeaderEpoch
		l.LogEndOffset, l.HighWatermark = e.LogEndOffset, e.HighWatermark
		l.LastStableOffset = e.LastStableOffset
		l.Isr, l.Proposed, l.Followers = copied(e.Isr), nil, []Follower{}
	case event.KindIsrChangeProposed:
		l.Proposed = copied(c.IsrChangeProposed(r).Proposed)
	case event.KindIsrChangeRefused:
		l.Proposed = nil
	case event.KindIsrChanged:
		l.Isr, l.Proposed = copied(c.IsrChanged(r).Isr), nil
	}
}

func (l *Log) becameLeader(p *Partition, e event.BecameLeader) {
	l.Role, l.Leader, l.LeaderEpoch = "leader", l.Node, e.LeaderEpoch
	l.HighWatermark, l.LastStableOffset = e.HighWatermark, e.LastStableOffset
	l.Isr, l.Proposed, l.Followers = copied(e.Isr), nil, []Follower{}
	p.MinIsr = e.MinIsr
	p.commitBelow(l)
	if !p.Known {
		p.Leader, p.LeaderEpoch, p.PartitionEpoch = l.Node, e.LeaderEpoch, e.PartitionEpoch
		p.Replicas, p.Isr = copied(e.Replicas), copied(e.Isr)
	}
}

// Committed says that of the records written in an epoch those below To were committed.
type Committed struct {
	Epoch event.Epoch  `json:"epoch"`
	To    event.Offset `json:"to,string"`
}

// commitBelow keeps that what lies below a leader's high watermark is committed, epoch by epoch: an
// offset alone names no record.
func (p *Partition) commitBelow(l *Log) {
	end := l.LogEndOffset
	for _, e := range slices.Backward(l.Epochs) {
		to := min(end, l.HighWatermark)
		end = e.StartOffset
		if to > e.StartOffset && !p.commitTo(e.Epoch, to) {
			return // what is older was committed with this
		}
	}
}

func (p *Partition) commitTo(epoch event.Epoch, to event.Offset) (isNew bool) {
	at, found := slices.BinarySearchFunc(p.Committed, epoch, func(c Committed, e event.Epoch) int {
		return cmp.Compare(c.Epoch, e)
	})
	if !found {
		p.Committed = slices.Insert(p.Committed, at, Committed{Epoch: epoch, To: to})
		p.Committed = newest(p.Committed, epochsMax)
		return true
	}
	isNew = p.Committed[at].To < to
	p.Committed[at].To = max(p.Committed[at].To, to)
	return isNew
}

func (l *Log) fetched(replica event.NodeID, offset event.Offset, at int64) {
	for i := range l.Followers {
		if l.Followers[i].Node == replica {
			l.Followers[i].Offset, l.Followers[i].At = offset, at
			return
		}
	}
	if len(l.Followers) >= logsMax {
		return
	}
	l.Followers = insertSorted(l.Followers, Follower{Node: replica, Offset: offset, At: at},
		func(a, b Follower) int { return cmp.Compare(a.Node, b.Node) })
}

// epochStarted adds a line to the epoch checkpoint, as Kafka's LeaderEpochFileCache does: lines
// that the new one contradicts go.
func (l *Log) epochStarted(epoch event.Epoch, start event.Offset) {
	l.LeaderEpoch = max(l.LeaderEpoch, epoch)
	l.Epochs = slices.DeleteFunc(l.Epochs, func(e Epoch) bool {
		return e.Epoch >= epoch || e.StartOffset >= start
	})
	l.Epochs = newest(append(l.Epochs, Epoch{Epoch: epoch, StartOffset: start}), epochsMax)
}

// openedEpochs reads 0@0,2@17, as the checkpoint has it; what is not of that form says nothing.
func (l *Log) openedEpochs(text string) {
	l.Epochs = l.Epochs[:0]
	for part := range strings.SplitSeq(text, ",") {
		left, right, _ := strings.Cut(part, "@")
		epoch, epochOK := offsetOf(left)
		start, startOK := offsetOf(right)
		if epochOK && startOK && len(left) <= epochDigits {
			l.Epochs = append(l.Epochs, Epoch{Epoch: event.Epoch(epoch), StartOffset: start})
		}
	}
	l.Epochs = newest(l.Epochs, epochsMax)
}

// replicaRemoved forgets a replica, and with the last one of a deleted topic the topic.
func (s *State) replicaRemoved(topic string, index int32, node event.NodeID) {
	p := s.Partition(topic, index)
	if p == nil {
		return
	}
	had := len(p.Logs)
	p.Logs = slices.DeleteFunc(p.Logs, func(l *Log) bool { return l.Node == node })
	s.logCount -= had - len(p.Logs)
	s.sweep(s.Topic(topic))
}

// sweep removes the partitions that no node holds any more and that no topic has.
func (s *State) sweep(t *Topic) {
	t.Partitions = slices.DeleteFunc(t.Partitions, func(p *Partition) bool {
		if len(p.Logs) > 0 || p.Known && !t.Deleted {
			return false
		}
		delete(s.partitions, partitionKey{p.Topic, p.Index})
		return true
	})
	clear(s.recent[:])
	if t.Deleted && len(t.Partitions) == 0 {
		s.Topics = slices.DeleteFunc(s.Topics, func(other *Topic) bool { return other == t })
	}
}
