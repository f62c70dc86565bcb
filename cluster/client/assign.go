package client

import (
	"cmp"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// subscriber is one member of a group as the leader sees it.
type subscriber struct {
	id         string
	topics     []string
	owned      []topicPartition
	generation int32
}

// subscription is what this member tells the leader.
func (m *membership) subscription() []byte {
	metadata := kmsg.NewConsumerMemberMetadata()
	metadata.Version, metadata.Topics = 2, slices.Sorted(slices.Values(m.c.config.Topics))
	metadata.Generation = m.generation
	for _, p := range m.c.positions {
		if n := len(metadata.OwnedPartitions); n > 0 &&
			metadata.OwnedPartitions[n-1].Topic == p.key.topic {
			last := &metadata.OwnedPartitions[n-1]
			last.Partitions = append(last.Partitions, p.key.partition)
			continue
		}
		owned := kmsg.NewConsumerMemberMetadataOwnedPartition()
		owned.Topic, owned.Partitions = p.key.topic, []int32{p.key.partition}
		metadata.OwnedPartitions = append(metadata.OwnedPartitions, owned)
	}
	return metadata.AppendTo(nil)
}

func subscriberOf(m *kmsg.JoinGroupResponseMember) (s subscriber) {
	s.id, s.generation = m.MemberID, -1
	metadata := kmsg.NewConsumerMemberMetadata()
	if metadata.ReadFrom(m.ProtocolMetadata) != nil {
		return s // somebody who speaks something else gets nothing
	}
	s.topics, s.generation = metadata.Topics, metadata.Generation
	for i := range metadata.OwnedPartitions {
		for _, p := range metadata.OwnedPartitions[i].Partitions {
			s.owned = append(s.owned, topicPartition{metadata.OwnedPartitions[i].Topic, p})
		}
	}
	return s
}

// assign is the leader's work: it learns how many partitions the topics have, and divides them. One
// that was known by its instance id when it came back divides nothing, and looks after the topics'
// sizes from then on all the same (KIP-814).
func (m *membership) assign(members []kmsg.JoinGroupResponseMember, isDivided bool) {
	c, round := m.c, m.round
	group := make([]subscriber, len(members))
	var topics []string
	for i := range members {
		group[i] = subscriberOf(&members[i])
		topics = append(topics, group[i].topics...)
	}
	slices.SortFunc(group, func(a, b subscriber) int { return cmp.Compare(a.id, b.id) })
	slices.Sort(topics)
	topics = slices.Compact(topics)
	o := c.begin(timeMax, func(code int16) { m.failed(round, code) })
	o.attempt = func() {
		if m.round != round {
			return
		}
		o.lookUpAll(topics, func() {
			if m.round != round {
				return
			}
			c.sizes.of(c, topics)
			m.divided = maps.Clone(c.sizes.known)
			if isDivided {
				m.sync(nil)
				return
			}
			m.sync(encodeAssignments(group, divide(m.protocol, group, m.divided)))
		})
	}
	o.attempt()
}

// divide gives each member its partitions, by the strategy that the group agreed on.
func divide(strategy string, group []subscriber, counts map[string]int32) [][]topicPartition {
	if strategy == assignorCooperative {
		return withhold(group, divideSticky(group, counts))
	}
	return divideByRange(group, counts)
}

// divideByRange is Kafka's RangeAssignor: of each topic, every subscriber gets a run of partitions,
// and the first ones get one more.
func divideByRange(group []subscriber, counts map[string]int32) [][]topicPartition {
	out := make([][]topicPartition, len(group))
	for _, name := range sortedTopics(counts) {
		var subscribers []int
		for i := range group {
			if slices.Contains(group[i].topics, name) {
				subscribers = append(subscribers, i)
			}
		}
		next := int32(0)
		for at, i := range subscribers {
			share := counts[name] / int32(len(subscribers))
			if int32(at) < counts[name]%int32(len(subscribers)) {
				share++
			}
			for range share {
				out[i] = append(out[i], topicPartition{name, next})
				next++
			}
		}
	}
	return out
}

func sortedTopics(counts map[string]int32) []string {
	var names []string
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// divideSticky leaves as much as possible where it is and keeps the shares level.
func divideSticky(group []subscriber, counts map[string]int32) [][]topicPartition {
	out := make([][]topicPartition, len(group))
	owner := ownersOf(group)
	var rest []topicPartition
	total := 0
	for _, name := range sortedTopics(counts) {
		for p := range counts[name] {
			rest = append(rest, topicPartition{name, p})
			total++
		}
	}
	if len(group) == 0 {
		return out
	}
	least, larger := total/len(group), total%len(group)
	for i := range group {
		for _, key := range group[i].owned {
			at := slices.Index(rest, key)
			if at < 0 || owner[key] != i || !slices.Contains(group[i].topics, key.topic) {
				continue
			}
			if len(out[i]) == least && larger == 0 || len(out[i]) > least {
				break
			}
			if len(out[i]) == least {
				larger--
			}
			out[i] = append(out[i], key)
			rest = slices.Delete(rest, at, at+1)
		}
	}
	for _, key := range rest {
		best := -1
		for i := range group {
			if slices.Contains(group[i].topics, key.topic) &&
				(best < 0 || len(out[i]) < len(out[best])) {
				best = i
			}
		}
		if best >= 0 {
			out[best] = append(out[best], key)
		}
	}
	return out
}

// ownersOf says who owns what by the members' own word; of two, the one of the newer generation.
func ownersOf(group []subscriber) map[topicPartition]int {
	owner := map[topicPartition]int{}
	for i := range group {
		for _, key := range group[i].owned {
			other, claimed := owner[key]
			if !claimed || group[other].generation < group[i].generation {
				owner[key] = i
			}
		}
	}
	return owner
}

// withhold keeps back what somebody else still owns: it is given out when that one has given it up,
// in the rebalance after this one (KIP-429).
func withhold(group []subscriber, assigned [][]topicPartition) [][]topicPartition {
	owner := ownersOf(group)
	for i := range assigned {
		assigned[i] = slices.DeleteFunc(assigned[i], func(key topicPartition) bool {
			other, owned := owner[key]
			return owned && other != i
		})
	}
	return assigned
}

func encodeAssignments(group []subscriber,
	assigned [][]topicPartition) []kmsg.SyncGroupRequestGroupAssignment {
	list := make([]kmsg.SyncGroupRequestGroupAssignment, len(group))
	for i := range group {
		slices.SortFunc(assigned[i], compareKeys)
		var a kmsg.ConsumerMemberAssignment
		a.Version = 2
		for _, key := range assigned[i] {
			if n := len(a.Topics); n > 0 && a.Topics[n-1].Topic == key.topic {
				a.Topics[n-1].Partitions = append(a.Topics[n-1].Partitions, key.partition)
				continue
			}
			a.Topics = append(a.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: key.topic,
				Partitions: []int32{key.partition}})
		}
		list[i] = kmsg.NewSyncGroupRequestGroupAssignment()
		list[i].MemberID, list[i].MemberAssignment = group[i].id, a.AppendTo(nil)
	}
	return list
}
