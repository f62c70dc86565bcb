// Package scenarios is the command language: its table, parser, expressions and executor, and the
// library of scenario files written in it. It is not a second way to act on a cluster but the only
// one; the server, the command line and tests call it.
package scenarios

//go:generate go run ./generate
