// Package client is the built-in client of a cluster: one node of the world that produces, reads
// and administers through Kafka's own requests. It is not a client library, and it never looks
// into a broker; commands and scenarios call it on the loop.
package client
