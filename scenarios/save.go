package scenarios

import (
	"fmt"
	"strings"
	"time"
)

// Session is what was done with a cluster, as Save writes it down.
type Session struct {
	// Of says what kind of cluster it was: its title, seed, nodes and settings.
	Of *Scenario
	// Steps is how many of the scenario's steps ran before the first command by hand.
	Steps int
	Given []Given
	// Began is the virtual time at which commands by hand became possible after the steps; 0 where
	// the time before the first of them is not told.
	Began time.Duration
	// Incomplete says that more was given than is remembered.
	Incomplete bool
}

// sleepUnit is how exactly the time between two commands is kept.
const sleepUnit = time.Millisecond

// Save writes a session as a scenario that lints clean and runs without a page. Between two
// commands as much virtual time passes as passed in the session. A command that was refused, or
// that was a mistake, did nothing: it is kept as a comment.
func Save(session Session) []byte {
	var b strings.Builder
	saveFrontMatter(&b, session)
	ran := session.Of.Steps[:min(session.Steps, len(session.Of.Steps))]
	if len(ran) > 0 {
		fmt.Fprintf(&b, "\nThe first %d steps of “%s”.\n\n```highwater\n", len(ran), session.Of.Title)
		for _, step := range ran {
			fmt.Fprintln(&b, step.Text)
		}
		b.WriteString("```\n")
	}
	b.WriteString("\nWhat was done by hand. What outside clients did is not in it.\n")
	if session.Incomplete {
		fmt.Fprintf(&b, "Only the first %d commands were kept.\n", len(session.Given))
	}
	b.WriteString("\n```highwater\n")
	free := session.Began
	for i, g := range session.Given {
		if i > 0 || free > 0 {
			saveSleep(&b, g.Began-free)
		}
		free = g.Ended
		fmt.Fprintln(&b, g.line())
	}
	if len(ran) == 0 && !anyKept(session.Given) {
		// A scenario has steps: this one only looks at what it began with.
		fmt.Fprintf(&b, "expect alive(%d)\n", session.Of.Brokers[0])
	}
	b.WriteString("```\n")
	return []byte(b.String())
}

func saveFrontMatter(b *strings.Builder, session Session) {
	s := session.Of
	fmt.Fprintf(b, "---\ntitle: Saved from %s\nlevel: %d\nminutes: %d\nseed: %d\nkind: exact\n"+
		"brokers: %d\ncontrollers: %d\n", strings.Join(strings.Fields(s.Title), " "), max(1, s.Level),
		max(1, s.Minutes), s.Seed, len(s.Brokers), len(s.Voters))
	if s.Latency > 0 {
		fmt.Fprintf(b, "latency: %v\n", s.Latency)
	}
	for _, each := range s.Settings {
		fmt.Fprintf(b, "set %s: %s\n", each.Name, each.Value)
	}
	if len(s.Breaks) > 0 && session.Steps == len(s.Steps) {
		fmt.Fprintf(b, "breaks: %s\n", strings.Join(s.Breaks, " "))
	}
	b.WriteString("---\n")
}

func saveSleep(b *strings.Builder, d time.Duration) {
	for d = d.Round(sleepUnit); d > 0; d -= durationMax {
		fmt.Fprintf(b, "sleep %v\n", min(d, durationMax))
	}
}

func anyKept(given []Given) bool {
	for _, g := range given {
		if !strings.HasPrefix(g.line(), "#") {
			return true
		}
	}
	return false
}

// line is the command as it runs again: with the outcome it had, or as a comment where there is
// nothing to run again.
func (g *Given) line() string {
	text := oneLine(withoutComment(g.Command.Text))
	switch {
	case g.Running:
		return "# had not ended: " + text
	case g.Err == nil:
		return text
	case g.Err.Outcome != "":
		if g.Command.expects != "" { // it acted, though not as expected
			text = strings.TrimSpace(text[:strings.LastIndex(text, "->")])
		}
		return text + " -> " + g.Err.Outcome
	}
	return fmt.Sprintf("# failed (%s): %s", oneLine(g.Err.Message), text)
}

func oneLine(text string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(text) }

// withoutComment cuts what a # begins off a command.
func withoutComment(text string) string {
	words, err := split(text)
	if err != nil || len(words) == 0 {
		return text
	}
	last := words[len(words)-1]
	return strings.TrimSpace(text[words[0].position : last.position+len(last.text)])
}
