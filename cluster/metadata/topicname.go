package metadata

import (
	"errors"
	"fmt"
	"strings"
)

// topicNameLengthMax is Kafka's bound: directory names add a partition and a suffix to it.
const topicNameLengthMax = 249

// ValidateTopicName says why a name cannot be a topic's, in the words Kafka answers with.
func ValidateTopicName(name string) error {
	switch {
	case name == "":
		return errors.New("Topic name is invalid: the empty string is not allowed")
	case name == "." || name == "..":
		return fmt.Errorf("Topic name is invalid: '%s' is not allowed", name)
	case len(name) > topicNameLengthMax:
		return fmt.Errorf("Topic name is invalid: the length of '%s' is longer than the max "+
			"allowed length %d", name, topicNameLengthMax)
	}
	for _, char := range name {
		switch {
		case char >= 'a' && char <= 'z', char >= 'A' && char <= 'Z', char >= '0' && char <= '9':
		case char == '.', char == '_', char == '-':
		default:
			return fmt.Errorf("Topic name is invalid: '%s' contains one or more characters "+
				"other than ASCII alphanumerics, '.', '_' and '-'", name)
		}
	}
	return nil
}

// CollisionKey is equal for names that Kafka's metric names cannot tell apart.
func CollisionKey(name string) string { return strings.ReplaceAll(name, ".", "_") }

// Collides says whether two names differ at most by '.' against '_'.
func Collides(a, b string) bool { return CollisionKey(a) == CollisionKey(b) }
