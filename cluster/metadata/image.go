package metadata

import (
	"slices"

	"highwater/cluster/event"
)

// The types of resources that carry configuration, in Kafka's numbers.
const (
	ResourceTopic         int8 = 2
	ResourceBroker        int8 = 4
	ResourceBrokerLogger  int8 = 8
	ResourceClientMetrics int8 = 16
	ResourceGroup         int8 = 32
)

// DirectoryUnassigned is Kafka's id for a replica whose broker has not yet chosen a directory.
var DirectoryUnassigned = event.UUID{15: 1}

// FeatureElr is the feature that keeps eligible leader replicas (KIP-966).
const FeatureElr = "eligible.leader.replicas.version"

// Image is the cluster as the metadata log describes it up to some offset. Neither it nor anything
// reachable from it ever changes: Apply returns a new image that shares what did not change, and
// callers must treat every slice and pointer they get as read-only.
type Image struct {
	// clusterID is the cluster's id; it stands in meta.properties, not in the log.
	clusterID string
	// brokers and controllers are sorted by id, features by name without those at level 0.
	brokers     []*Broker
	controllers []*Controller
	features    []Feature
	// topics maps names to topics, topicNames maps the 16 bytes of their ids to names.
	topics     *tree[*Topic]
	topicNames *tree[string]
	topicCount int
	// configs maps a resource (see configKey) to its entries, sorted by name, never empty.
	configs *tree[[]ConfigEntry]
	// nextProducerID is the first producer id that was never given out.
	nextProducerID int64
	// transactionBase is the image at the beginning of the open metadata transaction, or nil.
	transactionBase *Image
}

// Broker is one registered broker.
type Broker struct {
	ID event.NodeID
	// Epoch is the offset of the broker's registration in the metadata log.
	Epoch         int64
	IncarnationID event.UUID
	Endpoints     []Endpoint
	Features      []FeatureRange
	Rack          *string
	// Fenced says that the broker may not lead nor be in sync; InControlledShutdown that it is
	// handing over its leaderships.
	Fenced               bool
	InControlledShutdown bool
	// Directories are the ids of its log directories that work.
	Directories []event.UUID
	// CordonedDirectories take no new partitions; nil until the broker has said which.
	CordonedDirectories []event.UUID
	// migratingZkBroker is kept only so that a snapshot says what the log said.
	migratingZkBroker bool
}

// Endpoint returns the address of the named listener.
func (b *Broker) Endpoint(listener string) (Endpoint, bool) {
	for _, e := range b.Endpoints {
		if e.Name == listener {
			return e, true
		}
	}
	return Endpoint{}, false
}

// Active says whether the broker may lead and be in sync: neither fenced nor shutting down.
func (b *Broker) Active() bool { return !b.Fenced && !b.InControlledShutdown }

// Controller is one registered controller of the quorum.
type Controller struct {
	ID               event.NodeID
	IncarnationID    event.UUID
	Endpoints        []Endpoint
	Features         []FeatureRange
	zkMigrationReady bool
}

// Feature is the level at which a feature is finalized.
type Feature struct {
	Name  string
	Level int16
}

// ConfigEntry is one configuration value that was set; what was not set has no entry.
type ConfigEntry struct {
	Name  string
	Value string
}

// Topic is one topic with its partitions, sorted by index.
type Topic struct {
	Name       string
	ID         event.UUID
	Partitions []*Partition
}

// Partition returns the topic's partition of that index, or nil.
func (t *Topic) Partition(index int32) *Partition {
	if at, ok := t.search(index); ok {
		return t.Partitions[at]
	}
	return nil
}

func (t *Topic) search(index int32) (int, bool) {
	return slices.BinarySearchFunc(t.Partitions, index, func(p *Partition, index int32) int {
		return int(p.Index) - int(index)
	})
}

// Partition is the state of one partition as the controller decided it.
type Partition struct {
	Index int32
	// Replicas are all copies, the preferred leader first; Directories stand in the same order.
	Replicas    []event.NodeID
	Directories []event.UUID
	// Isr are the in-sync replicas. With ELR it may be empty; then there is no leader.
	Isr []event.NodeID
	// Elr are replicas outside the ISR that hold everything below the high watermark (KIP-966).
	Elr []event.NodeID
	// LastKnownElr holds the last leader while the partition has none.
	LastKnownElr []event.NodeID
	// Adding and Removing are the replicas of a reassignment under way.
	Adding   []event.NodeID
	Removing []event.NodeID
	// Leader is event.NoNode when nobody can lead.
	Leader event.NodeID
	// LeaderEpoch rises with every change of leader, PartitionEpoch with every change.
	LeaderEpoch    event.Epoch
	PartitionEpoch int32
	// LeaderRecoveryState is Recovering between an unclean election and the leader's report.
	LeaderRecoveryState int8
}

// NewImage returns the image of a cluster whose metadata log is empty.
func NewImage(clusterID string) *Image { return &Image{clusterID: clusterID} }

// ClusterID returns the cluster's id.
func (im *Image) ClusterID() string { return im.clusterID }

// Brokers returns the registered brokers by rising id.
func (im *Image) Brokers() []*Broker { return im.brokers }

// Broker returns the broker, or nil when it is not registered.
func (im *Image) Broker(id event.NodeID) *Broker {
	if at, ok := searchBroker(im.brokers, id); ok {
		return im.brokers[at]
	}
	return nil
}

func searchBroker(brokers []*Broker, id event.NodeID) (int, bool) {
	return slices.BinarySearchFunc(brokers, id, func(b *Broker, id event.NodeID) int {
		return int(b.ID) - int(id)
	})
}

// Controllers returns the registered controllers by rising id.
func (im *Image) Controllers() []*Controller { return im.controllers }

// Features returns the finalized features by name.
func (im *Image) Features() []Feature { return im.features }

// FeatureLevel returns the level at which a feature is finalized, 0 when it is not.
func (im *Image) FeatureLevel(name string) int16 {
	for _, f := range im.features {
		if f.Name == name {
			return f.Level
		}
	}
	return 0
}

// NextProducerID returns the first producer id that was never given out.
func (im *Image) NextProducerID() int64 { return im.nextProducerID }

// InTransaction says whether a metadata transaction is open: its changes may yet be undone, so
// brokers must not act on them.
func (im *Image) InTransaction() bool { return im.transactionBase != nil }

// TopicCount returns the number of topics.
func (im *Image) TopicCount() int { return im.topicCount }

// Topics returns all topics by name.
func (im *Image) Topics() []*Topic {
	topics := make([]*Topic, 0, im.topicCount)
	im.topics.each(func(_ string, t *Topic) { topics = append(topics, t) })
	return topics
}

// TopicByName returns the topic, or nil.
func (im *Image) TopicByName(name string) *Topic {
	t, _ := im.topics.get(name)
	return t
}

// TopicByID returns the topic, or nil.
func (im *Image) TopicByID(id event.UUID) *Topic {
	name, ok := im.topicNames.get(string(id[:]))
	if !ok {
		return nil
	}
	return im.TopicByName(name)
}

// Partition returns the partition, or nil.
func (im *Image) Partition(topic string, index int32) *Partition {
	if t := im.TopicByName(topic); t != nil {
		return t.Partition(index)
	}
	return nil
}

// Config returns what was set for a resource, by name. The name of a broker is its id in decimal;
// the empty name stands for the default of all brokers.
func (im *Image) Config(resourceType int8, name string) []ConfigEntry {
	entries, _ := im.configs.get(configKey(resourceType, name))
	return entries
}

// ConfigResources returns the names of the resources of a type that have something set, sorted.
func (im *Image) ConfigResources(resourceType int8) []string {
	var names []string
	im.configs.each(func(key string, _ []ConfigEntry) {
		if kind, name := configResource(key); kind == resourceType {
			names = append(names, name)
		}
	})
	return names
}

// ConfigValue returns the value that was set for a key of a resource.
func (im *Image) ConfigValue(resourceType int8, name, key string) (string, bool) {
	entries := im.Config(resourceType, name)
	if at, ok := searchConfig(entries, key); ok {
		return entries[at].Value, true
	}
	return "", false
}

func searchConfig(entries []ConfigEntry, key string) (int, bool) {
	return slices.BinarySearchFunc(entries, key, func(e ConfigEntry, key string) int {
		switch {
		case e.Name < key:
			return -1
		case e.Name > key:
			return 1
		}
		return 0
	})
}

// configKey is how a resource is found in the tree: its type as one byte, then its name, so that
// resources sort by type and name.
func configKey(resourceType int8, name string) string {
	return string([]byte{byte(resourceType)}) + name
}

// configResource is the inverse of configKey.
func configResource(key string) (resourceType int8, name string) { return int8(key[0]), key[1:] }
