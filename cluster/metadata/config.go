package metadata

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ConfigType is the type of a configuration value, in the numbers of DescribeConfigs.
type ConfigType int8

// The types of configuration values.
const (
	Boolean  ConfigType = 1
	String   ConfigType = 2
	Int      ConfigType = 3
	Short    ConfigType = 4
	Long     ConfigType = 5
	Double   ConfigType = 6
	List     ConfigType = 7
	Class    ConfigType = 8
	Password ConfigType = 9
)

// ConfigTraits are yes-or-no facts about a configuration key.
type ConfigTraits uint8

const (
	// Dynamic keys of brokers may change while the broker runs; the others are read-only. Every
	// key of a topic may change.
	Dynamic ConfigTraits = 1 << iota
	// Null keys have no default: their value is null until one is set.
	Null
	// Internal keys may be set but are not described.
	Internal
)

// ConfigDef is what is known about one configuration key.
type ConfigDef struct {
	Name    string
	Type    ConfigType
	Default string
	// Valid says which values are allowed: "" any of the type, "1.." and "1..9" a range, "a|b"
	// one of several (in a List: only those); see allows.
	Valid  string
	Traits ConfigTraits
	// Doc is one sentence for people. Keys of brokers have none.
	Doc string
	// Synonyms are the broker keys that a topic falls back to, first the strongest. Those whose
	// unit is not milliseconds carry a factor: "log.retention.hours*3600000".
	Synonyms []string
}

// Sensitive says whether the value must not be shown.
func (d *ConfigDef) Sensitive() bool { return d.Type == Password }

// Has says whether the key has the trait.
func (d *ConfigDef) Has(trait ConfigTraits) bool { return d.Traits&trait != 0 }

// TopicConfigs returns every key of a topic, by name.
func TopicConfigs() []ConfigDef { return slices.Clone(topicConfigs) }

// BrokerConfigs returns every key of a broker, by name.
func BrokerConfigs() []ConfigDef { return slices.Concat(brokerConfigsAtoK, brokerConfigsLtoZ) }

// TopicConfig returns what is known of a key of a topic.
func TopicConfig(key string) (ConfigDef, bool) { return findConfig(topicConfigs, key) }

// BrokerConfig returns what is known of a key of a broker.
func BrokerConfig(key string) (ConfigDef, bool) {
	if d, ok := findConfig(brokerConfigsAtoK, key); ok {
		return d, true
	}
	return findConfig(brokerConfigsLtoZ, key)
}

func findConfig(defs []ConfigDef, key string) (ConfigDef, bool) {
	at, ok := slices.BinarySearchFunc(defs, key, func(d ConfigDef, key string) int {
		return strings.Compare(d.Name, key)
	})
	if !ok {
		return ConfigDef{}, false
	}
	return defs[at], true
}

// ValidateTopicConfig says why a value cannot be set for a topic, in the words Kafka answers with.
func ValidateTopicConfig(key, value string) error {
	d, ok := TopicConfig(key)
	if !ok {
		return fmt.Errorf("Unknown topic config name: %s", key)
	}
	return d.Validate(value)
}

// ValidateTopicConfigs checks all values that a topic has set, each alone and against each other.
func ValidateTopicConfigs(entries []ConfigEntry) error {
	for _, e := range entries {
		if err := ValidateTopicConfig(e.Name, e.Value); err != nil {
			return err
		}
	}
	value := func(key string) (int64, string) {
		d, _ := TopicConfig(key)
		text := d.Default
		for _, e := range entries {
			if e.Name == key {
				text = d.Normal(e.Value)
			}
		}
		n, _ := strconv.ParseInt(text, 10, 64)
		return n, text
	}
	const minLag, maxLag = "min.compaction.lag.ms", "max.compaction.lag.ms"
	smaller, smallerText := value(minLag)
	larger, largerText := value(maxLag)
	if smaller > larger {
		return fmt.Errorf("conflict topic config setting %s (%s) > %s (%s)",
			minLag, smallerText, maxLag, largerText)
	}
	return nil
}

// ValidateBrokerConfig says why a value cannot be set for a broker. Keys that are not known pass,
// as in Kafka: they may belong to a plugin.
func ValidateBrokerConfig(key, value string) error {
	d, ok := BrokerConfig(key)
	if !ok {
		return nil
	}
	return d.Validate(value)
}

// Validate says why a value does not suit the key.
func (d *ConfigDef) Validate(value string) error {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("Invalid value %s for configuration %s: %s",
			value, d.Name, fmt.Sprintf(format, args...))
	}
	text := strings.TrimSpace(value)
	switch d.Type {
	case Boolean:
		if !strings.EqualFold(text, "true") && !strings.EqualFold(text, "false") {
			return invalid("Expected value to be either true or false")
		}
	case Int, Short, Long:
		bits := map[ConfigType]int{Int: 32, Short: 16, Long: 64}[d.Type]
		n, err := strconv.ParseInt(text, 10, bits)
		if err != nil {
			name := map[ConfigType]string{Int: "INT", Short: "SHORT", Long: "LONG"}[d.Type]
			return invalid("Not a number of type %s", name)
		}
		return d.checkRange(float64(n), text, invalid)
	case Double:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) {
			return invalid("Not a number of type DOUBLE")
		}
		return d.checkRange(n, text, invalid)
	case List:
		return d.checkList(text, invalid)
	case String:
		if allowed := d.allows(); len(allowed) > 0 && !slices.Contains(allowed, text) {
			return invalid("String must be one of: %s", strings.Join(allowed, ", "))
		}
	}
	return nil
}

// Normal is a valid value as it is meant: without blanks around it and around the members of a
// list, and with numbers and yes or no in their usual form, as Kafka parses and describes it.
func (d *ConfigDef) Normal(value string) string {
	text := strings.TrimSpace(value)
	switch d.Type {
	case Boolean:
		return strings.ToLower(text)
	case Int, Short, Long:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
	case List:
		members := strings.Split(text, ",")
		for i, member := range members {
			members[i] = strings.TrimSpace(member)
		}
		return strings.Join(members, ",")
	case Password:
		return value
	}
	return text
}

// NormalConfig is ConfigDef.Normal for the value of a resource's key. What is not known stays as it
// is.
func NormalConfig(resourceType int8, key, value string) string {
	d, ok := ConfigDef{}, false
	switch resourceType {
	case ResourceTopic:
		d, ok = TopicConfig(key)
	case ResourceBroker:
		d, ok = BrokerConfig(key)
	}
	if !ok {
		return value
	}
	return d.Normal(value)
}

// allows returns the words that the key allows, or nil when it allows any.
func (d *ConfigDef) allows() []string {
	if d.Valid == "" || strings.Contains(d.Valid, "..") || d.Valid == throttledReplicas {
		return nil
	}
	return strings.Split(d.Valid, "|")
}

// throttledReplicas in ConfigDef.Valid stands for lists of partition:broker, or "*".
const throttledReplicas = "[partition]:[broker]"

// checkRange checks a number against "low..high"; either end may be missing. A single value
// before '|' is allowed besides.
func (d *ConfigDef) checkRange(
	n float64, text string, invalid func(string, ...any) error,
) error {
	if besides, rest, ok := strings.Cut(d.Valid, "|"); ok {
		if text == besides {
			return nil
		}
		low, high, _ := strings.Cut(rest, "..")
		if d.checkBounds(n, low, high, invalid) != nil {
			return invalid("Value must be between %s and %s or equal to %s", low, high, besides)
		}
		return nil
	}
	low, high, _ := strings.Cut(d.Valid, "..")
	return d.checkBounds(n, low, high, invalid)
}

func (d *ConfigDef) checkBounds(
	n float64, low, high string, invalid func(string, ...any) error,
) error {
	if bound, err := strconv.ParseFloat(low, 64); err == nil && n < bound {
		return invalid("Value must be at least %s", low)
	}
	if bound, err := strconv.ParseFloat(high, 64); err == nil && n > bound {
		return invalid("Value must be no more than %s", high)
	}
	return nil
}

// checkList checks the members of a comma-separated list.
func (d *ConfigDef) checkList(text string, invalid func(string, ...any) error) error {
	if text == "" {
		return nil
	}
	members := strings.Split(text, ",")
	allowed := d.allows()
	for i, member := range members {
		members[i] = strings.TrimSpace(member)
		if len(allowed) > 0 && !slices.Contains(allowed, members[i]) {
			return invalid("String must be one of: %s", strings.Join(allowed, ", "))
		}
		if d.Valid == throttledReplicas && text != "*" && !isReplica(members[i]) {
			return invalid("%s must be the literal '*' or a list of replicas in the following "+
				"format: [partitionId]:[brokerId],[partitionId]:[brokerId],...", d.Name)
		}
	}
	return nil
}

// isReplica says whether text is a partition and a broker, such as 0:101.
func isReplica(text string) bool {
	partition, broker, ok := strings.Cut(text, ":")
	_, err1 := strconv.ParseUint(partition, 10, 31)
	_, err2 := strconv.ParseUint(broker, 10, 31)
	return ok && err1 == nil && err2 == nil
}

// EffectiveTopicConfig returns the value that counts for a topic on a node: what was set for the
// topic, else what the broker configurations say that it falls back to, else the default. ofNode
// knows these: what the metadata log says for the node or for all, else its own properties.
func (im *Image) EffectiveTopicConfig(topic, key string,
	ofNode func(name string) (string, bool)) string {
	d, _ := TopicConfig(key)
	if value, ok := im.ConfigValue(ResourceTopic, topic, key); ok {
		return d.Normal(value)
	}
	for _, synonym := range d.Synonyms {
		name, factor, scaled := strings.Cut(synonym, "*")
		value, ok := ofNode(name)
		if ok && scaled {
			return ScaleConfig(value, factor)
		}
		if ok {
			return d.Normal(value)
		}
	}
	return d.Default
}

// ScaleConfig multiplies a number in decimal, such as hours, by the factor of a synonym, into
// milliseconds. Negative numbers mean "no limit" in every unit.
func ScaleConfig(value, factor string) string {
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32)
	by, _ := strconv.ParseInt(factor, 10, 64)
	if err != nil || n < 0 {
		return value
	}
	return strconv.FormatInt(n*by, 10)
}
