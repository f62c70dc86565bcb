package controller

import (
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
