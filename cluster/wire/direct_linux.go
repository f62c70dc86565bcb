package wire

import (
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"highwater/cluster/commitlog"
)

// vectorsMax is IOV_MAX.
const vectorsMax = 1024

// direct writes to a socket without waiting. The runtime's own lock on the descriptor, which
// RawConn takes, keeps it from being closed and given to somebody else meanwhile.
type direct struct {
	raw     syscall.RawConn // nil when there is none to write to, as under TLS
	vectors [][]byte
	written int
	err     error
	once    func(descriptor uintptr) bool // d.write, kept because making it allocates
}

func (d *direct) init(c *connection) {
	tcp, is := c.stream.(*net.TCPConn)
	if !is {
		return
	}
	if raw, err := tcp.SyscallConn(); err == nil {
		d.raw = raw
		d.once = d.write
	}
}

// send writes the turn's parts up to the first file with one call, and says how many bytes the
// socket took.
func (d *direct) send(c *connection) (int, error) {
	if d.raw == nil {
		return 0, nil
	}
	for i := 0; i < len(c.parts) && c.parts[i].file.File == nil; i++ {
		if len(d.vectors) == vectorsMax {
			break
		}
		p := &c.parts[i]
		if p.buffer.Bytes != nil {
			d.vectors = append(d.vectors, p.buffer.Bytes)
			continue
		}
		// Encoded answers one behind the other are one piece of memory.
		to := p.to
		for i+1 < len(c.parts) && c.parts[i+1].encoded() {
			i++
			to = c.parts[i].to
		}
		d.vectors = append(d.vectors, c.scratch[p.from:to])
	}
	if len(d.vectors) == 0 {
		return 0, nil
	}
	d.written, d.err = 0, nil
	err := d.raw.Write(d.once)
	clear(d.vectors)
	d.vectors = d.vectors[:0]
	if err == nil {
		err = d.err
	}
	return d.written, err
}

// write makes one attempt; a socket that is full takes nothing.
func (d *direct) write(descriptor uintptr) bool {
	for {
		if len(d.vectors) == 1 {
			d.written, d.err = unix.Write(int(descriptor), d.vectors[0])
		} else {
			d.written, d.err = unix.Writev(int(descriptor), d.vectors)
		}
		if d.err != unix.EINTR {
			break
		}
	}
	if d.err != nil {
		d.written = 0
	}
	if d.err == unix.EAGAIN {
		d.err = nil
	}
	return true
}

// sendFile lets the kernel copy from the page cache to the socket. sent is false when it cannot.
func (d *direct) sendFile(c *connection, file commitlog.FileRange) (sent bool, err error) {
	source := file.File.OS()
	if source == nil || d.raw == nil {
		return false, nil
	}
	for file.Length > 0 {
		n := 0
		c.allowWriting()
		waited := d.raw.Write(func(descriptor uintptr) bool {
			n, err = unix.Sendfile(int(descriptor), int(source.Fd()), &file.Offset,
				int(min(file.Length, chunkBytes)))
			return err != unix.EAGAIN
		})
		switch {
		case waited != nil:
			return true, waited
		case err == unix.EINTR:
		case err != nil:
			return true, err
		case n == 0:
			return true, io.ErrUnexpectedEOF
		}
		file.Length -= int64(max(n, 0))
	}
	return true, nil
}
