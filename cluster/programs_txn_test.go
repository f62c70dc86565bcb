package cluster

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/client"
	"highwater/cluster/event"
)

// txnRun is a transactional producer at work, and how each of its transactions ended.
type txnRun struct {
	d       *driver
	p       *client.Producer
	records int
	ended   []string // committed, aborted, or what went wrong, by transaction
}

// call runs one call of the producer to its end.
func (r *txnRun) call(what string, f func(done func(client.AdminResult))) int16 {
	r.d.t.Helper()
	var result *client.AdminResult
	f(func(a client.AdminResult) { result = &a })
	r.d.until(what, 10*time.Minute, func() bool { return result != nil })
	return result.Code
}

// transaction sends some records to every topic and commits, or aborts.
func (r *txnRun) transaction(commit bool) {
	r.d.t.Helper()
	if code := r.call("begin", r.p.Begin); code != 0 {
		r.d.t.Fatalf("begin: %v", kerr.ErrorForCode(code))
	}
	number := len(r.ended)
	value := strconv.Itoa(number)
	for _, topic := range []string{"orders", "copies"} {
		r.p.Send(client.SendRequest{Topic: topic, Partition: 0, Times: r.records, Value: &value}, nil)
	}
	r.d.c.World().RunFor(time.Duration(r.d.env.Dice().IntN(20)) * time.Millisecond)
	how := "aborted"
	if commit {
		how = "committed"
	}
	code := r.call("end", func(done func(client.AdminResult)) { r.p.End(commit, done) })
	if code != 0 {
		how = kerr.ErrorForCode(code).Error()
		code = r.call("abort", func(done func(client.AdminResult)) { r.p.End(false, done) })
		if code != 0 {
			r.d.t.Fatalf("abort after %s: %v", how, kerr.ErrorForCode(code))
		}
		how = "aborted"
	}
	r.ended = append(r.ended, how)
}

func TestTransactionsOfAProducerAreSeenWholeOrNotAtAllUnderFaults(t *testing.T) {
	for seed := range seeds(t, 4, 30) {
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) {
			c, _ := start(t, Config{Seed: seed, Latency: time.Millisecond})
			d := drive(t, c)
			d.ready()
			d.topic("orders", "2", 1, 2, 3)
			d.topic("copies", "2", 2, 3, 1)
			r := &txnRun{d: d, records: 3, p: d.producer("shop", "transactional.id=shop",
				"request.timeout.ms=2000", "delivery.timeout.ms=20000")}
			for _, topic := range []string{"orders", "copies"} {
				d.consumer("strict_"+topic, consumerConfig(t, topic, "auto.offset.reset=earliest",
					"isolation.level=read_committed"))
			}
			dice := rand.New(rand.NewPCG(seed, 17))
			for range 5 {
				for range 6 {
					r.transaction(dice.IntN(3) > 0)
				}
				victim := event.NodeID(1 + dice.IntN(3))
				must(t, c.Kill(victim))
				for range 2 {
					r.transaction(dice.IntN(3) > 0)
				}
				must(t, c.Restart(victim))
				d.until("all back", time.Minute, func() bool { return len(c.Ready()) == 0 })
			}
			c.World().RunFor(5 * time.Second)
			r.wholeOrNotAtAll("strict_orders")
			r.wholeOrNotAtAll("strict_copies")
		})
	}
}

// wholeOrNotAtAll holds what a read_committed consumer saw against how the transactions ended.
func (r *txnRun) wholeOrNotAtAll(consumer string) {
	r.d.t.Helper()
	seen := map[string]int{}
	for _, record := range r.d.c.Consumer(consumer).Seen() {
		seen[*record.Value]++
	}
	committed := 0
	for number, how := range r.ended {
		want := 0
		if how == "committed" {
			want = r.records
			committed++
		}
		if got := seen[strconv.Itoa(number)]; got != want {
			r.d.t.Errorf("%s saw %d records of transaction %d, which was %s", consumer, got, number, how)
		}
	}
	if committed < len(r.ended)/4 {
		r.d.t.Errorf("only %d of %d transactions were committed: %s", committed, len(r.ended),
			strings.Join(r.ended, " "))
	}
}

func TestOffsetsOfATransactionAreCommittedWithItOrNotAtAll(t *testing.T) {
	c, _ := start(t, Config{Seed: 3, Latency: time.Millisecond, Settings: groupSettings})
	d := drive(t, c)
	d.ready()
	d.topic("orders", "2", 1, 2, 3)
	d.topic("copies", "2", 2, 3, 1)
	s := &stream{p: d.producer("source")}
	s.send("orders", 10)
	d.until("sent", time.Minute, func() bool { return s.open == 0 })
	config := consumerConfig(t, "orders", "group.id=billing", "auto.offset.reset=earliest",
		"enable.auto.commit=false")
	billing := d.consumer("billing", config)
	r := &txnRun{d: d, records: 1, p: d.producer("shop", "transactional.id=shop")}
	d.until("polled", time.Minute, func() bool { return len(billing.Seen()) == 10 })
	for _, commit := range []bool{false, true} {
		if code := r.call("begin", r.p.Begin); code != 0 {
			t.Fatalf("begin: %v", kerr.ErrorForCode(code))
		}
		code := r.call("offsets", func(done func(client.AdminResult)) {
			r.p.SendOffsets(billing.GroupOffsets(), done)
		})
		if code != 0 {
			t.Fatalf("offsets: %v", kerr.ErrorForCode(code))
		}
		if at, ok := c.Committed("billing", "orders", 0); ok {
			t.Errorf("%d is committed while the transaction is open", at)
		}
		code = r.call("end", func(done func(client.AdminResult)) { r.p.End(commit, done) })
		if code != 0 {
			t.Fatalf("end: %v", kerr.ErrorForCode(code))
		}
		c.World().RunFor(2 * time.Second)
		if at, ok := c.Committed("billing", "orders", 0); ok != commit || ok && at != 10 {
			t.Errorf("commit %v: committed %d, %v", commit, at, ok)
		}
	}
}
