package broker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/record"
)

// write produces one record a timestamp, all in one batch, acknowledged by the leader alone.
func (p *place) write(producerID int64, timestamps ...int64) {
	p.t.Helper()
	builder := record.NewBuilder()
	if producerID >= 0 {
		builder.ProducerID, builder.ProducerEpoch, builder.BaseSequence = producerID, 7, 0
	}
	for _, ms := range timestamps {
		builder.Add(ms, nil, []byte("value"))
	}
	bytes, err := builder.Bytes()
	if err != nil {
		p.t.Fatal(err)
	}
	facts, bad := record.Validate(bytes, record.Validation{BatchBytesMax: 1 << 20})
	if bad != nil {
		p.t.Fatal(bad)
	}
	body := kmsg.NewPtrProduceRequest()
	body.Version, body.Acks = 9, 1
	body.Topics = []kmsg.ProduceRequestTopic{{Topic: "orders",
		Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: 0}}}}
	var answer any
	p.client.Request(brokerID, "Produce", &Request{Key: 0, Version: 9, Body: body,
		Batches: []Batch{{Buffer: record.Buffer{Bytes: bytes}, Facts: facts}}}, time.Minute,
		func(body any, _ error) { answer = body })
	p.until("produced", func() bool { return answer != nil })
	written := answer.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	if written.ErrorCode != 0 {
		p.t.Fatalf("produce: %+v", written)
	}
}

func (p *place) offset(version int16, timestamp int64) kmsg.ListOffsetsResponseTopicPartition {
	p.t.Helper()
	return p.offsetIn(version, timestamp, -1)
}

func (p *place) offsetIn(version int16, timestamp int64, epoch int32) (
	answer kmsg.ListOffsetsResponseTopicPartition) {
	p.t.Helper()
	asked := kmsg.NewListOffsetsRequestTopicPartition()
	asked.Timestamp, asked.CurrentLeaderEpoch = timestamp, epoch
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID = -1
	request.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: "orders",
		Partitions: []kmsg.ListOffsetsRequestTopicPartition{asked}}}
	return ask[*kmsg.ListOffsetsResponse](p, version, request).Topics[0].Partitions[0]
}

func TestListOffsetsFindsPositionsAndTimes(t *testing.T) {
	p := startBroker(t, registered(brokerID, false), topic(1, "orders"), led(1, 0, brokerID))
	p.write(-1, 1000, 3000)
	p.write(-1, 2000)
	for _, c := range []struct {
		name              string
		ask               int64
		offset, timestamp int64
		epoch             int32
	}{
		{"latest", -1, 3, -1, 3},
		{"earliest", -2, 0, -1, 3},
		{"largest timestamp", -3, 1, 3000, 3},
		{"earliest local", -4, 0, -1, 3},
		{"latest tiered", -5, -1, -1, -1},
		{"earliest to be tiered", -6, -1, -1, -1},
		{"before all", 1, 0, 1000, 3},
		{"exactly the second", 3000, 1, 3000, 3},
		{"between", 1500, 1, 3000, 3},
		{"after all", 3001, -1, -1, -1},
	} {
		got := p.offset(11, c.ask)
		if got.ErrorCode != 0 || got.Offset != c.offset || got.Timestamp != c.timestamp ||
			got.LeaderEpoch != c.epoch {
			t.Errorf("%s: code %d, offset %d, timestamp %d, epoch %d; want %d, %d, %d", c.name,
				got.ErrorCode, got.Offset, got.Timestamp, got.LeaderEpoch, c.offset, c.timestamp, c.epoch)
		}
	}
}

func TestListOffsetsNamesNothingAboveTheHighWatermark(t *testing.T) {
	p := startBroker(t, registered(brokerID, false), registered(2, false), topic(1, "orders"),
		led(1, 0, brokerID, 2))
	p.write(-1, 1000, 3000) // broker 2 never fetches them
	if got := p.offset(7, -1); got.Offset != 0 {
		t.Errorf("latest: %d, want the high watermark 0", got.Offset)
	}
	if got := p.offset(7, 1000); got.Offset != -1 {
		t.Errorf("by time: %d, want -1: the record is not committed", got.Offset)
	}
	if got := p.offset(7, -3); got.Offset != -1 {
		t.Errorf("largest timestamp: %d, want -1: the record is not committed", got.Offset)
	}
}

// electedAgain is a leader of epoch 5 whose high watermark has not reached where that began.
func electedAgain(t *testing.T) *place {
	p := startBroker(t, registered(brokerID, false), registered(2, false), topic(1, "orders"),
		led(1, 0, brokerID, 2))
	p.write(-1, 1000, 3000)
	away := metadata.NewPartitionChangeRecord(topicID(1), 0)
	away.Leader = 2
	back := metadata.NewPartitionChangeRecord(topicID(1), 0)
	back.Leader = brokerID
	p.commit(away, back)
	if h := p.broker().held("orders", 0); h.LeaderEpoch() != 5 || h.HighWatermark() >= h.EpochStart() {
		t.Fatalf("epoch %d from %d on, high watermark %d", h.LeaderEpoch(), h.EpochStart(),
			h.HighWatermark())
	}
	return p
}

// A new leader's high watermark may be behind the one that clients have seen: naming it would let
// them see it move back.
func TestLatestIsNotAvailableUntilTheNewLeadersHighWatermarkReachesItsEpoch(t *testing.T) {
	p := electedAgain(t)
	if got := p.offset(7, -1); got.ErrorCode != kerr.OffsetNotAvailable.Code || got.Offset != -1 {
		t.Errorf("latest: code %d, offset %d, want OFFSET_NOT_AVAILABLE", got.ErrorCode, got.Offset)
	}
	if got := p.offset(7, 1000); got.ErrorCode != kerr.OffsetNotAvailable.Code {
		t.Errorf("by time: code %d, want OFFSET_NOT_AVAILABLE", got.ErrorCode)
	}
	if got := p.offset(7, -3); got.ErrorCode != kerr.OffsetNotAvailable.Code {
		t.Errorf("largest timestamp: code %d, want OFFSET_NOT_AVAILABLE", got.ErrorCode)
	}
	if got := p.offset(4, -1); got.ErrorCode != kerr.LeaderNotAvailable.Code {
		t.Errorf("latest in version 4: code %d, want LEADER_NOT_AVAILABLE", got.ErrorCode)
	}
	if got := p.offset(7, -2); got.ErrorCode != 0 || got.Offset != 0 {
		t.Errorf("earliest: code %d, offset %d, want 0", got.ErrorCode, got.Offset)
	}
}

func TestListOffsetsChecksTheClientsEpoch(t *testing.T) {
	p := startBroker(t, registered(brokerID, false), topic(1, "orders"), led(1, 0, brokerID))
	for epoch, want := range map[int32]int16{-1: 0, 2: kerr.FencedLeaderEpoch.Code, 3: 0,
		4: kerr.UnknownLeaderEpoch.Code} {
		if got := p.offsetIn(7, -1, epoch); got.ErrorCode != want {
			t.Errorf("epoch %d: code %d, want %d", epoch, got.ErrorCode, want)
		}
	}
}

func TestOffsetForLeaderEpochNamesWhereAnEpochEnded(t *testing.T) {
	p := electedAgain(t)
	p.write(-1, 4000)
	end := func(epoch, current int32) kmsg.OffsetForLeaderEpochResponseTopicPartition {
		asked := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		asked.LeaderEpoch, asked.CurrentLeaderEpoch = epoch, current
		request := kmsg.NewPtrOffsetForLeaderEpochRequest()
		request.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: "orders",
			Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{asked}}}
		return ask[*kmsg.OffsetForLeaderEpochResponse](p, 4, request).Topics[0].Partitions[0]
	}
	for _, c := range []struct {
		name           string
		epoch, current int32
		code           int16
		found          int32
		end            int64
	}{
		{"the first epoch", 3, 5, 0, 3, 2},
		{"an epoch without records", 4, 5, 0, 3, 2},
		{"the current epoch", 5, -1, 0, 5, 3},
		{"an epoch to come", 6, 5, 0, -1, -1},
		{"a client that is behind", 3, 4, kerr.FencedLeaderEpoch.Code, -1, -1},
		{"a client that is ahead", 3, 6, kerr.UnknownLeaderEpoch.Code, -1, -1},
	} {
		got := end(c.epoch, c.current)
		if got.ErrorCode != c.code || got.LeaderEpoch != c.found || got.EndOffset != c.end {
			t.Errorf("%s: code %d, epoch %d ends at %d; want %d, %d, %d", c.name, got.ErrorCode,
				got.LeaderEpoch, got.EndOffset, c.code, c.found, c.end)
		}
	}
}

func TestDescribeProducersTellsEpochAndLastSequence(t *testing.T) {
	p := startBroker(t, registered(brokerID, false), registered(2, false), topic(1, "orders"),
		led(1, 0, brokerID))
	p.write(42, 1000, 3000)
	request := kmsg.NewPtrDescribeProducersRequest()
	request.Topics = []kmsg.DescribeProducersRequestTopic{
		{Topic: "orders", Partitions: []int32{0, 8}}, {Topic: "nothing", Partitions: []int32{0}}}
	topics := ask[*kmsg.DescribeProducersResponse](p, 0, request).Topics
	producers := topics[0].Partitions[0].ActiveProducers
	if len(producers) != 1 || producers[0].ProducerID != 42 || producers[0].ProducerEpoch != 7 ||
		producers[0].LastSequence != 1 || producers[0].CurrentTxnStartOffset != -1 {
		t.Errorf("producers: %+v", producers)
	}
	for _, partition := range []kmsg.DescribeProducersResponseTopicPartition{
		topics[0].Partitions[1], topics[1].Partitions[0]} {
		if partition.ErrorCode != kerr.UnknownTopicOrPartition.Code {
			t.Errorf("code %d, want UNKNOWN_TOPIC_OR_PARTITION", partition.ErrorCode)
		}
	}
}

func TestDescribeClusterShowsFencedBrokersOnlyToWhoAsks(t *testing.T) {
	p := startBroker(t, registered(3, true), registered(2, false), registered(brokerID, false))
	for _, fenced := range []bool{false, true} {
		request := kmsg.NewPtrDescribeClusterRequest()
		request.EndpointType, request.IncludeFencedBrokers = 1, fenced
		response := ask[*kmsg.DescribeClusterResponse](p, 2, request)
		want := 2
		if fenced {
			want = 3
		}
		if len(response.Brokers) != want || response.ClusterID != testClusterID ||
			response.ControllerID != 1 {
			t.Errorf("fenced wanted: %v: %+v", fenced, response)
		}
		for i, broker := range response.Brokers {
			if event.NodeID(broker.NodeID) != event.NodeID(i+1) || broker.IsFenced != (i == 2) {
				t.Errorf("broker %d: %+v", i+1, broker)
			}
		}
	}
	request := kmsg.NewPtrDescribeClusterRequest()
	request.EndpointType = 2
	if got := ask[*kmsg.DescribeClusterResponse](p, 1, request).ErrorCode; got !=
		kerr.MismatchedEndpointType.Code {
		t.Errorf("controllers' endpoints: code %d, want MISMATCHED_ENDPOINT_TYPE", got)
	}
	request.EndpointType = -1
	if got := ask[*kmsg.DescribeClusterResponse](p, 1, request).ErrorCode; got !=
		kerr.UnsupportedEndpointType.Code {
		t.Errorf("no endpoints: code %d, want UNSUPPORTED_ENDPOINT_TYPE", got)
	}
}
