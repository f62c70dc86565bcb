package cluster

import (
	"fmt"
	"slices"

	"highwater/cluster/client"
	"highwater/cluster/event"
	"highwater/cluster/world"
)

// FirstProgram is the node id of the first named producer or consumer.
const FirstProgram event.NodeID = ClientID + 1

// programsMax bounds how many named clients one cluster has.
const programsMax = 200

// program is a named producer or consumer: a place for its incarnations, as a node is for a
// broker's. Exactly one of its configurations is set.
type program struct {
	id       event.NodeID
	name     string
	producer *client.ProducerConfig
	consumer *client.ConsumerConfig
}

func (p *program) role() string {
	if p.producer != nil {
		return "producer"
	}
	return "consumer"
}

func (c *Cluster) program(id event.NodeID) *program {
	for _, p := range c.programs {
		if p.id == id {
			return p
		}
	}
	return nil
}

// Programs lists the names of producers and consumers, in the order in which they were made.
func (c *Cluster) Programs() []string {
	names := make([]string, len(c.programs))
	for i, p := range c.programs {
		names[i] = p.name
	}
	return names
}

// Named finds the node of a producer or consumer by its name.
func (c *Cluster) Named(name string) (event.NodeID, bool) {
	for _, p := range c.programs {
		if p.name == name {
			return p.id, true
		}
	}
	return event.NoNode, false
}

// ProgramRole is producer or consumer, of one that is down too; "" for a name that nobody has.
func (c *Cluster) ProgramRole(name string) string {
	for _, p := range c.programs {
		if p.name == name {
			return p.role()
		}
	}
	return ""
}

// AddProducer starts a producer under a name. A producer of that name that is down begins again
// with the new configuration.
func (c *Cluster) AddProducer(name string, config client.ProducerConfig) error {
	return c.addProgram(name, func(p *program) { p.producer, p.consumer = &config, nil })
}

// AddConsumer starts a consumer likewise.
func (c *Cluster) AddConsumer(name string, config client.ConsumerConfig) error {
	return c.addProgram(name, func(p *program) { p.producer, p.consumer = nil, &config })
}

func (c *Cluster) addProgram(name string, configure func(*program)) error {
	id, known := c.Named(name)
	switch {
	case known && c.world.Alive(id):
		return fmt.Errorf("there is a client named %s already; close or kill it first", name)
	case known:
		configure(c.program(id))
		return c.startProgram(id)
	case len(c.programs) >= programsMax:
		return fmt.Errorf("at most %d named clients can be made; the name of a closed one may be used "+
			"again", programsMax)
	}
	place := len(c.programs)
	p := &program{id: FirstProgram + event.NodeID(place), name: name}
	configure(p)
	c.programs = append(c.programs, p)
	c.world.Add(world.Spec{ID: p.id, Role: p.role(),
		Start: func(env *world.Env) (world.Node, error) {
			if p.producer != nil {
				return client.NewProducer(env, p.name, c.config.Brokers, place, *p.producer), nil
			}
			return client.NewConsumer(env, p.name, c.config.Brokers, place, *p.consumer), nil
		}})
	return c.startProgram(p.id)
}

func (c *Cluster) startProgram(id event.NodeID) error {
	c.world.SetRole(id, c.program(id).role())
	return c.world.StartNode(id)
}

// Producer is a running producer, nil when there is none of that name.
func (c *Cluster) Producer(name string) *client.Producer {
	id, _ := c.Named(name)
	p, _ := c.world.Node(id).(*client.Producer)
	return p
}

// Consumer is a running consumer, nil when there is none of that name.
func (c *Cluster) Consumer(name string) *client.Consumer {
	id, _ := c.Named(name)
	p, _ := c.world.Node(id).(*client.Consumer)
	return p
}

// CloseProgram closes a producer or consumer as close() does: what is under way ends first. done
// hears when it is gone.
func (c *Cluster) CloseProgram(id event.NodeID, done func()) error {
	if err := c.up(id); err != nil {
		return err
	}
	stop := func() {
		c.world.StopNode(id, world.Stopping{How: "stop"})
		done()
	}
	switch n := c.world.Node(id).(type) {
	case *client.Producer:
		n.Close(stop)
	case *client.Consumer:
		n.Close(stop)
	default:
		return fmt.Errorf("%s is no producer or consumer", c.named(id))
	}
	return nil
}

// Committed is the offset that a group has committed for a partition, as its coordinator has it.
func (c *Cluster) Committed(group, topic string, p int32) (int64, bool) {
	for _, id := range c.config.Brokers {
		if b := c.broker(id); b != nil {
			if offset, ok := b.Committed(group, topic, p); ok {
				return int64(offset), true
			}
		}
	}
	return 0, false
}

// GroupMembers lists the members of a group, and tells its generation.
func (c *Cluster) GroupMembers(group string) (members []string, generation int32, ok bool) {
	for _, id := range c.config.Brokers {
		if b := c.broker(id); b != nil {
			if members, generation, ok = b.GroupMembers(group); ok {
				return slices.Clone(members), generation, true
			}
		}
	}
	return nil, 0, false
}
