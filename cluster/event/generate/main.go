// Command generate writes what follows from the event structs: kinds_gen.go beside them, and with
// their catalogue rows docs/EVENTS.md, docs/trace.schema.json and static/js/protocol/kinds.js.
// Run it with go generate ./cluster/event; a test compares its output with the committed files.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run writes every file below the module's root, which is two folders above cluster/event.
func run() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	root := filepath.Join(dir, "..", "..")
	kinds, err := readKinds(dir)
	if err != nil {
		return err
	}
	source, err := goSource(kinds)
	if err != nil {
		return err
	}
	outputs := []output{
		{filepath.Join(dir, "kinds_gen.go"), source},
		{filepath.Join(root, "docs", "EVENTS.md"), eventsPage()},
		{filepath.Join(root, "docs", "trace.schema.json"), traceSchema()},
		{filepath.Join(root, "static", "js", "protocol", "kinds.js"), kindsModule()},
	}
	for _, o := range outputs {
		if err := os.MkdirAll(filepath.Dir(o.path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(o.path, o.text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

type output struct {
	path string
	text []byte
}
