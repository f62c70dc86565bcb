package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"highwater/cluster/event"
	"highwater/viz/hub"
)

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"ok": true})
}

func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	reasons := s.config.Ready()
	if len(reasons) > 0 {
		writeJSON(w, http.StatusServiceUnavailable, map[string]any{"ready": false, "reasons": reasons})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"ready": true})
}

// seqOf reads a sequence number from the query, or takes the default.
func seqOf(r *http.Request, name string, otherwise event.Seq) (event.Seq, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s=%s is not the number of an event", name, clip(text))
	}
	return event.Seq(v), nil
}

func (s *Server) state(w http.ResponseWriter, r *http.Request) {
	_, last := worldOf(r).Hub.Range()
	at, err := seqOf(r, "at", last)
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	state, err := worldOf(r).Hub.State(at)
	if err != nil {
		writeError(w, statusOf(err), err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(state.AppendJSON(nil)); err != nil {
		s.config.Log.Debug("state not sent", "error", err)
	}
}

// violations lists the promises that the world has broken, with the events that broke them.
func (s *Server) violations(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"violations": worldOf(r).Hub.Violations()})
}

func statusOf(err error) int {
	var gone *hub.NotKeptError
	if errors.As(err, &gone) {
		return http.StatusNotFound
	}
	return http.StatusInternalServerError
}

func (s *Server) trace(w http.ResponseWriter, r *http.Request) {
	first, last := worldOf(r).Hub.Range()
	from, err := seqOf(r, "from", first)
	to, err2 := seqOf(r, "to", last)
	if err = errors.Join(err, err2); err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	if from < first || to > last || from > to {
		writeError(w, http.StatusNotFound,
			fmt.Errorf("events %d to %d are kept, not %d to %d", first, last, from, to))
		return
	}
	w.Header().Set("Content-Type", "application/jsonl")
	name := "highwater-" + chi.URLParam(r, "world")
	if q := r.URL.Query(); q.Has("from") || q.Has("to") {
		name += fmt.Sprintf("-%d-%d", from, to)
	}
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`.trace.jsonl"`)
	if err := worldOf(r).Hub.WriteTrace(w, from, to); err != nil {
		s.config.Log.Debug("trace not sent whole", "error", err)
	}
}

type commandRequest struct {
	Command string `json:"command"`
}

// help says what a line that is being written in the command bar could become.
func (s *Server) help(w http.ResponseWriter, r *http.Request) {
	world, line := worldOf(r), r.URL.Query().Get("line")
	if world.Commands == nil || len(line) > commandBytesMax {
		writeJSON(w, http.StatusOK, map[string]any{"words": []any{}})
		return
	}
	help, err := world.Commands.Help(line)
	if err != nil {
		writeError(w, http.StatusServiceUnavailable, err)
		return
	}
	writeJSON(w, http.StatusOK, help)
}

func (s *Server) commands(w http.ResponseWriter, r *http.Request) {
	world := worldOf(r)
	if world.Commands == nil {
		writeError(w, http.StatusConflict, &CommandError{Position: -1,
			Message: "a lesson runs its own steps", Hint: "free play gives you the controls"})
		return
	}
	var request commandRequest
	if !readRequest(w, r, &request, `{"command":"kill 3"}`) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), commandTimeout)
	defer cancel()
	seq, result, err := world.Commands.Command(ctx, request.Command, "page")
	if err != nil {
		status := http.StatusBadRequest
		if errors.Is(err, context.DeadlineExceeded) {
			status = http.StatusGatewayTimeout
		}
		writeError(w, status, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"ok": true,
		"seq": strconv.FormatUint(seq, 10), "result": result})
}

func (s *Server) batch(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var numbers [3]int64
	for i, name := range []string{"node", "partition", "offset"} {
		bits := 32
		if name == "offset" {
			bits = 64
		}
		v, err := strconv.ParseInt(q.Get(name), 10, bits)
		if err != nil {
			writeError(
				w,
				http.StatusBadRequest,
				fmt.Errorf("%s=%s is not a number of %d bits", name, clip(q.Get(name)), bits),
			)
			return
		}
		numbers[i] = v
	}
	world, topic := worldOf(r), q.Get("topic")
	raw, err := world.Batches.Batch(int32(numbers[0]), topic, int32(numbers[1]), numbers[2])
	if id := q.Get("topicId"); err == nil && id != "" {
		if world.Hub.TopicID(topic) != id {
			err = fmt.Errorf("the topic %s is another one by now; this one's logs are deleted", topic)
		}
	}
	if err != nil {
		writeError(w, http.StatusNotFound, err)
		return
	}
	view, err := viewBatch(raw)
	if err != nil {
		writeError(w, http.StatusInternalServerError, err)
		return
	}
	view.Bytes = base64.StdEncoding.EncodeToString(raw)
	writeJSON(w, http.StatusOK, view)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// An error here is a client that went away: there is nobody to tell.
	_ = json.NewEncoder(w).Encode(v)
}

func writeError(w http.ResponseWriter, status int, err error) {
	answer := map[string]any{"error": err.Error()}
	var command *CommandError
	if errors.As(err, &command) {
		if command.Position >= 0 {
			answer["position"] = command.Position
		}
		if command.Hint != "" {
			answer["hint"] = command.Hint
		}
	}
	writeJSON(w, status, answer)
}
