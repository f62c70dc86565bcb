package web

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"highwater/static"
)

var page = Page{
	WorldID: "main",
	Token:   "secret",
	Version: "1",
	Brokers: []Node{
		{ID: 1, Address: "127.0.0.1:9092"}, {ID: 2, Address: "127.0.0.1:9093"},
		{ID: 3, Address: "127.0.0.1:9094"},
	},
	Controllers: []Node{{ID: 101}, {ID: 102}, {ID: 103}},
}

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var out bytes.Buffer
	if err := c.Render(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestEveryNodeHasEveryLever(t *testing.T) {
	html := render(t, Index(page))
	want := []string{"step", "back", "live", "pause", "play", "seek", "send", "send-topic",
		"send-key", "send-value", "send-acks", "event-list", "command", "clock", "topic"}
	for _, node := range []string{"1", "2", "3", "101", "102", "103"} {
		for _, l := range []string{"kill", "power-cut", "pause", "restart"} {
			want = append(want, l+"-"+node)
		}
	}
	for _, id := range append(want, "broker-1", "controller-103") {
		if n := strings.Count(html, `data-testid="`+id+`"`); n != 1 {
			t.Errorf("the page has %d elements %q, want 1", n, id)
		}
	}
}

func TestPagesHoldNothingThatAStrictPolicyForbids(t *testing.T) {
	inline := regexp.MustCompile(`(?i)<script(?:[^>]*)>[^<]|\sstyle=|\son[a-z]+=|<style|javascript:|data:`)
	pages := map[string]string{
		"index": render(t, Index(page)),
		"error": render(t, Error(Problem{Status: 404, Title: "Gone", Detail: "It is not here."})),
	}
	for name, html := range pages {
		if found := inline.FindString(html); found != "" {
			t.Errorf("%s holds %q", name, found)
		}
		outside := regexp.MustCompile(`(?:src|href)="(?:https?:)?//[^"]*"`)
		if found := outside.FindString(html); found != "" {
			t.Errorf("%s loads %q", name, found)
		}
	}
}

func TestEverySignIsPartOfThePage(t *testing.T) {
	html := render(t, Index(page))
	used := regexp.MustCompile(`href="#icon-([a-z]+)"`).FindAllStringSubmatch(html, -1)
	inScripts := regexp.MustCompile(`icon\('([a-z]+)'|#icon-([a-z]+)`)
	err := fs.WalkDir(static.Files, "js", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(static.Files, name)
		used = append(used, inScripts.FindAllStringSubmatch(string(text), -1)...)
		return err
	})
	if err != nil || len(used) < 20 {
		t.Fatal(len(used), err)
	}
	for _, m := range used {
		sign := strings.Join(m[1:], "")
		if n := strings.Count(html, `<symbol id="icon-`+sign+`"`); n != 1 {
			t.Errorf("the page holds the sign %q %d times, want once", sign, n)
		}
	}
}

func TestViewerCannotSendOrBreak(t *testing.T) {
	viewer := page
	viewer.Token = ""
	for _, id := range []string{"send", "kill-1", "restart-103", "create-topic"} {
		button := regexp.MustCompile(`<button[^>]*data-testid="` + id + `"[^>]*>`)
		if tag := button.FindString(render(t, Index(viewer))); !strings.Contains(tag, "disabled") {
			t.Errorf("a viewer's button is %q", tag)
		}
		if tag := button.FindString(render(t, Index(page))); strings.Contains(tag, "disabled") {
			t.Errorf("a presenter's button is %q", tag)
		}
	}
}

func TestTextFromOutsideIsEscaped(t *testing.T) {
	html := render(t, Error(Problem{Status: 404, Title: "<script>alert(1)</script>", Detail: "a&b"}))
	if strings.Contains(html, "<script>alert") || !strings.Contains(html, "a&amp;b") {
		t.Errorf("the error page does not escape its text: %s", html)
	}
}

func TestEveryLinkedFileIsThere(t *testing.T) {
	link := regexp.MustCompile(`(?:src|href)="/static/([^"#]+)`)
	found := link.FindAllStringSubmatch(render(t, Index(page)), -1)
	if len(found) < len(styleSheets()) {
		t.Fatalf("only %d links were found", len(found))
	}
	for _, m := range found {
		if _, err := os.Stat(filepath.Join("..", "static", filepath.FromSlash(m[1]))); err != nil {
			t.Errorf("the page links to /static/%s: %v", m[1], err)
		}
	}
}

func TestGeneratedCodeIsCurrent(t *testing.T) {
	dir := t.TempDir()
	sources, err := filepath.Glob("*.templ")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("go", "tool", "templ", "generate", "-path", dir).CombinedOutput(); err != nil {
		t.Fatalf("templ: %v\n%s", err, out)
	}
	for _, name := range sources {
		generated := strings.TrimSuffix(name, ".templ") + "_templ.go"
		want, err := os.ReadFile(filepath.Join(dir, generated))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(generated)
		if err != nil {
			t.Fatal(err)
		}
		if string(normal(want)) != string(normal(got)) {
			t.Errorf("%s is not what %s generates: run go generate ./web", generated, name)
		}
	}
}

// normal drops the names of files, which templ writes relative to where it ran.
func normal(text []byte) []byte {
	return regexp.MustCompile("FileName: `[^`]*`").ReplaceAll(text, []byte("FileName"))
}
