package partition

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/event"
)

// maybeExpandIsr proposes a follower whose fetch has reached the high watermark and this leader's
// epoch; one at a time, and the others when the controller has answered.
func (p *Partition) maybeExpandIsr(f *follower) {
	l := p.leading
	f.mayAsk = l.proposed != nil || l.unanswered != nil
	if f.mayAsk || contains(p.isr, f.id) || f.logEndOffset < p.highWatermark ||
		f.logEndOffset < l.epochStart || !p.host.MayJoinIsr(f.id, f.brokerEpoch) {
		return
	}
	isr := append(slices.Clone(p.isr), f.id)
	p.propose(isr, f.id, event.RuleIsrExpandCaughtUp)
}

// CheckLag proposes to leave out the followers that have not been caught up for too long.
func (p *Partition) CheckLag() {
	l := p.leading
	if l == nil || l.proposed != nil || l.unanswered != nil {
		return
	}
	now, end := p.env.VirtualNow(), p.Log.LogEndOffset()
	isr := slices.Clone(p.isr)
	var out event.NodeID
	for _, f := range l.followers {
		if !contains(isr, f.id) || f.logEndOffset == end ||
			now-f.lastCaughtUp <= int64(p.Settings.ReplicaLagMax) {
			continue
		}
		isr = slices.DeleteFunc(isr, func(id event.NodeID) bool { return id == f.id })
		out = f.id
	}
	if out != 0 {
		p.propose(isr, out, event.RuleIsrShrinkLag)
	}
}

func (p *Partition) propose(isr []event.NodeID, about event.NodeID, rule event.Rule) {
	slices.Sort(isr)
	p.leading.proposed, p.leading.unanswered = isr, isr
	event.IsrChangeProposed{Topic: p.Topic, Partition: p.Index, Isr: p.isr, Proposed: isr,
		Replica: about}.Emit(p.env.Events, rule)
	p.host.ProposeIsr(p, isr)
}

// BrokerEpochOf is the broker epoch with which a replica last fetched, -1 when it is not known. An
// ISR proposal names it, so that the controller can tell a rebooted broker from its former self.
func (p *Partition) BrokerEpochOf(id event.NodeID) int64 {
	if p.leading != nil {
		if f := p.leading.follower(id); f != nil {
			return f.brokerEpoch
		}
	}
	return -1
}

// Proposes says whether this very proposal is open still: not when the metadata log was faster, or
// another leadership.
func (p *Partition) Proposes(isr []event.NodeID) bool {
	return p.leading != nil && isSame(p.leading.proposed, isr)
}

// isSame compares lists by where they are: of two proposals of the same nodes one may be over.
func isSame(a, b []event.NodeID) bool { return len(a) > 0 && &a[0] == &b[0] }

// IsrUnasked says that a proposal which is not open any more is not sent again.
func (p *Partition) IsrUnasked(proposal []event.NodeID) {
	if l := p.leading; l != nil && isSame(l.unanswered, proposal) {
		l.unanswered = nil
		p.proposeNext()
	}
}

// IsrAnswered takes the controller's answer to a proposal. Only what the controller committed
// changes the ISR. A proposal ends when the controller says that it has not done it and knows no
// better; after any other error it may have been done, by this request or an earlier one, so both
// ISRs count until the metadata log tells, and again says whether to ask once more
// (Partition.handleAlterPartitionError).
func (p *Partition) IsrAnswered(proposal []event.NodeID, code int16, leaderEpoch event.Epoch,
	partitionEpoch int32, isr []event.NodeID) (again bool) {
	l := p.leading
	switch {
	case l == nil || !isSame(l.unanswered, proposal):
		return false
	case !p.Proposes(proposal): // the metadata log was faster
		if code != 0 {
			p.tellRefused(code)
		}
		p.IsrUnasked(proposal)
		return false
	}
	l.unanswered = nil
	switch code {
	case 0:
	case kerr.OperationNotAttempted.Code, kerr.IneligibleReplica.Code:
		p.endProposal(code)
		p.maybeMoveHighWatermark()
		return false
	case kerr.UnknownTopicOrPartition.Code, kerr.UnknownTopicID.Code, kerr.FencedLeaderEpoch.Code,
		kerr.InvalidUpdateVersion.Code, kerr.InvalidRequest.Code, kerr.NewLeaderElected.Code:
		p.tellRefused(code)
		return false
	default:
		l.unanswered = proposal
		return true
	}
	if leaderEpoch != p.leaderEpoch || partitionEpoch <= p.partitionEpoch {
		return false
	}
	before := p.isr
	p.partitionEpoch = partitionEpoch
	p.isr = isr
	p.isrCommitted(before)
	return false
}

func (p *Partition) endProposal(code int16) {
	p.leading.proposed = nil
	for _, f := range p.leading.followers {
		f.mayAsk = false
	}
	p.tellRefused(code)
}

func (p *Partition) tellRefused(code int16) {
	event.IsrChangeRefused{Topic: p.Topic, Partition: p.Index, ErrorCode: int32(code)}.
		Emit(p.env.Events, event.RuleIsrOnlyByController)
}

// isrCommitted says what the ISR of a newer partition epoch is and what follows from it. A proposal
// that was made before is either part of it or will be refused for its epoch.
func (p *Partition) isrCommitted(before []event.NodeID) {
	if slices.Equal(before, p.isr) {
		if p.leading.proposed != nil {
			p.endProposal(kerr.InvalidUpdateVersion.Code)
		}
		p.maybeMoveHighWatermark()
		return
	}
	rule := event.RuleIsrOnlyByController
	if len(p.isr) < len(before) && !slices.Equal(p.isr, p.leading.proposed) {
		rule = event.RuleIsrShrinkFenced // nobody proposed it: a broker went
	}
	p.leading.proposed = nil
	event.IsrChanged{Topic: p.Topic, Partition: p.Index, Before: before, Isr: p.isr,
		PartitionEpoch: p.partitionEpoch}.Emit(p.env.Events, rule)
	p.holdTail()
	p.maybeMoveHighWatermark()
	p.proposeNext()
}

// proposeNext proposes a follower whose fetch came while something else was open: a fetch alone
// lets a follower in, not what it has proved once.
func (p *Partition) proposeNext() {
	for _, f := range p.leading.followers {
		if p.leading.proposed == nil && f.mayAsk {
			p.maybeExpandIsr(f)
		}
	}
}
