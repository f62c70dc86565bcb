package metadata

import (
	"slices"

	"highwater/cluster/event"
)

// featureMetadataVersion comes first in a snapshot: it decides how the rest is read.
const featureMetadataVersion = "metadata.version"

// Records returns the records that build this image from an empty one, in the order in which
// Kafka's snapshots hold them: features, brokers, controllers, topics, configuration, producer
// ids. An open metadata transaction is not part of it: snapshots are taken outside of them.
func (im *Image) Records() []Record {
	var records []Record
	for _, first := range []bool{true, false} {
		for _, f := range im.features {
			if (f.Name == featureMetadataVersion) == first {
				records = append(records, &FeatureLevelRecord{Name: f.Name, FeatureLevel: f.Level})
			}
		}
	}
	for _, b := range im.brokers {
		records = append(records, b.record())
	}
	for _, c := range im.controllers {
		records = append(records, &RegisterControllerRecord{
			ControllerID: c.ID, IncarnationID: c.IncarnationID,
			ZkMigrationReady: c.zkMigrationReady,
			EndPoints:        slices.Clone(c.Endpoints), Features: slices.Clone(c.Features),
		})
	}
	im.topics.each(func(_ string, t *Topic) {
		records = append(records, &TopicRecord{Name: t.Name, TopicID: t.ID})
		for _, p := range t.Partitions {
			records = append(records, p.Record(t.ID))
		}
	})
	im.configs.each(func(key string, entries []ConfigEntry) {
		resourceType, name := configResource(key)
		for _, e := range entries {
			value := e.Value
			records = append(records, &ConfigRecord{
				ResourceType: resourceType, ResourceName: name, Name: e.Name, Value: &value,
			})
		}
	})
	if im.nextProducerID > 0 {
		records = append(records, &ProducerIdsRecord{
			BrokerID: event.NoNode, BrokerEpoch: -1, NextProducerID: im.nextProducerID,
		})
	}
	return records
}

// record returns the registration that leads to the broker's present state.
func (b *Broker) record() *RegisterBrokerRecord {
	r := &RegisterBrokerRecord{
		BrokerID: b.ID, IsMigratingZkBroker: b.migratingZkBroker,
		IncarnationID: b.IncarnationID, BrokerEpoch: b.Epoch,
		EndPoints: slices.Clone(b.Endpoints), Features: slices.Clone(b.Features),
		Fenced: b.Fenced, InControlledShutdown: b.InControlledShutdown,
		LogDirs:         slices.Clone(b.Directories),
		CordonedLogDirs: slices.Clone(b.CordonedDirectories),
	}
	if b.Rack != nil {
		rack := *b.Rack
		r.Rack = &rack
	}
	return r
}

// Record returns the record that describes the partition as it is.
func (p *Partition) Record(topicID event.UUID) *PartitionRecord {
	r := &PartitionRecord{
		PartitionID: p.Index, TopicID: topicID,
		Replicas: slices.Clone(p.Replicas), Isr: slices.Clone(p.Isr),
		RemovingReplicas: slices.Clone(p.Removing), AddingReplicas: slices.Clone(p.Adding),
		Leader: p.Leader, LeaderRecoveryState: p.LeaderRecoveryState,
		LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch,
		Directories: slices.Clone(p.Directories),
	}
	if len(p.Elr) > 0 {
		r.EligibleLeaderReplicas = slices.Clone(p.Elr)
	}
	if len(p.LastKnownElr) > 0 {
		r.LastKnownElr = slices.Clone(p.LastKnownElr)
	}
	return r
}
