package broker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/replica"
)

const otherID event.NodeID = 2

// copied starts a broker that leads "orders" with a follower that the test plays, and writes three
// records that the follower has.
func copied(t *testing.T) *place {
	t.Helper()
	p := startBroker(t, registered(brokerID, false), registered(otherID, false),
		topic(1, "orders"), led(1, 0, brokerID, otherID))
	p.write(-1, p.now(), p.now(), p.now())
	p.follow(0, 3, 0)
	if hw := p.broker().Partition("orders", 0).HighWatermark(); hw != 3 {
		t.Fatalf("the high watermark is %d", hw)
	}
	return p
}

// follow sends a follower's fetch that says where its log begins and ends.
func (p *place) follow(epoch int32, end, start event.Offset) {
	p.t.Helper()
	answered := false
	p.client.Request(brokerID, replica.FetchAPI, &replica.FetchRequest{Replica: otherID, Session: 9,
		Epoch: epoch, MaxWait: int64(time.Millisecond), BytesMax: 1 << 20,
		Partitions: []replica.FetchPartition{{
			PartitionKey: replica.PartitionKey{Topic: "orders"}, TopicID: topicID(1),
			LeaderEpoch: 3, Offset: end, LastEpoch: 3, LogStart: start}}},
		time.Minute, func(body any, _ error) {
			if r, ok := body.(*replica.FetchResponse); ok {
				r.Release()
			}
			answered = true
		})
	p.until("the follower is answered", func() bool { return answered })
}

func deletion(offset int64, timeout time.Duration) *kmsg.DeleteRecordsRequest {
	body := kmsg.NewPtrDeleteRecordsRequest()
	body.TimeoutMillis = int32(timeout / time.Millisecond)
	body.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "orders",
		Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: 0, Offset: offset}}}}
	return body
}

func deleted(answer any) kmsg.DeleteRecordsResponseTopicPartition {
	return answer.(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
}

func TestDeleteRecordsIsAnsweredWhenTheFollowerHasDeletedToo(t *testing.T) {
	p := copied(t)
	answer := p.send(2, deletion(2, time.Minute))
	p.until("deleted on the leader", func() bool {
		return p.broker().Partition("orders", 0).Log.LogStartOffset() == 2
	})
	p.follow(1, 3, 0)
	p.world.RunFor(time.Second)
	if *answer != nil {
		t.Fatalf("answered %+v before the follower deleted anything", deleted(*answer))
	}
	p.follow(2, 3, 2)
	p.until("answered", func() bool { return *answer != nil })
	if got := deleted(*answer); got.ErrorCode != 0 || got.LowWatermark != 2 {
		t.Errorf("answered %+v", got)
	}
}

func TestDeleteRecordsDoesNotWaitForAFencedFollower(t *testing.T) {
	p := copied(t)
	answer := p.send(2, deletion(-1, time.Minute))
	p.until("deleted on the leader", func() bool {
		return p.broker().Partition("orders", 0).Log.LogStartOffset() == 3
	})
	p.commit(&metadata.BrokerRegistrationChangeRecord{BrokerID: otherID, Fenced: 1})
	p.until("answered", func() bool { return *answer != nil })
	if got := deleted(*answer); got.ErrorCode != 0 || got.LowWatermark != 3 {
		t.Errorf("answered %+v", got)
	}
}

func TestDeleteRecordsTimesOutBehindASilentFollower(t *testing.T) {
	p := copied(t)
	answer := ask[*kmsg.DeleteRecordsResponse](p, 2, deletion(1, time.Second))
	if got := deleted(answer); got.ErrorCode != kerr.RequestTimedOut.Code || got.LowWatermark != -1 {
		t.Errorf("answered %+v", got)
	}
}

func TestDeleteRecordsRefusesOffsetsAboveTheHighWatermark(t *testing.T) {
	p := copied(t)
	for _, offset := range []int64{4, -2} {
		got := deleted(ask[*kmsg.DeleteRecordsResponse](p, 2, deletion(offset, time.Second)))
		if got.ErrorCode != kerr.OffsetOutOfRange.Code || got.LowWatermark != -1 {
			t.Errorf("to %d: answered %+v", offset, got)
		}
	}
	if start := p.broker().Partition("orders", 0).Log.LogStartOffset(); start != 0 {
		t.Errorf("the log starts at %d", start)
	}
}

func TestDeleteRecordsOfACompactedTopicIsAgainstItsPolicy(t *testing.T) {
	p := orders(t, "cleanup.policy", "compact")
	got := deleted(ask[*kmsg.DeleteRecordsResponse](p, 2, deletion(-1, time.Second)))
	if got.ErrorCode != kerr.PolicyViolation.Code {
		t.Errorf("answered %+v", got)
	}
}
