package cluster

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/world"
)

// inputs run by both a session and its re-run.
func runText(t *testing.T, c *Cluster, text string) {
	var verb string
	var id event.NodeID
	if _, err := fmt.Sscanf(text, "%s %d", &verb, &id); err != nil {
		t.Fatalf("command %q: %v", text, err)
	}
	var err error
	switch verb {
	case "kill":
		err = c.Kill(id)
	case "power-cut":
		err = c.PowerCut(id)
	case "restart":
		err = c.Restart(id)
	case "slow":
		err = c.DiskFault(id, disk.Fault{Kind: disk.Slow, Delay: 3 * time.Millisecond})
	case "unreadable":
		err = c.DiskFault(id, disk.Fault{Kind: disk.ReadError})
	case "unsyncable":
		err = c.DiskFault(id, disk.Fault{Kind: disk.SyncError})
	case "well":
		err = c.DiskFault(id, disk.Fault{})
	default:
		t.Fatalf("command %q", text)
	}
	if err != nil {
		t.Errorf("%s: %v", text, err)
	}
}

func (l *liveCluster) command(text string) {
	l.t.Helper()
	l.do(text, func() { runText(l.t, l.c, text) })
}

// leaderOf waits for a partition to have a leader that runs.
func (l *liveCluster) leaderOf(topic string, p int32) (leader event.NodeID) {
	l.t.Helper()
	l.await("a leader", 30*time.Second, func() bool {
		leader, _ = l.c.Leader(topic, p)
		return leader != event.NoNode && l.c.Alive(leader)
	})
	return leader
}

// bulk fills a partition with so many bytes, so that segments roll.
func (l *liveCluster) bulk(ctx context.Context, topic string, size int) {
	l.t.Helper()
	client := l.client(kgo.ProducerBatchCompression(kgo.NoCompression()))
	defer client.Close()
	value := bytes.Repeat([]byte("0123456789abcdef"), 256)
	for i := 0; i < size; i += len(value) {
		client.Produce(ctx, &kgo.Record{Topic: topic, Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				l.t.Errorf("bulk: %v", err)
			}
		})
	}
	if err := client.Flush(ctx); err != nil {
		l.t.Fatal(err)
	}
}

// session is a live session with outside clients, a slow and an unreadable disk, a death by each
// hand, time that goes by steps, and a clean end.
func session(t *testing.T, config Config) *liveCluster {
	config.InputLogBytesMax = 64 << 20
	l := startLive(t, config)
	ctx := within(t, 120*time.Second)
	l.topic(ctx, "orders", 2)
	l.level("orders")
	consumer := l.client(kgo.ConsumeTopics("orders"))
	defer consumer.Close()
	l.topic(ctx, "bulk", 1)
	l.bulk(ctx, "bulk", 3<<20)
	load := l.load("orders", 2, time.Millisecond)
	for i, how := range []string{"kill", "power-cut", "kill"} {
		load.progress(100)
		id := l.leaderOf("orders", int32(i%2))
		l.command(fmt.Sprintf("%s %d", []string{"slow", "unreadable", "well"}[i], id))
		load.progress(100)
		if i == 2 {
			l.do("", func() { id, _ = l.c.Controller() })
		}
		l.command(fmt.Sprintf("%s %d", how, id))
		wait(time.Second)
		l.command(fmt.Sprintf("well %d", id))
		l.command(fmt.Sprintf("restart %d", id))
		if len(consumer.PollFetches(ctx).Records()) == 0 {
			t.Error("the consumer got nothing")
		}
	}
	load.progress(100)
	l.stepThrough()
	load.progress(100)
	load.check(ctx, 2)
	return l
}

// stepThrough stops time and goes on by steps, with commands between them.
func (l *liveCluster) stepThrough() {
	l.do("", func() { l.c.World().SetPace(world.Pace{Rate: 1, Paused: true}) })
	for i := range 40 {
		l.command(fmt.Sprintf("%s %d", []string{"slow", "well"}[i%2], 1+i/2%3))
		l.do("", func() {
			for range 1 + i%5 {
				l.c.World().Step()
			}
		})
	}
	l.do("", func() { l.c.World().SetPace(world.Pace{Rate: 1}) })
}

func TestLiveSessionRunsAgainFromItsInputLog(t *testing.T) {
	for _, name := range []string{"memory", "directories"} {
		t.Run(name, func(t *testing.T) {
			// The world lags as after a pause of two hours, and the producers' records do not.
			lag := 2 * time.Hour
			config, again := Config{Seed: 31, Origin: time.Now().Add(-lag)}, ""
			if name == "directories" {
				config.DataDir, again = t.TempDir(), t.TempDir()
			}
			config.Settings = map[string]string{"log.segment.bytes": "1048576"}
			l := session(t, config)
			l.close()
			inputs, complete := l.c.Inputs().Bytes()
			if !complete {
				t.Fatal("the input log is not complete")
			}
			rerun(t, l, inputs, again)
		})
	}
}

// Work that is under way when a disk begins to fail was asked for before: it does not find the
// fault, in the session as in its re-run, where all work is done when it is asked for.
func TestDiskFaultsUnderWorkRunAgain(t *testing.T) {
	l := startLive(t, Config{Seed: 5, Origin: time.Now(), InputLogBytesMax: 64 << 20})
	ctx := within(t, 60*time.Second)
	client := l.client()
	defer client.Close()
	for i := range 6 {
		var id event.NodeID
		l.await("a controller that works", 30*time.Second, func() bool {
			id, _ = l.c.Controller()
			return id != event.NoNode && len(l.c.Ready()) == 0
		})
		created := make(chan struct{})
		go func() {
			defer close(created)
			request := kmsg.NewPtrCreateTopicsRequest()
			topic := kmsg.NewCreateTopicsRequestTopic()
			topic.Topic, topic.NumPartitions, topic.ReplicationFactor = fmt.Sprint("t", i), 40, 3
			request.Topics, request.TimeoutMillis = append(request.Topics, topic), 500
			// Whether the failing controller answers is not what this is about.
			_, _ = request.RequestWith(ctx, client)
		}()
		wait(time.Duration(1+i) * 200 * time.Microsecond)
		l.command(fmt.Sprintf("unsyncable %d", id))
		<-created
		l.command(fmt.Sprintf("well %d", id))
		var lives bool
		l.do("", func() { lives = l.c.Alive(id) })
		if !lives { // else all was written before the fault
			l.command(fmt.Sprintf("restart %d", id))
		}
	}
	l.close()
	inputs, complete := l.c.Inputs().Bytes()
	if !complete {
		t.Fatal("the input log is not complete")
	}
	rerun(t, l, inputs, "")
}

// rerun runs a session again and compares events and files.
func rerun(t *testing.T, l *liveCluster, inputs []byte, dataDir string) {
	t.Helper()
	config := l.c.RerunConfig()
	events := newRecorder()
	events.keep = true
	config.DataDir, config.Events = dataDir, events
	c, err := Rerun(config, inputs, func(c *Cluster, text string) { runText(t, c, text) })
	if c != nil {
		defer func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}()
	}
	for i, line := range l.events.lines {
		if i >= len(events.lines) || events.lines[i] != line {
			other := "nothing"
			if i < len(events.lines) {
				other = events.lines[i]
			}
			t.Errorf("event %d of %d is\n%s\nin the session, and in the re-run\n%s", i+1,
				len(l.events.lines), line, other)
			for _, before := range l.events.lines[max(0, i-8):i] {
				t.Log(before)
			}
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d events, %d bytes of input", len(events.lines), len(inputs))
	if len(events.lines) != len(l.events.lines) {
		t.Errorf("%d events in the session, %d in the re-run", len(l.events.lines),
			len(events.lines))
	}
	if dataDir != "" {
		was, is := directoryFiles(t, l.c.DataDir()), directoryFiles(t, dataDir)
		compareFiles(t, was, is)
	}
}

func compareFiles(t *testing.T, was, is map[string]string) {
	t.Helper()
	for name, sum := range was {
		if path.Base(name) != ".lock" && is[name] != sum {
			t.Errorf("%s has %q in the session, %q in the re-run", name, sum, is[name])
		}
	}
	for name := range is {
		if _, there := was[name]; !there && !strings.HasSuffix(name, ".lock") {
			t.Errorf("%s is only in the re-run", name)
		}
	}
}
