package client

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/world"
)

// What a consumer believes of its membership.
const (
	memberUnjoined = "unjoined"
	memberJoining  = "joining"
	memberStable   = "stable"
)

// membership is a consumer's side of a classic group (Java's ConsumerCoordinator). Only poll()
// joins; heartbeats, which tell that the process lives, and the poll clock, which tells that the
// application does, run beside it.
type membership struct {
	c           *Consumer
	coordinator coordinator
	id          string
	generation  int32
	// last is the member of the last completed join: that is whom a transaction's offsets are
	// sent for, so that one who was thrown out since is refused (Java's groupMetadata).
	last struct {
		id         string
		generation int32
	}
	state    string
	rejoin   bool // to be joined anew by the next poll
	lost     bool // what is owned was given to others without asking
	round    int  // answers to an older join do not count
	protocol string
	// divided are the sizes of the topics that this member divided as the group's leader, nil of
	// another.
	divided map[string]int32
	beat    *world.Timer
	beating bool
	// fenced says that another process has taken this one's group.instance.id, for good: poll()
	// throws and the application ends (AbstractCoordinator).
	fenced    bool
	pollClock *world.Timer
}

func (m *membership) init(c *Consumer) {
	m.c, m.generation, m.last.generation, m.state = c, -1, -1, memberUnjoined
	m.coordinator = coordinatorOf(0, c.config.Group)
}

func (m *membership) move(to, reason string, rule event.Rule) {
	m.state = to
	event.MembershipChanged{Group: m.c.config.Group, Member: m.id, Generation: m.generation,
		State: to, Reason: reason}.Emit(m.c.env.Events, rule)
}

// ready says whether poll() may go on; otherwise it begins to join.
func (m *membership) ready() bool {
	switch {
	case m.fenced:
		if m.lost {
			m.lost = false
			m.c.disownAll("lost", event.RuleNone)
		}
		m.c.endPoll(nil, kerr.FencedInstanceID.Code)
		return false
	case m.state == memberJoining:
		return false
	case m.state == memberStable && !m.rejoin && !m.resized():
		return true
	}
	reason := "the group rebalances"
	if m.resized() {
		reason = "the partitions of what the group reads have changed"
	}
	if m.state == memberUnjoined {
		reason = "the consumer polls"
	}
	m.rejoin = false
	m.move(memberJoining, reason, event.RuleNone)
	m.beat.Stop()
	m.round++
	if m.c.config.AutoCommit && !m.lost && len(m.c.positions) > 0 {
		round := m.round
		m.c.commit("revoke", func(int16) {
			if m.round == round {
				m.giveUpAndJoin()
			}
		})
		return false
	}
	m.giveUpAndJoin()
	return false
}

// giveUpAndJoin revokes what the protocol says must be given up before joining.
func (m *membership) giveUpAndJoin() {
	if m.lost {
		m.lost = false
		m.c.disownAll("lost", event.RuleNone)
	} else if !m.c.config.cooperative() {
		m.c.disownAll("rebalance", event.RuleNone)
	}
	m.join()
}

func (m *membership) join() {
	c, round := m.c, m.round
	o := c.begin(timeMax, func(code int16) { m.failed(round, code) })
	o.patience = c.config.MaxPollInterval + 5*time.Second
	o.attempt = func() {
		if m.round != round {
			return
		}
		body := kmsg.NewPtrJoinGroupRequest()
		body.Group, body.MemberID, body.InstanceID = c.config.Group, m.id, m.instance()
		body.SessionTimeoutMillis = millis(c.config.SessionTimeout)
		body.RebalanceTimeoutMillis = millis(c.config.MaxPollInterval)
		body.ProtocolType = "consumer"
		for _, name := range c.config.strategies() {
			protocol := kmsg.NewJoinGroupRequestProtocol()
			protocol.Name, protocol.Metadata = name, m.subscription()
			body.Protocols = append(body.Protocols, protocol)
		}
		askCoordinator(o, &m.coordinator, 9, body,
			func(r *kmsg.JoinGroupResponse) int16 { return r.ErrorCode },
			func(r *kmsg.JoinGroupResponse, code int16) {
				if m.round == round {
					m.joined(o, r, code)
				}
			})
	}
	o.attempt()
}

func (m *membership) instance() *string {
	if m.c.config.GroupInstance == "" {
		return nil
	}
	return &m.c.config.GroupInstance
}

func (m *membership) joined(o *operation, r *kmsg.JoinGroupResponse, code int16) {
	switch code {
	case 0:
	case kerr.MemberIDRequired.Code:
		m.id = r.MemberID
		o.attempt()
		return
	case kerr.UnknownMemberID.Code, kerr.IllegalGeneration.Code:
		m.forget()
		o.retry(code)
		return
	default:
		if kerr.IsRetriable(kerr.ErrorForCode(code)) {
			o.retry(code)
			return
		}
		m.failed(m.round, code)
		return
	}
	m.id, m.generation = r.MemberID, r.Generation
	if r.Protocol != nil {
		m.protocol = *r.Protocol
	}
	if r.LeaderID != r.MemberID {
		m.divided = nil
		m.sync(nil)
		return
	}
	m.assign(r.Members, r.SkipAssignment)
}

// failed gives joining up: poll() throws, and the next one tries again. An older round has nothing
// to give up any more.
func (m *membership) failed(round int, code int16) {
	if m.round != round || m.state != memberJoining {
		return
	}
	m.fenced = m.fenced || code == kerr.FencedInstanceID.Code
	m.move(memberUnjoined, event.ErrorName(code), event.RuleNone)
	m.c.endPoll(nil, code)
}

// forget drops the member id, and with it the generation.
func (m *membership) forget() { m.id, m.generation = "", -1 }

func (m *membership) sync(assignments []kmsg.SyncGroupRequestGroupAssignment) {
	c, round := m.c, m.round
	o := c.begin(timeMax, func(code int16) { m.failed(round, code) })
	o.attempt = func() {
		if m.round != round {
			return
		}
		body := kmsg.NewPtrSyncGroupRequest()
		body.Group, body.MemberID, body.Generation = c.config.Group, m.id, m.generation
		body.InstanceID, body.GroupAssignment = m.instance(), assignments
		kind := "consumer"
		body.ProtocolType, body.Protocol = &kind, &m.protocol
		askCoordinator(o, &m.coordinator, 5, body,
			func(r *kmsg.SyncGroupResponse) int16 { return r.ErrorCode },
			func(r *kmsg.SyncGroupResponse, code int16) {
				if m.round == round {
					m.synced(r, code)
				}
			})
	}
	o.attempt()
}

func (m *membership) synced(r *kmsg.SyncGroupResponse, code int16) {
	var assignment kmsg.ConsumerMemberAssignment
	if code == 0 && len(r.MemberAssignment) > 0 && assignment.ReadFrom(r.MemberAssignment) != nil {
		code = kerr.UnknownServerError.Code
	}
	switch code {
	case 0:
		m.adopt(&assignment)
	case kerr.RebalanceInProgress.Code:
		m.join()
	case kerr.UnknownMemberID.Code, kerr.IllegalGeneration.Code:
		m.forget()
		m.join()
	default:
		m.failed(m.round, code)
	}
}

// adopt takes over the assignment. A cooperative consumer that had to give something up joins
// again, so that somebody else can get it (KIP-429).
func (m *membership) adopt(assignment *kmsg.ConsumerMemberAssignment) {
	c := m.c
	assigned := map[topicPartition]bool{}
	var keys []topicPartition
	for i := range assignment.Topics {
		for _, p := range assignment.Topics[i].Partitions {
			key := topicPartition{assignment.Topics[i].Topic, p}
			assigned[key] = true
			keys = append(keys, key)
		}
	}
	m.last.id, m.last.generation = m.id, m.generation
	m.move(memberStable, "assigned", event.RuleGroupAssignmentStored)
	var revoked []topicPartition
	for _, p := range c.positions {
		if !assigned[p.key] {
			revoked = append(revoked, p.key)
		}
	}
	for _, key := range revoked {
		c.disown(key, "rebalance", event.RuleNone)
	}
	for _, key := range keys {
		c.own(key, m.generation)
	}
	for _, p := range c.positions {
		if p.generation != m.generation { // kept through the rebalance
			c.renew(p, m.generation)
		}
	}
	m.rejoin = len(revoked) > 0
	c.lastCommit = c.env.Now()
	m.startHeartbeat()
	m.startPollClock()
	c.advance()
}

func (m *membership) startHeartbeat() {
	m.beat.Stop()
	m.beat = m.c.env.AfterQuiet("heartbeat", m.c.config.HeartbeatEvery, m.heartbeat)
}

func (m *membership) heartbeat() {
	c, round := m.c, m.round
	m.startHeartbeat()
	if m.beating || m.state != memberStable {
		return
	}
	m.beating = true
	o := c.begin(c.config.SessionTimeout, func(int16) { m.beating = false })
	o.attempt = func() {
		body := kmsg.NewPtrHeartbeatRequest()
		body.Group, body.MemberID, body.Generation = c.config.Group, m.id, m.generation
		body.InstanceID = m.instance()
		askCoordinator(o, &m.coordinator, 4, body,
			func(r *kmsg.HeartbeatResponse) int16 { return r.ErrorCode },
			func(_ *kmsg.HeartbeatResponse, code int16) {
				m.beating = false
				if m.round == round {
					m.heard(code)
				}
			})
	}
	o.attempt()
}

// heard acts on what the coordinator says of the membership.
func (m *membership) heard(code int16) {
	if m.state != memberStable {
		return
	}
	switch code {
	case kerr.RebalanceInProgress.Code:
		m.rejoin = true
	case kerr.UnknownMemberID.Code, kerr.IllegalGeneration.Code, kerr.FencedInstanceID.Code:
		m.fenced = code == kerr.FencedInstanceID.Code
		m.fallOut(event.ErrorName(code), event.RuleNone)
	default:
		return
	}
	m.c.advance()
}

// fallOut ends the membership without having been asked to give anything up. What is owned is
// given up by the next poll: until then the application knows nothing of it.
func (m *membership) fallOut(reason string, rule event.Rule) {
	if m.state != memberStable {
		return
	}
	m.forget()
	m.lost = true
	m.beat.Stop()
	m.move(memberUnjoined, reason, rule)
}

// polled keeps the poll clock from running out.
func (m *membership) polled() {
	if m.state == memberStable && !m.pollClock.Armed() {
		m.startPollClock()
	}
}

func (m *membership) startPollClock() {
	m.pollClock.Stop()
	m.pollClock = m.c.env.AfterQuiet("max-poll-interval", m.c.config.MaxPollInterval, m.checkPoll)
}

// checkPoll leaves the group when the application has not polled for too long.
func (m *membership) checkPoll() {
	if m.state != memberStable {
		return
	}
	left := m.c.lastPoll + m.c.config.MaxPollInterval - m.c.env.Now()
	if m.c.polling != nil {
		left = m.c.config.MaxPollInterval
	}
	if left > 0 {
		m.pollClock = m.c.env.AfterQuiet("max-poll-interval", left, m.checkPoll)
		return
	}
	m.leave("consumer poll timeout has expired", func() {})
	m.fallOut("max.poll.interval.ms has passed without a poll", event.RuleMaxPollInterval)
}

// leave tells the coordinator; a static member stays, and comes back under the same name.
func (m *membership) leave(reason string, done func()) {
	if m.id == "" || m.c.config.GroupInstance != "" {
		done()
		return
	}
	o := m.c.begin(requestTimeout, func(int16) { done() })
	member := kmsg.NewLeaveGroupRequestMember()
	member.MemberID, member.Reason = m.id, &reason
	o.attempt = func() {
		body := kmsg.NewPtrLeaveGroupRequest()
		body.Group = m.c.config.Group
		body.Members = []kmsg.LeaveGroupRequestMember{member}
		askCoordinator(o, &m.coordinator, 5, body,
			func(r *kmsg.LeaveGroupResponse) int16 { return r.ErrorCode },
			func(*kmsg.LeaveGroupResponse, int16) { done() })
	}
	o.attempt()
}
