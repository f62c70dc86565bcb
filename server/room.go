package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
)

const (
	// roomFrameEvery is the least time between two frames about the room on one stream.
	roomFrameEvery = 100 * time.Millisecond
	// placeTextMax bounds the bytes of each text that tells where the presenter is.
	placeTextMax = 300
)

// place is where the presenter is: which moment of which world, and what is looked at.
type place struct {
	World string `json:"world"`
	// Page is the path of the world's page. The server fills it in: no presenter can send viewers
	// anywhere else.
	Page string `json:"page"`
	// Seq is the event after which the world is shown; empty for the newest.
	Seq       string `json:"seq"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// Follow is the followed record, nil for none.
	Follow *followed `json:"follow"`
	// Told says that the caption tells what matters, not each event.
	Told bool `json:"told"`
	// Away says that the presenter looks at something that viewers cannot see.
	Away bool `json:"away"`
}

// followed names one record.
type followed struct {
	Topic     string `json:"topic"`
	TopicID   string `json:"topicId"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Epoch     int32  `json:"epoch"`
	Key       string `json:"key"`
	// Seq is an event at which it was there.
	Seq int64 `json:"seq"`
	// Maker is the built-in producer that made it, nil if none did.
	Maker *struct {
		Node  int32  `json:"node"`
		Batch string `json:"batch"`
	} `json:"maker"`
}

// problem says what is wrong with a place, "" for nothing.
func (p *place) problem() string {
	texts := []string{p.World, p.Topic}
	if p.Follow != nil {
		texts = append(texts, p.Follow.Topic, p.Follow.TopicID, p.Follow.Key)
		if p.Follow.Maker != nil {
			texts = append(texts, p.Follow.Maker.Batch)
		}
	}
	for _, text := range texts {
		if len(text) > placeTextMax || !utf8.ValidString(text) {
			return "a name is longer than " + strconv.Itoa(placeTextMax) + " bytes"
		}
	}
	if _, err := strconv.ParseUint(p.Seq, 10, 64); p.Seq != "" && err != nil {
		return "seq is not the number of an event"
	}
	return ""
}

// room is who watches this server and where the presenter is. It belongs to no world, since the
// presenter goes from one to another and takes the viewers along.
type room struct {
	mu      sync.Mutex
	viewers int
	place   *place        // nil before a presenter's page said anything
	changed chan struct{} // closed at the next change
}

func newRoom() *room { return &room{changed: make(chan struct{})} }

// change does something to the room and wakes everybody who waits for news of it.
func (m *room) change(do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	do()
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *room) enter() { m.change(func() { m.viewers++ }) }

func (m *room) leave() { m.change(func() { m.viewers-- }) }

// now is the room at this moment, and what is closed when it is another.
func (m *room) now() (viewers int, p *place, changed <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.viewers, m.place, m.changed
}

// present takes where the presenter is.
func (s *Server) present(w http.ResponseWriter, r *http.Request) {
	var p place
	if !readRequest(w, r, &p, `{"world":"main","seq":"7","topic":"orders","partition":0}`) {
		return
	}
	if problem := p.problem(); problem != "" {
		writeError(w, http.StatusBadRequest, &CommandError{Position: -1, Message: problem})
		return
	}
	page, err := s.pageOf(p.World)
	if err != nil {
		writeError(w, http.StatusNotFound, err)
		return
	}
	p.Page = page
	s.room.change(func() { s.room.place = &p })
	viewers, _, _ := s.room.now()
	writeJSON(w, http.StatusOK, map[string]any{"ok": true, "viewers": viewers})
}

// pageOf is the path of a world's page.
func (s *Server) pageOf(id string) (string, error) {
	world, err := s.world(id)
	if err != nil {
		return "", err
	}
	page := "/"
	if world.Lesson != nil {
		page = "/lesson/" + url.PathEscape(world.Lesson.Scenario())
	}
	return page + "?world=" + url.QueryEscape(id), nil
}

// tellRoom writes to a stream what the room is, and again whenever it is another.
func (s *Server) tellRoom(ctx context.Context, conn *websocket.Conn, cancel func()) {
	defer cancel()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select { // at most so many frames a second, the newest wins
		case <-pause.C:
		case <-ctx.Done():
			return
		}
		viewers, p, changed := s.room.now()
		if err := s.write(ctx, conn, s.roomFrame(viewers, p)); err != nil {
			return
		}
		pause.Reset(roomFrameEvery)
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// roomFrame leaves out a place in a world that was closed meanwhile: nobody can go there.
func (s *Server) roomFrame(viewers int, p *place) []byte {
	if p != nil {
		if _, err := s.world(p.World); err != nil {
			p = nil
		}
	}
	// Numbers and texts can always be written.
	frame, _ := json.Marshal(struct {
		Type    string `json:"type"`
		Viewers int    `json:"viewers"`
		Place   *place `json:"place"`
	}{"room", viewers, p})
	return frame
}
