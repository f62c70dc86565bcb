package replica

import (
	"cmp"

	"highwater/cluster/event"
	"highwater/cluster/record"
)

// FetchAPI is the name that both directions carry in events.
const FetchAPI = "Fetch"

// FetchRequest asks a leader for more. Like Kafka's incremental fetch sessions it names only the
// partitions whose position changed since the request before; Epoch 0 begins a session that names
// all.
type FetchRequest struct {
	Replica     event.NodeID
	BrokerEpoch int64
	Session     int64 // chosen by the follower, new with each start or reconnect
	Epoch       int32
	MaxWait     int64 // nanoseconds
	BytesMax    int
	Partitions  []FetchPartition
	Forgotten   []PartitionKey
}

// newFetchRequest has room for partitions. Under load nearly every request has one, and it takes
// one piece of memory.
func newFetchRequest(partitions int) *FetchRequest {
	if partitions > 1 {
		return &FetchRequest{Partitions: make([]FetchPartition, 0, partitions)}
	}
	memory := &struct {
		FetchRequest
		one [1]FetchPartition
	}{}
	memory.Partitions = memory.one[:0]
	return &memory.FetchRequest
}

// PartitionKey names a partition.
type PartitionKey struct {
	Topic string
	Index int32
}

// Compare orders partitions by name.
func (k PartitionKey) Compare(other PartitionKey) int {
	return cmp.Or(cmp.Compare(k.Topic, other.Topic), cmp.Compare(k.Index, other.Index))
}

// FetchPartition is a follower's position in one partition. Offset is its log end: it has
// everything below.
type FetchPartition struct {
	PartitionKey
	TopicID     event.UUID
	LeaderEpoch event.Epoch
	Offset      event.Offset
	LastEpoch   event.Epoch
	LogStart    event.Offset // of the follower's log, by which records count as deleted everywhere
}

// FetchResponse answers with what changed: records, a new high watermark, or an error.
type FetchResponse struct {
	Code       int16 // of the whole request: an unknown session begins anew
	Partitions []FetchedPartition
}

// NewFetchResponse has room for partitions, and for one batch of the only one: under load nearly
// every response is that, and it takes one piece of memory.
func NewFetchResponse(partitions int) *FetchResponse {
	if partitions > 1 {
		return &FetchResponse{Partitions: make([]FetchedPartition, 0, partitions)}
	}
	memory := &struct {
		FetchResponse
		one   [1]FetchedPartition
		batch [1]record.Buffer
	}{}
	memory.one[0].Batches = memory.batch[:0]
	memory.Partitions = memory.one[:0]
	return &memory.FetchResponse
}

// BatchesMemory is where the batches of the next partition may be put.
func (r *FetchResponse) BatchesMemory() []record.Buffer {
	if n := len(r.Partitions); n < cap(r.Partitions) {
		return r.Partitions[:n+1][n].Batches[:0]
	}
	return nil
}

// FetchedPartition is the leader's answer for one partition. The batches are shared, not copied:
// whoever receives the response releases them.
type FetchedPartition struct {
	PartitionKey
	Code           int16
	LeaderEpoch    event.Epoch
	HighWatermark  event.Offset
	LogStartOffset event.Offset
	LogEndOffset   event.Offset // told with OFFSET_OUT_OF_RANGE
	Diverging      bool
	DivergingEpoch event.Epoch
	DivergingEnd   event.Offset
	FirstOffset    event.Offset
	Records        int32
	Batches        []record.Buffer
}

// Describe tells the event of the message what it asks for.
func (r *FetchRequest) Describe(sent *event.MessageSent) {
	sent.Idle = len(r.Partitions) == 0
	if len(r.Partitions) > 0 {
		p := &r.Partitions[0]
		sent.Topic, sent.Partition, sent.Offset = p.Topic, p.Index, p.Offset
	}
}

// Describe tells the event of the message what it carries.
func (r *FetchResponse) Describe(sent *event.MessageSent) {
	sent.Idle = len(r.Partitions) == 0
	if sent.Idle {
		return
	}
	p := &r.Partitions[0]
	sent.Topic, sent.Partition, sent.Offset = p.Topic, p.Index, p.FirstOffset
	sent.HighWatermark = p.HighWatermark
	for i := range r.Partitions {
		sent.Records += r.Partitions[i].Records
		for _, b := range r.Partitions[i].Batches {
			sent.Bytes += int32(len(b.Bytes))
		}
	}
}

// Release gives up the response's references to record bytes.
func (r *FetchResponse) Release() {
	for i := range r.Partitions {
		for _, b := range r.Partitions[i].Batches {
			b.Release()
		}
		r.Partitions[i].Batches = nil
	}
}
