package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"highwater/cluster/commitlog"
	"highwater/cluster/record"
)

// chunkBytes is how much a slow client is given at once; each time it has StallTimeout to take it.
const chunkBytes = 256 << 10

// piece is something for the writer goroutine: memory, or a range of a file.
type piece struct {
	bytes  []byte
	buffer record.Buffer // that bytes lie in, if it is counted
	file   commitlog.FileRange
}

func (p *piece) release() {
	if p.file.File != nil {
		_ = p.file.File.Release() // closing a file that was only read loses nothing
	}
	p.buffer.Release()
	*p = piece{}
}

// outgoing is what waits for the writer goroutine. Only the loop starts one, and while it runs the
// loop does not write to the socket.
type outgoing struct {
	mu      sync.Mutex
	writing bool
	queue   []piece
	bytes   int64  // of the queue and of what is being written, files aside
	closing string // why to close when the queue is empty
}

// flush sends the answers of a turn as far as the socket takes them now.
func (c *connection) flush() {
	if c.closed.Load() {
		c.dropParts()
		return
	}
	o := &c.outgoing
	o.mu.Lock()
	writing := o.writing
	o.mu.Unlock()
	sent := 0
	if !writing {
		var err error
		if sent, err = c.direct.send(c); err != nil {
			c.close("writing failed: "+err.Error(), false)
			c.dropParts()
			return
		}
	}
	rest := c.restOfParts(sent)
	if len(rest) > 0 {
		c.enqueue(rest, writing)
	} else if c.closing != "" && !writing {
		c.closeSaying(c.closing)
	} else if c.closing != "" {
		c.enqueue(nil, writing)
	}
	c.resetParts()
}

// closeSaying closes the connection for a reason that the log should name.
func (c *connection) closeSaying(reason string) {
	if !c.closed.Load() {
		c.edge.config.Log.Info("a Kafka client's connection was closed",
			"broker", int(c.listener.node), "from", c.conn.RemoteAddr(), "reason", reason)
	}
	c.close(reason, false)
}

// restOfParts lets go of the parts that were sent, and makes pieces of the others. Encoded bytes
// are copied, since the next turn encodes in the same place.
func (c *connection) restOfParts(sent int) []piece {
	var rest []piece
	for i := range c.parts {
		p := &c.parts[i]
		size := p.size()
		if sent >= size {
			sent -= size
			p.release()
			continue
		}
		switch {
		case p.file.File != nil:
			rest = append(rest, piece{file: p.file})
		case p.buffer.Bytes != nil:
			rest = append(rest, piece{bytes: p.buffer.Bytes[sent:], buffer: p.buffer})
		default:
			encoded := append([]byte(nil), c.scratch[p.from+sent:p.to]...)
			rest = append(rest, piece{bytes: encoded})
		}
		sent = 0
	}
	return rest
}

// enqueue hands pieces to the writer goroutine, which it starts when there is none.
func (c *connection) enqueue(pieces []piece, writing bool) {
	o := &c.outgoing
	o.mu.Lock()
	o.queue = append(o.queue, pieces...)
	for i := range pieces {
		o.bytes += int64(len(pieces[i].bytes))
	}
	// One answer of any size is no client's fault.
	slow := o.bytes > c.edge.config.OutputBytesMax+int64(c.longest)
	o.closing = c.closing
	start := !o.writing
	o.writing = true
	o.mu.Unlock()
	if start {
		c.edge.running.Go(c.write)
	}
	if slow {
		c.closeSaying("it reads its answers too slowly")
	}
}

// write is the writer goroutine: it ends when nothing waits any more.
func (c *connection) write() {
	o := &c.outgoing
	var failed error
	for {
		o.mu.Lock()
		queue := o.queue
		o.queue = nil
		if len(queue) == 0 {
			closing := o.closing
			_ = c.stream.SetWriteDeadline(time.Time{}) // a closed socket says so at the next write
			o.writing = false
			o.mu.Unlock()
			if closing != "" {
				c.closeSaying(closing)
			}
			return
		}
		o.mu.Unlock()
		var bytes int64
		for i := range queue {
			bytes += int64(len(queue[i].bytes))
		}
		if failed == nil {
			failed = c.writeAll(queue)
		}
		for i := range queue {
			queue[i].release()
		}
		o.mu.Lock()
		o.bytes -= bytes
		o.mu.Unlock()
		if failed != nil {
			c.closeFailed(failed)
		}
	}
}

func (c *connection) closeFailed(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.closeSaying("it took none of its answers for too long")
		return
	}
	c.close("writing failed: "+err.Error(), false)
}

// writeAll writes pieces in order, runs of memory together.
func (c *connection) writeAll(queue []piece) error {
	var run net.Buffers
	bytes := 0
	for i := range queue {
		p := &queue[i]
		if p.file.File != nil {
			if err := c.writeRun(&run, &bytes); err != nil {
				return err
			}
			if err := c.writeFile(p.file); err != nil {
				return err
			}
			continue
		}
		for rest := p.bytes; len(rest) > 0; {
			n := min(len(rest), chunkBytes-bytes)
			run, bytes, rest = append(run, rest[:n]), bytes+n, rest[n:]
			if bytes == chunkBytes {
				if err := c.writeRun(&run, &bytes); err != nil {
					return err
				}
			}
		}
	}
	return c.writeRun(&run, &bytes)
}

// writeRun writes what was gathered and empties it.
func (c *connection) writeRun(run *net.Buffers, bytes *int) error {
	if *bytes == 0 {
		return nil
	}
	c.allowWriting()
	_, err := run.WriteTo(c.stream)
	*run, *bytes = nil, 0
	return err
}

func (c *connection) allowWriting() {
	// A closed socket says so at the write that follows.
	_ = c.stream.SetWriteDeadline(time.Now().Add(c.edge.config.StallTimeout))
}

// writeFile sends a range of a file, by the system where it can.
func (c *connection) writeFile(file commitlog.FileRange) error {
	if sent, err := c.direct.sendFile(c, file); sent {
		return err
	}
	slab := c.edge.pool.Get(int(min(file.Length, chunkBytes)))
	defer slab.Release()
	for file.Length > 0 {
		b := slab.Bytes()[:min(file.Length, int64(len(slab.Bytes())), chunkBytes)]
		n, err := file.File.ReadAt(b, file.Offset)
		if n < len(b) {
			return errors.Join(io.ErrUnexpectedEOF, err)
		}
		c.allowWriting()
		if _, err := c.stream.Write(b); err != nil {
			return err
		}
		file.Offset, file.Length = file.Offset+int64(n), file.Length-int64(n)
	}
	return nil
}
