package broker

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/commitlog"
	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/world"
)

var errNoController = errors.New("broker: no active controller answered")

// ListenerName is the one listener that clients use.
const ListenerName = "PLAINTEXT"

// session is this incarnation's standing with the controllers.
type session struct {
	incarnation event.UUID
	epoch       int64 // -1 until registered
	fenced      bool
	open        bool // requests are taken: it was unfenced once
	heartbeat   *world.Timer
	inFlight    bool
}

// supportedFeatures are what this broker can be finalized to, as Kafka 4.4 registers them.
var supportedFeatures = []kmsg.BrokerRegistrationRequestFeature{
	{Name: "eligible.leader.replicas.version", MaxSupportedVersion: 1},
	{Name: "group.version", MaxSupportedVersion: 1},
	{Name: "kraft.version", MaxSupportedVersion: 1},
	{Name: "metadata.version", MinSupportedVersion: 7, MaxSupportedVersion: 33},
	{Name: "transaction.version", MaxSupportedVersion: 2},
}

// register tells the active controller that this incarnation is there. A controller that still
// holds a session of the former one fences that first.
func (b *Broker) register() {
	b.session = session{incarnation: b.env.UUID(), epoch: -1, fenced: true}
	b.sendRegistration()
}

func (b *Broker) sendRegistration() {
	request := kmsg.NewPtrBrokerRegistrationRequest()
	request.Version = 4
	request.BrokerID = int32(b.env.ID())
	request.ClusterID = b.config.ClusterID
	request.IncarnationID = b.session.incarnation
	request.Listeners = []kmsg.BrokerRegistrationRequestListener{{Name: ListenerName,
		Host: b.config.Host, Port: uint16(b.config.Port)}}
	request.Features = supportedFeatures
	request.LogDirs = [][16]byte{b.checkpoints.directoryID}
	request.PreviousBrokerEpoch = b.checkpoints.brokerEpoch
	b.controller.call("BrokerRegistration", request, time.Minute, func(body any, err error) {
		answer, _ := body.(*kmsg.BrokerRegistrationResponse)
		if err != nil || answer.ErrorCode != 0 {
			b.env.After("registration-retry", controllerBackoff, b.sendRegistration)
			return
		}
		b.session.epoch = answer.BrokerEpoch
		b.checkpoints.brokerEpoch = answer.BrokerEpoch
		b.session.heartbeat = b.env.AfterQuiet("heartbeat", 0, b.sendHeartbeat)
		b.actOnMetadata()
		b.sendProposals() // those that wanted an epoch to be sent with
	})
}

// heartbeatNow sends a heartbeat ahead of its time, as a broker does that has caught up.
func (b *Broker) heartbeatNow() {
	if b.session.heartbeat != nil && !b.session.inFlight {
		b.session.heartbeat.Reset(0)
	}
}

func (b *Broker) sendHeartbeat() {
	request := kmsg.NewPtrBrokerHeartbeatRequest()
	request.Version = 1
	request.BrokerID = int32(b.env.ID())
	request.BrokerEpoch = b.session.epoch
	request.CurrentMetadataOffset = int64(b.metadata.applied) - 1
	request.WantShutdown = b.stopping
	b.session.inFlight = true
	b.controller.call("BrokerHeartbeat", request, controllerTimeout, func(body any, err error) {
		b.session.inFlight = false
		interval := b.config.Settings.HeartbeatInterval
		answer, ok := body.(*kmsg.BrokerHeartbeatResponse)
		switch {
		case err != nil || !ok:
			interval = controllerBackoff
		case answer.ErrorCode == kerr.StaleBrokerEpoch.Code:
			// Another incarnation, or a controller that forgot this one: register anew.
			b.session.epoch = -1
			b.sendRegistration()
			return
		case answer.ErrorCode == 0:
			b.takeHeartbeat(answer)
			if b.stopping {
				interval = controllerBackoff
			}
		}
		if !b.env.Dead() {
			b.session.heartbeat.Reset(interval)
		}
	})
}

func (b *Broker) takeHeartbeat(answer *kmsg.BrokerHeartbeatResponse) {
	b.session.fenced = answer.IsFenced
	if !answer.IsFenced && !b.session.open {
		b.takeRequests()
	}
	if b.stopping && answer.ShouldShutdown {
		b.finishStop()
	}
}

// Stop begins a controlled shutdown: the controllers move the leaderships away, the logs are
// closed cleanly, and then stopped is called. The caller bounds how long it waits.
func (b *Broker) Stop(stopped func()) {
	if b.stopping {
		return
	}
	b.stopping, b.stopped = true, stopped
	if b.session.epoch < 0 {
		b.finishStop()
		return
	}
	b.heartbeatNow()
}

// Stopping says that a controlled shutdown is under way.
func (b *Broker) Stopping() bool { return b.stopping }

// CloseCleanly closes every log and leaves what the next start needs to skip recovery.
func (b *Broker) CloseCleanly() error {
	for _, id := range b.fetcherIDs() {
		b.fetchers[id].Stop()
	}
	// A checkpoint on its way goes through the same temporary files.
	b.env.AwaitWork()
	c := &b.checkpoints
	highWatermarks, starts := b.entries(&c.highWatermark), b.entries(&c.logStart)
	ends := b.entries(&checkpoint{found: c.recoveryPoint.found,
		of: func(h *held) event.Offset { return h.Log.LogEndOffset() }})
	logs := []*commitlog.Log{b.metadata.log}
	for _, h := range b.ordered {
		logs = append(logs, h.Log)
	}
	closing := make([]func() error, 0, len(logs))
	for _, l := range logs {
		l.Mute()
		closing = append(closing, func() error { return l.Close(true) })
	}
	if err := errors.Join(disk.Parallel(b.config.RecoveryThreads, closing),
		commitlog.WriteOffsetCheckpoint(b.disk, c.highWatermark.file, highWatermarks),
		commitlog.WriteOffsetCheckpoint(b.disk, c.logStart.file, starts),
		commitlog.WriteOffsetCheckpoint(b.disk, c.recoveryPoint.file, ends)); err != nil {
		return err
	}
	if !c.clean && !b.metadata.settled {
		return nil // a log that was never opened may still have to be recovered (KAFKA-10471)
	}
	return commitlog.WriteCleanShutdown(b.disk, b.session.epoch)
}

func (b *Broker) finishStop() {
	if b.stopped == nil {
		return
	}
	stopped := b.stopped
	b.stopped = nil
	if err := b.CloseCleanly(); err != nil {
		b.log.Error("clean stop failed", "broker", b.env.ID(), "error", err)
	}
	stopped()
}
