//go:build !linux

package wire

import "highwater/cluster/commitlog"

// direct writes to a socket without waiting. Here it never can: the writer goroutine does it all.
type direct struct{}

func (d *direct) init(*connection) {}

func (d *direct) send(*connection) (int, error) { return 0, nil }

func (d *direct) sendFile(*connection, commitlog.FileRange) (sent bool, err error) {
	return false, nil
}
