package controller

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

const testClusterID = "4L6g3nShT-eMCtK--X86sw"

// cluster is three controllers and some brokers that do only what a controller sees of a broker.
type cluster struct {
	t       *testing.T
	world   *world.World
	quorum  *Quorum
	disks   map[event.NodeID]*disk.Disk
	brokers map[event.NodeID]*brokerPlace
	events  *collector
	down    map[event.NodeID]bool
}

// collector keeps every event, as lines of JSON and as records.
type collector struct {
	lines []string
	kinds []event.Kind
	nodes []event.NodeID
}

func (c *collector) Publish(full *event.Chunk) *event.Chunk {
	for i := range full.Records {
		c.lines = append(c.lines, string(full.AppendJSON(nil, &full.Records[i])))
		c.kinds = append(c.kinds, full.Records[i].Kind)
		c.nodes = append(c.nodes, full.Records[i].Node)
	}
	return &event.Chunk{}
}

// told returns the events of a kind, as JSON.
func (c *collector) told(kind event.Kind) (lines []string) {
	for i, k := range c.kinds {
		if k == kind {
			lines = append(lines, c.lines[i])
		}
	}
	return lines
}

func newCluster(t *testing.T, seed uint64, brokers int) *cluster {
	return newClusterIn(t, world.Config{Seed: seed}, brokers)
}

func newClusterIn(t *testing.T, config world.Config, brokers int) *cluster {
	c := &cluster{t: t, events: &collector{}, disks: map[event.NodeID]*disk.Disk{},
		brokers: map[event.NodeID]*brokerPlace{}, down: map[event.NodeID]bool{}}
	config.Origin, config.Events = time.UnixMilli(1795961063540), c.events
	config.Latency, config.PanicThrough = 200*time.Microsecond, true
	config.NodeFailed = func(id event.NodeID, _ string) { c.afterStop(id) }
	c.world = world.New(config)
	var voters []Voter
	for i := range 3 {
		voters = append(voters, Voter{ID: event.NodeID(101 + i), Host: "localhost",
			Port: uint16(9193 + i)})
	}
	c.quorum = NewQuorum(c.world, voters)
	for _, v := range voters {
		c.disks[v.ID] = disk.NewMemory(disk.Options{})
		c.world.Add(world.Spec{ID: v.ID, Role: "controller", Start: func(env *world.Env) (
			world.Node, error) {
			return New(env, c.quorum, Config{ClusterID: testClusterID, Disk: c.disks[v.ID]})
		}})
	}
	for i := range brokers {
		id := event.NodeID(1 + i)
		place := &brokerPlace{previousEpoch: -1}
		c.brokers[id] = place
		c.world.Add(world.Spec{ID: id, Role: "broker", Start: func(env *world.Env) (
			world.Node, error) {
			return startBroker(env, c.quorum.IDs(), place), nil
		}})
	}
	for _, id := range c.world.Nodes() {
		c.start(id)
	}
	t.Cleanup(func() {
		if err := c.quorum.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *cluster) start(id event.NodeID) {
	c.t.Helper()
	delete(c.down, id)
	if d := c.disks[id]; d != nil {
		d.ClearFault()
	}
	if err := c.world.StartNode(id); err != nil {
		c.t.Fatal(err)
	}
}

// stop ends a node as a kill does.
func (c *cluster) kill(id event.NodeID) {
	c.world.StopNode(id, world.Stopping{How: "kill"})
	c.afterStop(id)
	if d := c.disks[id]; d != nil {
		d.Kill()
	}
}

func (c *cluster) powerCut(id event.NodeID) {
	c.t.Helper()
	c.world.StopNode(id, world.Stopping{How: "power-cut"})
	c.afterStop(id)
	if d := c.disks[id]; d != nil {
		if err := d.PowerCut(c.world.Dice()); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *cluster) afterStop(id event.NodeID) {
	c.down[id] = true
	if err := c.quorum.NodeDown(id, false); err != nil {
		c.t.Errorf("node %d down: %v", id, err)
	}
}

func (c *cluster) isolate(id event.NodeID) {
	for _, other := range c.world.Nodes() {
		if other != id {
			c.world.Cut(id, other)
			c.world.Cut(other, id)
		}
	}
}

func (c *cluster) healAll() {
	for _, l := range c.world.CutLinks() {
		c.world.Heal(l[0], l[1])
	}
}

// leader is the active controller, nil when there is none. Of several only the one with the
// highest term can commit anything.
func (c *cluster) leader() *Controller {
	var leader *Controller
	for _, id := range c.quorum.IDs() {
		if n, ok := c.world.Node(id).(*Controller); ok && n.Active() &&
			(leader == nil || n.Term() > leader.Term()) {
			leader = n
		}
	}
	return leader
}

// until runs until the condition holds, at most for a while.
func (c *cluster) until(what string, within time.Duration, condition func() bool) {
	c.t.Helper()
	if !c.world.RunWhile(func() bool { return !condition() }, c.world.Now()+within) {
		c.t.Fatalf("%s: not within %s", what, within)
	}
}

func (c *cluster) untilReady() {
	c.t.Helper()
	c.until("every broker unfenced", 30*time.Second, func() bool {
		l := c.leader()
		if l == nil {
			return false
		}
		for id := range c.brokers {
			b := l.active.committed.Broker(id)
			if !c.down[id] && (b == nil || b.Fenced) {
				return false
			}
		}
		return true
	})
}

// ask sends a request to the active controller from a broker, or from the first one running.
func (c *cluster) ask(body any) any {
	c.t.Helper()
	for _, id := range c.world.Nodes() {
		if b, ok := c.world.Node(id).(*testBroker); ok {
			return c.askFrom(b, body)
		}
	}
	c.t.Fatal("no broker runs")
	return nil
}

func (c *cluster) askFrom(b *testBroker, body any) any {
	c.t.Helper()
	var answer any
	c.until(fmt.Sprintf("answer to %T", body), 30*time.Second, func() bool {
		l := c.leader()
		if l == nil {
			return false
		}
		done := false
		b.env.Request(l.env.ID(), "test", body, 10*time.Second, func(a any, err error) {
			done = true
			if _, no := a.(*NotController); err == nil && !no {
				answer = a
			}
		})
		c.world.RunWhile(func() bool { return !done }, c.world.Now()+11*time.Second)
		return answer != nil
	})
	return answer
}

func createRequest(name string, partitions int32, factor int16,
	configs ...string) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 7
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, factor
	for _, kv := range configs {
		key, value, _ := strings.Cut(kv, "=")
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = key, &value
		topic.Configs = append(topic.Configs, config)
	}
	req.Topics = append(req.Topics, topic)
	return req
}

func (c *cluster) createTopic(name string, partitions int32, factor int16,
	configs ...string) *kmsg.CreateTopicsResponseTopic {
	c.t.Helper()
	answer := c.ask(createRequest(name, partitions, factor, configs...))
	return &answer.(*kmsg.CreateTopicsResponse).Topics[0]
}

func (c *cluster) mustCreate(name string, partitions int32, factor int16, configs ...string) {
	c.t.Helper()
	if r := c.createTopic(name, partitions, factor, configs...); r.ErrorCode != 0 {
		c.t.Fatalf("create %s: %d %s", name, r.ErrorCode, *r.ErrorMessage)
	}
}

// partition is the leader's committed view.
func (c *cluster) partition(topic string, index int32) *metadata.Partition {
	if l := c.leader(); l != nil {
		return l.active.committed.Partition(topic, index)
	}
	return nil
}

// fingerprint is a hash of every controller's files.
func (c *cluster) fingerprint() string {
	h := sha256.New()
	for _, id := range c.quorum.IDs() {
		hashDir(c.t, h.Write, c.disks[id], ".")
	}
	return hex.EncodeToString(h.Sum(nil))
}

func hashDir(t *testing.T, write func([]byte) (int, error), d disk.FS, dir string) {
	entries, err := d.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name)
		if e.Dir {
			hashDir(t, write, d, name)
			continue
		}
		b, err := d.ReadFile(name)
		if err != nil && err != fs.ErrNotExist {
			t.Fatal(err)
		}
		_, _ = write([]byte(name))
		_, _ = write(b)
	}
}

// brokerPlace is what a test broker keeps from one incarnation to the next.
type brokerPlace struct {
	previousEpoch int64 // set by a clean stop
	running       *testBroker
}

// testBroker registers, sends heartbeats and follows the metadata log.
type testBroker struct {
	env         *world.Env
	controllers []event.NodeID
	place       *brokerPlace
	incarnation event.UUID
	epoch       int64
	controller  event.NodeID
	tries       int

	image         *metadata.Image
	next          event.Offset
	lastEpoch     event.Epoch
	highWatermark event.Offset
	wantShutdown  bool
	mayStop       bool
	mute          bool // sends no more heartbeats
}

func startBroker(env *world.Env, controllers []event.NodeID, place *brokerPlace) *testBroker {
	b := &testBroker{env: env, controllers: controllers, place: place, incarnation: env.UUID(),
		epoch: -1, controller: controllers[0], image: metadata.NewImage(testClusterID)}
	place.running = b
	b.register()
	b.fetch()
	return b
}

func (b *testBroker) Deliver(*world.Call)         {}
func (b *testBroker) Disconnected(event.NodeID)   {}
func (b *testBroker) later(name string, f func()) { b.env.After(name, 200*time.Millisecond, f) }
func (b *testBroker) wrong(answer any, err error) bool {
	no, isNo := answer.(*NotController)
	if err == nil && !isNo {
		return false
	}
	b.tries++
	if isNo && no.Leader != event.NoNode {
		b.controller = no.Leader
	} else {
		b.controller = b.controllers[b.tries%len(b.controllers)]
	}
	return true
}

func (b *testBroker) register() {
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.Version = 4
	req.BrokerID, req.ClusterID, req.IncarnationID = int32(b.env.ID()), testClusterID, b.incarnation
	req.PreviousBrokerEpoch = b.place.previousEpoch
	req.LogDirs = [][16]byte{{15: byte(b.env.ID()), 0: 7}}
	l := kmsg.NewBrokerRegistrationRequestListener()
	l.Name, l.Host, l.Port = "PLAINTEXT", "localhost", uint16(9091+b.env.ID())
	req.Listeners = append(req.Listeners, l)
	b.env.Request(b.controller, "BrokerRegistration", req, 2*time.Second,
		func(answer any, err error) {
			if b.wrong(answer, err) {
				b.later("register-again", b.register)
				return
			}
			r := answer.(*kmsg.BrokerRegistrationResponse)
			if r.ErrorCode != 0 {
				b.later("register-again", b.register)
				return
			}
			b.epoch, b.place.previousEpoch = r.BrokerEpoch, -1
			b.heartbeat()
		})
}

func (b *testBroker) heartbeat() {
	if b.mute {
		return
	}
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.BrokerID, req.BrokerEpoch = int32(b.env.ID()), b.epoch
	req.CurrentMetadataOffset = int64(b.next) - 1
	req.WantShutdown = b.wantShutdown
	b.env.Request(b.controller, "BrokerHeartbeat", req, time.Second, func(answer any, err error) {
		wait := 200 * time.Millisecond
		if !b.wrong(answer, err) {
			r := answer.(*kmsg.BrokerHeartbeatResponse)
			if r.ShouldShutdown {
				b.mayStop = true
				b.place.previousEpoch = b.epoch
				return
			}
			if !r.IsFenced && !b.wantShutdown {
				wait = 2 * time.Second
			}
		}
		b.env.After("heartbeat", wait, b.heartbeat)
	})
}

func (b *testBroker) fetch() {
	req := &MetadataFetch{Replica: b.env.ID(), From: b.next, LastEpoch: b.lastEpoch,
		HighWatermark: b.highWatermark, WaitMax: 500 * time.Millisecond}
	b.env.Request(b.controller, "Fetch", req, 2*time.Second, func(answer any, err error) {
		if b.wrong(answer, err) {
			b.later("fetch-again", b.fetch)
			return
		}
		b.take(answer.(*MetadataFetched))
		b.fetch()
	})
}

func (b *testBroker) take(f *MetadataFetched) {
	if f.Diverging != nil {
		panic(fmt.Sprintf("broker %d diverges from what was committed: %+v", b.env.ID(), f.Diverging))
	}
	for _, batch := range f.Batches {
		h, err := record.ParseHeader(batch.Bytes)
		if err != nil || !record.ChecksumHolds(batch.Bytes) || h.BaseOffset != int64(b.next) {
			panic(fmt.Sprintf("broker %d at %d: %+v %v", b.env.ID(), b.next, h, err))
		}
		b.next, b.lastEpoch = event.Offset(h.LastOffset())+1, event.Epoch(h.PartitionLeaderEpoch)
		if h.Attributes.Control() {
			continue
		}
		err = record.EachRecord(batch.Bytes, 1<<20, func(r record.Record) error {
			m, err := metadata.Decode(r.Value)
			if err == nil {
				b.image, err = b.image.Apply(m)
			}
			return err
		})
		if err != nil {
			panic(err)
		}
	}
	b.highWatermark = max(b.highWatermark, f.HighWatermark)
}
