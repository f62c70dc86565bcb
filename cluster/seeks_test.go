package cluster

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/client"
)

// polls makes a manual consumer poll once and returns the offsets that came.
func (d *driver) polls(c *client.Consumer, timeout time.Duration) (offsets []int64, code int16) {
	d.t.Helper()
	ended := false
	c.Poll(0, timeout, func(records []client.Record, thrown int16) {
		ended, code = true, thrown
		for _, r := range records {
			offsets = append(offsets, r.Offset)
		}
	})
	d.until("poll() returns", timeout+time.Second, func() bool { return ended })
	return offsets, code
}

// tenOrders is a cluster with ten records in orders-0.
func tenOrders(t *testing.T) *driver {
	t.Helper()
	c, _ := start(t, Config{Seed: 3, Latency: time.Millisecond, Settings: groupSettings})
	d := drive(t, c)
	d.ready()
	d.topic("orders", "1", 1, 2, 3)
	s := &stream{p: d.producer("shop")}
	s.send("orders", 10)
	d.until("ten records", time.Minute, func() bool { return s.open == 0 })
	return d
}

func (d *driver) manual(name string, partition int32, words ...string) *client.Consumer {
	d.t.Helper()
	config := consumerConfig(d.t, "orders", words...)
	config.Manual, config.Partition = true, partition
	return d.consumer(name, config)
}

func TestConsumerWithoutAPlaceToBeginThrowsAndLives(t *testing.T) {
	for _, words := range [][]string{nil, {"group.id=g"}} {
		d := tenOrders(t)
		c := d.manual("c", 0, append(words, "auto.offset.reset=none")...)
		for range 2 {
			if offsets, code := d.polls(c, 2*time.Second); code != kerr.OffsetOutOfRange.Code {
				t.Errorf("%v: poll() returned %v and threw %d", words, offsets, code)
			}
		}
		c.Seek("", -1, 7)
		if offsets, code := d.polls(c, time.Second); len(offsets) != 3 || code != 0 {
			t.Errorf("%v: after seek(7): %v, %d", words, offsets, code)
		}
	}
}

func TestWhatAPollFoundOutTooLateIsThrownByTheNext(t *testing.T) {
	d := tenOrders(t)
	c := d.manual("c", 0, "auto.offset.reset=none")
	c.Seek("orders", 0, 5000)
	d.c.World().RunFor(time.Second)
	for n, want := range []int16{0, kerr.OffsetOutOfRange.Code} {
		if offsets, code := d.polls(c, time.Millisecond); len(offsets) != 0 || code != want {
			t.Errorf("poll %d returned %v and threw %d, not %d", n+1, offsets, code, want)
		}
		d.c.World().RunFor(time.Second)
	}
	d.polls(c, time.Millisecond)
	d.c.World().RunFor(time.Second)
	c.Seek("orders", 0, 9) // what was found out is of a position that is no more
	if offsets, code := d.polls(c, time.Second); len(offsets) != 1 || code != 0 {
		t.Errorf("after seek(9): %v, %d", offsets, code)
	}
}

func TestSeekMovesWhatIsAssignedByHandBeforeTheFirstPoll(t *testing.T) {
	for _, partition := range []int32{0, -1} {
		d := tenOrders(t)
		c := d.manual("c", partition, "auto.offset.reset=earliest")
		if moved := c.Seek("", -1, 3); len(moved) != 1 || moved[0].Topic != "orders" {
			t.Errorf("partition %d: seek() moved %v", partition, moved)
		}
		if moved := c.Seek("orders", 0, 6); len(moved) != 1 || moved[0].Partition != 0 {
			t.Errorf("partition %d: seek(orders-0) moved %v", partition, moved)
		}
		d.c.World().RunFor(time.Second)
		if at, known := c.Position("orders", 0); at != 6 || !known {
			t.Errorf("partition %d: the position is %d, %v", partition, at, known)
		}
		if offsets, code := d.polls(c, time.Second); len(offsets) != 4 || code != 0 {
			t.Errorf("partition %d: poll() returned %v and threw %d", partition, offsets, code)
		}
	}
	d := tenOrders(t)
	if moved := d.manual("c", 0).Seek("users", 0, 3); len(moved) != 0 {
		t.Errorf("of another topic it moved %v", moved)
	}
	if moved := d.manual("d", -1, "group.id=g").Seek("", -1, 3); len(moved) != 0 {
		t.Errorf("before its group assigned anything it moved %v", moved)
	}
}

func TestWhoeverClosesAConsumerTwiceHearsTwice(t *testing.T) {
	d := tenOrders(t)
	d.manual("c", 0, "group.id=g", "auto.offset.reset=earliest")
	d.polls(d.c.Consumer("c"), time.Second)
	id, _ := d.c.Named("c")
	heard := 0
	for range 2 {
		must(t, d.c.CloseProgram(id, func() { heard++ }))
	}
	d.until("both hear", time.Minute, func() bool { return heard == 2 })
}

// TestManyRecordsAtOnceTakeNoNodeDown has links without latency, over which a send of many records
// would happen at one instant.
func TestManyRecordsAtOnceTakeNoNodeDown(t *testing.T) {
	c, err := New(Config{Seed: 3, PanicThrough: true}) // without events, which are many
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	must(t, c.Start())
	d := drive(t, c)
	d.ready()
	d.topic("orders", "1", 1, 2, 3)
	for i := range 4 {
		d.consumer(string(rune('a'+i)), consumerConfig(t, "orders"))
	}
	var result *client.SendResult
	c.Client().Send(client.SendRequest{Topic: "orders", Partition: 0, Acks: -1, Times: 60_000},
		func(r client.SendResult) { result = &r })
	d.until("all are acknowledged", time.Minute, func() bool { return result != nil })
	if result.Code != 0 || result.Acknowledged != 60_000 {
		t.Errorf("%+v", *result)
	}
}
