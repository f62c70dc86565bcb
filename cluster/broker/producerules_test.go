package broker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

// orders starts a broker that leads the only partition of "orders", with these configurations.
func orders(t *testing.T, configs ...string) *place {
	t.Helper()
	records := []metadata.Record{registered(brokerID, false), topic(1, "orders")}
	for i := 0; i < len(configs); i += 2 {
		records = append(records, &metadata.ConfigRecord{ResourceType: metadata.ResourceTopic,
			ResourceName: "orders", Name: configs[i], Value: &configs[i+1]})
	}
	return startBroker(t, append(records, led(1, 0, brokerID))...)
}

// now is the broker's time.
func (p *place) now() int64 { return p.client.UnixMilli() }

func sealed(t *testing.T, b *record.Builder) []byte {
	t.Helper()
	bytes, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// produce sends batches to "orders", all for partition 0.
func (p *place) produce(batches ...[]byte) []kmsg.ProduceResponseTopicPartition {
	p.t.Helper()
	return p.produceTo(9, kmsg.ProduceRequestTopic{Topic: "orders"}, batches...)
}

func (p *place) produceTo(version int16, topic kmsg.ProduceRequestTopic,
	batches ...[]byte) []kmsg.ProduceResponseTopicPartition {
	p.t.Helper()
	body := kmsg.NewPtrProduceRequest()
	body.Version, body.Acks, body.TimeoutMillis = version, -1, 1000
	topic.Partitions = make([]kmsg.ProduceRequestTopicPartition, len(batches))
	body.Topics = []kmsg.ProduceRequestTopic{topic}
	request := &Request{Key: 0, Version: version, Body: body}
	for _, bytes := range batches {
		facts, bad := record.Validate(bytes, record.Validation{InflatedMax: 1 << 20})
		request.Batches = append(request.Batches,
			Batch{Buffer: record.Buffer{Bytes: bytes}, Facts: facts, Err: bad})
	}
	var answer any
	p.client.Request(brokerID, "Produce", request, time.Minute,
		func(body any, _ error) { answer = body })
	p.until("produced", func() bool { return answer != nil })
	return answer.(*kmsg.ProduceResponse).Topics[0].Partitions
}

// stored is the header of the batch at the start of the log.
func (p *place) stored() record.Header {
	p.t.Helper()
	log := p.broker().Partition("orders", 0).Log
	read, err := log.Read(log.LogStartOffset(), 1<<20, log.LogEndOffset(), true)
	if err != nil || len(read.Buffers) == 0 {
		p.t.Fatalf("read %+v, %v", read, err)
	}
	defer read.Release()
	bytes := read.Buffers[0].Bytes
	h, err := record.ParseHeader(bytes)
	if err != nil || !record.ChecksumHolds(bytes[:h.Size()]) {
		p.t.Fatalf("the stored batch is broken: %v", err)
	}
	return h
}

// From version 13 on a request has the topic's id only, and people know topics by their names.
func TestAnswerToAProduceByTopicIDIsToldWithTheName(t *testing.T) {
	p := orders(t)
	b := record.NewBuilder()
	b.Add(p.now(), nil, []byte("value"))
	id := p.broker().metadata.image.TopicByName("orders").ID
	row := p.produceTo(13, kmsg.ProduceRequestTopic{TopicID: id}, sealed(t, b))[0]
	told := p.events.lines[len(p.events.lines)-1]
	if row.ErrorCode != 0 || !strings.Contains(told, `"topic":"orders"`) {
		t.Errorf("answered %+v, told %s", row, told)
	}
}

// produceOf makes a request with one record for partition 0, two for partition 1, and so on.
func (p *place) produceOf(partitions ...int32) *Request {
	p.t.Helper()
	body := kmsg.NewPtrProduceRequest()
	body.Version, body.Acks, body.TimeoutMillis = 9, -1, 1000
	request := &Request{Key: 0, Version: 9, Body: body}
	orders := kmsg.ProduceRequestTopic{Topic: "orders"}
	for _, index := range partitions {
		b := record.NewBuilder()
		for range index + 1 {
			b.Add(p.now(), nil, []byte("value"))
		}
		bytes := sealed(p.t, b)
		facts, bad := record.Validate(bytes, record.Validation{InflatedMax: 1 << 20})
		request.Batches = append(request.Batches,
			Batch{Buffer: record.Buffer{Bytes: bytes}, Facts: facts, Err: bad})
		orders.Partitions = append(orders.Partitions, kmsg.ProduceRequestTopicPartition{Partition: index})
	}
	body.Topics = []kmsg.ProduceRequestTopic{orders}
	return request
}

// An answer leaves its connection after those to the requests before it, and not at all once the
// client is gone.
func TestAnswersAreToldWhenTheyLeaveTheirConnection(t *testing.T) {
	const outside = event.FirstOutside
	for _, leaves := range []bool{false, true} {
		p := startBroker(t, registered(brokerID, false), registered(otherID, false),
			topic(1, "orders"), led(1, 0, brokerID, otherID), led(1, 1, brokerID))
		var client *world.Env
		p.world.Add(world.Spec{ID: outside, Role: "client",
			Start: func(env *world.Env) (world.Node, error) { client = env; return quiet{}, nil }})
		if err := p.world.StartNode(outside); err != nil {
			t.Fatal(err)
		}
		for _, index := range []int32{0, 1} {
			client.Request(brokerID, "Produce", p.produceOf(index), time.Minute, func(any, error) {})
		}
		p.until("both batches are there", func() bool {
			return p.broker().Partition("orders", 0).Log.LogEndOffset() == 1 &&
				p.broker().Partition("orders", 1).Log.LogEndOffset() == 2
		})
		if len(p.events.lines) != 0 {
			t.Fatalf("told before the first is answered: %q", p.events.lines)
		}
		if leaves {
			p.broker().Disconnected(outside)
		}
		p.world.RunFor(2 * time.Second) // the first times out
		var got []string
		for _, line := range p.events.lines {
			_, rest, _ := strings.Cut(line, `"errorCode":`)
			got = append(got, rest[:len(`7,"topic":"orders","partition":0`)])
		}
		want := []string{`7,"topic":"orders","partition":0`, `0,"topic":"orders","partition":1`}
		if leaves {
			want = nil
		}
		if !slices.Equal(got, want) {
			t.Errorf("leaves %v: told %q, want %q", leaves, got, want)
		}
	}
}

// A client's request brings batches for many partitions, and each waits and is answered by itself.
func TestEventsTellEachPartitionOfAProduce(t *testing.T) {
	p := startBroker(t, registered(brokerID, false), registered(otherID, false), topic(1, "orders"),
		led(1, 0, brokerID, otherID), led(1, 1, brokerID), led(1, 2, brokerID, otherID))
	request := p.produceOf(0, 1, 2)
	var answer any
	p.client.Request(brokerID, "Produce", request, time.Minute, func(body any, _ error) { answer = body })
	p.until("the batch is there", func() bool {
		return p.broker().Partition("orders", 2).Log.LogEndOffset() == 3
	})
	p.follow(0, 1, 0) // of partition 0
	p.follow(1, 1, 0)
	p.until("answered", func() bool { return answer != nil })
	if code := answer.(*kmsg.ProduceResponse).Topics[0].Partitions[2].ErrorCode; code != 7 {
		t.Errorf("partition 2 was answered %d", code)
	}
	var wait, other int
	if len(p.events.waits) > 3 {
		_, _ = fmt.Sscanf(p.events.waits[2], "wait %d:", &wait)
		_, _ = fmt.Sscanf(p.events.waits[3], "wait %d:", &other)
	}
	want := []string{"2 records for 1", "3 records for 2", fmt.Sprintf("wait %d: 0 to 1", wait),
		fmt.Sprintf("wait %d: 2 to 3", other), fmt.Sprintf("wait %d: satisfied", wait),
		fmt.Sprintf("wait %d: timed-out", other), "1 answered 0 at 0", "2 answered 7 at 0"}
	got := slices.DeleteFunc(p.events.waits, func(line string) bool { // the follower's fetches
		return strings.HasSuffix(line, ": timed-out") && line != want[5] ||
			strings.HasSuffix(line, ": satisfied") && line != want[4]
	})
	if !slices.Equal(got, want) {
		t.Errorf("told %q\nwant %q", got, want)
	}
	if told := p.events.lines[len(p.events.lines)-1]; !strings.Contains(told, `"partition":0`) {
		t.Errorf("the response tells %s", told)
	}
}

func TestOfAPartitionProducedTwiceTheLastBatchCounts(t *testing.T) {
	for _, times := range []int{2, partitionsComparedMax + 1} {
		p := orders(t)
		batches, began := make([][]byte, times), p.now()
		for i := range batches {
			b := record.NewBuilder()
			b.Add(began+int64(i), nil, []byte("value"))
			batches[i] = sealed(t, b)
		}
		rows := p.produce(batches...)
		if len(rows) != 1 || rows[0].ErrorCode != 0 || rows[0].BaseOffset != 0 {
			t.Errorf("%d times: answered %+v", times, rows)
		}
		if h := p.stored(); h.BaseTimestamp != began+int64(times)-1 {
			t.Errorf("%d times: stored %+v", times, h)
		}
		if end := p.broker().Partition("orders", 0).Log.LogEndOffset(); end != 1 {
			t.Errorf("%d times: the log ends at %d", times, end)
		}
	}
}

func TestCompactedTopicNamesEveryRecordWithoutAKey(t *testing.T) {
	p := orders(t, "cleanup.policy", "compact")
	b := record.NewBuilder()
	for _, key := range []string{"a", "", "b", ""} {
		var bytes []byte
		if key != "" {
			bytes = []byte(key)
		}
		b.Add(p.now(), bytes, []byte("value"))
	}
	row := p.produce(sealed(t, b))[0]
	if row.ErrorCode != kerr.InvalidRecord.Code || row.ErrorMessage == nil ||
		row.LogStartOffset != 0 || len(row.ErrorRecords) != 2 ||
		row.ErrorRecords[0].RelativeOffset != 1 || row.ErrorRecords[1].RelativeOffset != 3 {
		t.Errorf("answered %+v", row)
	}
}

func TestTheTopicsOwnWindowBoundsTimestamps(t *testing.T) {
	p := orders(t, "message.timestamp.after.max.ms", "5000",
		"message.timestamp.before.max.ms", "7000")
	for _, row := range []struct {
		ahead int64
		code  int16
	}{
		{4_000, 0}, {60_000, kerr.InvalidTimestamp.Code},
		{-6_000, 0}, {-60_000, kerr.InvalidTimestamp.Code},
	} {
		b := record.NewBuilder()
		b.Add(p.now(), nil, []byte("value"))
		b.Add(p.now()+row.ahead, nil, []byte("value"))
		got := p.produce(sealed(t, b))[0]
		if got.ErrorCode != row.code || row.code != 0 &&
			(len(got.ErrorRecords) != 1 || got.ErrorRecords[0].RelativeOffset != 1) {
			t.Errorf("%d ms ahead: answered %+v", row.ahead, got)
		}
	}
}

func TestTheTopicsCodecDecidesOverTheProducers(t *testing.T) {
	for name, row := range map[string]struct{ sent, stored record.Codec }{
		"producer": {record.Lz4, record.Lz4}, "gzip": {record.None, record.Gzip},
		"uncompressed": {record.Gzip, record.None}, "zstd": {record.Zstd, record.Zstd},
	} {
		p := orders(t, "compression.type", name)
		b := record.NewBuilder()
		b.Codec = row.sent
		b.Add(p.now(), []byte("k"), make([]byte, 100))
		if got := p.produce(sealed(t, b))[0]; got.ErrorCode != 0 {
			t.Fatalf("%s: answered %+v", name, got)
		}
		if h := p.stored(); h.Attributes.Codec() != row.stored || h.RecordsCount != 1 {
			t.Errorf("%s: stored %+v", name, h)
		}
	}
}

func TestLeaderCorrectsTheLargestTimestamp(t *testing.T) {
	p := orders(t)
	b := record.NewBuilder()
	b.Add(p.now(), nil, []byte("a"))
	b.Add(p.now()+5, nil, []byte("b"))
	largest := p.now() + 5
	bytes := sealed(t, b)
	record.SetTimestamps(bytes, largest+94, false)
	if got := p.produce(bytes)[0]; got.ErrorCode != 0 {
		t.Fatalf("answered %+v", got)
	}
	if h := p.stored(); h.MaxTimestamp != largest {
		t.Errorf("the largest timestamp is %d, want %d", h.MaxTimestamp, largest)
	}
}

func TestLeaderTakesNoTypeOfTimestampsFromAProducer(t *testing.T) {
	p := orders(t)
	b := record.NewBuilder()
	b.Add(p.now(), nil, []byte("a"))
	bytes := sealed(t, b)
	record.SetTimestamps(bytes, p.now(), true)
	if got := p.produce(bytes)[0]; got.ErrorCode != 0 {
		t.Fatalf("answered %+v", got)
	}
	if h := p.stored(); h.Attributes.LogAppendTime() || h.MaxTimestamp != p.now() {
		t.Errorf("stored was %+v", h)
	}
}

func TestOnlyABatchThatReachedTheLogIsToldWhereItStarts(t *testing.T) {
	p := orders(t)
	plain := func() []byte {
		b := record.NewBuilder()
		b.Add(p.now(), nil, []byte("value"))
		return sealed(t, b)
	}
	based := plain()
	record.Stamp(based, 5, 0)
	broken := plain()
	broken[len(broken)-1] ^= 1
	for name, row := range map[string]struct {
		bytes []byte
		code  int16
		start event.Offset
	}{
		"no bytes":             {nil, kerr.InvalidRecord.Code, -1},
		"two batches":          {append(plain(), plain()...), kerr.InvalidRecord.Code, -1},
		"a broken checksum":    {broken, kerr.CorruptMessage.Code, -1},
		"another first offset": {based, kerr.InvalidRecord.Code, 0},
	} {
		got := p.produce(row.bytes)[0]
		if got.ErrorCode != row.code || event.Offset(got.LogStartOffset) != row.start ||
			got.ErrorMessage != nil {
			t.Errorf("%s: answered %+v", name, got)
		}
	}
}
