package controller

import (
	"context"
	"testing"
	"time"

	"highwater/cluster/event"
	"highwater/cluster/world"
)

func TestLiveQuorumElectsAndSurvivesItsLeader(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var c *cluster
	var killed event.NodeID
	created := false
	// Each turn looks how far the story is, and does the next step of it on the loop.
	config := world.Config{Seed: 12, Live: true, TurnEnded: func() {
		l := c.leader()
		switch {
		case l == nil:
		case killed == 0 && l.active.committed.TopicByName("first") != nil:
			killed = l.env.ID()
			c.kill(killed)
		case killed != 0 && l.active.committed.TopicByName("second") != nil:
			cancel()
		case killed == 0 && !created, killed != 0 && created:
			name := map[bool]string{false: "first", true: "second"}[created]
			if b := l.active.committed.Broker(1); b != nil && !b.Fenced {
				created = !created
				c.world.Node(1).(*testBroker).env.Request(l.env.ID(), "CreateTopics",
					createRequest(name, 2, 1), time.Minute, func(any, error) {})
			}
		}
	}}
	c = newClusterIn(t, config, 1)
	c.world.SetPace(world.Pace{Rate: 10})
	c.world.Run(ctx)
	if context.Cause(ctx) != context.Canceled {
		t.Fatalf("the story did not end; killed %d, created %t", killed, created)
	}
}
