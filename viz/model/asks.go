package model

import (
	"cmp"
	"slices"
	"strings"

	"highwater/cluster/event"
)

// Ask is a partition that a connection, or a built-in consumer, wants records of with each of its
// fetches from a broker, and from where on. An incremental fetch does not name it again.
type Ask struct {
	By        event.NodeID `json:"by"`
	Node      event.NodeID `json:"node"`
	Topic     string       `json:"topic"`
	Partition int32        `json:"partition"`
	Offset    event.Offset `json:"offset,string"`
}

func compareAsks(a, b Ask) int {
	return cmp.Or(cmp.Compare(a.By, b.By), cmp.Compare(a.Node, b.Node),
		strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}

func (s *State) asked(a Ask) {
	if s.clients[a.By] == nil && s.Program(a.By) == nil {
		return
	}
	at, known := slices.BinarySearchFunc(s.Asks, a, compareAsks)
	switch {
	case known:
		s.Asks[at].Offset = a.Offset
	case len(s.Asks) >= asksMax:
		s.NotKept.Asks++
	default:
		s.Asks = slices.Insert(s.Asks, at, a)
	}
}

func (s *State) askDropped(a Ask) {
	if at, known := slices.BinarySearchFunc(s.Asks, a, compareAsks); known {
		s.Asks = slices.Delete(s.Asks, at, at+1)
	}
}

// dropAsks forgets what somebody asked, or was asked for.
func (s *State) dropAsks(of event.NodeID) {
	s.Asks = slices.DeleteFunc(s.Asks, func(a Ask) bool { return a.By == of || a.Node == of })
}

// Wait is a request that a node cannot answer yet.
type Wait struct {
	ID        int64        `json:"wait,string"`
	Node      event.NodeID `json:"node"`
	For       event.NodeID `json:"for"`
	What      string       `json:"what"` // produce, fetch, follower-fetch
	Topic     string       `json:"topic"`
	Partition int32        `json:"partition"`
	Idle      bool         `json:"idle"`
	Needs     event.Offset `json:"needs,string"`
	Due       int64        `json:"due,string"`
	Since     int64        `json:"since,string"`
}

// EachWait calls f with the requests that wait for a partition, the oldest first, and with the
// offset that it has to pass for each. A fetch waits for all that it asks for: one of a follower
// for all that it follows at this leader.
func (s *State) EachWait(p *Partition, f func(w *Wait, needs event.Offset)) {
	s.Waits.Each(func(w *Wait) {
		switch {
		case w.Topic == p.Topic && w.Partition == p.Index:
			f(w, w.Needs)
		case w.What == "follower-fetch":
			leader, follower := p.Log(w.Node), p.Log(w.For)
			if leader == nil || follower == nil || follower.Leader != w.Node {
				return
			}
			for _, fetched := range leader.Followers {
				if fetched.Node == w.For {
					f(w, fetched.Offset+1)
				}
			}
		case w.What == "fetch":
			a := Ask{By: w.For, Node: w.Node, Topic: p.Topic, Partition: p.Index}
			if at, known := slices.BinarySearchFunc(s.Asks, a, compareAsks); known {
				f(w, s.Asks[at].Offset+1)
			}
		}
	})
}
