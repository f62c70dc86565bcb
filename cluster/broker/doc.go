// Package broker is one Kafka broker as a node of the world: it registers with the controllers,
// follows the metadata log, holds partitions in their roles, and answers requests, one file an
// API key. It composes the packages below it; the edge and the built-in clients meet it only as
// requests.
package broker
