// Package wire is the edge at which Kafka clients meet a world: listeners, connections, frames,
// limits and the way answers leave. It decides nothing that a broker decides, and keeps no state
// of the cluster. Package cluster makes one Edge for each world and gives it the world's turns.
//
// A connection has one goroutine that reads. What it read reaches the world as posted calls, whose
// answers the loop writes itself, without ever waiting for a socket; only what a socket does not
// take at once, ranges of files and everything under TLS go to a goroutine that writes.
package wire
