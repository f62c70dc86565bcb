package controller

import (
	"fmt"
	"testing"
	"time"

	"highwater/cluster/disk"
	"highwater/cluster/event"
)

// electing runs until an election is on disk and nobody has heard of it, and gives its round.
func (c *cluster) electing() *pendingRound {
	c.t.Helper()
	c.until("an election", 20*time.Second, func() bool { return c.quorum.electing() })
	return c.quorum.pending[len(c.quorum.pending)-1]
}

func TestQuorumSurvivesDeathsBetweenElectionAndItsNews(t *testing.T) {
	for _, victim := range []string{"winner", "voter", "winner power-cut", "both"} {
		t.Run(victim, func(t *testing.T) {
			c := newCluster(t, 6, 1)
			p := c.electing()
			voter := p.result.Load().peers[0]
			switch victim {
			case "winner":
				c.kill(p.actor)
			case "winner power-cut":
				c.powerCut(p.actor)
			case "voter":
				c.kill(voter)
			case "both":
				c.kill(p.actor)
				c.kill(voter)
			}
			c.world.RunFor(5 * time.Second)
			c.recover()
			c.untilReady()
			c.mustCreate("after", 1, 1)
			c.world.RunFor(2 * time.Second)
			c.checkLogs()
			if stored := len(c.events.told(event.KindVoteStored)); stored < 3 {
				t.Errorf("%d votes were told of", stored)
			}
		})
	}
}

func TestTopicStoredByDeadLeaderIsToldByTheNext(t *testing.T) {
	c := newCluster(t, 7, 3)
	c.untilReady()
	old := c.leader()
	c.createLater("orphan")
	c.until("the topic is on disk", 5*time.Second, func() bool {
		return old.active.inFlight && old.store.logEnd() > old.active.storedEnd
	})
	c.kill(old.env.ID())
	if n := len(c.events.told(event.KindTopicCreated)); n != 0 {
		t.Fatalf("%d topics told of before the round's time passed", n)
	}
	c.until("another controller leads", 10*time.Second, func() bool { return c.leader() != nil })
	if n := len(c.events.told(event.KindTopicCreated)); n != 1 {
		t.Errorf("the topic is told of %d times", n)
	}
	if c.leader().active.committed.TopicByName("orphan") == nil {
		t.Error("a topic that all controllers stored is gone")
	}
}

func TestControllerWithFailedDiskGoesDownAndTheOthersGoOn(t *testing.T) {
	for _, who := range []string{"leader", "voter"} {
		t.Run(who, func(t *testing.T) {
			c := newCluster(t, 8, 3)
			c.untilReady()
			id := c.leader().env.ID()
			if who == "voter" {
				id = c.quorum.reachable(id)[0]
			}
			c.disks[id].SetFault(disk.Fault{Kind: disk.SyncError})
			c.mustCreate("orders", 1, 3)
			if c.world.Alive(id) {
				t.Error("a controller whose disk failed still runs")
			}
			c.disks[id].ClearFault()
			c.disks[id].Kill()
			c.start(id)
			c.world.RunFor(5 * time.Second)
			c.checkLogs()
		})
	}
}

func TestElectionBrokenOffByFailedDisksIsHeldAgain(t *testing.T) {
	c := newCluster(t, 9, 0)
	c.until("a leader", 10*time.Second, func() bool { return c.leader() != nil })
	old := c.leader().env.ID()
	peers := c.quorum.reachable(old)
	c.kill(old)
	c.disks[peers[0]].SetFault(disk.Fault{Kind: disk.SyncError})
	c.until("one controller is left", 20*time.Second, func() bool {
		return !c.world.Alive(peers[0]) || !c.world.Alive(peers[1])
	})
	c.world.RunFor(5 * time.Second)
	c.disks[peers[0]].ClearFault()
	for _, id := range c.quorum.IDs() {
		if !c.world.Alive(id) {
			c.disks[id].Kill()
			c.start(id)
		}
	}
	c.until("a leader", 20*time.Second, func() bool { return c.leader() != nil })
	c.world.RunFor(2 * time.Second)
	c.checkLogs()
}

func TestRestartedQuorumKeepsItsLog(t *testing.T) {
	c := newCluster(t, 10, 3)
	c.untilReady()
	for i := range 5 {
		c.mustCreate(fmt.Sprintf("topic-%d", i), 20, 3)
	}
	end := c.leader().active.committedEnd
	for _, id := range c.quorum.IDs() {
		c.powerCut(id)
	}
	c.recover()
	c.untilReady()
	l := c.leader()
	if l.active.committedEnd <= end || l.active.committed.TopicCount() != 5 {
		t.Errorf("%d topics, end %d, was %d", l.active.committed.TopicCount(),
			l.active.committedEnd, end)
	}
}
