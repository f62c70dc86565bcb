package wire

import (
	"io"
	"net"
	"strconv"
	"syscall"
)

// heldPort is a socket that has a port and never listens.
type heldPort int

// Close gives the port back.
func (h heldPort) Close() error { return syscall.Close(int(h)) }

// holdPort takes a port without listening on it: connecting is refused while nobody listens, and
// still no other program is given the port. It returns the address with the port taken; nil, and the
// address as it was, where that does not work: listening then says why.
func holdPort(address string) (io.Closer, string) {
	wanted, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return nil, address
	}
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, address
	}
	held := heldPort(socket)
	if err := held.bind(wanted); err == nil {
		if taken, err := syscall.Getsockname(socket); err == nil {
			port := taken.(*syscall.SockaddrInet4).Port
			host, _, _ := net.SplitHostPort(address)
			return held, net.JoinHostPort(host, strconv.Itoa(port))
		}
	}
	_ = held.Close() // nothing was taken
	return nil, address
}

func (h heldPort) bind(to *net.TCPAddr) error {
	// A listener may share the port with a socket that does not listen, if both allow it.
	err := syscall.SetsockoptInt(int(h), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err != nil {
		return err
	}
	local := &syscall.SockaddrInet4{Port: to.Port}
	copy(local.Addr[:], to.IP.To4())
	return syscall.Bind(int(h), local)
}
