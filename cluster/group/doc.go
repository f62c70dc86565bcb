// Package group is the coordinator of classic consumer groups: who is a member, whose turn it is in
// a rebalance, and which offsets are committed. It is one coordinator a partition of
// __consumer_offsets and knows neither logs nor sockets; the broker that leads the partition hands
// it requests, appends its records, and has it replay them once they are committed.
package group
