package server

import (
	"context"
	"net/http"
	"time"

	"github.com/coder/websocket"
	"github.com/go-chi/chi/v5"
)

const (
	streamReadMax      = 32 << 10
	streamWriteTimeout = 5 * time.Second
	streamPing         = 20 * time.Second
	// streamsMax bounds the pages that follow a world at one time, of all worlds together.
	streamsMax = 1000
)

// events streams frames to one viewer. What a viewer sends is read only to notice that it is gone.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	if !sameOrigin(r) {
		http.Error(w, "highwater: websockets are taken only from this server's own page",
			http.StatusForbidden)
		return
	}
	from, err := seqOf(r, "from", 0)
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	world, gone := s.world(chi.URLParam(r, "world"))
	if gone != nil && s.roleOf(r) != viewer {
		writeError(w, http.StatusNotFound, gone)
		return
	}
	if s.streams.Add(1) > streamsMax {
		s.streams.Add(-1)
		http.Error(w, "highwater: too many viewers", http.StatusServiceUnavailable)
		return
	}
	defer s.streams.Add(-1)
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		s.config.Log.Debug("websocket refused", "error", err)
		return
	}
	defer conn.CloseNow()
	if gone != nil {
		s.tellWhere(r.Context(), conn)
		return
	}
	conn.SetReadLimit(streamReadMax)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	ctx = conn.CloseRead(ctx)
	go s.ping(ctx, conn, cancel)
	if s.roleOf(r) == viewer {
		s.room.enter()
		defer s.room.leave()
	}
	go s.tellRoom(ctx, conn, cancel)
	stream := world.Hub.Watch(from, r.URL.Query().Get("run"))
	defer stream.Close()
	for {
		frame, err := stream.Next(ctx)
		if err != nil {
			conn.Close(websocket.StatusGoingAway, "this world is closed")
			return
		}
		if err := s.write(ctx, conn, frame); err != nil {
			return
		}
	}
}

// tellWhere tells a viewer whose world is gone, as after a restart in a lesson, where the presenter
// is, and ends the stream.
func (s *Server) tellWhere(ctx context.Context, conn *websocket.Conn) {
	viewers, p, _ := s.room.now()
	if err := s.write(ctx, conn, s.roomFrame(viewers, p)); err != nil {
		return
	}
	conn.Close(websocket.StatusGoingAway, "this world is gone")
}

// write sends one frame; a viewer that does not take it in time is let go and may come back.
func (s *Server) write(ctx context.Context, conn *websocket.Conn, frame []byte) error {
	ctx, cancel := context.WithTimeout(ctx, streamWriteTimeout)
	defer cancel()
	return conn.Write(ctx, websocket.MessageText, frame)
}

func (s *Server) ping(ctx context.Context, conn *websocket.Conn, cancel func()) {
	ticker := time.NewTicker(streamPing)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if conn.Ping(ctx) != nil {
				cancel()
				return
			}
		}
	}
}
