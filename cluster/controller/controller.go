package controller

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/commitlog"
	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/world"
)

// Config is what a controller is told at its start. Zero durations and numbers stand for Kafka's
// defaults.
type Config struct {
	ClusterID string
	// Disk is the controller's own directory.
	Disk disk.FS
	Log  *slog.Logger // may be nil

	ElectionTimeout      time.Duration // and as much again at random: 1 s
	FetchTimeout         time.Duration // without a word of the leader: 2 s
	QuorumHeartbeat      time.Duration // of the leader to the voters: 500 ms
	ResignTimeout        time.Duration // of a leader without a majority: 3 s
	BrokerSessionTimeout time.Duration // broker.session.timeout.ms: 9 s
	NoOpInterval         time.Duration // metadata.max.idle.interval.ms; 0 writes no NoOp records
	ImbalanceInterval    time.Duration // leader.imbalance.check.interval.seconds: 5 min
	SyncCost             time.Duration // modelled time of one sync: 1 ms
	// WithoutRebalance is auto.leader.rebalance.enable=false.
	WithoutRebalance bool

	// Properties are what it was started with, which topics fall back to.
	Properties Properties

	ReplicasMax              int64 // of all topics together; 0 is no bound
	NumPartitions            int32 // num.partitions: 1
	DefaultReplicationFactor int16 // default.replication.factor: 1
}

func (c Config) withDefaults() Config {
	c.ElectionTimeout = cmp.Or(c.ElectionTimeout, time.Second)
	c.FetchTimeout = cmp.Or(c.FetchTimeout, 2*time.Second)
	c.QuorumHeartbeat = cmp.Or(c.QuorumHeartbeat, 500*time.Millisecond)
	c.ResignTimeout = cmp.Or(c.ResignTimeout, 3*time.Second)
	c.BrokerSessionTimeout = cmp.Or(c.BrokerSessionTimeout, 9*time.Second)
	c.ImbalanceInterval = cmp.Or(c.ImbalanceInterval, 5*time.Minute)
	c.SyncCost = cmp.Or(c.SyncCost, time.Millisecond)
	c.NumPartitions = cmp.Or(c.NumPartitions, 1)
	c.DefaultReplicationFactor = cmp.Or(c.DefaultReplicationFactor, 1)
	return c
}

// The roles of a controller, as ControllerStateChanged names them.
const (
	roleUnattached = "unattached"
	roleFollower   = "follower"
	roleCandidate  = "candidate"
	roleLeader     = "leader"
	roleResigned   = "resigned"
)

// Controller is one incarnation of one controller.
type Controller struct {
	env    *world.Env
	quorum *Quorum
	store  *logStore
	cfg    Config

	role   string
	term   int32
	leader event.NodeID // NoNode when unknown
	// lastHeard is when each other voter answered this leader's last heartbeat.
	lastHeard map[event.NodeID]time.Duration

	electionTimer  *world.Timer
	fetchTimer     *world.Timer
	heartbeatTimer *world.Timer

	// active is what only the leader has; nil on all others.
	active *active
}

// New starts a controller: it opens its log and rejoins the quorum.
func New(env *world.Env, q *Quorum, cfg Config) (*Controller, error) {
	cfg = cfg.withDefaults()
	if err := keepMetaProperties(env, cfg); err != nil {
		return nil, err
	}
	m, err := q.join(env.ID(), cfg.Disk, cfg.Log)
	if err != nil {
		return nil, err
	}
	c := &Controller{env: env, quorum: q, store: m.store, cfg: cfg, leader: event.NoNode,
		lastHeard: map[event.NodeID]time.Duration{}}
	q.controllers[env.ID()] = c
	q.told[env.ID()] = m.store.view()
	c.setRole(roleUnattached, int32(q.told[env.ID()].term), event.NoNode)
	c.armElection()
	return c, nil
}

// keepMetaProperties formats the directory at its first start, and afterwards refuses one that
// belongs to somebody else.
func keepMetaProperties(env *world.Env, cfg Config) error {
	m, err := commitlog.ReadMetaProperties(cfg.Disk)
	if errors.Is(err, fs.ErrNotExist) {
		return commitlog.WriteMetaProperties(cfg.Disk, commitlog.MetaProperties{
			ClusterID: cfg.ClusterID, NodeID: env.ID(), DirectoryID: env.UUID()})
	}
	if err != nil {
		return err
	}
	if m.ClusterID != cfg.ClusterID || m.NodeID != env.ID() {
		return fmt.Errorf("controller: the directory belongs to node %d of cluster %s",
			m.NodeID, m.ClusterID)
	}
	return nil
}

// Leader is the active controller as far as this one knows, NoNode when it knows of none.
func (c *Controller) Leader() event.NodeID { return c.leader }

// Active says whether this controller takes decisions: it leads and has not resigned.
func (c *Controller) Active() bool { return c.active != nil }

// Image is the metadata that the active controller has committed; nil on all others.
func (c *Controller) Image() *metadata.Image {
	if c.active == nil {
		return nil
	}
	return c.active.committed
}

// Term is the quorum's epoch as far as this controller knows.
func (c *Controller) Term() int32 { return c.term }

// Disconnected is for nodes with outside connections; controllers have none.
func (c *Controller) Disconnected(event.NodeID) {}

// NotController answers whatever only the active controller can do.
type NotController struct{ Leader event.NodeID }

// Deliver handles a request of a voter or a broker.
func (c *Controller) Deliver(call *world.Call) {
	if heartbeat, ok := call.Body.(*LeaderHeartbeat); ok {
		c.heardLeader(call, heartbeat)
		return
	}
	if c.active == nil {
		call.Reply(&NotController{Leader: c.leader})
		return
	}
	switch request := call.Body.(type) {
	case *MetadataFetch:
		c.active.fetch(call, request)
	case *kmsg.BrokerRegistrationRequest:
		c.active.register(call, request)
	case *kmsg.BrokerHeartbeatRequest:
		c.active.heartbeat(call, request)
	case *kmsg.AlterPartitionRequest:
		c.active.alterPartition(call, request)
	case *kmsg.CreateTopicsRequest:
		c.active.createTopics(call, request)
	case *kmsg.DeleteTopicsRequest:
		c.active.deleteTopics(call, request)
	case *kmsg.CreatePartitionsRequest:
		c.active.createPartitions(call, request)
	case *kmsg.IncrementalAlterConfigsRequest:
		c.active.incrementalAlterConfigs(call, request)
	case *kmsg.AlterConfigsRequest:
		c.active.alterConfigs(call, request)
	case *kmsg.ElectLeadersRequest:
		c.active.electLeaders(call, request)
	case *kmsg.AllocateProducerIDsRequest:
		c.active.allocateProducerIDs(call, request)
	case *kmsg.DescribeQuorumRequest:
		c.active.describeQuorum(call, request)
	default:
		panic(fmt.Sprintf("controller: nobody serves %T", call.Body))
	}
}
