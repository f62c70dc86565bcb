package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/coder/websocket"

	"highwater/cluster/event"
	"highwater/viz/hub"
	"highwater/web"
)

// counted counts the commands that got through.
type counted struct{ ran atomic.Int64 }

func (c *counted) Help(line string) (any, error) {
	return map[string]any{"words": []map[string]string{{"word": line + "!"}}}, nil
}

func (c *counted) Command(_ context.Context, text, _ string) (uint64, any, error) {
	c.ran.Add(1)
	if text == "kil 3" {
		return 0, nil, &CommandError{Message: `there is no command "kil"`, Position: 0, Hint: "kill"}
	}
	return 7, map[string]string{"text": text}, nil
}

func (c *counted) Batch(int32, string, int32, int64) ([]byte, error) {
	return nil, fmt.Errorf("no such batch")
}

const testToken = "the-token"

func serve(t *testing.T, change func(*Config)) (*httptest.Server, *counted, *hub.Hub) {
	t.Helper()
	h := hub.New(hub.Config{Run: "run"})
	commands := &counted{}
	config := Config{Main: World{Hub: h, Commands: commands, Batches: commands,
		Page: func() web.Page { return web.Page{WorldID: "main", Token: testToken} },
		Save: func() []byte { return []byte("---\n") }}, Token: testToken,
		Ready: func() []string { return []string{"no controller is active"} },
		Static: fstest.MapFS{"js/x.js": {Data: []byte("1")},
			"js/x.js.map": {Data: []byte("{}")}},
		Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&config)
	}
	s := New(config)
	server := httptest.NewServer(s.Handler())
	t.Cleanup(func() { server.Close(); s.cancel(); h.Close() })
	return server, commands, h
}

// ask sends a request with these headers, of which Host is special to Go.
func ask(t *testing.T, server *httptest.Server, method, path, body string,
	headers map[string]string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(method, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range headers {
		if name == "Host" {
			request.Host = value
			continue
		}
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

const jsonType = "application/json"

func TestForeignHostNamesGetNothing(t *testing.T) {
	server, commands, _ := serve(t, nil)
	for _, host := range []string{"evil.example", "127.0.0.1.evil.example", "localhost.evil.example",
		"evil.example:8080", "[::2]:80", "0.0.0.0", "localhost@evil.example", "169.254.169.254",
		"127.0.0.1:80/evil", "127.0.0.1:80.evil.example", "xn--lcalhost-h4a", "LOCALHOST.",
		"1.1.1.1"} {
		for _, path := range []string{"/", "/healthz", "/static/js/x.js", "/api/worlds/main/state"} {
			status, body := ask(t, server, "GET", path, "", map[string]string{"Host": host})
			if status != http.StatusForbidden && status != http.StatusBadRequest {
				t.Errorf("Host %s, %s: %d %s", host, path, status, body)
			}
		}
		ask(t, server, "POST", "/api/worlds/main/commands", `{"command":"kill 1"}`,
			map[string]string{"Host": host, "Content-Type": jsonType, tokenHeader: testToken})
	}
	if n := commands.ran.Load(); n != 0 {
		t.Errorf("%d commands ran under a foreign host name", n)
	}
}

func TestChangesAreTakenOnlyFromOurOwnPageOrAProgram(t *testing.T) {
	server, commands, _ := serve(t, nil)
	own := server.URL
	for _, c := range []struct {
		name    string
		headers map[string]string
		status  int
	}{
		{"foreign origin", map[string]string{"Origin": "http://evil.example", tokenHeader: testToken}, 403},
		{"null origin", map[string]string{"Origin": "null", tokenHeader: testToken}, 403},
		{"origin of another port", map[string]string{"Origin": "http://127.0.0.1:1", tokenHeader: testToken}, 403},
		{"https origin", map[string]string{"Origin": strings.Replace(own, "http:", "https:", 1),
			tokenHeader: testToken}, 403},
		{"own origin, no token", map[string]string{"Origin": own}, 401},
		{"own origin, wrong token", map[string]string{"Origin": own, tokenHeader: "x"}, 401},
		{"program, wrong token", map[string]string{tokenHeader: "x"}, 401},
		{"browser without origin", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"form", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415},
		{"text", map[string]string{"Content-Type": "text/plain", tokenHeader: testToken}, 415},
	} {
		if c.headers["Content-Type"] == "" {
			c.headers["Content-Type"] = jsonType
		}
		status, body := ask(t, server, "POST", "/api/worlds/main/commands",
			`{"command":"kill 1"}`, c.headers)
		if status != c.status {
			t.Errorf("%s: %d %s; want %d", c.name, status, body, c.status)
		}
	}
	if n := commands.ran.Load(); n != 0 {
		t.Errorf("%d commands ran that should not have", n)
	}
	for _, headers := range []map[string]string{{"Origin": own, tokenHeader: testToken}, {},
		{"Sec-Fetch-Mode": "cors"}} {
		headers["Content-Type"] = jsonType
		if status, body := ask(t, server, "POST", "/api/worlds/main/commands",
			`{"command":"kill 1"}`, headers); status != 200 || !strings.Contains(body, `"seq":"7"`) {
			t.Errorf("%v: %d %s", headers, status, body)
		}
	}
	if n := commands.ran.Load(); n != 3 {
		t.Errorf("%d commands ran, want the page's and the programs'", n)
	}
}

func TestAMistakeSaysWhereAndWhatInstead(t *testing.T) {
	server, _, _ := serve(t, nil)
	for body, want := range map[string]string{
		`{"command":"kil 3"}`:                    `{"error":"there is no command \"kil\"","hint":"kill","position":0}`,
		`[]`:                                     "an object is wanted, not array",
		`{"command":5}`:                          "command cannot be number",
		`{"command":"a","x":1}`:                  "not a command: unknown field",
		``:                                       "there is no body",
		`{"command":"a"}{"command":"b"}`:         "one command at a time",
		`kill 3`:                                 "not a command",
		`{"command":"` + longText(70_000) + `"}`: "at most 65536 bytes",
	} {
		wantStatus := 400
		if len(body) > commandBytesMax {
			wantStatus = 413
		}
		status, got := ask(t, server, "POST", "/api/worlds/main/commands", body,
			map[string]string{"Content-Type": jsonType})
		if status != wantStatus || !strings.Contains(got, want) {
			t.Errorf("%.40s: %d %s; want %s", body, status, got, want)
		}
	}
}

// One that is announced as too long is refused before any of it is there.
func TestABodyThatDoesNotComeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	server, commands, _ := serve(t, nil)
	for announced, want := range map[string]int{"5": 408, "65537": 413, "999999999999": 413} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /api/worlds/main/commands HTTP/1.1\r\nHost: %s\r\n"+
			"Content-Type: application/json\r\nContent-Length: %s\r\n\r\n",
			server.Listener.Addr(), announced)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want || !answer.Close {
			t.Errorf("%s bytes announced: %s, closes: %t", announced, answer.Status, answer.Close)
		}
	}
	if commands.ran.Load() != 0 {
		t.Error("a command ran")
	}
}

func longText(n int) string { return strings.Repeat("x", n) }

func TestGetChangesNothing(t *testing.T) {
	server, commands, h := serve(t, nil)
	before := string(h.Latest().AppendJSON(nil))
	for range 20 {
		for _, path := range []string{"/", "/healthz", "/readyz", "/metrics", "/static/js/x.js",
			"/api/worlds/main/state", "/api/worlds/main/trace", "/api/worlds/main/commands",
			"/api/worlds/main/batch?node=1&topic=t&partition=0&offset=0", "/nowhere",
			"/api/worlds/other/state", "/api/worlds/main/commands?command=kill+1"} {
			got, _ := ask(t, server, "GET", path, "", nil)
			if head, text := ask(t, server, "HEAD", path, "", nil); head != got || text != "" {
				t.Errorf("HEAD %s: %d %q; GET: %d", path, head, text, got)
			}
			ask(t, server, "OPTIONS", path, "", nil)
		}
	}
	if after := string(h.Latest().AppendJSON(nil)); after != before || commands.ran.Load() != 0 {
		t.Error("asking changed something")
	}
}

func TestWebsocketsFromElsewhereAreRefused(t *testing.T) {
	server, _, _ := serve(t, nil)
	address := strings.Replace(server.URL, "http:", "ws:", 1) + "/api/worlds/main/events"
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, origin := range []string{"http://evil.example", "null", "http://127.0.0.1:1",
		"https://localhost", "file://"} {
		conn, response, err := websocket.Dial(ctx, address, &websocket.DialOptions{
			HTTPHeader: http.Header{"Origin": {origin}}})
		if err == nil {
			conn.CloseNow()
			t.Errorf("origin %s was let in", origin)
		} else if response == nil || response.StatusCode != http.StatusForbidden {
			t.Errorf("origin %s: %v", origin, err)
		}
	}
	conn, _, err := websocket.Dial(ctx, address, &websocket.DialOptions{
		HTTPHeader: http.Header{"Origin": {server.URL}}})
	if err != nil {
		t.Fatal(err)
	}
	conn.CloseNow()
}

func TestStreamBeginsWithASnapshotAndGoesOnInOrder(t *testing.T) {
	server, _, h := serve(t, nil)
	now := int64(5)
	log := event.NewLog()
	em := event.NewEmitter(log, &now, 0)
	emit := func(command string) {
		event.CommandRan{Command: command}.Emit(em, event.RuleNone)
		h.Publish(log.Swap(&event.Chunk{}))
	}
	emit("first")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, _, err := websocket.Dial(ctx,
		strings.Replace(server.URL, "http:", "ws:", 1)+"/api/worlds/main/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20)
	seen := map[string]bool{}
	for !seen["second"] {
		_, text, err := conn.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var frame struct {
			Type   string
			Seq    string
			Events []struct{ Seq, Event string }
		}
		if err := json.Unmarshal(text, &frame); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		switch frame.Type {
		case "snapshot":
			if frame.Seq != "1" {
				t.Errorf("the snapshot is of event %s", frame.Seq)
			}
			seen["snapshot"] = true
			emit("second")
		case "events":
			if !seen["snapshot"] || frame.Events[0].Seq != "2" {
				t.Errorf("events before or beside the snapshot: %s", text)
			}
			seen["second"] = true
		}
	}
}

func TestOtherAddressesNeedTheToken(t *testing.T) {
	server, _, _ := serve(t, func(c *Config) { c.AskToken = true; c.Hosts = []string{"demo.local"} })
	host := map[string]string{"Host": "Demo.LOCAL"}
	for _, path := range []string{"/", "/api/worlds/main/state"} {
		if status, _ := ask(t, server, "GET", path, "", host); status != 401 {
			t.Errorf("%s without a token: %d", path, status)
		}
		if status, body := ask(t, server, "GET", path+"?token="+testToken, "", host); status != 200 {
			t.Errorf("%s with the token: %d %s", path, status, body)
		}
	}
}

func TestReadyzGivesTheReasons(t *testing.T) {
	server, _, _ := serve(t, nil)
	status, body := ask(t, server, "GET", "/readyz", "", nil)
	if status != 503 || !strings.Contains(body, "no controller is active") {
		t.Errorf("%d %s", status, body)
	}
}

func TestPageForbidsInlineScript(t *testing.T) {
	server, _, _ := serve(t, nil)
	response, err := http.Get(server.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	policy := response.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'self'") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
}

// A program that asks for a path that is not there is answered in JSON as everywhere under /api, and
// a person with a page.
func TestNothingHereIsSaidInTheAskersOwnWay(t *testing.T) {
	server, _, _ := serve(t, nil)
	for path, want := range map[string]string{
		"/api/nope":             `{"error":`,
		"/api/worlds/main/nope": `{"error":`,
		"/nope":                 "<!doctype html>",
	} {
		status, body := ask(t, server, "GET", path, "", nil)
		if status != http.StatusNotFound || !strings.HasPrefix(strings.TrimSpace(body), want) {
			t.Errorf("%s: %d %q, and not %q", path, status, body, want)
		}
	}
}
