package metadata

import (
	"slices"

	"highwater/cluster/event"
)

// Election says what kind of election is wanted.
type Election int8

const (
	// ElectOnline keeps a valid leader, and otherwise takes the first valid replica.
	ElectOnline Election = iota
	// ElectPreferred takes the first replica of the assignment if it is valid.
	ElectPreferred
	// ElectUnclean is ElectOnline that, before giving up, takes any replica that is alive.
	ElectUnclean
)

// Elected says how a partition came to its leader.
type Elected int8

const (
	// LeaderKept means that the leader is the one it was, perhaps nobody.
	LeaderKept Elected = iota
	// ElectedNobody means that the partition lost its leader and no replica is eligible.
	ElectedNobody
	// ElectedInAssignmentOrder means the first in-sync replica of the assignment.
	ElectedInAssignmentOrder
	// ElectedPreferred means the preferred replica, by an election that asked for it.
	ElectedPreferred
	// ElectedFromElr means an eligible leader replica while the ISR was empty: nothing is lost.
	ElectedFromElr
	// ElectedLastKnownLeader means the leader before the partition lost it; records may be lost.
	ElectedLastKnownLeader
	// ElectedUnclean means a replica that was not in sync; records may be lost.
	ElectedUnclean
)

// ChangeInput is what the controller wants of a partition and what it knows of the brokers.
type ChangeInput struct {
	TopicID event.UUID
	// TargetIsr is the wanted ISR: nil leaves it, empty empties it.
	TargetIsr []event.NodeID
	// TargetReplicas, TargetAdding and TargetRemoving are those of a reassignment; nil leaves them.
	TargetReplicas []event.NodeID
	TargetAdding   []event.NodeID
	TargetRemoving []event.NodeID
	// UncleanShutdown are replicas that came back without having closed their logs: they may
	// have lost records and so are not eligible.
	UncleanShutdown []event.NodeID
	// Acceptable says whether a replica may lead: its broker is alive, unfenced and staying.
	Acceptable func(event.NodeID) bool
	// MinIsr is the effective min.insync.replicas (see EffectiveMinIsr).
	MinIsr int
	// Unclean is the topic's unclean.leader.election.enable: it turns ElectOnline into
	// ElectUnclean.
	Unclean bool
	Elect   Election
	// LeaderRecovered says that the leader reported the end of its recovery.
	LeaderRecovered bool
	// WithoutElr switches KIP-966 off: eligible.leader.replicas.version is at level 0.
	WithoutElr bool
	// Directory returns the log directory of a replica that is new to the partition; nil means
	// DirectoryUnassigned.
	Directory func(event.NodeID) event.UUID
}

// EffectiveMinIsr is min.insync.replicas, but never more than there are replicas (KIP-966).
func EffectiveMinIsr(minInSyncReplicas, replicationFactor int) int {
	return min(minInSyncReplicas, replicationFactor)
}

// partitionChange is BuildPartitionChange at work: the partition as it is, the wanted lists, and
// the record so far.
type partitionChange struct {
	p      *Partition
	in     ChangeInput
	record *PartitionChangeRecord
	// isr, elr, replicas, adding and removing are what the partition is to have.
	isr, elr, replicas, adding, removing []event.NodeID
}

// BuildPartitionChange decides the change that brings a partition to what is wanted of it: its
// ISR, its eligible leader replicas and its leader, by the rules of Kafka's PartitionChangeBuilder
// with ELR (KIP-966). Nothing is to be written when ok is false.
//
// A shrunken ISR alone does not start a new leader epoch; a new leader, no leader, or a replica
// that leaves the assignment does.
func BuildPartitionChange(p *Partition, in ChangeInput) (
	change *PartitionChangeRecord, ok bool, elected Elected,
) {
	b := &partitionChange{p: p, in: in, record: NewPartitionChangeRecord(in.TopicID, p.Index)}
	wanted := func(target, present []event.NodeID) []event.NodeID {
		if target != nil {
			return slices.Clone(target)
		}
		return slices.Clone(present)
	}
	b.isr = wanted(in.TargetIsr, p.Isr)
	b.replicas = wanted(in.TargetReplicas, p.Replicas)
	b.adding = wanted(in.TargetAdding, p.Adding)
	b.removing = wanted(in.TargetRemoving, p.Removing)
	b.elr = slices.Clone(p.Elr)

	b.completeReassignment()
	b.findElr()
	elected = b.elect()
	if b.record.Leader == LeaderUnchanged && !containsAll(b.replicas, p.Replicas) {
		b.record.Leader = p.Leader
	}
	b.recordElr()
	b.recordIsr()
	b.recordLastKnownLeader()
	b.recordAssignment()
	if in.LeaderRecovered && p.LeaderRecoveryState == Recovering &&
		b.record.LeaderRecoveryState == RecoveryUnchanged {
		b.record.LeaderRecoveryState = Recovered
	}
	return b.record, !b.record.ChangesNothing(), elected
}

// completeReassignment ends a reassignment once every added replica is in sync, unless removing
// the others would leave nobody.
func (b *partitionChange) completeReassignment() {
	if len(b.adding) == 0 && len(b.removing) == 0 {
		return
	}
	isr, replicas := without(b.isr, b.removing), without(b.replicas, b.removing)
	if !containsAll(b.isr, b.adding) || len(isr) == 0 || len(replicas) == 0 {
		return
	}
	b.isr, b.replicas = isr, replicas
	b.adding, b.removing = []event.NodeID{}, []event.NodeID{}
}

// findElr decides the eligible leader replicas before the election. While the ISR is as large as
// min.insync.replicas there are none: only below it does the high watermark stand still, and then
// whoever was in the ISR holds everything below it. They are sorted by id.
func (b *partitionChange) findElr() {
	if b.in.WithoutElr || len(b.isr) >= b.in.MinIsr {
		b.elr = []event.NodeID{}
		return
	}
	candidates := slices.Concat(b.elr, b.p.Isr)
	slices.Sort(candidates)
	candidates = slices.Compact(candidates)
	b.elr = without(without(candidates, b.isr), b.in.UncleanShutdown)
}

// elect decides the leader and, when it was not elected from the ISR, the ISR that follows.
func (b *partitionChange) elect() Elected {
	leader, elected := b.chooseLeader()
	if leader == b.p.Leader {
		return LeaderKept
	}
	b.record.Leader = leader
	switch elected {
	case ElectedLastKnownLeader, ElectedUnclean:
		b.record.Isr = []event.NodeID{leader}
		if b.p.LeaderRecoveryState != Recovering {
			b.record.LeaderRecoveryState = Recovering
		}
	case ElectedFromElr:
		b.isr = []event.NodeID{leader}
		b.elr = without(b.elr, b.isr)
	}
	return elected
}

// chooseLeader tries, in this order: the preferred replica if it was asked for, the present
// leader, the assignment, the last known leader, and anybody alive if that was asked for.
func (b *partitionChange) chooseLeader() (event.NodeID, Elected) {
	if b.in.Elect == ElectPreferred && len(b.replicas) > 0 && b.valid(b.replicas[0]) {
		return b.replicas[0], b.clean(ElectedPreferred)
	}
	if b.valid(b.p.Leader) {
		return b.p.Leader, LeaderKept
	}
	if at := slices.IndexFunc(b.replicas, b.valid); at >= 0 {
		return b.replicas[at], b.clean(ElectedInAssignmentOrder)
	}
	if leader, ok := b.lastKnownLeader(); ok {
		return leader, ElectedLastKnownLeader
	}
	if b.in.Elect == ElectUnclean || b.in.Elect == ElectOnline && b.in.Unclean {
		if at := slices.IndexFunc(b.replicas, b.in.Acceptable); at >= 0 {
			return b.replicas[at], ElectedUnclean
		}
	}
	return event.NoNode, ElectedNobody
}

// valid says whether a replica may lead without loss: in the ISR, or in the ELR while the ISR is
// empty, and alive.
func (b *partitionChange) valid(id event.NodeID) bool {
	eligible := slices.Contains(b.isr, id) || len(b.isr) == 0 && slices.Contains(b.elr, id)
	return eligible && b.in.Acceptable(id)
}

// clean names a clean election: by the way it went, or from the ELR when the ISR is empty.
func (b *partitionChange) clean(how Elected) Elected {
	if len(b.isr) == 0 {
		return ElectedFromElr
	}
	return how
}

// lastKnownLeader returns the leader to fall back on when neither ISR nor ELR has anybody left.
func (b *partitionChange) lastKnownLeader() (event.NodeID, bool) {
	if b.in.WithoutElr || len(b.isr) > 0 || len(b.elr) > 0 || len(b.p.LastKnownElr) != 1 {
		return event.NoNode, false
	}
	leader := b.p.LastKnownElr[0]
	return leader, b.in.Acceptable(leader)
}

// recordElr writes the eligible leader replicas if they changed. After an unclean election nobody
// is known to hold what the new leader has.
func (b *partitionChange) recordElr() {
	if b.record.Isr != nil {
		b.elr = []event.NodeID{}
	}
	if !slices.Equal(b.elr, b.p.Elr) {
		b.record.EligibleLeaderReplicas = b.elr
	}
}

// recordIsr writes the ISR if it changed and the election did not write it. Without ELR the last
// member stays in the ISR, so that it is the one that may lead again.
func (b *partitionChange) recordIsr() {
	if b.record.Isr != nil || len(b.isr) == 0 && b.in.WithoutElr || slices.Equal(b.isr, b.p.Isr) {
		return
	}
	b.record.Isr = b.isr
}

// recordLastKnownLeader notes the leader when the ISR becomes empty, and forgets it as soon as
// there is a leader.
func (b *partitionChange) recordLastKnownLeader() {
	if b.in.WithoutElr {
		return
	}
	last := []event.NodeID{b.p.Leader}
	emptied := b.record.Isr != nil && len(b.record.Isr) == 0
	leads := b.record.Leader >= 0 || b.record.Leader == LeaderUnchanged && b.p.Leader >= 0
	switch {
	case emptied && b.p.Leader != event.NoNode && !slices.Equal(b.p.LastKnownElr, last):
		b.record.LastKnownElr = last
	case leads && len(b.p.LastKnownElr) > 0:
		b.record.LastKnownElr = []event.NodeID{}
	}
}

// recordAssignment writes what a reassignment changed.
func (b *partitionChange) recordAssignment() {
	if !slices.Equal(b.replicas, b.p.Replicas) {
		b.record.Replicas = b.replicas
		b.record.Directories = b.directories()
	}
	if !slices.Equal(b.adding, b.p.Adding) {
		b.record.AddingReplicas = b.adding
	}
	if !slices.Equal(b.removing, b.p.Removing) {
		b.record.RemovingReplicas = b.removing
	}
}

// directories returns the log directory of every wanted replica, keeping those that are known.
func (b *partitionChange) directories() []event.UUID {
	directories := make([]event.UUID, len(b.replicas))
	for i, id := range b.replicas {
		at := slices.Index(b.p.Replicas, id)
		switch {
		case at >= 0 && at < len(b.p.Directories):
			directories[i] = b.p.Directories[at]
		case b.in.Directory != nil:
			directories[i] = b.in.Directory(id)
		default:
			directories[i] = DirectoryUnassigned
		}
	}
	return directories
}

// without returns the members of list that are not among gone, in their order, never nil.
func without(list, gone []event.NodeID) []event.NodeID {
	left := make([]event.NodeID, 0, len(list))
	for _, id := range list {
		if !slices.Contains(gone, id) {
			left = append(left, id)
		}
	}
	return left
}

// containsAll says whether every member of some is in all.
func containsAll(all, some []event.NodeID) bool {
	for _, id := range some {
		if !slices.Contains(all, id) {
			return false
		}
	}
	return true
}
