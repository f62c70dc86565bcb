package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/event"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

// driver is a client of the tests' own: it sends what it is told to whom it is told.
type driver struct {
	t   *testing.T
	c   *Cluster
	env *world.Env
}

const driverID event.NodeID = 2001

func (d *driver) Deliver(call *world.Call)  { call.Reply(nil) }
func (d *driver) Disconnected(event.NodeID) {}

func drive(t *testing.T, c *Cluster) *driver {
	t.Helper()
	d := &driver{t: t, c: c}
	c.World().Add(world.Spec{ID: driverID, Role: "driver",
		Start: func(env *world.Env) (world.Node, error) { d.env = env; return d, nil }})
	if err := c.World().StartNode(driverID); err != nil {
		t.Fatal(err)
	}
	return d
}

// until runs the world until the condition holds, at most for so long.
func (d *driver) until(what string, limit time.Duration, condition func() bool) {
	d.t.Helper()
	w := d.c.World()
	if !w.RunWhile(func() bool { return !condition() }, w.Now()+limit) {
		d.t.Fatalf("seed %d, at %v: still not: %s", d.c.config.Seed, w.Now(), what)
	}
}

func (d *driver) ready() {
	d.t.Helper()
	d.until("ready", 30*time.Second, func() bool { return len(d.c.Ready()) == 0 })
}

// ask sends a request and runs the world until it is answered.
func (d *driver) ask(to event.NodeID, api string, body any) (answer any, err error) {
	d.t.Helper()
	done := false
	d.env.Request(to, api, body, time.Minute, func(b any, e error) { answer, err, done = b, e, true })
	d.until("answer to "+api, 2*time.Minute, func() bool { return done })
	return answer, err
}

// topic creates a topic with these replicas for its one partition, the leader first.
func (d *driver) topic(name string, minIsr string, replicas ...int32) {
	d.t.Helper()
	d.topicWith(name, [][2]string{{"min.insync.replicas", minIsr}}, replicas...)
}

// topicWith is topic with further configurations.
func (d *driver) topicWith(name string, configs [][2]string, replicas ...int32) {
	d.t.Helper()
	r := kmsg.NewPtrCreateTopicsRequest()
	r.Version = 7
	r.TimeoutMillis = 10_000
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, -1, -1
	assigned := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
	assigned.Replicas = replicas
	topic.ReplicaAssignment = append(topic.ReplicaAssignment, assigned)
	for _, each := range configs {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = each[0], &each[1]
		topic.Configs = append(topic.Configs, config)
	}
	r.Topics = append(r.Topics, topic)
	active, _ := d.c.Controller()
	answer, err := d.ask(active, "CreateTopics", r)
	created, ok := answer.(*kmsg.CreateTopicsResponse)
	if err != nil || !ok || created.Topics[0].ErrorCode != 0 {
		d.t.Fatalf("create topic %s: %+v, %v", name, answer, err)
	}
	d.until("topic "+name, 10*time.Second, func() bool {
		for _, id := range replicas {
			if _, ok := d.c.LogEndOffset(event.NodeID(id), name, 0); !ok {
				return false
			}
		}
		return true
	})
}

// batch builds a produce request of one record.
func produceRequest(topic string, acks int16, key, value string, timestamp int64) *broker.Request {
	b := record.NewBuilder()
	b.Add(timestamp, []byte(key), []byte(value))
	bytes, err := b.Bytes()
	if err != nil {
		panic(err)
	}
	facts, invalid := record.Validate(bytes, record.Validation{InflatedMax: 1 << 20})
	r := kmsg.NewPtrProduceRequest()
	r.Version, r.Acks, r.TimeoutMillis = 9, acks, 30_000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = bytes
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	return &broker.Request{Key: 0, Version: 9, ClientID: "driver", Body: r,
		Batches: []broker.Batch{{Buffer: record.Buffer{Bytes: bytes}, Facts: facts, Err: invalid}}}
}

// send produces one record and returns the partition's answer.
func (d *driver) send(to event.NodeID, topic string, acks int16, key, value string) (
	kmsg.ProduceResponseTopicPartition, error) {
	d.t.Helper()
	answer, err := d.ask(to, "Produce", produceRequest(topic, acks, key, value, d.env.UnixMilli()))
	if err != nil {
		return kmsg.ProduceResponseTopicPartition{}, err
	}
	response, ok := answer.(*kmsg.ProduceResponse)
	if !ok {
		return kmsg.ProduceResponseTopicPartition{}, fmt.Errorf("answered %T", answer)
	}
	return response.Topics[0].Partitions[0], nil
}
