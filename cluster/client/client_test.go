package client

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

// fake is a broker that answers from a script: it says who leads, and how each produce ends.
type fake struct {
	id     event.NodeID
	shared *script
}

// script is what all fake brokers share.
type script struct {
	leader    event.NodeID
	unknown   int     // how many metadata requests still find no topic
	produces  []int16 // codes of the coming produces; 0 when used up
	silent    int     // how many produces are still reset after they were appended
	sequences []int32
	batches   [][]byte
	aborted   []kmsg.FetchResponseTopicPartitionAbortedTransaction
	created   []int16
}

func (f *fake) Disconnected(event.NodeID) {}

func (f *fake) Deliver(call *world.Call) {
	switch body := call.Body.(*broker.Request).Body.(type) {
	case *kmsg.MetadataRequest:
		call.Reply(f.metadata(body))
	case *kmsg.InitProducerIDRequest:
		r := kmsg.NewPtrInitProducerIDResponse()
		r.ProducerID, r.ProducerEpoch = 1000, 0
		call.Reply(r)
	case *kmsg.CreateTopicsRequest:
		r := kmsg.NewPtrCreateTopicsResponse()
		t := kmsg.NewCreateTopicsResponseTopic()
		if len(f.shared.created) > 0 {
			t.ErrorCode = f.shared.created[0]
			f.shared.created = f.shared.created[1:]
		}
		r.Topics = append(r.Topics, t)
		call.Reply(r)
	case *kmsg.ProduceRequest:
		f.produce(call, body)
	case *kmsg.ListOffsetsRequest:
		r := kmsg.NewPtrListOffsetsResponse()
		r.Topics = []kmsg.ListOffsetsResponseTopic{{
			Partitions: []kmsg.ListOffsetsResponseTopicPartition{{Offset: 0}}}}
		call.Reply(r)
	case *kmsg.FetchRequest:
		f.fetch(call, body)
	}
}

func (f *fake) metadata(body *kmsg.MetadataRequest) *kmsg.MetadataResponse {
	r := kmsg.NewPtrMetadataResponse()
	t := kmsg.NewMetadataResponseTopic()
	t.Topic = body.Topics[0].Topic
	if f.shared.unknown > 0 {
		f.shared.unknown--
		t.ErrorCode = kerr.UnknownTopicOrPartition.Code
	} else {
		t.Partitions = []kmsg.MetadataResponseTopicPartition{{Partition: 0,
			Leader: int32(f.shared.leader), LeaderEpoch: 3}}
	}
	r.Topics = append(r.Topics, t)
	return r
}

func (f *fake) produce(call *world.Call, body *kmsg.ProduceRequest) {
	s := f.shared
	batch := call.Body.(*broker.Request).Batches[0]
	r := kmsg.NewPtrProduceResponse()
	p := kmsg.NewProduceResponseTopicPartition()
	p.BaseOffset = int64(len(s.batches))
	switch {
	case f.id != s.leader:
		p.ErrorCode = kerr.NotLeaderForPartition.Code
	case len(s.produces) > 0:
		p.ErrorCode = s.produces[0]
		s.produces = s.produces[1:]
	}
	if p.ErrorCode == 0 {
		s.sequences = append(s.sequences, batch.Facts.BaseSequence)
		record.Stamp(batch.Buffer.Bytes, p.BaseOffset, 3)
		s.batches = append(s.batches, batch.Buffer.Bytes)
		if s.silent > 0 {
			s.silent--
			call.Reply(&broker.Close{Reason: "the test wants it"})
			return
		}
	}
	if body.Acks == 0 {
		call.Reply(world.Nothing{})
		return
	}
	t := kmsg.NewProduceResponseTopic()
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	call.Reply(r)
}

func (f *fake) fetch(call *world.Call, body *kmsg.FetchRequest) {
	s := f.shared
	from := body.Topics[0].Partitions[0].FetchOffset
	r := kmsg.NewPtrFetchResponse()
	p := kmsg.NewFetchResponseTopicPartition()
	p.HighWatermark, p.AbortedTransactions = int64(len(s.batches)), s.aborted
	slices := commitlog.Slices{}
	for _, b := range s.batches[from:min(from+2, int64(len(s.batches)))] {
		slices.Buffers = append(slices.Buffers, record.Buffer{Bytes: b})
	}
	t := kmsg.NewFetchResponseTopic()
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	call.Reply(&broker.FetchAnswer{Response: r, Records: []commitlog.Slices{slices}})
}

func start(t *testing.T, s *script) (*world.World, *Client) {
	t.Helper()
	w := world.New(world.Config{Seed: 1, PanicThrough: true, Latency: time.Millisecond})
	var c *Client
	for _, id := range []event.NodeID{1, 2} {
		w.Add(world.Spec{ID: id, Start: func(*world.Env) (world.Node, error) {
			return &fake{id: id, shared: s}, nil
		}})
	}
	w.Add(world.Spec{ID: 1001, Start: func(env *world.Env) (world.Node, error) {
		c = New(env, []event.NodeID{1, 2})
		return c, nil
	}})
	for _, id := range []event.NodeID{1, 2, 1001} {
		if err := w.StartNode(id); err != nil {
			t.Fatal(err)
		}
	}
	return w, c
}

func send(t *testing.T, w *world.World, c *Client, request SendRequest) SendResult {
	t.Helper()
	var result *SendResult
	c.Send(request, func(r SendResult) {
		if result != nil {
			t.Error("done ran twice")
		}
		result = &r
	})
	w.RunWhile(func() bool { return result == nil }, w.Now()+5*time.Minute)
	if result == nil {
		t.Fatal("the send never ended")
	}
	return *result
}

func text(s string) *string { return &s }

func TestPartitionForKeyIsKafkas(t *testing.T) {
	for _, row := range []struct {
		key        string
		partitions int32
		want       int32
	}{
		{"bob", 3, 0}, {"TT0124", 15, 10}, {"f562ac3b-2224-4e25-a0ab-56094e10c239", 10, 5},
		{"100:48069", 12, 9}, {"wu", 10, 0}, {"", 3, 0}, {"user-1", 3, 2}, {"user-1", 4, 0},
		{"order-2", 3, 0}, {"order-3", 3, 0}, {"order-6", 3, 0}, {"order-1", 3, 1},
		{"order-7", 3, 1}, {"order-4", 3, 2}, {"order-5", 3, 2}, {"order-8", 3, 2},
		{"kitchen-41", 6, 3},
	} {
		if got := PartitionForKey([]byte(row.key), row.partitions); got != row.want {
			t.Errorf("%q of %d: partition %d, want %d", row.key, row.partitions, got, row.want)
		}
	}
}

func TestRecordsWithoutAKeyStayOnOnePartitionForABatch(t *testing.T) {
	_, c := start(t, &script{leader: 1})
	first := c.choose("t", nil, 100, 50)
	changed := false
	for sent := 100; sent < stickyBytes; sent += 100 {
		if c.choose("t", nil, 100, 50) != first {
			t.Fatalf("another partition after %d bytes", sent)
		}
	}
	for range 10 {
		changed = changed || c.choose("t", nil, stickyBytes, 50) != first
	}
	if !changed {
		t.Error("never another partition")
	}
}

func TestSendFollowsTheLeader(t *testing.T) {
	s := &script{leader: 1, unknown: 1}
	w, c := start(t, s)
	if got := send(t, w, c, SendRequest{Topic: "t", Acks: -1}); got.Code != 0 {
		t.Fatalf("first: %+v", got)
	}
	s.leader = 2 // the client still believes in 1
	got := send(t, w, c, SendRequest{Topic: "t", Acks: 1, Times: 2, Value: text("v")})
	if got.Code != 0 || got.Acknowledged != 2 || !slices.Equal(got.Landed, Landings{{0, 1, 2, 2}}) {
		t.Errorf("after the leader moved: %+v", got)
	}
}

func TestNotEnoughReplicasEndsASendAtOnce(t *testing.T) {
	w, c := start(t, &script{leader: 1, produces: []int16{kerr.NotEnoughReplicas.Code}})
	got := send(t, w, c, SendRequest{Topic: "t", Acks: -1})
	if got.Code != kerr.NotEnoughReplicas.Code || got.Acknowledged != 0 {
		t.Errorf("got %+v", got)
	}
	if w.Now() > time.Second {
		t.Errorf("it took %v", w.Now())
	}
}

func TestIdempotentRetryKeepsItsSequence(t *testing.T) {
	s := &script{leader: 1, silent: 1}
	w, c := start(t, s)
	got := send(t, w, c, SendRequest{Topic: "t", Acks: -1, Times: 2, Idempotent: true})
	if got.Code != 0 {
		t.Fatalf("got %+v", got)
	}
	if want := "[0 0 1]"; fmt.Sprint(s.sequences) != want {
		t.Errorf("sequences %v, want %s", s.sequences, want)
	}
	if &s.batches[0][0] == &s.batches[1][0] {
		t.Error("a retry shares its bytes with what the broker already has")
	}
}

func TestAcksZeroEndsWithoutAnOffset(t *testing.T) {
	w, c := start(t, &script{leader: 1})
	got := send(t, w, c, SendRequest{Topic: "t", Acks: 0, Times: 3})
	if got.Code != 0 || got.Landed[0].First != -1 || got.Acknowledged != 3 {
		t.Errorf("got %+v", got)
	}
}

func TestSendGivesUpWhenItsTimeIsOver(t *testing.T) {
	s := &script{leader: event.NoNode}
	w, c := start(t, s)
	got := send(t, w, c, SendRequest{Topic: "t", Acks: -1, TimeoutMs: 3000})
	if got.Code != kerr.LeaderNotAvailable.Code || w.Now() > 3*time.Second {
		t.Errorf("code %d after %v", got.Code, w.Now())
	}
}

func TestReadTakesAllRecordsAndNoMarkers(t *testing.T) {
	s := &script{leader: 1}
	w, c := start(t, s)
	send(t, w, c, SendRequest{Topic: "t", Acks: 1, Times: 3, Value: text("a"), Key: text("k"),
		Headers: []Header{{Key: "h", Value: text("1")}}})
	marker := record.EndTxnMarker(record.Marker{Commit: true, ProducerID: 7})
	record.Stamp(marker, 3, 3)
	s.batches = append(s.batches, marker)
	var got *ReadResult
	c.Read(ReadRequest{Topic: "t", From: FromEarliest}, func(r ReadResult) { got = &r })
	w.RunWhile(func() bool { return got == nil }, w.Now()+time.Minute)
	if got == nil || got.Code != 0 || len(got.Records) != 3 || got.HighWatermark != 4 {
		t.Fatalf("got %+v", got)
	}
	for i, r := range got.Records {
		if r.Offset != int64(i) || *r.Value != "a" || *r.Key != "k" || len(r.Headers) != 1 {
			t.Errorf("record %d: %+v", i, r)
		}
	}
}

func TestReadCommittedPassesOverAbortedRecords(t *testing.T) {
	s := &script{leader: 1}
	for i := range 2 {
		b := record.NewBuilder()
		b.ProducerID, b.ProducerEpoch, b.BaseSequence = int64(5+i), 0, 0
		b.Attributes = 1 << 4
		b.Add(1, nil, []byte{byte('a' + i)})
		sealed, err := b.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		record.Stamp(sealed, int64(i), 3)
		s.batches = append(s.batches, sealed)
	}
	s.aborted = []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 5}}
	w, c := start(t, s)
	var got *ReadResult
	c.Read(ReadRequest{Topic: "t", Committed: true}, func(r ReadResult) { got = &r })
	w.RunWhile(func() bool { return got == nil }, time.Minute)
	if got == nil || len(got.Records) != 1 || *got.Records[0].Value != "b" {
		t.Errorf("got %+v", got)
	}
}

func TestCreateTopicWaitsOutAnElection(t *testing.T) {
	s := &script{created: []int16{kerr.NotController.Code, 0}}
	w, c := start(t, s)
	var got *AdminResult
	c.CreateTopic(TopicRequest{Name: "t", Partitions: 1}, func(r AdminResult) { got = &r })
	w.RunWhile(func() bool { return got == nil }, time.Minute)
	if got == nil || got.Code != 0 || len(s.created) != 0 {
		t.Errorf("got %+v, left %v", got, s.created)
	}
}
