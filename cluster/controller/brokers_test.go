package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/metadata"
)

// ready is a cluster with three brokers and one topic of three copies.
func ready(t *testing.T, configs ...string) *cluster {
	t.Helper()
	c := newCluster(t, 42, 3)
	c.untilReady()
	c.mustCreate("orders", 1, 3, configs...)
	return c
}

// cleanStop lets a broker go by controlled shutdown.
func (c *cluster) cleanStop(id event.NodeID) {
	c.t.Helper()
	b := c.brokers[id].running
	b.wantShutdown = true
	c.until("the broker may stop", 10*time.Second, func() bool { return b.mayStop })
	c.kill(id)
}

func TestSilentBrokerIsFencedAfterItsSessionAndItsLeadershipMoves(t *testing.T) {
	c := ready(t)
	before := c.partition("orders", 0)
	victim := before.Leader
	c.kill(victim)
	died := c.world.Now()
	c.until("the leadership moves", 12*time.Second, func() bool {
		return c.partition("orders", 0).Leader != victim
	})
	if waited := c.world.Now() - died; waited < 6*time.Second || waited > 9500*time.Millisecond {
		t.Errorf("the broker was fenced after %s", waited)
	}
	p := c.partition("orders", 0)
	if p.Leader != before.Replicas[1] || p.LeaderEpoch != before.LeaderEpoch+1 ||
		slices.Contains(p.Isr, victim) || len(p.Isr) != 2 {
		t.Errorf("before %+v, after %+v", before, p)
	}
	fenced := c.events.told(event.KindBrokerFenced)
	if len(fenced) != 1 || !strings.Contains(fenced[0], "broker.session-timeout") {
		t.Errorf("told: %s", fenced)
	}
}

func TestFencedFollowerLeavesIsrWithoutNewLeaderEpoch(t *testing.T) {
	c := ready(t)
	before := c.partition("orders", 0)
	c.kill(before.Replicas[2])
	c.until("the ISR shrinks", 12*time.Second, func() bool {
		return len(c.partition("orders", 0).Isr) == 2
	})
	p := c.partition("orders", 0)
	if p.LeaderEpoch != before.LeaderEpoch || p.PartitionEpoch != before.PartitionEpoch+1 {
		t.Errorf("before %+v, after %+v", before, p)
	}
}

func TestUncleanRestartLosesPlaceInElrAndCleanRestartKeepsIt(t *testing.T) {
	for _, clean := range []bool{true, false} {
		c := ready(t, "min.insync.replicas=2")
		p := c.partition("orders", 0)
		first, second, third := p.Replicas[0], p.Replicas[1], p.Replicas[2]
		c.kill(third)
		c.until("ISR of two", 12*time.Second, func() bool {
			return len(c.partition("orders", 0).Isr) == 2
		})
		if clean {
			c.cleanStop(second)
		} else {
			c.kill(second)
		}
		c.until("the second is in the ELR", 12*time.Second, func() bool {
			return slices.Equal(c.partition("orders", 0).Elr, []event.NodeID{second})
		})
		c.start(second)
		c.until("the second is back", 5*time.Second, func() bool {
			b := c.leader().active.committed.Broker(second)
			return !b.Fenced && !b.InControlledShutdown
		})
		now := c.partition("orders", 0)
		if slices.Contains(now.Elr, second) != clean {
			t.Errorf("clean %t: %+v", clean, now)
		}
		if now.Leader != first {
			t.Errorf("clean %t: leader %d, not %d", clean, now.Leader, first)
		}
	}
}

func TestNewIncarnationFencesTheOldOneFirst(t *testing.T) {
	c := ready(t)
	p := c.partition("orders", 0)
	c.kill(p.Leader)
	c.start(p.Leader)
	c.until("the new incarnation is registered", 3*time.Second, func() bool {
		return len(c.events.told(event.KindBrokerRegistered)) == 4
	})
	fenced, registered := -1, -1
	for i, kind := range c.events.kinds {
		switch kind {
		case event.KindBrokerFenced:
			fenced = i
		case event.KindBrokerRegistered:
			registered = i
		}
	}
	if fenced < 0 || fenced > registered ||
		!strings.Contains(c.events.lines[fenced], "broker.epoch-fencing") ||
		!strings.Contains(c.events.lines[registered], "broker.unclean-shutdown") {
		t.Errorf("fenced at %d, registered at %d: %s", fenced, registered, c.events.lines[registered])
	}
	now := c.partition("orders", 0)
	if now.Leader == p.Leader || slices.Contains(now.Isr, p.Leader) {
		t.Errorf("the partition is %+v", now)
	}
}

func TestBrokerEpochIsOffsetOfRegistration(t *testing.T) {
	c := ready(t)
	l := c.leader()
	for _, r := range l.store.records(0, l.active.committedEnd) {
		m, err := metadata.Decode(r.value)
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := m.(*metadata.RegisterBrokerRecord); ok && m.BrokerEpoch != int64(r.offset) {
			t.Errorf("broker %d has epoch %d at offset %d", m.BrokerID, m.BrokerEpoch, r.offset)
		}
	}
}

func TestControlledShutdownHandsLeadershipOverBeforeTheBrokerGoes(t *testing.T) {
	c := ready(t)
	p := c.partition("orders", 0)
	c.cleanStop(p.Leader)
	now := c.partition("orders", 0)
	if now.Leader != p.Replicas[1] || slices.Contains(now.Isr, p.Leader) {
		t.Errorf("before %+v, after %+v", p, now)
	}
	if len(c.events.told(event.KindBrokerInControlledShutdown)) != 1 {
		t.Error("nothing tells of the controlled shutdown")
	}
}

func TestNewControllerGivesBrokersFullSessions(t *testing.T) {
	c := ready(t)
	c.world.RunFor(3 * time.Second)
	c.kill(c.leader().env.ID())
	c.world.RunFor(20 * time.Second)
	if n := len(c.events.told(event.KindBrokerFenced)); n != 0 {
		t.Errorf("%d brokers were fenced when the controller changed", n)
	}
	if c.leader() == nil {
		t.Error("no controller took over")
	}
}

func TestProducerIDBlocksNeverOverlap(t *testing.T) {
	c := ready(t)
	next := int64(0)
	for id := event.NodeID(1); id <= 3; id++ {
		b := c.brokers[id].running
		req := kmsg.NewPtrAllocateProducerIDsRequest()
		req.BrokerID, req.BrokerEpoch = int32(id), b.epoch
		r := c.askFrom(b, req).(*kmsg.AllocateProducerIDsResponse)
		if r.ErrorCode != 0 || r.ProducerIDStart != next || r.ProducerIDLen != 1000 {
			t.Errorf("broker %d got %+v", id, r)
		}
		next += 1000
	}
	req := kmsg.NewPtrAllocateProducerIDsRequest()
	req.BrokerID, req.BrokerEpoch = 1, 1
	if r := c.ask(req).(*kmsg.AllocateProducerIDsResponse); r.ErrorCode != kerr.StaleBrokerEpoch.Code {
		t.Errorf("a stale epoch got %+v", r)
	}
}

func TestForeignClusterIsRefused(t *testing.T) {
	c := ready(t)
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.BrokerID, req.ClusterID = 9, "another"
	r := c.ask(req).(*kmsg.BrokerRegistrationResponse)
	if r.ErrorCode != kerr.InconsistentClusterID.Code {
		t.Errorf("got %+v", r)
	}
}
