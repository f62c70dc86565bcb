package broker

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/partition"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

// WriteTxnMarkers, versions 1 and 2, of transaction coordinators and of administrators who end a
// transaction that hangs. Answered when the markers are under the high watermark. An epoch that is
// too old is INVALID_PRODUCER_EPOCH, also where Kafka did not foresee it.

func (b *Broker) writeTxnMarkers(call *world.Call, r *Request) {
	b.takeMarkers(r.Body.(*kmsg.WriteTxnMarkersRequest), func(response kmsg.Response) {
		response.SetVersion(r.Version)
		b.answer(call, response, answered{})
	})
}

// markersWait is a WriteTxnMarkers that waits for high watermarks.
type markersWait struct {
	pendingWait
	b        *Broker
	response *kmsg.WriteTxnMarkersResponse
	parts    []*markerPart
	open     int
	ended    bool
	reply    func(kmsg.Response)
}

// markerPart is one partition of it.
type markerPart struct {
	wait               *markersWait
	p                  *partition.Partition
	marker, topic, row int
	index              int // among the parts
	passed             bool
}

func (b *Broker) takeMarkers(body *kmsg.WriteTxnMarkersRequest, reply func(kmsg.Response)) {
	w := &markersWait{b: b, response: kmsg.NewPtrWriteTxnMarkersResponse(), reply: reply}
	w.waiter = w
	w.response.Version = body.Version
	w.response.Markers = make([]kmsg.WriteTxnMarkersResponseMarker, len(body.Markers))
	var waits []event.WaitBegan
	for i := range body.Markers {
		asked, out := &body.Markers[i], &w.response.Markers[i]
		out.ProducerID = asked.ProducerID
		for j, t := range asked.Topics {
			out.Topics = append(out.Topics, kmsg.WriteTxnMarkersResponseMarkerTopic{Topic: t.Topic})
			for k, index := range t.Partitions {
				row := kmsg.WriteTxnMarkersResponseMarkerTopicPartition{Partition: index}
				needs, code := b.appendMarker(asked, t.Topic, index)
				row.ErrorCode = code
				out.Topics[j].Partitions = append(out.Topics[j].Partitions, row)
				h := b.held(t.Topic, index)
				if code != 0 || h.HighWatermark() >= needs {
					continue
				}
				part := &markerPart{wait: w, p: h.Partition, marker: i, topic: j, row: k,
					index: len(w.parts)}
				h.WaitForHighWatermark(needs, part)
				w.parts = append(w.parts, part)
				w.open++
				waits = append(waits, event.WaitBegan{What: "marker", For: b.env.ID(), Topic: t.Topic,
					Partition: index, Needs: needs})
			}
		}
	}
	if w.open == 0 {
		reply(w.response)
		return
	}
	b.waits.begin(&w.pendingWait, brokerRequestTimeout, waits...)
}

// appendMarker ends a transaction on one partition. needs is the high watermark that commits it.
func (b *Broker) appendMarker(asked *kmsg.WriteTxnMarkersRequestMarker, topic string, index int32) (
	needs event.Offset, code int16) {
	h := b.held(topic, index)
	switch {
	case b.metadata.image.Partition(topic, index) == nil:
		return 0, kerr.UnknownTopicOrPartition.Code
	case h == nil || !h.Leads():
		return 0, kerr.NotLeaderForPartition.Code
	case asked.ProducerID < 0 || asked.ProducerEpoch < 0:
		return 0, kerr.InvalidProducerEpoch.Code
	}
	appended, err := h.AppendMarker(record.Marker{Commit: asked.Committed,
		ProducerID: asked.ProducerID, ProducerEpoch: asked.ProducerEpoch,
		CoordinatorEpoch: asked.CoordinatorEpoch, TimestampMs: b.env.UnixMilli()},
		asked.TransactionVersion)
	if err != nil {
		if code := logRefusal(err); code != 0 {
			return 0, code
		}
		b.failDisk("append", err)
		return 0, kerr.KafkaStorageError.Code
	}
	b.groups.appendedMarker(h, asked.ProducerID, asked.Committed, appended.LastOffset)
	return appended.LastOffset + 1, 0
}

// logRefusal is the code of an error with which a log refuses a batch, 0 for any other error.
func logRefusal(err error) int16 {
	var refused *commitlog.AppendError
	var producer *commitlog.ProducerError
	switch {
	case errors.As(err, &refused):
		return refused.Code
	case errors.As(err, &producer):
		return producer.Code
	}
	return 0
}

// Passed, of partition.Waiter: the marker is committed, or never will be under this leader.
func (part *markerPart) Passed(_ *partition.Partition, code int16) {
	w := part.wait
	if w.ended {
		return
	}
	part.passed, part.answer().ErrorCode = true, code
	if w.open--; w.open == 0 {
		w.answer("satisfied")
		return
	}
	w.b.waits.endOf(&w.pendingWait, part.index, "satisfied")
}

func (part *markerPart) answer() *kmsg.WriteTxnMarkersResponseMarkerTopicPartition {
	return &part.wait.response.Markers[part.marker].Topics[part.topic].Partitions[part.row]
}

// expired, of waiter: the markers stay, and whoever asked asks again.
func (w *markersWait) expired() {
	for _, part := range w.parts {
		part.p.Forget(part)
		if !part.passed {
			part.answer().ErrorCode = kerr.RequestTimedOut.Code
		}
	}
	w.answer("timed-out")
}

func (w *markersWait) answer(outcome string) {
	w.ended = true
	w.b.waits.end(&w.pendingWait, outcome)
	w.reply(w.response)
}
