package metadata

import (
	"fmt"
	"testing"

	"highwater/cluster/event"
)

// alive returns an Acceptable that knows only these brokers.
func alive(ids ...event.NodeID) func(event.NodeID) bool {
	return func(id event.NodeID) bool { return containsAll(ids, []event.NodeID{id}) }
}

func list(ids []event.NodeID) string {
	if ids == nil {
		return "-"
	}
	return fmt.Sprint(ids)
}

// summary writes what a change says: leader, ISR, ELR, last known leader, recovery, way.
func summary(r *PartitionChangeRecord, ok bool, how Elected) string {
	return fmt.Sprintf("%t leader %d isr %s elr %s last %s recovery %d how %d", ok, r.Leader,
		list(r.Isr), list(r.EligibleLeaderReplicas), list(r.LastKnownElr),
		r.LeaderRecoveryState, how)
}

type electionCase struct {
	name string
	p    Partition
	in   ChangeInput
	want string
}

func checkElections(t *testing.T, cases []electionCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.p.Replicas == nil {
				c.p.Replicas = nodes(1, 2, 3)
			}
			c.in.TopicID = uuid(2)
			if got := summary(BuildPartitionChange(&c.p, c.in)); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestLeaderIsChosenFromTheIsrInAssignmentOrder(t *testing.T) {
	full := Partition{Leader: 1, Isr: nodes(1, 2, 3)}
	checkElections(t, []electionCase{
		{"nothing to do", full, ChangeInput{Acceptable: alive(1, 2, 3), MinIsr: 1},
			"false leader -2 isr - elr - last - recovery -1 how 0"},
		{"a shrink keeps the leader and its epoch", full,
			ChangeInput{TargetIsr: nodes(1, 2), Acceptable: alive(1, 2), MinIsr: 2},
			"true leader -2 isr [1 2] elr - last - recovery -1 how 0"},
		{"the first replica in sync follows a lost leader", full,
			ChangeInput{TargetIsr: nodes(2, 3), Acceptable: alive(2, 3), MinIsr: 1},
			"true leader 2 isr [2 3] elr - last - recovery -1 how 2"},
		{"assignment order, not order of the ISR", Partition{Leader: 1, Isr: nodes(3, 2, 1)},
			ChangeInput{TargetIsr: nodes(3, 2), Acceptable: alive(2, 3), MinIsr: 1},
			"true leader 2 isr [3 2] elr - last - recovery -1 how 2"},
		{"a replica in sync but not acceptable is passed over", full,
			ChangeInput{TargetIsr: nodes(2, 3), Acceptable: alive(3), MinIsr: 1},
			"true leader 3 isr [2 3] elr - last - recovery -1 how 2"},
		{"preferred takes leadership back", Partition{Leader: 2, Isr: nodes(1, 2, 3)},
			ChangeInput{Acceptable: alive(1, 2, 3), MinIsr: 1, Elect: ElectPreferred},
			"true leader 1 isr - elr - last - recovery -1 how 3"},
		{"online leaves a leader that is not preferred", Partition{Leader: 2, Isr: nodes(1, 2)},
			ChangeInput{Acceptable: alive(1, 2), MinIsr: 1},
			"false leader -2 isr - elr - last - recovery -1 how 0"},
		{"preferred that is not in sync changes nothing", Partition{Leader: 2, Isr: nodes(2, 3)},
			ChangeInput{Acceptable: alive(1, 2, 3), MinIsr: 1, Elect: ElectPreferred},
			"false leader -2 isr - elr - last - recovery -1 how 0"},
	})
}

func TestReplicasBelowMinIsrBecomeEligibleLeaders(t *testing.T) {
	checkElections(t, []electionCase{
		{"at min ISR there is no ELR", Partition{Leader: 1, Isr: nodes(1, 2, 3)},
			ChangeInput{TargetIsr: nodes(1, 2), Acceptable: alive(1, 2), MinIsr: 2},
			"true leader -2 isr [1 2] elr - last - recovery -1 how 0"},
		{"below it, who leaves the ISR joins the ELR", Partition{Leader: 1, Isr: nodes(1, 2)},
			ChangeInput{TargetIsr: nodes(1), Acceptable: alive(1), MinIsr: 2},
			"true leader -2 isr [1] elr [2] last - recovery -1 how 0"},
		{"the leader moves and the old one joins the ELR", Partition{Leader: 2, Isr: nodes(2, 1)},
			ChangeInput{TargetIsr: nodes(1), Acceptable: alive(1), MinIsr: 2},
			"true leader 1 isr [1] elr [2] last - recovery -1 how 2"},
		{"the last replica standing may leave the ISR empty",
			Partition{Leader: 1, Isr: nodes(1), Elr: nodes(2)},
			ChangeInput{TargetIsr: nodes(), Acceptable: alive(), MinIsr: 2},
			"true leader -1 isr [] elr [1 2] last [1] recovery -1 how 1"},
		{"also with min ISR 1", Partition{Leader: 1, Isr: nodes(1)},
			ChangeInput{TargetIsr: nodes(), Acceptable: alive(), MinIsr: 1},
			"true leader -1 isr [] elr [1] last [1] recovery -1 how 1"},
		{"back at min ISR the ELR is cleared", Partition{Leader: 1, Isr: nodes(1), Elr: nodes(2)},
			ChangeInput{TargetIsr: nodes(1, 3), Acceptable: alive(1, 3), MinIsr: 2},
			"true leader -2 isr [1 3] elr [] last - recovery -1 how 0"},
		{"an unclean shutdown ends eligibility",
			Partition{Leader: 1, Isr: nodes(1), Elr: nodes(2, 3)},
			ChangeInput{UncleanShutdown: nodes(2), Acceptable: alive(1, 2, 3), MinIsr: 2},
			"true leader -2 isr - elr [3] last - recovery -1 how 0"},
	})
}

func TestLeaderlessPartitionElectsFromElr(t *testing.T) {
	none := Partition{Leader: -1, Isr: nodes(), Elr: nodes(1, 2), LastKnownElr: nodes(1)}
	checkElections(t, []electionCase{
		{"an eligible replica leads without loss and is alone in the ISR", none,
			ChangeInput{Acceptable: alive(2), MinIsr: 2},
			"true leader 2 isr [2] elr [1] last [] recovery -1 how 4"},
		{"a replica that is not eligible does not", none,
			ChangeInput{Acceptable: alive(3), MinIsr: 2},
			"false leader -2 isr - elr - last - recovery -1 how 0"},
		{"after an unclean shutdown of all, the last known leader leads at a loss",
			Partition{Leader: -1, Isr: nodes(), Elr: nodes(1), LastKnownElr: nodes(1)},
			ChangeInput{UncleanShutdown: nodes(1), Acceptable: alive(1), MinIsr: 2},
			"true leader 1 isr [1] elr [] last [] recovery 1 how 5"},
		{"but not while it is dead", Partition{Leader: -1, LastKnownElr: nodes(1)},
			ChangeInput{Acceptable: alive(2), MinIsr: 2},
			"false leader -2 isr - elr - last - recovery -1 how 0"},
		{"nor while somebody is still eligible", none,
			ChangeInput{UncleanShutdown: nodes(1), Acceptable: alive(1), MinIsr: 2},
			"true leader -2 isr - elr [2] last - recovery -1 how 0"},
	})
}

func TestUncleanElectionTakesAnybodyAliveOnlyWhenAllowed(t *testing.T) {
	none := Partition{Leader: -1, Isr: nodes(), Elr: nodes(1), LastKnownElr: nodes(1)}
	checkElections(t, []electionCase{
		{"allowed for the topic", none,
			ChangeInput{Acceptable: alive(2, 3), MinIsr: 2, Unclean: true},
			"true leader 2 isr [2] elr [] last [] recovery 1 how 6"},
		{"asked for", none,
			ChangeInput{Acceptable: alive(3), MinIsr: 2, Elect: ElectUnclean},
			"true leader 3 isr [3] elr [] last [] recovery 1 how 6"},
		{"a clean one comes first", none,
			ChangeInput{Acceptable: alive(1, 2, 3), MinIsr: 2, Elect: ElectUnclean},
			"true leader 1 isr [1] elr [] last [] recovery -1 how 4"},
		{"nobody is alive", none,
			ChangeInput{Acceptable: alive(), MinIsr: 2, Elect: ElectUnclean},
			"false leader -2 isr - elr - last - recovery -1 how 0"},
		{"the leader reports that it recovered",
			Partition{Leader: 2, Isr: nodes(2), LeaderRecoveryState: Recovering},
			ChangeInput{Acceptable: alive(2), MinIsr: 1, LeaderRecovered: true},
			"true leader -2 isr - elr - last - recovery 0 how 0"},
	})
}

func TestWithoutElrTheLastReplicaStaysInTheIsr(t *testing.T) {
	checkElections(t, []electionCase{
		{"it leaves", Partition{Leader: 1, Isr: nodes(1)},
			ChangeInput{TargetIsr: nodes(), Acceptable: alive(), MinIsr: 2, WithoutElr: true},
			"true leader -1 isr - elr - last - recovery -1 how 1"},
		{"it comes back", Partition{Leader: -1, Isr: nodes(1)},
			ChangeInput{Acceptable: alive(1), MinIsr: 2, WithoutElr: true},
			"true leader 1 isr - elr - last - recovery -1 how 2"},
		{"old ELR is cleared", Partition{Leader: 1, Isr: nodes(1), Elr: nodes(2)},
			ChangeInput{Acceptable: alive(1), MinIsr: 2, WithoutElr: true},
			"true leader -2 isr - elr [] last - recovery -1 how 0"},
	})
}

func TestReassignmentEndsWhenAddedReplicasAreInSync(t *testing.T) {
	p := &Partition{Replicas: nodes(4, 2, 1), Isr: nodes(1, 2), Adding: nodes(4),
		Removing: nodes(1), Leader: 1, Directories: []event.UUID{uuid(4), uuid(2), uuid(1)}}
	r, _, _ := BuildPartitionChange(p, ChangeInput{Acceptable: alive(1, 2, 4), MinIsr: 1})
	if !r.ChangesNothing() {
		t.Errorf("before 4 is in sync: %+v", r)
	}
	r, ok, how := BuildPartitionChange(p, ChangeInput{
		TargetIsr: nodes(1, 2, 4), Acceptable: alive(1, 2, 4), MinIsr: 1})
	after := p.Merge(r)
	got := fmt.Sprint(ok, how, after.Replicas, after.Isr, after.Adding, after.Removing,
		after.Leader, after.LeaderEpoch, after.Directories)
	want := fmt.Sprint(true, ElectedInAssignmentOrder, nodes(4, 2), nodes(2, 4), nodes(), nodes(),
		4, 1, []event.UUID{uuid(4), uuid(2)})
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestReplicaThatLeavesTheAssignmentStartsALeaderEpoch(t *testing.T) {
	p := &Partition{Replicas: nodes(1, 2, 3), Isr: nodes(1, 2), Leader: 1,
		Directories: []event.UUID{uuid(1), uuid(2), uuid(3)}}
	r, _, _ := BuildPartitionChange(p, ChangeInput{
		TargetReplicas: nodes(1, 2, 4), Acceptable: alive(1, 2, 4), MinIsr: 1})
	if r.Leader != 1 || r.Directories[2] != DirectoryUnassigned || r.Directories[0] != uuid(1) {
		t.Errorf("got %+v", r)
	}
}

func TestEffectiveMinIsrIsCappedByReplicationFactor(t *testing.T) {
	if EffectiveMinIsr(2, 1) != 1 || EffectiveMinIsr(2, 3) != 2 {
		t.Error("not the smaller one")
	}
}

func TestBuildPartitionChangeLeavesItsInputsAlone(t *testing.T) {
	p := &Partition{Replicas: nodes(1, 2, 3), Isr: nodes(2, 1), Leader: 2, Elr: nodes(3)}
	before := fmt.Sprintf("%+v", p)
	r, _, _ := BuildPartitionChange(p, ChangeInput{
		TargetIsr: nodes(1), Acceptable: alive(1), MinIsr: 3})
	for i := range r.EligibleLeaderReplicas {
		r.EligibleLeaderReplicas[i] = 42
	}
	if got := fmt.Sprintf("%+v", p); got != before {
		t.Errorf("got %s, want %s", got, before)
	}
}
