package main

import (
	"context"
	"fmt"
	"io"

	"highwater/server"
)

func nothing(args []string, stdout, stderr io.Writer) int { fmt.Fprintln(stderr, "pending"); return 2 }

var runCommand, scenariosCommand, traceCommand, dumpCommand, doctorCommand, versionCommand = nothing, nothing, nothing, nothing, nothing, nothing

type commander struct{ m *mainWorld }

func newCommander(m *mainWorld) *commander { return &commander{m} }

func (c *commander) Command(ctx context.Context, text, by string) (uint64, any, error) {
	return 0, nil, &server.CommandError{Message: "pending", Position: -1}
}
