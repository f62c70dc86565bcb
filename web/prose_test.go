package web

import (
	"strings"
	"testing"
)

func TestProseIsWrittenAsMarkdownMeansIt(t *testing.T) {
	for text, want := range map[string]string{
		"__consumer_offsets, _so_, 2 * 3": "<p>__consumer_offsets, <em>so</em>, 2 * 3</p>",
		"A `code <b>`, **so**, `open":     "<p>A <code>code &lt;b&gt;</code>, <strong>so</strong>, `open</p>",
		"One\ntwo.\n\nThree.":             `<p>One two.</p><p>Three.</p>`,
		"## Seen #\ntext":                 `<h3>Seen</h3><p>text</p>`,
		"- one\n  goes on\n- two":         `<ul><li>one goes on</li><li>two</li></ul>`,
		"1. one\n2. two\n\nafter":         `<ol><li>one</li><li>two</li></ol><p>after</p>`,
		"text\n- item":                    `<p>text</p><ul><li>item</li></ul>`,
		"<script>alert(1)</script>":       `<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>`,
		"":                                ``,
	} {
		if got := strings.ReplaceAll(render(t, prose(text)), "\n", ""); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", text, got, want)
		}
	}
}

func TestLessonShowsItsPartsInOrder(t *testing.T) {
	p := page
	p.Library = []Entry{{Name: "kill-leader", Title: "The leader dies", Level: 1, Minutes: 3}}
	p.Lesson = &Lesson{Name: "kill-leader", Title: "The leader dies", Steps: 2, Parts: []LessonPart{
		{Prose: "First *this*."},
		{Steps: []LessonStep{{Index: 0, Command: `kill leader("t-0")`}}},
		{Question: &Question{Line: 9, Text: "Who leads?", Answers: []string{"2", "nobody"}}},
		{Steps: []LessonStep{{Index: 1, Command: "restart 1"}}, Section: 1}}}
	html := render(t, Index(p))
	at := 0
	for _, part := range []string{"First <em>this</em>", `data-testid="lesson-step-0"`, "kill leader(",
		`data-testid="saw-0"`, "Who leads?", `data-testid="answer-9-1"`, `data-testid="lesson-step-1"`,
		`data-testid="lesson-next"`, `href="/lesson/kill-leader"`} {
		next := strings.Index(html[at:], part)
		if next < 0 {
			t.Fatalf("no %s behind the part before it", part)
		}
		at += next
	}
	p.Lesson.Free = true
	html = render(t, Index(p))
	if strings.Contains(html, `data-testid="lesson-next"`) ||
		!strings.Contains(html, `href="/api/worlds/main/scenario"`) {
		t.Error("free play has the lesson's buttons, or cannot be saved")
	}
}
