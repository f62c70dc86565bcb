// Package client is the built-in clients of a cluster, nodes of the world that speak Kafka's own
// requests. Client produces, reads and administers for commands and scenarios. Producer and
// Consumer behave as Kafka's Java clients do, so that what these believe can be seen and broken: an
// accumulator with its sender, sequences and transactions; a poll loop with its group, its
// positions and its clocks. None is a client library, and none ever looks into a broker; all are
// called on the loop.
package client
