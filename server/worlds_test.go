package server

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"highwater/viz/hub"
	"highwater/web"
)

// lessons has one lesson, and counts what changed it.
type lessons struct {
	hub     *hub.Hub
	changes int
}

func (l *lessons) Start(scenario string) (string, error) {
	if scenario != "kill-leader" {
		return "", &CommandError{Message: "there is no scenario", Position: -1, Hint: "kill-leader"}
	}
	l.changes++
	return "kill-leader-1", nil
}

func (l *lessons) World(id string) (World, error) {
	if id != "kill-leader-1" {
		return World{}, errors.New("the world was closed")
	}
	return World{Hub: l.hub, Lesson: l, Save: func() []byte { return []byte("---\n") },
		Page: func() web.Page { return web.Page{WorldID: id, Lesson: &web.Lesson{Title: "Mine"}} }}, nil
}

func (l *lessons) List() any { return []string{"kill-leader-1"} }

func (l *lessons) Page(scenario string) (web.Page, error) {
	return web.Page{Lesson: &web.Lesson{Name: scenario, Title: "Not yet open"}}, nil
}

func (l *lessons) Scenario() string { return "kill-leader" }

func (l *lessons) State() any { return map[string]int{"done": l.changes} }

func (l *lessons) Next(after int) (any, error) {
	if after == 99 {
		return nil, errors.New("the lesson is over")
	}
	l.changes++
	return l.State(), nil
}

func (l *lessons) Reset() (any, error) {
	l.changes++
	return l.State(), nil
}

func (l *lessons) Free(int) (string, error) {
	l.changes++
	return "kill-leader-free-2", nil
}

func TestLessonsAreChangedOnlyFromOurOwnPageOrAProgram(t *testing.T) {
	l := &lessons{}
	server, _, h := serve(t, func(c *Config) { c.Lessons = l })
	l.hub = h
	paths := map[string]string{"/api/lessons": `{"scenario":"kill-leader"}`,
		"/api/worlds/kill-leader-1/steps/next": `{"after":0}`,
		"/api/worlds/kill-leader-1/reset":      `{}`, "/api/worlds/kill-leader-1/free": `{"after":1}`}
	for path, body := range paths {
		for _, headers := range []map[string]string{{"Origin": "http://evil.example"},
			{"Origin": server.URL}, {"Origin": server.URL, tokenHeader: "x"},
			{"Sec-Fetch-Site": "cross-site"}, {"Content-Type": "text/plain", tokenHeader: testToken}} {
			if headers["Content-Type"] == "" {
				headers["Content-Type"] = jsonType
			}
			if status, answer := ask(t, server, "POST", path, body, headers); status < 400 {
				t.Errorf("%s %v: %d %s", path, headers, status, answer)
			}
		}
		ask(t, server, "GET", path, "", nil)
	}
	for _, path := range []string{"/lesson/kill-leader", "/lesson/kill-leader?world=kill-leader-1",
		"/?world=kill-leader-1", "/api/lessons", "/api/worlds/kill-leader-1/lesson",
		"/api/worlds/kill-leader-1/scenario"} {
		if status, _ := ask(t, server, "GET", path, "", nil); status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
	}
	if l.changes != 0 {
		t.Errorf("%d changes got through", l.changes)
	}
	for path, body := range paths {
		headers := map[string]string{"Origin": server.URL, tokenHeader: testToken,
			"Content-Type": jsonType}
		if status, answer := ask(t, server, "POST", path, body, headers); status >= 300 {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	if l.changes != len(paths) {
		t.Errorf("%d changes, want %d", l.changes, len(paths))
	}
}

func TestLessonsAnswerWhatCannotBeDone(t *testing.T) {
	l := &lessons{}
	server, _, h := serve(t, func(c *Config) { c.Lessons = l })
	l.hub = h
	for _, row := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/api/lessons", `{"scenario":"kil"}`, 400, `"hint":"kill-leader"`},
		{"/api/lessons", `{"name":"kill-leader"}`, 400, "unknown field"},
		{"/api/worlds/kill-leader-1/steps/next", `{"after":99}`, 409, "is over"},
		{"/api/worlds/kill-leader-1/commands", `{"command":"kill 1"}`, 409, "free play"},
		{"/api/worlds/gone-7/steps/next", `{}`, 404, "was closed"},
		{"/api/worlds/main/steps/next", `{}`, 404, "no lesson"},
	} {
		status, answer := ask(t, server, "POST", row.path, row.body,
			map[string]string{"Content-Type": jsonType})
		if status != row.status || !strings.Contains(answer, row.want) {
			t.Errorf("%s %s: %d %s", row.path, row.body, status, answer)
		}
	}
	if status, answer := ask(t, server, "POST", "/api/lessons", `{"scenario":"kill-leader"}`,
		map[string]string{"Content-Type": jsonType}); status != http.StatusCreated ||
		!strings.Contains(answer, `"page":"/lesson/kill-leader?world=kill-leader-1"`) {
		t.Errorf("start: %d %s", status, answer)
	}
	for path, want := range map[string]string{"/?world=gone-7": "The world was closed.",
		"/lesson/kill-leader?world=gone-7": "Not yet open",
		"/lesson/kill-leader":              "Not yet open", "/lesson/x?world=kill-leader-1": "Mine"} {
		if _, html := ask(t, server, "GET", path, "", nil); !strings.Contains(html, want) {
			t.Errorf("%s does not say %q: %.300s", path, want, html)
		}
	}
}
