package scenarios

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// asking is a scenario with the given inside of a predict block, which begins on line 4.
func asking(inside string) []byte {
	return []byte("---\ntitle: T\n---\n```predict\n" + inside + "\n```\n```highwater\nkill 1\n```\n")
}

func TestLintFindsEveryMistakeOfAPrediction(t *testing.T) {
	for inside, want := range map[string]string{
		"Who?\n- [ ] a\n  when: alive(1)\n- [ ] b":                   "",
		"Who?\n- [ ] a\n  when: alive(1)\n- [ ] b\n  when: alive(":   "9:15",
		"Who?\n- [ ] a\n- [ ] b\n  when: alife(2)":                   "8:9",
		"Who?\n- [ ] a\n- [ ] b":                                     "4:1",
		"Who?\n- [ ] a\n  when: alive(1)":                            "4:1",
		"- [ ] a\n  when: alive(1)\n- [ ] b":                         "4:1",
		"Who?\n  when: alive(1)\n- [ ] a\n- [ ] b\n when: alive(2)":  "6:3",
		"Who?\n- [x] a\n- [ ] b\n  when: alive(1)\n- [ ] c":          "6:1",
		"Who?\n- [ ] a\nand more\n- [ ] b\n  when: alive(1)":         "7:1",
		"Who?\n- [ ] \n- [ ] b\n  when: alive(1)":                    "6:1",
		"Who?\n- [ ] a\n  when: alive(1)\n  when: alive(2)\n- [ ] b": "8:3",
		"Who?\n- [ ] a\n  when:\n- [ ] b":                            "7:8",
	} {
		_, mistakes := ParseScenario("x.md", asking(inside))
		var got []string
		for _, m := range mistakes {
			got = append(got, fmt.Sprintf("%d:%d", m.Line, m.Column))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: mistakes at %v, want %q\n%v", inside, got, want, mistakes)
		}
	}
}

func TestPredictionThatNoStepsDecideIsAMistake(t *testing.T) {
	_, mistakes := ParseScenario("x.md", []byte("---\ntitle: T\n---\n```highwater\nkill 1\n```\n"+
		"```predict\nWho?\n- [ ] a\n- [ ] b\n  when: alive(1)\n```\n"))
	if len(mistakes) != 1 || mistakes[0].Line != 7 {
		t.Errorf("mistakes %v", mistakes)
	}
}

func TestPredictionIsDecidedAtTheEndOfItsSection(t *testing.T) {
	for _, row := range []struct {
		first, second string // when each answer is right
		right         int
		ok            bool
	}{
		{"alive(1)", "!alive(1)", 1, true},
		{"!alive(1)", "alive(1)", 0, true},
		{"alive(1)", "alive(1)", -1, false},
		{"!alive(1)", "!alive(1)", -1, false},
	} {
		w, e := newFake()
		s, mistakes := ParseScenario("x.md", asking("Is broker 1 alive\nafterwards?\n- [ ] yes\n  when: "+
			row.first+"\n- [ ] no\n  when: "+row.second+"\n- [ ] never\n"))
		if len(mistakes) > 0 {
			t.Fatal(mistakes)
		}
		p := &Player{World: w, Executor: e, Ready: func() []string { return nil }}
		r := p.Run(context.Background(), s)
		if r.OK != row.ok || len(r.Predictions) != 1 || r.Predictions[0].Right != row.right {
			t.Errorf("%+v: %+v", row, r)
			continue
		}
		if q := r.Predictions[0].Question; q != "Is broker 1 alive afterwards?" {
			t.Errorf("the question is %q", q)
		}
		if !row.ok && !strings.Contains(r.Failure, "line 4") {
			t.Errorf("the failure says %q", r.Failure)
		}
	}
}

func TestPredictionIsNotGradedWhenItsStepsFail(t *testing.T) {
	w, e := newFake()
	text := strings.Replace(string(asking("Who?\n- [ ] a\n- [ ] b\n  when: alive(1)")), "kill 1",
		"kill 1\nexpect alive(1)", 1)
	s, mistakes := ParseScenario("x.md", []byte(text))
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	p := &Player{World: w, Executor: e, Ready: func() []string { return nil }}
	if r := p.Run(context.Background(), s); r.OK || len(r.Predictions) != 0 {
		t.Errorf("got %+v", r)
	}
}

func TestEmptySessionIsSavedAsAScenarioThatLints(t *testing.T) {
	of, err := Library("kill-leader")
	if err != nil {
		t.Fatal(err)
	}
	for _, session := range []Session{{Of: of}, {Of: of, Steps: 2}, {Of: of, Incomplete: true},
		{Of: &Scenario{Title: "x\ny", Brokers: numbered(1, 3), Voters: numbered(101, 3)}}} {
		saved := Save(session)
		if _, mistakes := ParseScenario("saved.md", saved); len(mistakes) > 0 {
			t.Errorf("%v\n%s", mistakes, saved)
		}
	}
}

func TestTimeBeforeTheFirstCommandIsSavedToo(t *testing.T) {
	of, err := Library("kill-leader")
	if err != nil {
		t.Fatal(err)
	}
	kill, mistake := Parse("kill 2")
	if mistake != nil {
		t.Fatal(mistake)
	}
	given := []Given{{Command: kill, Began: 19 * time.Second, Ended: 20 * time.Second},
		{Command: kill, Began: 23 * time.Second, Ended: 23 * time.Second}}
	saved := string(Save(Session{Of: of, Steps: 2, Given: given, Began: 5 * time.Second}))
	if !strings.Contains(saved, "\nsleep 14s\nkill 2\nsleep 3s\nkill 2\n") {
		t.Error(saved)
	}
}

func TestCommandThatEndedOtherwiseIsSavedWithTheOutcomeItHad(t *testing.T) {
	for text, want := range map[string]string{
		`send orders key=a value="->" -> NOT_ENOUGH_REPLICAS # or so`: `send orders key=a value="->" -> ok`,
		"send orders key=a": "send orders key=a -> ok",
	} {
		c, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		g := Given{Command: c, Err: &Error{Kind: Failed, Outcome: "ok"}}
		if got := g.line(); got != want {
			t.Errorf("%s is saved as %s, want %s", text, got, want)
		}
	}
}
