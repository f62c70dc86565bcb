package cluster

import (
	"errors"
	"maps"
	"math"
	"net"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"highwater/cluster/commitlog"
	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/record"
)

// filesOf reads everything that a node's disk has; the disk must be healthy.
func filesOf(t *testing.T, d *disk.Disk, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries, err := d.List(dir)
	must(t, err)
	for _, e := range entries {
		name := path.Join(dir, e.Name)
		if e.Dir {
			maps.Copy(found, filesOf(t, d, name))
			continue
		}
		content, err := d.ReadFile(name)
		must(t, err)
		found[name] = string(content)
	}
	return found
}

// sameFiles says which files a start that failed has changed. The marker of a clean stop goes at
// every start, lest a crash in the middle of it pass for clean.
func sameFiles(t *testing.T, what string, before, after map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		content, kept := after[name]
		if name != ".kafka_cleanshutdown" && (!kept || content != before[name]) {
			t.Errorf("%s: %s is there: %v, with %d bytes, before %d", what, name, kept, len(content),
				len(before[name]))
		}
	}
}

func TestStartThatTheDiskRefusesLeavesNothingBehind(t *testing.T) {
	c, s := start(t, Config{Seed: 21, Latency: time.Millisecond,
		Kafka: []string{"127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"}})
	d := drive(t, c)
	d.ready()
	d.topic("orders", "1", 1, 2, 3)
	l := d.load("orders")
	c.World().RunFor(time.Second)
	for _, id := range []event.NodeID{3, 102} {
		for _, kind := range []disk.FaultKind{
			disk.Full, disk.ReadError, disk.WriteError, disk.SyncError,
		} {
			what := c.named(id) + ", " + kind.String()
			must(t, c.Kill(id))
			before := filesOf(t, c.Disk(id), ".")
			must(t, c.DiskFault(id, disk.Fault{Kind: kind}))
			for range 2 {
				err := c.Restart(id)
				refused := (*disk.Error)(nil)
				if !errors.As(err, &refused) || c.Alive(id) ||
					!strings.Contains(err.Error(), refused.Name) {
					t.Fatalf("%s: started: %v", what, err)
				}
				if strings.Contains(err.Error(), "listens already") ||
					strings.Contains(err.Error(), "remove ") {
					t.Errorf("%s: %v", what, err)
				}
			}
			if conn, err := net.Dial("tcp", c.Addresses()[3]); id == 3 && err == nil {
				t.Errorf("%s: its port takes clients", what)
				must(t, conn.Close())
			}
			must(t, c.DiskFault(id, disk.Fault{}))
			sameFiles(t, what, before, filesOf(t, c.Disk(id), "."))
			if err := c.Restart(id); err != nil {
				t.Fatalf("%s: once the disk is healthy: %v", what, err)
			}
			c.World().RunFor(5 * time.Second)
		}
	}
	l.stopped = true
	d.settled("orders")
	l.check()
	if told := strings.Join(s.lines, "\n"); strings.Count(told, "LogDirFailed") != 8 {
		t.Errorf("%d of 8 failures of broker 3's log directory are told",
			strings.Count(told, "LogDirFailed"))
	}
}

// unreadable lets every read of one file fail.
func unreadable(name string) func(disk.Operation) error {
	return func(o disk.Operation) error {
		if o.Kind == disk.OpRead && o.Name == name {
			return disk.ErrIO
		}
		return nil
	}
}

// One file after the other cannot be read while its node starts. A node that needs it stays down,
// or goes down once it comes to it; nothing is deleted, cut or written anew for it.
func TestFileThatCannotBeReadAtTheStartIsNotTakenForDamaged(t *testing.T) {
	for _, clean := range []bool{false, true} {
		c, _ := start(t, Config{Seed: 22, Latency: time.Millisecond})
		d := drive(t, c)
		d.ready()
		d.topic("orders", "1", 1, 2, 3)
		l := d.load("orders")
		c.World().RunFor(12 * time.Second)
		failed := map[string]bool{}
		down := func(id event.NodeID) map[string]string {
			if !clean {
				must(t, c.Kill(id))
			} else {
				must(t, c.Stop(id))
				d.until("stopped", time.Minute, func() bool { return !c.Alive(id) })
			}
			return filesOf(t, c.Disk(id), ".")
		}
		for _, id := range []event.NodeID{3, 102} {
			first := down(id)
			must(t, c.Restart(id))
			c.World().RunFor(3 * time.Second)
			for _, name := range slices.Sorted(maps.Keys(first)) {
				what := c.named(id) + ", " + name
				before := down(id)
				c.Disk(id).OnOperation(unreadable(name))
				err := c.Restart(id)
				c.World().RunFor(2 * time.Second)
				c.Disk(id).OnOperation(nil)
				after := filesOf(t, c.Disk(id), ".")
				switch {
				case err != nil:
					failed[what] = true
					sameFiles(t, what, before, after)
				case !c.Alive(id):
					failed[what] = true
					sameFiles(t, what, map[string]string{name: before[name]}, after)
				}
				if !c.Alive(id) {
					must(t, c.Restart(id))
				}
				c.World().RunFor(3 * time.Second)
			}
		}
		l.stopped = true
		d.settled("orders")
		l.check()
		needed := []string{"broker 3, meta.properties", "broker 3, replication-offset-checkpoint",
			"broker 3, orders-0/00000000000000000000.log", "controller 102, meta.properties",
			"controller 102, __cluster_metadata-0/quorum-state"}
		for _, file := range []string{"00000000000000000000.log",
			"00000000000000000000.timeindex", "leader-epoch-checkpoint", "partition.metadata"} {
			needed = append(needed, "broker 3, __cluster_metadata-0/"+file,
				"controller 102, __cluster_metadata-0/"+file)
		}
		if clean {
			needed = append(needed, "broker 3, recovery-point-offset-checkpoint",
				"broker 3, .kafka_cleanshutdown")
		}
		for _, name := range needed {
			if !failed[name] {
				t.Errorf("clean %v: nothing failed: %s", clean, name)
			}
		}
	}
}

// A broker that stops before it has opened its logs knows nothing of them: after a crash before,
// they are not clean for that.
func TestStopBeforeTheLogsAreOpenIsNotClean(t *testing.T) {
	for _, before := range []string{"power cut", "clean stop"} {
		c, _ := start(t, Config{Seed: 23, Latency: time.Millisecond})
		d := drive(t, c)
		d.ready()
		d.topic("orders", "1", 1, 2, 3)
		stopped := func() {
			must(t, c.Stop(1))
			d.until("the stop", time.Minute, func() bool { return !c.Alive(1) })
		}
		if before == "power cut" {
			must(t, c.PowerCut(1))
		} else {
			stopped()
		}
		for _, controller := range c.Controllers() {
			must(t, c.Cut(1, controller, true))
		}
		must(t, c.Restart(1))
		c.World().RunFor(time.Second)
		stopped()
		_, marked := filesOf(t, c.disks[1], ".")[".kafka_cleanshutdown"]
		if marked != (before == "clean stop") {
			t.Errorf("after a %s: marked as clean: %v", before, marked)
		}
	}
}

// Without their quorum-state files the controllers began at epoch 0 and wrote batches of lower
// epochs behind those that they had; no broker came up.
func TestControllersWithoutQuorumStateGoOnFromTheirLogs(t *testing.T) {
	c, _ := start(t, Config{Seed: 29, Latency: time.Millisecond})
	d := drive(t, c)
	d.ready()
	d.topic("orders", "1", 1, 2, 3)
	for range 2 { // elections, for an epoch above the first
		active, _ := c.Controller()
		must(t, c.Kill(active))
		d.until("another controller", time.Minute, func() bool {
			id, ok := c.Controller()
			return ok && id != active
		})
		must(t, c.Restart(active))
		c.World().RunFor(2 * time.Second)
	}
	before := c.World().Now()
	for _, id := range c.Controllers() {
		must(t, c.Kill(id))
		must(t, c.Disk(id).Remove("__cluster_metadata-0/quorum-state"))
	}
	for _, id := range c.Controllers() {
		must(t, c.Restart(id))
	}
	d.ready()
	d.topic("more", "1", 1, 2, 3)
	if took := c.World().Now() - before; took > 30*time.Second {
		t.Errorf("ready after %s", took)
	}
	for _, id := range c.Controllers() {
		must(t, c.Kill(id))
		epoch := int32(0)
		log, _, err := commitlog.Open(c.Disk(id), "__cluster_metadata-0",
			commitlog.DefaultConfig(), commitlog.OpenOptions{})
		must(t, err)
		_, err = log.ReadAll(0, math.MaxInt, log.LogEndOffset(),
			func(h record.Header, _ []byte) error {
				if h.PartitionLeaderEpoch < epoch {
					t.Errorf("controller %d: epoch %d behind %d", id, h.PartitionLeaderEpoch, epoch)
				}
				epoch = h.PartitionLeaderEpoch
				return nil
			})
		must(t, err)
	}
}
