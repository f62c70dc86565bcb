package cluster

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/disk"
	"highwater/cluster/event"
)

// Found live: with a clock twice as fast the rest of a wait shrank to a nanosecond that no timer
// could pass, and the loop stood at one instant for ever.
func TestClusterGoesOnWithClocksOfAnyRate(t *testing.T) {
	for _, rate := range []int32{1, 300, 999, 1001, 2000, 3000, 7000} {
		c, _ := start(t, Config{Seed: uint64(rate), Latency: time.Millisecond})
		d := drive(t, c)
		d.ready()
		d.topic("orders", "2", 1, 2, 3)
		l := d.load("orders")
		for _, id := range c.nodes() {
			must(t, c.Clock(id, time.Hour, rate))
		}
		c.World().RunFor(time.Minute)
		for _, id := range c.nodes() {
			must(t, c.Clock(id, 0, 1000))
		}
		c.World().RunFor(time.Minute)
		l.stopped = true
		d.settled("orders")
		l.check()
	}
}

func TestNodeWithAHungDiskStandsStillAndTheOthersGoOn(t *testing.T) {
	c, _ := start(t, Config{Seed: 9, Latency: time.Millisecond})
	d := drive(t, c)
	d.ready()
	d.topic("orders", "2", 1, 2, 3)
	l := d.load("orders")
	c.World().RunFor(time.Second)
	must(t, c.DiskFault(1, disk.Fault{Kind: disk.Hung}))
	active, _ := c.Controller()
	must(t, c.DiskFault(active, disk.Fault{Kind: disk.Hung}))
	if err := c.Resume(1); err == nil {
		t.Error("a node whose disk hangs was resumed")
	}
	c.World().RunFor(20 * time.Second)
	if leader, _ := c.Leader("orders", 0); leader == 1 || leader == event.NoNode {
		t.Errorf("leader %d while broker 1's disk hangs", leader)
	}
	acked := len(l.order)
	c.World().RunFor(5 * time.Second)
	if len(l.order) == acked {
		t.Error("nothing is acknowledged while one broker's disk hangs")
	}
	for _, id := range []event.NodeID{1, active} {
		must(t, c.DiskFault(id, disk.Fault{}))
	}
	c.World().RunFor(10 * time.Second)
	l.stopped = true
	d.settled("orders")
	l.check()
}

func TestSlowDiskHoldsUpWhatItsNodeSays(t *testing.T) {
	c, _ := start(t, Config{Seed: 10, Latency: time.Millisecond})
	d := drive(t, c)
	d.ready()
	d.topic("orders", "2", 1, 2, 3)
	must(t, c.DiskFault(2, disk.Fault{Kind: disk.Slow, Delay: 50 * time.Millisecond}))
	c.World().RunFor(2 * time.Second)
	before := c.World().Now()
	if p, err := d.send(1, "orders", -1, "k", "v"); err != nil || p.ErrorCode != 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	if took := c.World().Now() - before; took < 50*time.Millisecond || took > 200*time.Millisecond {
		t.Errorf("acks=all took %v with one follower's disk 50 ms slow", took)
	}
}

// Found by the probe: a topic deleted right after its creation was renamed under the sync of its
// new directory, and the broker took that for a failed disk.
func TestTopicsThatComeAndGoFailNoBroker(t *testing.T) {
	c, _ := start(t, Config{Seed: 11, Latency: 0})
	d := drive(t, c)
	d.ready()
	for i := range 20 {
		name := "short-lived-" + strconv.Itoa(i)
		d.topic(name, "1", 1, 2, 3)
		active, _ := c.Controller()
		r := kmsg.NewPtrDeleteTopicsRequest()
		r.Version = 3
		r.TopicNames = []string{name}
		if answer, err := d.ask(active, "DeleteTopics", r); err != nil ||
			answer.(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode != 0 {
			t.Fatalf("%+v, %v", answer, err)
		}
	}
	c.World().RunFor(2 * time.Minute)
	for _, id := range c.Brokers() {
		if !c.Alive(id) {
			t.Errorf("broker %d is down", id)
		}
		entries, err := c.Disk(id).List(".")
		must(t, err)
		for _, e := range entries {
			if strings.HasPrefix(e.Name, "short-lived") {
				t.Errorf("broker %d still has %s", id, e.Name)
			}
		}
	}
}

// Found live: a leader that appended nothing leaves an epoch that no other log knows. Once it follows
// again, the leader's answer asks for a cut at the very end of its log; a cut that does nothing
// was asked for again at once, for ever, within one instant.
func TestLeaderThatAppendedNothingFollowsAgain(t *testing.T) {
	c, s := start(t, Config{Seed: 12, Latency: time.Millisecond})
	d := drive(t, c)
	d.ready()
	d.topic("orders", "1", 1, 2, 3)
	for _, key := range []string{"order-2", "order-3"} {
		if p, err := d.send(1, "orders", -1, key, "{}"); err != nil || p.ErrorCode != 0 {
			t.Fatalf("%s: %+v, %v", key, p, err)
		}
	}
	c.World().RunFor(time.Second)
	must(t, c.Kill(1))
	leads := func(id event.NodeID) func() bool {
		return func() bool { p := c.Broker(id).Partition("orders", 0); return p.Leads() }
	}
	d.until("broker 2 leads", 15*time.Second, leads(2))
	must(t, c.Pause(2))
	d.until("broker 3 leads", 15*time.Second, leads(3))
	must(t, c.Resume(2))
	before := len(s.lines)
	d.until("broker 2 is in sync again", 5*time.Second, func() bool {
		isr, _ := c.Isr("orders", 0)
		return len(isr) == 2
	})
	if n := len(s.lines) - before; n > 5000 {
		t.Errorf("%d events until broker 2 followed", n)
	}
	must(t, c.Restart(1))
	d.settled("orders")
}

// Its folder is the brokers' own metadata log, and deleting it took that away.
func TestMetadataTopicCannotBeCreated(t *testing.T) {
	c, _ := start(t, Config{Seed: 13})
	d := drive(t, c)
	d.ready()
	r := kmsg.NewPtrCreateTopicsRequest()
	r.Version = 7
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "__cluster_metadata", 1, 1
	r.Topics = append(r.Topics, topic)
	active, _ := c.Controller()
	answer, err := d.ask(active, "CreateTopics", r)
	if err != nil || answer.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode != 42 {
		t.Errorf("%+v, %v; want INVALID_REQUEST", answer, err)
	}
}
