package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/viz/model"
)

// folded is a sink that keeps what the page would show.
type folded struct{ state *model.State }

func (f *folded) Publish(full *event.Chunk) *event.Chunk {
	f.state.ApplyChunk(full)
	full.Reset()
	return full
}

// sessionOn runs a cluster on a directory and gives what was true just before it closed: what the
// page would show, and the brokers' incarnation ids in the metadata log.
func sessionOn(t *testing.T, dir string) (*model.State, []event.UUID) {
	t.Helper()
	f := &folded{state: model.New()}
	c, err := New(Config{Seed: 7, DataDir: dir, Events: f, PanicThrough: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	drive(t, c).ready()
	second := c.World().Now() + time.Second
	c.World().RunWhile(func() bool { return true }, second)
	for _, n := range f.state.Nodes {
		if n.Role == "broker" && n.Fenced {
			t.Errorf("the cluster is ready, and the page shows broker %d fenced", n.ID)
		}
	}
	var ids []event.UUID
	for _, id := range c.Brokers() {
		ids = append(ids, c.Image().Broker(id).IncarnationID)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return f.state, ids
}

// Once, with the same seed, every session rolled the same dice, so a broker came back
// under the incarnation id of the session before, and the page showed it fenced for ever.
func TestSessionsOnOneDirectoryAreDifferentIncarnations(t *testing.T) {
	dir := t.TempDir()
	known := map[event.UUID]int{}
	epochs := map[event.NodeID]int64{}
	for session := 1; session <= 3; session++ {
		state, ids := sessionOn(t, dir)
		for _, id := range ids {
			if earlier := known[id]; earlier > 0 {
				t.Errorf("sessions %d and %d have a broker with incarnation id %v", earlier, session, id)
			}
			known[id] = session
		}
		for _, n := range state.Nodes {
			if n.Role == "broker" && session > 1 && n.BrokerEpoch <= epochs[n.ID] {
				t.Errorf("session %d: broker %d had epoch %d and has %d", session, n.ID, epochs[n.ID],
					n.BrokerEpoch)
			}
			epochs[n.ID] = n.BrokerEpoch
		}
	}
}

// Once a directory that cannot be opened ended the whole program, and a topic whose
// name is as long as Kafka allows ended every broker that held it when it was deleted.
func TestBrokerWhoseDirectoryFailsLeavesTheOthersServing(t *testing.T) {
	dir := t.TempDir()
	name := strings.Repeat("a", 249)
	open := func() (*Cluster, *driver) {
		c, err := New(Config{Seed: 7, DataDir: dir, PanicThrough: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		d := drive(t, c)
		d.until("nothing is missing", 30*time.Second, func() bool { return len(c.Missing()) == 0 })
		return c, d
	}
	c, d := open()
	d.topic("orders", "1", 1, 2)
	d.topic("three", "1", 3)
	d.topic(name, "1", 1, 2, 3)
	active, _ := c.Controller()
	r := kmsg.NewPtrDeleteTopicsRequest()
	r.Version, r.TimeoutMillis = 5, 10_000
	r.TopicNames = []string{name}
	if answer, err := d.ask(active, "DeleteTopics", r); err != nil ||
		answer.(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode != 0 {
		t.Fatalf("%+v, %v", answer, err)
	}
	c.World().RunFor(2 * time.Second)
	if down := c.Down(); len(down) > 0 {
		t.Fatalf("deleting a topic with a long name ended %v", down)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "broker-3", "three-0")
	if err := errors.Join(os.RemoveAll(folder), os.WriteFile(folder, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	c, d = open()
	if down := c.Down(); !slices.Equal(down, []event.NodeID{3}) {
		t.Errorf("down are %v", down)
	}
	var leader event.NodeID
	d.until("a leader that runs", 30*time.Second, func() bool {
		_, led := c.LogEndOffsetOfLeader("orders", 0)
		leader, _ = c.Leader("orders", 0)
		return led
	})
	if p, err := d.send(leader, "orders", -1, "k", "v"); err != nil || p.ErrorCode != 0 {
		t.Errorf("the others do not serve: %+v, %v", p, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}
