package cluster

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/record"
)

// A request sees what those before it on its connection did, also when it was sent before they were
// answered.
func TestRequestsOfAConnectionSeeOneAnother(t *testing.T) {
	l := startLive(t, Config{Seed: 3, Origin: time.Now()})
	l.topic(within(t, 30*time.Second), "orders", 1)
	conn, err := net.Dial("tcp", l.c.Addresses()[l.leaderOf("orders", 0)])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // read to its end
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		batch := record.NewBuilder()
		batch.Add(time.Now().UnixMilli(), nil, []byte("x"))
		bytes, err := batch.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		produce := kmsg.NewPtrProduceRequest()
		produce.Version, produce.Acks, produce.TimeoutMillis = 9, -1, 30_000
		written := kmsg.NewProduceRequestTopic()
		written.Topic = "orders"
		row := kmsg.NewProduceRequestTopicPartition()
		row.Records = bytes
		written.Partitions = append(written.Partitions, row)
		produce.Topics = append(produce.Topics, written)

		list := kmsg.NewPtrListOffsetsRequest()
		list.Version, list.ReplicaID = 7, -1
		asked := kmsg.NewListOffsetsRequestTopic()
		asked.Topic = "orders"
		latest := kmsg.NewListOffsetsRequestTopicPartition()
		latest.Timestamp = -1
		asked.Partitions = append(asked.Partitions, latest)
		list.Topics = append(list.Topics, asked)

		format := kmsg.NewRequestFormatter(kmsg.FormatterClientID("order"))
		both := append(format.AppendRequest(nil, produce, 1), format.AppendRequest(nil, list, 2)...)
		if _, err := conn.Write(both); err != nil {
			t.Fatal(err)
		}
		readAnswer(t, conn, produce.ResponseKind(), true)
		answer := list.ResponseKind().(*kmsg.ListOffsetsResponse)
		readAnswer(t, conn, answer, answer.IsFlexible())
		if got := answer.Topics[0].Partitions[0].Offset; got != int64(i+1) {
			t.Fatalf("behind record %d the log ends at %d", i, got)
		}
	}
}

// readAnswer reads one response.
func readAnswer(t *testing.T, from io.Reader, into kmsg.Response, flexible bool) {
	t.Helper()
	head := make([]byte, 4)
	if _, err := io.ReadFull(from, head); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint32(head))
	if _, err := io.ReadFull(from, body); err != nil {
		t.Fatal(err)
	}
	body = body[4:] // the correlation id
	if flexible {
		body = body[1:]
	}
	if err := into.ReadFrom(body); err != nil {
		t.Fatal(err)
	}
}
