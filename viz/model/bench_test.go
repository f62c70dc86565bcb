package model

import (
	"testing"

	"highwater/cluster/event"
)

// floodChunk is one produced batch of a three-replica topic, as the engine tells it: a request,
// three appends, two fetches with their answers, and the high watermark on three nodes.
func floodChunk(log *event.Log, i int64) *event.Chunk {
	now := i * 25000
	em := map[event.NodeID]*event.Emitter{}
	for id := event.NodeID(1); id <= 3; id++ {
		em[id] = event.NewEmitter(log, &now, id)
	}
	p, o, id := int32(i%6), event.Offset(i/6), i*10
	batch := event.BatchAppended{Topic: "orders", Partition: p, BaseOffset: o, LastOffset: o,
		Records: 1, Bytes: 200, Leader: true}
	event.RequestReceived{Connection: event.FirstOutside, Request: i, API: "Produce", Topic: "orders",
		Partition: p, Records: 1, Acks: -1}.Emit(em[1], 0)
	batch.Emit(em[1], 0)
	event.WaitBegan{Wait: id, What: "produce", Topic: "orders", Partition: p, Needs: o}.Emit(em[1], 0)
	for f := event.NodeID(2); f <= 3; f++ {
		event.MessageSent{Message: id + int64(f), To: 1, API: "Fetch", Topic: "orders"}.Emit(em[f], 0)
		event.MessageDelivered{Message: id + int64(f), From: f}.Emit(em[1], 0)
		event.ReplicaFetched{Topic: "orders", Partition: p, Replica: f, Offset: o + 1}.Emit(em[1], 0)
		event.MessageSent{Message: id + 4 + int64(f), To: f, API: "Fetch", Topic: "orders"}.Emit(em[1], 0)
		event.MessageDelivered{Message: id + 4 + int64(f), From: 1}.Emit(em[f], 0)
		batch.Emit(em[f], 0)
		event.HighWatermarkMoved{Topic: "orders", Partition: p, After: o}.Emit(em[f], 0)
	}
	event.HighWatermarkMoved{Topic: "orders", Partition: p, After: o + 1}.Emit(em[1], 0)
	event.WaitEnded{Wait: id}.Emit(em[1], 0)
	event.ResponseSent{Connection: event.FirstOutside, Request: i, API: "Produce"}.Emit(em[1], 0)
	return log.Swap(&event.Chunk{})
}

func floodChunks(n int) []*event.Chunk {
	log := event.NewLog()
	chunks := make([]*event.Chunk, n)
	for i := range chunks {
		chunks[i] = floodChunk(log, int64(i))
	}
	return chunks
}

func floodedState() (*State, []*event.Chunk) {
	s := New()
	now := int64(0)
	log := event.NewLog()
	event.ClientConnected{Connection: event.FirstOutside}.Emit(event.NewEmitter(log, &now, 1), 0)
	s.ApplyChunk(log.Swap(&event.Chunk{}))
	chunks := floodChunks(4096)
	for _, c := range chunks {
		s.ApplyChunk(c)
	}
	return s, chunks
}

func BenchmarkApply(b *testing.B) {
	s, chunks := floodedState()
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		c := chunks[n/len(chunks[0].Records)%len(chunks)]
		s.Apply(c, &c.Records[n%len(c.Records)])
		n++
	}
}

func BenchmarkClone(b *testing.B) {
	s, _ := floodedState()
	b.ReportAllocs()
	for b.Loop() {
		s.Clone()
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	s, _ := floodedState()
	text := s.AppendJSON(nil)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		text = s.AppendJSON(text[:0])
	}
}
