package broker

// ledPartition is one coordinator with its log, which a coordinatorLog makes of it.
type ledPartition interface {
	serves(h *held) bool
	load()
	close()
	// isActive says that the log was replayed, so that the coordinator answers.
	isActive() bool
}

// coordinators are those of an internal topic's partitions that this broker leads.
type coordinators[P ledPartition] struct {
	b     *Broker
	topic string
	// begin makes the coordinator of a partition; nothing is replayed yet.
	begin func(h *held) P
	// byPartition has one for each partition led; list is the same by index.
	byPartition map[int32]P
	list        []P
}

func newCoordinators[P ledPartition](b *Broker, topic string, begin func(*held) P) coordinators[P] {
	return coordinators[P]{b: b, topic: topic, begin: begin, byPartition: map[int32]P{}}
}

// each calls f with every coordinator that serves, by index.
func (c *coordinators[P]) each(f func(P)) {
	for _, p := range c.list {
		if p.isActive() {
			f(p)
		}
	}
}

// roleChanged begins, ends or leaves alone a partition's coordinator, after the partition took over
// what the metadata log says.
func (c *coordinators[P]) roleChanged(h *held) {
	if h.key.Topic != c.topic {
		return
	}
	old, known := c.byPartition[h.key.Index]
	if known && old.serves(h) {
		return
	}
	if known {
		delete(c.byPartition, h.key.Index)
		c.relist()
		old.close()
	}
	if h.Leads() {
		p := c.begin(h)
		c.byPartition[h.key.Index] = p
		c.relist()
		p.load()
	}
}

func (c *coordinators[P]) relist() {
	c.list = c.list[:0]
	for _, h := range c.b.ordered {
		if p, led := c.byPartition[h.key.Index]; led && h.key.Topic == c.topic {
			c.list = append(c.list, p)
		}
	}
}
