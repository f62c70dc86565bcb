package broker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetched sends a fetch of "orders" from these offsets of partition 0.
func (p *place) fetched(version int16, offsets ...int64) []kmsg.FetchResponseTopicPartition {
	p.t.Helper()
	body := kmsg.NewPtrFetchRequest()
	body.Version, body.MaxBytes, body.SessionEpoch = version, 1<<20, -1
	rows := make([]kmsg.FetchRequestTopicPartition, len(offsets))
	for i, offset := range offsets {
		rows[i] = kmsg.NewFetchRequestTopicPartition()
		rows[i].FetchOffset, rows[i].PartitionMaxBytes = offset, 1<<20
	}
	body.Topics = []kmsg.FetchRequestTopic{{Topic: "orders", Partitions: rows}}
	var answer any
	p.client.Request(brokerID, "Fetch", &Request{Key: 1, Version: version, Body: body},
		time.Minute, func(body any, _ error) { answer = body })
	p.until("fetched", func() bool { return answer != nil })
	fetched := answer.(*FetchAnswer)
	for i := range fetched.Records {
		fetched.Records[i].Release()
	}
	return fetched.Response.Topics[0].Partitions
}

func TestConsumerMayReadFromAFollowerFromVersion11On(t *testing.T) {
	p := startBroker(t, registered(brokerID, false), registered(otherID, false),
		topic(1, "orders"), led(1, 0, otherID, brokerID))
	if got := p.fetched(10, 0)[0].ErrorCode; got != kerr.NotLeaderForPartition.Code {
		t.Errorf("version 10: code %d", got)
	}
	if got := p.fetched(11, 0)[0]; got.ErrorCode != 0 || got.HighWatermark != 0 {
		t.Errorf("version 11: %+v", got)
	}
}

func TestOfAPartitionFetchedTwiceTheLastOffsetCounts(t *testing.T) {
	p := orders(t)
	p.write(-1, p.now())
	for _, times := range []int{2, wantedComparedMax + 3} {
		offsets := make([]int64, times)
		offsets[times-1] = 99
		rows := p.fetched(12, offsets...)
		if len(rows) != 1 || rows[0].ErrorCode != kerr.OffsetOutOfRange.Code {
			t.Errorf("%d times: answered %+v", times, rows)
		}
	}
}
