package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

const lookToken = "look-token"

func withViewers(c *Config) { c.ViewerToken = lookToken }

// changing are all paths that change something, with a body that each would take.
func changing() map[string]string {
	return map[string]string{
		"/api/worlds/main/commands":            `{"command":"kill 1"}`,
		"/api/room":                            `{"world":"main"}`,
		"/api/lessons":                         `{"scenario":"kill-leader"}`,
		"/api/worlds/kill-leader-1/steps/next": `{"after":0}`,
		"/api/worlds/kill-leader-1/reset":      `{}`,
		"/api/worlds/kill-leader-1/free":       `{"after":1}`,
	}
}

func TestViewersTokenLooksAndChangesNothing(t *testing.T) {
	l := &lessons{}
	server, commands, h := serve(t, func(c *Config) { withViewers(c); c.Lessons = l })
	l.hub = h
	for path, body := range changing() {
		for _, headers := range []map[string]string{
			{tokenHeader: lookToken}, {tokenHeader: lookToken, "Origin": server.URL},
			{"Authorization": "Bearer " + lookToken}, {"Cookie": tokenCookie + "=" + lookToken},
			{"Cookie": tokenCookie + "=" + lookToken, "Origin": server.URL},
		} {
			headers["Content-Type"] = jsonType
			status, answer := ask(t, server, "POST", path, body, headers)
			if status != http.StatusForbidden || !strings.Contains(answer, "a viewer can only look") {
				t.Errorf("%s %v: %d %s", path, headers, status, answer)
			}
		}
		status, answer := ask(t, server, "POST", path+"?token="+lookToken, body,
			map[string]string{"Content-Type": jsonType})
		if status != http.StatusForbidden {
			t.Errorf("%s with the token in the address: %d %s", path, status, answer)
		}
	}
	if commands.ran.Load() != 0 || l.changes != 0 {
		t.Errorf("%d commands and %d changes got through", commands.ran.Load(), l.changes)
	}
	for _, path := range []string{"/", "/api/worlds/main/state", "/api/lessons",
		"/lesson/kill-leader?world=kill-leader-1"} {
		status, html := ask(t, server, "GET", path, "", map[string]string{tokenHeader: lookToken})
		if status != http.StatusOK || strings.Contains(html, testToken) {
			t.Errorf("%s: %d, or it holds the presenter's token", path, status)
		}
	}
}

func TestPagesCarryTheTokenOfWhoeverAsks(t *testing.T) {
	server, _, _ := serve(t, withViewers)
	for address, role := range map[string]string{"/": "presenter", "/?token=" + testToken: "presenter",
		"/?token=" + lookToken: "viewer"} {
		status, html := ask(t, server, "GET", address, "", nil)
		if status != http.StatusOK || !strings.Contains(html, `data-role="`+role+`"`) {
			t.Errorf("%s: %d, not the page of a %s", address, status, role)
		}
		if got := strings.Contains(html, testToken); got != (role == "presenter") {
			t.Errorf("%s: the presenter's token is in the page: %v", address, got)
		}
	}
	if status, _ := ask(t, server, "GET", "/?token=mistyped", "", nil); status != 401 {
		t.Errorf("a mistyped link: %d", status)
	}
	other := map[string]string{"Cookie": tokenCookie + "=of-another-server"}
	if status, _ := ask(t, server, "GET", "/", "", other); status != 200 {
		t.Errorf("a browser with another server's token: %d", status)
	}
}

func TestNamesFromElsewhereNeedATokenThoughTheAddressIsLoopback(t *testing.T) {
	server, commands, _ := serve(t, func(c *Config) { withViewers(c); c.Hosts = []string{"demo.example"} })
	host := map[string]string{"Host": "demo.example", "Content-Type": jsonType}
	for _, path := range []string{"/", "/api/worlds/main/state"} {
		if status, html := ask(t, server, "GET", path, "", host); status != 401 ||
			strings.Contains(html, testToken) {
			t.Errorf("%s without a token: %d", path, status)
		}
		if status, _ := ask(t, server, "GET", path+"?token="+lookToken, "", host); status != 200 {
			t.Errorf("%s with the viewers' token: %d", path, status)
		}
	}
	ask(t, server, "POST", "/api/worlds/main/commands", `{"command":"kill 1"}`, host)
	if n := commands.ran.Load(); n != 0 {
		t.Errorf("%d commands ran for a program from elsewhere without a token", n)
	}
}

func TestViewersLinkLeavesAPresentersBrowserItsToken(t *testing.T) {
	server, _, _ := serve(t, func(c *Config) { withViewers(c); c.AskToken = true })
	for kept, want := range map[string]string{"": lookToken, testToken: "", lookToken: ""} {
		request, err := http.NewRequest("GET", server.URL+"/?token="+lookToken, nil)
		if err != nil {
			t.Fatal(err)
		}
		if kept != "" {
			request.AddCookie(&http.Cookie{Name: tokenCookie, Value: kept})
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		got := ""
		for _, c := range response.Cookies() {
			got = c.Value
		}
		if got != want {
			t.Errorf("a browser with %q is left with %q, want %q", kept, got, want)
		}
	}
}

func TestPlacesThatAreNoneAreRefused(t *testing.T) {
	server, _, _ := serve(t, withViewers)
	for body, want := range map[string]string{
		`{"world":"main","seq":"12","topic":"orders","partition":1,"follow":{"topic":"orders",` +
			`"partition":1,"offset":2,"epoch":0,"key":"order-3"},"told":true,"away":false}`: `"ok":true`,
		`{"world":"main","follow":{"topic":"orders","maker":{"node":1002,"batch":"538"}}}`: `"ok":true`,
		`{"world":"main","follow":{"maker":{"batch":"` + longText(301) + `"}}}`:            "longer than",
		`{"world":"main","seq":"-1"}`:                               "not the number of an event",
		`{"world":"other"}`:                                         "no world",
		`{"world":"main","topic":"` + longText(301) + `"}`:          "longer than 300 bytes",
		`{"world":"main","follow":{"key":"` + longText(301) + `"}}`: "longer than 300 bytes",
		`{"world":"main","anywhere":"http://evil.example"}`:         "unknown field",
		`{"world":"main","topic":"` + longText(70_000) + `"}`:       "not a",
	} {
		_, got := ask(t, server, "POST", "/api/room", body,
			map[string]string{"Content-Type": jsonType})
		if !strings.Contains(got, want) {
			t.Errorf("%.60s: %s; want %s", body, got, want)
		}
	}
}

// roomStream reads the frames about the room of one stream.
func roomStream(t *testing.T, address string) func() (viewers int, p *place) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	conn, _, err := websocket.Dial(ctx, strings.Replace(address, "http:", "ws:", 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.CloseNow() })
	conn.SetReadLimit(1 << 20)
	return func() (int, *place) {
		for {
			_, text, err := conn.Read(ctx)
			if err != nil {
				t.Fatal(err)
			}
			var frame struct {
				Type    string
				Viewers int
				Place   *place
			}
			if err := json.Unmarshal(text, &frame); err != nil {
				t.Fatal(err)
			}
			if frame.Type == "room" {
				return frame.Viewers, frame.Place
			}
		}
	}
}

func TestEveryStreamHearsWhereThePresenterIs(t *testing.T) {
	server, _, _ := serve(t, withViewers)
	events := server.URL + "/api/worlds/main/events"
	mine := roomStream(t, events)
	if viewers, p := mine(); viewers != 0 || p != nil {
		t.Errorf("at first: %d viewers, %+v", viewers, p)
	}
	theirs := roomStream(t, events+"?token="+lookToken)
	theirs()
	if viewers, _ := mine(); viewers != 1 {
		t.Errorf("%d viewers, want 1: a presenter is none", viewers)
	}
	tell := func(body string) {
		if status, answer := ask(t, server, "POST", "/api/room", body,
			map[string]string{"Content-Type": jsonType}); status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
	}
	tell(`{"world":"main","page":"http://evil.example","seq":"41"}`)
	if _, p := theirs(); p == nil || p.Seq != "41" || p.Page != "/?world=main" {
		t.Errorf("the viewer hears %+v", p)
	}
	late := roomStream(t, events+"?token="+lookToken)
	if viewers, p := late(); viewers != 2 || p == nil || p.Seq != "41" {
		t.Errorf("who comes late hears of %d viewers and %+v", viewers, p)
	}
}

func TestWhoseWorldIsGoneHearsWhereThePresenterIs(t *testing.T) {
	server, _, _ := serve(t, withViewers)
	if status, answer := ask(t, server, "POST", "/api/room", `{"world":"main"}`,
		map[string]string{"Content-Type": jsonType}); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	gone := "/api/worlds/kill-leader-1/events"
	if _, p := roomStream(t, server.URL+gone+"?token="+lookToken)(); p == nil || p.World != "main" {
		t.Errorf("the viewer hears %+v", p)
	}
	status, answer := ask(t, server, "GET", gone, "", nil)
	if status != http.StatusNotFound || !strings.Contains(answer, "kill-leader-1") {
		t.Errorf("the presenter hears %d %s", status, answer)
	}
}
