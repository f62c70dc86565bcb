package main

import (
	"context"
	"errors"

	"highwater/scenarios"
	"highwater/server"
)

// commander gives the server the commands of one running cluster.
type commander struct{ live *scenarios.Live }

// Command, of server.Commands, runs one command and waits until it has ended.
func (c commander) Command(ctx context.Context, text, by string) (uint64, any, error) {
	seq, result, err := c.live.Command(ctx, text, by)
	return uint64(seq), result, commandError(err)
}

// Help, of server.Commands, says what a line that is being written could become.
func (c commander) Help(line string) (any, error) { return c.live.Help(line) }

// commandError writes an error of the command language as the server knows it.
func commandError(err error) error {
	var wrong *scenarios.Error
	if errors.As(err, &wrong) {
		return &server.CommandError{Message: wrong.Message, Position: wrong.Position,
			Hint: wrong.Hint}
	}
	return err
}
