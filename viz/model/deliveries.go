package model

import (
	"fmt"
	"slices"

	"highwater/cluster/event"
)

// Delivery is what the outside clients of one name were sent of a partition, whatever connections they
// had. What became of it there nobody tells.
type Delivery struct {
	Client    string `json:"client"` // a client id, or client N where there is none
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Runs      []Run  `json:"runs"`
}

// delivered folds an answer to an outside client. A batch may begin before what was asked for, which
// the client passes over.
func (s *State) delivered(node event.NodeID, e event.PartitionAnswered) {
	client := s.clients[e.Connection]
	if client == nil || e.API != "Fetch" || e.Records <= 0 {
		return
	}
	run := Run{From: e.Offset, To: e.Offset + event.Offset(e.Records)}
	ask := Ask{By: e.Connection, Node: node, Topic: e.Topic, Partition: e.Partition}
	// A later fetch may have asked for more already.
	at, known := slices.BinarySearchFunc(s.Asks, ask, compareAsks)
	if known && s.Asks[at].Offset < run.To {
		run.From = max(run.From, s.Asks[at].Offset)
	}
	name := client.ClientID
	if name == "" {
		name = fmt.Sprintf("client %d", e.Connection-event.FirstOutside)
	}
	d := Delivery{Client: name, Topic: e.Topic, Partition: e.Partition, Runs: []Run{run}}
	at = len(s.Deliveries) - 1
	for ; at >= 0; at-- {
		if k := &s.Deliveries[at]; k.Client == name && k.Topic == e.Topic && k.Partition == e.Partition {
			d.Runs = readMore(k.Runs, d.Runs)
			break
		}
	}
	if at < 0 && len(s.Deliveries) >= deliveriesMax {
		at = 0
		s.NotKept.Deliveries++
	}
	if at >= 0 {
		s.Deliveries = slices.Delete(s.Deliveries, at, at+1)
	}
	s.Deliveries = append(s.Deliveries, d)
}

// dropDeliveries forgets what was sent of a topic: another of its name has other records.
func (s *State) dropDeliveries(topic string) {
	s.Deliveries = slices.DeleteFunc(s.Deliveries, func(d Delivery) bool { return d.Topic == topic })
}
