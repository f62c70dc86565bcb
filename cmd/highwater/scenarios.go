package main

import (
	"fmt"
	"io"

	"highwater/scenarios"
)

// scenariosCommand lists, shows or checks scenarios.
func scenariosCommand(args []string, stdout, stderr io.Writer) int {
	set := newFlags("scenarios", "[list | show NAME… | lint FILE…]", stderr)
	rest, code, ok := parseMixed(set, args)
	if !ok {
		return code
	}
	if len(rest) == 0 {
		rest = []string{"list"}
	}
	switch verb, names := rest[0], rest[1:]; verb {
	case "list":
		return listScenarios(stdout, stderr)
	case "show":
		return showScenarios(names, stdout, stderr)
	case "lint":
		return lintScenarios(names, stdout, stderr)
	default:
		complain(stderr, "scenarios can list, show and lint, not %q%s", verb,
			meant(verb, "list", "show", "lint"))
		return exitBadInput
	}
}

func listScenarios(stdout, stderr io.Writer) int {
	for _, name := range scenarios.Names() {
		s, err := scenarios.Library(name)
		if err != nil {
			complain(stderr, "%v", err)
			return exitMistakes
		}
		fmt.Fprintf(stdout, "%-24s level %d, %d min  %s\n", name, s.Level, s.Minutes, s.Title)
	}
	return exitGood
}

func showScenarios(names []string, stdout, stderr io.Writer) int {
	if len(names) == 0 {
		complain(stderr, "which scenario? highwater scenarios lists them")
		return exitBadInput
	}
	for _, name := range names {
		_, text, err := scenarioText(name)
		if err != nil {
			complain(stderr, "%v", err)
			return exitBadInput
		}
		if _, err := stdout.Write(text); err != nil {
			complain(stderr, "%v", err)
			return exitMistakes
		}
	}
	return exitGood
}

// lintScenarios checks files, or the whole library when none is named.
func lintScenarios(names []string, stdout, stderr io.Writer) int {
	if len(names) == 0 {
		names = scenarios.Names()
	}
	code := exitGood
	for _, name := range names {
		file, text, err := scenarioText(name)
		if err != nil {
			complain(stderr, "%v", err)
			code = exitBadInput
			continue
		}
		s, mistakes := scenarios.ParseScenario(file, text)
		for _, m := range mistakes {
			fmt.Fprintln(stdout, m)
			code = max(code, exitMistakes)
		}
		if len(mistakes) == 0 {
			fmt.Fprintf(stdout, "%s: %d steps, no mistakes\n", file, len(s.Steps))
		}
	}
	return code
}
