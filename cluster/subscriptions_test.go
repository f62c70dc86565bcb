package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/client"
	"highwater/cluster/event"
)

func (d *driver) deleteTopic(name string) {
	d.t.Helper()
	r := kmsg.NewPtrDeleteTopicsRequest()
	r.Version, r.TimeoutMillis, r.TopicNames = 5, 10_000, []string{name}
	active, _ := d.c.Controller()
	answer, err := d.ask(active, "DeleteTopics", r)
	if err != nil || answer.(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode != 0 {
		d.t.Fatalf("delete topic %s: %+v, %v", name, answer, err)
	}
	d.until("topic "+name+" is gone", 10*time.Second, func() bool {
		return d.c.PartitionCount(name) == 0
	})
}

// subscribe starts a consumer of two topics.
func (d *driver) subscribe(name string, words ...string) *client.Consumer {
	d.t.Helper()
	config := consumerConfig(d.t, "a", append(words, "group.id=g",
		"auto.offset.reset=earliest")...)
	config.Topics = []string{"a", "b"}
	return d.consumer(name, config)
}

func (d *driver) owned(what string, limit time.Duration, of *client.Consumer, want ...string) {
	d.t.Helper()
	d.until(fmt.Sprintf("%s: %v", what, want), limit, func() bool {
		return slices.Equal(of.Assigned(), want)
	})
}

func TestConsumerGivesUpADeletedTopicAndTakesItUpAgain(t *testing.T) {
	for _, strategy := range []string{"range", "cooperative-sticky"} {
		t.Run(strategy, func(t *testing.T) {
			c, _ := start(t, Config{Seed: 5, Latency: time.Millisecond, Settings: groupSettings})
			d := drive(t, c)
			d.ready()
			d.topic("a", "1", 1, 2, 3)
			d.topic("b", "1", 2, 3, 1)
			s := &stream{p: d.producer("shop")}
			s.send("a", 1)
			s.send("b", 2)
			// What a consumer reads goes into what it commits at each rebalance.
			first := d.subscribe("first", "partition.assignment.strategy="+strategy)
			d.owned("assigned", time.Minute, first, "a-0", "b-0")
			d.until("it reads", time.Minute, func() bool { return len(first.Seen()) == 3 })
			d.until("it commits", time.Minute, func() bool {
				at, _ := c.Committed("g", "b", 0)
				return at == 2
			})
			d.deleteTopic("b")
			d.owned("without the topic", 3*time.Second, first, "a-0")
			d.until("its offset is gone", 3*time.Second, func() bool {
				_, has := c.Committed("g", "b", 0)
				return !has
			})
			s.send("a", 1)
			d.until("it goes on with the other", 3*time.Second, func() bool {
				return len(first.Seen()) == 4
			})
			d.topic("b", "1", 3, 1, 2)
			s.send("b", 1)
			d.owned("taken up again", 5*time.Second, first, "a-0", "b-0")
			d.until("it reads it from its begin", 3*time.Second, func() bool {
				seen := first.Seen()
				return len(seen) == 5 && seen[4].Topic == "b" && seen[4].Offset == 0
			})
		})
	}
}

func TestGroupTakesUpPartitionsThatWereAdded(t *testing.T) {
	c, _ := start(t, Config{Seed: 6, Latency: time.Millisecond, Settings: groupSettings})
	d := drive(t, c)
	d.ready()
	d.topic("a", "1", 1, 2, 3)
	first := d.subscribe("first")
	d.owned("what there is of what it reads", time.Minute, first, "a-0")
	d.topic("b", "1", 1, 2, 3)
	d.owned("a topic made later", 5*time.Second, first, "a-0", "b-0")
	r := kmsg.NewPtrCreatePartitionsRequest()
	r.Version, r.TimeoutMillis = 2, 10_000
	topic := kmsg.NewCreatePartitionsRequestTopic()
	topic.Topic, topic.Count = "a", 2
	r.Topics = []kmsg.CreatePartitionsRequestTopic{topic}
	active, _ := c.Controller()
	if _, err := d.ask(active, "CreatePartitions", r); err != nil {
		t.Fatal(err)
	}
	d.owned("a partition added", 6*time.Minute, first, "a-0", "a-1", "b-0")
}

func TestOffsetsOfATopicDeletedWhileNobodyCoordinatesAreGoneAfterwards(t *testing.T) {
	alone := map[string]string{"offsets.topic.num.partitions": "1",
		"offsets.topic.replication.factor": "1", "group.initial.rebalance.delay.ms": "0"}
	c, _ := start(t, Config{Seed: 7, Latency: time.Millisecond, Settings: alone})
	d := drive(t, c)
	d.ready()
	d.topic("a", "1", 1, 2, 3)
	d.topic("b", "1", 1, 2, 3)
	s := &stream{p: d.producer("shop")}
	s.send("a", 3)
	s.send("b", 3)
	d.subscribe("first")
	var at event.NodeID
	d.until("it commits", time.Minute, func() bool {
		at = d.coordinatorOfGroup("g")
		offset, _ := c.Committed("g", "b", 0)
		return offset == 3
	})
	must(t, c.Kill(at))
	d.deleteTopic("b")
	must(t, c.Restart(at))
	d.until("the coordinator is back", time.Minute, func() bool {
		return d.coordinatorOfGroup("g") == at
	})
	d.until("its offset is gone", 3*time.Second, func() bool {
		_, has := c.Committed("g", "b", 0)
		return !has
	})
	if offset, _ := c.Committed("g", "a", 0); offset != 3 {
		t.Errorf("the other topic's offset is %d", offset)
	}
}
