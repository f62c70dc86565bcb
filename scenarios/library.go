package scenarios

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.md
var files embed.FS

// Names lists the library's scenarios.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(fmt.Sprintf("scenarios: the embedded library: %v", err)) // it is part of the program
	}
	var names []string
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".md"))
	}
	return names
}

// Source is the file of one of the library's scenarios.
func Source(name string) ([]byte, error) {
	text, err := files.ReadFile(name + ".md")
	if err != nil {
		e := inputError(-1, "there is no scenario %q", name).meant(name, Names())
		return nil, e
	}
	return text, nil
}

// Library is one of the library's scenarios.
func Library(name string) (*Scenario, error) {
	text, err := Source(name)
	if err != nil {
		return nil, err
	}
	s, mistakes := ParseScenario(name+".md", text)
	if len(mistakes) > 0 {
		return nil, fmt.Errorf("scenarios: %s", mistakes[0])
	}
	return s, nil
}
