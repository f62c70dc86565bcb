package controller

import (
	"highwater/cluster/event"
	"highwater/cluster/metadata"
)

// announce tells what a committed record changed. before is the image without it, after with it;
// following are the records committed with it that come later.
// Records inside a metadata transaction are told as they come: nothing here aborts one.
func announce(em *event.Emitter, before, after *metadata.Image, r metadata.Record,
	following []metadata.Record, rule event.Rule) {
	if !em.On() {
		return
	}
	switch r := r.(type) {
	case *metadata.RegisterBrokerRecord:
		announceRegistration(em, before, r, rule)
	case *metadata.BrokerRegistrationChangeRecord:
		announceRegistrationChange(em, r, rule)
	case *metadata.PartitionRecord:
		announcePartition(em, nil, after, r.TopicID, r.PartitionID, rule)
	case *metadata.PartitionChangeRecord:
		announcePartition(em, before, after, r.TopicID, r.PartitionID, rule)
	case *metadata.ClearElrRecord:
		announceClearedElr(em, before, after, rule)
	case *metadata.TopicRecord:
		announceTopic(em, after, r, following, rule)
	case *metadata.RemoveTopicRecord:
		if t := before.TopicByID(r.TopicID); t != nil {
			event.TopicDeleted{Topic: t.Name, TopicID: t.ID.String()}.Emit(em, rule)
		}
	case *metadata.ConfigRecord:
		c := event.ConfigChanged{ResourceType: resourceTypeName(r.ResourceType),
			Resource: r.ResourceName, Name: r.Name, Removed: r.Value == nil}
		if r.Value != nil {
			c.Value = *r.Value
		}
		c.Emit(em, rule)
	case *metadata.ProducerIdsRecord:
		event.ProducerIDsAllocated{Broker: r.BrokerID, First: before.NextProducerID(),
			Next: r.NextProducerID}.Emit(em, rule)
	}
}

func announceRegistration(em *event.Emitter, before *metadata.Image,
	r *metadata.RegisterBrokerRecord, rule event.Rule) {
	e := event.BrokerRegistered{Broker: r.BrokerID, BrokerEpoch: r.BrokerEpoch, PreviousEpoch: -1,
		Unclean: rule == event.RuleUncleanShutdown, Fenced: r.Fenced}
	if b := before.Broker(r.BrokerID); b != nil {
		e.PreviousEpoch = b.Epoch
	}
	if len(r.EndPoints) > 0 {
		e.Host, e.Port = r.EndPoints[0].Host, int32(r.EndPoints[0].Port)
	}
	e.Emit(em, rule)
}

func announceRegistrationChange(em *event.Emitter, r *metadata.BrokerRegistrationChangeRecord,
	rule event.Rule) {
	if r.InControlledShutdown != 0 {
		event.BrokerInControlledShutdown{Broker: r.BrokerID, BrokerEpoch: r.BrokerEpoch}.
			Emit(em, rule)
	}
	switch r.Fenced {
	case metadata.Fence:
		event.BrokerFenced{Broker: r.BrokerID, BrokerEpoch: r.BrokerEpoch}.Emit(em, rule)
	case metadata.Unfence:
		event.BrokerUnfenced{Broker: r.BrokerID, BrokerEpoch: r.BrokerEpoch}.Emit(em, rule)
	}
}

func announcePartition(em *event.Emitter, before, after *metadata.Image, topic event.UUID,
	index int32, rule event.Rule) {
	t := after.TopicByID(topic)
	if t == nil || t.Partition(index) == nil {
		return
	}
	var old *metadata.Partition
	if before != nil {
		if was := before.TopicByID(topic); was != nil {
			old = was.Partition(index)
		}
	}
	emitPartition(em, t.Name, old, t.Partition(index), rule)
}

func emitPartition(em *event.Emitter, topic string, old, p *metadata.Partition, rule event.Rule) {
	e := event.PartitionChanged{Topic: topic, Partition: p.Index, Leader: p.Leader,
		LeaderBefore: event.NoNode, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch,
		Replicas: p.Replicas, Isr: p.Isr, Elr: p.Elr, LastKnownElr: p.LastKnownElr,
		Recovering: p.LeaderRecoveryState == metadata.Recovering}
	if old != nil {
		e.LeaderBefore = old.Leader
	}
	e.Emit(em, rule)
}

// announceClearedElr tells of the partitions whose eligible leader replicas were forgotten.
func announceClearedElr(em *event.Emitter, before, after *metadata.Image, rule event.Rule) {
	for _, change := range metadata.Changes(before, after) {
		if change.Kind == metadata.PartitionChanged && change.PartitionBefore != nil {
			emitPartition(em, change.TopicAfter.Name, change.PartitionBefore,
				change.PartitionAfter, rule)
		}
	}
}

// announceTopic tells of a new topic. How many partitions and copies it has stands in the records
// that follow its own.
func announceTopic(em *event.Emitter, image *metadata.Image, r *metadata.TopicRecord,
	following []metadata.Record, rule event.Rule) {
	e := event.TopicCreated{Topic: r.Name, TopicID: r.TopicID.String()}
	minIsr := Properties(nil).configInt(image, r.Name, configMinIsr) // the log always says it
	for _, next := range following {
		switch next := next.(type) {
		case *metadata.PartitionRecord:
			if next.TopicID == r.TopicID {
				e.Partitions++
				e.ReplicationFactor = int32(len(next.Replicas))
			}
		case *metadata.ConfigRecord:
			if next.ResourceType == metadata.ResourceTopic && next.ResourceName == r.Name &&
				next.Name == configMinIsr && next.Value != nil {
				minIsr = parseInt(*next.Value, minIsr)
			}
		}
	}
	e.MinIsr = int32(metadata.EffectiveMinIsr(minIsr, int(e.ReplicationFactor)))
	e.Emit(em, rule)
}

// resourceTypeName is Kafka's name of a resource type.
func resourceTypeName(t int8) string {
	switch t {
	case metadata.ResourceTopic:
		return "topic"
	case metadata.ResourceBroker:
		return "broker"
	case metadata.ResourceBrokerLogger:
		return "broker-logger"
	case metadata.ResourceClientMetrics:
		return "client-metrics"
	case metadata.ResourceGroup:
		return "group"
	}
	return "unknown"
}
