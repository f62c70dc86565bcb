package cluster

import (
	"testing"
	"time"

	"highwater/cluster/event"
	"highwater/viz/audit"
)

// tape is a sink that keeps every event.
type tape struct {
	lines []string
	audit *audit.Auditor
}

func (s *tape) Publish(full *event.Chunk) *event.Chunk {
	s.audit.Chunk(full)
	for i := range full.Records {
		s.lines = append(s.lines, string(full.AppendJSON(nil, &full.Records[i])))
	}
	full.Reset()
	return full
}

func start(t *testing.T, config Config) (*Cluster, *tape) {
	t.Helper()
	s := &tape{audit: audit.New()}
	t.Cleanup(func() {
		for _, v := range s.audit.Violations() {
			t.Errorf("seed %d: %v", config.Seed, v)
		}
	})
	config.Events, config.PanicThrough = s, true
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil { // its goroutines would keep all of it in memory
			t.Error(err)
		}
	})
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, s
}

func TestFreshClusterIsReadyWithinThreeSeconds(t *testing.T) {
	c, s := start(t, Config{Seed: 1})
	c.World().RunWhile(func() bool { return len(c.Ready()) > 0 }, 3*time.Second)
	if reasons := c.Ready(); len(reasons) > 0 {
		for _, l := range s.lines[max(0, len(s.lines)-60):] {
			t.Log(l)
		}
		t.Fatalf("after %v: %v", c.World().Now(), reasons)
	}
}

func TestRecordIsAcknowledgedOnceAllInSyncReplicasFetchedPastIt(t *testing.T) {
	c, s := start(t, Config{Seed: 1, Latency: time.Millisecond})
	d := drive(t, c)
	d.ready()
	d.topic("orders", "2", 1, 2, 3)
	before := len(s.lines)
	p, err := d.send(1, "orders", -1, "order-3", "{}")
	if err != nil || p.ErrorCode != 0 || p.BaseOffset != 0 {
		t.Errorf("answer %+v, %v", p, err)
	}
	for _, l := range s.lines[before:] {
		t.Log(l)
	}
	if hw, _ := c.HighWatermark("orders", 0); hw != 1 {
		t.Errorf("high watermark %d", hw)
	}
}
