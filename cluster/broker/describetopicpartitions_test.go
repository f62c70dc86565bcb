package broker

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/metadata"
)

func threeTopics() []metadata.Record {
	records := []metadata.Record{registered(brokerID, false)}
	for n, name := range []string{"c", "a", "b"} {
		records = append(records, topic(byte(n), name))
		for index := range int32(3) {
			records = append(records, led(byte(n), index, brokerID))
		}
	}
	return records
}

// walk follows the cursors from the first page to the last.
func walk(p *place, limit int32, names ...string) (seen []string) {
	p.t.Helper()
	request := kmsg.NewPtrDescribeTopicPartitionsRequest()
	request.ResponsePartitionLimit = limit
	for _, name := range names {
		request.Topics = append(request.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: name})
	}
	for range 20 {
		response := ask[*kmsg.DescribeTopicPartitionsResponse](p, 0, request)
		onPage := 0
		for _, topic := range response.Topics {
			if len(topic.Partitions) == 0 {
				p.t.Errorf("limit %d: a page names %s and none of its partitions", limit, *topic.Topic)
			}
			for _, partition := range topic.Partitions {
				seen = append(seen, fmt.Sprintf("%s-%d", *topic.Topic, partition.Partition))
				onPage++
			}
		}
		if onPage > int(limit) {
			p.t.Errorf("a page of %d partitions, the limit is %d", onPage, limit)
		}
		if response.NextCursor == nil {
			return seen
		}
		cursor := kmsg.NewDescribeTopicPartitionsRequestCursor()
		cursor.Topic, cursor.Partition = response.NextCursor.Topic, response.NextCursor.Partition
		request.Cursor = &cursor
	}
	p.t.Fatalf("after 20 pages there is still a next one; seen %v", seen)
	return nil
}

func TestCursorLeadsThroughEveryPartitionOnceInOrder(t *testing.T) {
	p := startBroker(t, threeTopics()...)
	all := []string{"a-0", "a-1", "a-2", "b-0", "b-1", "b-2", "c-0", "c-1", "c-2"}
	for limit := int32(1); limit <= 10; limit++ {
		if got := walk(p, limit); !slices.Equal(got, all) {
			t.Errorf("limit %d: %v", limit, got)
		}
	}
	none := kmsg.NewPtrDescribeTopicPartitionsRequest()
	none.ResponsePartitionLimit = 0
	response := ask[*kmsg.DescribeTopicPartitionsResponse](p, 0, none)
	if len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 {
		t.Errorf("limit 0: %+v, want one partition, so that the cursor moves", response.Topics)
	}
	if got, want := walk(p, 2, "c", "a"), []string{"a-0", "a-1", "a-2", "c-0", "c-1",
		"c-2"}; !slices.Equal(got, want) {
		t.Errorf("two topics: %v, want %v", got, want)
	}
}

func TestDescribeTopicPartitionsTellsOfEligibleLeaderReplicas(t *testing.T) {
	partition := led(1, 0, brokerID, 2, 3)
	partition.Isr = []event.NodeID{brokerID}
	partition.EligibleLeaderReplicas = []event.NodeID{2}
	gone := led(1, 1, 2, 3)
	gone.Isr, gone.Leader = []event.NodeID{}, event.NoNode
	gone.EligibleLeaderReplicas, gone.LastKnownElr = []event.NodeID{3}, []event.NodeID{2}
	p := startBroker(t, registered(brokerID, false), topic(1, "orders"), partition, gone)
	request := kmsg.NewPtrDescribeTopicPartitionsRequest()
	request.ResponsePartitionLimit = 10
	got := ask[*kmsg.DescribeTopicPartitionsResponse](p, 0, request).Topics[0].Partitions
	if !slices.Equal(got[0].EligibleLeaderReplicas, []int32{2}) ||
		!slices.Equal(got[0].ISR, []int32{1}) || got[0].LeaderID != 1 {
		t.Errorf("with a leader: %+v", got[0])
	}
	if !slices.Equal(got[1].EligibleLeaderReplicas, []int32{3}) ||
		!slices.Equal(got[1].LastKnownELR, []int32{2}) || len(got[1].ISR) != 0 ||
		got[1].LeaderID != -1 || got[1].ErrorCode != kerr.LeaderNotAvailable.Code {
		t.Errorf("without a leader: %+v", got[1])
	}
	if !slices.Equal(got[1].OfflineReplicas, []int32{2, 3}) {
		t.Errorf("offline replicas: %v, want 2 and 3", got[1].OfflineReplicas)
	}
}
