package controller

import (
	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/world"
)

// imbalancePercentMax is leader.imbalance.per.broker.percentage.
const imbalancePercentMax = 10

// upkeep is the active controller's own regular work.
type upkeep struct {
	noOp, imbalance *world.Timer
}

// armNoOp writes a NoOp record now and then, if the quorum is to show that it lives by that.
func (a *active) armNoOp() {
	if a.c.cfg.NoOpInterval <= 0 {
		return
	}
	a.upkeep.noOp = a.c.env.AfterQuiet("metadata-no-op", a.c.cfg.NoOpInterval, func() {
		if len(a.queue) == 0 && !a.inFlight {
			ch := a.decide()
			ch.add(&metadata.NoOpRecord{}, event.RuleNone)
			a.commit(ch, nil, nil)
		}
		a.armNoOp()
	})
}

// armImbalanceCheck gives leaderships back to preferred replicas every few minutes.
func (a *active) armImbalanceCheck() {
	if a.c.cfg.WithoutRebalance {
		return
	}
	a.upkeep.imbalance = a.c.env.After("leader-imbalance-check", a.c.cfg.ImbalanceInterval, func() {
		a.rebalance()
		a.armImbalanceCheck()
	})
}

func (a *active) stopTimers() {
	a.upkeep.noOp.Stop()
	a.upkeep.imbalance.Stop()
}

// rebalance elects the preferred replica wherever it can lead and does not, on brokers for which
// that is the case with more than a tenth of the partitions they should lead.
func (a *active) rebalance() {
	preferred, astray := map[event.NodeID]int{}, map[event.NodeID]int{}
	for _, t := range a.latest.Topics() {
		for _, p := range t.Partitions {
			preferred[p.Replicas[0]]++
			if p.Leader != p.Replicas[0] {
				astray[p.Replicas[0]]++
			}
		}
	}
	ch := a.decide()
	for _, t := range a.latest.Topics() {
		for _, p := range t.Partitions {
			id := p.Replicas[0]
			if p.Leader == id || astray[id]*100 <= preferred[id]*imbalancePercentMax {
				continue
			}
			in := a.changeInput(ch.image, t, p, event.NoNode)
			in.Elect, in.Unclean = metadata.ElectPreferred, false
			if change, ok, elected := metadata.BuildPartitionChange(p, in); ok &&
				elected == metadata.ElectedPreferred {
				ch.add(change, event.RuleElectionPreferred)
			}
		}
	}
	if len(ch.records) > 0 {
		a.commit(ch, nil, nil)
	}
}
