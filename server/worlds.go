package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"highwater/web"
)

// mainWorld is the id of the world that is always there.
const mainWorld = "main"

// worldKey is under what a request's context holds its world.
type worldKey struct{}

// worldOf is the world that findWorld found.
func worldOf(r *http.Request) World { return r.Context().Value(worldKey{}).(World) }

// errNoLessons is what a server without lessons answers.
var errNoLessons = errors.New("there are no lessons here")

func (s *Server) world(id string) (World, error) {
	switch {
	case id == mainWorld:
		return s.config.Main, nil
	case s.config.Lessons == nil:
		return World{}, &CommandError{Position: -1, Message: "there is no world " + clip(id),
			Hint: mainWorld}
	}
	return s.config.Lessons.World(id)
}

// findWorld finds the world that the path names.
func (s *Server) findWorld(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		world, err := s.world(chi.URLParam(r, "world"))
		if err != nil {
			writeError(w, http.StatusNotFound, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), worldKey{}, world)))
	})
}

// page is the page of a world: main, or the one that the query names.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	if !s.letIn(w, r) {
		return
	}
	id := r.URL.Query().Get("world")
	if id == "" {
		id = mainWorld
	}
	world, err := s.world(id)
	if err != nil {
		s.noWorld(w, err)
		return
	}
	s.render(w, r, web.Index(s.dress(r, world.Page())))
}

// lessonPage is the page of a scenario: in the world that the query names, or before there is one,
// since asking for a page opens none.
func (s *Server) lessonPage(w http.ResponseWriter, r *http.Request) {
	if !s.letIn(w, r) {
		return
	}
	if id := r.URL.Query().Get("world"); id != "" {
		world, err := s.world(id)
		switch {
		case err == nil:
			s.render(w, r, web.Index(s.dress(r, world.Page())))
		case s.hasLesson(chi.URLParam(r, "scenario")): // it begins again
			http.Redirect(w, r, r.URL.Path, http.StatusSeeOther)
		default:
			s.noWorld(w, err)
		}
		return
	}
	if s.config.Lessons == nil {
		s.noWorld(w, errNoLessons)
		return
	}
	p, err := s.config.Lessons.Page(chi.URLParam(r, "scenario"))
	if err != nil {
		s.noWorld(w, err)
		return
	}
	s.render(w, r, web.Index(s.dress(r, p)))
}

func (s *Server) hasLesson(scenario string) bool {
	if s.config.Lessons == nil {
		return false
	}
	_, err := s.config.Lessons.Page(scenario)
	return err == nil
}

func (s *Server) noWorld(w http.ResponseWriter, err error) {
	s.problem(w, web.Problem{Status: http.StatusNotFound, Title: "This world is not open",
		Detail: sentence(err.Error()) + " Lessons are opened from the cluster's page."})
}

func sentence(text string) string {
	return string(text[0]&^0x20) + text[1:] + "."
}

// letIn asks for a token where the page itself needs one, and leaves it with the browser. Whoever
// presents and looks at the viewers' link keeps the presenter's.
func (s *Server) letIn(w http.ResponseWriter, r *http.Request) bool {
	as := s.roleOf(r)
	if as == nobody {
		p := web.Problem{Status: http.StatusUnauthorized, Title: "A token is needed",
			Detail: "Open the address with the token that was printed when the server started."}
		if r.URL.Query().Has("token") {
			p.Title = "This link is not valid any more"
			p.Detail = "Each start of the server gives new ones: ask for the new one, or open " +
				"the address that was printed when the server started."
		}
		s.problem(w, p)
		return false
	}
	if !s.asksToken(r) || s.keptRole(r) >= as {
		return true
	}
	token := s.config.Token
	if as == viewer {
		token = s.config.ViewerToken
	}
	http.SetCookie(w, &http.Cookie{Name: tokenCookie, Value: token, Path: "/",
		HttpOnly: true, SameSite: http.SameSiteStrictMode})
	return true
}

func (s *Server) render(w http.ResponseWriter, r *http.Request, page templ.Component) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if err := page.Render(r.Context(), w); err != nil {
		s.config.Log.Debug("page not sent", "error", err)
	}
}

// readRequest reads a request's one JSON object; example is what it should look like. A body that is
// announced as too long, or that does not come, is not waited for, and its connection is closed.
func readRequest(w http.ResponseWriter, r *http.Request, into any, example string) bool {
	connection := http.NewResponseController(w)
	refuse := func(status int, message, hint string) bool {
		writeError(w, status, &CommandError{Position: -1, Message: message, Hint: hint})
		return false
	}
	if err := connection.SetReadDeadline(time.Now().Add(readBodyTimeout)); err != nil {
		return refuse(http.StatusInternalServerError, err.Error(), "")
	}
	long := &http.MaxBytesError{Limit: commandBytesMax}
	err := error(long)
	if r.ContentLength <= commandBytesMax {
		err = decodeOne(http.MaxBytesReader(w, r.Body, commandBytesMax), into)
	}
	switch {
	case errors.As(err, &long):
		w.Header().Set("Connection", "close")
		return refuse(http.StatusRequestEntityTooLarge,
			fmt.Sprintf("not a command: a request has at most %d bytes", long.Limit), "")
	case errors.Is(err, errMore):
		return refuse(http.StatusBadRequest, err.Error(), "")
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		return refuse(http.StatusRequestTimeout,
			fmt.Sprintf("not a command: its body did not come within %v", readBodyTimeout), "")
	case err != nil:
		return refuse(http.StatusBadRequest, "not a command: "+wordsOf(err), example)
	}
	if err := connection.SetReadDeadline(time.Time{}); err != nil {
		return refuse(http.StatusInternalServerError, err.Error(), "")
	}
	return true
}

var errMore = errors.New("one command at a time")

// decodeOne reads one JSON object, and that nothing follows it.
func decodeOne(body io.Reader, into any) error {
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	_, err := decoder.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return err
	}
	return errMore
}

// wordsOf tells an error of encoding/json without the names of its package and of Go's types.
func wordsOf(err error) string {
	var other *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return "there is no body"
	case errors.As(err, &other) && other.Field == "":
		return "an object is wanted, not " + other.Value
	case errors.As(err, &other):
		return other.Field + " cannot be " + other.Value
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

func (s *Server) lessons(w http.ResponseWriter, _ *http.Request) {
	if s.config.Lessons == nil {
		writeError(w, http.StatusNotFound, errNoLessons)
		return
	}
	writeJSON(w, http.StatusOK, s.config.Lessons.List())
}

func (s *Server) startLesson(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Scenario string `json:"scenario"`
	}
	if !readRequest(w, r, &request, `{"scenario":"kill-leader"}`) {
		return
	}
	if s.config.Lessons == nil {
		writeError(w, http.StatusNotFound, errNoLessons)
		return
	}
	id, err := s.config.Lessons.Start(request.Scenario)
	s.opened(w, request.Scenario, id, err)
}

// opened answers with a new world and the address of its page.
func (s *Server) opened(w http.ResponseWriter, scenario, id string, err error) {
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	writeJSON(w, http.StatusCreated, map[string]any{"world": id,
		"page": "/lesson/" + url.PathEscape(scenario) + "?world=" + url.QueryEscape(id)})
}

// lessonOf answers where a world has no lesson.
func lessonOf(w http.ResponseWriter, r *http.Request) (Lesson, bool) {
	if l := worldOf(r).Lesson; l != nil {
		return l, true
	}
	writeError(w, http.StatusNotFound, errors.New("this world belongs to no lesson"))
	return nil, false
}

func (s *Server) lesson(w http.ResponseWriter, r *http.Request) {
	if l, ok := lessonOf(w, r); ok {
		writeJSON(w, http.StatusOK, l.State())
	}
}

func (s *Server) nextStep(w http.ResponseWriter, r *http.Request) {
	request := struct {
		After *int `json:"after"`
	}{}
	l, ok := lessonOf(w, r)
	if !ok || !readRequest(w, r, &request, `{"after":3}`) {
		return
	}
	after := -1
	if request.After != nil {
		after = *request.After
	}
	state, err := l.Next(after)
	answerState(w, state, err)
}

func (s *Server) resetLesson(w http.ResponseWriter, r *http.Request) {
	l, ok := lessonOf(w, r)
	if !ok || !readRequest(w, r, &struct{}{}, `{}`) {
		return
	}
	state, err := l.Reset()
	answerState(w, state, err)
}

func answerState(w http.ResponseWriter, state any, err error) {
	if err != nil {
		writeError(w, http.StatusConflict, err)
		return
	}
	writeJSON(w, http.StatusOK, state)
}

func (s *Server) freePlay(w http.ResponseWriter, r *http.Request) {
	request := struct {
		After int `json:"after"`
	}{}
	l, ok := lessonOf(w, r)
	if !ok || !readRequest(w, r, &request, `{"after":3}`) {
		return
	}
	id, err := l.Free(request.After)
	s.opened(w, l.Scenario(), id, err)
}

// saved gives what was done in a world as a scenario's file.
func (s *Server) saved(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="saved.md"`)
	w.Header().Set("Cache-Control", "no-store")
	if _, err := w.Write(worldOf(r).Save()); err != nil {
		s.config.Log.Debug("scenario not sent", "error", err)
	}
}
