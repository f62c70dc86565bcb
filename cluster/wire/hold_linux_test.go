package wire

import (
	"net"
	"net/netip"
	"syscall"
	"testing"
)

func TestPortOfANodeThatIsDownIsRefusedAndNobodyElses(t *testing.T) {
	s := start(t, nil, nil)
	e, address := s.edge, s.address
	e.CloseNode(1, "killed")
	if conn, err := net.Dial("tcp", address); err == nil {
		_ = conn.Close()
		t.Error("a node that is down takes connections")
	}
	port := netip.MustParseAddrPort(address).Port()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(socket)
	local := &syscall.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}}
	if err := syscall.Bind(socket, local); err == nil {
		t.Error("another program can have the port")
	}
	if again, err := e.Listen(1, address); err != nil || again != address {
		t.Errorf("listening again: %s, %v", again, err)
	}
}
