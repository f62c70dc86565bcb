package broker

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/controller"
	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

const (
	testClusterID              = "4L6g3nShT-eMCtK--X86sw"
	brokerID      event.NodeID = 1
	controllerID  event.NodeID = 101
	clientID      event.NodeID = 1001
)

// place is one real broker between a controller and a client that do what the test says.
type place struct {
	t          *testing.T
	world      *world.World
	controller *scriptedController
	client     *world.Env
	events     *told
}

// told keeps the events that tests look at.
type told struct{ lines, asks, waits []string }

func (c *told) Publish(full *event.Chunk) *event.Chunk {
	for i := range full.Records {
		if full.Records[i].Kind == event.KindResponseSent {
			c.lines = append(c.lines, string(full.AppendJSON(nil, &full.Records[i])))
		}
		switch r := &full.Records[i]; r.Kind {
		case event.KindPartitionReceived:
			e := full.PartitionReceived(r)
			c.waits = append(c.waits, fmt.Sprintf("%d records for %d", e.Records, e.Partition))
		case event.KindWaitBegan:
			if e := full.WaitBegan(r); e.What == "produce" {
				c.waits = append(c.waits, fmt.Sprintf("wait %d: %d to %d", e.Wait, e.Partition, e.Needs))
			}
		case event.KindWaitEnded:
			e := full.WaitEnded(r)
			c.waits = append(c.waits, fmt.Sprintf("wait %d: %s", e.Wait, e.Outcome))
		case event.KindPartitionAnswered:
			e := full.PartitionAnswered(r)
			c.waits = append(c.waits, fmt.Sprintf("%d answered %d at %d", e.Partition, e.ErrorCode, e.Offset))
		case event.KindFetchPositionChanged:
			e := full.FetchPositionChanged(r)
			c.asks = append(c.asks, fmt.Sprintf("%s-%d@%d", e.Topic, e.Partition, e.Offset))
		case event.KindFetchPartitionDropped:
			e := full.FetchPartitionDropped(r)
			c.asks = append(c.asks, fmt.Sprintf("not %s-%d", e.Topic, e.Partition))
		}
	}
	return &event.Chunk{}
}

// quiet is a node that only asks.
type quiet struct{}

func (quiet) Deliver(*world.Call)       {}
func (quiet) Disconnected(event.NodeID) {}

// scriptedController has a metadata log that the test writes, lets the broker register and leaves
// everything else to answer. A call that answer gives nil for is never answered.
type scriptedController struct {
	t       *testing.T
	records []metadata.Record
	waiting *world.Call
	answer  func(api string, body any) any
	asked   map[string]int
}

func (c *scriptedController) Disconnected(event.NodeID) {}

func (c *scriptedController) Deliver(call *world.Call) {
	switch body := call.Body.(type) {
	case *kmsg.BrokerRegistrationRequest:
		response := kmsg.NewPtrBrokerRegistrationResponse()
		response.BrokerEpoch = 0
		call.Reply(response)
	case *kmsg.BrokerHeartbeatRequest:
		response := kmsg.NewPtrBrokerHeartbeatResponse()
		response.IsCaughtUp, response.IsFenced = true, false
		call.Reply(response)
	case *controller.MetadataFetch:
		c.waiting = call
		c.serveLog()
	default:
		c.asked[call.API]++
		if answer := c.answer(call.API, body); answer != nil {
			call.Reply(answer)
		}
	}
}

// serveLog answers the fetch that waits, once there is more than it has; each record is a batch.
func (c *scriptedController) serveLog() {
	if c.waiting == nil {
		return
	}
	from := int(c.waiting.Body.(*controller.MetadataFetch).From)
	if from >= len(c.records) {
		return
	}
	answer := &controller.MetadataFetched{Leader: controllerID, Epoch: 1,
		HighWatermark: event.Offset(len(c.records))}
	for i, r := range c.records[from:] {
		batch := record.NewBuilder()
		batch.Add(0, nil, metadata.Encode(r))
		bytes, err := batch.Bytes()
		if err != nil {
			c.t.Fatal(err)
		}
		record.Stamp(bytes, int64(from+i), 1)
		answer.Batches = append(answer.Batches, record.Buffer{Bytes: bytes})
	}
	call := c.waiting
	c.waiting = nil
	call.Reply(answer)
}

// startBroker starts a broker whose metadata log begins with these records.
func startBroker(t *testing.T, records ...metadata.Record) *place {
	t.Helper()
	return startBrokerWith(t, Config{}, records...)
}

// startBrokerWith fills in what the test leaves open in the configuration.
func startBrokerWith(t *testing.T, config Config, records ...metadata.Record) *place {
	t.Helper()
	p := &place{t: t, events: &told{}}
	p.controller = &scriptedController{t: t, records: records, asked: map[string]int{},
		answer: func(string, any) any { return nil }}
	p.world = world.New(world.Config{Seed: 1, Origin: time.UnixMilli(1795961063540),
		Events: p.events, PanicThrough: true})
	config.ClusterID, config.Disk = testClusterID, disk.NewMemory(disk.Options{})
	config.Controllers, config.Log = []event.NodeID{controllerID}, slog.New(slog.DiscardHandler)
	config.Host, config.Port = "localhost", 9092
	if config.Settings == (Settings{}) {
		config.Settings = DefaultSettings()
	}
	p.world.Add(world.Spec{ID: brokerID, Role: "broker",
		Start: func(env *world.Env) (world.Node, error) { return New(env, config) }})
	p.world.Add(world.Spec{ID: controllerID, Role: "controller",
		Start: func(*world.Env) (world.Node, error) { return p.controller, nil }})
	p.world.Add(world.Spec{ID: clientID, Role: "client",
		Start: func(env *world.Env) (world.Node, error) { p.client = env; return quiet{}, nil }})
	for _, id := range []event.NodeID{controllerID, brokerID, clientID} {
		if err := p.world.StartNode(id); err != nil {
			t.Fatal(err)
		}
	}
	p.until("registered and metadata applied", func() bool {
		return p.broker().BrokerEpoch() == 0 && int(p.broker().Applied()) == len(records)
	})
	return p
}

func (p *place) broker() *Broker { return p.world.Node(brokerID).(*Broker) }

// commit adds records to the metadata log and waits until the broker has replayed them.
func (p *place) commit(records ...metadata.Record) {
	p.t.Helper()
	p.controller.records = append(p.controller.records, records...)
	p.controller.serveLog()
	p.until("metadata applied", func() bool {
		return int(p.broker().Applied()) == len(p.controller.records)
	})
}

func (p *place) until(what string, condition func() bool) {
	p.t.Helper()
	if !p.world.RunWhile(func() bool { return !condition() }, p.world.Now()+2*time.Minute) {
		p.t.Fatalf("at %v: still not: %s", p.world.Now(), what)
	}
}

// send sends a request of this version; what it returns is nil until the answer is there.
func (p *place) send(version int16, body kmsg.Request) *any {
	answer := new(any)
	body.SetVersion(version)
	request := &Request{Key: body.Key(), Version: version, ClientID: "test", Body: body}
	p.client.Request(brokerID, kmsg.NameForKey(body.Key()), request, time.Hour,
		func(body any, err error) {
			if err != nil {
				p.t.Errorf("%s: %v", kmsg.NameForKey(request.Key), err)
			}
			*answer = body
		})
	return answer
}

// ask sends a request and runs the world until it is answered.
func ask[T kmsg.Response](p *place, version int16, body kmsg.Request) T {
	p.t.Helper()
	answer := p.send(version, body)
	p.until("answer to "+kmsg.NameForKey(body.Key()), func() bool { return *answer != nil })
	response, ok := (*answer).(T)
	if !ok {
		p.t.Fatalf("answer to %s is %T", kmsg.NameForKey(body.Key()), *answer)
	}
	if response.GetVersion() != version {
		p.t.Errorf("%s of version %d is answered in version %d", kmsg.NameForKey(body.Key()), version,
			response.GetVersion())
	}
	return response
}

func registered(id event.NodeID, fenced bool) metadata.Record {
	return &metadata.RegisterBrokerRecord{BrokerID: id, Fenced: fenced,
		EndPoints: []metadata.Endpoint{{Name: ListenerName, Host: "localhost",
			Port: uint16(9091 + id)}}}
}

func topicID(n byte) (id event.UUID) {
	id[0], id[15] = 0x40, n
	return id
}

func topic(n byte, name string) metadata.Record {
	return &metadata.TopicRecord{Name: name, TopicID: topicID(n)}
}

// led is a partition of topic n, led in epoch 3 by the first of its replicas, which are all in
// sync.
func led(n byte, index int32, replicas ...event.NodeID) *metadata.PartitionRecord {
	return &metadata.PartitionRecord{PartitionID: index, TopicID: topicID(n), Replicas: replicas,
		Isr: replicas, Leader: replicas[0], LeaderEpoch: 3,
		Directories: make([]event.UUID, len(replicas))}
}

// notController is what a controller answers that does not lead and knows of no leader.
func notController() any { return &controller.NotController{Leader: event.NoNode} }
