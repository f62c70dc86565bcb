package broker

import (
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/controller"
	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

// fakeController answers a broker with a metadata log of the test's making.
type fakeController struct {
	batch         []byte
	highWatermark event.Offset
}

func (f *fakeController) Disconnected(event.NodeID) {}

func (f *fakeController) Deliver(call *world.Call) {
	switch body := call.Body.(type) {
	case *kmsg.BrokerRegistrationRequest:
		answer := kmsg.NewPtrBrokerRegistrationResponse()
		answer.BrokerEpoch = 0
		call.Reply(answer)
	case *kmsg.BrokerHeartbeatRequest:
		call.Reply(kmsg.NewPtrBrokerHeartbeatResponse())
	case *controller.MetadataFetch:
		answer := &controller.MetadataFetched{Leader: 101, Epoch: 1, HighWatermark: f.highWatermark}
		if body.From == 0 {
			answer.Batches = []record.Buffer{{Bytes: f.batch}}
			call.Reply(answer)
			return
		}
		if body.HighWatermark < f.highWatermark {
			call.Reply(answer)
		}
	}
}

func TestMetadataIsAppliedOnlyOnceItIsCommitted(t *testing.T) {
	b := record.NewBuilder()
	b.LeaderEpoch = 1
	for _, name := range []string{"first", "second", "third"} {
		b.Add(1, nil, metadata.Encode(&metadata.TopicRecord{Name: name,
			TopicID: event.UUID{0: name[0], 1: name[1]}}))
	}
	batch, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	fake := &fakeController{batch: batch, highWatermark: 2}
	w := world.New(world.Config{Seed: 1, PanicThrough: true, Latency: time.Millisecond})
	w.Add(world.Spec{ID: 101, Start: func(*world.Env) (world.Node, error) { return fake, nil }})
	var broker *Broker
	w.Add(world.Spec{ID: 1, Start: func(env *world.Env) (world.Node, error) {
		var err error
		broker, err = New(env, Config{ClusterID: "c", Disk: disk.NewMemory(disk.Options{}),
			Controllers: []event.NodeID{101}, Settings: DefaultSettings(),
			Log: slog.New(slog.DiscardHandler)})
		return broker, err
	}})
	for _, id := range []event.NodeID{101, 1} {
		if err := w.StartNode(id); err != nil {
			t.Fatal(err)
		}
	}
	w.RunFor(50 * time.Millisecond)
	if broker.MetadataLog().LogEndOffset() != 3 || broker.Applied() != 2 ||
		broker.Image().TopicByName("third") != nil {
		t.Errorf("stored %d records, committed 2, applied %d",
			broker.MetadataLog().LogEndOffset(), broker.Applied())
	}
	fake.highWatermark = 3
	w.RunFor(10 * time.Second)
	if broker.Image().TopicByName("third") == nil {
		t.Errorf("the third record is committed and not applied; applied %d", broker.Applied())
	}
}
