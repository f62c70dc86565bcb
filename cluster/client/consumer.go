package client

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/event"
	"highwater/cluster/world"
)

// Consumer is one incarnation of a built-in consumer, built as Kafka's classic Java consumer is:
// poll() joins the group, commits what earlier polls returned, finds positions, and returns what
// fetches have brought; heartbeats go on beside it, on a clock of their own. Skipped: subscribing
// by pattern, rack awareness, and finding a truncated log by epoch (KIP-320).
type Consumer struct {
	network
	name   string
	config ConsumerConfig

	polling *poll
	// timer ends the poll under way; a consumer that polls by itself begins the next one then.
	timer     *world.Timer
	lastPoll  time.Duration
	positions []*position // of what is assigned, by topic and partition
	assigned  bool        // by hand: done once
	seeks     []seek      // called before that
	locating  bool        // positions are being found
	fetching  map[event.NodeID]bool
	sizes     sizes
	seen      []Record // what polls returned, the newest seenMax
	dropped   int64    // how many of them are no longer kept
	failure   int16    // what the last poll threw, 0 when nothing

	member     membership
	lastCommit time.Duration // when the last automatic commit was due
	closing    bool
	closed     []func() // they hear when it is
}

// seenMax bounds how many polled records a consumer keeps for those who ask.
const seenMax = 100_000

// pollEvery is how long one poll waits of a consumer that polls by itself.
const pollEvery = 100 * time.Millisecond

// afterException is how long the application of such a consumer waits after poll() threw.
const afterException = time.Second

// poll is one call of poll().
type poll struct {
	max  int
	done func([]Record, int16) // nil for the consumer's own loop
}

// position is what a consumer knows of a partition that is assigned to it.
type position struct {
	key       topicPartition
	next      int64 // offset of the next record that a poll returns; -1 while it is not known
	sought    int64 // a special offset to look up; 0 for none
	committed int64 // as far as the consumer knows; -1 for never
	// fetched are records that came with a fetch and were not returned yet; fetchAt is where the
	// next fetch begins.
	fetched []Record
	fetchAt int64
	retryAt time.Duration
	// strayed says that a fetch from fetchAt was out of range, and a reset is under way.
	strayed bool
	// failure is what the next poll throws because of the partition, 0 for nothing: it was found
	// out when no poll was under way.
	failure int16
	// generation is the one that it was assigned in, -1 by hand.
	generation int32
}

// NewConsumer makes the state of a fresh incarnation. place is its number among the named clients.
func NewConsumer(env *world.Env, name string, brokers []event.NodeID, place int,
	config ConsumerConfig) *Consumer {
	c := &Consumer{network: newNetwork(env, brokers, name), name: name, config: config,
		fetching: map[event.NodeID]bool{}}
	c.turn = place
	event.ClientStarted{Name: name, Role: "consumer", Group: config.Group,
		Settings: strings.TrimSpace("topic=" + strings.Join(config.Topics, ",") + " " +
			written(config.given))}.Emit(env.Events, event.RuleNone)
	c.member.init(c)
	c.ageMetadata()
	c.lastCommit = env.Now()
	if !config.Manual {
		c.beginPoll(&poll{max: config.MaxPollRecords}, pollEvery)
	}
	return c
}

// Name is what commands call the consumer.
func (c *Consumer) Name() string { return c.name }

// Manual says that the consumer polls by commands only.
func (c *Consumer) Manual() bool { return c.config.Manual }

// Seen lists the records that polls of this incarnation returned.
func (c *Consumer) Seen() []Record { return c.seen }

// Position is where the next poll of a partition begins.
func (c *Consumer) Position(topic string, partition int32) (int64, bool) {
	p := c.find(topicPartition{topic, partition})
	if p == nil || p.next < 0 {
		return 0, false
	}
	return p.next, true
}

// Assigned lists the partitions that the consumer owns.
func (c *Consumer) Assigned() []string {
	list := make([]string, len(c.positions))
	for i, p := range c.positions {
		list[i] = p.key.String()
	}
	return list
}

func (c *Consumer) find(key topicPartition) *position {
	for _, p := range c.positions {
		if p.key == key {
			return p
		}
	}
	return nil
}

// subscribes says whether a group decides what the consumer reads.
func (c *Consumer) subscribes() bool { return c.config.Group != "" && c.config.Partition < 0 }

// Poll is one poll() of a manual consumer: it ends when there are records, or when the time is
// over. A code is an exception that poll() throws.
func (c *Consumer) Poll(most int, timeout time.Duration, done func([]Record, int16)) {
	if c.polling != nil {
		done(nil, kerr.InvalidRequest.Code)
		return
	}
	if most <= 0 {
		most = c.config.MaxPollRecords
	}
	c.beginPoll(&poll{max: most, done: done}, timeout)
}

func (c *Consumer) beginPoll(p *poll, timeout time.Duration) {
	c.polling = p
	c.lastPoll = c.env.Now()
	c.member.polled()
	c.timer = c.env.AfterQuiet("poll", timeout, func() { c.endPoll(nil, 0) })
	c.env.AfterQuiet("poll", 0, c.advance)
}

// endPoll returns from poll().
func (c *Consumer) endPoll(records []Record, code int16) {
	p := c.polling
	if p == nil {
		return
	}
	c.polling = nil
	c.timer.Stop()
	c.failure = code
	if p.done != nil {
		p.done(records, code)
		return
	}
	if !c.closing && !c.member.fenced {
		pause := time.Duration(0)
		if code != 0 {
			pause = afterException
		}
		c.env.AfterQuiet("poll", pause, func() {
			if c.polling == nil && !c.closing {
				c.beginPoll(&poll{max: c.config.MaxPollRecords}, pollEvery)
			}
		})
	}
}

// throw makes poll() throw because of a partition: the poll under way, or else the next one.
func (c *Consumer) throw(p *position, code int16) {
	if c.polling == nil {
		p.failure = code
		return
	}
	p.failure = 0
	c.endPoll(nil, code)
}

// advance does what poll() can do now; whatever it waits for calls it again.
func (c *Consumer) advance() {
	p := c.polling
	if p == nil || c.closing {
		return
	}
	if c.subscribes() {
		if !c.member.ready() {
			return
		}
	} else if !c.assign() {
		return
	}
	c.autoCommit()
	c.locate()
	if c.polling != p { // it threw, so it does nothing more
		return
	}
	if records := c.collect(p.max); len(records) > 0 {
		c.fetch()
		c.endPoll(records, 0)
		return
	}
	c.fetch()
}

// assign takes the partitions of a consumer that no group decides for.
func (c *Consumer) assign() bool {
	if c.assigned {
		return true
	}
	for _, name := range c.config.Topics {
		if c.topics[name] == nil {
			c.refresh()
			return false
		}
	}
	c.assigned = true
	for _, name := range c.config.Topics {
		for i := range c.topics[name].partitions {
			if c.config.Partition < 0 || c.config.Partition == int32(i) {
				c.own(topicPartition{name, int32(i)}, -1)
			}
		}
	}
	for _, s := range c.seeks {
		c.seekNow(s)
	}
	c.seeks = nil
	return true
}

// own adds a partition to those assigned.
func (c *Consumer) own(key topicPartition, generation int32) {
	if c.find(key) != nil {
		return
	}
	p := &position{key: key, next: -1, committed: -1, generation: generation}
	at, _ := slices.BinarySearchFunc(c.positions, p, func(a, b *position) int {
		return compareKeys(a.key, b.key)
	})
	c.positions = slices.Insert(c.positions, at, p)
	event.PartitionAssigned{Group: c.config.Group, Generation: generation, Topic: key.topic,
		Partition: key.partition}.Emit(c.env.Events, event.RuleNone)
}

// renew notes that a partition was kept through a rebalance.
func (c *Consumer) renew(p *position, generation int32) {
	p.generation = generation
	event.PartitionAssigned{Group: c.config.Group, Generation: generation, Topic: p.key.topic,
		Partition: p.key.partition}.Emit(c.env.Events, event.RuleNone)
}

func compareKeys(a, b topicPartition) int {
	return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
}

// disown gives a partition up; what was fetched of it and not returned is forgotten.
func (c *Consumer) disown(key topicPartition, reason string, rule event.Rule) {
	p := c.find(key)
	if p == nil {
		return
	}
	generation := p.generation
	c.positions = slices.DeleteFunc(c.positions, func(x *position) bool { return x == p })
	event.PartitionRevoked{Group: c.config.Group, Generation: generation, Topic: key.topic,
		Partition: key.partition, Reason: reason}.Emit(c.env.Events, rule)
}

func (c *Consumer) disownAll(reason string, rule event.Rule) {
	for len(c.positions) > 0 {
		c.disown(c.positions[0].key, reason, rule)
	}
}

// collect takes fetched records for one poll. As in Java, a poll goes through one partition after
// the other until it has enough; it passes over markers and what was aborted when it looks for more.
func (c *Consumer) collect(most int) []Record {
	var records []Record
	for _, p := range c.positions {
		if p.next < 0 || p.sought != 0 || len(records) == most {
			continue
		}
		n := min(most-len(records), len(p.fetched))
		taken, before := p.fetched[:n], p.next
		p.fetched = p.fetched[n:]
		for i := range taken {
			taken[i].Topic, taken[i].Partition = p.key.topic, p.key.partition
			p.next = taken[i].Offset + 1
		}
		records = append(records, taken...)
		if len(records) < most {
			p.next = max(p.next, p.fetchAt)
		}
		if p.next == before {
			continue
		}
		if !c.env.Events.On() {
			continue
		}
		event.RecordsPolled{Topic: p.key.topic, Partition: p.key.partition, Records: int32(n),
			Before: event.Offset(before), After: event.Offset(p.next),
			Offsets: offsetsText(taken)}.
			Emit(c.env.Events, event.RuleNone)
	}
	c.seen = append(c.seen, records...)
	if over := len(c.seen) - seenMax; over > 0 {
		c.seen = slices.Delete(c.seen, 0, over)
		c.dropped += int64(over)
	}
	return records
}

// offsetsText writes the offsets of records as events tell them, in runs: 0-3,5-5.
func offsetsText(records []Record) string {
	var runs [][2]event.Offset
	for last := len(records) - 1; last >= 0 && len(runs) < event.RunsMax; {
		first := last
		for first > 0 && records[first-1].Offset == records[first].Offset-1 {
			first--
		}
		runs = append(runs, [2]event.Offset{event.Offset(records[first].Offset),
			event.Offset(records[last].Offset)})
		last = first - 1
	}
	slices.Reverse(runs)
	return event.RunsText(runs)
}

// Close commits if the consumer commits by itself, leaves its group, and ends the polling. Whoever
// closes it once more hears of the same end.
func (c *Consumer) Close(done func()) {
	c.closed = append(c.closed, done)
	if c.closing {
		return
	}
	c.closing = true
	c.endPoll(nil, 0)
	leave := func() {
		c.member.leave("the consumer is being closed", func() {
			c.disownAll("closed", event.RuleNone)
			for _, done := range c.closed {
				done()
			}
		})
	}
	if !c.config.AutoCommit || len(c.positions) == 0 {
		leave()
		return
	}
	c.commit("close", func(int16) { leave() })
}
