//go:build !linux

package wire

import "io"

// holdPort takes a port without listening on it; here that is not done, and another program may get
// the port of a broker that is down.
func holdPort(address string) (io.Closer, string) { return nil, address }
