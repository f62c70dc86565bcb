package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"highwater/viz/hub"
	"highwater/web"
)

// Bounds of what a client may send or keep open.
const (
	headerBytesMax    = 16 << 10
	commandBytesMax   = 64 << 10
	readHeaderTimeout = 5 * time.Second
	readBodyTimeout   = 2 * time.Second
	idleTimeout       = 60 * time.Second
	// commandTimeout leaves a command the time to end by itself: a send has delivery.timeout.ms,
	// 120 s, and an administrative request default.api.timeout.ms, 60 s.
	commandTimeout = 130 * time.Second
)

// Commands runs the command language.
type Commands interface {
	// Command runs one command and returns, when it has ended, the newest event and a result that
	// JSON can carry. A *CommandError says what was wrong with the text.
	Command(ctx context.Context, text, by string) (seq uint64, result any, err error)
	// Help says, as a value that JSON can carry, what a line that is being written could become.
	Help(line string) (any, error)
}

// CommandError is a command that was not understood, or that failed.
type CommandError struct {
	Message  string
	Position int    // in the text, from 0; -1 when no place is at fault
	Hint     string // the nearest valid word, or what to do
}

func (e *CommandError) Error() string { return e.Message }

// Batches reads the bytes of one batch for the inspector.
type Batches interface {
	Batch(node int32, topic string, partition int32, offset int64) ([]byte, error)
}

// Files gives files by their path.
type Files interface {
	ReadFile(name string) ([]byte, error)
}

// World is one cluster with its time, as it is served.
type World struct {
	Hub *hub.Hub
	// Commands is nil where no commands are taken: a lesson runs its steps.
	Commands Commands
	Batches  Batches
	// Page is asked for anew with each load.
	Page func() web.Page
	// Save writes what was done in this world as a scenario.
	Save func() []byte
	// Lesson is nil where the world belongs to none.
	Lesson Lesson
}

// Lesson is the lesson of one world. Its states are values that JSON can carry.
type Lesson interface {
	Scenario() string
	State() any
	// Next runs one step; after is how many the asker believes to have run, negative for any.
	Next(after int) (state any, err error)
	Reset() (state any, err error)
	// Free opens another world in which free play begins after so many steps.
	Free(steps int) (world string, err error)
}

// Lessons opens worlds for scenarios.
type Lessons interface {
	// Start opens a world. A *CommandError says that there is no such scenario.
	Start(scenario string) (world string, err error)
	// World finds an open world; the error says why there is none.
	World(id string) (World, error)
	// List says where all open lessons stand, as a value that JSON can carry.
	List() any
	// Page is the page of a scenario for which no world is open yet.
	Page(scenario string) (web.Page, error)
}

// Config is what a server serves.
type Config struct {
	// Main is the world that outside Kafka clients talk to.
	Main World
	// Lessons opens and finds the other worlds; nil without any.
	Lessons Lessons
	// Ready lists why the main cluster does not serve yet.
	Ready func() []string
	// Token is needed for every change. The page carries it.
	Token string
	// ViewerToken lets look and nothing else; empty for none.
	ViewerToken string
	// AskToken makes the page itself need the token, as for any address that is not loopback.
	AskToken bool
	// Hosts are further names, beside the loopback ones, under which the server may be reached.
	Hosts []string
	// Static are the files below /static/.
	Static Files
	Log    *slog.Logger
}

// Server is one HTTP server. Close ends its streams.
type Server struct {
	config Config
	http   *http.Server
	cancel context.CancelFunc
	// streams counts the open ones, of viewers and presenters.
	streams atomic.Int64
	room    *room
}

// New prepares a server; Serve runs it.
func New(config Config) *Server {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{config: config, cancel: cancel, room: newRoom()}
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: headerBytesMax,
		ErrorLog:    slog.NewLogLogger(config.Log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return ctx }}
	return s
}

// Serve answers on the listener until Close.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close ends all connections, streams too.
func (s *Server) Close() error {
	s.cancel()
	return s.http.Close()
}

// Handler is what Serve answers with.
func (s *Server) Handler() http.Handler { return s.http.Handler }

func (s *Server) routes() http.Handler {
	r := chi.NewRouter()
	r.Use(s.checkHost, harden, middleware.GetHead)
	r.Get("/", s.page)
	r.Get("/lesson/{scenario}", s.lessonPage)
	r.Get("/healthz", s.healthz)
	r.Get("/readyz", s.readyz)
	r.Get("/metrics", s.metrics)
	r.Method(http.MethodGet, "/static/*", http.StripPrefix("/static/", s.static()))
	r.With(s.checkReader).Get("/api/lessons", s.lessons)
	r.With(s.checkReader, s.checkMutation).Post("/api/lessons", s.startLesson)
	r.With(s.checkReader, s.checkMutation).Post("/api/room", s.present)
	r.Route("/api/worlds/{world}", func(r chi.Router) {
		r.Use(s.checkReader)
		r.Get("/events", s.events)
		r.Group(s.ofWorld)
	})
	r.NotFound(s.nothingHere)
	return r
}

// nothingHere answers programs in JSON and people with a page.
func (s *Server) nothingHere(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		writeError(w, http.StatusNotFound, fmt.Errorf("nothing is at %s: the paths are "+
			"/api/lessons, /api/room and those under /api/worlds/main", clip(r.URL.Path)))
		return
	}
	s.problem(w, web.Problem{Status: http.StatusNotFound, Title: "Nothing is here",
		Detail: "The cluster's page is at /."})
}

// ofWorld are the routes that need their world to be there.
func (s *Server) ofWorld(r chi.Router) {
	r.Use(s.findWorld)
	r.Get("/state", s.state)
	r.Get("/trace", s.trace)
	r.Get("/violations", s.violations)
	r.Get("/batch", s.batch)
	r.Get("/help", s.help)
	r.Get("/why", s.why)
	r.Get("/passport", s.passport)
	r.Get("/scenario", s.saved)
	r.Get("/lesson", s.lesson)
	r.Group(func(r chi.Router) {
		r.Use(s.checkMutation)
		r.Post("/commands", s.commands)
		r.Post("/steps/next", s.nextStep)
		r.Post("/reset", s.resetLesson)
		r.Post("/free", s.freePlay)
	})
}

func (s *Server) isStatic(name string) bool {
	_, err := s.config.Static.ReadFile(name)
	return err == nil
}

// static serves a file with a tag of its content, so that a page that is loaded again fetches only
// what has changed.
func (s *Server) static() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := s.config.Static.ReadFile(r.URL.Path)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		if name := r.URL.Path + ".map"; s.isStatic(name) {
			w.Header().Set("SourceMap", "/static/"+name)
		}
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(text)))
		http.ServeContent(w, r, r.URL.Path, time.Time{}, bytes.NewReader(text))
	})
}
