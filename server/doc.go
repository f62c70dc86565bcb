// Package server is the HTTP side: the page, the stream of events, commands, state, traces, the
// byte view and metrics. It guards what may be done from where, and holds no truth of its own:
// state comes from a hub, and every change is a command.
package server
