package txn

import "slices"

// Description is what tools are told of a transactional id.
type Description struct {
	TransactionalID string
	Metadata
}

// Describe is what is known of a transactional id.
func (c *Coordinator) Describe(id string) (Description, bool) {
	t := c.byID[id]
	if t == nil {
		return Description{}, false
	}
	return Description{id, t.Metadata}, true
}

// List describes every transactional id, in order.
func (c *Coordinator) List() []Description {
	list := make([]Description, 0, len(c.ordered))
	for _, t := range c.ordered {
		list = append(list, Description{t.id, t.Metadata})
	}
	return list
}

// ParseState finds a state by its name in Kafka.
func ParseState(name string) (State, bool) {
	at := slices.Index(stateNames[:], name)
	return State(at), at >= 0
}
