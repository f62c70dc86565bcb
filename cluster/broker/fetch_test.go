package broker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/metadata"
)

// fetched sends a fetch of "orders" from these offsets of partition 0.
func (p *place) fetched(version int16, offsets ...int64) []kmsg.FetchResponseTopicPartition {
	p.t.Helper()
	body := kmsg.NewPtrFetchRequest()
	body.Version, body.MaxBytes, body.SessionEpoch = version, 1<<20, -1
	rows := make([]kmsg.FetchRequestTopicPartition, len(offsets))
	for i, offset := range offsets {
		rows[i] = kmsg.NewFetchRequestTopicPartition()
		rows[i].FetchOffset, rows[i].PartitionMaxBytes = offset, 1<<20
	}
	body.Topics = []kmsg.FetchRequestTopic{{Topic: "orders", Partitions: rows}}
	var answer any
	p.client.Request(brokerID, "Fetch", &Request{Key: 1, Version: version, Body: body},
		time.Minute, func(body any, _ error) { answer = body })
	p.until("fetched", func() bool { return answer != nil })
	fetched := answer.(*FetchAnswer)
	for i := range fetched.Records {
		fetched.Records[i].Release()
	}
	return fetched.Response.Topics[0].Partitions
}

func TestConsumerMayReadFromAFollowerFromVersion11On(t *testing.T) {
	p := startBroker(t, registered(brokerID, false), registered(otherID, false),
		topic(1, "orders"), led(1, 0, otherID, brokerID))
	if got := p.fetched(10, 0)[0].ErrorCode; got != kerr.NotLeaderForPartition.Code {
		t.Errorf("version 10: code %d", got)
	}
	if got := p.fetched(11, 0)[0]; got.ErrorCode != 0 || got.HighWatermark != 0 {
		t.Errorf("version 11: %+v", got)
	}
}

func TestOfAPartitionFetchedTwiceTheLastOffsetCounts(t *testing.T) {
	p := orders(t)
	p.write(-1, p.now())
	for _, times := range []int{2, wantedComparedMax + 3} {
		offsets := make([]int64, times)
		offsets[times-1] = 99
		rows := p.fetched(12, offsets...)
		if len(rows) != 1 || rows[0].ErrorCode != kerr.OffsetOutOfRange.Code {
			t.Errorf("%d times: answered %+v", times, rows)
		}
	}
}

// inSession sends a fetch of a session; forgotten names topics whose partition 0 it leaves out.
func (p *place) inSession(id, epoch int32, topics, forgotten []event.UUID) *kmsg.FetchResponse {
	p.t.Helper()
	answer := p.sendInSession(id, epoch, 0, topics, forgotten)
	p.until("fetched", func() bool { return *answer != nil })
	return *answer
}

// sendInSession gives where the answer will stand.
func (p *place) sendInSession(id, epoch int32, wait time.Duration, topics,
	forgotten []event.UUID) **kmsg.FetchResponse {
	body := kmsg.NewPtrFetchRequest()
	body.Version, body.MaxBytes, body.SessionID, body.SessionEpoch = 13, 1<<20, id, epoch
	body.MinBytes, body.MaxWaitMillis = 1, int32(wait/time.Millisecond)
	for _, topic := range topics {
		row := kmsg.NewFetchRequestTopicPartition()
		row.PartitionMaxBytes = 1 << 20
		body.Topics = append(body.Topics, kmsg.FetchRequestTopic{TopicID: topic,
			Partitions: []kmsg.FetchRequestTopicPartition{row}})
	}
	for _, topic := range forgotten {
		body.ForgottenTopics = append(body.ForgottenTopics,
			kmsg.FetchRequestForgottenTopic{TopicID: topic, Partitions: []int32{0}})
	}
	answer := new(*kmsg.FetchResponse)
	p.client.Request(brokerID, "Fetch", &Request{Key: 1, Version: 13, Body: body}, time.Minute,
		func(body any, err error) {
			if err != nil {
				p.t.Errorf("epoch %d: %v", epoch, err)
				return
			}
			fetched := body.(*FetchAnswer)
			for i := range fetched.Records {
				fetched.Records[i].Release()
			}
			*answer = fetched.Response
		})
	return answer
}

// A client may send a session's next fetch while one waits: both are answered.
func TestSessionMayForgetWhatAFetchOfItWaitsFor(t *testing.T) {
	p := orders(t)
	known := p.broker().Image().TopicByName("orders").ID
	r := p.inSession(0, 0, []event.UUID{known}, nil)
	first := p.sendInSession(r.SessionID, 1, 3*time.Second, nil, nil)
	p.world.RunFor(100 * time.Millisecond)
	if *first != nil {
		t.Fatalf("a fetch that finds nothing was answered %+v", *first)
	}
	second := p.sendInSession(r.SessionID, 2, time.Second, nil, []event.UUID{known})
	p.world.RunFor(5 * time.Second)
	if *first == nil || *second == nil || (*second).ErrorCode != 0 {
		t.Errorf("answered %+v and %+v", *first, *second)
	}
}

// What a fetch both names and forgets is forgotten; ids that no topic has are one partition each,
// and can be forgotten.
func TestSessionForgetsWhatItIsTold(t *testing.T) {
	p := orders(t)
	p.write(-1, p.now())
	known := p.broker().Image().TopicByName("orders").ID
	gone, other := event.UUID{1}, event.UUID{2}
	r := p.inSession(0, 0, nil, nil)
	if r.SessionID == 0 {
		t.Fatal("an empty full fetch opens no session")
	}
	id := r.SessionID
	if r = p.inSession(id, 1, []event.UUID{known, gone, other}, nil); len(r.Topics) != 3 {
		t.Fatalf("answered %+v", r)
	}
	if r = p.inSession(id, 2, []event.UUID{known}, []event.UUID{known, gone}); len(r.Topics) != 1 ||
		r.Topics[0].TopicID != other {
		t.Errorf("with two forgotten it answered %+v", r.Topics)
	}
	if r = p.inSession(id, 3, []event.UUID{known}, []event.UUID{other}); len(r.Topics) != 1 ||
		r.Topics[0].TopicID != known || r.SessionID != id {
		t.Errorf("added again it answered %+v", r.Topics)
	}
}

// A session keeps what its client named while this broker had not heard of it; the client does not
// name it again, and gets it once the broker has.
func TestSessionLearnsTheNameOfATopicThatWasUnknown(t *testing.T) {
	p := startBroker(t, registered(brokerID, false))
	later := []event.UUID{topicID(1)}
	first := p.inSession(0, 0, later, nil)
	if got := first.Topics[0].Partitions[0].ErrorCode; got != kerr.UnknownTopicID.Code {
		t.Fatalf("before: code %d, want UNKNOWN_TOPIC_ID", got)
	}
	p.commit(topic(1, "orders"), led(1, 0, brokerID))
	got := p.inSession(first.SessionID, 1, nil, nil)
	if len(got.Topics) != 1 || got.Topics[0].Partitions[0].ErrorCode != 0 ||
		got.Topics[0].TopicID != [16]byte(topicID(1)) {
		t.Errorf("afterwards: %+v", got)
	}
	more := p.inSession(first.SessionID, 2, later, nil)
	if more.ErrorCode != 0 || len(more.Topics) != 0 {
		t.Errorf("named again it is no other: %+v", more)
	}
	if last := p.inSession(first.SessionID, 3, nil, later); last.SessionID != 0 {
		t.Errorf("it is forgotten, and the session ends: %+v", last)
	}
}

// A topic that is made again under the same name is another one: a session that wants the first
// gets nothing of the second.
func TestSessionOfATopicThatWasMadeAgainGetsNothingOfTheNewOne(t *testing.T) {
	p := orders(t)
	old, new := []event.UUID{topicID(1)}, []event.UUID{topicID(2)}
	first := p.inSession(0, 0, old, nil)
	p.commit(&metadata.RemoveTopicRecord{TopicID: topicID(1)}, topic(2, "orders"),
		led(2, 0, brokerID))
	code := func(r *kmsg.FetchResponse) int16 { return r.Topics[0].Partitions[0].ErrorCode }
	got := p.inSession(first.SessionID, 1, nil, nil)
	if len(got.Topics) != 1 || code(got) != kerr.InconsistentTopicID.Code {
		t.Errorf("the old one: %+v", got)
	}
	if got = p.inSession(first.SessionID, 2, new, old); len(got.Topics) != 1 || code(got) != 0 {
		t.Errorf("the new one: %+v", got)
	}
}
