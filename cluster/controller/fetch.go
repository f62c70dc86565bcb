package controller

import (
	"slices"
	"time"

	"highwater/cluster/event"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

// metadataFetchBytesMax bounds the batches of one answer, as Kafka's quorum does.
const metadataFetchBytesMax = 8 << 20

// MetadataFetch is how a broker follows the metadata log.
type MetadataFetch struct {
	Replica event.NodeID
	// Epoch is the newest term of a leader that the replica has heard of.
	Epoch event.Epoch
	// From is the offset of the next record that the replica wants, LastEpoch the epoch of the
	// record before it, HighWatermark what it knows to be committed.
	From          event.Offset
	LastEpoch     event.Epoch
	HighWatermark event.Offset
	// WaitMax is how long to wait for news.
	WaitMax time.Duration
}

// MetadataFetched answers a MetadataFetch with what is committed from there on. With Diverging
// there are no batches: the replica's log took another way and must be cut first.
type MetadataFetched struct {
	Leader        event.NodeID
	Epoch         event.Epoch
	HighWatermark event.Offset
	Batches       []record.Buffer
	Diverging     *EpochEnd
	from          event.Offset
}

// EpochEnd is where an epoch of the leader's log ends.
type EpochEnd struct {
	Epoch     event.Epoch
	EndOffset event.Offset
}

// Describe says what the message asks for; a fetch is never news.
func (f *MetadataFetch) Describe(sent *event.MessageSent) {
	sent.Topic, sent.Offset, sent.HighWatermark = metadataTopic, f.From, f.HighWatermark
	sent.Idle = true
}

// Describe says what the answer carries; without records it is idle.
func (f *MetadataFetched) Describe(sent *event.MessageSent) {
	sent.Topic, sent.Offset, sent.HighWatermark = metadataTopic, f.from, f.HighWatermark
	for _, b := range f.Batches {
		if h, err := record.ParseHeader(b.Bytes); err == nil {
			sent.Records += h.RecordsCount
		}
		sent.Bytes += int32(len(b.Bytes))
	}
	sent.Idle = len(f.Batches) == 0 && f.Diverging == nil
}

// waitingFetch is a fetch that has nothing new to answer yet.
type waitingFetch struct {
	call    *world.Call
	request *MetadataFetch
	timer   *world.Timer
}

// observer is what the active controller knows of a broker's copy of the metadata log.
type observer struct {
	logEnd     event.Offset
	fetchedAt  int64 // unix ms
	caughtUpAt int64
}

// fetch answers at once if there is news for the replica, and otherwise when there is, or when
// its time has passed. A replica that knows of a newer leader gets nothing (UNKNOWN_LEADER_EPOCH).
func (a *active) fetch(call *world.Call, f *MetadataFetch) {
	if f.Epoch > event.Epoch(a.c.term) {
		call.Reply(&NotController{Leader: event.NoNode})
		return
	}
	a.observe(f)
	answer := a.answerFetch(f)
	if len(answer.Batches) > 0 || answer.Diverging != nil || f.WaitMax <= 0 ||
		answer.HighWatermark > f.HighWatermark {
		call.Reply(answer)
		return
	}
	w := &waitingFetch{call: call, request: f}
	w.timer = a.c.env.AfterQuiet("metadata-fetch", f.WaitMax, func() {
		a.fetches = slices.DeleteFunc(a.fetches, func(o *waitingFetch) bool { return o == w })
		call.Reply(a.answerFetch(f))
	})
	a.fetches = append(a.fetches, w)
}

func (a *active) answerFetch(f *MetadataFetch) *MetadataFetched {
	answer := &MetadataFetched{Leader: a.c.env.ID(), Epoch: event.Epoch(a.c.term),
		HighWatermark: a.committedEnd, from: f.From}
	if f.From > 0 {
		epoch, end, ok := a.c.store.endOffsetForEpoch(f.LastEpoch)
		if !ok || epoch != f.LastEpoch || end < f.From {
			answer.Diverging = &EpochEnd{Epoch: epoch, EndOffset: end}
			return answer
		}
	}
	answer.Batches = a.c.store.read(f.From, a.committedEnd, metadataFetchBytesMax)
	return answer
}

// answerFetches wakes all that wait: the high watermark has moved.
func (a *active) answerFetches() {
	waiting := a.fetches
	a.fetches = nil
	for _, w := range waiting {
		w.timer.Stop()
		w.call.Reply(a.answerFetch(w.request))
	}
}

func (a *active) observe(f *MetadataFetch) {
	o := a.observers[f.Replica]
	if o == nil {
		o = &observer{caughtUpAt: -1}
		a.observers[f.Replica] = o
	}
	o.logEnd, o.fetchedAt = f.From, a.c.env.UnixMilli()
	if f.From >= a.committedEnd {
		o.caughtUpAt = o.fetchedAt
	}
}
