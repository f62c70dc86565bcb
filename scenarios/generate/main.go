// Command generate writes docs/COMMANDS.md from the command table.
package main

import (
	"fmt"
	"os"

	"highwater/scenarios"
)

func main() {
	if err := os.WriteFile("../docs/COMMANDS.md", scenarios.Reference(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}
