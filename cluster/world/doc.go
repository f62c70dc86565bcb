// Package world is the loop that all nodes of one cluster live in: virtual time, timers, links
// between nodes, dice, the pacing of virtual time against the wall clock, and the log of what came
// in from outside. It knows nothing of Kafka. Package cluster builds worlds; every node talks to
// its world through an Env.
//
// All methods of World, Env, Timer and Call belong to the loop, which one goroutine at a time runs:
// its own or, for one turn, one that brings a message while the loop sleeps (PostAndRun). Those that
// any goroutine may call say so.
package world
