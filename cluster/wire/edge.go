package wire

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"highwater/cluster/event"
	"highwater/cluster/record"
)

// Edge is where outside clients reach the nodes of one world. Listen, CloseNode and Close may be
// called on any goroutine; TurnEnded belongs to the world's loop.
type Edge struct {
	config    Config
	served    served
	pool      *record.Pool
	inflaters *inflaters
	inFlight  *budget
	nextID    atomic.Int32
	frames    atomic.Int64 // read so far
	running   sync.WaitGroup
	stop      chan struct{} // closed by Close

	// dirty are the connections with answers of this turn. Only the loop uses it.
	dirty []*connection

	ended      atomic.Bool // gone is not empty
	mu         sync.Mutex
	closed     bool
	listeners  map[event.NodeID]*listener
	held       map[event.NodeID]io.Closer // each node's port, also while it is down
	addresses  map[netip.Addr]int         // connections from each
	total      int                        // connections
	turnedAway bool                       // the last one was, so that a flood makes one line
	gone       []*connection              // whose goroutines ended; the loop lets go of the rest
}

// New makes an edge without listeners.
func New(config Config) *Edge {
	config = config.withDefaults()
	e := &Edge{
		config:    config,
		served:    newServed(config.Served),
		pool:      config.Pool,
		inflaters: newInflaters(config.InflatedBytesMax),
		inFlight:  &budget{max: config.InFlightBytesMax},
		stop:      make(chan struct{}),
		listeners: map[event.NodeID]*listener{},
		held:      map[event.NodeID]io.Closer{},
		addresses: map[netip.Addr]int{},
	}
	e.nextID.Store(int32(event.FirstOutside))
	e.running.Go(e.trim)
	return e
}

// listener is the open port of one node.
type listener struct {
	node        event.NodeID
	port        net.Listener
	stopped     chan struct{} // closed before port is, so that accepting ends quietly
	done        chan struct{} // closed when nothing is accepted any more
	connections map[*connection]struct{}
}

// Listen opens a node's port and returns its address, in which port 0 has become the port taken.
// After CloseNode the same address can be listened on again.
func (e *Edge) Listen(node event.NodeID, address string) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return "", net.ErrClosed
	}
	if e.listeners[node] != nil {
		return "", fmt.Errorf("wire: broker %d listens already", node)
	}
	var held io.Closer
	if e.held[node] == nil {
		held, address = holdPort(address)
	}
	port, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		if held != nil {
			_ = held.Close() // the listening's error is the better one
		}
		return "", listenError(node, address, err)
	}
	if held != nil {
		e.held[node] = held
	}
	l := &listener{node: node, port: port, stopped: make(chan struct{}),
		done: make(chan struct{}), connections: map[*connection]struct{}{}}
	e.listeners[node] = l
	e.running.Go(func() { e.accept(l) })
	return port.Addr().String(), nil
}

// CloseNode closes a node's port and resets all its connections: what waits to be sent is lost, as
// when a process dies. When it returns, connecting is refused. The node is not told.
func (e *Edge) CloseNode(node event.NodeID, reason string) {
	e.mu.Lock()
	l := e.listeners[node]
	delete(e.listeners, node)
	e.mu.Unlock()
	if l == nil {
		return
	}
	close(l.stopped)
	_ = l.port.Close() // a port that is gone already is closed
	<-l.done
	e.mu.Lock()
	open := make([]*connection, 0, len(l.connections))
	for c := range l.connections { // closing order has no effect
		open = append(open, c)
	}
	e.mu.Unlock()
	for _, c := range open {
		c.untold.Store(true)
		c.close(reason, true)
	}
}

// Close closes everything and waits until all goroutines of the edge have ended. The loop must
// have stopped, or be the caller.
func (e *Edge) Close() {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return
	}
	e.closed = true
	nodes := make([]event.NodeID, 0, len(e.listeners))
	for node := range e.listeners { // closing order has no effect
		nodes = append(nodes, node)
	}
	e.mu.Unlock()
	close(e.stop)
	for _, node := range nodes {
		e.CloseNode(node, "the cluster stops")
	}
	e.running.Wait()
	for _, held := range e.held {
		_ = held.Close() // nobody can do anything about it
	}
	e.TurnEnded()
	e.pool.Trim()
}

// TurnEnded sends the answers of the turn, one write a connection, and lets go of what closed
// connections had waiting.
func (e *Edge) TurnEnded() {
	if e.ended.Load() {
		e.mu.Lock()
		gone := e.gone
		e.gone = nil
		e.ended.Store(false)
		e.mu.Unlock()
		for _, c := range gone {
			c.abandon()
		}
	}
	for i, c := range e.dirty {
		c.dirty = false
		c.flush()
		e.dirty[i] = nil
	}
	e.dirty = e.dirty[:0]
}

// InFlightBytes is how much was read but is not answered yet.
func (e *Edge) InFlightBytes() int64 { return e.inFlight.inUse() }

// Connections is how many are open.
func (e *Edge) Connections() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.total
}

// accept takes connections until the port is closed.
func (e *Edge) accept(l *listener) {
	defer close(l.done)
	for {
		conn, err := l.port.Accept()
		if err == nil {
			e.admit(l, conn)
			continue
		}
		select {
		case <-l.stopped:
			return
		default:
		}
		e.config.Log.Error("accepting a Kafka client failed", "broker", int(l.node), "error", err)
		// Mostly no descriptors are left. They come back when connections close.
		select {
		case <-l.stopped:
			return
		case <-time.After(acceptPause):
		}
	}
}

const acceptPause = 100 * time.Millisecond

// admit starts a connection, unless there are too many.
func (e *Edge) admit(l *listener, conn net.Conn) {
	from := addressOf(conn)
	e.mu.Lock()
	if e.total >= e.config.ConnectionsMax || e.addresses[from] >= e.config.PerAddressMax {
		first := !e.turnedAway
		e.turnedAway = true
		total, same := e.total, e.addresses[from]
		e.mu.Unlock()
		_ = conn.Close() // there is nobody to tell
		if first {
			e.config.Log.Warn("too many Kafka clients; further ones are turned away",
				"broker", int(l.node), "connections", total, "from", from, "of those", same)
		}
		return
	}
	e.turnedAway = false
	e.total++
	e.addresses[from]++
	c := newConnection(e, l, conn, event.NodeID(e.nextID.Add(1)-1))
	l.connections[c] = struct{}{}
	e.mu.Unlock()
	e.running.Go(c.serve)
}

func addressOf(conn net.Conn) netip.Addr {
	if tcp, is := conn.RemoteAddr().(*net.TCPAddr); is {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// leave forgets a connection whose goroutine is about to end, and leaves to the loop what only the
// loop may touch.
func (e *Edge) leave(c *connection) {
	from := addressOf(c.conn)
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(c.listener.connections, c)
	e.total--
	if e.addresses[from]--; e.addresses[from] == 0 {
		delete(e.addresses, from)
	}
	e.gone = append(e.gone, c)
	e.ended.Store(true)
}

// trim lets the memory kept for reuse go whenever no frame came for a while.
func (e *Edge) trim() {
	ticker := time.NewTicker(e.config.TrimInterval)
	defer ticker.Stop()
	var seen int64
	for {
		select {
		case <-e.stop:
			return
		case <-ticker.C:
		}
		frames := e.frames.Load()
		if _, kept := e.pool.Stats(); frames == seen && kept > 0 {
			e.pool.Trim()
			e.inflaters.trim()
		}
		seen = frames
	}
}
