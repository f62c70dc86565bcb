package controller

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"highwater/cluster/disk"
	"highwater/cluster/event"
)

// story lets a cluster live through faults that a seed decides, and gives what it left.
func story(t *testing.T, seed uint64) (events []string, files string) {
	c := newCluster(t, seed, 3)
	dice := rand.New(rand.NewPCG(seed, 77))
	topics := 0
	for range 14 {
		c.world.RunFor(time.Duration(dice.IntN(3000)) * time.Millisecond)
		c.misfortune(dice)
		if l := c.leader(); l != nil && dice.IntN(2) == 0 {
			name := fmt.Sprintf("topic-%d", topics)
			topics++
			c.createLater(name)
		}
	}
	c.recover()
	c.world.RunFor(10 * time.Second) // what came back has registered anew
	c.untilReady()
	c.mustCreate("last", 2, 3)
	c.world.RunFor(5 * time.Second)
	c.checkLogs()
	return c.events.lines, c.fingerprint()
}

// createLater asks for a topic and does not wait for the answer.
func (c *cluster) createLater(name string) {
	l := c.leader()
	for _, id := range c.world.Nodes() {
		if b, ok := c.world.Node(id).(*testBroker); ok {
			req := createRequest(name, 3, 1)
			b.env.Request(l.env.ID(), "CreateTopics", req, 5*time.Second, func(any, error) {})
			return
		}
	}
}

// misfortune does one of the things that happen to clusters.
func (c *cluster) misfortune(dice *rand.Rand) {
	nodes := c.world.Nodes()
	id := nodes[dice.IntN(len(nodes))]
	controllers := c.quorum.IDs()
	switch dice.IntN(10) {
	case 0, 1:
		if !c.down[id] {
			c.kill(id)
			return
		}
		c.start(id)
	case 2:
		if !c.down[id] {
			c.powerCut(id)
		}
	case 3:
		c.isolate(controllers[dice.IntN(3)])
	case 4:
		c.healAll()
	case 5:
		if l := c.leader(); l != nil {
			c.kill(l.env.ID())
		}
	case 6:
		from, to := controllers[dice.IntN(3)], controllers[dice.IntN(3)]
		if from != to {
			c.world.Cut(from, to)
		}
	case 7:
		if c.world.Paused(id) {
			c.world.Resume(id)
		} else {
			c.world.Pause(id)
		}
	case 8:
		kinds := []disk.FaultKind{disk.Full, disk.WriteError, disk.SyncError}
		c.disks[controllers[dice.IntN(3)]].SetFault(disk.Fault{Kind: kinds[dice.IntN(3)]})
	case 9:
		c.disks[controllers[dice.IntN(3)]].ClearFault()
	}
}

func (c *cluster) recover() {
	c.healAll()
	for _, d := range c.disks { // each for itself: the order does not matter
		d.ClearFault()
	}
	for _, id := range c.world.Nodes() {
		c.world.Resume(id)
		if c.down[id] {
			c.start(id)
		}
	}
}

// checkLogs requires all controllers to have the same log, and brokers copies of it.
func (c *cluster) checkLogs() {
	c.t.Helper()
	l := c.leader()
	want := l.store.view()
	for _, id := range c.quorum.IDs() {
		s := c.world.Node(id).(*Controller).store
		v := s.view()
		if v.last != want.last || v.lastTerm != want.lastTerm || v.staged != 0 {
			c.t.Errorf("controller %d ends at %+v, the leader at %+v", id, v, want)
			continue
		}
		for i := range s.batches {
			if !slices.Equal(s.batches[i].bytes, l.store.batches[i].bytes) {
				c.t.Errorf("controller %d has another batch %d", id, i)
			}
		}
	}
	for id, place := range c.brokers {
		if got := place.running.next; got != l.active.committedEnd {
			c.t.Errorf("broker %d is at %d, committed is %d", id, got, l.active.committedEnd)
		}
	}
}

func TestSameSeedGivesSameEventsAndFiles(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 4
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) {
			before := runtime.GOMAXPROCS(1)
			events, files := story(t, seed)
			runtime.GOMAXPROCS(2)
			again, sameFiles := story(t, seed)
			runtime.GOMAXPROCS(before)
			for i := range events {
				if i >= len(again) || events[i] != again[i] {
					t.Fatalf("event %d differs:\n%s\n%s", i, events[i],
						strings.Join(again[i:min(i+1, len(again))], ""))
				}
			}
			if len(events) != len(again) || files != sameFiles {
				t.Errorf("%d and %d events, files equal: %t", len(events), len(again),
					files == sameFiles)
			}
		})
	}
}

func TestNoTermHasTwoLeaders(t *testing.T) {
	for seed := range uint64(8) {
		c := newCluster(t, 100+seed, 1)
		dice := rand.New(rand.NewPCG(seed, 78))
		leaders := map[int32]event.NodeID{}
		for range 400 {
			c.world.RunFor(50 * time.Millisecond)
			for _, id := range c.quorum.IDs() {
				n, ok := c.world.Node(id).(*Controller)
				if !ok || !n.Active() {
					continue
				}
				if other, known := leaders[n.Term()]; known && other != id {
					t.Fatalf("seed %d: %d and %d lead in term %d", seed, other, id, n.Term())
				}
				leaders[n.Term()] = id
			}
			if dice.IntN(10) == 0 {
				c.misfortune(dice)
			}
		}
	}
}

func TestWithoutMajorityNothingChangesUntilItIsBack(t *testing.T) {
	c := newCluster(t, 3, 3)
	c.untilReady()
	c.mustCreate("orders", 1, 3)
	leader := c.leader().env.ID()
	for _, id := range c.quorum.IDs() {
		if id != leader {
			c.kill(id)
		}
	}
	p := c.partition("orders", 0)
	told := len(c.events.told(event.KindPartitionChanged))
	c.kill(p.Leader)
	c.world.RunFor(30 * time.Second)
	if n := len(c.events.told(event.KindPartitionChanged)); n != told {
		t.Errorf("%d partition changes without a majority", n-told)
	}
	if c.leader() != nil {
		t.Error("the controller did not resign without a majority")
	}
	for _, id := range c.quorum.IDs() {
		if id != leader {
			c.start(id)
		}
	}
	c.until("the dead leader is replaced", 30*time.Second, func() bool {
		now := c.partition("orders", 0)
		return now != nil && now.Leader != p.Leader && now.Leader != event.NoNode
	})
}

func TestIsolatedLeaderResignsAndItsSuffixIsReplaced(t *testing.T) {
	c := newCluster(t, 4, 3)
	c.untilReady()
	old := c.leader()
	id := old.env.ID()
	for _, other := range c.quorum.IDs() {
		if other != id {
			c.world.Cut(id, other)
			c.world.Cut(other, id)
		}
	}
	c.createLater("lost")
	c.until("the isolated leader stored the topic", 5*time.Second, func() bool {
		return old.active != nil && old.active.storedEnd > old.active.committedEnd
	})
	c.until("another controller leads", 10*time.Second, func() bool {
		l := c.leader()
		return l != nil && l.env.ID() != id && !old.Active()
	})
	c.mustCreate("kept", 1, 1)
	c.healAll()
	c.until("the old leader follows", 10*time.Second, func() bool {
		v, w := old.store.view(), c.leader().store.view()
		return v.last == w.last && v.lastTerm == w.lastTerm && old.role == roleFollower
	})
	c.world.RunFor(2 * time.Second)
	c.checkLogs()
	if c.leader().active.committed.TopicByName("lost") != nil {
		t.Error("a topic that no majority stored came into being")
	}
}

func TestVoteAndTermSurvivePowerCut(t *testing.T) {
	c := newCluster(t, 5, 0)
	c.until("a leader", 10*time.Second, func() bool { return c.leader() != nil })
	before := map[event.NodeID]storeView{}
	for _, id := range c.quorum.IDs() {
		before[id] = c.world.Node(id).(*Controller).store.view()
		c.powerCut(id)
	}
	for _, id := range c.quorum.IDs() {
		c.start(id)
		after := c.world.Node(id).(*Controller).store.view()
		if after != before[id] {
			t.Errorf("controller %d had %+v, has %+v", id, before[id], after)
		}
	}
}

func TestDeposedLeaderSendsWhoeverWaitsToTheNewOne(t *testing.T) {
	c := newCluster(t, 13, 1)
	c.untilReady()
	old := c.leader()
	for _, other := range c.quorum.IDs() {
		if other != old.env.ID() {
			c.world.Cut(old.env.ID(), other)
			c.world.Cut(other, old.env.ID())
		}
	}
	var answer any
	b := c.brokers[1].running
	b.mute = true // a heartbeat that times out would reset the connection
	b.env.Request(old.env.ID(), "CreateTopics",
		createRequest("lost", 1, 1), 20*time.Second, func(a any, _ error) { answer = a })
	c.until("an answer", 15*time.Second, func() bool { return answer != nil })
	if no, ok := answer.(*NotController); !ok || no.Leader == old.env.ID() {
		t.Errorf("answered %+v", answer)
	}
}
