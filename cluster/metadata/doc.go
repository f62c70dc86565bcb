// Package metadata is the immutable image of a cluster, the closed set of records that change it
// in Kafka's own encoding, and the pure rules that decide which record comes next (elections,
// in-sync replicas, replica placement, configuration values). It is not a log and not a
// controller: it does no I/O and keeps no state. The controller builds records with it; brokers
// apply the records they fetched and act on the differences.
package metadata
