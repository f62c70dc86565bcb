package wire

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"syscall"

	"highwater/cluster/event"
)

// listenError says what a person can do about a port that cannot be listened on.
func listenError(node event.NodeID, address string, err error) error {
	held := HeldBy(address, err)
	if held == "" {
		return fmt.Errorf("wire: broker %d cannot listen on %s: %w", node, address, err)
	}
	return fmt.Errorf("wire: broker %d cannot listen on %s%s; "+
		"choose another port with --kafka, or port 0 for any that is free: %w",
		node, address, held, err)
}

// HeldBy says who listens on an address already, as the end of a sentence; it is empty when the
// error is another one.
func HeldBy(address string, err error) string {
	if !isSystemError(err, syscall.EADDRINUSE, windowsAddrInUse) {
		return ""
	}
	holder := "something else"
	if _, text, splitErr := net.SplitHostPort(address); splitErr == nil {
		if port, numberErr := strconv.Atoi(text); numberErr == nil {
			if found := holderOf(port); found != "" {
				holder = found
			}
		}
	}
	return ", where " + holder + " listens already"
}

// Windows has numbers of its own for the errors of sockets, beside those of Unix.
const (
	windowsAddrInUse syscall.Errno = 10048
	windowsConnReset syscall.Errno = 10054
)

func isSystemError(err error, unix, windows syscall.Errno) bool {
	if runtime.GOOS == "windows" {
		return errors.Is(err, windows)
	}
	return errors.Is(err, unix)
}
