package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"highwater/cluster/broker"
	"highwater/cluster/client"
	"highwater/cluster/controller"
	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/wire"
	"highwater/cluster/world"
)

// ClientID is the node id of the built-in client.
const ClientID event.NodeID = 1001

// Config says what kind of cluster to build. The zero value is three brokers and three controllers
// in memory and in virtual time.
type Config struct {
	Seed      uint64
	ClusterID string    // made from seed and origin, or read from the data directory, when empty
	Origin    time.Time // what virtual time 0 is; a constant when zero
	Live      bool      // meets the wall clock; Run drives it
	Latency   time.Duration
	Brokers   []event.NodeID
	// Controllers are the voters of the quorum.
	Controllers []event.NodeID
	// DataDir holds one directory a node; empty keeps everything in memory.
	DataDir string
	// ReplicasMax bounds the replicas of all brokers together. 0 bounds them by how many files this
	// process may have open, and not at all in memory.
	ReplicasMax int64
	// Kafka are the addresses that brokers listen on, one each; without them nobody outside can
	// connect.
	Kafka  []string
	Events world.Sink
	Log    *slog.Logger
	// Settings are Kafka's broker configurations that differ from the defaults.
	Settings map[string]string
	// PanicThrough lets a broken invariant end the process, as tests want.
	PanicThrough     bool
	InputLogBytesMax int
	// rerun makes Kafka the addresses that a session had, where nobody listens now.
	rerun bool
}

// seededOrigin is the wall clock of worlds that are to be the same every time.
var seededOrigin = time.UnixMilli(1790481955152).UTC()

// SeededOrigin is the origin of a cluster that is given none.
func SeededOrigin() time.Time { return seededOrigin }

// Cluster is a running cluster. Its methods belong to the loop, but for those of its running.
type Cluster struct {
	config    Config
	settings  broker.Settings
	static    map[string]string
	world     *world.World
	quorum    *controller.Quorum
	edge      *wire.Edge
	disks     map[event.NodeID]*disk.Disk
	addresses map[event.NodeID]string
	inputs    *world.InputLog
	finished  chan struct{}
	cancel    context.CancelFunc
	shutDown  bool
	hung      map[event.NodeID]bool // nodes whose disk does not answer
	// unlocked are the directories that a death let go and that are not taken again yet.
	unlocked map[event.NodeID]bool
	// programs are the named clients, in the order in which they were made.
	programs []*program
	broken   string // the first invariant that a node broke
}

// New prepares the nodes and opens their disks; nothing runs before Start.
func New(config Config) (*Cluster, error) {
	config.fill()
	c := &Cluster{config: config, settings: broker.DefaultSettings(),
		static: map[string]string{}, disks: map[event.NodeID]*disk.Disk{},
		addresses: map[event.NodeID]string{},
		hung:      map[event.NodeID]bool{}, unlocked: map[event.NodeID]bool{}}
	if err := c.applySettings(); err != nil {
		return nil, err
	}
	if err := c.openDisks(); err != nil {
		return nil, errors.Join(err, c.closeDisks())
	}
	if config.InputLogBytesMax > 0 {
		c.inputs = world.NewInputLog(config.InputLogBytesMax)
	}
	seed, err := c.sessionSeed()
	if err != nil {
		return nil, errors.Join(err, c.closeDisks())
	}
	c.world = world.New(world.Config{Seed: seed, Origin: config.Origin,
		Events: config.Events, Live: config.Live, Latency: config.Latency,
		PanicThrough: config.PanicThrough, TurnEnded: c.turnEnded, NodeFailed: c.nodeFailed,
		Recorder: c.inputs})
	if len(config.Kafka) > 0 && !config.rerun {
		c.edge = wire.New(wire.Config{World: c.world, Served: broker.Served(), Log: config.Log,
			ConnectionsMax: int(disk.OpenFilesMax() / filesOfConnections)})
	}
	c.quorum = controller.NewQuorum(c.world, c.voters())
	c.addNodes()
	return c, nil
}

// Of the files that this process may have open a replica gets so many: its log, two indexes and
// the epoch checkpoint, until they are synced partition.metadata and what replaces these at a
// start, and room for closed segments. Connections get an eighth of all.
const filesOfReplica, filesOfConnections = 8, 8

func (config *Config) fill() {
	if config.DataDir != "" && config.ReplicasMax == 0 {
		config.ReplicasMax = disk.OpenFilesMax() / filesOfReplica
	}
	if len(config.Brokers) == 0 {
		config.Brokers = []event.NodeID{1, 2, 3}
	}
	if len(config.Controllers) == 0 {
		config.Controllers = []event.NodeID{101, 102, 103}
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Origin.IsZero() {
		config.Origin = seededOrigin
	}
}

// ErrUnknownSetting is what CheckSetting says of a name that no broker configuration has.
var ErrUnknownSetting = errors.New("brokers have no such configuration")

// CheckSetting says what is wrong with a broker configuration. Beside Kafka's there are Highwater's
// own, the rules of older versions, which begin with "highwater.".
func CheckSetting(name, value string) error {
	settings := broker.DefaultSettings()
	return applySetting(&settings, name, value)
}

func applySetting(settings *broker.Settings, name, value string) error {
	def, listed := metadata.BrokerConfig(name)
	if listed {
		if err := def.Validate(value); err != nil {
			return err
		}
	}
	known, err := settings.Apply(name, value)
	if !known && !listed {
		return ErrUnknownSetting
	}
	return err
}

// SettingCounts says whether a broker configuration changes anything here. The others of Kafka's
// are described to clients, and that is all.
func SettingCounts(name string) bool {
	return broker.SettingCounts(name) || slices.ContainsFunc(metadata.TopicConfigs(),
		func(d metadata.ConfigDef) bool {
			return slices.ContainsFunc(d.Synonyms, func(synonym string) bool {
				synonym, _, _ = strings.Cut(synonym, "*")
				return synonym == name
			})
		})
}

func (c *Cluster) applySettings() error {
	for _, name := range slices.Sorted(maps.Keys(c.config.Settings)) {
		value := metadata.NormalConfig(metadata.ResourceBroker, name, c.config.Settings[name])
		if err := applySetting(&c.settings, name, value); err != nil {
			return fmt.Errorf("cluster: setting %s: %w", name, err)
		}
		c.static[name] = value
	}
	return nil
}

// nodes lists brokers and controllers.
func (c *Cluster) nodes() []event.NodeID {
	return slices.Concat(c.config.Brokers, c.config.Controllers)
}

func (c *Cluster) addNodes() {
	for _, id := range c.config.Controllers {
		c.world.Add(world.Spec{ID: id, Role: "controller",
			Start: func(env *world.Env) (world.Node, error) {
				return controller.New(env, c.quorum, controller.Config{ClusterID: c.config.ClusterID,
					Disk: c.disks[id], Log: c.config.Log, BrokerSessionTimeout: c.settings.SessionTimeout,
					Properties: c.static, ReplicasMax: c.config.ReplicasMax,
					WithoutRebalance:  !c.settings.AutoRebalance,
					ImbalanceInterval: c.settings.ImbalanceCheck, NumPartitions: c.settings.NumPartitions,
					DefaultReplicationFactor: c.settings.DefaultReplication})
			}})
	}
	for _, id := range c.config.Brokers {
		c.world.Add(world.Spec{ID: id, Role: "broker",
			Start: func(env *world.Env) (world.Node, error) {
				host, port := c.advertised(id)
				return broker.New(env, broker.Config{ClusterID: c.config.ClusterID,
					Disk: c.disks[id], Controllers: c.config.Controllers, Host: host, Port: port,
					Settings: c.settings, Static: c.static, Log: c.config.Log,
					RecoveryThreads: c.recoveryThreads()})
			}})
	}
	c.world.Add(world.Spec{ID: ClientID, Role: "client",
		Start: func(env *world.Env) (world.Node, error) {
			return client.New(env, c.config.Brokers), nil
		}})
}

// controllerPort is what the first controller's address says in the metadata log. Nobody listens
// there: controllers are reached over the world's links.
const controllerPort = 9192

func (c *Cluster) voters() []controller.Voter {
	voters := make([]controller.Voter, 0, len(c.config.Controllers))
	for i, id := range c.config.Controllers {
		voters = append(voters, controller.Voter{ID: id, Host: "127.0.0.1",
			Port: uint16(controllerPort + i)})
	}
	return voters
}

// liveRecoveryThreads is how many logs a live broker closes at a time.
const liveRecoveryThreads = 16

func (c *Cluster) recoveryThreads() int {
	if c.config.Live {
		return liveRecoveryThreads
	}
	return 1
}

func (c *Cluster) advertised(id event.NodeID) (string, int32) {
	host, text, err := net.SplitHostPort(c.addresses[id])
	if err != nil {
		return "127.0.0.1", 9091 + int32(id) // nobody outside listens; a name for the metadata log
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		panic(fmt.Sprintf("cluster: broker %d listens on %q", id, c.addresses[id]))
	}
	return host, int32(port)
}

// Start opens the listeners and starts every node.
func (c *Cluster) Start() error {
	event.WorldStarted{Seed: int64(c.config.Seed), Origin: c.config.Origin.UnixMilli(),
		ClusterID: c.config.ClusterID, Brokers: c.config.Brokers,
		Controllers: c.config.Controllers, Version: Version}.Emit(c.world.Events(), event.RuleNone)
	for i, id := range c.config.Brokers {
		if i < len(c.config.Kafka) {
			address := c.config.Kafka[i]
			if c.edge != nil {
				var err error
				if address, err = c.edge.Listen(id, address); err != nil {
					return err
				}
			}
			c.addresses[id] = address
			host, port := c.advertised(id)
			c.world.SetPort(id, host, port)
		}
	}
	for _, id := range slices.Concat(c.config.Controllers, c.config.Brokers, []event.NodeID{ClientID}) {
		if err := c.world.StartNode(id); err != nil {
			return fmt.Errorf("%s: %w", c.at(id), err)
		}
	}
	return nil
}

// Version is what traces and pages say of the software.
const Version = "0.1"

// World is the cluster's world.
func (c *Cluster) World() *world.World { return c.world }

// Brokers lists the brokers' ids.
func (c *Cluster) Brokers() []event.NodeID { return c.config.Brokers }

// Controllers lists the controllers' ids.
func (c *Cluster) Controllers() []event.NodeID { return c.config.Controllers }

// ID is the cluster's id.
func (c *Cluster) ID() string { return c.config.ClusterID }

// DataDir is where the nodes' directories are, "" in memory.
func (c *Cluster) DataDir() string { return c.config.DataDir }

// Addresses are the brokers' listeners.
func (c *Cluster) Addresses() map[event.NodeID]string { return c.addresses }

// Disk is a node's disk.
func (c *Cluster) Disk(id event.NodeID) *disk.Disk { return c.disks[id] }

// Inputs is what came in from outside, nil when it is not kept.
func (c *Cluster) Inputs() *world.InputLog { return c.inputs }

// Client is the built-in client.
func (c *Cluster) Client() *client.Client {
	n, _ := c.world.Node(ClientID).(*client.Client)
	return n
}

func (c *Cluster) turnEnded() {
	if c.edge != nil {
		c.edge.TurnEnded()
	}
}

// Run drives a live cluster until Close.
func (c *Cluster) Run() {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.finished = make(chan struct{})
	go func() {
		defer close(c.finished)
		c.world.Run(ctx)
	}()
}

// Close stops a cluster cleanly: brokers close their logs, then controllers, then the disks. Any
// goroutine but the loop's may call it, once.
func (c *Cluster) Close() error {
	var errs []error
	stop := func() { errs = append(errs, c.shut()) }
	if c.cancel != nil {
		// The input log ends with this, so nothing may happen behind it.
		err := c.world.Do(closing, func() {
			stop()
			c.world.End()
		})
		if err != nil {
			errs = append(errs, err)
		}
		c.cancel()
		<-c.finished
	} else {
		stop()
	}
	if c.edge != nil {
		c.edge.Close()
	}
	return errors.Join(append(errs, c.closeDisks())...)
}

func (c *Cluster) shut() error {
	if c.shutDown {
		return nil
	}
	c.shutDown = true
	var errs []error
	for _, id := range c.config.Brokers {
		if c.edge != nil {
			c.edge.CloseNode(id, "the cluster stops")
		}
		if b := c.broker(id); b != nil {
			errs = append(errs, c.unexpected(id, b.CloseCleanly()))
		}
		errs = append(errs, c.endCleanly(id))
	}
	for _, id := range c.config.Controllers {
		errs = append(errs, c.endCleanly(id))
	}
	return errors.Join(errs...)
}

func (c *Cluster) endCleanly(id event.NodeID) error {
	return c.unexpected(id, c.end(id, world.Stopping{How: "stop"}))
}

// unexpected is what went wrong as a node closed, unless somebody made its disk fail: then it ends
// as a crash ends it, which is what whoever did that asked for.
func (c *Cluster) unexpected(id event.NodeID, err error) error {
	switch c.disks[id].Fault().Kind {
	case disk.Full, disk.ReadError, disk.WriteError, disk.SyncError:
	default:
		return err
	}
	if err != nil {
		c.config.Log.Warn("a node whose disk fails was not closed cleanly", "node", c.at(id),
			"error", err)
	}
	return nil
}
