package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/event"
	"highwater/cluster/group"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

// groupCoordinators are the coordinators of the partitions of __consumer_offsets that this broker
// leads.
type groupCoordinators struct{ coordinators[*groupPartition] }

// groupPartition is one coordinator with its log.
type groupPartition struct {
	coordinatorLog
	groups *group.Coordinator
}

func (c *groupCoordinators) init(b *Broker) {
	c.coordinators = newCoordinators(b, group.Topic, func(h *held) *groupPartition {
		p := &groupPartition{}
		p.open(b, h)
		p.state, p.what, p.timeout = p, "group", b.config.Settings.OffsetsCommitTimeout
		p.tooLarge = kerr.InvalidCommitOffsetSize.Code
		p.groups = group.New(b.env, p, b.config.Settings.Groups)
		return p
	})
	b.every("offsets-retention", b.config.Settings.OffsetsRetentionCheck, func() {
		c.each(func(p *groupPartition) {
			p.groups.Expire()
			p.sweep()
		})
	})
}

// topicsDeleted has every coordinator forget offsets of topics that are gone.
func (c *groupCoordinators) topicsDeleted() { c.each((*groupPartition).sweep) }

// sweep forgets offsets of topics that are gone, after what was appended before is replayed: that
// may commit some more of them.
func (p *groupPartition) sweep() {
	if n := len(p.pending); n > 0 {
		p.await(p.pending[n-1].needs, p.forgetGone, func(int16) {})
		return
	}
	p.forgetGone()
}

func (p *groupPartition) forgetGone() {
	image := p.b.metadata.image
	p.groups.Sweep(func(name string, id [16]byte) bool {
		topic := image.TopicByName(name)
		return topic != nil && (id == [16]byte{} || topic.ID == id)
	})
}

// loaded also forgets offsets of topics that were deleted while nobody coordinated. Whoever led
// before knew no topic that this broker does not know of yet: it led by an older image.
func (p *groupPartition) loaded() {
	p.groups.Loaded()
	p.sweep()
}

func (p *groupPartition) ended() { p.groups.Close() }

// replay, of replayed.
func (p *groupPartition) replay(batch *loadedBatch) {
	h := &batch.header
	if h.Attributes.Control() {
		if h.HasProducer() {
			p.groups.EndTransaction(h.ProducerID, batch.commits)
		}
		return
	}
	producer := int64(-1)
	if h.Attributes.Transactional() {
		producer = h.ProducerID
	}
	for _, r := range batch.records {
		p.replayRecord(group.Record{Key: r.key, Value: r.value}, group.Author{}, producer)
	}
}

// replayRecord takes over a record; one of a producer's transaction waits for its end.
func (p *groupPartition) replayRecord(r group.Record, by group.Author, producer int64) {
	var err error
	if producer >= 0 {
		err = p.groups.ReplayInTransaction(producer, r)
	} else {
		err = p.groups.Replay(r, by)
	}
	if err != nil {
		p.skipped(err)
	}
}

// Append, of group.Log: one batch, whose records are replayed when the high watermark has passed
// it. Who waits hears at the latest after offsets.commit.timeout.ms.
func (p *groupPartition) Append(records []group.Record, by group.Author, then func(code int16)) {
	batch := record.NewBuilder()
	batch.BaseSequence = 0 // what Kafka's coordinators write beside no producer id
	p.write(batch, records, by, -1, then)
}

// AppendInTransaction, of group.Log.
func (p *groupPartition) AppendInTransaction(records []group.Record, producer int64, epoch int16,
	then func(code int16)) {
	batch := record.NewBuilder()
	batch.BaseSequence = 0
	batch.Attributes = record.TransactionalBit
	batch.ProducerID, batch.ProducerEpoch = producer, epoch
	p.write(batch, records, group.Author{}, producer, then)
}

func (p *groupPartition) write(batch *record.Builder, records []group.Record, by group.Author,
	producer int64, then func(code int16)) {
	for _, r := range records {
		batch.Add(p.b.env.UnixMilli(), r.Key, r.Value)
	}
	refused := p.append(batch, func() {
		for _, r := range records {
			p.replayRecord(r, by, producer)
		}
	}, then)
	if refused != 0 {
		p.b.env.AfterQuiet("group-append-refused", 0, func() { then(refused) })
	}
}

// appendedMarker has the coordinator hear of a transaction's marker once that is committed.
func (c *groupCoordinators) appendedMarker(h *held, producer int64, commit bool, at event.Offset) {
	p := c.byPartition[h.key.Index]
	if h.key.Topic != group.Topic || p == nil || !p.serves(h) {
		return
	}
	p.await(at+1, func() { p.groups.EndTransaction(producer, commit) }, func(int16) {})
}

// coordinator finds who coordinates a group here, or why nobody does.
func (b *Broker) coordinator(id string) (*group.Coordinator, int16) {
	p, code := b.groupPartition(id)
	if code != 0 {
		return nil, code
	}
	return p.groups, 0
}

func (b *Broker) groupPartition(id string) (*groupPartition, int16) {
	topic := b.metadata.image.TopicByName(group.Topic)
	if topic == nil {
		return nil, kerr.NotCoordinator.Code
	}
	p := b.groups.byPartition[group.PartitionFor(id, int32(len(topic.Partitions)))]
	switch {
	case p == nil:
		return nil, kerr.NotCoordinator.Code
	case !p.active:
		return nil, kerr.CoordinatorLoadInProgress.Code
	}
	return p, 0
}

// Committed is the offset that a group which is coordinated here has committed for a partition.
func (b *Broker) Committed(id, topic string, partition int32) (event.Offset, bool) {
	c, code := b.coordinator(id)
	if code != 0 {
		return 0, false
	}
	committed, ok := c.Offset(id, group.Partition{Topic: topic, Index: partition})
	return event.Offset(committed.Offset), ok
}

// GroupMembers lists the members of a group which is coordinated here, and tells its generation.
func (b *Broker) GroupMembers(id string) (members []string, generation int32, ok bool) {
	c, code := b.coordinator(id)
	if code != 0 {
		return nil, 0, false
	}
	return c.Members(id)
}

// groupClient is who a request comes from, as groups remember it.
func (b *Broker) groupClient(call *world.Call, r *Request) group.Client {
	return group.Client{ID: r.ClientID, Host: "/" + b.client(call.From).host}
}
