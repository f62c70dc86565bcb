package model

import (
	"fmt"
	"reflect"
	"testing"

	"highwater/cluster/event"
)

// deliveriesChunk has clients that come, read from where they like, go and come back under their names.
func deliveriesChunk() *event.Chunk {
	log, now := event.NewLog(), int64(0)
	em := event.NewEmitter(log, &now, 1)
	request := int64(0)
	read := func(connection event.NodeID, topic string, from, first event.Offset, records int32) {
		request++
		event.RequestReceived{Connection: connection, Request: request, API: "Fetch", Topic: topic,
			Offset: from}.Emit(em, 0)
		event.PartitionAnswered{Connection: connection, Request: request, API: "Fetch", Topic: topic,
			Partition: 1, Offset: first + 100, Records: records}.Emit(em, 0)
		event.ResponseSent{Connection: connection, Request: request, API: "Fetch", Topic: topic,
			Offset: first, Records: records}.Emit(em, 0)
	}
	come := func(connection event.NodeID, id string) {
		event.ClientConnected{Connection: connection}.Emit(em, 0)
		if id != "" {
			event.ClientIdentified{Connection: connection, ClientID: id}.Emit(em, 0)
		}
	}
	const first = event.FirstOutside
	come(first, "billing")
	read(first, "orders", 10, 8, 5) // a batch that begins before what was asked for
	read(first, "orders", 13, 0, 0) // nothing
	read(first, "orders", 13, 13, 2)
	read(first, "orders", 30, 30, 1)
	read(first, "orders", 99, 30, 1) // the answer to the one before, after a later request
	event.ClientDisconnected{Connection: first}.Emit(em, 0)
	come(first+1, "billing")
	read(first+1, "orders", 31, 31, 4)
	come(first+2, "")
	read(first+2, "gone", 0, 0, 3)
	event.TopicDeleted{Topic: "gone"}.Emit(em, 0)
	read(first+9, "orders", 0, 0, 3) // of nobody that is known
	for i := range deliveriesMax {
		read(first+2, fmt.Sprintf("topic-%d", i/2), 0, 0, 1)
	}
	return log.Swap(&event.Chunk{})
}

func TestOutsideClientsAreKnownByWhatTheyWereSent(t *testing.T) {
	s := New()
	c := deliveriesChunk()
	moment := 0
	for i := range c.Records {
		s.Apply(c, &c.Records[i])
		if c.Records[i].Kind == event.KindTopicDeleted {
			moment = i
			break
		}
	}
	want := []Delivery{
		{"billing", "orders", 1, []Run{{108, 115}, {130, 135}}},
		{"billing", "orders", 0, []Run{{10, 15}, {30, 35}}}}
	if !reflect.DeepEqual(s.Deliveries, want) {
		t.Errorf("%+v\nwant %+v", s.Deliveries, want)
	}
	for i := range c.Records[moment+1:] {
		s.Apply(c, &c.Records[moment+1+i])
	}
	if len(s.Deliveries) != deliveriesMax || s.NotKept.Deliveries == 0 {
		t.Errorf("%d are kept and %d not", len(s.Deliveries), s.NotKept.Deliveries)
	}
}
