package cluster

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/client"
	"highwater/cluster/event"
)

// mischief drives named clients by dice: it polls, seeks, sends and commits while brokers die and
// topics come and go. It asks no more of the clients than that they stay up.
type mischief struct {
	*driver
	dice      *rand.Rand
	open      map[*client.Consumer]int // polls under way; one that dies never returns
	thrown    int                      // polls that threw
	returned  int
	consumers []string
	producers []string
}

var mischiefTopics = []string{"orders", "users"}

func (m *mischief) pick(words ...string) string { return words[m.dice.IntN(len(words))] }

// create makes a topic, of which retention soon takes the oldest segments, unless it is there.
func (m *mischief) create(name string) {
	if builtIn := m.c.Client(); builtIn != nil {
		builtIn.CreateTopic(client.TopicRequest{Name: name, Partitions: 1 + m.dice.Int32N(3),
			ReplicationFactor: int16(1 + m.dice.IntN(3)), Settings: settings("internal.segment.bytes=1000",
				"retention.bytes=2000", "file.delete.delay.ms=1000")},
			func(client.AdminResult) {})
	}
}

func (m *mischief) addConsumer(i int) {
	words := []string{"session.timeout.ms=6000", "heartbeat.interval.ms=1000",
		"auto.offset.reset=" + m.pick("none", "earliest", "latest"),
		"isolation.level=" + m.pick("read_committed", "read_uncommitted"),
		"auto.commit.interval.ms=500"}
	if m.dice.IntN(2) == 0 {
		words = append(words, "group.id="+m.pick("a", "b"),
			"partition.assignment.strategy="+m.pick("range", "cooperative-sticky"))
	}
	config := consumerConfig(m.t, mischiefTopics[0], words...)
	config.Topics = mischiefTopics[:1+m.dice.IntN(2)]
	config.Manual = m.dice.IntN(3) > 0
	if m.dice.IntN(3) == 0 {
		config.Partition = m.dice.Int32N(3)
	}
	if config.Group == "" && m.dice.IntN(3) == 0 {
		from := int64(m.dice.IntN(12) - 2)
		config.From = &from
	}
	name := fmt.Sprintf("c%d", i)
	m.consumer(name, config)
	m.consumers = append(m.consumers, name)
}

func (m *mischief) addProducer(i int) {
	words := quick("max.block.ms=" + m.pick("500", "20000"))
	switch m.dice.IntN(3) {
	case 0:
		words = append(words, "enable.idempotence=false", "acks="+m.pick("0", "1", "all"))
	case 1:
		words = append(words, fmt.Sprintf("transactional.id=t%d", i))
	}
	name := fmt.Sprintf("p%d", i)
	m.producer(name, words...)
	m.producers = append(m.producers, name)
}

// act lets one thing happen to somebody.
func (m *mischief) act() {
	switch m.dice.IntN(12) {
	case 0, 1, 2, 3:
		m.useConsumer()
	case 4, 5, 6, 7:
		m.useProducer()
	case 8:
		m.useTopic()
	case 9:
		m.restartProgram()
	default:
		m.disturbBroker()
	}
	wait := m.dice.IntN(40)
	if m.dice.IntN(8) == 0 {
		wait = m.dice.IntN(8000)
	}
	m.c.World().RunFor(time.Duration(wait) * time.Millisecond)
}

func (m *mischief) useConsumer() {
	name := m.pick(m.consumers...)
	c := m.c.Consumer(name)
	if c == nil {
		return
	}
	topic, partition := "", int32(-1)
	if m.dice.IntN(2) == 0 {
		topic, partition = m.pick(mischiefTopics...), m.dice.Int32N(3)
	}
	switch m.dice.IntN(6) {
	case 0:
		c.Seek(topic, partition, m.dice.Int64N(60)-2)
	case 1:
		c.Seek(topic, partition, m.dice.Int64N(1<<40))
	case 2:
		c.Commit(func(client.AdminResult) {})
	default:
		if c.Manual() {
			m.poll(c)
		}
	}
}

// poll is short now and then, so that what it asked for is answered when it is over.
func (m *mischief) poll(c *client.Consumer) {
	timeout := time.Duration(m.dice.IntN(6)) * time.Millisecond
	if m.dice.IntN(2) == 0 {
		timeout = time.Duration(m.dice.IntN(3000)) * time.Millisecond
	}
	m.open[c]++
	c.Poll(m.dice.IntN(5), timeout, func(_ []client.Record, code int16) {
		m.open[c]--
		m.returned++
		if code != 0 && code != kerr.InvalidRequest.Code { // but for two polls at once
			m.thrown++
			if m.dice.IntN(4) == 0 { // as an application would that handles the exception at once
				c.Seek("", -1, -1-m.dice.Int64N(2))
				m.poll(c)
			}
		}
	})
}

func (m *mischief) useProducer() {
	p := m.c.Producer(m.pick(m.producers...))
	if p == nil {
		return
	}
	ignore := func(client.AdminResult) {}
	switch m.dice.IntN(10) {
	case 0:
		p.Flush(func() {})
	case 1:
		p.Begin(ignore)
	case 2:
		p.End(m.dice.IntN(2) == 0, ignore)
	case 3:
		if c := m.c.Consumer(m.pick(m.consumers...)); c != nil {
			p.SendOffsets(c.GroupOffsets(), ignore)
		}
	default:
		value := fmt.Sprintf("%0*d", 1+m.dice.IntN(200), m.dice.IntN(100))
		p.Send(client.SendRequest{Topic: m.pick(mischiefTopics...), Partition: -1,
			Value: &value, Times: 1 + m.dice.IntN(8)}, nil)
	}
}

func (m *mischief) useTopic() {
	name := m.pick(mischiefTopics...)
	builtIn := m.c.Client()
	switch n := m.dice.IntN(5); {
	case n == 0 && builtIn != nil:
		builtIn.DeleteTopic(name, func(client.AdminResult) {})
	case n < 3:
		m.create(name)
	default:
		for p := range m.c.PartitionCount(name) {
			m.c.Retain(name, int32(p))
		}
	}
}

func (m *mischief) restartProgram() {
	id, _ := m.c.Named(m.pick(append(m.consumers, m.producers...)...))
	switch {
	case !m.c.Alive(id):
		must(m.t, m.c.Restart(id))
	case m.dice.IntN(2) == 0:
		must(m.t, m.c.Kill(id))
	default:
		must(m.t, m.c.CloseProgram(id, func() {}))
	}
}

func (m *mischief) disturbBroker() {
	id := event.NodeID(1 + m.dice.Int32N(3))
	program, _ := m.c.Named(m.pick(append(m.consumers, m.producers...)...))
	switch n := m.dice.IntN(6); {
	case !m.c.Alive(id):
		must(m.t, m.c.Restart(id))
	case n == 0:
		must(m.t, m.c.Kill(id))
	case n == 1:
		must(m.t, m.c.PowerCut(id))
	case n == 2 && !m.c.World().Paused(id):
		must(m.t, m.c.Pause(id))
	case n == 3:
		must(m.t, m.c.Cut(id, program, m.dice.IntN(2) == 0))
	case m.c.World().Paused(id):
		must(m.t, m.c.Resume(id))
	default:
		must(m.t, m.c.HealAll())
	}
}

// recover brings everybody back.
func (m *mischief) recover() {
	must(m.t, m.c.HealAll())
	for id := event.NodeID(1); id <= 3; id++ {
		if m.c.World().Paused(id) {
			must(m.t, m.c.Resume(id))
		}
		if !m.c.Alive(id) {
			must(m.t, m.c.Restart(id))
		}
	}
	m.until("everybody serves", 2*time.Minute, func() bool { return len(m.c.Ready()) == 0 })
	m.until("every poll has an end", time.Minute, func() bool {
		open := 0
		for _, name := range m.consumers {
			open += m.open[m.c.Consumer(name)]
		}
		return open == 0
	})
}

func TestNoClientGoesDownWhateverHappensAroundIt(t *testing.T) {
	returned, thrown := 0, 0
	for seed := range seeds(t, 12, 120) {
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) {
			defer func() {
				if cause := recover(); cause != nil {
					t.Errorf("seed %d: a node went down: %v\n%s", seed, cause, debug.Stack())
				}
			}()
			c, _ := start(t, Config{Seed: seed, Latency: time.Millisecond, Settings: groupSettings})
			m := &mischief{driver: drive(t, c), open: map[*client.Consumer]int{},
				dice: rand.New(rand.NewPCG(seed, 17))}
			m.ready()
			for _, name := range mischiefTopics {
				m.create(name)
			}
			c.World().RunFor(time.Second)
			for i := range 5 {
				m.addConsumer(i)
			}
			for i := range 3 {
				m.addProducer(i)
			}
			for range 250 {
				m.act()
			}
			m.recover()
			returned, thrown = returned+m.returned, thrown+m.thrown
		})
	}
	if thrown == 0 || returned == thrown {
		t.Errorf("%d of %d polls threw; some must, and some not", thrown, returned)
	}
}
