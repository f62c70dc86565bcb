package metadata

import (
	"slices"
	"strconv"
	"strings"

	"highwater/cluster/event"
)

// ChangeKind says what a Change is about, and so which of its fields are filled.
type ChangeKind int8

// The kinds of changes, in the order in which Changes returns them.
const (
	// FeatureChanged fills Name, ValueBefore and ValueAfter (levels in decimal).
	FeatureChanged ChangeKind = iota
	// BrokerChanged fills Broker, BrokerBefore (nil: newly registered) and BrokerAfter (nil:
	// unregistered).
	BrokerChanged
	// TopicDeleted fills TopicBefore.
	TopicDeleted
	// TopicCreated fills TopicAfter. A PartitionChanged for each of its partitions follows.
	TopicCreated
	// PartitionChanged fills TopicAfter, PartitionBefore (nil: new) and PartitionAfter.
	PartitionChanged
	// ConfigChanged fills ResourceType, Resource, Name, ValueBefore and ValueAfter (nil: not set).
	ConfigChanged
)

// Change is one difference between two images.
type Change struct {
	Kind            ChangeKind
	Broker          event.NodeID
	BrokerBefore    *Broker
	BrokerAfter     *Broker
	TopicBefore     *Topic
	TopicAfter      *Topic
	PartitionBefore *Partition
	PartitionAfter  *Partition
	ResourceType    int8
	Resource        string
	Name            string
	ValueBefore     *string
	ValueAfter      *string
}

// Changes returns what differs between two images, by kind, then by id or name. What the images
// share is not looked at, so its cost follows the number of changes and not of topics. A topic
// that was deleted and created anew under its name is both.
func Changes(before, after *Image) []Change {
	if before == after {
		return nil
	}
	changes := featureChanges(before.features, after.features)
	changes = append(changes, brokerChanges(before.brokers, after.brokers)...)
	changes = append(changes, topicChanges(before, after)...)
	diff(before.configs, after.configs, func(a, b *tree[[]ConfigEntry]) {
		changes = append(changes, configChanges(a, b)...)
	})
	return changes
}

// mergeSorted walks two lists that are sorted by key, and calls visit once for every key with the
// element of each list, or nil.
func mergeSorted[T any](a, b []T, compare func(x, y *T) int, visit func(a, b *T)) {
	for len(a) > 0 || len(b) > 0 {
		order := 0
		switch {
		case len(a) == 0:
			order = 1
		case len(b) == 0:
			order = -1
		default:
			order = compare(&a[0], &b[0])
		}
		switch {
		case order < 0:
			visit(&a[0], nil)
			a = a[1:]
		case order > 0:
			visit(nil, &b[0])
			b = b[1:]
		default:
			visit(&a[0], &b[0])
			a, b = a[1:], b[1:]
		}
	}
}

func featureChanges(before, after []Feature) (changes []Change) {
	level := func(f *Feature) *string {
		if f == nil {
			return nil
		}
		text := strconv.Itoa(int(f.Level))
		return &text
	}
	byName := func(a, b *Feature) int { return strings.Compare(a.Name, b.Name) }
	mergeSorted(before, after, byName, func(a, b *Feature) {
		if a != nil && b != nil && *a == *b {
			return
		}
		changes = append(changes, Change{
			Kind: FeatureChanged, Name: either(a, b).Name,
			ValueBefore: level(a), ValueAfter: level(b),
		})
	})
	return changes
}

func brokerChanges(before, after []*Broker) (changes []Change) {
	byID := func(a, b **Broker) int { return int((*a).ID) - int((*b).ID) }
	mergeSorted(before, after, byID, func(a, b **Broker) {
		change := Change{Kind: BrokerChanged, Broker: (*either(a, b)).ID}
		if a != nil {
			change.BrokerBefore = *a
		}
		if b != nil {
			change.BrokerAfter = *b
		}
		if change.BrokerBefore != change.BrokerAfter {
			changes = append(changes, change)
		}
	})
	return changes
}

// topicChanges returns deletions before creations, so that a name is free when it is taken again.
func topicChanges(before, after *Image) []Change {
	var deleted, created, changed []Change
	diff(before.topics, after.topics, func(a, b *tree[*Topic]) {
		var old, now *Topic
		if a != nil {
			old = a.value
		}
		if b != nil {
			now = b.value
		}
		if old == now {
			return
		}
		if old != nil && (now == nil || now.ID != old.ID) {
			deleted = append(deleted, Change{Kind: TopicDeleted, TopicBefore: old})
			old = nil
		}
		if now == nil {
			return
		}
		if old == nil {
			created = append(created, Change{Kind: TopicCreated, TopicAfter: now})
			created = append(created, partitionChanges(nil, now)...)
			return
		}
		changed = append(changed, partitionChanges(old.Partitions, now)...)
	})
	return slices.Concat(deleted, created, changed)
}

func partitionChanges(before []*Partition, now *Topic) (changes []Change) {
	byIndex := func(a, b **Partition) int { return int((*a).Index) - int((*b).Index) }
	mergeSorted(before, now.Partitions, byIndex, func(a, b **Partition) {
		// Within one topic id partitions are never taken away, except by images that are
		// compared backwards; then there is nothing to act on.
		if b == nil {
			return
		}
		change := Change{Kind: PartitionChanged, TopicAfter: now, PartitionAfter: *b}
		if a != nil {
			change.PartitionBefore = *a
		}
		if change.PartitionBefore != change.PartitionAfter {
			changes = append(changes, change)
		}
	})
	return changes
}

func configChanges(a, b *tree[[]ConfigEntry]) (changes []Change) {
	resourceType, resource := configResource(either(a, b).key)
	var before, after []ConfigEntry
	if a != nil {
		before = a.value
	}
	if b != nil {
		after = b.value
	}
	value := func(e *ConfigEntry) *string {
		if e == nil {
			return nil
		}
		return &e.Value
	}
	byName := func(a, b *ConfigEntry) int { return strings.Compare(a.Name, b.Name) }
	mergeSorted(before, after, byName, func(a, b *ConfigEntry) {
		if a != nil && b != nil && *a == *b {
			return
		}
		changes = append(changes, Change{
			Kind: ConfigChanged, ResourceType: resourceType, Resource: resource,
			Name: either(a, b).Name, ValueBefore: value(a), ValueAfter: value(b),
		})
	})
	return changes
}

// either returns the first of two pointers, or the second when there is no first.
func either[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}
