package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/event"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

// patience is how long a test waits for what must come.
const patience = 5 * time.Second

// stage is an edge before a live world whose one broker is a function.
type stage struct {
	t       testing.TB
	edge    *Edge
	world   *world.World
	address string
	log     lockedBuffer
	gone    chan event.NodeID
	handle  func(call *world.Call, r *broker.Request)
}

func (s *stage) Deliver(call *world.Call) { s.handle(call, call.Body.(*broker.Request)) }

func (s *stage) Disconnected(connection event.NodeID) { s.gone <- connection }

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start raises a stage; change may set bounds. handle nil answers everything at once.
func start(t testing.TB, handle func(*world.Call, *broker.Request), change func(*Config)) *stage {
	t.Helper()
	s := &stage{t: t, gone: make(chan event.NodeID, 4096), handle: handle}
	if handle == nil {
		s.handle = func(call *world.Call, r *broker.Request) { call.Reply(plainAnswer(r)) }
	}
	s.world = world.New(world.Config{Live: true, PanicThrough: true,
		TurnEnded: func() { s.edge.TurnEnded() }})
	s.world.Add(world.Spec{ID: 1, Role: "broker",
		Start: func(*world.Env) (world.Node, error) { return s, nil }})
	config := Config{World: s.world, Served: allServed(),
		Log: slog.New(slog.NewTextHandler(&s.log, nil))}
	if change != nil {
		change(&config)
	}
	s.edge = New(config)
	if err := s.world.StartNode(1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.world.Run(ctx) })
	var err error
	if s.address, err = s.edge.Listen(1, "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
		s.edge.Close()
	})
	return s
}

// do runs f on the loop.
func (s *stage) do(f func()) {
	s.t.Helper()
	if err := s.world.Do("", f); err != nil {
		s.t.Fatal(err)
	}
}

// plainAnswer is a good answer to any request. It gives its batches back.
func plainAnswer(r *broker.Request) any {
	release(r)
	response := r.Body.ResponseKind()
	if produce, is := r.Body.(*kmsg.ProduceRequest); is {
		if produce.Acks == 0 {
			return world.Nothing{}
		}
		response.(*kmsg.ProduceResponse).ThrottleMillis = produce.TimeoutMillis
	}
	if metadata, is := response.(*kmsg.MetadataResponse); is {
		cluster := r.ClientID
		metadata.ClusterID = &cluster
	}
	return response
}

func allServed() []broker.Range {
	var ranges []broker.Range
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		request := kmsg.RequestForKey(key)
		if request == nil || key >= 4 && key <= 7 {
			continue
		}
		r := broker.Range{Key: key, Max: request.MaxVersion()}
		switch key {
		case 0:
			r.Min = 3
		case 1:
			r.Min = 4
		}
		ranges = append(ranges, r)
	}
	return ranges
}

// client speaks Kafka's protocol over one connection.
type client struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

func (s *stage) connect() *client {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	return newClient(s.t, conn)
}

func newClient(t testing.TB, conn net.Conn) *client {
	t.Helper()
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &client{t: t, conn: conn, in: bufio.NewReader(conn)}
}

func (c *client) write(b []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) send(correlation int32, r kmsg.Request) {
	c.t.Helper()
	c.write(encodeRequest(correlation, r))
}

func encodeRequest(correlation int32, r kmsg.Request) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("tester")).
		AppendRequest(nil, r, correlation)
}

// receive reads one answer: its correlation id and what follows.
func (c *client) receive() (int32, []byte) {
	c.t.Helper()
	var length [4]byte
	if _, err := io.ReadFull(c.in, length[:]); err != nil {
		c.t.Fatalf("waiting for an answer: %v", err)
	}
	frame := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(c.in, frame); err != nil {
		c.t.Fatalf("in an answer: %v", err)
	}
	return int32(binary.BigEndian.Uint32(frame)), frame[4:]
}

// expectClosed waits until the edge has closed the connection.
func (c *client) expectClosed() {
	c.t.Helper()
	n, err := io.Copy(io.Discard, c.in)
	if timeout, is := err.(net.Error); is && timeout.Timeout() {
		c.t.Fatal("the connection was not closed")
	}
	if n > 0 {
		c.t.Fatalf("%d bytes came before the close", n)
	}
}

func metadataRequest(version int16) *kmsg.MetadataRequest {
	r := kmsg.NewPtrMetadataRequest()
	r.Version = version
	return r
}

// expectService makes a request as a good client would.
func (c *client) expectService(correlation int32) {
	c.t.Helper()
	c.send(correlation, metadataRequest(12))
	if got, _ := c.receive(); got != correlation {
		c.t.Fatalf("answer to %d came for %d", got, correlation)
	}
}

func produceRequest(version, acks int16, topic string, batches ...[]byte) *kmsg.ProduceRequest {
	r := kmsg.NewPtrProduceRequest()
	r.Version, r.Acks = version, acks
	row := kmsg.NewProduceRequestTopic()
	row.Topic = topic
	for i, b := range batches {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = int32(i), b
		row.Partitions = append(row.Partitions, p)
	}
	r.Topics = append(r.Topics, row)
	return r
}

func batch(t testing.TB, value string) []byte {
	t.Helper()
	b := record.NewBuilder()
	b.Add(1, []byte("key"), []byte(value))
	out, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func requestOf(body any) *broker.Request { return body.(*broker.Request) }
