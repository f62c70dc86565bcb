package broker

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/partition"
)

// isrProposals sends what partitions ask of the controller. One request is under way at a time,
// and what piles up meanwhile goes into the next, as Kafka's AlterPartitionManager does.
type isrProposals struct {
	waiting  []isrProposal
	inFlight bool
}

type isrProposal struct {
	p   *partition.Partition
	isr []event.NodeID
}

// ProposeIsr, of partition.Host, asks the controller for another ISR.
func (b *Broker) ProposeIsr(p *partition.Partition, isr []event.NodeID) {
	b.proposals.waiting = append(b.proposals.waiting, isrProposal{p, isr})
	if !b.proposals.inFlight && len(b.proposals.waiting) == 1 {
		b.env.AtTurnEnd(b.sendProposals)
	}
}

func (b *Broker) sendProposals() {
	if b.proposals.inFlight || len(b.proposals.waiting) == 0 || b.session.epoch < 0 {
		return
	}
	var proposals []isrProposal
	waiting := b.proposals.waiting
	b.proposals.waiting = nil
	for _, proposal := range waiting {
		if proposal.p.Proposes(proposal.isr) {
			proposals = append(proposals, proposal)
		} else {
			proposal.p.IsrUnasked(proposal.isr)
		}
	}
	if len(proposals) == 0 {
		return
	}
	b.proposals.inFlight = true
	request := kmsg.NewPtrAlterPartitionRequest()
	request.Version = 3
	request.BrokerID, request.BrokerEpoch = int32(b.env.ID()), b.session.epoch
	for _, proposal := range proposals {
		addProposal(request, proposal, b.session.epoch)
	}
	b.controller.call("AlterPartition", request, 30*time.Second, func(body any, err error) {
		b.proposals.inFlight = false
		var again []isrProposal
		answer, _ := body.(*kmsg.AlterPartitionResponse)
		for _, proposal := range proposals {
			if err != nil || answer.ErrorCode != 0 || answerProposal(proposal, answer) {
				again = append(again, proposal)
			}
		}
		b.proposals.waiting = append(again, b.proposals.waiting...)
		if len(again) > 0 {
			// Whether it was done nobody knows, so it is open until an answer comes or the metadata
			// log tells: this has no other end.
			b.env.AfterQuiet("alter-partition-retry", controllerBackoff, b.sendProposals)
			return
		}
		b.sendProposals()
	})
}

func addProposal(request *kmsg.AlterPartitionRequest, proposal isrProposal, own int64) {
	p := proposal.p
	part := kmsg.NewAlterPartitionRequestTopicPartition()
	part.Partition = p.Index
	part.LeaderEpoch = int32(p.LeaderEpoch())
	part.PartitionEpoch = p.PartitionEpoch()
	for _, id := range proposal.isr {
		member := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
		member.BrokerID, member.BrokerEpoch = int32(id), p.BrokerEpochOf(id)
		if int32(id) == request.BrokerID {
			member.BrokerEpoch = own
		}
		part.NewEpochISR = append(part.NewEpochISR, member)
	}
	at := slices.IndexFunc(request.Topics, func(t kmsg.AlterPartitionRequestTopic) bool {
		return t.TopicID == p.TopicID
	})
	if at < 0 {
		topic := kmsg.NewAlterPartitionRequestTopic()
		topic.TopicID = p.TopicID
		request.Topics = append(request.Topics, topic)
		at = len(request.Topics) - 1
	}
	request.Topics[at].Partitions = append(request.Topics[at].Partitions, part)
}

// answerProposal says whether the proposal is to be sent again.
func answerProposal(proposal isrProposal, answer *kmsg.AlterPartitionResponse) (again bool) {
	p := proposal.p
	for i := range answer.Topics {
		if answer.Topics[i].TopidID != p.TopicID {
			continue
		}
		for j := range answer.Topics[i].Partitions {
			r := &answer.Topics[i].Partitions[j]
			if r.Partition != p.Index {
				continue
			}
			isr := make([]event.NodeID, 0, len(r.ISR))
			for _, id := range r.ISR {
				isr = append(isr, event.NodeID(id))
			}
			return p.IsrAnswered(proposal.isr, r.ErrorCode, event.Epoch(r.LeaderEpoch),
				r.PartitionEpoch, isr)
		}
	}
	return p.IsrAnswered(proposal.isr, kerr.UnknownServerError.Code, 0, 0, nil)
}

// MayJoinIsr, of partition.Host: the replica's broker is active, and it fetched as the incarnation
// that the metadata log knows.
func (b *Broker) MayJoinIsr(id event.NodeID, brokerEpoch int64) bool {
	known := b.metadata.image.Broker(id)
	return known != nil && known.Active() && (brokerEpoch < 0 || brokerEpoch == known.Epoch)
}
