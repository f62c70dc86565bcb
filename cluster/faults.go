package cluster

import (
	"fmt"
	"slices"
	"time"

	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/world"
)

func (c *Cluster) named(id event.NodeID) string {
	if slices.Contains(c.config.Controllers, id) {
		return fmt.Sprintf("controller %d", id)
	}
	if p := c.program(id); p != nil {
		return p.role() + " " + p.name
	}
	return fmt.Sprintf("broker %d", id)
}

func (c *Cluster) known(id event.NodeID) error {
	if slices.Contains(c.nodes(), id) || c.program(id) != nil {
		return nil
	}
	return fmt.Errorf("there is no node %d; there are %v", id, c.nodes())
}

func (c *Cluster) up(id event.NodeID) error {
	if err := c.known(id); err != nil {
		return err
	}
	if !c.world.Alive(id) {
		return fmt.Errorf("%s is down", c.named(id))
	}
	return nil
}

// at names a node and, where it has one, its directory.
func (c *Cluster) at(id event.NodeID) string {
	if d := c.disks[id]; d != nil && d.Path() != "" {
		return c.named(id) + " in " + d.Path()
	}
	return c.named(id)
}

// end takes an incarnation away: its Raft first, which panics when its store goes before it.
func (c *Cluster) end(id event.NodeID, s world.Stopping) error {
	if c.program(id) != nil {
		c.world.StopNode(id, s)
		return nil
	}
	// What it has under way ends first, so that its files do not depend on chance.
	c.world.AwaitWork(id)
	err := c.quorum.NodeDown(id, s.How == "stop")
	c.world.StopNode(id, s)
	if c.edge != nil {
		c.edge.CloseNode(id, s.How)
	}
	c.killDisk(id)
	if err != nil {
		return fmt.Errorf("%s: stop its Raft: %w", c.at(id), err)
	}
	return nil
}

// killDisk makes a disk forget its dead node. The directory stays this process's: the node may be
// started again, and until then no other process may have it.
func (c *Cluster) killDisk(id event.NodeID) {
	c.disks[id].Kill()
	c.relock(id)
}

func (c *Cluster) relock(id event.NodeID) {
	c.unlocked[id] = true
	if err := c.lock(id); err != nil {
		c.config.Log.Error("the directory of a dead node is not locked", "node", id, "error", err)
	}
}

// lock takes a directory that was let go.
func (c *Cluster) lock(id event.NodeID) error {
	if !c.unlocked[id] {
		return nil
	}
	if err := c.disks[id].Lock(); err != nil {
		return fmt.Errorf("%s: its directory: %w", c.named(id), err)
	}
	delete(c.unlocked, id)
	return nil
}

// nodeFailed is called when a node took itself down.
func (c *Cluster) nodeFailed(id event.NodeID, reason string) {
	c.config.Log.Error("a node went down", "node", id, "reason", reason)
	if s, _, _ := c.world.Stopped(id); s.How == "invariant" && c.broken == "" {
		c.broken = fmt.Sprintf("%s went down by a broken invariant: %s", c.named(id), reason)
	}
	if c.disks[id] == nil {
		return
	}
	if err := c.quorum.NodeDown(id, false); err != nil {
		c.config.Log.Error("its Raft did not stop cleanly", "node", id, "error", err)
	}
	if c.edge != nil {
		c.edge.CloseNode(id, reason)
	}
	c.killDisk(id)
}

// Broken says which node broke an invariant first, and how; "" while none has.
func (c *Cluster) Broken() string { return c.broken }

// Guard runs what a command does within a node, so that its panic takes down that node alone.
func (c *Cluster) Guard(id event.NodeID, f func()) { c.world.Guard(id, f) }

// Fate says how a node that is down went down, "" for one that runs or never ran.
func (c *Cluster) Fate(id event.NodeID) string {
	s, at, ok := c.world.Stopped(id)
	if !ok {
		return ""
	}
	when := fmt.Sprintf("at %v", at.Round(time.Millisecond))
	switch s.How {
	case "kill":
		return "was killed " + when
	case "stop":
		return "was closed " + when
	case "power-cut":
		return "lost its power " + when
	}
	return fmt.Sprintf("went down by itself %s (%s): %s", when, s.How, s.Reason)
}

// Kill ends a node at once, as SIGKILL does: its memory is gone, its files stay as the kernel has
// them.
func (c *Cluster) Kill(id event.NodeID) error {
	if err := c.up(id); err != nil {
		return err
	}
	return c.end(id, world.Stopping{How: "kill"})
}

// PowerCut ends a node and takes what its disk had not synced, but for a seeded part of it.
func (c *Cluster) PowerCut(id event.NodeID) error {
	if err := c.up(id); err != nil {
		return err
	}
	if c.program(id) != nil { // it has no disk to lose anything from
		return c.end(id, world.Stopping{How: "power-cut"})
	}
	c.world.AwaitWork(id)
	dirty := c.disks[id].Dirty()
	if err := c.quorum.NodeDown(id, false); err != nil {
		c.config.Log.Error("its Raft did not stop cleanly", "node", id, "error", err)
	}
	c.world.StopNode(id, world.Stopping{How: "power-cut", LostBytes: dirty})
	if c.edge != nil {
		c.edge.CloseNode(id, "power cut")
	}
	if err := c.disks[id].PowerCut(c.world.Dice()); err != nil {
		return fmt.Errorf("%s: power cut: %w", c.named(id), err)
	}
	c.relock(id)
	return nil
}

// Stop begins a controlled shutdown of a broker, which ends when its leaderships have moved; a
// controller stops at once.
func (c *Cluster) Stop(id event.NodeID) error {
	if err := c.up(id); err != nil {
		return err
	}
	if b := c.broker(id); b != nil {
		b.Stop(func() {
			err := c.end(id, world.Stopping{How: "stop", Rule: event.RuleControlledShutdown})
			if err != nil {
				c.config.Log.Error("controlled shutdown", "node", id, "error", err)
			}
		})
		return nil
	}
	if c.program(id) != nil {
		return c.CloseProgram(id, func() {})
	}
	return c.end(id, world.Stopping{How: "stop"})
}

// Stopping says that a broker hands its partitions over and will be down then.
func (c *Cluster) Stopping(id event.NodeID) bool {
	b := c.broker(id)
	return b != nil && b.Stopping()
}

// Restart starts a node that is down.
func (c *Cluster) Restart(id event.NodeID) error {
	if err := c.known(id); err != nil {
		return err
	}
	if c.Stopping(id) {
		return fmt.Errorf("%s is stopping; restart it when it is down", c.named(id))
	}
	if c.world.Alive(id) {
		return fmt.Errorf("%s is running; kill or stop it first", c.named(id))
	}
	if err := c.lock(id); err != nil {
		return err
	}
	if address, listens := c.addresses[id]; listens && c.edge != nil {
		if _, err := c.edge.Listen(id, address); err != nil {
			return err
		}
	}
	if err := c.world.StartNode(id); err != nil {
		c.startFailed(id, err)
		return fmt.Errorf("%s: %w", c.at(id), err)
	}
	if c.hung[id] {
		c.world.Pause(id)
	}
	return nil
}

// startFailed takes away what a start that failed had begun, so that the next one finds what the
// death before this one left: a closed port, no open file, and a disk that a new process meets.
func (c *Cluster) startFailed(id event.NodeID, err error) {
	c.config.Log.Error("a node could not be started", "node", c.at(id), "error", err)
	if c.edge != nil {
		c.edge.CloseNode(id, "its start failed")
	}
	if c.disks[id] != nil {
		c.killDisk(id)
	}
}

// Paused says whether a node stands still.
func (c *Cluster) Paused(id event.NodeID) bool { return c.world.Paused(id) }

// Pause makes a node stand still; Resume lets it go on.
func (c *Cluster) Pause(id event.NodeID) error {
	if err := c.up(id); err != nil {
		return err
	}
	if c.world.Paused(id) {
		return fmt.Errorf("%s is paused already", c.named(id))
	}
	c.quorum.NodePaused(id)
	c.world.Pause(id)
	return nil
}

// Resume ends a pause.
func (c *Cluster) Resume(id event.NodeID) error {
	if err := c.up(id); err != nil {
		return err
	}
	if !c.world.Paused(id) {
		return fmt.Errorf("%s is not paused", c.named(id))
	}
	if c.hung[id] {
		return fmt.Errorf("%s waits for its disk; give disk %d ok", c.named(id), id)
	}
	c.world.Resume(id)
	return nil
}

func (c *Cluster) eachWay(a, b event.NodeID, both bool, f func(from, to event.NodeID)) error {
	for _, id := range []event.NodeID{a, b} {
		if id != ClientID {
			if err := c.known(id); err != nil {
				return err
			}
		}
	}
	if a == b {
		return fmt.Errorf("a link has two ends; %d-%d has one", a, b)
	}
	f(a, b)
	if both {
		f(b, a)
	}
	return nil
}

// Cut cuts a link in one direction or both.
func (c *Cluster) Cut(a, b event.NodeID, bothWays bool) error {
	return c.eachWay(a, b, bothWays, c.world.Cut)
}

// Heal heals a link in one direction or both.
func (c *Cluster) Heal(a, b event.NodeID, bothWays bool) error {
	return c.eachWay(a, b, bothWays, c.world.Heal)
}

// HealAll heals every cut link.
func (c *Cluster) HealAll() error {
	for _, link := range c.world.CutLinks() {
		c.world.Heal(link[0], link[1])
	}
	return nil
}

// Delay sets a link's latency.
func (c *Cluster) Delay(a, b event.NodeID, bothWays bool, d time.Duration) error {
	return c.eachWay(a, b, bothWays, func(from, to event.NodeID) { c.world.Delay(from, to, d) })
}

// DiskFault makes a node's disk misbehave.
func (c *Cluster) DiskFault(id event.NodeID, fault disk.Fault) error {
	if err := c.known(id); err != nil {
		return err
	}
	if c.disks[id] == nil {
		return fmt.Errorf("%s has no disk", c.named(id))
	}
	c.world.AwaitAllWork() // a Raft round of one controller writes on the others' disks
	event.DiskFaultSet{Fault: fault.Kind.String(), Delay: int64(fault.Delay)}.
		Emit(c.world.NodeEvents(id), event.RuleNone)
	// A write that never returns stops whoever writes, and here one thread does all that a node
	// does: with its disk hung it stands still. A slow disk holds back what a node says, since it
	// says nothing before it has written. Of a disk that fails nobody knows before the write, which
	// ends the turn, so what is said in it may not arrive in the same instant.
	if fault.Kind == disk.Hung {
		c.quorum.NodePaused(id)
		c.world.Pause(id)
	} else if c.hung[id] {
		delete(c.hung, id)
		c.world.Resume(id)
	}
	c.world.SetLag(id, 0)
	switch fault.Kind {
	case disk.Hung:
		c.disks[id].ClearFault()
		c.hung[id] = true
		return nil
	case disk.None:
	case disk.Slow:
		c.world.SetLag(id, fault.Delay)
	default:
		c.world.SetLag(id, time.Nanosecond)
	}
	c.disks[id].SetFault(fault)
	return nil
}

// Clock puts a node's wall clock off and changes the rate of its steady clock.
func (c *Cluster) Clock(id event.NodeID, offset time.Duration, ratePermille int32) error {
	if err := c.known(id); err != nil {
		return err
	}
	if ratePermille < 1 || ratePermille > 100_000 {
		return fmt.Errorf("a clock's rate lies between 0.001 and 100, not %g",
			float64(ratePermille)/1000)
	}
	c.world.SetClock(id, offset, ratePermille)
	return nil
}
