// Package cluster builds a whole cluster in one world: brokers, controllers, their disks, the edge
// where outside clients connect, and a built-in client; and it does to it whatever can be done:
// start, stop, kill, power cut, pause, cut links. Commands and tests call it, on the loop.
package cluster
