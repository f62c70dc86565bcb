// Package trace is the trace file: a header and one JSON event a line, written and read as a
// stream; it neither folds nor judges events. The hub, the command line and tests call it.
package trace
