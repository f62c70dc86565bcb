package server

import (
	"encoding/json"
	"net/http"
	"testing"

	"highwater/cluster/event"
)

func TestQuestionsAreAnsweredFromTheRecording(t *testing.T) {
	server, _, h := serve(t, nil)
	log, now := event.NewLog(), int64(0)
	em := event.NewEmitter(log, &now, 1)
	event.NodeStarted{Role: "broker", Incarnation: 1}.Emit(em, 0)
	event.PartitionChanged{Topic: "orders", Leader: 1, LeaderBefore: -1, Replicas: []event.NodeID{1},
		Isr: []event.NodeID{1}}.Emit(em, 0)
	event.BecameLeader{Topic: "orders", Isr: []event.NodeID{1}, MinIsr: 1}.Emit(em, 0)
	event.BatchAppended{Topic: "orders", LastOffset: 0, Records: 1, Leader: true}.Emit(em, 0)
	event.RecordDescribed{Topic: "orders", Key: "order-3", KeyBytes: 7}.Emit(em, 0)
	event.HighWatermarkMoved{Topic: "orders", After: 1}.Emit(em, event.RuleHighWatermarkMinOfIsr)
	h.Publish(log.Swap(&event.Chunk{}))
	const world = "/api/worlds/main"
	for path, want := range map[string]int{
		"/why?of=hw&topic=orders&partition=0":            http.StatusOK,
		"/why?of=hw&topic=orders&partition=0&at=4":       http.StatusOK,
		"/why?of=hw&topic=orders&partition=x":            http.StatusBadRequest,
		"/why?of=hw&topic=orders&partition=0&at=y":       http.StatusBadRequest,
		"/why?of=tea&topic=orders&partition=0":           http.StatusNotFound,
		"/why?of=hw&topic=payments&partition=0":          http.StatusNotFound,
		"/why?of=hw&topic=orders&partition=0&at=99":      http.StatusNotFound,
		"/passport?key=order-3":                          http.StatusOK,
		"/passport?key=order-4":                          http.StatusNotFound,
		"/passport?topic=orders&partition=0&offset=zero": http.StatusBadRequest,
	} {
		if status, body := ask(t, server, "GET", world+path, "", nil); status != want {
			t.Errorf("%s: %d %s; want %d", path, status, body, want)
		}
	}
	for path, want := range map[string]string{
		"/passport?topic=orders&partition=0&offset=0":      "committed",
		"/passport?topic=orders&partition=0&offset=0&at=5": "not yet",
	} {
		_, body := ask(t, server, "GET", world+path, "", nil)
		var told struct{ Fate string }
		if err := json.Unmarshal([]byte(body), &told); err != nil || told.Fate != want {
			t.Errorf("%s: %v %s; want the fate %q", path, err, body, want)
		}
	}
}
