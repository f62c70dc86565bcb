package cluster

import (
	"fmt"
	"slices"
	"strings"

	"highwater/cluster/broker"
	"highwater/cluster/controller"
	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/partition"
	"highwater/cluster/record"
)

func (c *Cluster) broker(id event.NodeID) *broker.Broker {
	b, _ := c.world.Node(id).(*broker.Broker)
	return b
}

// Broker returns a running broker, nil when it is down.
func (c *Cluster) Broker(id event.NodeID) *broker.Broker { return c.broker(id) }

// Image is the newest metadata that any running broker has replayed; where none has, the active
// controller's.
func (c *Cluster) Image() *metadata.Image {
	var newest *broker.Broker
	for _, id := range c.config.Brokers {
		if b := c.broker(id); b != nil && (newest == nil || b.Applied() > newest.Applied()) {
			newest = b
		}
	}
	if newest != nil && newest.Applied() > 0 {
		return newest.Image()
	}
	if id, ok := c.Controller(); ok {
		return c.controller(id).Image()
	}
	return metadata.NewImage(c.config.ClusterID)
}

func (c *Cluster) partition(topic string, p int32) (*metadata.Partition, bool) {
	found := c.Image().Partition(topic, p)
	return found, found != nil
}

// Isr is the in-sync set by the metadata log.
func (c *Cluster) Isr(topic string, p int32) ([]event.NodeID, bool) {
	m, ok := c.partition(topic, p)
	if !ok {
		return nil, false
	}
	isr := slices.Clone(m.Isr)
	slices.Sort(isr)
	return isr, true
}

// Elr is the set of eligible leader replicas.
func (c *Cluster) Elr(topic string, p int32) ([]event.NodeID, bool) {
	m, ok := c.partition(topic, p)
	if !ok {
		return nil, false
	}
	elr := slices.Clone(m.Elr)
	slices.Sort(elr)
	return elr, true
}

// Leader is a partition's leader, -1 when it has none.
func (c *Cluster) Leader(topic string, p int32) (event.NodeID, bool) {
	m, ok := c.partition(topic, p)
	if !ok {
		return event.NoNode, false
	}
	return m.Leader, true
}

// LeaderEpoch is a partition's leader epoch.
func (c *Cluster) LeaderEpoch(topic string, p int32) (event.Epoch, bool) {
	m, ok := c.partition(topic, p)
	if !ok {
		return -1, false
	}
	return m.LeaderEpoch, true
}

func (c *Cluster) replica(node event.NodeID, topic string, p int32) *partition.Partition {
	b := c.broker(node)
	if b == nil {
		return nil
	}
	return b.Partition(topic, p)
}

// HighWatermarkOn is what one replica believes to be committed.
func (c *Cluster) HighWatermarkOn(node event.NodeID, topic string, p int32) (event.Offset, bool) {
	r := c.replica(node, topic, p)
	if r == nil {
		return 0, false
	}
	return r.HighWatermark(), true
}

// LastStableOffsetOn is up to where readers with read_committed see one replica.
func (c *Cluster) LastStableOffsetOn(node event.NodeID, topic string, p int32) (
	event.Offset, bool) {
	r := c.replica(node, topic, p)
	if r == nil {
		return 0, false
	}
	return r.LastStableOffset(), true
}

// LastStableOffset is the leader's.
func (c *Cluster) LastStableOffset(topic string, p int32) (event.Offset, bool) {
	leader, ok := c.Leader(topic, p)
	if !ok {
		return 0, false
	}
	return c.LastStableOffsetOn(leader, topic, p)
}

// TransactionState is the state of a transactional id at its coordinator, by Kafka's name. Of two
// brokers that believe to coordinate it, the one of the newer leader epoch does.
func (c *Cluster) TransactionState(id string) (state string, ok bool) {
	newest := event.Epoch(-1)
	for _, node := range c.config.Brokers {
		b := c.broker(node)
		if b == nil {
			continue
		}
		if s, epoch, known := b.TransactionState(id); known && epoch > newest {
			state, newest, ok = s, epoch, true
		}
	}
	return state, ok
}

// LogEndOffset is where one replica's log ends.
func (c *Cluster) LogEndOffset(node event.NodeID, topic string, p int32) (event.Offset, bool) {
	r := c.replica(node, topic, p)
	if r == nil {
		return 0, false
	}
	return r.Log.LogEndOffset(), true
}

// HighWatermark is the leader's.
func (c *Cluster) HighWatermark(topic string, p int32) (event.Offset, bool) {
	leader, ok := c.Leader(topic, p)
	if !ok {
		return 0, false
	}
	return c.HighWatermarkOn(leader, topic, p)
}

// LogEndOffsetOfLeader is where the leader's log ends.
func (c *Cluster) LogEndOffsetOfLeader(topic string, p int32) (event.Offset, bool) {
	leader, ok := c.Leader(topic, p)
	if !ok {
		return 0, false
	}
	return c.LogEndOffset(leader, topic, p)
}

// Controller is the active controller. Of two that believe to be, as when one was paused, it is that
// of the newer term.
func (c *Cluster) Controller() (active event.NodeID, ok bool) {
	active = event.NoNode
	newest := int32(-1)
	for _, id := range c.config.Controllers {
		if n := c.controller(id); n != nil && n.Active() && n.Term() > newest {
			active, newest = id, n.Term()
		}
	}
	return active, active != event.NoNode
}

// controller returns a running controller, nil when it is down.
func (c *Cluster) controller(id event.NodeID) *controller.Controller {
	n, _ := c.world.Node(id).(*controller.Controller)
	return n
}

// Alive says whether a node runs, paused or not.
func (c *Cluster) Alive(id event.NodeID) bool { return c.world.Alive(id) }

// Fenced says whether the cluster counts a broker as absent.
func (c *Cluster) Fenced(id event.NodeID) bool {
	b := c.Image().Broker(id)
	return b == nil || b.Fenced
}

// Topics lists the topics by name.
func (c *Cluster) Topics() []string {
	var names []string
	for _, t := range c.Image().Topics() {
		names = append(names, t.Name)
	}
	return names
}

// PartitionCount is how many partitions a topic has, 0 when it does not exist.
func (c *Cluster) PartitionCount(topic string) int {
	if t := c.Image().TopicByName(topic); t != nil {
		return len(t.Partitions)
	}
	return 0
}

// Serves says whether some broker has the metadata and is counted as present.
func (c *Cluster) Serves() bool {
	image := c.Image()
	return slices.ContainsFunc(c.config.Brokers, func(id event.NodeID) bool {
		return c.Alive(id) && c.lacks(id, image) == ""
	})
}

// lacks says what a running broker lacks before it serves, "" for nothing.
func (c *Cluster) lacks(id event.NodeID, image *metadata.Image) string {
	switch b := image.Broker(id); {
	case b == nil:
		return "is not registered"
	case b.Epoch != c.broker(id).BrokerEpoch():
		return "is not registered anew"
	case b.Fenced:
		return "is fenced"
	}
	return ""
}

// Down lists the nodes that do not run.
func (c *Cluster) Down() []event.NodeID {
	return slices.DeleteFunc(c.nodes(), c.Alive)
}

// Ready says why the cluster does not serve yet; an empty list means that it does.
func (c *Cluster) Ready() []string {
	var reasons []string
	for _, id := range c.Down() {
		if slices.Contains(c.config.Brokers, id) {
			reasons = append(reasons, c.named(id)+" is down")
		}
	}
	return append(reasons, c.Missing()...)
}

// Missing says what those nodes that run still lack before they serve.
func (c *Cluster) Missing() []string {
	var reasons []string
	if _, ok := c.Controller(); !ok {
		reasons = append(reasons, "no controller is active")
	}
	if !slices.ContainsFunc(c.config.Brokers, c.Alive) {
		reasons = append(reasons, "no broker runs")
	}
	image := c.Image()
	for _, id := range c.config.Brokers {
		if !c.Alive(id) {
			continue
		}
		if lack := c.lacks(id, image); lack != "" {
			reasons = append(reasons, c.named(id)+" "+lack)
		}
	}
	return reasons
}

// Bounds of what Stored looks at: records of a log, and bytes of one batch.
const (
	storedMax      = 10_000
	storedBytesMax = 16 << 20
)

// Stored is the values that lie in one replica's log, committed or not.
func (c *Cluster) Stored(node event.NodeID, topic string, p int32) (values []string, ok bool) {
	r := c.replica(node, topic, p)
	if r == nil {
		return nil, false
	}
	for at := r.Log.LogStartOffset(); at < r.Log.LogEndOffset(); {
		batch, err := c.Batch(node, topic, p, at)
		if err != nil {
			return nil, false
		}
		h, err := record.ParseHeader(batch)
		if err != nil {
			return nil, false
		}
		at = event.Offset(h.LastOffset()) + 1
		if h.Attributes.Control() {
			continue
		}
		err = record.EachRecord(batch, storedBytesMax, func(each record.Record) error {
			values = append(values, string(each.Value))
			return nil
		})
		if err != nil || len(values) > storedMax {
			return nil, false
		}
	}
	return values, true
}

// Batch returns a copy of the batch of one replica that holds an offset, for the inspector.
func (c *Cluster) Batch(
	node event.NodeID,
	topic string,
	p int32,
	offset event.Offset,
) ([]byte, error) {
	r := c.replica(node, topic, p)
	if r == nil {
		return nil, fmt.Errorf("%s is down or holds no replica of %s-%d", c.named(node), topic, p)
	}
	read, err := r.Log.Read(offset, 1, r.Log.LogEndOffset(), true)
	if err != nil {
		return nil, err
	}
	defer read.Release()
	loaded, err := read.Load()
	if err != nil {
		return nil, err
	}
	for _, buffer := range loaded {
		for rest := buffer.Bytes; len(rest) >= record.HeaderBytes; {
			h, err := record.ParseHeader(rest)
			if err != nil || h.Size() > len(rest) {
				break
			}
			if event.Offset(h.LastOffset()) >= offset {
				return slices.Clone(rest[:h.Size()]), nil
			}
			rest = rest[h.Size():]
		}
	}
	return nil, fmt.Errorf("%s-%d on %s has no batch at offset %d", topic, p, c.named(node), offset)
}

// leaderLog is the leader's log of a partition, nil when it has none.
func (c *Cluster) leaderLog(topic string, p int32) *partition.Partition {
	leader, ok := c.Leader(topic, p)
	if !ok {
		return nil
	}
	return c.replica(leader, topic, p)
}

// LogBytes is the size of the leader's segments of a partition.
func (c *Cluster) LogBytes(topic string, p int32) (int64, bool) {
	r := c.leaderLog(topic, p)
	if r == nil {
		return 0, false
	}
	return r.Log.Size(), true
}

// BatchCount counts the batches in the leader's log of a partition.
func (c *Cluster) BatchCount(topic string, p int32) (int, bool) {
	r := c.leaderLog(topic, p)
	if r == nil {
		return 0, false
	}
	count := 0
	_, err := r.Log.ReadAll(r.Log.LogStartOffset(), int(r.Log.Size())+1, r.Log.LogEndOffset(),
		func(record.Header, []byte) error {
			count++
			return nil
		})
	return count, err == nil
}

// BatchOfLeader is the leader's batch that holds an offset, as it lies in its log.
func (c *Cluster) BatchOfLeader(topic string, p int32, offset event.Offset) ([]byte, bool) {
	leader, ok := c.Leader(topic, p)
	if !ok || leader == event.NoNode {
		return nil, false
	}
	batch, err := c.Batch(leader, topic, p, offset)
	return batch, err == nil
}

// ProducerState is what the leader of a partition remembers of a producer: its last sequence, -1
// after a marker, and where its open transaction begins, -1 without one.
func (c *Cluster) ProducerState(topic string, p int32, producerID int64) (
	lastSequence int32, txnStart event.Offset, ok bool) {
	r := c.leaderLog(topic, p)
	if r == nil {
		return 0, 0, false
	}
	for _, state := range r.Log.ProducerStates() {
		if state.ProducerID == producerID {
			return state.LastSequence, state.CurrentTxnFirstOffset, true
		}
	}
	return 0, 0, false
}

// FileBytes is the length of one of the leader's files of a partition; name is its end, such as
// .index for that of the newest segment.
func (c *Cluster) FileBytes(topic string, p int32, name string) (int64, bool) {
	r := c.leaderLog(topic, p)
	leader, ok := c.Leader(topic, p)
	if r == nil || !ok {
		return 0, false
	}
	entries, err := c.disks[leader].List(r.Log.Dir())
	if err != nil {
		return 0, false
	}
	newest, found := disk.Entry{}, false
	for _, e := range entries {
		if strings.HasSuffix(e.Name, name) && (!found || e.Name > newest.Name) {
			newest, found = e, true
		}
	}
	return newest.Size, found
}
