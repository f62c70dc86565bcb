package model

import (
	"maps"
	"slices"
)

// Clone returns a state of its own with the same content, as keyframes need.
func (s *State) Clone() *State {
	c := *s
	c.Nodes = clonePointers(s.Nodes, func(*Node) {})
	c.Links = clonePointers(s.Links, func(*Link) {})
	c.Topics = clonePointers(s.Topics, func(t *Topic) {
		t.Partitions = clonePointers(t.Partitions, (*Partition).detach)
	})
	c.Transactions = clonePointers(s.Transactions, func(*Transaction) {})
	c.Clients = clonePointers(s.Clients, func(client *Client) {
		client.Requests = slices.Clone(client.Requests)
		client.Last, client.Answered = cloneOf(client.Last), cloneOf(client.Answered)
		client.OpenRequests = slices.Clone(client.OpenRequests)
	})
	c.Programs = clonePointers(s.Programs, func(p *Program) {
		p.Batches, p.Partitions = slices.Clone(p.Batches), slices.Clone(p.Partitions)
	})
	c.Messages, c.Waits, c.Timers = s.Messages.clone(), s.Waits.clone(), s.Timers.clone()
	c.Asks, c.Configs = slices.Clone(s.Asks), slices.Clone(s.Configs)
	c.Deliveries = slices.Clone(s.Deliveries)
	c.Counters.Events = slices.Clone(s.Counters.Events)
	c.Counters.Unknown = maps.Clone(s.Counters.Unknown)
	c.reindex()
	return &c
}

// detach gives a copied partition its own logs. Lists of nodes, cuts and refusals are replaced and
// never changed, so that copies may share them.
func (p *Partition) detach() {
	p.Records = p.Records.clone()
	p.Committed = slices.Clone(p.Committed)
	p.Logs = clonePointers(p.Logs, func(l *Log) {
		l.Followers = slices.Clone(l.Followers)
		l.Epochs = slices.Clone(l.Epochs)
		l.Segments = slices.Clone(l.Segments)
		l.Holes = slices.Clone(l.Holes)
		l.Transactions = slices.Clone(l.Transactions)
		l.Batches = l.Batches.clone()
	})
}

func clonePointers[T any](list []*T, detach func(*T)) []*T {
	copies := make([]*T, len(list))
	values := make([]T, len(list))
	for i, v := range list {
		values[i] = *v
		detach(&values[i])
		copies[i] = &values[i]
	}
	return copies
}

func cloneOf[T any](v *T) *T {
	if v == nil {
		return nil
	}
	c := *v
	return &c
}
