package model

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"highwater/cluster/event"
)

// applyMetadata folds the quorum, what the metadata log says, and the recorder's own fact.
func (s *State) applyMetadata(c *event.Chunk, r *event.Record) {
	switch r.Kind {
	case event.KindBrokerRegistered, event.KindBrokerFenced, event.KindBrokerUnfenced,
		event.KindBrokerInControlledShutdown:
		s.applyBroker(c, r)
	case event.KindTopicCreated:
		e := c.TopicCreated(r)
		t := s.topic(e.Topic)
		if t.TopicID != e.TopicID {
			t.forgetCommitted()
			s.forgetOffsets(e.Topic)
		}
		t.TopicID, t.ReplicationFactor, t.Deleted = e.TopicID, e.ReplicationFactor, false
		t.setMinIsr(e.MinIsr)
	case event.KindTopicDeleted:
		s.dropDeliveries(c.TopicDeleted(r).Topic)
		if t := s.Topic(c.TopicDeleted(r).Topic); t != nil {
			t.Deleted = true
			for _, p := range t.Partitions {
				p.Known, p.Leader = false, event.NoNode
			}
			s.sweep(t)
		}
	case event.KindPartitionChanged:
		e := c.PartitionChanged(r)
		if p := s.partition(e.Topic, e.Partition); p != nil {
			p.Known, p.Leader, p.LeaderEpoch = true, e.Leader, e.LeaderEpoch
			p.PartitionEpoch, p.Recovering = e.PartitionEpoch, e.Recovering
			p.Replicas, p.Isr = copied(e.Replicas), copied(e.Isr)
			p.Elr, p.LastKnownElr = copied(e.Elr), copied(e.LastKnownElr)
		}
	case event.KindConfigChanged:
		s.configChanged(c.ConfigChanged(r))
	case event.KindRecordingTruncated:
		e := c.RecordingTruncated(r)
		s.Recording = Recording{Dropped: e.Events, From: e.From}
	case event.KindProducerIDsAllocated:
		// A broker's block of ids is nothing that the page draws; the event list tells it.
	default:
		if r.Kind == event.KindMetadataCommitted {
			s.Metadata.HighWatermark = c.MetadataCommitted(r).HighWatermark
		}
		if n := s.node(r.Node); n != nil {
			n.applyQuorum(c, r)
		}
	}
}

func (n *Node) applyQuorum(c *event.Chunk, r *event.Record) {
	switch r.Kind {
	case event.KindVoteStored:
		e := c.VoteStored(r)
		n.VotedFor, n.VoteTerm = e.Candidate, e.Term
	case event.KindControllerStateChanged:
		e := c.ControllerStateChanged(r)
		n.State, n.Term, n.Leader = e.State, e.Term, e.Leader
	case event.KindMetadataStored:
		n.MetadataStored = c.MetadataStored(r).LogEndOffset
	case event.KindMetadataCommitted:
		n.MetadataCommitted = c.MetadataCommitted(r).HighWatermark
	case event.KindMetadataReplayed:
		e := c.MetadataReplayed(r)
		n.MetadataOffset, n.MetadataLeader = e.Offset, e.Leader
	}
}

// applyBroker folds the facts about a broker; whoever replays the metadata log states them.
func (s *State) applyBroker(c *event.Chunk, r *event.Record) {
	n := s.node(event.NodeID(r.Values[0])) // the broker is the first field of all four kinds
	if n == nil {
		return
	}
	switch r.Kind {
	case event.KindBrokerRegistered:
		e := c.BrokerRegistered(r)
		n.Registered, n.Fenced, n.ControlledShutdown = true, e.Fenced, false
		n.BrokerEpoch = e.BrokerEpoch
	case event.KindBrokerFenced:
		n.Fenced = true
	case event.KindBrokerUnfenced:
		n.Fenced = false
	case event.KindBrokerInControlledShutdown:
		n.ControlledShutdown = true
	}
}

// forgetCommitted begins a topic that has the name of a former one, of which a broker that was down
// may still hold replicas.
func (t *Topic) forgetCommitted() {
	for _, p := range t.Partitions {
		p.Committed = []Committed{}
	}
}

func (t *Topic) setMinIsr(minIsr int32) {
	t.MinIsr = minIsr
	for _, p := range t.Partitions {
		p.MinIsr = minIsr
	}
}

func (s *State) configChanged(e event.ConfigChanged) {
	config := Config{ResourceType: e.ResourceType, Resource: e.Resource, Name: e.Name, Value: e.Value}
	at, found := slices.BinarySearchFunc(s.Configs, config, func(a, b Config) int {
		return cmp.Or(cmp.Compare(a.ResourceType, b.ResourceType),
			cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Name, b.Name))
	})
	switch {
	case found && e.Removed:
		s.Configs = slices.Delete(s.Configs, at, at+1)
	case found:
		s.Configs[at] = config
	case !e.Removed && len(s.Configs) >= configsMax:
		s.NotKept.Configs++
	case !e.Removed:
		s.Configs = slices.Insert(s.Configs, at, config)
	}
	if e.Removed || e.Name != "min.insync.replicas" || !strings.EqualFold(e.ResourceType, "topic") {
		return
	}
	minIsr, err := strconv.ParseUint(e.Value, 10, 31)
	if t := s.Topic(e.Resource); t != nil && err == nil {
		t.setMinIsr(int32(minIsr))
	}
}
