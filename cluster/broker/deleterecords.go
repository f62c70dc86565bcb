package broker

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/world"
)

// DeleteRecords, versions 0 to 2: the leader moves the log start offset, followers learn of it with
// their fetches, and the answer waits until the replicas on living brokers have all followed. -1
// stands for the high watermark. The segments below go with the next retention pass.

// deleteWait is a DeleteRecords that waits for low watermarks.
type deleteWait struct {
	pendingWait
	b        *Broker
	call     *world.Call
	response *kmsg.DeleteRecordsResponse
	parts    []deletePart
}

// deletePart is one partition of a waiting DeleteRecords.
type deletePart struct {
	h          *held
	topic, row int
	index      int // among those that were waited for
	needs      event.Offset
}

const toHighWatermark = -1

func (b *Broker) deleteRecords(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.DeleteRecordsRequest)
	response := kmsg.NewPtrDeleteRecordsResponse()
	response.Version = r.Version
	w := &deleteWait{b: b, call: call, response: response}
	w.waiter = w
	var needs []event.WaitBegan
	for i := range body.Topics {
		t := kmsg.NewDeleteRecordsResponseTopic()
		t.Topic = body.Topics[i].Topic
		for j := range body.Topics[i].Partitions {
			asked := &body.Topics[i].Partitions[j]
			p := kmsg.NewDeleteRecordsResponseTopicPartition()
			p.Partition, p.LowWatermark = asked.Partition, -1
			h := b.held(t.Topic, asked.Partition)
			to, code := b.moveLogStart(t.Topic, h, asked)
			p.ErrorCode = code
			if code == 0 {
				p.LowWatermark = int64(b.lowWatermark(h))
			}
			if code == 0 && event.Offset(p.LowWatermark) < to {
				needs = append(needs, event.WaitBegan{What: "delete-records", For: call.From,
					Topic: t.Topic, Partition: p.Partition, Needs: to, Request: requestOf(call)})
				w.parts = append(w.parts, deletePart{h, i, j, len(w.parts), to})
			}
			t.Partitions = append(t.Partitions, p)
		}
		response.Topics = append(response.Topics, t)
	}
	if len(w.parts) == 0 {
		w.answer("")
		return
	}
	b.deletions = append(b.deletions, w)
	b.waits.begin(&w.pendingWait, time.Duration(max(body.TimeoutMillis, 0))*time.Millisecond,
		needs...)
}

// moveLogStart deletes on the leader, and returns what the low watermark has to reach.
func (b *Broker) moveLogStart(topic string, h *held,
	asked *kmsg.DeleteRecordsRequestTopicPartition) (to event.Offset, code int16) {
	switch {
	case b.metadata.image.Partition(topic, asked.Partition) == nil:
		return 0, kerr.UnknownTopicOrPartition.Code
	case isInternal(topic):
		return 0, kerr.InvalidTopicException.Code
	case h == nil || !h.Leads():
		return 0, kerr.NotLeaderForPartition.Code
	case h.Log.Config().CleanupPolicy&commitlog.CleanupDelete == 0:
		return 0, kerr.PolicyViolation.Code
	}
	to = event.Offset(asked.Offset)
	if to == toHighWatermark {
		to = h.HighWatermark()
	}
	if to < 0 || to > h.HighWatermark() {
		return 0, kerr.OffsetOutOfRange.Code
	}
	if err := h.Log.AdvanceStart(to, event.RuleRetentionStartOffset); err != nil {
		b.failDisk("write", err)
		return 0, kerr.KafkaStorageError.Code
	}
	for _, id := range h.Replicas() {
		if s := b.followers[id]; s != nil {
			s.rose(h.Partition)
		}
	}
	return to, 0
}

// lowWatermark is the smallest log start offset of the replicas on living brokers, as far as their
// fetches told.
func (b *Broker) lowWatermark(h *held) event.Offset {
	low := h.Log.LogStartOffset()
	for _, id := range h.Replicas() {
		if id == b.env.ID() || !b.reachable(id) {
			continue
		}
		start := event.Offset(-1)
		if s := b.followers[id]; s != nil {
			if pos := s.positions[h.key]; pos != nil && pos.h == h {
				start = pos.LogStart
			}
		}
		low = min(low, start)
	}
	return low
}

// tryDeletions looks again after a follower fetched, or a broker or a partition changed.
func (b *Broker) tryDeletions() {
	for _, w := range slices.Clone(b.deletions) {
		w.try()
	}
}

func (w *deleteWait) try() {
	w.parts = slices.DeleteFunc(w.parts, func(part deletePart) bool {
		row := &w.response.Topics[part.topic].Partitions[part.row]
		if part.h.Removed() || !part.h.Leads() {
			row.ErrorCode, row.LowWatermark = kerr.NotLeaderForPartition.Code, -1
			w.b.waits.endOf(&w.pendingWait, part.index, event.ErrorName(kerr.NotLeaderForPartition.Code))
			return true
		}
		row.LowWatermark = int64(w.b.lowWatermark(part.h))
		if event.Offset(row.LowWatermark) < part.needs {
			return false
		}
		w.b.waits.endOf(&w.pendingWait, part.index, "satisfied")
		return true
	})
	if len(w.parts) == 0 {
		w.answer("satisfied")
	}
}

// expired, of waiter: the records are gone for readers, but not yet from every replica.
func (w *deleteWait) expired() {
	for _, part := range w.parts {
		row := &w.response.Topics[part.topic].Partitions[part.row]
		row.ErrorCode, row.LowWatermark = kerr.RequestTimedOut.Code, -1
	}
	w.answer("timed-out")
}

func (w *deleteWait) answer(outcome string) {
	b := w.b
	b.deletions = slices.DeleteFunc(b.deletions, func(x *deleteWait) bool { return x == w })
	b.waits.end(&w.pendingWait, outcome)
	var told []answered
	for i := range w.response.Topics {
		t := &w.response.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			told = append(told, answered{code: p.ErrorCode, topic: t.Topic, partition: p.Partition,
				offset: event.Offset(p.LowWatermark)})
		}
	}
	b.answer(w.call, w.response, told...)
}
