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
	sourceDefault        int8 = 5
)

// configOf returns a topic's value: its own, or that of all brokers, or Kafka's default.
func configOf(image *metadata.Image, topic, key string) (value string, source int8) {
	if v, ok := image.ConfigValue(metadata.ResourceTopic, topic, key); ok {
		return v, sourceTopic
	}
	d, _ := metadata.TopicConfig(key)
	for _, synonym := range d.Synonyms {
		// Values in other units carry a factor; only plain synonyms are set dynamically.
		if v, ok := image.ConfigValue(metadata.ResourceBroker, "", synonym); ok {
			return v, sourceDefaultBrokers
		}
	}
	return d.Default, sourceDefault
}

func configInt(image *metadata.Image, topic, key string) int {
	text, _ := configOf(image, topic, key)
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
func minIsr(image *metadata.Image, topic string, p *metadata.Partition) int {
	return metadata.EffectiveMinIsr(configInt(image, topic, configMinIsr), len(p.Replicas))
}

func uncleanElection(image *metadata.Image, topic string) bool {
	text, _ := configOf(image, topic, configUnclean)
	return strings.EqualFold(strings.TrimSpace(text), "true")
}

// mayLead says whether a broker may lead and be in sync, but for those that are going.
func mayLead(image *metadata.Image, going event.NodeID) func(event.NodeID) bool {
	return func(id event.NodeID) bool {
		b := image.Broker(id)
		return id != going && b != nil && b.Active()
	}
}
