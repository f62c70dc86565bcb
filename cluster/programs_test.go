package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/client"
	"highwater/cluster/event"
)

// settings turns NAME=VALUE words into a client's settings.
func settings(words ...string) []client.Setting {
	var list []client.Setting
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		list = append(list, client.Setting{Name: name, Value: value})
	}
	return list
}

func (d *driver) producer(name string, words ...string) *client.Producer {
	d.t.Helper()
	config, err := client.ParseProducerConfig(settings(words...))
	must(d.t, err)
	must(d.t, d.c.AddProducer(name, config))
	return d.c.Producer(name)
}

func (d *driver) consumer(name string, config client.ConsumerConfig) *client.Consumer {
	d.t.Helper()
	must(d.t, d.c.AddConsumer(name, config))
	return d.c.Consumer(name)
}

// stream keeps a producer sending numbered records, some at a time, and keeps what became of each
// send. Everything goes to partition 0.
type stream struct {
	p        *client.Producer
	next     int
	outcomes []client.SendOutcome
	open     int
}

func (s *stream) send(topic string, records int) {
	first := s.next
	s.next += records
	s.open++
	s.p.Send(client.SendRequest{Topic: topic, Partition: 0, Times: records,
		Make: func(n int) (key, value *string) {
			text := strconv.Itoa(first + n - 1)
			return nil, &text
		}}, func(o client.SendOutcome) {
		s.outcomes = append(s.outcomes, o)
		s.open--
	})
}

// storm sends while leaders die, stand still, and lose their way to and from the producer.
func (d *driver) storm(seed uint64, words ...string) (s *stream, values []int) {
	d.t.Helper()
	c, dice := d.c, rand.New(rand.NewPCG(seed, 7))
	s = &stream{p: d.producer("shop", words...)}
	shop, _ := c.Named("shop")
	for range 8 {
		for range 20 {
			s.send("orders", 1+dice.IntN(4))
			c.World().RunFor(time.Duration(dice.IntN(30)) * time.Millisecond)
		}
		leader, _ := c.Leader("orders", 0)
		if leader == event.NoNode || !c.Alive(leader) || c.World().Paused(leader) {
			c.World().RunFor(time.Second)
			continue
		}
		switch dice.IntN(3) {
		case 0:
			must(d.t, c.Kill(leader))
			s.send("orders", 5)
			c.World().RunFor(time.Duration(500+dice.IntN(3000)) * time.Millisecond)
			must(d.t, c.Restart(leader))
		case 1: // the answers are lost: the producer cannot know
			must(d.t, c.Cut(leader, shop, false))
			s.send("orders", 5)
			c.World().RunFor(time.Duration(dice.IntN(12)) * time.Second)
			must(d.t, c.Heal(leader, shop, false))
		case 2:
			must(d.t, c.Pause(leader))
			s.send("orders", 5)
			c.World().RunFor(time.Duration(dice.IntN(15)) * time.Second)
			must(d.t, c.Resume(leader))
		}
		c.World().RunFor(time.Duration(dice.IntN(2000)) * time.Millisecond)
	}
	d.until("every send has an end", 5*time.Minute, func() bool { return s.open == 0 })
	d.settled("orders")
	kept, _ := contents(d.t, c, 1, "orders")
	for _, at := range offsetsOf(kept) {
		n, err := strconv.Atoi(kept[at])
		must(d.t, err)
		values = append(values, n)
	}
	return s, values
}

func offsetsOf(values map[int64]string) []int64 {
	var list []int64
	for at := range values {
		list = append(list, at)
	}
	slices.Sort(list)
	return list
}

// disorder counts the records that come again, or after a later one.
func disorder(values []int) (repeated, late int) {
	seen, last := map[int]bool{}, -1
	for _, n := range values {
		switch {
		case seen[n]:
			repeated++
		case n < last:
			late++
		}
		seen[n] = true
		last = max(last, n)
	}
	return repeated, late
}

// quick makes a producer retry and give up within a test's patience.
func quick(words ...string) []string {
	return append([]string{"request.timeout.ms=2000", "delivery.timeout.ms=20000"}, words...)
}

func TestIdempotentProducerNeitherRepeatsNorReordersUnderFaults(t *testing.T) {
	for seed := range seeds(t, 8, 60) {
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) {
			c, _ := start(t, Config{Seed: seed, Latency: time.Millisecond})
			d := drive(t, c)
			d.ready()
			d.topic("orders", "2", 1, 2, 3)
			s, values := d.storm(seed, quick()...)
			if repeated, late := disorder(values); repeated+late > 0 {
				t.Errorf("%d records came again and %d too late: %v", repeated, late, values)
			}
			s.believedRight(t, values)
		})
	}
}

// believedRight holds what the producer believes against what the log has.
func (s *stream) believedRight(t *testing.T, values []int) {
	t.Helper()
	total := client.SendOutcome{}
	for _, o := range s.outcomes {
		total.Acknowledged += o.Acknowledged
		total.Failed += o.Failed
		total.Unknown += o.Unknown
	}
	b := s.p.Beliefs()
	if b.Pending+b.Sent != 0 || int(b.Acknowledged) != total.Acknowledged ||
		int(b.Failed) != total.Failed || int(b.Unknown) != total.Unknown ||
		total.Acknowledged+total.Failed+total.Unknown != s.next {
		t.Errorf("beliefs %+v, outcomes %+v of %d records", b, total, s.next)
	}
	distinct := map[int]bool{}
	for _, n := range values {
		distinct[n] = true
	}
	if n := len(distinct); n < total.Acknowledged || n > total.Acknowledged+total.Unknown {
		t.Errorf("%d records are there, %d were acknowledged and %d are unknown", n,
			total.Acknowledged, total.Unknown)
	}
	if total.Acknowledged == 0 || s.p.BufferedBytes() != 0 {
		t.Errorf("%d acknowledged, %d bytes still buffered", total.Acknowledged, s.p.BufferedBytes())
	}
}

// TestWithoutIdempotenceTheSameFaultsRepeatRecords shows that the test above can fail.
func TestWithoutIdempotenceTheSameFaultsRepeatRecords(t *testing.T) {
	repeats := 0
	for seed := range uint64(8) {
		c, _ := start(t, Config{Seed: seed, Latency: time.Millisecond})
		d := drive(t, c)
		d.ready()
		d.topic("orders", "2", 1, 2, 3)
		s, values := d.storm(seed, quick("enable.idempotence=false")...)
		repeated, _ := disorder(values)
		repeats += repeated
		s.believedRight(t, values)
	}
	if repeats == 0 {
		t.Error("no record was stored twice")
	}
}

func TestFullBufferBlocksAndThenFails(t *testing.T) {
	c, _ := start(t, Config{Seed: 3, Latency: time.Millisecond})
	d := drive(t, c)
	d.ready()
	d.topic("orders", "1", 1, 2, 3)
	s := &stream{p: d.producer("shop", "buffer.memory=40000", "max.block.ms=2000")}
	s.send("orders", 1)
	d.until("the first record", 5*time.Second, func() bool { return s.open == 0 })
	shop, _ := c.Named("shop")
	must(t, c.Cut(shop, 1, true))
	value := strings.Repeat("x", 1000)
	var outcome *client.SendOutcome
	s.p.Send(client.SendRequest{Topic: "orders", Partition: 0, Value: &value, Times: 100},
		func(o client.SendOutcome) { outcome = &o })
	began := c.World().Now()
	c.World().RunFor(time.Second)
	if b := s.p.Beliefs(); b.Failed != 0 || b.Pending+b.Sent != 32 || s.p.BufferedBytes() != 32768 {
		t.Errorf("after a second: %+v, %d bytes", b, s.p.BufferedBytes())
	}
	d.until("send() fails", 5*time.Second, func() bool { return s.p.Beliefs().Failed == 1 })
	if took := c.World().Now() - began; took != 2*time.Second {
		t.Errorf("send() blocked for %v, not for max.block.ms", took)
	}
	must(t, c.HealAll())
	d.until("the rest", time.Minute, func() bool { return outcome != nil })
	if outcome.Acknowledged != 32 || outcome.Failed != 1 ||
		outcome.Code != kerr.RequestTimedOut.Code || s.p.BufferedBytes() != 0 {
		t.Errorf("%+v, %d bytes", *outcome, s.p.BufferedBytes())
	}
}

func TestRoomInTheBufferLetsABlockedSendGoOn(t *testing.T) {
	c, _ := start(t, Config{Seed: 3, Latency: time.Millisecond})
	d := drive(t, c)
	d.ready()
	d.topic("orders", "1", 1, 2, 3)
	s := &stream{p: d.producer("shop", "buffer.memory=40000")}
	value := strings.Repeat("x", 1000)
	var outcome *client.SendOutcome
	s.p.Send(client.SendRequest{Topic: "orders", Partition: 0, Value: &value, Times: 100},
		func(o client.SendOutcome) { outcome = &o })
	d.until("all records", time.Minute, func() bool { return outcome != nil })
	if outcome.Acknowledged != 100 || outcome.Landed[0].Last != 99 {
		t.Errorf("%+v", *outcome)
	}
}

func TestDeliveryTimeoutTellsFailedFromUnknown(t *testing.T) {
	c, _ := start(t, Config{Seed: 5, Latency: time.Millisecond})
	d := drive(t, c)
	d.ready()
	d.topic("orders", "1", 1)
	s := &stream{p: d.producer("shop", quick()...)}
	s.send("orders", 1)
	d.until("the first record", 5*time.Second, func() bool { return s.open == 0 })
	shop, _ := c.Named("shop")
	must(t, c.Cut(1, shop, false)) // it arrives, and nobody hears
	s.send("orders", 3)
	began := c.World().Now()
	d.until("given up", time.Minute, func() bool { return s.open == 0 })
	if b := s.p.Beliefs(); b.Unknown != 3 || b.Failed != 0 || b.Acknowledged != 1 {
		t.Errorf("sent and unanswered: %+v", b)
	}
	if took := c.World().Now() - began; took < 20*time.Second || took > 21*time.Second {
		t.Errorf("given up after %v, not after delivery.timeout.ms", took)
	}
	must(t, c.HealAll())
	must(t, c.Kill(1))
	d.until("no leader", time.Minute, func() bool {
		leader, _ := c.Leader("orders", 0)
		return leader == event.NoNode
	})
	s.p.Send(client.SendRequest{Topic: "orders", Partition: 0}, nil)
	c.World().RunFor(time.Second) // finds out about it
	s.send("orders", 2)
	d.until("given up", time.Minute, func() bool { return s.open == 0 })
	if b := s.p.Beliefs(); b.Failed < 2 {
		t.Errorf("never sent: %+v", b)
	}
	must(t, c.Restart(1))
	d.until("the leader is back", time.Minute, func() bool {
		end, _ := c.LogEndOffsetOfLeader("orders", 0)
		return end == 4
	})
	s.send("orders", 1) // the epoch is bumped, and the producer goes on
	d.until("acknowledged", time.Minute, func() bool { return s.p.Beliefs().Acknowledged == 2 })
}

func TestLingerGathersRecordsIntoOneBatch(t *testing.T) {
	for linger, want := range map[string]int{"0": 5, "20": 1} {
		c, _ := start(t, Config{Seed: 6, Latency: time.Millisecond})
		d := drive(t, c)
		d.ready()
		d.topic("orders", "1", 1, 2, 3)
		s := &stream{p: d.producer("shop", "linger.ms="+linger)}
		s.p.Send(client.SendRequest{Topic: "orders", Partition: 0}, nil)
		d.until("the first record", 5*time.Second, func() bool {
			return s.p.Beliefs().Acknowledged == 1
		})
		for range 5 {
			s.send("orders", 1)
			c.World().RunFor(3 * time.Millisecond)
		}
		d.until("all", time.Minute, func() bool { return s.open == 0 })
		if got, _ := c.BatchCount("orders", 0); got != want+1 {
			t.Errorf("linger.ms=%s: %d batches, want %d", linger, got-1, want)
		}
	}
}

func TestFullBatchHoldsWhatKafkasDoes(t *testing.T) {
	c, _ := start(t, Config{Seed: 6, Latency: time.Millisecond})
	d := drive(t, c)
	d.ready()
	d.topic("orders", "1", 1, 2, 3)
	p := d.producer("shop")
	value := strings.Repeat("x", 100)
	var outcome *client.SendOutcome
	p.Send(client.SendRequest{Topic: "orders", Partition: 0, Value: &value, Times: 148},
		func(o client.SendOutcome) { outcome = &o })
	d.until("all", time.Minute, func() bool { return outcome != nil })
	size, _ := c.LogBytes("orders", 0)
	if batches, _ := c.BatchCount("orders", 0); batches != 1 || size != 61+64*109+84*110 {
		t.Errorf("%d batches of %d bytes", batches, size)
	}
}

func TestKilledProducerForgetsWhatItBelieved(t *testing.T) {
	c, _ := start(t, Config{Seed: 6, Latency: time.Millisecond})
	d := drive(t, c)
	d.ready()
	d.topic("orders", "1", 1, 2, 3)
	s := &stream{p: d.producer("shop")}
	s.send("orders", 10)
	d.until("all", time.Minute, func() bool { return s.open == 0 })
	s.send("orders", 10)
	shop, _ := c.Named("shop")
	must(t, c.Kill(shop))
	if c.Producer("shop") != nil {
		t.Error("a killed producer still answers")
	}
	c.World().RunFor(10 * time.Second)
	must(t, c.Restart(shop))
	if b := c.Producer("shop").Beliefs(); b != (client.Beliefs{}) {
		t.Errorf("the next incarnation believes %+v", b)
	}
	if err := c.AddProducer("shop", client.ProducerConfig{}); err == nil {
		t.Error("two producers have one name")
	}
}
