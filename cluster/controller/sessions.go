package controller

import (
	"slices"
	"strconv"

	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/world"
)

// session is how the active controller knows that a broker lives. It lasts
// broker.session.timeout.ms from the broker's last word.
type session struct {
	broker event.NodeID
	timer  *world.Timer
	// metadataOffset is how far the broker said it has replayed the metadata log.
	metadataOffset event.Offset
	// shutdownOffset is what all others must have replayed before a broker in controlled
	// shutdown may go.
	shutdownOffset event.Offset
}

func sortedSessions(sessions map[event.NodeID]*session) []*session {
	var list []*session
	for _, s := range sessions {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *session) int { return int(a.broker) - int(b.broker) })
	return list
}

// restartSessions gives every unfenced broker a full session with a new active controller.
func (a *active) restartSessions() {
	for _, b := range a.latest.Brokers() {
		if !b.Fenced {
			a.touch(b.ID)
		}
	}
}

// touch begins the broker's session anew.
func (a *active) touch(id event.NodeID) *session {
	s := a.sessions[id]
	if s == nil {
		s = &session{broker: id, metadataOffset: -1, shutdownOffset: -1}
		a.sessions[id] = s
	}
	if s.timer == nil {
		s.timer = a.c.env.After("broker-session-"+strconv.Itoa(int(id)),
			a.c.cfg.BrokerSessionTimeout, func() { a.sessionEnded(id) })
		return s
	}
	s.timer.Reset(a.c.cfg.BrokerSessionTimeout)
	return s
}

// endSession forgets a broker that is fenced: it is known to be away.
func (a *active) endSession(id event.NodeID) {
	if s := a.sessions[id]; s != nil {
		s.timer.Stop()
	}
}

// sessionEnded fences a broker that was silent for too long.
func (a *active) sessionEnded(id event.NodeID) {
	b := a.latest.Broker(id)
	if b == nil || b.Fenced {
		return
	}
	ch := a.decide()
	a.fence(ch, b, nil, event.RuleSessionTimeout)
	a.commit(ch, nil, nil)
}

// fence takes a broker out of the cluster's sight: out of every ISR and every leadership. unclean
// are brokers that may have lost records with it.
func (a *active) fence(ch *changes, b *metadata.Broker, unclean []event.NodeID, rule event.Rule) {
	if !b.Fenced {
		ch.add(&metadata.BrokerRegistrationChangeRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch,
			Fenced: metadata.Fence}, rule)
	}
	a.endSession(b.ID)
	a.removeFromIsrs(ch, b.ID, unclean, event.RuleIsrShrinkFenced)
}

// removeFromIsrs takes a broker out of all ISRs, and with unclean also out of all ELRs, and elects
// new leaders where it led.
func (a *active) removeFromIsrs(ch *changes, going event.NodeID, unclean []event.NodeID,
	shrink event.Rule) {
	for _, t := range ch.image.Topics() {
		for _, p := range t.Partitions {
			inIsr := slices.Contains(p.Isr, going)
			if !inIsr && p.Leader != going && !(len(unclean) > 0 && slices.Contains(p.Elr, going)) {
				continue
			}
			in := a.changeInput(ch.image, t, p, going)
			in.UncleanShutdown = unclean
			if inIsr {
				in.TargetIsr = without(p.Isr, going)
			}
			change, ok, elected := metadata.BuildPartitionChange(p, in)
			if ok {
				ch.add(change, ruleOf(elected, shrink))
			}
		}
	}
}

// electForLeaderless elects where nobody leads, once a broker is there again.
func (a *active) electForLeaderless(ch *changes, only string) {
	for _, t := range ch.image.Topics() {
		if only != "" && t.Name != only {
			continue
		}
		for _, p := range t.Partitions {
			if p.Leader != event.NoNode {
				continue
			}
			change, ok, elected := metadata.BuildPartitionChange(p,
				a.changeInput(ch.image, t, p, event.NoNode))
			if ok {
				ch.add(change, ruleOf(elected, event.RuleNone))
			}
		}
	}
}

// changeInput is what every change of a partition rests on.
func (a *active) changeInput(image *metadata.Image, t *metadata.Topic, p *metadata.Partition,
	going event.NodeID) metadata.ChangeInput {
	own := a.c.cfg.Properties
	return metadata.ChangeInput{
		TopicID: t.ID, Acceptable: mayLead(image, going), MinIsr: own.minIsr(image, t.Name, p),
		Unclean:    own.uncleanElection(image, t.Name),
		WithoutElr: image.FeatureLevel(metadata.FeatureElr) == 0,
		Directory:  directoryOf(image),
	}
}

// directoryOf returns a broker's only log directory, or "not yet chosen" when it has several.
func directoryOf(image *metadata.Image) func(event.NodeID) event.UUID {
	return func(id event.NodeID) event.UUID {
		if b := image.Broker(id); b != nil && len(b.Directories) == 1 {
			return b.Directories[0]
		}
		return metadata.DirectoryUnassigned
	}
}

func without(list []event.NodeID, gone event.NodeID) []event.NodeID {
	left := make([]event.NodeID, 0, len(list))
	for _, id := range list {
		if id != gone {
			left = append(left, id)
		}
	}
	return left
}

// ruleOf names the rule of an election, and the other one where nobody was elected.
func ruleOf(elected metadata.Elected, otherwise event.Rule) event.Rule {
	switch elected {
	case metadata.ElectedInAssignmentOrder:
		return event.RuleElectionInAssignmentOrder
	case metadata.ElectedPreferred:
		return event.RuleElectionPreferred
	case metadata.ElectedFromElr:
		return event.RuleElectionFromElr
	case metadata.ElectedLastKnownLeader:
		return event.RuleElectionLastKnownLeader
	case metadata.ElectedUnclean:
		return event.RuleElectionUnclean
	case metadata.ElectedNobody:
		return event.RuleNoLeader
	}
	return otherwise
}
