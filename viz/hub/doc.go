// Package hub stands between a world's loop and everybody who watches it: it records events up to a
// bound, folds them, and serves viewers a snapshot and a tail; it changes nothing in the cluster.
// The world publishes to it, the server reads from it.
package hub
