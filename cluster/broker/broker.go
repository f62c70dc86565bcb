package broker

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/commitlog"
	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/partition"
	"highwater/cluster/replica"
	"highwater/cluster/world"
)

// Config is what a broker is started with.
type Config struct {
	ClusterID   string
	Disk        *disk.Disk
	Controllers []event.NodeID
	// Host and Port are what clients are told to connect to.
	Host string
	Port int32
	// Settings are Kafka's broker configurations that differ from the defaults.
	Settings Settings
	// Static are all that it was started with, as texts: topics fall back to them.
	Static map[string]string
	Log    *slog.Logger
	// RecoveryThreads is how many logs are closed at a time (num.recovery.threads.per.data.dir). In
	// virtual time it is 1, so that what happens on the disk has one order.
	RecoveryThreads int
}

// Broker is one incarnation. Everything in it belongs to the world's loop.
type Broker struct {
	env    *world.Env
	config Config
	disk   *disk.Disk
	log    *slog.Logger

	metadata   metadataFollower
	controller controllerChannel
	session    session

	partitions   map[replica.PartitionKey]*held
	ordered      []*held // by topic and index
	checkpoints  checkpoints
	dirty        []*held // whose logs have something to flush
	fetchers     map[event.NodeID]*replica.Fetcher
	followers    map[event.NodeID]*followerSession
	proposals    isrProposals
	waits        waitSet
	wake         wakeList
	sessions     fetchSessions
	producerIDs  producerIDs
	deletions    []*deleteWait // of records, which wait for followers
	groups       groupCoordinators
	transactions txnCoordinators
	cleaning     cleaning
	describing   describeBudget
	clients      map[event.NodeID]*clientConnection
	early        []earlyCall     // before it takes requests
	creating     map[string]bool // topics that clients missed, asked of the controller
	stopping     bool
	stopped      func()
	// hooks are methods as values made once, for the turn's end.
	hooks struct{ flush, wakeUp func() }
}

// held is a partition that this broker has a replica of.
type held struct {
	*partition.Partition
	key   replica.PartitionKey
	rules topicRules
	dirty bool
	// uncleanable says that the cleaner found batches that it cannot read; it leaves the log alone.
	uncleanable bool
	// fetches are the client fetches that wait for this partition.
	fetches []*fetchWait
}

// New starts an incarnation: it reads its log directory and begins to look for the active
// controller.
func New(env *world.Env, config Config) (*Broker, error) {
	b := &Broker{env: env, config: config, disk: config.Disk, log: config.Log,
		partitions: map[replica.PartitionKey]*held{},
		fetchers:   map[event.NodeID]*replica.Fetcher{},
		followers:  map[event.NodeID]*followerSession{},
		clients:    map[event.NodeID]*clientConnection{}, creating: map[string]bool{}}
	b.hooks.flush, b.hooks.wakeUp = b.flush, b.wakeUp
	b.waits.init(b)
	b.sessions.init()
	if err := b.openDirectory(); err != nil {
		b.tellFailure("start", err)
		return nil, err
	}
	b.groups.init(b)
	b.transactions.init(b)
	b.controller.init(b)
	b.register()
	b.followMetadata()
	b.startChores()
	return b, nil
}

// BrokerEpoch is the offset of this incarnation's registration, -1 before it is registered.
func (b *Broker) BrokerEpoch() int64 { return b.session.epoch }

// Image is the cluster as this broker has replayed it.
func (b *Broker) Image() *metadata.Image { return b.metadata.image }

// Fenced says whether this broker believes to be fenced.
func (b *Broker) Fenced() bool { return b.session.fenced }

// Partition returns a replica that this broker holds, nil when it does not.
func (b *Broker) Partition(topic string, index int32) *partition.Partition {
	if h := b.partitions[replica.PartitionKey{Topic: topic, Index: index}]; h != nil {
		return h.Partition
	}
	return nil
}

// Partitions lists the replicas by topic and index.
func (b *Broker) Partitions() []*partition.Partition {
	list := make([]*partition.Partition, len(b.ordered))
	for i, h := range b.ordered {
		list[i] = h.Partition
	}
	return list
}

// MetadataLog is this broker's copy of the metadata log.
func (b *Broker) MetadataLog() *commitlog.Log { return b.metadata.log }

func (b *Broker) held(topic string, index int32) *held {
	return b.partitions[replica.PartitionKey{Topic: topic, Index: index}]
}

func compareHeld(a, b *held) int {
	return cmp.Or(cmp.Compare(a.key.Topic, b.key.Topic), cmp.Compare(a.key.Index, b.key.Index))
}

func (b *Broker) add(h *held) {
	b.partitions[h.key] = h
	at, _ := slices.BinarySearchFunc(b.ordered, h, compareHeld)
	b.ordered = slices.Insert(b.ordered, at, h)
}

func (b *Broker) remove(h *held) {
	delete(b.partitions, h.key)
	b.ordered = slices.DeleteFunc(b.ordered, func(x *held) bool { return x == h })
	b.dirty = slices.DeleteFunc(b.dirty, func(x *held) bool { return x == h })
}

// Deliver answers a request, now or later.
func (b *Broker) Deliver(call *world.Call) {
	switch body := call.Body.(type) {
	case *replica.FetchRequest:
		b.serveFollower(call, body)
	case *Request:
		b.serve(call, body)
	case *kmsg.AddPartitionsToTxnRequest, *kmsg.WriteTxnMarkersRequest:
		b.serveBroker(body.(kmsg.Request), func(response kmsg.Response) { call.Reply(response) })
	default:
		panic(fmt.Sprintf("broker %d: a call of %T", b.env.ID(), call.Body))
	}
}

// LogChanged, of partition.Host, flushes the log at the turn's end.
func (b *Broker) LogChanged(p *partition.Partition) {
	h := b.held(p.Topic, p.Index)
	if h == nil || h.dirty {
		return
	}
	h.dirty = true
	if len(b.dirty) == 0 {
		b.env.AtTurnEnd(b.hooks.flush)
	}
	b.dirty = append(b.dirty, h)
}

// flush writes what this turn appended, one write a log, and hands out what the logs left to do
// beside the loop.
func (b *Broker) flush() {
	for _, h := range b.dirty {
		h.dirty = false
		if err := h.Log.Flush(); err != nil {
			b.failDisk("write", err)
			return
		}
		b.runTickets(h.Log)
	}
	clear(b.dirty)
	b.dirty = b.dirty[:0]
}

// ticketCost is what a sync, a roll or a delete takes in virtual time.
const ticketCost = 2 * time.Millisecond

// runTickets lets a log's rolls, syncs and deletions happen beside the loop.
func (b *Broker) runTickets(l *commitlog.Log) {
	for _, ticket := range l.Deferred() {
		if ticket.Delay > 0 {
			b.env.AfterQuiet(ticket.Name, ticket.Delay, func() { b.runTicket(l, ticket) })
			continue
		}
		b.runTicket(l, ticket)
	}
}

func (b *Broker) runTicket(l *commitlog.Log, ticket commitlog.Ticket) {
	b.env.Work(ticket.Name, ticketCost, func() any { return ticket.Run() }, func(result any) {
		err, _ := result.(error)
		if err := ticket.Done(err); err != nil {
			b.failDisk(ticket.Name, err)
			return
		}
		b.runTickets(l) // one stage of a swap asks for the next
	})
}

// failDisk closes the log directory for writes at the first failure. With its only directory gone
// the broker stops, as Kafka's does.
func (b *Broker) failDisk(operation string, err error) {
	if b.env.Dead() {
		return
	}
	b.tellFailure(operation, err)
	b.env.Fail("disk", oneLine(err))
}

func (b *Broker) tellFailure(operation string, err error) {
	b.log.Error("log directory failed", "broker", b.env.ID(), "directory", b.disk.Path(),
		"operation", operation, "error", err)
	event.LogDirFailed{Operation: operation, Error: oneLine(err)}.
		Emit(b.env.Events, event.RuleDiskFailClosed)
}

// oneLine tells errors that were joined in one sentence.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// Failed, of replica.Host, decides what an append error of a follower means.
func (b *Broker) Failed(p *partition.Partition, err error) {
	b.log.Warn("follower append failed", "broker", b.env.ID(), "topic", p.Topic,
		"partition", p.Index, "error", err)
	if p.Log.Err() != nil {
		b.failDisk("append", err)
	}
}
