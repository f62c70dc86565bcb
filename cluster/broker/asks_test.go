package broker

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// asking is one fetch: where it begins in partitions of "orders", and of which it forgets.
type asking struct {
	session, epoch int32
	at             [][2]int64 // partition and offset
	forgotten      []int32
}

// asksFor sends a fetch and returns its session and what events told of it beside its request.
func (p *place) asksFor(a asking) (session int32, told []string) {
	p.t.Helper()
	body := kmsg.NewPtrFetchRequest()
	body.Version, body.MaxBytes = 12, 1<<20
	body.SessionID, body.SessionEpoch = a.session, a.epoch
	t := kmsg.NewFetchRequestTopic()
	t.Topic = "orders"
	for _, at := range a.at {
		row := kmsg.NewFetchRequestTopicPartition()
		row.Partition, row.FetchOffset, row.PartitionMaxBytes = int32(at[0]), at[1], 1<<20
		t.Partitions = append(t.Partitions, row)
	}
	if len(a.at) > 0 {
		body.Topics = []kmsg.FetchRequestTopic{t}
	}
	if len(a.forgotten) > 0 {
		body.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{
			{Topic: "orders", Partitions: a.forgotten}}
	}
	before := len(p.events.asks)
	answer := p.send(12, body)
	p.until("fetched", func() bool { return *answer != nil })
	fetched := (*answer).(*FetchAnswer)
	if code := fetched.Response.ErrorCode; code != 0 {
		p.t.Fatalf("code %d", code)
	}
	return fetched.Response.SessionID, p.events.asks[before:]
}

func TestEventsTellEachPartitionThatAFetchAsksForOnce(t *testing.T) {
	p := startBroker(t, registered(brokerID, false), topic(1, "orders"), led(1, 0, brokerID),
		led(1, 1, brokerID), led(1, 2, brokerID))
	alone := func(at ...[2]int64) asking { return asking{epoch: -1, at: at} }
	session := int32(0)
	for _, c := range []struct {
		what string
		a    asking
		want []string
	}{
		{"one partition, which the request tells", alone([2]int64{0, 0}), nil},
		{"three", alone([2]int64{0, 0}, [2]int64{1, 0}, [2]int64{2, 0}),
			[]string{"orders-1@0", "orders-2@0"}},
		{"the same again", alone([2]int64{0, 0}, [2]int64{1, 0}, [2]int64{2, 0}), nil},
		{"another order", alone([2]int64{2, 0}, [2]int64{0, 0}), []string{"not orders-1"}},
		{"a session begins", asking{at: [][2]int64{{0, 0}, {1, 0}}},
			[]string{"orders-1@0", "not orders-2"}},
		{"nothing new in it", asking{epoch: 1}, nil},
		{"a partition more", asking{epoch: 2, at: [][2]int64{{1, 0}, {2, 0}}},
			[]string{"orders-2@0"}},
		{"one less", asking{epoch: 3, forgotten: []int32{0}}, []string{"not orders-0"}},
		{"no session any more", alone([2]int64{1, 0}), []string{"not orders-2"}},
	} {
		if c.a.epoch > 0 {
			c.a.session = session
		}
		got, told := p.asksFor(c.a)
		session = got
		if !slices.Equal(told, c.want) {
			t.Errorf("%s: told %v, want %v", c.what, told, c.want)
		}
	}
}
