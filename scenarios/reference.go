package scenarios

import (
	"fmt"
	"strings"
)

// Reference is docs/COMMANDS.md: the whole language, written from its tables.
func Reference() []byte {
	var b strings.Builder
	b.WriteString("# Commands\n\n" +
		"Written from the command table by `go generate ./scenarios`; do not edit.\n\n" +
		"A command is a line of words. Arguments with a key are written `key=value`, in any order;\n" +
		"quotes protect spaces; `#` begins a comment. `-> ok` or `-> NOT_ENOUGH_REPLICAS` at the\n" +
		"end fails the command unless that was its outcome. Times are virtual: `15ms`, `30s`, `5m`.\n" +
		"A node is its number, `controller`, the name of a producer or consumer, or an expression such\n" +
		"as `leader(\"orders-0\")`.\n")
	for _, row := range table() {
		row.describe(&b)
	}
	b.WriteString("\n# Expressions\n\n" +
		"`==` `!=` `<` `<=` `>` `>=` `&&` `||` `!` `+` `-`, parentheses, lists `[1,2]`, numbers,\n" +
		"quoted texts, `true`, `false` and `none`. What does not exist is `none`.\n\n" +
		"| function | gives | what |\n|---|---|---|\n")
	for _, f := range functions() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.usage(), f.returns, f.help)
	}
	return []byte(b.String())
}

func (s *spec) describe(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n`%s`\n\n%s.\n", s.name, s.usage(), sentence(s.help))
	if len(s.arguments) > 0 {
		b.WriteString("\n| argument | default | what |\n|---|---|---|\n")
		for i := range s.arguments {
			a := &s.arguments[i]
			help := a.help
			if a.kind == kindChoice {
				help = strings.Join(a.choices, ", ") + ": " + help
			}
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", a.name, a.fallback, help)
		}
	}
	fmt.Fprintf(b, "\nExample: `%s`\n", s.example)
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// usage writes the command with its arguments.
func (s *spec) usage() string {
	words := []string{s.name}
	for i := range s.arguments {
		a := &s.arguments[i]
		text := strings.ToUpper(a.name)
		switch {
		case a.name == "on":
			text = "on NODE"
		case a.keyed:
			text = a.name + "=…"
		case a.name == "within":
			text = "within TIME"
		}
		if !a.required {
			text = "[" + text + "]"
		}
		words = append(words, text)
	}
	if s.settings || s.configs != nil {
		words = append(words, "[CONFIG=VALUE…]")
	}
	if s.outcome {
		words = append(words, "[-> OUTCOME]")
	}
	return strings.Join(words, " ")
}
