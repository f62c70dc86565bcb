package controller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/world"
)

// register lets an incarnation of a broker join. An earlier incarnation is fenced first, in the
// same batch, whether or not its session has ended: two of them must never count at once.
func (a *active) register(call *world.Call, req *kmsg.BrokerRegistrationRequest) {
	resp := req.ResponseKind().(*kmsg.BrokerRegistrationResponse)
	resp.BrokerEpoch = -1
	if req.ClusterID != a.c.cfg.ClusterID {
		resp.ErrorCode = kerr.InconsistentClusterID.Code
		call.Reply(resp)
		return
	}
	id := event.NodeID(req.BrokerID)
	ch := a.decide()
	r := registrationRecord(req)
	rule := event.RuleNone
	if old := ch.image.Broker(id); old != nil {
		if old.IncarnationID == r.IncarnationID {
			// The answer was lost: the same incarnation asks again and stays as it is.
			r.Fenced, r.InControlledShutdown = old.Fenced, old.InControlledShutdown
		} else {
			rule = a.replaceIncarnation(ch, old, req.PreviousBrokerEpoch)
		}
	}
	r.BrokerEpoch = int64(a.end) + int64(len(ch.records))
	ch.add(r, rule)
	s := a.touch(id)
	s.metadataOffset, s.shutdownOffset = -1, -1
	resp.BrokerEpoch = r.BrokerEpoch
	a.commit(ch, call, func() any { return resp })
}

// replaceIncarnation fences what was there. A broker that cannot name its last epoch did not close
// its logs, and may have lost records that it was trusted to hold (KIP-966).
func (a *active) replaceIncarnation(ch *changes, old *metadata.Broker, previousEpoch int64,
) event.Rule {
	if previousEpoch == old.Epoch {
		a.fence(ch, old, nil, event.RuleBrokerEpochFencing)
		return event.RuleNone
	}
	a.fence(ch, old, []event.NodeID{old.ID}, event.RuleBrokerEpochFencing)
	return event.RuleUncleanShutdown
}

func registrationRecord(req *kmsg.BrokerRegistrationRequest) *metadata.RegisterBrokerRecord {
	r := &metadata.RegisterBrokerRecord{BrokerID: event.NodeID(req.BrokerID),
		IncarnationID: req.IncarnationID, Rack: req.Rack, Fenced: true}
	for _, l := range req.Listeners {
		r.EndPoints = append(r.EndPoints, metadata.Endpoint{Name: l.Name, Host: l.Host,
			Port: l.Port, SecurityProtocol: l.SecurityProtocol})
	}
	for _, f := range req.Features {
		r.Features = append(r.Features, metadata.FeatureRange{Name: f.Name,
			Min: f.MinSupportedVersion, Max: f.MaxSupportedVersion})
	}
	for _, d := range req.LogDirs {
		r.LogDirs = append(r.LogDirs, d)
	}
	return r
}

// registered checks that a request comes from a broker's present incarnation.
func (a *active) registered(id int32, epoch int64) (*metadata.Broker, int16) {
	b := a.latest.Broker(event.NodeID(id))
	switch {
	case b == nil:
		return nil, kerr.BrokerIDNotRegistered.Code
	case b.Epoch != epoch:
		return nil, kerr.StaleBrokerEpoch.Code
	}
	return b, 0
}

// heartbeat renews a broker's session and moves it between fenced, unfenced and controlled
// shutdown (Kafka's BrokerHeartbeatManager.calculateNextBrokerState).
func (a *active) heartbeat(call *world.Call, req *kmsg.BrokerHeartbeatRequest) {
	resp := req.ResponseKind().(*kmsg.BrokerHeartbeatResponse)
	b, code := a.registered(req.BrokerID, req.BrokerEpoch)
	if code != 0 {
		resp.ErrorCode = code
		call.Reply(resp)
		return
	}
	s := a.touch(b.ID)
	s.metadataOffset = event.Offset(req.CurrentMetadataOffset)
	resp.IsCaughtUp = req.CurrentMetadataOffset >= b.Epoch
	ch := a.decide()
	switch {
	case b.Fenced:
		resp.ShouldShutdown = req.WantShutdown
		if resp.IsCaughtUp && !req.WantFence && !req.WantShutdown {
			a.unfence(ch, b)
		}
	case req.WantFence || req.WantShutdown && a.mayShutDown(b, s):
		resp.ShouldShutdown = req.WantShutdown
		rule := event.RuleNone
		if req.WantShutdown {
			rule = event.RuleControlledShutdown
		}
		a.fence(ch, b, nil, rule)
	case req.WantShutdown && !b.InControlledShutdown:
		a.beginControlledShutdown(ch, b, s)
	}
	resp.IsFenced = ch.image.Broker(b.ID).Fenced
	a.commit(ch, call, func() any { return resp })
}

func (a *active) unfence(ch *changes, b *metadata.Broker) {
	ch.add(&metadata.BrokerRegistrationChangeRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch,
		Fenced: metadata.Unfence}, event.RuleCaughtUpWithMetadata)
	a.electForLeaderless(ch, "")
}

// beginControlledShutdown hands over what the broker leads and takes it out of the ISRs.
func (a *active) beginControlledShutdown(ch *changes, b *metadata.Broker, s *session) {
	ch.add(&metadata.BrokerRegistrationChangeRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch,
		InControlledShutdown: 1}, event.RuleControlledShutdown)
	a.removeFromIsrs(ch, b.ID, nil, event.RuleControlledShutdown)
	s.shutdownOffset = a.end + event.Offset(len(ch.records)) - 1
}

// mayShutDown says whether a broker may go: it leads nothing, and every other broker has replayed
// who leads instead.
func (a *active) mayShutDown(b *metadata.Broker, s *session) bool {
	if !b.InControlledShutdown {
		return !a.leadsAny(b.ID)
	}
	if a.leadsAny(b.ID) {
		return false
	}
	for _, other := range a.latest.Brokers() {
		if other.ID == b.ID || !other.Active() {
			continue
		}
		if o := a.sessions[other.ID]; o == nil || o.metadataOffset < s.shutdownOffset {
			return false
		}
	}
	return true
}

func (a *active) leadsAny(id event.NodeID) bool {
	return slices.ContainsFunc(a.latest.Topics(), func(t *metadata.Topic) bool {
		return slices.ContainsFunc(t.Partitions, func(p *metadata.Partition) bool {
			return p.Leader == id
		})
	})
}

// allocateProducerIDs gives a broker a block of ids that nobody else will ever give out.
func (a *active) allocateProducerIDs(call *world.Call, req *kmsg.AllocateProducerIDsRequest) {
	resp := req.ResponseKind().(*kmsg.AllocateProducerIDsResponse)
	b, code := a.registered(req.BrokerID, req.BrokerEpoch)
	if code != 0 {
		resp.ErrorCode = code
		call.Reply(resp)
		return
	}
	ch := a.decide()
	resp.ProducerIDStart = ch.image.NextProducerID()
	resp.ProducerIDLen = producerIDsOfBlock
	ch.add(&metadata.ProducerIdsRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch,
		NextProducerID: resp.ProducerIDStart + producerIDsOfBlock}, event.RuleNone)
	a.commit(ch, call, func() any { return resp })
}

// producerIDsOfBlock is how many producer ids a broker gets at a time (ProducerIdsBlock).
const producerIDsOfBlock = 1000
