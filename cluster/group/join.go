package group

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/world"
)

// memberIDRequiredFrom is the version of JoinGroup whose clients come back with the id that they
// are given, so that those who never do leave no member behind (KIP-394).
const memberIDRequiredFrom = 4

// Join takes a JoinGroup; it is answered when the rebalance that it is part of has everybody.
func (c *Coordinator) Join(client Client, r *kmsg.JoinGroupRequest,
	reply func(*kmsg.JoinGroupResponse)) {
	j := &joining{c: c, client: client, request: r}
	j.reply = func(a joined) { reply(joinResponse(r, a)) }
	session := milliseconds(r.SessionTimeoutMillis)
	if session < c.settings.SessionTimeoutMin || session > c.settings.SessionTimeoutMax {
		j.refuse(kerr.InvalidSessionTimeout.Code)
		return
	}
	j.g = c.find(r.Group)
	if j.g == nil && r.MemberID != "" {
		j.refuse(kerr.UnknownMemberID.Code)
		return
	}
	if j.g == nil {
		j.g = c.findOrCreate(r.Group)
		j.recordNewGroup()
	}
	switch {
	case !j.fits():
		j.g.takePending(r.MemberID)
		j.refuse(kerr.GroupMaxSizeReached.Code)
	case !j.g.accepts(r.ProtocolType, r.Protocols):
		j.refuse(kerr.InconsistentGroupProtocol.Code)
	case r.MemberID == "":
		j.newcomer()
	default:
		j.knownMember()
	}
}

// joining is one JoinGroup being handled.
type joining struct {
	c       *Coordinator
	g       *group
	client  Client
	request *kmsg.JoinGroupRequest
	reply   func(joined)
}

func (j *joining) refuse(code int16) {
	j.reply(joined{code: code, memberID: j.request.MemberID, generation: -1})
}

// recordNewGroup writes a group that was just made to the log, as Kafka does. Nobody waits for it:
// a group whose record is lost has nothing that its members do not bring again.
func (j *joining) recordNewGroup() {
	j.c.log.Append([]Record{j.c.record(j.g, nil)}, Author{}, func(int16) {})
}

// fits says whether group.max.size leaves room. Who has an id already has its place.
func (j *joining) fits() bool {
	room := j.c.settings.MembersMax - len(j.g.members)
	if j.g.member(j.request.MemberID) != nil {
		return room >= 0
	}
	return room > 0
}

// newcomer gives an id to somebody who has none.
func (j *joining) newcomer() {
	r := j.request
	prefix := j.client.ID
	if r.InstanceID != nil {
		prefix = *r.InstanceID
	}
	id := prefix + "-" + hyphenated(j.c.env)
	switch {
	case r.InstanceID != nil:
		if old := j.g.static(*r.InstanceID); old != nil {
			j.replaceStatic(old, id)
			return
		}
		j.add(id)
	case r.Version >= memberIDRequiredFrom:
		j.addPending(id)
	default:
		j.add(id)
	}
}

func (j *joining) addPending(id string) {
	c, g := j.c, j.g
	expires := c.env.AfterQuiet("group-pending-member", milliseconds(j.request.SessionTimeoutMillis),
		func() {
			if g.takePending(id) {
				c.maybeCompleteJoin(g)
			}
		})
	g.pending = append(g.pending, pendingMember{id: id, expires: expires})
	j.reply(joined{code: kerr.MemberIDRequired.Code, memberID: id, generation: -1})
}

// hyphenated is an identifier as Java's UUID prints it.
func hyphenated(env *world.Env) string {
	const hex = "0123456789abcdef"
	id := env.UUID()
	text := make([]byte, 0, 36)
	for i, b := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			text = append(text, '-')
		}
		text = append(text, hex[b>>4], hex[b&15])
	}
	return string(text)
}

// knownMember takes back somebody who has an id.
func (j *joining) knownMember() {
	r := j.request
	if j.g.takePending(r.MemberID) {
		j.add(r.MemberID)
		return
	}
	if code := j.g.check(r.MemberID, r.InstanceID); code != 0 {
		j.refuse(code)
		return
	}
	m := j.g.member(r.MemberID)
	switch j.g.state {
	case PreparingRebalance:
		j.update(m, "comes back")
	case CompletingRebalance:
		if m.matches(r.Protocols) {
			j.repeat(m) // it lost the answer
			return
		}
		j.update(m, "comes back with other protocols")
	case Stable:
		switch {
		case m.id == j.g.leader:
			j.update(m, "that leads the group comes back")
		case !m.matches(r.Protocols):
			j.update(m, "comes back with other protocols")
		default:
			j.repeat(m)
		}
	default:
		j.refuse(kerr.UnknownMemberID.Code)
	}
}

// check says whether a member may speak: it must be one, and the one of its instance id.
func (g *group) check(id string, instance *string) int16 {
	if instance != nil {
		known := g.static(*instance)
		if known == nil {
			return kerr.UnknownMemberID.Code
		}
		if known.id != id {
			return kerr.FencedInstanceID.Code
		}
	}
	if g.member(id) == nil {
		return kerr.UnknownMemberID.Code
	}
	return 0
}

// add makes a member and has the group rebalance.
func (j *joining) add(id string) {
	g, r := j.g, j.request
	m := &member{id: id, instance: r.InstanceID, isNew: true}
	j.fill(m)
	if len(g.members) == 0 {
		g.protocolType = r.ProtocolType
	}
	if g.leader == "" {
		g.leader = id
	}
	g.members = append(g.members, m)
	if g.state == PreparingRebalance && g.before == Empty {
		g.newMemberAdded = true
	}
	reason := reasonOf(r.Reason, "it is new")
	event.GroupMemberJoined{Group: g.id, Member: id, ClientID: m.clientID, Reason: reason}.
		Emit(j.c.env.Events, event.RuleNone)
	m.join = j.reply
	j.c.armSession(g, m, j.c.settings.NewMemberJoinTimeout)
	j.c.rebalanceOrCompleteJoin(g, "a member joins")
}

// fill takes over what the request says of its member.
func (j *joining) fill(m *member) {
	r := j.request
	m.clientID, m.host = j.client.ID, j.client.Host
	m.sessionTimeout = milliseconds(r.SessionTimeoutMillis)
	m.rebalanceTimeout = milliseconds(r.RebalanceTimeoutMillis)
	if r.RebalanceTimeoutMillis < 0 {
		m.rebalanceTimeout = m.sessionTimeout // version 0 has no timeout of its own
	}
	m.protocols = slices.Clone(r.Protocols)
}

// update takes a member's new JoinGroup in place of what it joined with before.
func (j *joining) update(m *member, reason string) {
	m.answerJoin(joined{code: kerr.UnknownMemberID.Code, memberID: m.id, generation: -1})
	j.fill(m)
	m.join = j.reply
	j.c.rebalanceOrCompleteJoin(j.g, reasonOf(j.request.Reason, "a member "+reason))
}

// repeat tells a member what it has been told before.
func (j *joining) repeat(m *member) {
	a := j.g.joinedBy(m, m.id == j.g.leader && j.g.state == CompletingRebalance)
	j.reply(a)
}

// replaceStatic lets a restarted process take the place of the one with its instance id. Where that
// changes nothing for the others, nobody has to rebalance (KIP-345).
func (j *joining) replaceStatic(m *member, id string) {
	c, g := j.c, j.g
	old := m.id
	m.answerJoin(joined{code: kerr.FencedInstanceID.Code, memberID: old, generation: -1})
	m.answerSync(synced{code: kerr.FencedInstanceID.Code})
	same := m.matches(j.request.Protocols)
	voted := g.protocol
	j.fill(m)
	m.id = id
	if g.leader == old {
		g.leader = id
	}
	event.GroupMemberJoined{Group: g.id, Member: id, ClientID: m.clientID,
		Reason: "it takes the place of " + old}.Emit(c.env.Events, event.RuleNone)
	c.armSession(g, m, m.sessionTimeout)
	switch {
	case g.state == Stable && (same || g.vote() == voted):
		j.keepStable(m, old)
	case g.state == CompletingRebalance || g.state == Stable:
		m.join = j.reply
		c.prepareRebalance(g, "a static member comes back with other protocols")
	default:
		m.join = j.reply
		c.rebalanceOrCompleteJoin(g, "a static member comes back")
	}
}

// keepStable writes the new member id down before it counts.
func (j *joining) keepStable(m *member, old string) {
	assignments := map[string][]byte{}
	for _, x := range j.g.members {
		assignments[x.id] = x.assignment
	}
	// A leader that is told to skip the assignment still gets the list of members (version 9).
	skips := j.request.Version >= 9 && m.id == j.g.leader
	answer := j.g.joinedBy(m, skips)
	answer.skipAssignment = skips
	if !skips && m.id == j.g.leader {
		// An older leader would compute an assignment that nobody asked for. It is told of the
		// leader that is gone, so that it just asks for its part.
		answer.leader = old
	}
	j.c.log.Append([]Record{j.c.record(j.g, assignments)}, Author{Member: m.id},
		func(code int16) {
			if code != 0 {
				answer = joined{code: code, memberID: j.request.MemberID, generation: -1}
			}
			j.reply(answer)
		})
}

// joinedBy is what a member is told of the generation; only its leader gets everybody's metadata.
func (g *group) joinedBy(m *member, withMembers bool) joined {
	protocolType, protocol := g.protocolType, g.protocol
	a := joined{memberID: m.id, generation: g.generation, leader: g.leader,
		protocolType: &protocolType, protocol: &protocol}
	if !withMembers {
		return a
	}
	for _, x := range g.members {
		listed := kmsg.NewJoinGroupResponseMember()
		listed.MemberID, listed.InstanceID = x.id, x.instance
		listed.ProtocolMetadata = x.metadata(g.protocol)
		a.members = append(a.members, listed)
	}
	return a
}

func joinResponse(r *kmsg.JoinGroupRequest, a joined) *kmsg.JoinGroupResponse {
	response := r.ResponseKind().(*kmsg.JoinGroupResponse)
	response.ErrorCode, response.MemberID, response.Generation = a.code, a.memberID, a.generation
	response.ProtocolType, response.Protocol, response.LeaderID = a.protocolType, a.protocol, a.leader
	response.SkipAssignment, response.Members = a.skipAssignment, a.members
	if response.Protocol == nil && r.Version < 7 {
		response.Protocol = new(string)
	}
	return response
}

func reasonOf(told *string, otherwise string) string {
	if told != nil && *told != "" {
		return *told
	}
	return otherwise
}
