package group

import (
	"cmp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/world"
)

// State is where a group is in its life.
type State int8

// The states of Kafka's ClassicGroupState.
const (
	Empty State = iota
	PreparingRebalance
	CompletingRebalance
	Stable
	Dead
)

// String is the state's name in Kafka.
func (s State) String() string {
	return [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"}[s]
}

// group is one group. What is under "replayed" changes only by replaying a committed record; the
// rest is the round in progress, which dies with the coordinator and which members bring again.
type group struct {
	id string

	// Replayed.
	offsets map[Partition]Committed
	// open are the offsets of transactions without an end yet, by producer id.
	open     map[int64]map[Partition]Committed
	recorded *kmsg.GroupMetadataValue // the last, nil before the first

	// The round in progress.
	state          State
	before         State // the state that this one was entered from
	since          int64 // wall clock in ms at which state was entered
	generation     int32
	protocolType   string
	protocol       string // "" until members have agreed
	leader         string
	members        []*member // in the order in which they joined
	pending        []pendingMember
	newMemberAdded bool // while the initial delay runs
	joinTimer      *world.Timer
	syncTimer      *world.Timer
	job            int64 // of the rebalance under way, 0 when there is none
}

// pendingMember was given an id and has not come back with it yet.
type pendingMember struct {
	id      string
	expires *world.Timer
}

// member is one member of a group.
type member struct {
	id               string
	instance         *string // group.instance.id, nil for a dynamic member
	clientID         string
	host             string
	rebalanceTimeout time.Duration
	sessionTimeout   time.Duration
	protocols        []kmsg.JoinGroupRequestProtocol // the preferred first
	assignment       []byte
	// isNew holds until its first JoinGroup is answered: it cannot send heartbeats before.
	isNew  bool
	toSync bool // has been told of the generation and has not asked for its assignment yet
	join   func(joined)
	sync   func(synced)
	// session fires at the session's end, or earlier when a heartbeat has moved the end since.
	session *world.Timer
	due     time.Duration // by the node's clock
}

// joined is what a JoinGroup comes to.
type joined struct {
	code           int16
	memberID       string
	generation     int32
	protocolType   *string
	protocol       *string
	leader         string
	skipAssignment bool
	members        []kmsg.JoinGroupResponseMember
}

// synced is what a SyncGroup comes to.
type synced struct {
	code         int16
	protocolType *string
	protocol     *string
	assignment   []byte
}

func (g *group) member(id string) *member {
	at := slices.IndexFunc(g.members, func(m *member) bool { return m.id == id })
	if at < 0 {
		return nil
	}
	return g.members[at]
}

// static finds the member of an instance id.
func (g *group) static(instance string) *member {
	at := slices.IndexFunc(g.members, func(m *member) bool {
		return m.instance != nil && *m.instance == instance
	})
	if at < 0 {
		return nil
	}
	return g.members[at]
}

func (g *group) pendingIndex(id string) int {
	return slices.IndexFunc(g.pending, func(p pendingMember) bool { return p.id == id })
}

func (g *group) takePending(id string) bool {
	at := g.pendingIndex(id)
	if at < 0 {
		return false
	}
	g.pending[at].expires.Stop()
	g.pending = slices.Delete(g.pending, at, at+1)
	return true
}

// canRebalance says whether a rebalance may begin.
func (g *group) canRebalance() bool {
	return g.state == Empty || g.state == Stable || g.state == CompletingRebalance
}

// allJoined says whether everybody who is known waits in JoinGroup.
func (g *group) allJoined() bool {
	return len(g.pending) == 0 &&
		!slices.ContainsFunc(g.members, func(m *member) bool { return m.join == nil })
}

// rebalanceTimeout is the longest of the members'.
func (g *group) rebalanceTimeout() time.Duration {
	var longest time.Duration
	for _, m := range g.members {
		longest = max(longest, m.rebalanceTimeout)
	}
	return longest
}

// supported says whether every member supports a protocol.
func (g *group) supported(name string) bool {
	return !slices.ContainsFunc(g.members, func(m *member) bool { return !m.supports(name) })
}

// accepts says whether somebody with these protocols can be in the group (besides the member that
// is only coming back).
func (g *group) accepts(protocolType string, protocols []kmsg.JoinGroupRequestProtocol) bool {
	if g.state == Empty || len(g.members) == 0 {
		return protocolType != "" && len(protocols) > 0
	}
	return g.protocolType == protocolType &&
		slices.ContainsFunc(protocols, func(p kmsg.JoinGroupRequestProtocol) bool {
			return g.supported(p.Name)
		})
}

// vote picks the protocol that most members prefer among those that all support; of equals the
// one whose first vote came from the oldest member.
func (g *group) vote() string {
	var names []string
	votes := map[string]int{}
	for _, m := range g.members {
		for _, p := range m.protocols {
			if g.supported(p.Name) {
				if votes[p.Name] == 0 {
					names = append(names, p.Name)
				}
				votes[p.Name]++
				break
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return slices.MaxFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(votes[a], votes[b]),
			cmp.Compare(slices.Index(names, b), slices.Index(names, a)))
	})
}

// subscribed says whether a member consumes the topic. Groups that do not speak the consumer's
// protocol, and members whose metadata nobody can read, count as subscribed to nothing.
func (g *group) subscribed(topic string) bool {
	if g.protocolType != consumerProtocol {
		return false
	}
	return slices.ContainsFunc(g.members, func(m *member) bool {
		return len(m.protocols) > 0 && slices.Contains(subscription(m.metadata(g.protocol)), topic)
	})
}

// consumerProtocol is the protocol type of consumers, as opposed to Connect's workers.
const consumerProtocol = "consumer"

func subscription(metadata []byte) []string {
	var read kmsg.ConsumerMemberMetadata
	if err := read.ReadFrom(metadata); err != nil {
		return nil
	}
	return read.Topics
}

func (m *member) supports(name string) bool {
	return slices.ContainsFunc(m.protocols, func(p kmsg.JoinGroupRequestProtocol) bool {
		return p.Name == name
	})
}

// metadata is what the member said for a protocol, or for its preferred one.
func (m *member) metadata(protocol string) []byte {
	for _, p := range m.protocols {
		if p.Name == protocol {
			return p.Metadata
		}
	}
	if protocol == "" && len(m.protocols) > 0 {
		return m.protocols[0].Metadata
	}
	return nil
}

// matches says whether the member would join with exactly what it has joined with.
func (m *member) matches(protocols []kmsg.JoinGroupRequestProtocol) bool {
	return slices.EqualFunc(m.protocols, protocols, func(a, b kmsg.JoinGroupRequestProtocol) bool {
		return a.Name == b.Name && string(a.Metadata) == string(b.Metadata)
	})
}

// answerJoin answers a waiting JoinGroup, if one waits.
func (m *member) answerJoin(a joined) {
	if reply := m.join; reply != nil {
		m.join = nil
		reply(a)
	}
}

func (m *member) answerSync(a synced) {
	if reply := m.sync; reply != nil {
		m.sync = nil
		reply(a)
	}
}
