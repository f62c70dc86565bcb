package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"highwater/cluster/client"
	"highwater/cluster/event"
)

func consumerConfig(t *testing.T, topic string, words ...string) client.ConsumerConfig {
	t.Helper()
	config, err := client.ParseConsumerConfig(settings(words...))
	must(t, err)
	config.Topics = []string{topic}
	return config
}

// harvest is what all incarnations of some consumers have polled.
type harvest struct {
	d    *driver
	seen map[string]int // how often, by value
	// taken is how much of each present incarnation was counted.
	taken map[*client.Consumer]int
}

func (h *harvest) gather(names ...string) {
	for _, name := range names {
		c := h.d.c.Consumer(name)
		if c == nil {
			continue
		}
		for _, r := range c.Seen()[h.taken[c]:] {
			h.seen[*r.Value]++
		}
		h.taken[c] = len(c.Seen())
	}
}

func (h *harvest) missing(records int) (missing, repeated int) {
	for n := range records {
		switch times := h.seen[strconv.Itoa(n)]; {
		case times == 0:
			missing++
		case times > 1:
			repeated++
		}
	}
	return missing, repeated
}

func (d *driver) harvest() *harvest {
	return &harvest{d: d, seen: map[string]int{}, taken: map[*client.Consumer]int{}}
}

// spread sends numbered records to all partitions of a topic.
func (s *stream) spread(topic string, records int) {
	first := s.next
	s.next += records
	s.open++
	s.p.Send(client.SendRequest{Topic: topic, Partition: -1, Times: records,
		Make: func(n int) (key, value *string) {
			text := strconv.Itoa(first + n - 1)
			return &text, &text
		}}, func(o client.SendOutcome) {
		s.outcomes = append(s.outcomes, o)
		s.open--
	})
}

func TestAutoCommitRepeatsAfterACrashAndLosesNothing(t *testing.T) {
	repeats := 0
	for seed := range seeds(t, 3, 12) {
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) {
			c, _ := start(t, Config{Seed: seed, Latency: time.Millisecond, Settings: groupSettings})
			d := drive(t, c)
			d.ready()
			d.partitions("orders", 3)
			dice := rand.New(rand.NewPCG(seed, 11))
			s := &stream{p: d.producer("shop")}
			d.consumer("billing", consumerConfig(t, "orders", "group.id=billing",
				"auto.offset.reset=earliest", "session.timeout.ms=6000",
				"heartbeat.interval.ms=1000"))
			billing, _ := c.Named("billing")
			h := d.harvest()
			for range 6 {
				for range 40 {
					s.spread("orders", 1+dice.IntN(5))
					c.World().RunFor(time.Duration(dice.IntN(400)) * time.Millisecond)
				}
				h.gather("billing")
				must(t, c.Kill(billing))
				c.World().RunFor(time.Duration(dice.IntN(9000)) * time.Millisecond)
				must(t, c.Restart(billing))
			}
			d.until("everything was sent", time.Minute, func() bool { return s.open == 0 })
			d.until("everything was polled", time.Minute, func() bool {
				h.gather("billing")
				missing, _ := h.missing(s.next)
				return missing == 0
			})
			_, repeated := h.missing(s.next)
			repeats += repeated
		})
	}
	if repeats == 0 {
		t.Error("no crash made the consumer see a record twice, so none came between its commits")
	}
}

func TestConsumerThatCommitsByItselfCommitsWhatEarlierPollsReturned(t *testing.T) {
	c, _ := start(t, Config{Seed: 4, Latency: time.Millisecond, Settings: groupSettings})
	d := drive(t, c)
	d.ready()
	d.topic("orders", "1", 1, 2, 3)
	s := &stream{p: d.producer("shop")}
	s.send("orders", 10)
	d.until("sent", time.Minute, func() bool { return s.open == 0 })
	config := consumerConfig(t, "orders", "group.id=billing", "auto.offset.reset=earliest")
	config.Manual = true
	billing := d.consumer("billing", config)
	poll := func(most int) (got int) {
		t.Helper()
		done := false
		billing.Poll(most, 10*time.Second, func(r []client.Record, code int16) {
			got, done = len(r), true
			if code != 0 {
				t.Errorf("poll: %d", code)
			}
		})
		d.until("poll", time.Minute, func() bool { return done })
		return got
	}
	poll(3)
	c.World().RunFor(6 * time.Second) // without a poll nothing is committed
	if at, ok := c.Committed("billing", "orders", 0); ok {
		t.Errorf("%d is committed though nobody polled again", at)
	}
	poll(4)
	c.World().RunFor(time.Second)
	if at, _ := c.Committed("billing", "orders", 0); at != 3 {
		t.Errorf("%d is committed, not the 3 that the earlier poll returned", at)
	}
	if at, _ := billing.Position("orders", 0); at != 7 {
		t.Errorf("the position is %d", at)
	}
}

// owners lists who owns each partition by the consumers' own word.
func (d *driver) owners(names ...string) map[string][]string {
	owners := map[string][]string{}
	for _, name := range names {
		if c := d.c.Consumer(name); c != nil {
			for _, p := range c.Assigned() {
				owners[p] = append(owners[p], name)
			}
		}
	}
	return owners
}

func TestEachPartitionHasOneOwnerAGenerationUnderFaults(t *testing.T) {
	names := []string{"one", "two", "three"}
	for _, strategy := range []string{"range", "cooperative-sticky"} {
		for seed := range seeds(t, 3, 12) {
			t.Run(fmt.Sprintf("%s-seed-%d", strategy, seed), func(t *testing.T) {
				c, _ := start(t, Config{Seed: seed, Latency: time.Millisecond, Settings: groupSettings})
				d := drive(t, c)
				d.ready()
				d.partitions("orders", groupPartitions)
				dice := rand.New(rand.NewPCG(seed, 13))
				s := &stream{p: d.producer("shop")}
				for _, name := range names {
					d.consumer(name, consumerConfig(t, "orders", "group.id=billing",
						"auto.offset.reset=earliest", "session.timeout.ms=6000",
						"heartbeat.interval.ms=1000", "partition.assignment.strategy="+strategy))
				}
				h := d.harvest()
				for range 8 {
					d.disturb(dice, s, h, names)
				}
				d.until("everything was polled", 2*time.Minute, func() bool {
					h.gather(names...)
					missing, _ := h.missing(s.next)
					return missing == 0 && s.open == 0
				})
				d.until("everything has one owner", time.Minute, func() bool {
					owners := d.owners(names...)
					for p := range groupPartitions {
						if len(owners[fmt.Sprintf("orders-%d", p)]) != 1 {
							return false
						}
					}
					return true
				})
			})
		}
	}
}

// disturb lets one member, or the coordinator, die or stand still for a while.
func (d *driver) disturb(dice *rand.Rand, s *stream, h *harvest, names []string) {
	d.t.Helper()
	c := d.c
	for range 10 {
		s.spread("orders", 3)
		c.World().RunFor(time.Duration(dice.IntN(300)) * time.Millisecond)
	}
	h.gather(names...)
	victim, _ := c.Named(names[dice.IntN(len(names))])
	if dice.IntN(4) == 0 {
		if victim = d.coordinatorOfGroup("billing"); victim == event.NoNode {
			return
		}
	}
	if dice.IntN(2) == 0 {
		must(d.t, c.Kill(victim))
		c.World().RunFor(time.Duration(dice.IntN(12)) * time.Second)
		must(d.t, c.Restart(victim))
		return
	}
	must(d.t, c.Pause(victim))
	c.World().RunFor(time.Duration(dice.IntN(12)) * time.Second)
	must(d.t, c.Resume(victim))
}

func (d *driver) coordinatorOfGroup(group string) event.NodeID {
	for _, id := range d.c.Brokers() {
		if b := d.c.Broker(id); b != nil {
			if _, _, ok := b.GroupMembers(group); ok {
				return id
			}
		}
	}
	return event.NoNode
}

func TestConsumerThatStopsPollingLeavesItsGroup(t *testing.T) {
	c, _ := start(t, Config{Seed: 8, Latency: time.Millisecond, Settings: groupSettings})
	d := drive(t, c)
	d.ready()
	d.partitions("orders", 2)
	slow := consumerConfig(t, "orders", "group.id=billing", "max.poll.interval.ms=10000")
	slow.Manual = true
	d.consumer("slow", slow).Poll(1, 5*time.Second, func([]client.Record, int16) {})
	d.until("it is assigned", time.Minute, func() bool {
		return len(c.Consumer("slow").Assigned()) == 2
	})
	c.World().RunFor(8 * time.Second)
	if members, _, _ := c.GroupMembers("billing"); len(members) != 1 {
		t.Fatalf("members %v", members)
	}
	d.until("it has left", 30*time.Second, func() bool {
		members, _, _ := c.GroupMembers("billing")
		return len(members) == 0
	})
	if owned := c.Consumer("slow").Assigned(); len(owned) != 2 {
		t.Errorf("it knows before its next poll: %v", owned)
	}
	c.Consumer("slow").Poll(1, 5*time.Second, func([]client.Record, int16) {})
	d.until("it is back", time.Minute, func() bool {
		members, _, _ := c.GroupMembers("billing")
		return len(members) == 1
	})
}

func TestSameSeedRunsNamedClientsTheSameWay(t *testing.T) {
	run := func() []string {
		c, s := start(t, Config{Seed: 5, Latency: time.Millisecond, Settings: groupSettings})
		d := drive(t, c)
		d.ready()
		d.topic("orders", "2", 1, 2, 3)
		d.consumer("billing", consumerConfig(t, "orders", "group.id=billing"))
		d.storm(5, quick()...)
		return s.lines
	}
	lines, again := run(), run()
	for i := range lines {
		if i >= len(again) || lines[i] != again[i] {
			t.Fatalf("event %d differs:\n%s\n%s", i+1, lines[i], slices.Concat(again, []string{""})[i])
		}
	}
}
