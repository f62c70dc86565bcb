package client

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

func keys(topic string, partitions ...int32) []topicPartition {
	var list []topicPartition
	for _, p := range partitions {
		list = append(list, topicPartition{topic, p})
	}
	return list
}

func TestRangeGivesTheFirstMembersOneMore(t *testing.T) {
	group := []subscriber{{id: "a", topics: []string{"t", "u"}}, {id: "b", topics: []string{"t"}},
		{id: "c", topics: []string{"t"}}}
	got := divide(assignorRange, group, map[string]int32{"t": 7, "u": 2})
	want := [][]topicPartition{append(keys("t", 0, 1, 2), keys("u", 0, 1)...), keys("t", 3, 4),
		keys("t", 5, 6)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCooperativeTakesNothingThatIsStillOwned(t *testing.T) {
	topics, counts := []string{"t"}, map[string]int32{"t": 4}
	group := []subscriber{{id: "a", topics: topics, owned: keys("t", 0, 1, 2, 3), generation: 1},
		{id: "b", topics: topics, generation: -1}}
	first := divide(assignorCooperative, group, counts)
	if !reflect.DeepEqual(first, [][]topicPartition{keys("t", 0, 1), {}}) &&
		len(first[1]) != 0 {
		t.Errorf("first %v: b gets what a still owns", first)
	}
	group[0].owned = first[0]
	second := divide(assignorCooperative, group, counts)
	want := [][]topicPartition{keys("t", 0, 1), keys("t", 2, 3)}
	if !reflect.DeepEqual(second, want) {
		t.Errorf("second %v, want %v", second, want)
	}
}

// TestStickySharesAreLevelAndComplete throws groups and looks at what must always hold.
func TestStickySharesAreLevelAndComplete(t *testing.T) {
	for seed := range uint64(300) {
		dice := rand.New(rand.NewPCG(seed, 3))
		counts := map[string]int32{"t": 1 + dice.Int32N(9), "u": 1 + dice.Int32N(9)}
		group := make([]subscriber, 1+dice.IntN(5))
		for i := range group {
			group[i] = subscriber{id: fmt.Sprint(i), topics: []string{"t", "u"},
				generation: dice.Int32N(3)}
			for range dice.IntN(6) {
				key := topicPartition{[]string{"t", "u", "gone"}[dice.IntN(3)], dice.Int32N(12)}
				group[i].owned = append(group[i].owned, key)
			}
		}
		owned := map[topicPartition]int{}
		least, most := 1000, 0
		for _, list := range divideSticky(group, counts) {
			least, most = min(least, len(list)), max(most, len(list))
			for _, key := range list {
				owned[key]++
			}
		}
		if most-least > 1 || len(owned) != int(counts["t"]+counts["u"]) {
			t.Fatalf("seed %d: shares from %d to %d, %d partitions", seed, least, most, len(owned))
		}
		for key, times := range owned {
			if times != 1 {
				t.Fatalf("seed %d: %v has %d owners", seed, key, times)
			}
		}
	}
}

func TestSequencesGoOnFromZeroAfterTheLargest(t *testing.T) {
	if got := advanced(1<<31-2, 3); got != 1 {
		t.Errorf("2^31-2 and three more is %d", got)
	}
	if got := advanced(1, -3); got != 1<<31-2 {
		t.Errorf("1 and three less is %d", got)
	}
}
