package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/commitlog"
	"highwater/cluster/disk"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

func TestAnswersLeaveInTheOrderOfTheRequests(t *testing.T) {
	var held []*world.Call
	s := start(t, func(call *world.Call, r *broker.Request) {
		held = append(held, call)
		if len(held) == 40 { // the last first
			for i := len(held) - 1; i >= 0; i-- {
				held[i].Reply(plainAnswer(held[i].Body.(*broker.Request)))
			}
			held = nil
		}
	}, nil)
	c := s.connect()
	for round := int32(0); round < 5; round++ {
		var all []byte
		for i := int32(0); i < 40; i++ {
			all = append(all, encodeRequest(round*100+i, metadataRequest(int16(i%13)))...)
		}
		c.write(all)
		for i := int32(0); i < 40; i++ {
			if got, _ := c.receive(); got != round*100+i {
				t.Fatalf("answer %d came for request %d", round*100+i, got)
			}
		}
	}
	if n := s.edge.InFlightBytes(); n != 0 {
		t.Errorf("%d bytes count as in flight after all answers", n)
	}
}

func TestNoMoreThan64RequestsOfAConnectionAreInFlight(t *testing.T) {
	var held []*world.Call
	arrived := make(chan int, 1000)
	s := start(t, func(call *world.Call, r *broker.Request) {
		held = append(held, call)
		arrived <- len(held)
	}, nil)
	c := s.connect()
	var all []byte
	for i := int32(0); i < 200; i++ {
		all = append(all, encodeRequest(i, metadataRequest(9))...)
	}
	c.write(all)
	for <-arrived < requestsInFlightMax {
	}
	other := s.connect()
	other.write(all[:len(all)/200]) // a turn later than the 64
	if n := <-arrived; n != requestsInFlightMax+1 {
		t.Fatalf("%d requests arrived, of which one is another connection's", n)
	}
	s.do(func() {
		if len(arrived) != 0 {
			t.Errorf("%d requests too many arrived", len(arrived))
		}
		for _, call := range held {
			call.Reply(plainAnswer(call.Body.(*broker.Request)))
		}
		s.handle = func(call *world.Call, r *broker.Request) { call.Reply(plainAnswer(r)) }
	})
	for i := int32(0); i < 200; i++ {
		if got, _ := c.receive(); got != i {
			t.Fatalf("answer %d came for request %d", i, got)
		}
	}
}

func TestProduceBatchesAreSlicesOfTheFrameAndChecked(t *testing.T) {
	type seen struct {
		batches []broker.Batch
		id      string
		topic   string
		size    int
	}
	got := make(chan seen, 1)
	s := start(t, func(call *world.Call, r *broker.Request) {
		got <- seen{r.Batches, r.ClientID, r.Body.(*kmsg.ProduceRequest).Topics[0].Topic,
			r.Bytes}
		for i := range r.Batches {
			r.Batches[i].Buffer.Retain() // the test's own
		}
		call.Reply(plainAnswer(r))
	}, nil)
	good, bad := batch(t, "hello"), batch(t, "broken")
	bad[len(bad)-1] ^= 1
	for version := int16(3); version <= 13; version++ {
		c := s.connect()
		c.send(7, produceRequest(version, 1, "orders", good, bad, nil))
		c.receive()
		r := <-got
		if len(r.batches) != 3 || r.id != "tester" || version < 13 && r.topic != "orders" {
			t.Fatalf("version %d: %d batches, client %q, topic %q", version, len(r.batches),
				r.id, r.topic)
		}
		if least := len(good) + len(bad); r.size <= least {
			t.Errorf("version %d: %d bytes, with batches of %d", version, r.size, least)
		}
		if b := r.batches[0]; b.Err != nil || b.Facts.RecordsCount != 1 ||
			!bytes.Equal(b.Buffer.Bytes, good) || b.Buffer.Slab == nil {
			t.Errorf("version %d: the good batch came as %+v", version, b)
		}
		if b := r.batches[1]; b.Err == nil || b.Err.Code != 2 {
			t.Errorf("version %d: a wrong CRC gave %v", version, b.Err)
		}
		if b := r.batches[2]; b.Err == nil || b.Err.Code != 87 {
			t.Errorf("version %d: null records gave %v", version, b.Err)
		}
		for i := range r.batches {
			r.batches[i].Buffer.Release()
		}
	}
}

func TestUnacknowledgedProduceGetsNoAnswerAndAFailedOneTheClose(t *testing.T) {
	s := start(t, func(call *world.Call, r *broker.Request) {
		answer := plainAnswer(r)
		if p, is := r.Body.(*kmsg.ProduceRequest); is && p.Topics[0].Topic == "missing" {
			answer = &broker.Close{Reason: "an unacknowledged produce failed"}
		}
		call.Reply(answer)
	}, nil)
	c := s.connect()
	c.send(1, produceRequest(9, 0, "orders", batch(t, "a")))
	c.expectService(2)
	c.send(3, metadataRequest(9))
	c.send(4, produceRequest(9, 0, "missing", batch(t, "a")))
	if got, _ := c.receive(); got != 3 {
		t.Fatalf("the answer before the close is for %d", got)
	}
	c.expectClosed()
	<-s.gone
	if !strings.Contains(s.log.String(), "an unacknowledged produce failed") {
		t.Errorf("the log does not say why: %s", s.log.String())
	}
}

func TestApiVersionsOfAnUnknownVersionIsAnsweredInVersionZero(t *testing.T) {
	s := start(t, func(call *world.Call, r *broker.Request) {
		response := kmsg.NewPtrApiVersionsResponse()
		response.Version = r.Version
		key := kmsg.NewApiVersionsResponseApiKey()
		key.ApiKey, key.MaxVersion = 18, 4
		response.ApiKeys = append(response.ApiKeys, kmsg.NewApiVersionsResponseApiKey(), key)
		call.Reply(response)
	}, nil)
	c := s.connect()
	request := kmsg.NewPtrApiVersionsRequest()
	request.Version = 3
	request.ClientSoftwareName, request.ClientSoftwareVersion = "future", "9"
	frame := encodeRequest(5, request)
	frame[7] = 99 // the version's low byte
	c.write(frame)
	_, body := c.receive()
	response := kmsg.NewPtrApiVersionsResponse()
	if err := response.ReadFrom(body); err != nil {
		t.Fatal(err)
	}
	if response.ErrorCode != 35 || len(response.ApiKeys) != 1 || response.ApiKeys[0].ApiKey != 18 {
		t.Errorf("answered %+v", response)
	}
	c.write([]byte{0, 0, 0, 9, 0, 18, 0, 77, 0, 0, 0, 5, 0xee}) // with a header of its own kind
	if _, body = c.receive(); response.ReadFrom(body) != nil || response.ErrorCode != 35 {
		t.Errorf("an unknown header was answered %+v", response)
	}
	c.write([]byte{0, 0, 0, 10, 0, 18, 0xff, 0xff, 0, 0, 0, 5, 0xff, 0xff}) // version -1
	if _, body = c.receive(); response.ReadFrom(body) != nil || response.ErrorCode != 35 {
		t.Errorf("a negative version was answered %+v", response)
	}
	c.send(6, request)
	response.Version = 3
	if _, body = c.receive(); response.ReadFrom(body) != nil || response.ErrorCode != 0 {
		t.Errorf("a good version after it was answered %+v", response)
	}
}

func TestClientSoftwareIsKnownFromApiVersions(t *testing.T) {
	software := make(chan string, 1)
	s := start(t, func(call *world.Call, r *broker.Request) {
		software <- r.Software
		call.Reply(plainAnswer(r))
	}, nil)
	c := s.connect()
	request := kmsg.NewPtrApiVersionsRequest()
	request.Version = 4
	request.ClientSoftwareName, request.ClientSoftwareVersion = "librdkafka", "2.15.0"
	c.send(1, request)
	if got := <-software; got != "librdkafka 2.15.0" {
		t.Errorf("software is %q", got)
	}
}

func TestKilledBrokerResetsItsConnectionsAndRefusesNewOnes(t *testing.T) {
	s := start(t, func(call *world.Call, r *broker.Request) {
		fetch := &broker.FetchAnswer{Response: kmsg.NewPtrFetchResponse()}
		if r.Key == 1 {
			big := record.Buffer{Bytes: make([]byte, 16<<20)}
			fetch = fetchAnswer(r.Version, commitlog.Slices{Buffers: []record.Buffer{big},
				Bytes: len(big.Bytes)})
			call.Reply(fetch)
			return
		}
		call.Reply(plainAnswer(r))
	}, nil)
	c := s.connect()
	request := kmsg.NewPtrFetchRequest()
	request.Version = 12
	c.send(1, request)
	if _, err := io.ReadFull(c.in, make([]byte, 100<<10)); err != nil { // mid-response
		t.Fatal(err)
	}
	s.do(func() { s.edge.CloseNode(1, "killed") })
	if _, err := io.Copy(io.Discard, c.in); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client of a killed broker saw %v", err)
	}
	if conn, err := net.DialTimeout("tcp", s.address, patience); err == nil {
		conn.Close()
		t.Error("a killed broker's port took a connection")
	}
	if len(s.gone) != 0 {
		t.Error("a killed broker was told of its connections")
	}
	again, err := s.edge.Listen(1, s.address)
	if err != nil || again != s.address {
		t.Fatalf("listening again on %s: %s, %v", s.address, again, err)
	}
	s.connect().expectService(2)
}

// fetchAnswer is an answer of one partition with records.
func fetchAnswer(version int16, records ...commitlog.Slices) *broker.FetchAnswer {
	response := kmsg.NewPtrFetchResponse()
	response.Version = version
	topic := kmsg.NewFetchResponseTopic()
	topic.Topic = "orders"
	for i := range records {
		partition := kmsg.NewFetchResponseTopicPartition()
		partition.Partition = int32(i)
		topic.Partitions = append(topic.Partitions, partition)
	}
	response.Topics = append(response.Topics, topic)
	return &broker.FetchAnswer{Response: response, Records: records}
}

func TestFetchSendsFilesAndSharedBuffersAndGivesThemBack(t *testing.T) {
	content := make([]byte, 3<<20)
	for i := range content {
		content[i] = byte(i * 7 >> 3)
	}
	real, err := disk.NewReal(t.TempDir(), disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string]disk.FS{
		"real": real, "memory": disk.NewMemory(disk.Options{}),
	} {
		t.Run(name, func(t *testing.T) {
			testFetchFrom(t, files, content)
		})
	}
}

func testFetchFrom(t *testing.T, files disk.FS, content []byte) {
	file, err := files.Create("segment")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
	pool := record.NewPool(0)
	s := start(t, func(call *world.Call, r *broker.Request) {
		if !file.Retain() {
			t.Error("the file is gone")
		}
		slab := pool.Get(100)
		tail := record.Buffer{Slab: slab, Bytes: slab.Bytes()[:100]}
		copy(tail.Bytes, content)
		call.Reply(fetchAnswer(r.Version,
			commitlog.Slices{Ranges: []commitlog.FileRange{{File: file, Offset: 1000, Length: 2 << 20}},
				Bytes: 2 << 20},
			commitlog.Slices{},
			commitlog.Slices{Buffers: []record.Buffer{tail}, Bytes: 100}))
	}, nil)
	c := s.connect()
	request := kmsg.NewPtrFetchRequest()
	request.Version = 12
	for i := int32(0); i < 3; i++ {
		c.send(i, request)
		got, body := c.receive()
		response := kmsg.NewPtrFetchResponse()
		response.Version = 12
		if err := response.ReadFrom(body[1:]); err != nil || got != i {
			t.Fatalf("answer %d: %v", got, err)
		}
		rows := response.Topics[0].Partitions
		if !bytes.Equal(rows[0].RecordBatches, content[1000:1000+2<<20]) ||
			len(rows[1].RecordBatches) != 0 || !bytes.Equal(rows[2].RecordBatches, content[:100]) {
			t.Fatal("the records are not those of the log")
		}
	}
	s.do(s.edge.Close)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if file.Retain() {
		t.Error("a reference to the file was kept")
	}
	if inUse, _ := pool.Stats(); inUse != 0 {
		t.Errorf("%d bytes of shared buffers were not given back", inUse)
	}
}

func TestClientThatDoesNotReadIsCutOffAndOthersAreServed(t *testing.T) {
	s := start(t, func(call *world.Call, r *broker.Request) {
		if r.Key != 1 {
			call.Reply(plainAnswer(r))
			return
		}
		b := record.Buffer{Bytes: make([]byte, 1<<20)}
		call.Reply(fetchAnswer(r.Version, commitlog.Slices{Buffers: []record.Buffer{b},
			Bytes: len(b.Bytes)}))
	}, func(c *Config) { c.OutputBytesMax = 4 << 20 })
	slow, good := s.connect(), s.connect()
	request := kmsg.NewPtrFetchRequest()
	request.Version = 12
	for i := int32(0); i < 60; i++ {
		if _, err := slow.conn.Write(encodeRequest(i, request)); err != nil {
			break
		}
		good.expectService(i)
	}
	select {
	case <-s.gone:
	case <-time.After(patience):
		t.Fatal("the client that does not read was kept")
	}
	if !strings.Contains(s.log.String(), "too slowly") {
		t.Errorf("the log does not say why: %s", s.log.String())
	}
	good.expectService(99)
}

func TestStalledWriterEndsWithItsConnection(t *testing.T) {
	s := start(t, func(call *world.Call, r *broker.Request) {
		b := record.Buffer{Bytes: make([]byte, 32<<20)}
		call.Reply(fetchAnswer(r.Version, commitlog.Slices{Buffers: []record.Buffer{b},
			Bytes: len(b.Bytes)}))
	}, func(c *Config) { c.StallTimeout = 50 * time.Millisecond })
	c := s.connect()
	request := kmsg.NewPtrFetchRequest()
	request.Version = 12
	c.send(1, request)
	select {
	case <-s.gone:
	case <-time.After(patience):
		t.Fatal("a client that takes nothing was kept")
	}
}

func TestSlowReaderGetsEverythingInOrder(t *testing.T) {
	s := start(t, func(call *world.Call, r *broker.Request) {
		b := record.Buffer{Bytes: bytes.Repeat([]byte{byte(r.Body.(*kmsg.FetchRequest).MaxWaitMillis)},
			1<<20)}
		call.Reply(fetchAnswer(r.Version, commitlog.Slices{Buffers: []record.Buffer{b},
			Bytes: len(b.Bytes)}))
	}, nil)
	c := s.connect()
	request := kmsg.NewPtrFetchRequest()
	request.Version = 11
	for i := int32(0); i < 20; i++ {
		request.MaxWaitMillis = i
		c.send(i, request)
	}
	for i := int32(0); i < 20; i++ {
		got, body := c.receive()
		response := kmsg.NewPtrFetchResponse()
		response.Version = 11
		if err := response.ReadFrom(body); err != nil || got != i {
			t.Fatalf("answer %d came for %d: %v", i, got, err)
		}
		records := response.Topics[0].Partitions[0].RecordBatches
		if len(records) != 1<<20 || bytes.Count(records, []byte{byte(i)}) != 1<<20 {
			t.Fatalf("answer %d has another one's records", i)
		}
	}
}

func TestNothingIsLeftRunningAfterClose(t *testing.T) {
	before := runtime.NumGoroutine()
	held := make(chan struct{}, 100)
	s := start(t, func(call *world.Call, r *broker.Request) { held <- struct{}{} }, nil)
	for i := int32(0); i < 20; i++ {
		c := s.connect()
		c.send(i, metadataRequest(9))
		<-held
	}
	if s.edge.InFlightBytes() == 0 || s.edge.Connections() != 20 {
		t.Error("twenty waiting requests are not counted")
	}
	s.do(s.edge.Close)
	if n := s.edge.InFlightBytes(); n != 0 {
		t.Errorf("%d bytes in flight after Close", n)
	}
	if inUse, kept := s.edge.pool.Stats(); inUse != 0 || kept != 0 {
		t.Errorf("the pool has %d bytes in use, %d kept", inUse, kept)
	}
	// The world's own loop is the one goroutine more. One whose work is done is counted until it
	// has left the scheduler.
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before+1; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines before, %d after", before, runtime.NumGoroutine())
		}
	}
	if _, err := s.edge.Listen(1, "127.0.0.1:0"); err == nil {
		t.Error("a closed edge listens")
	}
}

func TestTakenPortIsNamedWithItsHolder(t *testing.T) {
	s := start(t, nil, nil)
	_, err := s.edge.Listen(2, s.address)
	if err == nil {
		t.Fatal("two brokers listen on one port")
	}
	wanted := []string{"broker 2", s.address, "--kafka", "port 0"}
	if runtime.GOOS == "linux" {
		wanted = append(wanted, "wire.test")
	}
	for _, part := range wanted {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %q: %v", part, err)
		}
	}
}

func TestTooManyConnectionsAreTurnedAway(t *testing.T) {
	s := start(t, nil, func(c *Config) { c.PerAddressMax = 3 })
	var first []*client
	for range 3 {
		c := s.connect()
		c.expectService(1)
		first = append(first, c)
	}
	s.connect().expectClosed()
	first[0].conn.Close()
	<-s.gone
	s.connect().expectService(2)
}
