package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/record"
)

// compactedRecord is a record of a compacted topic; deletions have no value.
type compactedRecord struct{ key, value string }

// keyedLoad keeps one acks=all record of few keys under way and remembers what was acknowledged.
type keyedLoad struct {
	d       *driver
	acked   map[int64]compactedRecord
	next    int
	stopped bool
}

const compactedTopic = "users"

// compactedCluster has a topic whose segments are small and whose cleaners never rest.
func compactedCluster(t *testing.T, seed uint64) (*driver, *tape) {
	c, s := start(t, Config{Seed: seed, Latency: time.Millisecond,
		Settings: map[string]string{"log.cleaner.backoff.ms": "20"}})
	d := drive(t, c)
	d.ready()
	d.topicWith(compactedTopic, [][2]string{{"min.insync.replicas", "2"},
		{"cleanup.policy", "compact"}, {"internal.segment.bytes", "700"},
		{"min.cleanable.dirty.ratio", "0.01"}}, 1, 2, 3)
	return d, s
}

func (d *driver) keyedLoad() *keyedLoad {
	l := &keyedLoad{d: d, acked: map[int64]compactedRecord{}}
	l.send()
	return l
}

func (l *keyedLoad) send() {
	if l.stopped {
		return
	}
	one := compactedRecord{"k" + strconv.Itoa(l.d.env.Dice().IntN(6)), "v" + strconv.Itoa(l.next)}
	l.next++
	leader, _ := l.d.c.Leader(compactedTopic, 0)
	if leader == event.NoNode {
		l.d.env.AfterQuiet("load", 50*time.Millisecond, l.send)
		return
	}
	request := produceRequest(compactedTopic, -1, one.key, one.value, l.d.env.UnixMilli())
	l.d.env.Request(leader, "Produce", request, 10*time.Second, func(body any, err error) {
		answer, ok := body.(*kmsg.ProduceResponse)
		if err != nil || !ok || answer.Topics[0].Partitions[0].ErrorCode != 0 {
			l.d.env.AfterQuiet("load", 50*time.Millisecond, l.send)
			return
		}
		l.acked[answer.Topics[0].Partitions[0].BaseOffset] = one
		l.d.env.AfterQuiet("load", time.Duration(l.d.env.Dice().IntN(10))*time.Millisecond, l.send)
	})
}

// compacted reads a replica below its high watermark: what lies at each offset, and the newest
// record of each key.
func compacted(t *testing.T, c *Cluster, node event.NodeID) (
	byOffset map[int64]compactedRecord, newest map[string]int64,
) {
	t.Helper()
	p := c.Broker(node).Partition(compactedTopic, 0)
	byOffset, newest = map[int64]compactedRecord{}, map[string]int64{}
	_, err := p.Log.ReadAll(p.Log.LogStartOffset(), 1<<30, p.HighWatermark(),
		func(h record.Header, batch []byte) error {
			return record.EachRecord(batch, 1<<20, func(r record.Record) error {
				offset := h.BaseOffset + int64(r.OffsetDelta)
				byOffset[offset] = compactedRecord{string(r.Key), string(r.Value)}
				newest[string(r.Key)] = offset
				return nil
			})
		})
	if err != nil {
		t.Fatal(err)
	}
	return byOffset, newest
}

// check holds the replicas against what was acknowledged, and against each other. Each was compacted
// by its own broker at its own times, so their bytes may differ; what compaction must keep may not.
func (l *keyedLoad) check() {
	t, c := l.d.t, l.d.c
	t.Helper()
	var first map[string]compactedRecord
	for _, id := range c.Brokers() {
		byOffset, newest := compacted(t, c, id)
		for offset, one := range l.acked {
			at, known := newest[one.key]
			if !known || at < offset {
				t.Fatalf("seed %d: broker %d lost %v, acknowledged at %d; its newest is at %d",
					c.config.Seed, id, one, offset, at)
			}
			if has, there := byOffset[offset]; there && has != one {
				t.Fatalf("seed %d: broker %d has %v at offset %d, acknowledged was %v",
					c.config.Seed, id, has, offset, one)
			}
		}
		values := map[string]compactedRecord{}
		for key, offset := range newest {
			values[key] = compactedRecord{strconv.FormatInt(offset, 10), byOffset[offset].value}
		}
		if first == nil {
			first = values
		} else if fmt.Sprint(first) != fmt.Sprint(values) {
			t.Fatalf("seed %d: broker %d says %v, another says %v", c.config.Seed, id, values, first)
		}
		l.soundOn(id)
	}
}

func (l *keyedLoad) soundOn(id event.NodeID) {
	p := l.d.c.Broker(id).Partition(compactedTopic, 0)
	must(l.d.t, p.Log.Flush())
	for problem := range commitlog.Check(l.d.c.Disk(id), p.Log.Dir()) {
		l.d.t.Errorf("seed %d: broker %d: %v", l.d.c.config.Seed, id, problem)
	}
	if segments := p.Log.Segments(); len(segments) > 12 {
		l.d.t.Errorf("seed %d: broker %d has %d segments: nothing was compacted",
			l.d.c.config.Seed, id, len(segments))
	}
}

// crashes kills brokers and cuts their power, one at a time, at random moments of their passes.
func (l *keyedLoad) crashes(dice *rand.Rand) {
	w, c, t := l.d.c.World(), l.d.c, l.d.t
	for range 6 {
		w.RunFor(time.Duration(100+dice.IntN(900))*time.Millisecond +
			time.Duration(dice.IntN(1_000_000)))
		id := c.Brokers()[dice.IntN(3)]
		var err error
		if dice.IntN(2) == 0 {
			err = c.Kill(id)
		} else {
			err = c.PowerCut(id)
		}
		must(t, err)
		w.RunFor(time.Duration(100+dice.IntN(900)) * time.Millisecond)
		must(t, c.Restart(id))
		l.d.until("all replicas in sync", 90*time.Second, func() bool {
			isr, _ := c.Isr(compactedTopic, 0)
			return len(isr) == 3
		})
	}
}

func TestCompactionLosesNoNewestRecordWhateverCrashes(t *testing.T) {
	for seed := range seeds(t, 10, 100) {
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) {
			d, s := compactedCluster(t, seed)
			l := d.keyedLoad()
			l.crashes(rand.New(rand.NewPCG(seed, 45)))
			l.stopped = true
			d.c.World().RunFor(2 * time.Second)
			d.settled(compactedTopic)
			l.check()
			swaps := 0
			for _, line := range s.lines {
				if strings.Contains(line, `"event":"SegmentsSwapped"`) {
					swaps++
				}
			}
			if len(l.acked) < 50 || swaps < 10 {
				t.Errorf("seed %d: %d records, %d swaps", seed, len(l.acked), swaps)
			}
		})
	}
}

func TestSameSeedSameCompaction(t *testing.T) {
	run := func() ([]string, string) {
		d, s := compactedCluster(t, 9)
		l := d.keyedLoad()
		l.crashes(rand.New(rand.NewPCG(9, 45)))
		l.stopped = true
		d.c.World().RunFor(2 * time.Second)
		return s.lines, files(t, d.c)
	}
	lines, sum := run()
	again, sumAgain := run()
	if !slices.Equal(lines, again) {
		t.Error("the events differ")
	}
	if sum != sumAgain {
		t.Error("the files differ")
	}
}

// What a group committed is in __consumer_offsets, which is compacted as any topic is. A coordinator
// that replays the compacted log must know what one that replayed all of it knew.
func TestCommittedOffsetsSurviveCompaction(t *testing.T) {
	const topic = "__consumer_offsets"
	c, _ := start(t, Config{Seed: 10, Latency: time.Millisecond,
		Settings: map[string]string{"log.cleaner.backoff.ms": "20",
			"offsets.topic.num.partitions": "1"}})
	d := drive(t, c)
	d.ready()
	d.topic("orders", "2", 1, 2, 3)
	d.until("a coordinator", time.Minute, func() bool {
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.CoordinatorKey = "shop"
		answer := d.request(1, 3, find).(*kmsg.FindCoordinatorResponse)
		return answer.ErrorCode == 0 && d.committedOffset(topic) == -1
	})
	alter := kmsg.NewPtrIncrementalAlterConfigsRequest()
	row := kmsg.NewIncrementalAlterConfigsRequestResource()
	row.ResourceType, row.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	for _, each := range [][2]string{{"internal.segment.bytes", "400"},
		{"min.cleanable.dirty.ratio", "0.01"}} {
		config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		config.Name, config.Value = each[0], &each[1]
		row.Configs = append(row.Configs, config)
	}
	alter.Resources = append(alter.Resources, row)
	changed := d.request(1, 1, alter).(*kmsg.IncrementalAlterConfigsResponse)
	if changed.Resources[0].ErrorCode != 0 {
		t.Fatalf("%+v", changed.Resources[0])
	}
	c.World().RunFor(time.Second)
	leader, _ := c.Leader(topic, 0)
	for offset := range int64(40) {
		d.commitOffset(leader, offset+1)
	}
	c.World().RunFor(2 * time.Second)
	log := c.Broker(leader).Partition(topic, 0).Log
	if log.FirstDirtyOffset() < 20 || len(log.Segments()) > 6 {
		t.Errorf("compacted up to %d, in %d segments", log.FirstDirtyOffset(), len(log.Segments()))
	}
	must(t, c.Kill(leader))
	d.until("another coordinator", time.Minute, func() bool {
		next, _ := c.Leader(topic, 0)
		return next != leader && next != event.NoNode && d.committedOffset(topic) >= 0
	})
	if got := d.committedOffset(topic); got != 40 {
		t.Errorf("the group's offset is %d", got)
	}
}

func (d *driver) request(to event.NodeID, version int16, body kmsg.Request) any {
	d.t.Helper()
	body.SetVersion(version)
	answer, err := d.ask(to, kmsg.NameForKey(body.Key()), &broker.Request{Key: body.Key(),
		Version: version, ClientID: "driver", Body: body})
	if err != nil {
		d.t.Fatal(err)
	}
	return answer
}

func (d *driver) commitOffset(coordinator event.NodeID, offset int64) {
	d.t.Helper()
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Group, r.Generation = "shop", -1
	part := kmsg.NewOffsetCommitRequestTopicPartition()
	part.Offset = offset
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic, topic.Partitions = "orders", append(topic.Partitions, part)
	r.Topics = append(r.Topics, topic)
	answer := d.request(coordinator, 7, r).(*kmsg.OffsetCommitResponse)
	if code := answer.Topics[0].Partitions[0].ErrorCode; code != 0 {
		d.t.Fatalf("committing %d ended with error %d", offset, code)
	}
}

// committedOffset asks the coordinator; -1 says that nothing is committed, -2 that nobody knows.
func (d *driver) committedOffset(groups string) int64 {
	d.t.Helper()
	leader, _ := d.c.Leader(groups, 0)
	if leader == event.NoNode || !d.c.Alive(leader) {
		return -2
	}
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Group = "shop"
	topic := kmsg.NewOffsetFetchRequestTopic()
	topic.Topic, topic.Partitions = "orders", []int32{0}
	r.Topics = append(r.Topics, topic)
	answer := d.request(leader, 7, r).(*kmsg.OffsetFetchResponse)
	if answer.ErrorCode != 0 || answer.Topics[0].Partitions[0].ErrorCode != 0 {
		return -2
	}
	return answer.Topics[0].Partitions[0].Offset
}
