// Package audit judges a trace: it follows the events of a cluster and says which promise an event
// breaks. It knows only events, so the same referee sits beside the live cluster, at the end of
// every engine test, and over a trace file.
package audit
