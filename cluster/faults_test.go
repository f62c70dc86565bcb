package cluster

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/record"
)

// load keeps one acks=all record under way and remembers what was acknowledged.
type load struct {
	d       *driver
	topic   string
	next    int
	acked   map[int64]string // by offset
	order   []int64
	stopped bool
	open    bool
}

func (d *driver) load(topic string) *load {
	l := &load{d: d, topic: topic, acked: map[int64]string{}}
	l.send()
	return l
}

func (l *load) send() {
	if l.stopped {
		return
	}
	l.open = true
	value := "v" + strconv.Itoa(l.next)
	l.next++
	leader, _ := l.d.c.Leader(l.topic, 0)
	if leader == event.NoNode {
		l.later()
		return
	}
	request := produceRequest(l.topic, -1, "k", value, l.d.env.UnixMilli())
	l.d.env.Request(leader, "Produce", request, 10*time.Second, func(body any, err error) {
		answer, ok := body.(*kmsg.ProduceResponse)
		if err != nil || !ok || answer.Topics[0].Partitions[0].ErrorCode != 0 {
			l.later()
			return
		}
		at := answer.Topics[0].Partitions[0].BaseOffset
		if before, taken := l.acked[at]; taken {
			l.d.t.Errorf("seed %d: offset %d acknowledged for %s and for %s", l.d.c.config.Seed, at,
				before, value)
		}
		l.acked[at] = value
		l.order = append(l.order, at)
		l.d.env.AfterQuiet("load", time.Duration(l.d.env.Dice().IntN(20))*time.Millisecond, l.send)
	})
}

func (l *load) later() {
	l.open = false
	l.d.env.AfterQuiet("load", 50*time.Millisecond, l.send)
}

// contents reads a replica's batches below its high watermark.
func contents(
	t *testing.T,
	c *Cluster,
	node event.NodeID,
	topic string,
) (map[int64]string, []byte) {
	t.Helper()
	p := c.Broker(node).Partition(topic, 0)
	values := map[int64]string{}
	var all []byte
	_, err := p.Log.ReadAll(p.Log.LogStartOffset(), 1<<30, p.HighWatermark(),
		func(h record.Header, batch []byte) error {
			all = append(all, batch...)
			return record.EachRecord(batch, 1<<20, func(r record.Record) error {
				values[h.BaseOffset+int64(r.OffsetDelta)] = string(r.Value)
				return nil
			})
		})
	if err != nil {
		t.Fatal(err)
	}
	return values, all
}

// settled waits until all three replicas are in sync and agree on the high watermark.
func (d *driver) settled(topic string) {
	d.t.Helper()
	d.until("all replicas in sync and level", 90*time.Second, func() bool {
		isr, _ := d.c.Isr(topic, 0)
		if len(isr) != 3 {
			return false
		}
		end, _ := d.c.LogEndOffset(1, topic, 0)
		for _, id := range d.c.Brokers() {
			hw, _ := d.c.HighWatermarkOn(id, topic, 0)
			leo, _ := d.c.LogEndOffset(id, topic, 0)
			if hw != end || leo != end {
				return false
			}
		}
		return true
	})
}

// check holds what was acknowledged against what the replicas have.
func (l *load) check() {
	l.d.t.Helper()
	var first []byte
	for _, id := range l.d.c.Brokers() {
		values, all := contents(l.d.t, l.d.c, id, l.topic)
		for _, at := range l.order {
			if values[at] != l.acked[at] {
				l.d.t.Fatalf("seed %d: broker %d has %q at offset %d, acknowledged was %q",
					l.d.c.config.Seed, id, values[at], at, l.acked[at])
			}
		}
		if first == nil {
			first = all
		} else if !bytes.Equal(first, all) {
			l.d.t.Fatalf("seed %d: broker %d differs below the high watermark", l.d.c.config.Seed, id)
		}
	}
}

func seeds(t *testing.T, short, full uint64) uint64 {
	if text := os.Getenv("HIGHWATER_SEEDS"); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if testing.Short() {
		return short
	}
	return full
}

func TestNothingAcknowledgedIsLostWhenTheLeaderDiesInsideItsSession(t *testing.T) {
	for seed := range seeds(t, 20, 200) {
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) { leaderDies(t, seed) })
	}
}

func leaderDies(t *testing.T, seed uint64) {
	c, _ := start(t, Config{Seed: seed, Latency: time.Millisecond})
	d := drive(t, c)
	d.ready()
	d.topic("orders", "2", 1, 2, 3)
	l := d.load("orders")
	dice := rand.New(rand.NewPCG(seed, 42))
	w := c.World()
	for range 4 {
		w.RunFor(time.Duration(500+dice.IntN(3000)) * time.Millisecond)
		leader, _ := c.Leader("orders", 0)
		if leader == event.NoNode || !c.Alive(leader) {
			continue
		}
		var err error
		if dice.IntN(2) == 0 {
			err = c.Kill(leader)
		} else {
			err = c.PowerCut(leader)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.RunFor(time.Second)
		if err := c.Restart(leader); err != nil {
			t.Fatal(err)
		}
	}
	w.RunFor(20 * time.Second)
	l.stopped = true
	d.settled("orders")
	if len(l.order) < 50 {
		t.Errorf("seed %d: only %d records were acknowledged", seed, len(l.order))
	}
	l.check()
}

func TestSameSeedSameTraceAndSameFiles(t *testing.T) {
	run := func() ([]string, string) {
		c, s := start(t, Config{Seed: 7, Latency: time.Millisecond})
		d := drive(t, c)
		d.ready()
		d.topic("orders", "2", 1, 2, 3)
		l := d.load("orders")
		c.World().RunFor(time.Second)
		must(t, c.PowerCut(1))
		c.World().RunFor(3 * time.Second)
		active, _ := c.Controller()
		must(t, c.Kill(active))
		must(t, c.Restart(1))
		c.World().RunFor(20 * time.Second)
		must(t, c.Restart(active))
		l.stopped = true
		d.settled("orders")
		return s.lines, files(t, c)
	}
	lines, sum := run()
	again, sumAgain := run()
	for i := range lines {
		if i >= len(again) || lines[i] != again[i] {
			t.Fatalf("event %d differs:\n%s\n%s", i+1, lines[i], slices.Concat(again, []string{""})[i])
		}
	}
	if sum != sumAgain {
		t.Error("the same events, but other files")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// files is the content of every node's disk in one text.
func files(t *testing.T, c *Cluster) string {
	t.Helper()
	var b bytes.Buffer
	for _, id := range c.nodes() {
		var walk func(dir string)
		walk = func(dir string) {
			entries, err := c.Disk(id).List(path.Join(".", dir))
			must(t, err)
			for _, e := range entries {
				name := path.Join(dir, e.Name)
				if e.Dir {
					walk(name)
					continue
				}
				content, err := c.Disk(id).ReadFile(name)
				must(t, err)
				fmt.Fprintf(&b, "%d %s %d %x\n", id, name, len(content), bytes.TrimRight(content, "\x00"))
			}
		}
		walk("")
	}
	return b.String()
}

func TestIdleHourChangesNothing(t *testing.T) {
	c, s := start(t, Config{Seed: 5, Latency: time.Millisecond})
	d := drive(t, c)
	d.ready()
	d.topic("orders", "2", 1, 2, 3)
	active, _ := c.Controller()
	before := len(s.lines)
	c.World().RunFor(time.Hour)
	if now, ok := c.Controller(); !ok || now != active {
		t.Errorf("the active controller was %d and is %d", active, now)
	}
	for _, l := range s.lines[before:] {
		for _, kind := range []string{"PartitionChanged", "BrokerFenced", "IsrChanged", "BecameLeader"} {
			if strings.Contains(l, `"event":"`+kind+`"`) {
				t.Fatalf("an idle hour brought %s", l)
			}
		}
	}
	t.Logf("%d events", len(s.lines)-before)
}

// TestPausedClusterExpiresNothing is about the pause of the whole world, which stops virtual time:
// see world.TestPauseKeepsVirtualTimeStillAndLosesNothing. Here one broker alone stands still.
func TestPausedBrokerIsFencedAndReturnsWithoutHarm(t *testing.T) {
	c, _ := start(t, Config{Seed: 6, Latency: time.Millisecond})
	d := drive(t, c)
	d.ready()
	d.topic("orders", "2", 1, 2, 3)
	l := d.load("orders")
	c.World().RunFor(2 * time.Second)
	must(t, c.Pause(1))
	c.World().RunFor(30 * time.Second)
	if leader, _ := c.Leader("orders", 0); leader == 1 {
		t.Error("a broker that stood still for 30 s still leads")
	}
	must(t, c.Resume(1))
	c.World().RunFor(10 * time.Second)
	l.stopped = true
	d.settled("orders")
	l.check()
}

func TestCutLinksAndHealLoseNothing(t *testing.T) {
	for seed := range seeds(t, 5, 20) {
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) {
			c, _ := start(t, Config{Seed: seed, Latency: time.Millisecond})
			d := drive(t, c)
			d.ready()
			d.topic("orders", "2", 1, 2, 3)
			l := d.load("orders")
			dice := rand.New(rand.NewPCG(seed, 43))
			nodes := c.nodes()
			for range 10 {
				a, b := nodes[dice.IntN(len(nodes))], nodes[dice.IntN(len(nodes))]
				if a != b {
					must(t, c.Cut(a, b, dice.IntN(2) == 0))
				}
				c.World().RunFor(time.Duration(dice.IntN(8000)) * time.Millisecond)
				if dice.IntN(3) == 0 {
					must(t, c.HealAll())
				}
			}
			must(t, c.HealAll())
			c.World().RunFor(15 * time.Second)
			acked := len(l.order)
			c.World().RunFor(time.Second)
			if len(l.order) == acked {
				t.Errorf("seed %d: no writes 15 s after all links healed", seed)
			}
			l.stopped = true
			d.settled("orders")
			l.check()
		})
	}
}

func TestControllersDieAndReturn(t *testing.T) {
	for seed := range seeds(t, 5, 20) {
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) {
			c, _ := start(t, Config{Seed: seed, Latency: time.Millisecond})
			d := drive(t, c)
			d.ready()
			d.topic("orders", "2", 1, 2, 3)
			l := d.load("orders")
			dice := rand.New(rand.NewPCG(seed, 44))
			for range 6 {
				id := c.Controllers()[dice.IntN(3)]
				if c.Alive(id) {
					if dice.IntN(2) == 0 {
						must(t, c.Kill(id))
					} else {
						must(t, c.PowerCut(id))
					}
				}
				c.World().RunFor(time.Duration(dice.IntN(3000)) * time.Millisecond)
				for _, id := range c.Controllers() {
					if !c.Alive(id) && dice.IntN(2) == 0 {
						must(t, c.Restart(id))
					}
				}
				if dice.IntN(2) == 0 {
					id := c.Brokers()[dice.IntN(3)]
					must(t, c.Kill(id))
					c.World().RunFor(time.Second)
					must(t, c.Restart(id))
				}
			}
			for _, id := range c.Controllers() {
				if !c.Alive(id) {
					must(t, c.Restart(id))
				}
			}
			c.World().RunFor(20 * time.Second)
			l.stopped = true
			d.settled("orders")
			l.check()
		})
	}
}

// KIP-101's first scenario: a follower learns of a high watermark one fetch late. Were it to cut its
// log to the one it knows when the leader changes, a record that all had would be gone once the
// new leader dies too.
func TestFollowerKeepsCommittedRecordsAcrossTwoElections(t *testing.T) {
	c, _ := start(t, Config{Seed: 8, Latency: time.Millisecond})
	d := drive(t, c)
	d.ready()
	d.topic("orders", "1", 1, 2, 3)
	for _, key := range []string{"order-2", "order-3"} {
		if p, err := d.send(1, "orders", -1, key, "{}"); err != nil || p.ErrorCode != 0 {
			t.Fatalf("%s: %+v, %v", key, p, err)
		}
	}
	if hw, _ := c.HighWatermarkOn(3, "orders", 0); hw == 2 {
		t.Fatal("the follower knows of the high watermark already: the test tests nothing")
	}
	must(t, c.Kill(1))
	must(t, c.Cut(2, 3, true))
	d.until("broker 3 follows broker 2", 15*time.Second, func() bool {
		return c.Broker(3).Partition("orders", 0).Leader() == 2
	})
	must(t, c.Kill(2))
	d.until("broker 3 leads", 15*time.Second, func() bool {
		leader, _ := c.Leader("orders", 0)
		return leader == 3 && c.Broker(3).Partition("orders", 0).Leads()
	})
	if end, _ := c.LogEndOffset(3, "orders", 0); end != 2 {
		t.Errorf("order-3 was acknowledged and committed; broker 3 leads with a log that ends at %d", end)
	}
}
