package wire

import (
	"encoding/binary"
	"io"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/world"
)

// BenchmarkProduceOneRecord counts what one produce of one record costs, from the socket to the
// socket, 16 of them pipelined, through a world whose broker answers at once. Three allocations are
// the broker's answer.
func BenchmarkProduceOneRecord(b *testing.B) {
	produceBench(b, 16)
}

// BenchmarkProduceOneRecordAlone is the same with one in flight.
func BenchmarkProduceOneRecordAlone(b *testing.B) {
	produceBench(b, 1)
}

// TestProduceOfOneRecordAllocatesAtMostTenTimes holds the edge, the world and the answer together.
func TestProduceOfOneRecordAllocatesAtMostTenTimes(t *testing.T) {
	result := testing.Benchmark(BenchmarkProduceOneRecord)
	if got := result.AllocsPerOp(); got > 10 {
		t.Errorf("%d allocations", got)
	}
}

func produceBench(b *testing.B, pipelined int) {
	s := start(b, func(call *world.Call, r *broker.Request) { call.Reply(produceAnswer(r)) }, nil)
	conn := s.connect().conn
	if err := conn.SetDeadline(time.Time{}); err != nil {
		b.Fatal(err)
	}
	var frames []byte
	for i := range pipelined {
		frames = append(frames, encodeRequest(int32(i),
			produceRequest(9, -1, "orders", batch(b, "a value of some length")))...)
	}
	in := make([]byte, 4096)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if n%pipelined > 0 {
			continue // counted one by one, sent together
		}
		if _, err := conn.Write(frames); err != nil {
			b.Fatal(err)
		}
		for range pipelined {
			if _, err := io.ReadFull(conn, in[:4]); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(conn, in[:binary.BigEndian.Uint32(in)]); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// produceAnswer is what a broker allocates for an answer.
func produceAnswer(r *broker.Request) kmsg.Response {
	release(r)
	body := r.Body.(*kmsg.ProduceRequest)
	response := kmsg.NewPtrProduceResponse()
	response.Topics = make([]kmsg.ProduceResponseTopic, len(body.Topics))
	for i := range body.Topics {
		out := &response.Topics[i]
		out.Topic = body.Topics[i].Topic
		out.Partitions = make([]kmsg.ProduceResponseTopicPartition, len(body.Topics[i].Partitions))
		for j := range out.Partitions {
			out.Partitions[j] = kmsg.NewProduceResponseTopicPartition()
		}
	}
	return response
}
