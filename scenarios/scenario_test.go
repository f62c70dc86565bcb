package scenarios

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestLintFindsEveryMistakeWithItsPlace(t *testing.T) {
	text := strings.Join([]string{
		"---",                           // 1
		"title: Wrong",                  // 2
		"level: 9",                      // 3
		"tittle: x",                     // 4
		"latency: soon",                 // 5
		"set broker.session.timeout: 1", // 6
		"nonsense",                      // 7
		"---",                           // 8
		"Prose.",                        // 9
		"```highwater",                  // 10
		"kil 3",                         // 11
		"  kill 1 2",                    // 12
		"```",                           // 13
		"```higwater",                   // 14
		"kill 1",                        // 15
		"```",                           // 16
		"```highwater",                  // 17
		"expect isr(1) == [1]",          // 18
	}, "\n")
	_, mistakes := ParseScenario("dir/wrong.md", []byte(text))
	var got []string
	for _, m := range mistakes {
		got = append(got, fmt.Sprintf("%d:%d", m.Line, m.Column))
	}
	want := "3:8 4:1 5:10 6:5 7:1 11:1 12:10 14:4 18:12 17:1"
	if strings.Join(got, " ") != want {
		t.Errorf("mistakes at %v, want %s\n%v", got, want, mistakes)
	}
	if s := mistakes[5].String(); !strings.HasPrefix(s, "dir/wrong.md:11:1: ") ||
		!strings.Contains(s, "kill") {
		t.Errorf("written as %s", s)
	}
}

func TestScenarioKeepsItsTextAndSettings(t *testing.T) {
	s, mistakes := ParseScenario("a/b.md", []byte("---\ntitle: T\nlevel: 2\nseed: 9\nlatency: 2ms\n"+
		"brokers: 4\ncontrollers: 1\nset broker.session.timeout.ms: 6000\n---\nHello.\n\n"+
		"```highwater\nkill 1 # now\n\n# only\nsleep 1s\n```\nBye.\n```predict\nwhat?\n"+
		"- [ ] no\n- [ ] yes\n  when: alive(1)\n```\n```highwater\nrestart 1\n```\n"))
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	if s.Name != "b" || s.Title != "T" || s.Level != 2 || s.Seed != 9 ||
		s.Latency != 2*time.Millisecond || len(s.Brokers) != 4 ||
		len(s.Voters) != 1 || len(s.Settings) != 1 {
		t.Errorf("got %+v", s)
	}
	if len(s.Steps) != 3 || s.Steps[0].Line != 13 || s.Steps[1].Line != 16 {
		t.Errorf("steps %+v", s.Steps)
	}
	var kinds []string
	for _, b := range s.Blocks {
		kinds = append(kinds, fmt.Sprintf("%d%s", b.Line, b.Language))
	}
	if got := strings.Join(kinds, " "); got != "10 13highwater 18 20predict 26highwater" {
		t.Errorf("blocks %s", got)
	}
}

func TestScenarioWithoutStepsOrFrontMatterIsAMistake(t *testing.T) {
	for _, text := range []string{"", "kill 1", "---\ntitle: x\n---\nNothing.\n", "---\ntitle: x\n",
		"---\nlevel: 1\n---\n```highwater\nkill 1\n```\n"} {
		if _, mistakes := ParseScenario("x.md", []byte(text)); len(mistakes) == 0 {
			t.Errorf("%q: no mistake", text)
		}
	}
}

func FuzzParseScenario(f *testing.F) {
	text, err := Source("kill-leader")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("---\ntitle: x\n---\n```highwater\nkill 1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, mistakes := ParseScenario("x.md", text)
		if s == nil {
			t.Fatal("no scenario")
		}
		for _, m := range mistakes {
			if m.Line < 1 || m.Column < 1 {
				t.Errorf("a mistake at %d:%d: %s", m.Line, m.Column, m.Message)
			}
		}
	})
}
