package partition

import (
	"slices"
	"time"

	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/world"
)

// Host is what a partition asks of the broker that holds it.
type Host interface {
	// ProposeIsr asks the controller for another ISR; the answer comes back through IsrAnswered.
	ProposeIsr(p *Partition, isr []event.NodeID)
	// MayJoinIsr says whether a replica is unfenced, not shutting down, and of the broker epoch
	// with which it fetched.
	MayJoinIsr(id event.NodeID, brokerEpoch int64) bool
	// LogEndMoved and HighWatermarkMoved wake the fetches that wait for data.
	LogEndMoved(p *Partition)
	HighWatermarkMoved(p *Partition)
	// LogChanged says that the log has something to flush at the turn's end.
	LogChanged(p *Partition)
	// Describe says whether records may be described in events now, and counts them.
	Describe(records int32) bool
}

// Settings are what a partition's configuration says of its role.
type Settings struct {
	MinIsr         int
	ReplicaLagMax  time.Duration
	TruncateToHW   bool // the rule before Kafka 0.11, for lessons about it
	MessageTimeMax time.Duration
	// Unverified takes batches of transactions without their coordinator's leave, which is
	// transaction.partition.verification.enable turned off: such a transaction can hang.
	Unverified bool
}

// Partition is one replica. Its fields follow the metadata of the partition; what is the leader's
// alone is in leading.
type Partition struct {
	Topic    string
	TopicID  event.UUID
	Index    int32
	Log      *commitlog.Log
	Settings Settings

	env  *world.Env
	host Host

	leader         event.NodeID
	leaderEpoch    event.Epoch
	partitionEpoch int32
	replicas       []event.NodeID
	isr            []event.NodeID // as the controller committed it
	highWatermark  event.Offset   // never above the log end offset
	lastStable     event.Offset   // as last told; see LastStableOffset
	removed        bool
	leading        *leading
}

// New returns a replica that has no role until Apply.
func New(env *world.Env, host Host, topic string, id event.UUID, index int32,
	log *commitlog.Log, highWatermark event.Offset) *Partition {
	p := &Partition{Topic: topic, TopicID: id, Index: index, Log: log, env: env, host: host,
		leader: event.NoNode, leaderEpoch: -1, partitionEpoch: -1,
		highWatermark: max(log.LogStartOffset(), min(highWatermark, log.LogEndOffset()))}
	p.lastStable = p.LastStableOffset()
	return p
}

// Leads says whether this replica is the leader.
func (p *Partition) Leads() bool { return p.leading != nil }

// Leader is the current leader, -1 when there is none.
func (p *Partition) Leader() event.NodeID { return p.leader }

// LeaderEpoch is the epoch of the role that this replica has taken.
func (p *Partition) LeaderEpoch() event.Epoch { return p.leaderEpoch }

// PartitionEpoch is the version of the partition's metadata that this replica knows.
func (p *Partition) PartitionEpoch() int32 { return p.partitionEpoch }

// Isr is the in-sync set as the controller committed it; callers must not change it.
func (p *Partition) Isr() []event.NodeID { return p.isr }

// Replicas is the assignment; callers must not change it.
func (p *Partition) Replicas() []event.NodeID { return p.replicas }

// HighWatermark is what this replica believes to be committed.
func (p *Partition) HighWatermark() event.Offset { return p.highWatermark }

// Removed says that the replica was taken from this broker.
func (p *Partition) Removed() bool { return p.removed }

// Apply takes over what the metadata log says of the partition.
func (p *Partition) Apply(m *metadata.Partition) {
	if m.PartitionEpoch < p.partitionEpoch {
		return
	}
	newEpoch, newer := m.LeaderEpoch > p.leaderEpoch, m.PartitionEpoch > p.partitionEpoch
	before := p.isr
	p.partitionEpoch = m.PartitionEpoch
	p.replicas, p.isr, p.leader = m.Replicas, m.Isr, m.Leader
	switch {
	case m.Leader == p.env.ID() && (newEpoch || p.leading == nil):
		p.leaderEpoch = m.LeaderEpoch
		p.becomeLeader(m)
	case m.Leader == p.env.ID() && newer:
		p.isrCommitted(before)
	case m.Leader == p.env.ID():
		p.maybeMoveHighWatermark()
	case newEpoch || p.leading != nil:
		p.leaderEpoch = m.LeaderEpoch
		p.becomeFollower()
	}
}

func (p *Partition) becomeFollower() {
	p.stopLeading()
	event.BecameFollower{Topic: p.Topic, Partition: p.Index, LeaderEpoch: p.leaderEpoch,
		PartitionEpoch: p.partitionEpoch, Leader: p.leader, Replicas: p.replicas, Isr: p.isr,
		LogEndOffset: p.Log.LogEndOffset(), HighWatermark: p.highWatermark,
		LastStableOffset: p.lastStable}.
		Emit(p.env.Events, event.RuleNone)
	if p.Settings.TruncateToHW && p.leader != event.NoNode {
		p.truncate(p.highWatermark, event.RuleTruncateToHighWatermark)
	}
}

// Remove says that this broker no longer holds the replica.
func (p *Partition) Remove() {
	p.stopLeading()
	p.removed = true
	event.ReplicaRemoved{Topic: p.Topic, Partition: p.Index}.Emit(p.env.Events, event.RuleNone)
}

// moveHighWatermark emits before it wakes anybody, so that what follows has its cause.
func (p *Partition) moveHighWatermark(to event.Offset, rule event.Rule) {
	before := p.highWatermark
	p.highWatermark = to
	moved := p.emitHighWatermark(before, rule)
	if moved != 0 {
		cause := p.env.Events.Cause
		p.env.Events.Cause = moved
		defer func() { p.env.Events.Cause = cause }()
	}
	if p.leading != nil {
		p.leading.releaseWaits(p)
	}
	p.host.HighWatermarkMoved(p)
}

func (p *Partition) truncate(to event.Offset, rule event.Rule) error {
	if err := p.Log.Truncate(min(to, p.Log.LogEndOffset()), rule); err != nil {
		return err
	}
	// A batch is cut whole, so the log may end below the offset.
	if end := min(to, p.Log.LogEndOffset()); p.highWatermark > end {
		p.moveHighWatermark(end, rule)
	}
	return nil
}

// OffsetForEpoch answers where an epoch ended on this leader's log.
func (p *Partition) OffsetForEpoch(e event.Epoch) (event.Epoch, event.Offset, bool) {
	return p.Log.EndOffsetForEpoch(e)
}

func contains(ids []event.NodeID, id event.NodeID) bool { return slices.Contains(ids, id) }
