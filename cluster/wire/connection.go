package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"highwater/cluster/broker"
	"highwater/cluster/event"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

// connection is one client. Its fields belong to the goroutine named above them.
type connection struct {
	// Fixed before the first goroutine starts.
	edge     *Edge
	listener *listener
	id       event.NodeID
	conn     net.Conn // the socket, also under TLS
	stream   net.Conn // what is read and written: conn, or TLS over it

	// The reader's.
	parser    parser
	slab      *record.Slab
	start     int   // in slab: where what was not parsed begins
	filled    int   // in slab: where what was read ends
	slabSize  int   // bytes of the next slab
	largest   int   // bytes of the largest whole frame so far
	partial   int   // bytes of a frame that has begun, 0 between frames
	partialOf int64 // asked when it began
	claim     claim // to the budget, for that frame
	spoken    bool  // a whole frame was read
	deadline  time.Time
	asked     int64 // requests posted or about to be
	incoming  []world.Inbound

	// Between reader and loop. A slot of the window is the reader's until its request is posted,
	// and again once answered has passed it.
	window   [requestsInFlightMax]slot
	answered atomic.Int64
	waiting  atomic.Bool // the reader waits for room
	room     chan struct{}

	// The loop's.
	dirty   bool   // in the edge's list for the end of this turn
	met     int64  // requests up to here, not included, have been answered or passed by an answer
	scratch []byte // encoded answers of this turn
	parts   []part // of this turn, in order
	longest int    // bytes of the longest answer of this turn
	closing string // why to close once all is sent

	// Anybody's.
	closed   atomic.Bool
	untold   atomic.Bool // the node is not to hear that the connection ended
	done     chan struct{}
	reason   string // why it was closed; set before done closes
	direct   direct
	outgoing outgoing
}

// slot is one request under way.
type slot struct {
	correlation int32
	key         int16
	version     int16
	unsupported bool  // an ApiVersions of a version that nobody knows
	bytes       int64 // of the budget
	answer      any   // the loop's; nil until there is one
}

func newConnection(e *Edge, l *listener, conn net.Conn, id event.NodeID) *connection {
	c := &connection{edge: e, listener: l, id: id, conn: conn, stream: conn,
		parser: parser{inflaters: e.inflaters}, room: make(chan struct{}, 1),
		done: make(chan struct{}), slabSize: slabBytesMin}
	if e.config.TLS != nil {
		c.stream = tls.Server(conn, e.config.TLS)
	}
	c.direct.init(c)
	return c
}

// serve reads until the connection ends, for whatever reason.
func (c *connection) serve() {
	address := c.conn.RemoteAddr().String()
	c.edge.config.World.Post(world.ConnectedIn(c.listener.node, c.id, address))
	err := c.handshake()
	if err == nil {
		err = c.readAll()
	}
	c.report(err, address)
	c.close(endReason(err), false)
	<-c.done
	if c.slab != nil {
		c.slab.Release()
	}
	c.edge.inFlight.settle(&c.claim, 0)
	c.edge.leave(c)
	if !c.untold.Load() {
		c.edge.config.World.Post(world.DisconnectedIn(c.listener.node, c.id, c.reason))
	}
}

func (c *connection) handshake() error {
	c.setDeadline(c.edge.config.FirstFrameTimeout)
	if secure, is := c.stream.(*tls.Conn); is {
		if err := secure.HandshakeContext(context.Background()); err != nil {
			return refuse("the TLS handshake failed: %v", err)
		}
	}
	return nil
}

// refusedError ends a connection because of what the client did, or did not do.
type refusedError struct {
	why   string
	usual bool // nothing is wrong with the client
}

func (e *refusedError) Error() string { return e.why }

func refuse(format string, args ...any) error {
	return &refusedError{why: fmt.Sprintf(format, args...)}
}

var errClosed = errors.New("closed by the broker")

func endReason(err error) string {
	var refused *refusedError
	switch {
	case errors.As(err, &refused):
		return refused.why
	case err == io.EOF:
		return "the client closed the connection"
	case isSystemError(err, syscall.ECONNRESET, windowsConnReset):
		return "the client reset the connection"
	}
	return err.Error()
}

// report writes the one log line about a client that did something wrong.
func (c *connection) report(err error, address string) {
	var stranger *strangerError
	var refused *refusedError
	log, node := c.edge.config.Log, int(c.listener.node)
	if c.closed.Load() {
		return // by somebody with a reason of his own
	}
	if errors.As(err, &stranger) {
		log.Warn(fmt.Sprintf("%s reached the Kafka port of broker %d; only Kafka's protocol is "+
			"spoken there, and the connection was closed", stranger.what, node), "from", address)
	} else if errors.As(err, &refused) {
		level := slog.LevelWarn
		if refused.usual {
			level = slog.LevelInfo
		}
		text := fmt.Sprintf("broker %d closed the connection of a Kafka client: %s",
			node, refused.why)
		log.Log(context.Background(), level, text, "from", address)
	}
}

// close ends the connection once; the first reason counts. With reset what the kernel still holds
// is dropped too.
func (c *connection) close(reason string, reset bool) {
	if !c.closed.CompareAndSwap(false, true) {
		return
	}
	c.reason = reason
	if tcp, is := c.conn.(*net.TCPConn); is && reset {
		_ = tcp.SetLinger(0) // it fails only on a socket that is gone
	}
	_ = c.conn.Close() // likewise
	close(c.done)
}

func (c *connection) setDeadline(in time.Duration) {
	c.deadline = time.Now().Add(in)
	_ = c.stream.SetReadDeadline(c.deadline) // a closed socket says so at the next read
}

// readAll posts requests until something ends it.
func (c *connection) readAll() error {
	c.slab = c.edge.pool.Get(slabBytesMin)
	for {
		if err := c.read(); err != nil {
			return err
		}
		err := c.takeFrames()
		c.post()
		if err != nil {
			return err
		}
		if err := c.makeRoom(); err != nil {
			return err
		}
	}
}

// post brings all requests of one socket read into the world, with one wake-up.
func (c *connection) post() {
	if len(c.incoming) == 0 {
		return
	}
	c.edge.frames.Add(int64(len(c.incoming)))
	c.edge.config.World.PostAndRun(c.incoming...)
	clear(c.incoming)
	c.incoming = c.incoming[:0]
}

// read reads once from the socket. A client with a request under way is not idle.
func (c *connection) read() error {
	for {
		n, err := c.stream.Read(c.slab.Bytes()[c.filled:])
		if n > 0 {
			c.adapt(n)
			c.filled += n
			return nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		switch {
		case c.partial >= lengthBytes+frameBytesMin || c.spoken && c.partial > 0:
			return refuse("a frame did not arrive whole within %v", c.edge.config.FrameTimeout)
		case !c.spoken:
			return refuse("no request came within %v", c.edge.config.FirstFrameTimeout)
		case c.rest(), c.asked > c.answered.Load():
			c.setDeadline(c.edge.config.IdleTimeout)
		default:
			return &refusedError{usual: true,
				why: fmt.Sprintf("idle for %v", c.edge.config.IdleTimeout)}
		}
	}
}

// takeFrames makes requests of all whole frames that were read.
func (c *connection) takeFrames() error {
	for c.filled-c.start >= lengthBytes {
		b := c.slab.Bytes()[c.start:c.filled]
		length, err := frameLength(b, c.edge.config.FrameBytesMax, !c.spoken)
		if err != nil {
			var stranger *strangerError
			if errors.As(err, &stranger) {
				return err
			}
			return refuse("it sent %v", err)
		}
		if len(b) < lengthBytes+length {
			return nil
		}
		c.spoken = true
		c.largest = max(c.largest, length)
		end := lengthBytes + length
		if err := c.take(b[lengthBytes:end:end]); err != nil {
			return err
		}
		c.start += end
	}
	return nil
}

// take makes a request of one frame and adds it to what will be posted.
func (c *connection) take(frame []byte) error {
	table := c.edge.served
	h, err := parseHeader(frame, table.flexible)
	known, offered := table[h.key]
	unsupported := offered && h.key == keyApiVersions &&
		(h.version > known.max || h.version < known.min)
	if err == nil {
		err = table.admits(&h)
	}
	if err != nil && !unsupported {
		return refuse("it sent %s", describe(&h, err))
	}
	raw := frame
	var request *broker.Request
	if h.key == keyProduce {
		request, err = c.parser.produce(&h, c.slab)
	} else {
		// Byte fields of the body stay with the broker for longer than the slab can wait.
		raw = append([]byte(nil), frame...)
		if unsupported {
			raw = asVersionZero(raw)
		}
		if h, err = parseHeader(raw, table.flexible); err == nil {
			request, err = c.parser.other(&h)
		}
	}
	if err != nil {
		return refuse("it sent a request that cannot be read: %v", err)
	}
	if err := c.awaitRoom(); err != nil {
		release(request)
		return err
	}
	s := &c.window[c.asked%requestsInFlightMax]
	*s = slot{correlation: h.correlation, key: h.key, version: h.version,
		unsupported: unsupported, bytes: c.charge(len(frame))}
	c.incoming = append(c.incoming, world.CallIn(c.listener.node, c.id, Name(h.key), request, raw,
		c, c.asked))
	c.asked++
	return nil
}

func describe(h *header, err error) string {
	if errors.Is(err, errCutShort) {
		return fmt.Sprintf("a header that ends too early (API key %d)", h.key)
	}
	return err.Error()
}

// release gives back what a request holds that nobody will answer.
func release(request *broker.Request) {
	for i := range request.Batches {
		request.Batches[i].Buffer.Release()
	}
}

// awaitRoom waits until another request may be in flight. What was parsed before it goes to the
// loop first, or nothing would ever be answered.
func (c *connection) awaitRoom() error {
	if c.asked-c.answered.Load() < requestsInFlightMax {
		return nil
	}
	c.post()
	c.waiting.Store(true)
	defer c.waiting.Store(false)
	for c.asked-c.answered.Load() >= requestsInFlightMax {
		select {
		case <-c.room:
		case <-c.done:
			return errClosed
		}
	}
	return nil
}
