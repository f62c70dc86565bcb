// Package controller is the quorum of controllers and what its active member decides: who is
// registered, fenced and unfenced, which topics and configuration there are, who leads each
// partition and who is in sync. It is not a broker and answers no client: brokers forward to it.
// Package cluster builds controllers, brokers call the active one through the world.
//
// It is the only package that knows the Raft library. Raft runs in frozen rounds: its own timers
// are parked, the world's timers decide who campaigns, and a round ends when its expected effect
// is on every reachable disk.
package controller
