package metadata

import (
	"fmt"
	"math/rand"
	"reflect"
	"testing"
)

// describe writes changes as one line each.
func describe(changes []Change) (lines []string) {
	value := func(s *string) string {
		if s == nil {
			return "unset"
		}
		return *s
	}
	for _, c := range changes {
		switch c.Kind {
		case FeatureChanged:
			lines = append(lines, fmt.Sprint("feature ", c.Name, " ", value(c.ValueBefore), " ",
				value(c.ValueAfter)))
		case BrokerChanged:
			lines = append(lines, fmt.Sprint("broker ", c.Broker, " ", c.BrokerBefore != nil, " ",
				c.BrokerAfter != nil))
		case TopicDeleted:
			lines = append(lines, "deleted "+c.TopicBefore.Name)
		case TopicCreated:
			lines = append(lines, "created "+c.TopicAfter.Name)
		case PartitionChanged:
			lines = append(lines, fmt.Sprint("partition ", c.TopicAfter.Name, "-",
				c.PartitionAfter.Index, " ", c.PartitionBefore != nil))
		case ConfigChanged:
			lines = append(lines, fmt.Sprint("config ", c.ResourceType, " ", c.Resource, " ",
				c.Name, " ", value(c.ValueBefore), " ", value(c.ValueAfter)))
		}
	}
	return lines
}

func TestChangesNameEveryDifferenceInOrder(t *testing.T) {
	before := threeBrokers(t)
	change := NewPartitionChangeRecord(uuid(2), 1)
	change.Leader = 2
	after := applyAll(t, before, change, partition(2),
		&ConfigRecord{ResourceTopic, "orders", "retention.ms", text("6")},
		&ConfigRecord{ResourceTopic, "orders", "cleanup.policy", nil},
		&ConfigRecord{ResourceTopic, "audit", "segment.ms", text("7")},
		&BrokerRegistrationChangeRecord{BrokerID: 3, BrokerEpoch: 30, Fenced: Fence},
		&RegisterBrokerRecord{BrokerID: 4},
		&UnregisterBrokerRecord{BrokerID: 1, BrokerEpoch: 10},
		&TopicRecord{Name: "audit", TopicID: uuid(9)},
		&PartitionRecord{TopicID: uuid(9)},
		&FeatureLevelRecord{Name: "share.version"},
	)
	want := []string{
		"feature share.version 2 unset",
		"broker 1 true false", "broker 3 true true", "broker 4 false true",
		"created audit", "partition audit-0 false",
		"partition orders-1 true", "partition orders-2 false",
		"config 2 audit segment.ms unset 7",
		"config 2 orders cleanup.policy delete unset", "config 2 orders retention.ms 5 6",
	}
	if got := describe(Changes(before, after)); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := Changes(after, after); got != nil {
		t.Errorf("an image differs from itself: %q", describe(got))
	}
}

func TestTopicCreatedAnewUnderItsNameIsDeletedAndCreated(t *testing.T) {
	before := threeBrokers(t)
	after := applyAll(t, before, &RemoveTopicRecord{TopicID: uuid(2)},
		&TopicRecord{Name: "orders", TopicID: uuid(3)}, &PartitionRecord{TopicID: uuid(3)})
	want := []string{"deleted orders", "created orders", "partition orders-0 false",
		"config 2 orders cleanup.policy delete unset", "config 2 orders retention.ms 5 unset"}
	if got := describe(Changes(before, after)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTreeAgreesWithAMap compares contents and differences with those of plain maps.
func TestTreeAgreesWithAMap(t *testing.T) {
	dice := rand.New(rand.NewSource(1))
	var tr *tree[int]
	plain := map[string]int{}
	for range 200 {
		old, oldPlain := tr, map[string]int{}
		for k, v := range plain {
			oldPlain[k] = v
		}
		for range dice.Intn(20) {
			key := fmt.Sprint("k", dice.Intn(100))
			if dice.Intn(3) == 0 {
				tr = tr.remove(key)
				delete(plain, key)
			} else {
				n := dice.Int()
				tr = tr.put(key, n)
				plain[key] = n
			}
		}
		got, last := map[string]int{}, ""
		tr.each(func(key string, value int) {
			if key <= last {
				t.Fatalf("%s after %s", key, last)
			}
			got[key], last = value, key
		})
		if !reflect.DeepEqual(got, plain) {
			t.Fatalf("the tree holds %v, want %v", got, plain)
		}
		patched := oldPlain
		diff(old, tr, func(before, after *tree[int]) {
			if after == nil {
				delete(patched, before.key)
			} else {
				patched[after.key] = after.value
			}
		})
		if !reflect.DeepEqual(patched, plain) {
			t.Fatalf("old contents and differences give %v, want %v", patched, plain)
		}
	}
}
