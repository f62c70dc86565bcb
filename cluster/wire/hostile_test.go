package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

// quick bounds the timeouts of a stage, so that tests of them end soon.
func quick(c *Config) {
	c.FirstFrameTimeout, c.FrameTimeout = 200*time.Millisecond, 200*time.Millisecond
}

func withLength(length uint32, rest ...byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, length), rest...)
}

func requestHead(key, version int16) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	return append(b, 0, 0, 0, 1, 0xff, 0xff)
}

// hugeArray is a Metadata v9 whose topics are many more than its bytes.
func hugeArray() []byte {
	body := append(requestHead(3, 9), 0)
	body = binary.AppendUvarint(body, 1<<30)
	return append(withLength(uint32(len(body))), body...)
}

// nullArray is a Produce v3 without its topics.
func nullArray() []byte {
	body := append(requestHead(0, 3), 0xff, 0xff) // no transactional id
	body = append(body, 0, 1, 0, 0, 0, 9)
	body = append(body, 0xff, 0xff, 0xff, 0xff)
	return append(withLength(uint32(len(body))), body...)
}

func TestHostileClientsAreRefusedAtOnceAndGoodOnesServed(t *testing.T) {
	unknown := requestHead(777, 0)
	old := requestHead(0, 2)
	cases := []struct {
		name string
		sent []byte
		log  string
	}{
		{"http get", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
			"an HTTP request reached the Kafka port of broker 1"},
		{"http post", []byte("POST /produce HTTP/1.1\r\n\r\n"), "an HTTP request"},
		{"tls", []byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, "a TLS hello"},
		{"length -1", withLength(0xffffffff), "negative length -1"},
		{"a frame of length 0", withLength(0), "length 0"},
		{"length 3", withLength(3, 1, 2, 3), "length 3"},
		{"length 2^31-1", withLength(1<<31 - 1), "2147483647 bytes"},
		{"unknown key", append(withLength(uint32(len(unknown))), unknown...), "API key 777"},
		{"old version", append(withLength(uint32(len(old))), old...), "Produce version 2"},
		{"huge array", hugeArray(), "counts more elements"},
		{"null array", nullArray(), "has null for an array"},
		{"short header", withLength(9, 0, 3, 0, 9, 0, 0, 0, 1, 0), "ends too early"},
		{"half a length", []byte{0, 0}, "no request came"},
		{"silence", nil, "no request came"},
		{"half a frame", withLength(100, requestHead(3, 9)...), "did not arrive whole"},
	}
	s := start(t, nil, quick)
	good := s.connect()
	good.expectService(0)
	for i, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			bad := s.connect()
			bad.t = t
			began := time.Now()
			if len(test.sent) > 0 {
				bad.write(test.sent)
			}
			good.expectService(int32(i) + 1)
			_, err := io.Copy(io.Discard, bad.in)
			if err != nil && !errors.Is(err, syscall.ECONNRESET) {
				t.Fatalf("the connection was not closed: %v", err)
			}
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("it took %v", took)
			}
			if !strings.Contains(s.log.String(), test.log) {
				t.Errorf("the log does not name %q:\n%s", test.log, s.log.String())
			}
		})
	}
	good.expectService(1000)
}

func TestRefusedLengthsAllocateLittle(t *testing.T) {
	s := start(t, nil, nil)
	s.connect().expectService(1)
	for _, sent := range [][]byte{
		withLength(1<<31 - 1), withLength(0xffffffff), []byte("GET / HTTP/1.1\r\n\r\n"),
	} {
		c := s.connect()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c.write(sent)
		<-s.gone
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 64<<10 {
			t.Errorf("%q made the process allocate %d bytes", sent[:4], got)
		}
	}
}

func TestClaimedFrameTakesMemoryOnlyAsItComes(t *testing.T) {
	s := start(t, nil, nil)
	s.connect().expectService(1)
	before, _ := s.edge.pool.Stats()
	c := s.connect()
	c.write(withLength(90<<20, requestHead(3, 9)...))
	for s.edge.InFlightBytes() == 0 { // until the claim was seen
		runtime.Gosched()
	}
	if after, _ := s.edge.pool.Stats(); after-before > 128<<10 {
		t.Errorf("a claim of 90 MiB took %d bytes", after-before)
	}
	c.conn.Close()
	<-s.gone
	if n := s.edge.InFlightBytes(); n != 0 {
		t.Errorf("%d bytes stay reserved", n)
	}
}

func TestIdleConnectionsDoNotDisturbAndAreClosed(t *testing.T) {
	s := start(t, nil, func(c *Config) { c.IdleTimeout = time.Second })
	good := s.connect()
	var idle []*client
	for range 500 {
		idle = append(idle, s.connect())
	}
	for i, c := range idle {
		c.expectService(int32(i))
	}
	for i := range int32(100) {
		good.expectService(i)
	}
	for _, c := range idle {
		c.expectClosed()
	}
	if !strings.Contains(s.log.String(), "idle for") {
		t.Errorf("the log does not say why: %s", s.log.String())
	}
}

func TestWaitingForAnAnswerIsNotBeingIdle(t *testing.T) {
	calls := make(chan *world.Call, 1)
	s := start(t, func(call *world.Call, r *broker.Request) { calls <- call },
		func(c *Config) { c.IdleTimeout = 50 * time.Millisecond })
	c := s.connect()
	c.send(1, metadataRequest(9))
	call := <-calls
	select {
	case <-s.gone:
		t.Fatal("a client that waits was closed as idle")
	case <-time.After(200 * time.Millisecond):
	}
	s.do(func() { call.Reply(plainAnswer(call.Body.(*broker.Request))) })
	if got, _ := c.receive(); got != 1 {
		t.Errorf("answer to %d", got)
	}
}

func TestReadingStopsWhileTooMuchIsInFlight(t *testing.T) {
	var held []*world.Call
	arrived := make(chan struct{}, 100)
	s := start(t, func(call *world.Call, r *broker.Request) {
		held = append(held, call)
		arrived <- struct{}{}
	}, func(c *Config) { c.InFlightBytesMax = 1 << 20 })
	payload := bytes.Repeat([]byte{1}, 300<<10)
	big := encodeRequest(1, produceRequest(9, 1, "orders", payload))
	sent := make(chan error, 1)
	c := s.connect()
	go func() {
		for range 8 {
			if _, err := c.conn.Write(big); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	<-arrived
	if n := s.edge.InFlightBytes(); n > 1<<20 {
		t.Errorf("%d bytes in flight, 1 MiB is allowed", n)
	}
	for i := range 8 {
		s.do(func() {
			for _, call := range held {
				call.Reply(plainAnswer(call.Body.(*broker.Request)))
			}
			held = nil
		})
		if c.receive(); i < 7 {
			<-arrived
		}
		if n := s.edge.InFlightBytes(); n > 1<<20 {
			t.Errorf("%d bytes in flight, 1 MiB is allowed", n)
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

func claims(b *budget) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.claims)
}

// What a frame's length promises takes nothing from others: only what has come does.
func TestAnnouncedFramesKeepNobodyWaiting(t *testing.T) {
	s := start(t, func(call *world.Call, r *broker.Request) { call.Reply(plainAnswer(r)) },
		func(c *Config) { c.InFlightBytesMax = 1 << 20 })
	for n := range 3 {
		stalled := s.connect()
		stalled.send(1, metadataRequest(9))
		stalled.receive()
		frame := encodeRequest(2, produceRequest(9, 1, "orders", bytes.Repeat([]byte{1}, 500<<10)))
		if _, err := stalled.conn.Write(frame[:100]); err != nil {
			t.Fatal(err)
		}
		for claims(s.edge.inFlight) <= n {
			runtime.Gosched()
		}
	}
	c := s.connect()
	c.send(3, produceRequest(9, 1, "orders", bytes.Repeat([]byte{1}, 300<<10)))
	if got, _ := c.receive(); got != 3 {
		t.Errorf("answer to %d", got)
	}
}

// Frames that all came half do not wait for each other, though together they are too much.
func TestHalfFramesBecomeWholeOneAfterAnother(t *testing.T) {
	s := start(t, func(call *world.Call, r *broker.Request) { call.Reply(plainAnswer(r)) },
		func(c *Config) { c.InFlightBytesMax = 1 << 20 })
	frame := encodeRequest(2, produceRequest(9, 1, "orders", bytes.Repeat([]byte{1}, 480<<10)))
	var clients []*client
	for range 6 {
		c := s.connect()
		if _, err := c.conn.Write(frame[:150<<10]); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	var wait sync.WaitGroup
	for _, c := range clients {
		wait.Go(func() {
			if _, err := c.conn.Write(frame[150<<10:]); err != nil {
				t.Error(err)
			}
		})
	}
	for i, c := range clients {
		if got, _ := c.receive(); got != 2 {
			t.Errorf("client %d: answer to %d", i, got)
		}
	}
	wait.Wait()
	if n := s.edge.inFlight.inUse(); n != 0 {
		t.Errorf("%d bytes are still counted", n)
	}
}

// TestFramesOfAllSizesArriveWhole splits a stream in odd places, so that half frames move between
// slabs.
func TestFramesOfAllSizesArriveWhole(t *testing.T) {
	sums := make(chan int, 100)
	var kept []record.Buffer // so that slabs stay in use, as a log's tail keeps them
	s := start(t, func(call *world.Call, r *broker.Request) {
		b := r.Batches[0].Buffer
		if b.Slab == nil || len(b.Bytes) > 0 && bytes.Count(b.Bytes, b.Bytes[:1]) != len(b.Bytes) {
			t.Error("a frame's bytes are mixed up")
		}
		sums <- len(b.Bytes)
		b.Retain()
		kept = append(kept, b)
		if len(kept) > 5 {
			kept[0].Release()
			kept = kept[1:]
		}
		call.Reply(plainAnswer(r))
	}, nil)
	sizes := []int{0, 1, 100, 16 << 10, 5, 15 << 10, 70 << 10, 1 << 20, 3 << 20, 3 << 20, 10,
		300 << 10, 17 << 10, 1, 2 << 20, 64 << 10}
	var stream []byte
	for i, size := range sizes {
		body := bytes.Repeat([]byte{byte(i)}, size)
		stream = append(stream, encodeRequest(int32(i), produceRequest(9, 1, "o", body))...)
	}
	c := s.connect()
	go func() {
		for n := 1; len(stream) > 0; n = (n*7 + 3) % 50_000 {
			if _, err := c.conn.Write(stream[:min(n, len(stream))]); err != nil {
				return
			}
			stream = stream[min(n, len(stream)):]
		}
	}()
	for i, size := range sizes {
		if got, _ := c.receive(); got != int32(i) {
			t.Fatalf("answer %d came for %d", i, got)
		}
		if got := <-sums; got != size {
			t.Fatalf("frame %d came with %d bytes of %d", i, got, size)
		}
	}
	s.do(func() {
		for _, b := range kept {
			b.Release()
		}
		kept = nil
		s.edge.Close()
	})
	if inUse, _ := s.edge.pool.Stats(); inUse != 0 {
		t.Errorf("%d bytes of slabs were not given back", inUse)
	}
}

func TestQuietEdgeLetsItsMemoryGo(t *testing.T) {
	s := start(t, nil, func(c *Config) { c.TrimInterval = 20 * time.Millisecond })
	c := s.connect()
	c.send(1, produceRequest(9, 1, "orders", bytes.Repeat([]byte{1}, 500<<10)))
	c.receive()
	c.conn.Close()
	<-s.gone
	late := time.After(patience)
	for {
		inUse, kept := s.edge.pool.Stats()
		if inUse+kept == 0 {
			return
		}
		select {
		case <-late:
			t.Fatalf("%d bytes in use and %d kept by a quiet edge", inUse, kept)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestClientsComeAndGoByTheHundred(t *testing.T) {
	s := start(t, nil, nil)
	for i := range int32(300) {
		conn, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(encodeRequest(i, kmsg.NewPtrHeartbeatRequest())); err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	for range 300 {
		<-s.gone
	}
	s.do(func() {})
	if n, open := s.edge.InFlightBytes(), s.edge.Connections(); n != 0 || open != 0 {
		t.Errorf("%d bytes in flight and %d connections after all left", n, open)
	}
}
