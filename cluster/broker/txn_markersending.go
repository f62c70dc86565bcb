package broker

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/txn"
)

// markerSending is one transaction's markers on their way to the leaders of its partitions.
type markerSending struct {
	of   *txnPartition
	what txn.Markers
	left []txn.Partition // without a marker yet, sorted
	open int             // requests without an answer
	done func()
}

// markerBackoff is how long a coordinator waits before it tries partitions again.
const markerBackoff = 100 * time.Millisecond

// WriteMarkers, of txn.Host: it goes on until every partition has its marker, was deleted, or
// belongs to another coordinator's transaction.
func (p *txnPartition) WriteMarkers(m txn.Markers, done func()) {
	s := &markerSending{of: p, what: m, left: slices.Clone(m.Partitions), done: done}
	p.b.env.AfterQuiet("transaction-markers", 0, s.send)
}

func (s *markerSending) send() {
	b := s.of.b
	if s.of.closed || b.env.Dead() {
		return
	}
	s.left = slices.DeleteFunc(s.left, func(p txn.Partition) bool {
		return b.metadata.image.Partition(p.Topic, p.Index) == nil // deleted, and its records with it
	})
	if len(s.left) == 0 {
		s.done()
		return
	}
	leaders, partitions := s.byLeader()
	s.open = len(leaders)
	if s.open == 0 {
		s.retry()
		return
	}
	for i, leader := range leaders {
		b.askBroker(leader, s.request(partitions[i]), s.answered)
	}
}

func (s *markerSending) retry() {
	s.of.b.env.AfterQuiet("transaction-markers", markerBackoff, s.send)
}

// byLeader sorts what is left by who leads it, in the order of the brokers' ids.
func (s *markerSending) byLeader() (leaders []event.NodeID, partitions [][]txn.Partition) {
	for _, p := range s.left {
		leader := s.of.b.metadata.image.Partition(p.Topic, p.Index).Leader
		if leader == event.NoNode {
			continue
		}
		at, known := slices.BinarySearch(leaders, leader)
		if !known {
			leaders = slices.Insert(leaders, at, leader)
			partitions = slices.Insert(partitions, at, nil)
		}
		partitions[at] = append(partitions[at], p)
	}
	return leaders, partitions
}

func (s *markerSending) request(partitions []txn.Partition) *kmsg.WriteTxnMarkersRequest {
	m := kmsg.NewWriteTxnMarkersRequestMarker()
	m.ProducerID, m.ProducerEpoch = s.what.ProducerID, s.what.ProducerEpoch
	m.Committed, m.TransactionVersion = s.what.Commit, s.what.Version
	m.CoordinatorEpoch = int32(s.of.epoch)
	for _, p := range partitions {
		if n := len(m.Topics); n == 0 || m.Topics[n-1].Topic != p.Topic {
			m.Topics = append(m.Topics, kmsg.WriteTxnMarkersRequestMarkerTopic{Topic: p.Topic})
		}
		last := &m.Topics[len(m.Topics)-1]
		last.Partitions = append(last.Partitions, p.Index)
	}
	request := kmsg.NewPtrWriteTxnMarkersRequest()
	request.Version = 2
	request.Markers = append(request.Markers, m)
	return request
}

// answered takes one leader's answer: partitions whose marker is committed are done, the others are
// tried again.
func (s *markerSending) answered(response kmsg.Response) {
	fenced := false
	if body, ok := response.(*kmsg.WriteTxnMarkersResponse); ok {
		for i := range body.Markers {
			for j := range body.Markers[i].Topics {
				t := &body.Markers[i].Topics[j]
				for _, p := range t.Partitions {
					fenced = fenced || p.ErrorCode == kerr.TransactionCoordinatorFenced.Code ||
						p.ErrorCode == kerr.InvalidProducerEpoch.Code
					if p.ErrorCode == 0 {
						s.marked(txn.Partition{Topic: t.Topic, Index: p.Partition})
					}
				}
			}
		}
	}
	if fenced {
		// A later coordinator has ended this transaction, or will: this one is not asked any more.
		s.of.b.log.Warn("a transaction's markers are fenced", "broker", s.of.b.env.ID(),
			"id", s.what.TransactionalID, "producer", s.what.ProducerID)
		s.left, s.done = nil, func() {}
	}
	s.open--
	switch {
	case s.open > 0:
	case len(s.left) == 0:
		s.of.b.env.AfterQuiet("transaction-markers", 0, s.send)
	default:
		s.retry()
	}
}

func (s *markerSending) marked(p txn.Partition) {
	s.left = slices.DeleteFunc(s.left, func(x txn.Partition) bool { return x == p })
}
