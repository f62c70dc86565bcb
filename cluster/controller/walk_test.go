package controller

import (
	"fmt"
	"testing"
	"time"

	"highwater/cluster/event"
)

func TestBrokersRegisterUnfenceAndLearnOfTopics(t *testing.T) {
	c := newCluster(t, 1, 3)
	c.untilReady()
	c.mustCreate("orders", 3, 3, "min.insync.replicas=2")
	c.until("every broker knows the topic", 2*time.Second, func() bool {
		for _, place := range c.brokers {
			if topic := place.running.image.TopicByName("orders"); topic == nil ||
				len(topic.Partitions) != 3 {
				return false
			}
		}
		return true
	})
	p := c.partition("orders", 0)
	if len(p.Isr) != 3 || p.Leader != p.Replicas[0] || p.LeaderEpoch != 0 {
		t.Errorf("orders-0 is %+v", p)
	}
	for _, kind := range []event.Kind{event.KindVoteStored, event.KindControllerStateChanged,
		event.KindMetadataStored, event.KindMetadataCommitted, event.KindBrokerRegistered,
		event.KindBrokerUnfenced, event.KindTopicCreated, event.KindPartitionChanged} {
		if len(c.events.told(kind)) == 0 {
			t.Errorf("nothing tells of %s", kind)
		}
	}
}

// A refusal rests on what is not committed yet, and waits for that and for nothing else.
func TestARefusalWaitsForTheRoundThatIsUnderWayOnly(t *testing.T) {
	c := newCluster(t, 3, 1)
	c.untilReady()
	asked, answered := 0, 0
	ask := func(name string, factor int16) {
		asked++
		c.brokers[1].running.env.Request(c.leader().env.ID(), "CreateTopics",
			createRequest(name, 1, factor), 5*time.Second, func(_ any, err error) {
				if err == nil {
					answered++
				}
			})
	}
	for range 50 {
		ask(fmt.Sprintf("topic-%d", asked), 1)
		c.world.RunFor(300 * time.Microsecond) // the round has begun and is not over
		ask("refused", 9)
		c.world.RunFor(100 * time.Millisecond)
		if answered != asked {
			t.Fatalf("%d of %d requests are answered after 100 ms", answered, asked)
		}
	}
}
