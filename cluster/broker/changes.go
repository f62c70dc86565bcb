package broker

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/partition"
	"highwater/cluster/replica"
)

// act does what changes of the image ask of this broker.
func (b *Broker) act(changes []metadata.Change) {
	deleted := false
	for i := range changes {
		if b.env.Dead() {
			return
		}
		c := &changes[i]
		switch c.Kind {
		case metadata.TopicDeleted:
			b.topicDeleted(c.TopicBefore)
			deleted = true
		case metadata.PartitionChanged:
			if c.PartitionAfter != nil {
				b.partitionChanged(c.TopicAfter, c.PartitionAfter)
			}
		case metadata.ConfigChanged:
			b.configChanged(c)
		}
	}
	if deleted && !b.env.Dead() {
		b.groups.topicsDeleted()
	}
	if len(b.deletions) > 0 {
		b.tryDeletions()
	}
}

func (b *Broker) topicDeleted(topic *metadata.Topic) {
	for _, p := range topic.Partitions {
		h := b.held(topic.Name, p.Index)
		if h != nil && h.TopicID == topic.ID {
			b.drop(h)
		}
	}
}

// drop ends a replica on this broker; its files go later.
func (b *Broker) drop(h *held) {
	b.unfollow(h.key)
	h.Remove()
	b.cleaning.dropped(h)
	b.groups.roleChanged(h)
	b.transactions.roleChanged(h)
	b.failFetches(h)
	b.remove(h)
	if err := b.remember(h.key); err != nil {
		b.failDisk("write", err)
		return
	}
	dir := h.Log.Dir()
	if err := h.Log.Close(false); err != nil {
		b.failDisk("close", err)
		return
	}
	gone := asideName(dir, h.TopicID, deletedSuffix)
	if err := b.disk.Rename(dir, gone); err != nil {
		b.failDisk("rename", err)
		return
	}
	b.removeLater(gone)
}

func (b *Broker) partitionChanged(topic *metadata.Topic, p *metadata.Partition) {
	h := b.held(topic.Name, p.Index)
	if h != nil && h.TopicID != topic.ID {
		b.drop(h)
		h = nil
	}
	if !slices.Contains(p.Replicas, b.env.ID()) {
		if h != nil {
			b.drop(h)
		}
		return
	}
	if h == nil {
		var err error
		if h, err = b.open(topic, p); err != nil {
			b.failDisk("open", err)
			return
		}
	}
	epoch := h.LeaderEpoch()
	led := h.Leads()
	h.Apply(p)
	b.groups.roleChanged(h)
	b.transactions.roleChanged(h)
	if led && !h.Leads() {
		b.failFetches(h)
	}
	switch {
	case h.Leads() || h.Leader() == event.NoNode:
		b.unfollow(h.key)
		if !led && h.Leads() {
			b.failFetches(h) // followers' and clients' fetches of the epoch before
		}
	case h.LeaderEpoch() != epoch || !b.follows(h):
		b.follow(h)
	}
}

// open opens or creates a replica's log.
func (b *Broker) open(topic *metadata.Topic, p *metadata.Partition) (*held, error) {
	key := replica.PartitionKey{Topic: topic.Name, Index: p.Index}
	dir := topic.Name + "-" + strconv.Itoa(int(p.Index))
	cfg := b.logConfig(topic.Name)
	cfg.Topic, cfg.Partition, cfg.TopicID = topic.Name, p.Index, topic.ID
	log, highWatermark, err := b.openLog(dir, key, cfg)
	if err != nil {
		return nil, err
	}
	h := &held{key: key, Partition: partition.New(b.env, b, topic.Name, topic.ID, p.Index, log,
		highWatermark)}
	h.Settings = b.partitionSettings(topic.Name)
	h.rules = b.topicRules(key)
	b.add(h)
	b.runTickets(log)
	return h, nil
}

// openLog opens what is on the disk, with what the checkpoints said of it, or makes it anew.
func (b *Broker) openLog(dir string, key replica.PartitionKey, cfg commitlog.Config) (
	*commitlog.Log, event.Offset, error) {
	_, err := b.disk.Stat(dir)
	if err == nil {
		options := b.openOptions(key)
		log, _, err := commitlog.Open(b.disk, dir, cfg, options)
		switch {
		case errors.Is(err, commitlog.ErrTopicID):
			// A topic of this name was deleted and made anew while this broker was away.
			gone := asideName(dir, b.env.UUID(), deletedSuffix)
			if err := b.disk.Rename(dir, gone); err != nil {
				return nil, 0, err
			}
			b.removeLater(gone)
		case errors.Is(err, commitlog.ErrNoTopicID):
			// As in Kafka (LogManager.isStrayReplica) it is nobody's, and is kept.
			if err := b.setAside(dir, err); err != nil {
				return nil, 0, err
			}
		default:
			return log, options.HighWatermark, err
		}
		if err := b.remember(key); err != nil {
			return nil, 0, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	if err := b.forget(key); err != nil {
		return nil, 0, err
	}
	log, _, err := commitlog.Open(b.disk, dir, cfg, commitlog.OpenOptions{CleanShutdown: true})
	return log, 0, err
}

func (b *Broker) configNumber(topic, key string) int64 {
	v, err := strconv.ParseInt(b.effectiveConfig(topic, key), 10, 64)
	if err != nil {
		return 0 // validated before it was committed; 0 reads as the default
	}
	return v
}

// effectiveConfig is a topic's value of a configuration: its own, this broker's, the cluster's,
// what the broker was started with, or the default.
func (b *Broker) effectiveConfig(topic, key string) string {
	return b.metadata.image.EffectiveTopicConfig(topic, key, b.setting)
}

func (b *Broker) logConfig(topic string) commitlog.Config {
	cfg := commitlog.DefaultConfig()
	cfg.Events, cfg.Now, cfg.Log = b.env.Events, b.env.UnixMilli, b.log
	cfg.SegmentBytes = b.configNumber(topic, "segment.bytes")
	if v := b.configNumber(topic, "internal.segment.bytes"); v > 0 {
		cfg.SegmentBytes = v
	}
	cfg.SegmentMs = b.configNumber(topic, "segment.ms")
	cfg.IndexIntervalBytes = b.configNumber(topic, "index.interval.bytes")
	cfg.SegmentIndexBytes = b.configNumber(topic, "segment.index.bytes")
	if cfg.MaxMessageBytes = b.configNumber(topic, "max.message.bytes"); cfg.MaxMessageBytes == 0 {
		cfg.MaxMessageBytes = -1 // no batch at all; 0 would be the default
	}
	cfg.RetentionMs = b.configNumber(topic, "retention.ms")
	cfg.RetentionBytes = b.configNumber(topic, "retention.bytes")
	cfg.FileDeleteDelayMs = b.configNumber(topic, "file.delete.delay.ms")
	cfg.ProducerExpirationMs = int64(b.config.Settings.ProducerIDExpiry / time.Millisecond)
	if b.effectiveConfig(topic, "message.timestamp.type") == "LogAppendTime" {
		cfg.TimestampType = commitlog.LogAppendTime
	}
	cfg.CleanupPolicy = commitlog.CleanupNever
	policies := strings.Split(b.effectiveConfig(topic, "cleanup.policy"), ",")
	if slices.Contains(policies, "compact") {
		cfg.CleanupPolicy |= commitlog.CleanupCompact
	}
	if slices.Contains(policies, "delete") {
		cfg.CleanupPolicy |= commitlog.CleanupDelete
	}
	if lag := b.configNumber(topic, "max.compaction.lag.ms"); lag > 0 &&
		cfg.CleanupPolicy&commitlog.CleanupCompact != 0 {
		// Records in the active segment are not compacted, so it may not stay active for longer.
		cfg.SegmentMs = min(cfg.SegmentMs, lag)
	}
	return cfg
}

func (b *Broker) partitionSettings(topic string) partition.Settings {
	return partition.Settings{
		MinIsr:        int(b.configNumber(topic, "min.insync.replicas")),
		ReplicaLagMax: b.config.Settings.ReplicaLagMax,
		TruncateToHW:  b.config.Settings.TruncateToHighWater,
		Unverified:    b.isOff(configVerification),
	}
}

// setting is a configuration of this broker, unless that is the default: its own, the cluster's, or
// what it was started with.
func (b *Broker) setting(key string) (value string, ok bool) {
	for _, name := range []string{strconv.Itoa(int(b.env.ID())), ""} {
		if value, ok := b.metadata.image.ConfigValue(metadata.ResourceBroker, name, key); ok {
			return value, true
		}
	}
	value, ok = b.config.Static[key]
	return value, ok
}

func (b *Broker) isOff(key string) bool {
	value, _ := b.setting(key)
	return value == "false"
}

func (b *Broker) configChanged(c *metadata.Change) {
	for _, h := range b.ordered {
		if c.ResourceType == metadata.ResourceBroker ||
			c.ResourceType == metadata.ResourceTopic && h.key.Topic == c.Resource {
			h.Log.SetConfig(b.logConfig(h.key.Topic))
			h.Settings = b.partitionSettings(h.key.Topic)
			h.rules = b.topicRules(h.key)
		}
	}
}

func (b *Broker) follow(h *held) {
	b.unfollow(h.key)
	f := b.fetchers[h.Leader()]
	if f == nil {
		settings := replica.DefaultSettings()
		settings.WaitMax = b.config.Settings.FetchWaitMax
		settings.Backoff = b.config.Settings.FetchBackoff
		settings.BytesMax = max(1, b.config.Settings.FetchResponseMax) // one batch at least
		f = replica.NewFetcher(b.env, b, h.Leader(), settings)
		b.fetchers[h.Leader()] = f
	}
	f.Follow(h.Partition)
}

func (b *Broker) follows(h *held) bool {
	f := b.fetchers[h.Leader()]
	return f != nil && f.Follows(h.key)
}

func (b *Broker) unfollow(key replica.PartitionKey) {
	for _, id := range b.fetcherIDs() {
		b.fetchers[id].Unfollow(key)
	}
}

func (b *Broker) fetcherIDs() []event.NodeID {
	ids := make([]event.NodeID, 0, len(b.fetchers))
	for id := range b.fetchers {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
