package metadata

import (
	"fmt"
	"slices"

	"highwater/cluster/event"
)

// Apply returns the image after a record. The old image stays as it was. An error means that the
// record contradicts the image: the log is not the one that the image came from.
func (im *Image) Apply(r Record) (*Image, error) {
	after := *im
	var err error
	switch r := r.(type) {
	case *RegisterBrokerRecord:
		after.registerBroker(r)
	case *UnregisterBrokerRecord:
		err = after.unregisterBroker(r)
	case *BrokerRegistrationChangeRecord:
		err = after.changeBroker(r)
	case *RegisterControllerRecord:
		after.registerController(r)
	case *TopicRecord:
		err = after.addTopic(r)
	case *PartitionRecord:
		err = after.setPartition(r)
	case *PartitionChangeRecord:
		err = after.changePartition(r)
	case *RemoveTopicRecord:
		err = after.removeTopic(r)
	case *ClearElrRecord:
		err = after.clearElr(r)
	case *ConfigRecord:
		after.setConfig(r)
	case *FeatureLevelRecord:
		after.setFeature(r)
	case *ProducerIdsRecord:
		after.nextProducerID = r.NextProducerID
	case *BeginTransactionRecord, *EndTransactionRecord, *AbortTransactionRecord:
		return im.applyTransaction(r)
	case *NoOpRecord, *Unknown:
		return im, nil
	}
	if err != nil {
		return nil, fmt.Errorf("metadata: apply %s: %w", Name(r), err)
	}
	return &after, nil
}

// applyTransaction opens, commits or undoes a metadata transaction (KIP-868).
func (im *Image) applyTransaction(r Record) (*Image, error) {
	_, begins := r.(*BeginTransactionRecord)
	if begins == im.InTransaction() {
		return nil, fmt.Errorf("metadata: apply %s: open transaction: %t", Name(r), begins)
	}
	if _, aborts := r.(*AbortTransactionRecord); aborts {
		return im.transactionBase, nil
	}
	after := *im
	after.transactionBase = nil
	if begins {
		after.transactionBase = im
	}
	return &after, nil
}

func (im *Image) registerBroker(r *RegisterBrokerRecord) {
	b := &Broker{
		ID: r.BrokerID, Epoch: r.BrokerEpoch, IncarnationID: r.IncarnationID,
		Endpoints: slices.Clone(r.EndPoints), Features: slices.Clone(r.Features),
		Fenced: r.Fenced, InControlledShutdown: r.InControlledShutdown,
		Directories:         slices.Clone(r.LogDirs),
		CordonedDirectories: slices.Clone(r.CordonedLogDirs),
		migratingZkBroker:   r.IsMigratingZkBroker,
	}
	if r.Rack != nil {
		rack := *r.Rack
		b.Rack = &rack
	}
	im.putBroker(b)
}

// putBroker replaces or adds a broker in a fresh slice.
func (im *Image) putBroker(b *Broker) {
	at, found := searchBroker(im.brokers, b.ID)
	brokers := slices.Clone(im.brokers)
	if found {
		brokers[at] = b
	} else {
		brokers = slices.Insert(brokers, at, b)
	}
	im.brokers = brokers
}

// registeredBroker returns the broker if it is registered with that epoch.
func (im *Image) registeredBroker(id event.NodeID, epoch int64) (*Broker, error) {
	b := im.Broker(id)
	if b == nil {
		return nil, fmt.Errorf("broker %d is not registered", id)
	}
	if b.Epoch != epoch {
		return nil, fmt.Errorf("broker %d has epoch %d, not %d", id, b.Epoch, epoch)
	}
	return b, nil
}

func (im *Image) unregisterBroker(r *UnregisterBrokerRecord) error {
	if _, err := im.registeredBroker(r.BrokerID, r.BrokerEpoch); err != nil {
		return err
	}
	at, _ := searchBroker(im.brokers, r.BrokerID)
	im.brokers = slices.Delete(slices.Clone(im.brokers), at, at+1)
	return nil
}

func (im *Image) changeBroker(r *BrokerRegistrationChangeRecord) error {
	before, err := im.registeredBroker(r.BrokerID, r.BrokerEpoch)
	if err != nil {
		return err
	}
	b := *before
	if r.Fenced != FenceUnchanged {
		b.Fenced = r.Fenced == Fence
	}
	if r.InControlledShutdown != 0 {
		b.InControlledShutdown = true
	}
	if len(r.LogDirs) > 0 {
		b.Directories = slices.Clone(r.LogDirs)
	}
	if r.CordonedLogDirs != nil {
		b.CordonedDirectories = slices.Clone(r.CordonedLogDirs)
	}
	im.putBroker(&b)
	return nil
}

func (im *Image) registerController(r *RegisterControllerRecord) {
	controller := &Controller{
		ID: r.ControllerID, IncarnationID: r.IncarnationID,
		Endpoints: slices.Clone(r.EndPoints), Features: slices.Clone(r.Features),
		zkMigrationReady: r.ZkMigrationReady,
	}
	controllers := slices.Clone(im.controllers)
	at, found := slices.BinarySearchFunc(controllers, r.ControllerID,
		func(c *Controller, id event.NodeID) int { return int(c.ID) - int(id) })
	if found {
		controllers[at] = controller
	} else {
		controllers = slices.Insert(controllers, at, controller)
	}
	im.controllers = controllers
}

func (im *Image) addTopic(r *TopicRecord) error {
	if old := im.TopicByName(r.Name); old != nil {
		return fmt.Errorf("topic %s exists with id %s", r.Name, old.ID)
	}
	if old := im.TopicByID(r.TopicID); old != nil {
		return fmt.Errorf("topic %s has id %s", old.Name, r.TopicID)
	}
	im.topics = im.topics.put(r.Name, &Topic{Name: r.Name, ID: r.TopicID})
	im.topicNames = im.topicNames.put(string(r.TopicID[:]), r.Name)
	im.topicCount++
	return nil
}

func (im *Image) removeTopic(r *RemoveTopicRecord) error {
	t := im.TopicByID(r.TopicID)
	if t == nil {
		return fmt.Errorf("no topic has id %s", r.TopicID)
	}
	im.topics = im.topics.remove(t.Name)
	im.topicNames = im.topicNames.remove(string(r.TopicID[:]))
	im.configs = im.configs.remove(configKey(ResourceTopic, t.Name))
	im.topicCount--
	return nil
}

func (im *Image) setPartition(r *PartitionRecord) error {
	t := im.TopicByID(r.TopicID)
	if t == nil {
		return fmt.Errorf("no topic has id %s", r.TopicID)
	}
	im.putPartition(t, &Partition{
		Index: r.PartitionID, Replicas: slices.Clone(r.Replicas),
		Directories: slices.Clone(r.Directories), Isr: slices.Clone(r.Isr),
		Elr:          slices.Clone(r.EligibleLeaderReplicas),
		LastKnownElr: slices.Clone(r.LastKnownElr),
		Adding:       slices.Clone(r.AddingReplicas), Removing: slices.Clone(r.RemovingReplicas),
		Leader: r.Leader, LeaderEpoch: r.LeaderEpoch, PartitionEpoch: r.PartitionEpoch,
		LeaderRecoveryState: r.LeaderRecoveryState,
	})
	return nil
}

// putPartition replaces or adds a partition in a fresh copy of the topic.
func (im *Image) putPartition(t *Topic, p *Partition) {
	at, found := t.search(p.Index)
	partitions := slices.Clone(t.Partitions)
	if found {
		partitions[at] = p
	} else {
		partitions = slices.Insert(partitions, at, p)
	}
	im.topics = im.topics.put(t.Name, &Topic{Name: t.Name, ID: t.ID, Partitions: partitions})
}

func (im *Image) changePartition(r *PartitionChangeRecord) error {
	t := im.TopicByID(r.TopicID)
	if t == nil {
		return fmt.Errorf("no topic has id %s", r.TopicID)
	}
	p := t.Partition(r.PartitionID)
	if p == nil {
		return fmt.Errorf("topic %s has no partition %d", t.Name, r.PartitionID)
	}
	im.putPartition(t, p.Merge(r))
	return nil
}

// Merge returns the partition after the change. The partition epoch always rises; the leader
// epoch rises when the record names a leader, even the same one.
func (p *Partition) Merge(r *PartitionChangeRecord) *Partition {
	after := *p
	replace := func(list *[]event.NodeID, with []event.NodeID) {
		if with != nil {
			*list = slices.Clone(with)
		}
	}
	replace(&after.Replicas, r.Replicas)
	replace(&after.Isr, r.Isr)
	replace(&after.Elr, r.EligibleLeaderReplicas)
	replace(&after.LastKnownElr, r.LastKnownElr)
	replace(&after.Adding, r.AddingReplicas)
	replace(&after.Removing, r.RemovingReplicas)
	if r.Directories != nil {
		after.Directories = slices.Clone(r.Directories)
	}
	if r.LeaderRecoveryState != RecoveryUnchanged {
		after.LeaderRecoveryState = r.LeaderRecoveryState
	}
	if r.Leader != LeaderUnchanged {
		after.Leader = r.Leader
		after.LeaderEpoch++
	}
	after.PartitionEpoch++
	return &after
}

// clearElr counts as a change of every partition that had eligible leader replicas, and only those.
func (im *Image) clearElr(r *ClearElrRecord) error {
	if r.TopicName == "" {
		for _, t := range im.Topics() {
			im.clearTopicElr(t)
		}
		return nil
	}
	t := im.TopicByName(r.TopicName)
	if t == nil {
		return fmt.Errorf("there is no topic %s", r.TopicName)
	}
	im.clearTopicElr(t)
	return nil
}

func (im *Image) clearTopicElr(t *Topic) {
	var partitions []*Partition
	for i, p := range t.Partitions {
		if len(p.Elr) == 0 && len(p.LastKnownElr) == 0 {
			continue
		}
		if partitions == nil {
			partitions = slices.Clone(t.Partitions)
		}
		change := NewPartitionChangeRecord(t.ID, p.Index)
		change.EligibleLeaderReplicas = []event.NodeID{}
		change.LastKnownElr = []event.NodeID{}
		partitions[i] = p.Merge(change)
	}
	if partitions != nil {
		im.topics = im.topics.put(t.Name, &Topic{Name: t.Name, ID: t.ID, Partitions: partitions})
	}
}

func (im *Image) setConfig(r *ConfigRecord) {
	key := configKey(r.ResourceType, r.ResourceName)
	old, _ := im.configs.get(key)
	at, found := searchConfig(old, r.Name)
	entries := slices.Clone(old)
	switch {
	case r.Value == nil && !found:
		return
	case r.Value == nil:
		entries = slices.Delete(entries, at, at+1)
	case found:
		entries[at].Value = *r.Value
	default:
		entries = slices.Insert(entries, at, ConfigEntry{Name: r.Name, Value: *r.Value})
	}
	if len(entries) == 0 {
		im.configs = im.configs.remove(key)
		return
	}
	im.configs = im.configs.put(key, entries)
}

func (im *Image) setFeature(r *FeatureLevelRecord) {
	features := slices.DeleteFunc(slices.Clone(im.features), func(f Feature) bool {
		return f.Name == r.Name
	})
	if r.FeatureLevel != 0 {
		at := 0
		for at < len(features) && features[at].Name < r.Name {
			at++
		}
		features = slices.Insert(features, at, Feature{Name: r.Name, Level: r.FeatureLevel})
	}
	im.features = features
}
