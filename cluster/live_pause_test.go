package cluster

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"highwater/cluster/event"
	"highwater/cluster/world"
)

// disturbances are the kinds of event that a pause of the whole world must not bring.
var disturbances = []event.Kind{event.KindBrokerFenced, event.KindPartitionChanged,
	event.KindIsrChanged, event.KindNodeStopped, event.KindVoteStored,
	event.KindControllerStateChanged}

// pauseFor is how long the wall clock runs on: some seconds, or HIGHWATER_PAUSE by hand.
func pauseFor(t *testing.T) time.Duration {
	text := os.Getenv("HIGHWATER_PAUSE")
	if text == "" {
		return 3 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPausedWorldExpiresNothing(t *testing.T) {
	for _, loaded := range []bool{false, true} {
		name := "idle"
		if loaded {
			name = "loaded"
		}
		t.Run(name, func(t *testing.T) {
			// With sessions of one second a pause of three would end all of them, if it counted.
			l := startLive(t, Config{Seed: 41, Settings: map[string]string{
				"broker.session.timeout.ms": "1000", "broker.heartbeat.interval.ms": "200",
				"replica.lag.time.max.ms": "1000"}})
			ctx := within(t, 60*time.Second+2*pauseFor(t))
			l.topic(ctx, "orders", 3)
			l.level("orders")
			var load *liveLoad
			if loaded {
				load = l.load("orders", 3, time.Millisecond)
				load.progress(100)
			}
			pauseAndResume(t, l)
			if loaded {
				load.progress(100)
				load.check(ctx, 3)
			}
		})
	}
}

// pauseAndResume stops virtual time, lets wall time pass, and looks for what that brought.
func pauseAndResume(t *testing.T, l *liveCluster) {
	t.Helper()
	before := map[event.Kind]int{}
	var stopped time.Duration
	l.do("", func() {
		l.c.World().SetPace(world.Pace{Rate: 1, Paused: true})
		stopped = l.c.World().Now()
		for _, kind := range disturbances {
			before[kind] = l.events.seen[kind]
		}
	})
	wait(pauseFor(t))
	l.do("", func() {
		if now := l.c.World().Now(); now != stopped {
			t.Errorf("time ran from %v to %v in a pause", stopped, now)
		}
		l.c.World().SetPace(world.Pace{Rate: 1})
	})
	wait(1500 * time.Millisecond)
	l.do("", func() {
		if now := l.c.World().Now(); now < stopped+time.Second || now > stopped+5*time.Second {
			t.Errorf("time went on from %v to %v in one and a half seconds", stopped, now)
		}
		for _, kind := range disturbances {
			if n := l.events.seen[kind] - before[kind]; n > 0 {
				t.Errorf("%d %v after the pause", n, kind)
			}
		}
	})
}

// descriptors counts this process's open files and sockets. Files that have lost their name count
// apart: a disk keeps some, since a power cut may give the name back.
func descriptors(t *testing.T) (named, nameless int) {
	t.Helper()
	const dir = "/proc/self/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Skip("this system does not list its descriptors")
	}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		switch {
		case err != nil: // closed since
		case strings.HasSuffix(target, " (deleted)"):
			nameless++
		default:
			named++
		}
	}
	return named, nameless
}

// settleDescriptors waits until no more goroutines and descriptors are left than there were.
func settleDescriptors(t *testing.T, goroutines, files int) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		named, nameless := descriptors(t)
		// Six nodes keep up to 16 files each.
		if runtime.NumGoroutine() <= goroutines+3 && named <= files+3 && nameless <= 6*16 {
			return
		}
		select {
		case <-again.C:
		case <-deadline:
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines were %d, %d descriptors were %d, %d of files without a name\n%s",
				runtime.NumGoroutine(), goroutines, named, files, nameless,
				stacks[:runtime.Stack(stacks, true)])
		}
	}
}

func TestDeathsAndConnectionsLeaveNothingOpen(t *testing.T) {
	l := startLive(t, Config{Seed: 42, DataDir: t.TempDir()})
	ctx := within(t, 120*time.Second)
	l.topic(ctx, "orders", 3)
	l.level("orders")
	for _, id := range l.c.nodes() {
		l.cycle(id) // what is made once is part of the baseline
	}
	l.level("orders")
	goroutines := runtime.NumGoroutine()
	files, _ := descriptors(t)
	for i := range 30 {
		nodes := l.c.nodes()
		l.cycle(nodes[i%len(nodes)])
	}
	l.level("orders")
	for range 100 {
		client := l.client()
		if err := client.Ping(ctx); err != nil {
			t.Fatal(err)
		}
		client.Close()
	}
	settleDescriptors(t, goroutines, files)
	l.close()
}

// cycle kills a node and starts it again, once the cluster serves.
func (l *liveCluster) cycle(id event.NodeID) {
	l.t.Helper()
	l.do("", func() {
		if err := l.c.Kill(id); err != nil {
			l.t.Error(err)
		}
		if err := l.c.Restart(id); err != nil {
			l.t.Error(err)
		}
	})
	l.await("readiness", 30*time.Second, func() bool { return len(l.c.Ready()) == 0 })
}

func TestClosedClusterLeavesNoGoroutineAndNoDescriptor(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	files, _ := descriptors(t)
	fastest := time.Hour
	for range 5 {
		l := startLive(t, Config{Seed: 43, DataDir: t.TempDir()})
		l.close()
		fastest = min(fastest, l.took)
	}
	if fastest > 2*time.Second {
		t.Errorf("closing an idle cluster took %v", fastest)
	}
	settleDescriptors(t, goroutines, files)
}
