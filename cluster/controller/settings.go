package controller

import (
	"strconv"
	"strings"

	"highwater/cluster/event"
	"highwater/cluster/metadata"
)

// The settings of topics that the controller itself goes by.
const (
	configMinIsr  = "min.insync.replicas"
	configUnclean = "unclean.leader.election.enable"
)

// Where a configuration value comes from, in the numbers of DescribeConfigs.
const (
	sourceTopic          int8 = 1
	sourceBroker         int8 = 2
	sourceDefaultBrokers int8 = 3
	sourceStatic         int8 = 4
	sourceDefault        int8 = 5
)

// Properties are what a controller was started with.
type Properties map[string]string

// configOf returns a topic's value: its own, or that of all brokers, or that of the controller's
// properties, or Kafka's default.
func (p Properties) configOf(image *metadata.Image, topic, key string) (value string, source int8) {
	source = sourceDefault
	if _, ok := image.ConfigValue(metadata.ResourceTopic, topic, key); ok {
		source = sourceTopic
	}
	value = image.EffectiveTopicConfig(topic, key, func(name string) (string, bool) {
		if v, ok := image.ConfigValue(metadata.ResourceBroker, "", name); ok {
			source = sourceDefaultBrokers
			return v, true
		}
		v, ok := p[name]
		if ok {
			source = sourceStatic
		}
		return v, ok
	})
	return value, source
}

func (p Properties) configInt(image *metadata.Image, topic, key string) int {
	text, _ := p.configOf(image, topic, key)
	return parseInt(text, 1)
}

func parseInt(text string, otherwise int) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return otherwise
	}
	return n
}

// minIsr is the smallest ISR with which a partition takes acks=all.
func (p Properties) minIsr(image *metadata.Image, topic string, of *metadata.Partition) int {
	return metadata.EffectiveMinIsr(p.configInt(image, topic, configMinIsr), len(of.Replicas))
}

func (p Properties) uncleanElection(image *metadata.Image, topic string) bool {
	text, _ := p.configOf(image, topic, configUnclean)
	return text == "true"
}

// mayLead says whether a broker may lead and be in sync, but for those that are going.
func mayLead(image *metadata.Image, going event.NodeID) func(event.NodeID) bool {
	return func(id event.NodeID) bool {
		b := image.Broker(id)
		return id != going && b != nil && b.Active()
	}
}
