package broker

import (
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/commitlog"
	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/replica"
	"highwater/cluster/world"
)

// Fetch, versions 4 to 18, for consumers: sessions (KIP-227), topic ids, long polls, leader hints,
// diverging epochs, both isolation levels, and from version 11 on reads from a follower, up to the
// high watermark that it knows. Followers of this cluster use replica.FetchRequest instead. Only
// whole batches are answered, where Kafka cuts the last one at the byte limit. Skipped: telling
// consumers to read from a follower (the rest of KIP-392), throttling.

// wanted is one partition that a client wants records of.
type wanted struct {
	topic      string
	id         event.UUID
	index      int32
	offset     event.Offset
	bytesMax   int
	epoch      event.Epoch // the client's leader epoch, -1 when it gave none
	lastEpoch  event.Epoch
	unknownID  bool
	sentHW     int64 // what the session told last
	sentStart  int64
	everTold   bool
	toldCode   int16
	hadRecords bool
}

// fetchWait is a client's fetch, answered at once or after a wait.
type fetchWait struct {
	pendingWait
	b        *Broker
	call     *world.Call
	request  *kmsg.FetchRequest
	version  int16
	session  *fetchSession // nil outside sessions
	wanted   []*wanted
	waitsOn  []*held
	woken    bool
	answered bool
}

// fetchResult is what one partition gives.
type fetchResult struct {
	code     int16
	hw, lso  event.Offset
	start    event.Offset
	leader   event.NodeID
	epoch    event.Epoch
	diverge  *kmsg.FetchResponseTopicPartitionDivergingEpoch
	records  commitlog.Slices
	aborted  []commitlog.AbortedTxn
	withData bool
}

func (b *Broker) fetch(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.FetchRequest)
	f := &fetchWait{b: b, call: call, request: body, version: r.Version}
	f.waiter = f
	if code := b.openFetch(f); code != 0 {
		response := kmsg.NewPtrFetchResponse()
		response.Version, response.ErrorCode = r.Version, code
		b.answer(call, &FetchAnswer{Response: response}, answered{code: code})
		return
	}
	f.tellAsks()
	if f.try(body.MaxWaitMillis <= 0 || len(f.wanted) == 0) {
		return
	}
	f.wait()
}

// wait registers the fetch with every partition it wants.
func (f *fetchWait) wait() {
	b := f.b
	facts := event.WaitBegan{What: "fetch", For: f.call.From, Request: requestOf(f.call),
		Idle: len(f.request.Topics) == 0}
	for _, w := range f.wanted {
		h := b.held(w.topic, w.index)
		if h == nil {
			continue
		}
		if len(f.waitsOn) == 0 {
			facts.Topic, facts.Partition, facts.Needs = w.topic, w.index, w.offset+1
		}
		h.fetches = append(h.fetches, f)
		f.waitsOn = append(f.waitsOn, h)
	}
	if f.session != nil {
		f.session.waiting = f
	}
	c := b.client(f.call.From)
	c.waits = append(c.waits, f)
	b.waits.begin(&f.pendingWait, time.Duration(f.request.MaxWaitMillis)*time.Millisecond, facts)
}

// leave ends the wait without an answer or before one.
func (f *fetchWait) leave(outcome string) {
	f.answered = true
	for _, h := range f.waitsOn {
		h.fetches = slices.DeleteFunc(h.fetches, func(x *fetchWait) bool { return x == f })
	}
	f.waitsOn = nil
	if f.session != nil && f.session.waiting == f {
		f.session.waiting = nil
	}
	if c := f.b.clients[f.call.From]; c != nil {
		c.waits = slices.DeleteFunc(c.waits, func(x *fetchWait) bool { return x == f })
	}
	f.b.waits.end(&f.pendingWait, outcome)
}

// expired, of waiter: the long poll is over.
func (f *fetchWait) expired() { f.try(true) }

// tryAnswer looks again after something changed.
func (f *fetchWait) tryAnswer() {
	if !f.answered {
		f.b.env.Events.Cause = max(f.b.env.Events.Cause, f.began)
		f.try(false)
	}
}

// failFetches has the fetches that wait for a partition look again: its leader changed.
func (b *Broker) failFetches(h *held) {
	for _, f := range slices.Clone(h.fetches) {
		if !f.answered {
			f.try(false)
		}
	}
	for _, s := range b.followers {
		if pos := s.positions[h.key]; pos != nil && pos.h == h && !h.Leads() {
			s.tell(pos)
		}
	}
}

// try answers the fetch if it is satisfied, or if it must be answered now.
func (f *fetchWait) try(now bool) bool {
	results := make([]fetchResult, len(f.wanted))
	left := int(f.request.MaxBytes)
	if f.b.config.Settings.FetchBytesMax > 0 {
		left = min(left, f.b.config.Settings.FetchBytesMax)
	}
	bytes, satisfied, first := 0, now, true
	for i, w := range f.wanted {
		r := &results[i]
		f.b.read(f, w, r, min(left, w.bytesMax), first)
		if r.code != 0 || r.diverge != nil {
			satisfied = true
		}
		if r.records.Bytes > 0 {
			first = false
			bytes += r.records.Bytes
			left = max(0, left-r.records.Bytes)
		}
	}
	if !satisfied && bytes < int(f.request.MinBytes) {
		for i := range results {
			results[i].records.Release()
		}
		return false
	}
	outcome := "satisfied"
	if bytes == 0 && now {
		outcome = "timed-out"
	}
	f.leave(outcome)
	f.answer(results)
	return true
}

// read reads one partition for a client: nothing at or above the high watermark, or above the last
// stable offset for those who read only what is committed.
func (b *Broker) read(f *fetchWait, w *wanted, r *fetchResult, bytesMax int, first bool) {
	*r = fetchResult{hw: -1, lso: -1, start: -1, leader: event.NoNode, epoch: -1}
	h := b.held(w.topic, w.index)
	if r.code = b.refuseFetch(w, h, f.version >= fetchFromFollower); r.code != 0 {
		if p := b.metadata.image.Partition(w.topic, w.index); p != nil {
			r.leader, r.epoch = p.Leader, p.LeaderEpoch
		}
		return
	}
	log := h.Log
	if w.lastEpoch >= 0 && f.version >= 12 {
		epoch, end, ok := log.EndOffsetForEpoch(w.lastEpoch)
		if ok && (epoch < w.lastEpoch || end < w.offset) {
			r.diverge = &kmsg.FetchResponseTopicPartitionDivergingEpoch{Epoch: int32(epoch),
				EndOffset: int64(end)}
		}
	}
	if r.diverge == nil && (w.offset < log.LogStartOffset() || w.offset > log.LogEndOffset()) {
		r.code = kerr.OffsetOutOfRange.Code
		return
	}
	r.hw, r.start = h.HighWatermark(), log.LogStartOffset()
	r.lso = log.LastStableOffset(r.hw)
	limit := r.hw
	if f.request.IsolationLevel == 1 {
		limit = r.lso
	}
	if r.diverge != nil || w.offset >= limit || (bytesMax <= 0 && !first) {
		return
	}
	records, err := log.Read(w.offset, bytesMax, limit, first)
	if err != nil {
		b.readFailed(r, err)
		return
	}
	r.records, r.withData = records, records.Bytes > 0
	if f.request.IsolationLevel == 1 {
		r.aborted = log.TxnAborted(w.offset, records.NextOffset)
	}
}

func (b *Broker) readFailed(r *fetchResult, err error) {
	var outside *commitlog.OutOfRangeError
	if errors.As(err, &outside) {
		r.code = kerr.OffsetOutOfRange.Code
		return
	}
	r.code = kerr.KafkaStorageError.Code
	b.unreadable(err, "read failed")
}

// unreadable is what cannot be read of a log: a failure of the disk ends the log directory, which
// damage in one file does not (LocalLog).
func (b *Broker) unreadable(err error, message string, about ...any) {
	var failed *disk.Error
	if errors.As(err, &failed) {
		b.failDisk("read", err)
		return
	}
	b.log.Error(message, append(about, "broker", b.env.ID(), "error", err)...)
}

// fetchFromFollower is the version from which a consumer may read from a follower (KIP-392).
const fetchFromFollower = 11

// refuseFetch says why a partition cannot be read here; anyReplica takes a follower, too.
func (b *Broker) refuseFetch(w *wanted, h *held, anyReplica bool) int16 {
	switch {
	case w.unknownID:
		return kerr.UnknownTopicID.Code
	case b.metadata.image.Partition(w.topic, w.index) == nil:
		return kerr.UnknownTopicOrPartition.Code
	case h == nil:
		return kerr.NotLeaderForPartition.Code
	case !w.id.IsZero() && w.id != h.TopicID: // of a session that began before the topic
		return kerr.InconsistentTopicID.Code
	case w.epoch >= 0 && w.epoch < h.LeaderEpoch():
		return kerr.FencedLeaderEpoch.Code
	case w.epoch > h.LeaderEpoch():
		return kerr.UnknownLeaderEpoch.Code
	case !h.Leads() && !anyReplica:
		return kerr.NotLeaderForPartition.Code
	}
	return 0
}

// answer builds the response: everything outside sessions, and within them what is news.
func (f *fetchWait) answer(results []fetchResult) {
	response := kmsg.NewPtrFetchResponse()
	response.Version = f.version
	out := &FetchAnswer{Response: response}
	var one [1]answered
	told := one[:0]
	incremental := f.session != nil && f.session.incremental
	if f.session != nil {
		response.SessionID = f.session.id
	}
	for i, w := range f.wanted {
		r := &results[i]
		if incremental && !r.isNews(w) {
			r.records.Release()
			continue
		}
		w.told(r)
		f.add(out, w, r)
		hasNews := r.records.Records > 0 || r.code != 0
		if hasNews && len(told) > 0 && told[0].idle {
			told = told[:0] // what has no news is told where nothing has
		}
		if hasNews || len(told) == 0 {
			told = append(told, answered{code: r.code, topic: w.topic, partition: w.index,
				offset: r.records.FirstOffset, records: int32(r.records.Records),
				bytes: int32(r.records.Bytes), idle: !hasNews})
		}
	}
	if f.session != nil {
		f.session.rotate()
	}
	if len(told) == 0 {
		told = append(told, answered{idle: true})
	}
	f.b.answer(f.call, out, told...)
}

func (r *fetchResult) isNews(w *wanted) bool {
	return r.withData || r.code != 0 || r.diverge != nil || !w.everTold ||
		int64(r.hw) != w.sentHW || int64(r.start) != w.sentStart
}

func (w *wanted) told(r *fetchResult) {
	w.everTold, w.toldCode = true, r.code
	w.sentHW, w.sentStart = int64(r.hw), int64(r.start)
	w.hadRecords = r.withData
	if r.code != 0 {
		w.everTold = false // told again until it is over
	}
}

func (f *fetchWait) add(out *FetchAnswer, w *wanted, r *fetchResult) {
	response := out.Response
	last := len(response.Topics) - 1
	if last < 0 || response.Topics[last].Topic != w.topic || response.Topics[last].TopicID != w.id {
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic, topic.TopicID = w.topic, w.id
		response.Topics = append(response.Topics, topic)
		last++
	}
	p := kmsg.NewFetchResponseTopicPartition()
	p.Partition, p.ErrorCode = w.index, r.code
	p.HighWatermark, p.LastStableOffset, p.LogStartOffset = int64(r.hw), int64(r.lso), int64(r.start)
	p.PreferredReadReplica = -1
	p.RecordBatches = []byte{}
	if r.diverge != nil {
		p.DivergingEpoch = *r.diverge
	}
	if r.code == kerr.UnknownTopicOrPartition.Code || r.code == kerr.UnknownTopicID.Code {
		// Kafka makes these answers elsewhere than all others, with another default.
		p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
	}
	if f.request.IsolationLevel == 1 && r.code == 0 {
		p.AbortedTransactions = make([]kmsg.FetchResponseTopicPartitionAbortedTransaction, 0, len(r.aborted))
		for _, a := range r.aborted {
			t := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
			t.ProducerID, t.FirstOffset = a.ProducerID, int64(a.FirstOffset)
			p.AbortedTransactions = append(p.AbortedTransactions, t)
		}
	}
	if f.version >= 16 && (r.code == kerr.NotLeaderForPartition.Code ||
		r.code == kerr.FencedLeaderEpoch.Code) && r.leader != event.NoNode {
		p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int32(r.leader), int32(r.epoch)
		f.b.hintFetchLeader(response, r.leader)
	}
	response.Topics[last].Partitions = append(response.Topics[last].Partitions, p)
	out.Records = append(out.Records, r.records)
}

func (b *Broker) hintFetchLeader(response *kmsg.FetchResponse, leader event.NodeID) {
	for _, listed := range response.Brokers {
		if listed.NodeID == int32(leader) {
			return
		}
	}
	if broker := b.metadata.image.Broker(leader); broker != nil {
		if at, ok := broker.Endpoint(ListenerName); ok {
			node := kmsg.NewFetchResponseBroker()
			node.NodeID, node.Host, node.Port = int32(leader), at.Host, int32(at.Port)
			response.Brokers = append(response.Brokers, node)
		}
	}
}

func keyOf(w *wanted) replica.PartitionKey {
	return replica.PartitionKey{Topic: w.topic, Index: w.index}
}
