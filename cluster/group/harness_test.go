package group

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/world"
)

// bench is one coordinator in a world of its own, with a log that commits when the test says so.
type bench struct {
	t      *testing.T
	world  *world.World
	env    *world.Env
	c      *Coordinator
	events []string
	log    []Record // committed
	open   []write
	// held keeps appended records from being committed.
	held bool
}

type write struct {
	records []Record
	by      Author
	then    func(int16)
}

const nodeID event.NodeID = 1

type idle struct{}

func (idle) Deliver(*world.Call)       {}
func (idle) Disconnected(event.NodeID) {}

func (b *bench) Publish(full *event.Chunk) *event.Chunk {
	for i := range full.Records {
		b.events = append(b.events, string(full.AppendJSON(nil, &full.Records[i])))
	}
	return &event.Chunk{}
}

// Append, of Log: the records are committed later, as under a real high watermark. What a topic
// would not take is refused.
func (b *bench) Append(records []Record, by Author, then func(int16)) {
	size := 0
	for _, r := range records {
		size += len(r.Key) + len(r.Value)
	}
	if size > 1<<20 {
		then(kerr.InvalidCommitOffsetSize.Code)
		return
	}
	b.open = append(b.open, write{records, by, then})
	if !b.held {
		b.env.AfterQuiet("commit", time.Millisecond, b.commit)
	}
}

// AppendInTransaction, of Log: what it writes counts when the test ends the transaction.
func (b *bench) AppendInTransaction(records []Record, producer int64, _ int16, then func(int16)) {
	for _, r := range records {
		if err := b.c.ReplayInTransaction(producer, r); err != nil {
			b.t.Error(err)
		}
	}
	then(0)
}

func (b *bench) commit() {
	for _, w := range b.open {
		for _, r := range w.records {
			b.log = append(b.log, r)
			if err := b.c.Replay(r, w.by); err != nil {
				b.t.Error(err)
			}
		}
		w.then(0)
	}
	b.open = nil
}

func newBench(t *testing.T, settings Settings) *bench {
	t.Helper()
	b := &bench{t: t}
	b.world = world.New(world.Config{Seed: 1, Origin: time.UnixMilli(1795961063540), Events: b,
		PanicThrough: true})
	b.world.Add(world.Spec{ID: nodeID, Role: "broker",
		Start: func(env *world.Env) (world.Node, error) { b.env = env; return idle{}, nil }})
	if err := b.world.StartNode(nodeID); err != nil {
		t.Fatal(err)
	}
	b.c = New(b.env, b, settings)
	b.c.Loaded()
	return b
}

// quick are settings without an initial delay.
func quick() Settings {
	s := DefaultSettings()
	s.InitialRebalanceDelay = 0
	return s
}

func (b *bench) pass(d time.Duration) { b.world.RunFor(d) }

func (b *bench) joinRequest(id string) *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID, r.ProtocolType = 3, "g", id, consumerProtocol
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 10_000, 60_000
	subscribed := kmsg.NewConsumerMemberMetadata()
	subscribed.Topics = []string{"orders"}
	r.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscribed.AppendTo(nil)}}
	return r
}

// join sends a JoinGroup; what it returns is nil until there is an answer.
func (b *bench) join(r *kmsg.JoinGroupRequest) **kmsg.JoinGroupResponse {
	answer := new(*kmsg.JoinGroupResponse)
	b.c.Join(Client{ID: "test", Host: "/127.0.0.1"}, r, func(response *kmsg.JoinGroupResponse) {
		if *answer != nil {
			b.t.Error("JoinGroup is answered twice")
		}
		*answer = response
	})
	return answer
}

func (b *bench) sync(id string, generation int32, parts ...string) **kmsg.SyncGroupResponse {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 3, "g", id, generation
	for i := 0; i < len(parts); i += 2 {
		r.GroupAssignment = append(r.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{
			MemberID: parts[i], MemberAssignment: []byte(parts[i+1])})
	}
	answer := new(*kmsg.SyncGroupResponse)
	b.c.Sync(r, func(response *kmsg.SyncGroupResponse) {
		if *answer != nil {
			b.t.Error("SyncGroup is answered twice")
		}
		*answer = response
	})
	return answer
}

func (b *bench) heartbeat(id string, generation int32) string {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Group, r.MemberID, r.Generation = "g", id, generation
	return nameOf(b.c.Heartbeat(r))
}

func nameOf(code int16) string {
	if code == 0 {
		return "NONE"
	}
	text, _, _ := strings.Cut(kerr.ErrorForCode(code).Error(), ":")
	return text
}

// alone makes a stable group of one member.
func (b *bench) alone() (id string) {
	b.t.Helper()
	joined := b.join(b.joinRequest(""))
	b.pass(time.Second)
	if *joined == nil || (*joined).ErrorCode != 0 {
		b.t.Fatalf("join: %+v", *joined)
	}
	id = (*joined).MemberID
	synced := b.sync(id, 1, id, "all")
	b.pass(time.Second)
	if *synced == nil || string((*synced).MemberAssignment) != "all" {
		b.t.Fatalf("sync: %+v", *synced)
	}
	return id
}

func (b *bench) state() string { return b.c.Describe("g", 6, false).State }

func (b *bench) wantState(want string) {
	b.t.Helper()
	if got := b.state(); got != want {
		b.t.Errorf("at %v the group is %s, want %s", b.world.Now(), got, want)
	}
}

func (b *bench) commitOffset(offset int64) *int16 {
	code := new(int16)
	*code = -100
	who := Committer{Group: "g", Generation: -1, Version: 8}
	if refused := b.c.CheckCommit(who); refused != 0 {
		*code = refused
		return code
	}
	b.c.Commit(who, []Commit{{Partition{"orders", 0}, Committed{Offset: offset, LeaderEpoch: -1,
		Timestamp: b.env.UnixMilli(), Expires: -1}}}, func(c int16) { *code = c })
	return code
}
