package group

import (
	"cmp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/world"
)

// Log is where a coordinator's records go.
type Log interface {
	// Append adds records to the coordinator's partition. then hears once, from the log and never
	// from within Append, how it ended: with 0 after the records are committed and were replayed,
	// otherwise with what the client is to be told.
	Append(records []Record, by Author, then func(code int16))
	// AppendInTransaction is Append for offsets that count once the producer's transaction is
	// committed on this partition.
	AppendInTransaction(records []Record, producer int64, epoch int16, then func(code int16))
}

// Author is on whose behalf records are written: it stands beside them until they are replayed, for
// the events.
type Author struct{ Member string }

// Settings are the broker configurations that change what a coordinator does.
type Settings struct {
	SessionTimeoutMin     time.Duration // group.min.session.timeout.ms
	SessionTimeoutMax     time.Duration // group.max.session.timeout.ms
	MembersMax            int           // group.max.size
	InitialRebalanceDelay time.Duration // group.initial.rebalance.delay.ms
	NewMemberJoinTimeout  time.Duration // how long who cannot send heartbeats yet is waited for
	OffsetsRetention      time.Duration // offsets.retention.minutes
}

// DefaultSettings are Kafka's defaults.
func DefaultSettings() Settings {
	return Settings{SessionTimeoutMin: 6 * time.Second, SessionTimeoutMax: 30 * time.Minute,
		MembersMax: 1<<31 - 1, InitialRebalanceDelay: 3 * time.Second,
		NewMemberJoinTimeout: 5 * time.Minute, OffsetsRetention: 7 * 24 * time.Hour}
}

// Client is who asks.
type Client struct {
	ID   string // client.id
	Host string // as Kafka writes it: a slash and the address
}

// Coordinator keeps the groups of one partition of __consumer_offsets while its broker leads it.
type Coordinator struct {
	env      *world.Env
	log      Log
	settings Settings
	groups   map[string]*group
	ordered  []*group // by id
	replayed int64    // records of offsets so far, to tell which of two came first
	loaded   bool
	closed   bool
}

// New returns a coordinator that knows nothing until the log was replayed; Loaded ends that.
func New(env *world.Env, log Log, settings Settings) *Coordinator {
	return &Coordinator{env: env, log: log, settings: settings, groups: map[string]*group{}}
}

// Close ends the coordinator: another broker leads the partition now, or will. Who waits is told to
// look for it, and nothing here happens any more.
func (c *Coordinator) Close() {
	c.closed = true
	for _, g := range c.ordered {
		g.joinTimer.Stop()
		g.syncTimer.Stop()
		for _, p := range g.pending {
			p.expires.Stop()
		}
		for _, m := range g.members {
			m.session.Stop()
			m.answerJoin(joined{code: kerr.NotCoordinator.Code, memberID: m.id, generation: -1})
			m.answerSync(synced{code: kerr.NotCoordinator.Code})
		}
		c.endRebalance(g, "the coordinator moves")
	}
}

func (c *Coordinator) find(id string) *group { return c.groups[id] }

func (c *Coordinator) findOrCreate(id string) *group {
	if g := c.groups[id]; g != nil {
		return g
	}
	g := &group{id: id, offsets: map[Partition]Committed{}, since: c.env.UnixMilli(),
		open: map[int64]map[Partition]Committed{}}
	c.groups[id] = g
	at, _ := slices.BinarySearchFunc(c.ordered, id, func(g *group, id string) int {
		return cmp.Compare(g.id, id)
	})
	c.ordered = slices.Insert(c.ordered, at, g)
	return g
}

func (c *Coordinator) forget(g *group) {
	g.joinTimer.Stop()
	g.syncTimer.Stop()
	delete(c.groups, g.id)
	c.ordered = slices.DeleteFunc(c.ordered, func(x *group) bool { return x == g })
}

// Replay takes one committed record over. It is the only way to what a group remembers: offsets,
// and the members, generation and assignments that a rebalance ended with.
func (c *Coordinator) Replay(r Record, by Author) error {
	d, known, err := decode(r)
	if err != nil || !known {
		return err
	}
	switch {
	case d.isOffset && d.offset != nil:
		c.replayOffset(d, by)
	case d.isOffset:
		if g := c.find(d.group); g != nil {
			g.forgetOffset(d.partition)
		}
	case d.metadata != nil:
		c.replayGroup(c.findOrCreate(d.group), d.metadata)
	default:
		if g := c.find(d.group); g != nil {
			g.recorded = nil
			if g.state == Empty && len(g.pending) == 0 && len(g.offsets) == 0 && len(g.open) == 0 {
				c.forget(g)
				c.enter(g, Dead, "deleted", event.RuleNone)
			}
		}
	}
	return nil
}

func (c *Coordinator) replayOffset(d decoded, by Author) {
	c.replayed++
	offset := *d.offset
	offset.order = c.replayed
	c.settle(c.findOrCreate(d.group), d.partition, offset, by)
}

// settle makes an offset the group's, and says so.
func (c *Coordinator) settle(g *group, p Partition, offset Committed, by Author) {
	before := int64(-1)
	if old, ok := g.offsets[p]; ok {
		before = old.Offset
	}
	g.offsets[p] = offset
	if !c.loaded {
		return
	}
	event.OffsetCommitted{Group: g.id, Topic: p.Topic, Partition: p.Index,
		Before: event.Offset(before), Offset: event.Offset(offset.Offset), Member: by.Member}.
		Emit(c.env.Events, event.RuleOffsetCommitted)
}

// replayGroup takes over what a rebalance ended with. While loading, that is the whole group. Later
// it is this coordinator's own record, which ends the round that wrote it unless that round is over.
func (c *Coordinator) replayGroup(g *group, value *kmsg.GroupMetadataValue) {
	g.recorded = value
	if !c.loaded {
		return
	}
	if g.state != CompletingRebalance || g.generation != value.Generation ||
		len(value.Members) == 0 {
		return
	}
	for i := range value.Members {
		if m := g.member(value.Members[i].MemberID); m != nil {
			m.assignment = value.Members[i].Assignment
		}
	}
	c.enter(g, Stable, "assignments are stored", event.RuleGroupAssignmentStored)
	c.endRebalance(g, "stable")
	for _, m := range g.members {
		if m.sync != nil {
			m.answerSync(g.assigned(m))
			c.armSession(g, m, m.sessionTimeout)
		}
	}
}

// Loaded says that the log was replayed up to where this leader's own epoch begins: groups take
// their places, and members get a full session to be heard from.
func (c *Coordinator) Loaded() {
	c.loaded = true
	for _, g := range slices.Clone(c.ordered) {
		if g.recorded == nil && len(g.offsets) == 0 && len(g.open) == 0 {
			c.forget(g)
			continue
		}
		if g.recorded != nil {
			c.restore(g, g.recorded)
		}
	}
}

func (c *Coordinator) restore(g *group, value *kmsg.GroupMetadataValue) {
	g.generation, g.protocolType = value.Generation, value.ProtocolType
	if value.Protocol != nil {
		g.protocol = *value.Protocol
	}
	if value.Leader != nil {
		g.leader = *value.Leader
	}
	for i := range value.Members {
		kept := &value.Members[i]
		m := &member{id: kept.MemberID, instance: kept.InstanceID, clientID: kept.ClientID,
			host:             kept.ClientHost,
			rebalanceTimeout: milliseconds(kept.RebalanceTimeoutMillis),
			sessionTimeout:   milliseconds(kept.SessionTimeoutMillis),
			protocols: []kmsg.JoinGroupRequestProtocol{{Name: g.protocol,
				Metadata: kept.Subscription}},
			assignment: kept.Assignment}
		g.members = append(g.members, m)
		c.armSession(g, m, m.sessionTimeout)
	}
	if len(g.members) > 0 {
		c.enter(g, Stable, "loaded from the log", event.RuleNone)
	}
	if value.CurrentStateTimestamp >= 0 {
		g.since = value.CurrentStateTimestamp
	}
}

func milliseconds(n int32) time.Duration { return time.Duration(n) * time.Millisecond }

// enter moves a group to another state and says so.
func (c *Coordinator) enter(g *group, to State, reason string, rule event.Rule) {
	from := g.state
	g.before, g.state, g.since = from, to, c.env.UnixMilli()
	if from == to {
		return
	}
	event.GroupStateChanged{Group: g.id, Before: from.String(), After: to.String(),
		Generation: g.generation, Reason: reason}.Emit(c.env.Events, rule)
}

func (c *Coordinator) beginRebalance(g *group, reason string) {
	if g.job != 0 {
		return
	}
	g.job = c.env.NextID()
	event.RebalanceBegan{Job: g.job, Group: g.id, Generation: g.generation,
		Members: int32(len(g.members)), Reason: reason}.Emit(c.env.Events, event.RuleNone)
}

func (c *Coordinator) endRebalance(g *group, outcome string) {
	if g.job == 0 {
		return
	}
	event.RebalanceEnded{Job: g.job, Group: g.id, Generation: g.generation,
		Members: int32(len(g.members)), Outcome: outcome}.Emit(c.env.Events, event.RuleNone)
	g.job = 0
}

// record is a group as it is now, with these assignments, for the log.
func (c *Coordinator) record(g *group, assignments map[string][]byte) Record {
	value := kmsg.NewGroupMetadataValue()
	value.ProtocolType, value.Generation = g.protocolType, g.generation
	value.CurrentStateTimestamp = g.since
	if g.protocol != "" {
		value.Protocol = &g.protocol
	}
	if g.leader != "" {
		value.Leader = &g.leader
	}
	for _, m := range g.members {
		value.Members = append(value.Members, kmsg.GroupMetadataValueMember{MemberID: m.id,
			InstanceID: m.instance, ClientID: m.clientID, ClientHost: m.host,
			RebalanceTimeoutMillis: int32(m.rebalanceTimeout / time.Millisecond),
			SessionTimeoutMillis:   int32(m.sessionTimeout / time.Millisecond),
			Subscription:           m.metadata(g.protocol), Assignment: assignments[m.id]})
	}
	return groupRecord(g.id, &value)
}
