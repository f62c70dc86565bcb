package cluster

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/event"
	"highwater/cluster/metadata"
)

// groupSettings keep a test's world small: five partitions of groups, no initial delay.
var groupSettings = map[string]string{"offsets.topic.num.partitions": "5",
	"group.initial.rebalance.delay.ms": "0"}

const (
	groupPartitions = 4
	groupTick       = 300 * time.Millisecond
)

// groupWatch is what all members of a group together have seen, and judges it.
type groupWatch struct {
	t      *testing.T
	d      *driver
	owners map[string]string // by generation and partition
	// proven is, by partition, the highest offset that a client was told to be committed.
	proven  [groupPartitions]int64
	commits int
	rounds  int
}

func watchGroup(t *testing.T, d *driver) *groupWatch {
	w := &groupWatch{t: t, d: d, owners: map[string]string{}}
	for p := range w.proven {
		w.proven[p] = -1 // nothing yet
	}
	return w
}

// groupMember is a consumer that owns partitions and commits one more offset of each at every tick.
type groupMember struct {
	w           *groupWatch
	name        string
	coordinator event.NodeID
	id          string
	generation  int32
	owned       []int32
	next        [groupPartitions]int64
	stopped     bool
}

func (w *groupWatch) member(name string) *groupMember {
	m := &groupMember{w: w, name: name, coordinator: event.NoNode}
	m.join()
	return m
}

// ask sends a request of this version to the coordinator, whom it finds first. On any trouble it
// begins anew.
func (m *groupMember) ask(version int16, body kmsg.Request, then func(kmsg.Response)) {
	if m.coordinator == event.NoNode {
		m.find(func() { m.ask(version, body, then) })
		return
	}
	body.SetVersion(version)
	request := &broker.Request{Key: body.Key(), Version: version, ClientID: m.name, Body: body}
	m.w.d.env.Request(m.coordinator, kmsg.NameForKey(body.Key()), request, 20*time.Second,
		func(answer any, err error) {
			response, ok := answer.(kmsg.Response)
			if m.stopped {
				return
			}
			if err != nil || !ok {
				m.lost()
				return
			}
			then(response)
		})
}

func (m *groupMember) later(f func()) {
	m.w.d.env.AfterQuiet("member", groupTick, func() {
		if !m.stopped {
			f()
		}
	})
}

// lost looks for the coordinator and joins again.
func (m *groupMember) lost() {
	m.coordinator, m.owned = event.NoNode, nil
	m.later(m.join)
}

func (m *groupMember) find(then func()) {
	body := kmsg.NewPtrFindCoordinatorRequest()
	body.CoordinatorKeys = []string{"g"}
	body.SetVersion(4)
	request := &broker.Request{Key: 10, Version: 4, ClientID: m.name, Body: body}
	ids := m.w.d.c.Brokers()
	to := ids[m.w.d.env.Dice().IntN(len(ids))]
	m.w.d.env.Request(to, "FindCoordinator", request, 5*time.Second, func(answer any, err error) {
		response, ok := answer.(*kmsg.FindCoordinatorResponse)
		if err != nil || !ok || response.Coordinators[0].ErrorCode != 0 {
			m.later(func() { m.find(then) })
			return
		}
		m.coordinator = event.NodeID(response.Coordinators[0].NodeID)
		then()
	})
}

// failed sorts out an error code: it says whether the caller is done.
func (m *groupMember) failed(code int16) bool {
	switch code {
	case 0:
		return false
	case kerr.MemberIDRequired.Code:
		m.join()
	case kerr.UnknownMemberID.Code:
		m.id = ""
		m.later(m.join)
	case kerr.NotCoordinator.Code, kerr.CoordinatorLoadInProgress.Code,
		kerr.CoordinatorNotAvailable.Code:
		m.lost()
	case kerr.IllegalGeneration.Code, kerr.RebalanceInProgress.Code:
		m.later(m.join)
	default:
		m.w.t.Errorf("%s is told %v", m.name, kerr.ErrorForCode(code))
	}
	return true
}

func (m *groupMember) join() {
	m.owned = nil
	r := kmsg.NewPtrJoinGroupRequest()
	r.Group, r.MemberID, r.ProtocolType = "g", m.id, "consumer"
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 6_000, 10_000
	r.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte{0, 0}}}
	m.ask(5, r, func(response kmsg.Response) {
		joined := response.(*kmsg.JoinGroupResponse)
		if joined.MemberID != "" {
			m.id = joined.MemberID
		}
		if m.failed(joined.ErrorCode) {
			return
		}
		m.generation = joined.Generation
		m.sync(joined)
	})
}

func (m *groupMember) sync(joined *kmsg.JoinGroupResponse) {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Group, r.MemberID, r.Generation = "g", m.id, m.generation
	for i, other := range joined.Members {
		var part []byte
		for p := i; p < groupPartitions; p += len(joined.Members) {
			part = binary.BigEndian.AppendUint32(part, uint32(p))
		}
		r.GroupAssignment = append(r.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{
			MemberID: other.MemberID, MemberAssignment: part})
	}
	m.ask(3, r, func(response kmsg.Response) {
		synced := response.(*kmsg.SyncGroupResponse)
		if m.failed(synced.ErrorCode) {
			return
		}
		m.w.rounds++
		for part := synced.MemberAssignment; len(part) >= 4; part = part[4:] {
			p := int32(binary.BigEndian.Uint32(part))
			m.owned = append(m.owned, p)
			key := fmt.Sprintf("generation %d partition %d", m.generation, p)
			if owner := m.w.owners[key]; owner != "" && owner != m.id {
				m.w.t.Errorf("%s: %s and %s own it", key, owner, m.id)
			}
			m.w.owners[key] = m.id
		}
		m.fetch()
	})
}

// fetch learns where to go on, and judges that nothing went back.
func (m *groupMember) fetch() {
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Group = "g"
	topic := kmsg.NewOffsetFetchRequestTopic()
	topic.Topic, topic.Partitions = "orders", m.owned
	r.Topics = append(r.Topics, topic)
	proven := m.w.proven // what was proven before it was asked
	m.ask(7, r, func(response kmsg.Response) {
		fetched := response.(*kmsg.OffsetFetchResponse)
		if m.failed(fetched.ErrorCode) {
			return
		}
		for _, p := range fetched.Topics[0].Partitions {
			if p.Offset < proven[p.Partition] {
				m.w.t.Errorf("at %v orders-%d went back from %d to %d", m.w.d.c.World().Now(),
					p.Partition, proven[p.Partition], p.Offset)
			}
			m.w.prove(p.Partition, p.Offset)
			m.next[p.Partition] = max(p.Offset, 0) + 1
		}
		m.later(m.work)
	})
}

func (w *groupWatch) prove(p int32, offset int64) { w.proven[p] = max(w.proven[p], offset) }

// work commits, which also keeps the member alive, and now and then only sends a heartbeat.
func (m *groupMember) work() {
	if len(m.owned) == 0 || m.w.d.env.Dice().IntN(4) == 0 {
		r := kmsg.NewPtrHeartbeatRequest()
		r.Group, r.MemberID, r.Generation = "g", m.id, m.generation
		m.ask(3, r, func(response kmsg.Response) {
			if !m.failed(response.(*kmsg.HeartbeatResponse).ErrorCode) {
				m.later(m.work)
			}
		})
		return
	}
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Group, r.MemberID, r.Generation = "g", m.id, m.generation
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = "orders"
	sent := m.next
	for _, p := range m.owned {
		part := kmsg.NewOffsetCommitRequestTopicPartition()
		part.Partition, part.Offset = p, sent[p]
		topic.Partitions = append(topic.Partitions, part)
	}
	r.Topics = append(r.Topics, topic)
	m.ask(7, r, func(response kmsg.Response) {
		parts := response.(*kmsg.OffsetCommitResponse).Topics[0].Partitions
		if m.failed(parts[0].ErrorCode) {
			return
		}
		m.w.commits++
		for _, p := range parts {
			m.w.prove(p.Partition, sent[p.Partition])
			m.next[p.Partition] = sent[p.Partition] + 1
		}
		m.later(m.work)
	})
}

// coordinatorOf is the broker that leads the group's partition.
func (d *driver) coordinatorOf() event.NodeID {
	for p := range int32(d.c.PartitionCount("__consumer_offsets")) {
		leader, _ := d.c.Leader("__consumer_offsets", p)
		if leader == event.NoNode || !d.c.Alive(leader) {
			continue
		}
		answer, err := d.ask(leader, "ListGroups", &broker.Request{Key: 16, Version: 4,
			ClientID: "driver", Body: kmsg.NewPtrListGroupsRequest()})
		listed, ok := answer.(*kmsg.ListGroupsResponse)
		if err == nil && ok && slices.ContainsFunc(listed.Groups,
			func(g kmsg.ListGroupsResponseGroup) bool { return g.Group == "g" }) {
			return leader
		}
	}
	return event.NoNode
}

// runGroup lets three members work while their coordinator is killed again and again.
func runGroup(t *testing.T, seed uint64, kills int) (*groupWatch, *tape) {
	c, s := start(t, Config{Seed: seed, Latency: time.Millisecond, Settings: groupSettings})
	d := drive(t, c)
	d.ready()
	d.partitions("orders", groupPartitions)
	w := watchGroup(t, d)
	first, _ := w.member("first"), w.member("second")
	working := func(n int) func() bool {
		goal := w.commits + n
		return func() bool { return w.commits >= goal }
	}
	d.until("commits", time.Minute, working(10))
	w.member("third")
	for i := range kills {
		pause := time.Duration(d.env.Dice().IntN(3000)) * time.Millisecond
		c.World().RunFor(pause)
		victim := d.coordinatorOf()
		if victim == event.NoNode {
			t.Fatalf("seed %d: nobody coordinates the group", seed)
		}
		if i == kills-1 {
			first.stopped = true // and somebody dies in the middle of it
		}
		if err := c.Kill(victim); err != nil {
			t.Fatal(err)
		}
		d.until("commits at the next coordinator", 2*time.Minute, working(10))
		if err := c.Restart(victim); err != nil {
			t.Fatal(err)
		}
		d.until("all back", time.Minute, func() bool { return len(c.Ready()) == 0 })
	}
	c.World().RunFor(20 * time.Second) // the dead member's session ends, and the rest go on
	d.until("commits at the end", time.Minute, working(20))
	return w, s
}

func (d *driver) partitions(name string, n int32) {
	d.t.Helper()
	d.partitionsOf(name, n, "1")
}

func (d *driver) partitionsOf(name string, n int32, minIsr string) {
	d.t.Helper()
	r := kmsg.NewPtrCreateTopicsRequest()
	r.Version, r.TimeoutMillis = 7, 10_000
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, n, 3
	config := kmsg.NewCreateTopicsRequestTopicConfig()
	config.Name, config.Value = "min.insync.replicas", &minIsr
	topic.Configs = append(topic.Configs, config)
	r.Topics = append(r.Topics, topic)
	active, _ := d.c.Controller()
	if _, err := d.ask(active, "CreateTopics", r); err != nil {
		d.t.Fatal(err)
	}
	d.until("topic "+name, 10*time.Second, func() bool {
		return d.c.PartitionCount(name) == int(n)
	})
}

func TestCommittedOffsetsNeverGoBackWhenTheCoordinatorIsKilled(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 3
	}
	for seed := uint64(1); seed <= seeds; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			w, s := runGroup(t, seed, 4)
			if w.rounds < 8 || len(w.owners) < 2*groupPartitions {
				t.Errorf("only %d assignments in %d rounds: nothing was tried", len(w.owners),
					w.rounds)
			}
			kinds := map[string]int{}
			for _, line := range s.lines {
				for _, kind := range []string{"GroupStateChanged", "GroupMemberJoined",
					"GroupMemberLeft", "RebalanceBegan", "RebalanceEnded", "OffsetCommitted"} {
					if strings.Contains(line, `"event":"`+kind+`"`) {
						kinds[kind]++
					}
				}
			}
			if len(kinds) != 6 {
				t.Errorf("events told: %v, want all six kinds", kinds)
			}
		})
	}
}

func TestSameSeedRunsAGroupTheSameWay(t *testing.T) {
	_, first := runGroup(t, 5, 2)
	_, second := runGroup(t, 5, 2)
	if !slices.Equal(first.lines, second.lines) {
		for i := range min(len(first.lines), len(second.lines)) {
			if first.lines[i] != second.lines[i] {
				t.Fatalf("event %d is\n%s and\n%s", i, first.lines[i], second.lines[i])
			}
		}
		t.Fatalf("%d and %d events", len(first.lines), len(second.lines))
	}
}

func TestOffsetsTopicIsCreatedAsKafkaDoes(t *testing.T) {
	c, _ := start(t, Config{Seed: 1})
	d := drive(t, c)
	d.ready()
	w := watchGroup(t, d)
	found := false
	(&groupMember{w: w, name: "one", coordinator: event.NoNode}).find(func() { found = true })
	d.until("coordinator", 30*time.Second, func() bool { return found })
	if n := c.PartitionCount("__consumer_offsets"); n != 50 {
		t.Errorf("%d partitions", n)
	}
	topic := c.Image().TopicByName("__consumer_offsets")
	if n := len(topic.Partitions[0].Replicas); n != 3 {
		t.Errorf("%d replicas", n)
	}
	for name, want := range map[string]string{"cleanup.policy": "compact",
		"segment.bytes": "104857600", "compression.type": "producer"} {
		got, _ := c.Image().ConfigValue(metadata.ResourceTopic, "__consumer_offsets", name)
		if got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestFranzGoGroupSharesItsTopicAndGoesOnAfterItsCoordinatorIsKilled(t *testing.T) {
	l := startLive(t, Config{Seed: 21, Settings: groupSettings})
	ctx := within(t, 90*time.Second)
	l.topic(ctx, "shared", 4)
	producer := l.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	produce := func(from, n int) {
		for i := from; i < from+n; i++ {
			r := &kgo.Record{Topic: "shared", Partition: int32(i % 4),
				Value: fmt.Appendf(nil, "%d", i)}
			if err := producer.ProduceSync(ctx, r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	member := func() *kgo.Client {
		return l.client(kgo.ConsumerGroup("crew"), kgo.ConsumeTopics("shared"),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(),
			kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(200*time.Millisecond))
	}
	seen := map[string]int{}
	poll := func(c *kgo.Client, limit time.Duration) {
		short := within(t, limit)
		c.PollFetches(short).EachRecord(func(r *kgo.Record) { seen[string(r.Value)]++ })
		if err := c.CommitUncommittedOffsets(ctx); err != nil {
			t.Logf("commit: %v", err) // a rebalance; what was not committed is read again
		}
	}
	until := func(what string, done func() bool, clients ...*kgo.Client) {
		for !done() {
			if ctx.Err() != nil {
				t.Fatalf("no %s: %d records seen", what, len(seen))
			}
			for _, c := range clients {
				poll(c, 200*time.Millisecond)
			}
		}
	}
	produce(0, 40)
	one := member()
	until("first forty", func() bool { return len(seen) == 40 }, one)
	two := member()
	both := func() bool {
		_, a := one.GroupMetadata()
		_, b := two.GroupMetadata()
		return a > 1 && a == b
	}
	until("second member", both, one, two)
	produce(40, 40)
	until("eighty", func() bool { return len(seen) == 80 }, one, two)
	l.killCoordinator("crew")
	produce(80, 40)
	until("hundred and twenty", func() bool { return len(seen) == 120 }, one, two)
	poll(one, 200*time.Millisecond)
	poll(two, 200*time.Millisecond)
	two.Close()
	one.Close()
	late := member()
	produce(120, 4)
	before := len(seen)
	until("last four", func() bool { return len(seen) == before+4 }, late)
	for i := range 80 {
		if n := seen[fmt.Sprint(i)]; n > 2 {
			t.Errorf("record %d was read %d times: its commit was lost", i, n)
		}
	}
}

// killCoordinator kills the broker that leads the group's partition.
func (l *liveCluster) killCoordinator(group string) {
	l.t.Helper()
	client := l.client()
	defer client.Close()
	r := kmsg.NewPtrFindCoordinatorRequest()
	r.CoordinatorKey, r.CoordinatorKeys = group, []string{group}
	response, err := r.RequestWith(within(l.t, 10*time.Second), client)
	if err != nil || len(response.Coordinators) != 1 {
		l.t.Fatalf("find the coordinator: %+v, %v", response, err)
	}
	node := event.NodeID(response.Coordinators[0].NodeID)
	l.do("", func() {
		if err := l.c.Kill(node); err != nil {
			l.t.Error(err)
		}
	})
}
