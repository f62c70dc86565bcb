package main

import (
	"context"

	"highwater/server"
)

type commander struct{ m *mainWorld }

func newCommander(m *mainWorld) *commander { return &commander{m} }

func (c *commander) Command(ctx context.Context, text, by string) (uint64, any, error) {
	return 0, nil, &server.CommandError{Message: "pending", Position: -1}
}
