package model

import (
	"cmp"
	"slices"
	"strconv"

	"highwater/cluster/event"
)

// New returns the state before the first event.
func New() *State {
	s := &State{
		Nodes: []*Node{}, Links: []*Link{}, Topics: []*Topic{}, Clients: []*Client{},
		Asks: []Ask{}, Deliveries: []Delivery{}, Programs: []*Program{}, Transactions: []*Transaction{},
		Configs: []Config{}, Metadata: Metadata{HighWatermark: -1},
	}
	s.Counters.Unknown = map[string]int64{}
	s.Counters.Events = make(KindCounts, len(event.Rows())+1)
	s.reindex()
	return s
}

// Apply folds one event of the chunk into the state. It keeps the chunk's texts, never its lists.
func (s *State) Apply(c *event.Chunk, r *event.Record) {
	s.Seq, s.At = r.Seq, r.At
	s.Counters.Total++
	if int(r.Kind) >= len(s.Counters.Events) {
		s.countUnknown("kind " + strconv.Itoa(int(r.Kind)))
		return
	}
	s.Counters.Events[r.Kind]++
	switch {
	case r.Kind <= event.KindWaitEnded:
		s.applyWorld(c, r)
	case r.Kind <= event.KindLogDirFailed:
		s.applyLog(c, r)
	case r.Kind <= event.KindFollowerDiverged:
		s.applyReplica(c, r)
	case r.Kind >= event.KindTransactionStateChanged:
		s.applyTxn(c, r)
	case r.Kind >= event.KindClientStarted:
		s.applyProgram(c, r)
	case r.Kind >= event.KindGroupStateChanged:
		if r.Kind == event.KindOffsetCommitted { // of groups nothing else is kept
			s.applyOffset(c.OffsetCommitted(r))
		}
	default:
		s.applyMetadata(c, r)
	}
}

// ApplyChunk folds all events of a chunk.
func (s *State) ApplyChunk(c *event.Chunk) {
	for i := range c.Records {
		s.Apply(c, &c.Records[i])
	}
}

// ApplyUnknown counts an event of a kind that this version does not know.
func (s *State) ApplyUnknown(seq event.Seq, at int64, kind string) {
	s.Seq, s.At = seq, at
	s.Counters.Total++
	s.countUnknown(kind)
}

func (s *State) countUnknown(kind string) {
	_, counted := s.Counters.Unknown[kind]
	if !counted && len(s.Counters.Unknown) >= unknownKindsMax {
		kind = "others"
	}
	s.Counters.Unknown[kind]++
}

// Node returns a node, nil when it is not known.
func (s *State) Node(id event.NodeID) *Node {
	for _, n := range s.Nodes {
		if n.ID == id {
			return n
		}
	}
	return nil
}

// Partition returns a partition, nil when it is not known.
func (s *State) Partition(topic string, index int32) *Partition {
	recent := &s.recent[(index+int32(len(topic)))&15]
	if p := *recent; p != nil && p.Index == index && p.Topic == topic {
		return p
	}
	p := s.partitions[partitionKey{topic, index}]
	if p != nil {
		*recent = p
	}
	return p
}

// Log returns a node's replica, nil when it has none.
func (p *Partition) Log(node event.NodeID) *Log {
	for _, l := range p.Logs {
		if l.Node == node {
			return l
		}
	}
	return nil
}

// node finds a node or makes room for it; nil when there is none left.
func (s *State) node(id event.NodeID) *Node {
	if n := s.Node(id); n != nil {
		return n
	}
	if len(s.Nodes) >= nodesMax {
		return nil
	}
	n := &Node{ID: id, ClockRatePermille: 1000, Leader: event.NoNode, VotedFor: event.NoNode,
		MetadataStored: -1, MetadataCommitted: -1, MetadataOffset: -1, MetadataLeader: event.NoNode}
	s.Nodes = insertSorted(s.Nodes, n, func(a, b *Node) int { return cmp.Compare(a.ID, b.ID) })
	return n
}

func (s *State) link(from, to event.NodeID) *Link {
	recent := &s.recentLinks[(from*5+to)&15]
	if l := *recent; l != nil && l.From == from && l.To == to {
		return l
	}
	key := linkKey{from, to}
	if l := s.links[key]; l != nil {
		*recent = l
		return l
	}
	if len(s.Links) >= linksMax {
		return nil
	}
	l := &Link{From: from, To: to, Latency: -1}
	s.links[key] = l
	s.Links = insertSorted(s.Links, l, func(a, b *Link) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return l
}

// Topic returns a topic, nil when it is not known.
func (s *State) Topic(name string) *Topic {
	for _, t := range s.Topics {
		if t.Name == name {
			return t
		}
	}
	return nil
}

func (s *State) topic(name string) *Topic {
	t := s.Topic(name)
	if t == nil {
		t = &Topic{Name: name, Partitions: []*Partition{}}
		s.Topics = insertSorted(s.Topics, t, func(a, b *Topic) int {
			return cmp.Compare(a.Name, b.Name)
		})
	}
	return t
}

// partition finds a partition or makes room for it; nil when there is none left.
func (s *State) partition(topic string, index int32) *Partition {
	if p := s.Partition(topic, index); p != nil {
		return p
	}
	if len(s.partitions) >= partitionsMax {
		s.NotKept.Partitions++
		return nil
	}
	t := s.topic(topic)
	p := &Partition{Topic: topic, Index: index, Leader: event.NoNode, MinIsr: t.MinIsr,
		Replicas: noNodes, Isr: noNodes, Elr: noNodes, LastKnownElr: noNodes, Logs: []*Log{},
		Committed: []Committed{}, Given: []Run{}, Assured: []Run{}}
	t.Partitions = insertSorted(t.Partitions, p, func(a, b *Partition) int {
		return cmp.Compare(a.Index, b.Index)
	})
	s.partitions[partitionKey{topic, index}] = p
	return p
}

// noNodes is the list that is written as [] and not as null; nobody appends to it.
var noNodes = []event.NodeID{}

// log finds a node's replica or makes room for it; nil when there is none left.
func (s *State) log(topic string, index int32, node event.NodeID) (*Partition, *Log) {
	p := s.partition(topic, index)
	if p == nil {
		return nil, nil
	}
	if l := p.Log(node); l != nil {
		return p, l
	}
	if len(p.Logs) >= logsMax {
		s.NotKept.Partitions++
		return nil, nil
	}
	s.logCount++
	l := &Log{Node: node, Leader: event.NoNode, Isr: noNodes, Followers: []Follower{},
		Epochs: []Epoch{}, Segments: Offsets{}, Cut: []Batch{}, SyncedOffset: -1,
		Holes: []Run{}, Transactions: []LogTransaction{}}
	p.Logs = insertSorted(p.Logs, l, func(a, b *Log) int { return cmp.Compare(a.Node, b.Node) })
	return p, l
}

// batchLimit is how many batches a log shows; it shrinks as the logs grow in number.
func (s *State) batchLimit() int {
	return min(batchesMax, max(batchesMin, batchesTotal/max(1, s.logCount)))
}

// recordLimit is how many described records a partition shows.
func (s *State) recordLimit() int {
	return min(recordsMax, max(recordsMin, recordsTotal/max(1, len(s.partitions))))
}

func insertSorted[T any](list []T, v T, compare func(a, b T) int) []T {
	at, _ := slices.BinarySearchFunc(list, v, compare)
	return slices.Insert(list, at, v)
}

// copied is a list of nodes of the state's own, never nil.
func copied(ids []event.NodeID) []event.NodeID {
	if len(ids) == 0 {
		return noNodes
	}
	return slices.Clone(ids)
}
