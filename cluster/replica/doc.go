// Package replica is how copies come about: a follower's fetch loop, one for each leader and
// carrying all partitions followed from it, and the messages it exchanges. The leader's side is
// the broker's. Nobody pushes: what a follower asks for next says what it has.
package replica
