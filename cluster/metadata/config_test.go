package metadata

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"highwater/cluster/event"
)

// The answers are those of a Kafka 4.4 broker.
func TestTopicConfigsAreCheckedAsKafkaChecksThem(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"retention.ms", "-1", ""}, {"retention.ms", " 5 ", ""}, {"retention.ms", "+5", ""},
		{"retention.ms", "abc", "Not a number of type LONG"},
		{"retention.ms", "", "Not a number of type LONG"},
		{"retention.ms", "-2", "Value must be at least -1"},
		{"segment.bytes", "3000000000", "Not a number of type INT"},
		{"segment.bytes", "10", "Value must be at least 1048576"},
		{"min.insync.replicas", "0", "Value must be at least 1"},
		{"max.decompressed.message.bytes", "2147483647", "Value must be no more than 2147483639"},
		{"min.cleanable.dirty.ratio", "0.5", ""},
		{"min.cleanable.dirty.ratio", "2", "Value must be no more than 1"},
		{"min.cleanable.dirty.ratio", "abc", "Not a number of type DOUBLE"},
		{"preallocate", "TRUE", ""},
		{"preallocate", "yes", "Expected value to be either true or false"},
		{"cleanup.policy", " compact , delete ", ""}, {"cleanup.policy", "", ""},
		{"cleanup.policy", "foo", "String must be one of: compact, delete"},
		{"compression.type", "x",
			"String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"},
		{"compression.gzip.level", "-1", ""}, {"compression.gzip.level", "9", ""},
		{"compression.gzip.level", "0", "Value must be between 1 and 9 or equal to -1"},
		{"leader.replication.throttled.replicas", "*", ""},
		{"leader.replication.throttled.replicas", "1:2,0:3", ""},
		{"leader.replication.throttled.replicas", "x", "must be the literal '*'"},
	} {
		err := ValidateTopicConfig(c.key, c.value)
		prefix := fmt.Sprintf("Invalid value %s for configuration %s: ", c.value, c.key)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s=%s: %v", c.key, c.value, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), prefix) ||
			!strings.Contains(err.Error(), c.want)):
			t.Errorf("%s=%s: %v, want %s", c.key, c.value, err, c.want)
		}
	}
	err := ValidateTopicConfig("no.such", "1")
	if err == nil || err.Error() != "Unknown topic config name: no.such" {
		t.Errorf("unknown key: %v", err)
	}
}

func TestCompactionLagsMustNotContradict(t *testing.T) {
	err := ValidateTopicConfigs([]ConfigEntry{{"max.compaction.lag.ms", "50"},
		{"min.compaction.lag.ms", "100"}})
	if err == nil || !strings.Contains(err.Error(), "min.compaction.lag.ms (100) > max") {
		t.Errorf("got %v", err)
	}
	if err := ValidateTopicConfigs([]ConfigEntry{{"min.compaction.lag.ms", "100"}}); err != nil {
		t.Errorf("against the default: %v", err)
	}
	if err := ValidateTopicConfigs([]ConfigEntry{{"segment.ms", "0"}}); err == nil {
		t.Error("a wrong value passed among others")
	}
}

func TestConfigTablesAreSortedAndTheirDefaultsAreValid(t *testing.T) {
	topics, brokers := TopicConfigs(), BrokerConfigs()
	for _, defs := range [][]ConfigDef{topics, brokers} {
		if !slices.IsSortedFunc(defs, func(a, b ConfigDef) int {
			return strings.Compare(a.Name, b.Name)
		}) {
			t.Error("not sorted by name")
		}
		for _, d := range defs {
			if err := d.Validate(d.Default); err != nil && !d.Has(Null) {
				t.Error(err)
			}
		}
	}
	// A described topic has 37 keys in Kafka 4.4; one more is internal.
	if len(topics) != 38 {
		t.Errorf("%d keys of topics", len(topics))
	}
	for _, d := range topics {
		if d.Doc == "" {
			t.Errorf("%s has no documentation", d.Name)
		}
		for _, synonym := range d.Synonyms {
			name, _, _ := strings.Cut(synonym, "*")
			if _, ok := BrokerConfig(name); !ok {
				t.Errorf("%s falls back to %s, which no broker knows", d.Name, name)
			}
		}
	}
	if d, _ := BrokerConfig("ssl.key.password"); !d.Sensitive() || !d.Has(Dynamic) {
		t.Errorf("ssl.key.password is %+v", d)
	}
	if d, _ := BrokerConfig("node.id"); d.Has(Dynamic) {
		t.Error("node.id may change")
	}
	if ValidateBrokerConfig("num.io.threads", "0") == nil ||
		ValidateBrokerConfig("my.plugin", "0") != nil {
		t.Error("broker keys are not checked as Kafka checks them")
	}
}

func TestTopicFallsBackToTheClustersValueThenToTheDefault(t *testing.T) {
	im := threeBrokers(t)
	set := func(resourceType int8, name, key, value string) {
		im = applyAll(t, im, &ConfigRecord{resourceType, name, key, &value})
	}
	ofAll := func(name string) (string, bool) { return im.ConfigValue(ResourceBroker, "", name) }
	check := func(key, want string) {
		t.Helper()
		if got := im.EffectiveTopicConfig("orders", key, ofAll); got != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
	check("segment.ms", "604800000")
	set(ResourceBroker, "", "log.roll.hours", "2")
	check("segment.ms", "7200000")
	set(ResourceBroker, "", "log.roll.ms", "5")
	check("segment.ms", "5")
	set(ResourceTopic, "orders", "segment.ms", "6")
	check("segment.ms", "6")
	set(ResourceTopic, "orders", "segment.ms", " +07\n")
	check("segment.ms", "7")
	set(ResourceTopic, "orders", "cleanup.policy", " compact , delete")
	check("cleanup.policy", "compact,delete")
	set(ResourceTopic, "orders", "preallocate", " TRUE")
	check("preallocate", "true")
	check("min.insync.replicas", "1")
}

func TestTopicNamesFollowKafkasRules(t *testing.T) {
	for _, name := range []string{"a", "A.b_c-9", strings.Repeat("x", 249), "...", "__strange"} {
		if err := ValidateTopicName(name); err != nil {
			t.Error(err)
		}
	}
	tooLong := strings.Repeat("x", 250)
	for _, name := range []string{"", ".", "..", "no spaces", "é", "a/b", tooLong} {
		if ValidateTopicName(name) == nil {
			t.Errorf("%q is accepted", name)
		}
	}
	if !Collides("a.b", "a_b") || !Collides("a", "a") || Collides("a.b", "a-b") {
		t.Error("collisions are wrong")
	}
}

func TestReplicasAreStripedOverBrokers(t *testing.T) {
	for _, c := range []struct {
		brokers                       []event.NodeID
		partitions, replicas, startAt int
		want                          string
	}{
		{nodes(1, 2, 3), 3, 3, 0, "[[1 2 3] [2 3 1] [3 1 2]]"},
		{nodes(1, 2, 3), 2, 2, 2, "[[3 1] [1 2]]"},
		{nodes(1, 2, 3), 6, 2, 0, "[[1 2] [2 3] [3 1] [1 3] [2 1] [3 2]]"},
		{nodes(7), 2, 1, 5, "[[7] [7]]"},
		{nodes(1, 2), 1, 3, 0, "[]"}, {nodes(1, 2), 1, 0, 0, "[]"}, {nil, 1, 1, 0, "[]"},
	} {
		got := AssignReplicas(c.brokers, c.partitions, c.replicas, c.startAt)
		if fmt.Sprint(got) != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

func TestEveryPartitionHasDistinctReplicasAndLeadersAreEven(t *testing.T) {
	brokers := nodes(1, 2, 3, 4, 5)
	leaders := map[event.NodeID]int{}
	for _, replicas := range AssignReplicas(brokers, 50, 4, 3) {
		leaders[replicas[0]]++
		for i, id := range replicas {
			if slices.Contains(replicas[:i], id) {
				t.Errorf("%v holds %d twice", replicas, id)
			}
		}
	}
	for _, id := range brokers {
		if leaders[id] != 10 {
			t.Errorf("broker %d leads %d partitions, want 10", id, leaders[id])
		}
	}
}
