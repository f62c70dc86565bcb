package server

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"highwater/cluster/event"
	"highwater/viz/explain"
	"highwater/viz/hub"
)

// why answers why a value is what it is at an event, and why it has not moved yet.
func (s *Server) why(w http.ResponseWriter, r *http.Request) {
	h, at, ok := momentOf(w, r)
	if !ok {
		return
	}
	q := r.URL.Query()
	partition, err := numberOf(q, "partition", 32)
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	answer, err := explain.Why(h, explain.Question{Of: q.Get("of"), Topic: q.Get("topic"),
		Partition: int32(partition), At: at})
	if err != nil {
		writeError(w, explainStatus(err), err)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

// passport tells the way of one record up to an event; the record is named by its place, or by its
// key, of which the newest record is meant.
func (s *Server) passport(w http.ResponseWriter, r *http.Request) {
	h, at, ok := momentOf(w, r)
	if !ok {
		return
	}
	of, err := recordOf(h, r.URL.Query(), at)
	if err == nil {
		var told *explain.Passport
		if told, err = explain.PassportOf(h, of, at); err == nil {
			writeJSON(w, http.StatusOK, told)
			return
		}
	}
	writeError(w, explainStatus(err), err)
}

// momentOf reads which event a question is about, the newest without one.
func momentOf(w http.ResponseWriter, r *http.Request) (*hub.Hub, event.Seq, bool) {
	h := worldOf(r).Hub
	_, last := h.Range()
	at, err := seqOf(r, "at", last)
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return nil, 0, false
	}
	return h, at, true
}

// questionError is a query that names nothing.
type questionError struct{ error }

func recordOf(h *hub.Hub, q url.Values, at event.Seq) (explain.Record, error) {
	if key := q.Get("key"); key != "" {
		return explain.Find(h, key, at)
	}
	of := explain.Record{Topic: q.Get("topic"), TopicID: q.Get("topicId"), Epoch: explain.AnyEpoch}
	partition, err := numberOf(q, "partition", 32)
	offset, err2 := numberOf(q, "offset", 64)
	err = errors.Join(err, err2)
	of.Partition, of.Offset = int32(partition), event.Offset(offset)
	if q.Get("epoch") != "" {
		epoch, err3 := numberOf(q, "epoch", 32)
		err = errors.Join(err, err3)
		of.Epoch = event.Epoch(epoch)
	}
	return of, err
}

func numberOf(q url.Values, name string, bits int) (int64, error) {
	v, err := strconv.ParseInt(q.Get(name), 10, bits)
	if err != nil {
		return 0, questionError{fmt.Errorf("%s=%s is not a number", name, clip(q.Get(name)))}
	}
	return v, nil
}

func explainStatus(err error) int {
	var unknown *explain.UnknownError
	var question questionError
	switch {
	case errors.As(err, &question):
		return http.StatusBadRequest
	case errors.As(err, &unknown):
		return http.StatusNotFound
	}
	return statusOf(err)
}
