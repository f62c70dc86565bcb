package world

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"highwater/cluster/event"
)

// Errors a request ends with when no answer comes.
var (
	ErrDisconnected = errors.New("world: the connection was reset")
	ErrTimedOut     = errors.New("world: the request timed out")
)

// Node is one broker, controller or built-in client. Only the world calls it, one call at a time.
type Node interface {
	// Deliver hands over a request, which the node answers now or later with call.Reply.
	Deliver(call *Call)
	// Disconnected says that an outside connection to this node is gone.
	Disconnected(connection event.NodeID)
}

// Greeter is a node that wants to know from where outside clients connect.
type Greeter interface {
	// Connected says that an outside connection to this node was opened.
	Connected(connection event.NodeID, address string)
}

// Sink receives what a turn emitted. It owns the chunk and returns an empty one to go on in.
type Sink interface {
	Publish(full *event.Chunk) (empty *event.Chunk)
}

// Config says what kind of world to make.
type Config struct {
	Seed   uint64
	Origin time.Time // what virtual time 0 is on the wall clock
	// Events receives all events; nil switches them off.
	Events Sink
	// Live makes tickets run beside the loop instead of at once.
	Live bool
	// Latency is every link's latency until a delay is set.
	Latency time.Duration
	// PanicThrough lets a node's panic end the process, as tests want. Otherwise it takes the one
	// node down.
	PanicThrough bool
	// TurnEnded runs at the end of every turn, after all writes: the edge sends its responses.
	TurnEnded func()
	// NodeFailed runs when a node's panic took it down, so that its connections can be closed.
	NodeFailed func(id event.NodeID, reason string)
	// Recorder keeps what comes in from outside; nil keeps nothing.
	Recorder *InputLog
}

// Spec describes a node to the world.
type Spec struct {
	ID   event.NodeID
	Role string
	Host string
	Port int32
	// Start makes the node's state for a new incarnation.
	Start func(env *Env) (Node, error)
}

// World is one cluster's time and space.
type World struct {
	config  Config
	now     int64 // virtual nanoseconds
	log     *event.Log
	emitter *event.Emitter
	dice    *rand.Rand
	queue   queue
	nodes   map[event.NodeID]*node
	order   []event.NodeID // of nodes, sorted
	links   map[[2]event.NodeID]*link
	lastID  int64 // of messages, timers and waits
	turnEnd []func()
	sent    event.MessageSent // being described
	mail    mailbox
	pace    pacer
	works   map[int64]*workTicket
	// dispatched counts what happened: the position of an outside input among it.
	dispatched int64
	replaying  bool
	spare      *event.Chunk
}

// node is a place for incarnations of one node.
type node struct {
	spec        Spec
	env         *Env // nil while it is down
	incarnation int32
	paused      bool
	parked      []item
	clock       clock
	lag         time.Duration // what a slow disk adds to everything it says
	outgoing    map[event.NodeID]*connection
	stopping    Stopping // how its last incarnation ended, and when
	stoppedAt   int64
}

// New makes an empty world at virtual time 0.
func New(config Config) *World {
	w := &World{
		config: config,
		dice:   rand.New(rand.NewPCG(config.Seed, 0x9e3779b97f4a7c15)),
		nodes:  map[event.NodeID]*node{},
		links:  map[[2]event.NodeID]*link{},
		works:  map[int64]*workTicket{},
		spare:  &event.Chunk{},
	}
	if config.Events != nil {
		w.log = event.NewLog()
	}
	w.emitter = event.NewEmitter(w.log, &w.now, 0)
	w.mail.init()
	w.pace.init()
	return w
}

// Events is the emitter of the world itself, which speaks as node 0.
func (w *World) Events() *event.Emitter { return w.emitter }

// Now is the virtual time.
func (w *World) Now() time.Duration { return time.Duration(w.now) }

// Origin is the wall-clock time that virtual time 0 stands for.
func (w *World) Origin() time.Time { return w.config.Origin }

// Dice are the world's own: for topic ids, power cuts and whatever belongs to no node.
func (w *World) Dice() *rand.Rand { return w.dice }

// NextID numbers messages, timers and waits; ids never repeat within a world.
func (w *World) NextID() int64 {
	w.lastID++
	return w.lastID
}

// Add makes a node known. It is down until StartNode.
func (w *World) Add(spec Spec) {
	if _, taken := w.nodes[spec.ID]; taken {
		panic(fmt.Sprintf("world: node %d added twice", spec.ID))
	}
	w.nodes[spec.ID] = &node{spec: spec, clock: clock{rate: 1000},
		outgoing: map[event.NodeID]*connection{}}
	w.order = append(w.order, spec.ID)
	slices.Sort(w.order)
}

// Nodes lists the known nodes by id.
func (w *World) Nodes() []event.NodeID { return w.order }

// Alive says whether a node has an incarnation, paused or not.
func (w *World) Alive(id event.NodeID) bool {
	n := w.nodes[id]
	return n != nil && n.env != nil
}

// Paused says whether a node stands still.
func (w *World) Paused(id event.NodeID) bool {
	n := w.nodes[id]
	return n != nil && n.paused
}

// Node returns the running incarnation's state, nil when the node is down.
func (w *World) Node(id event.NodeID) Node {
	if n := w.nodes[id]; n != nil && n.env != nil {
		return n.env.state
	}
	return nil
}

// StartNode begins a new incarnation.
func (w *World) StartNode(id event.NodeID) error {
	n := w.nodes[id]
	if n == nil {
		return fmt.Errorf("world: there is no node %d", id)
	}
	if n.env != nil {
		return fmt.Errorf("world: node %d is running", id)
	}
	n.incarnation++
	n.paused = false
	em := event.NewEmitter(w.log, &w.now, id)
	em.Cause = w.emitter.Cause
	env := &Env{Events: em, world: w, node: n,
		dice:  rand.New(rand.NewPCG(w.config.Seed^uint64(id)<<32, uint64(n.incarnation))),
		works: newWorker()}
	event.NodeStarted{Role: n.spec.Role, Incarnation: n.incarnation, Host: n.spec.Host,
		Port: n.spec.Port}.Emit(em, event.RuleNone)
	n.env = env
	state, err := n.spec.Start(env)
	if err != nil {
		n.env = nil
		env.dead = true
		event.NodeStopped{How: "start-failed", Reason: err.Error()}.Emit(em, event.RuleNone)
		return fmt.Errorf("world: start node %d: %w", id, err)
	}
	env.state = state
	return nil
}

// SetPort tells the world which port a node listens on, for its next NodeStarted.
func (w *World) SetPort(id event.NodeID, host string, port int32) {
	n := w.nodes[id]
	n.spec.Host, n.spec.Port = host, port
}

// SetRole tells the world what a node will be from its next NodeStarted on.
func (w *World) SetRole(id event.NodeID, role string) { w.nodes[id].spec.Role = role }

// Stopping is why and how an incarnation ends.
type Stopping struct {
	How       string // stop, kill, power-cut, disk, invariant
	Reason    string
	LostBytes int64
	Rule      event.Rule
}

// StopNode ends the incarnation at once: its memory, timers and waiting callbacks are gone and its
// connections are reset. Its disk is its owner's business.
func (w *World) StopNode(id event.NodeID, s Stopping) {
	n := w.nodes[id]
	if n == nil || n.env == nil {
		return
	}
	env := n.env
	cause := w.emitter.Cause
	if env.Events.Cause > cause {
		cause = env.Events.Cause
	}
	env.Events.Cause = cause
	stopped := event.NodeStopped{How: s.How, Reason: s.Reason, LostBytes: s.LostBytes}.
		Emit(env.Events, s.Rule)
	env.dead = true
	env.turnEnd = nil
	n.env = nil
	n.paused = false
	n.parked = nil
	w.queue.forget(env)
	n.stopping, n.stoppedAt = s, w.now
	w.resetConnectionsOf(id, stopped)
}

// Stopped tells how and when a node went down that is down now; ok is false when it runs, or never
// ran.
func (w *World) Stopped(id event.NodeID) (s Stopping, at time.Duration, ok bool) {
	n := w.nodes[id]
	if n == nil || n.env != nil || n.stopping.How == "" {
		return Stopping{}, 0, false
	}
	return n.stopping, time.Duration(n.stoppedAt), true
}

// Pause makes a node handle nothing until Resume, as a long garbage collection would.
func (w *World) Pause(id event.NodeID) {
	n := w.nodes[id]
	if n == nil || n.env == nil || n.paused {
		return
	}
	n.paused = true
	n.env.Events.Cause = w.emitter.Cause
	event.NodePaused{}.Emit(n.env.Events, event.RuleNone)
}

// Resume lets a paused node handle what waited for it, in order.
func (w *World) Resume(id event.NodeID) {
	n := w.nodes[id]
	if n == nil || !n.paused {
		return
	}
	n.paused = false
	n.env.Events.Cause = w.emitter.Cause
	event.NodeResumed{}.Emit(n.env.Events, event.RuleNone)
	for _, it := range n.parked {
		it.due = w.now
		w.push(it)
	}
	n.parked = nil
}
