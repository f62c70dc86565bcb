package cluster

import (
	"testing"
	"time"

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

// Found by fresh eyes: with the same seed every session rolled the same dice, so a broker came back
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
