package broker

import (
	"time"

	"highwater/cluster/world"
)

// startChores arms what a broker does from time to time.
func (b *Broker) startChores() {
	s := b.config.Settings
	b.every("isr-lag-check", s.ReplicaLagMax/2, b.checkLag)
	b.every("high-watermark-checkpoint", s.CheckpointInterval, b.checkpointHighWatermarks)
	b.every("recovery-point-checkpoint", s.FlushCheckpoint, b.checkpointRecoveryPoints)
	b.every("log-retention", s.RetentionCheck, b.retain)
	b.cleaning.start(b)
	b.every("producer-id-expiry", 10*time.Minute, b.expireProducers)
	b.removeDeleted()
}

func (b *Broker) every(name string, interval time.Duration, f func()) {
	var timer *world.Timer
	timer = b.env.AfterQuiet(name, interval, func() {
		f()
		timer.Reset(interval)
	})
}

func (b *Broker) checkLag() {
	for _, h := range b.ordered {
		h.CheckLag()
	}
}

func (b *Broker) checkpointHighWatermarks() { b.writeCheckpoint(&b.checkpoints.highWatermark) }

func (b *Broker) checkpointRecoveryPoints() {
	b.writeCheckpoint(&b.checkpoints.recoveryPoint)
	b.writeCheckpoint(&b.checkpoints.logStart)
}

func (b *Broker) retain() {
	now := b.env.UnixMilli()
	for _, h := range b.ordered {
		if b.retainLog(h, now); b.env.Dead() {
			return
		}
	}
}

func (b *Broker) retainLog(h *held, nowMs int64) {
	if err := h.Log.RetentionPass(nowMs, h.HighWatermark()); err != nil {
		b.failDisk("retention", err)
		return
	}
	b.LogChanged(h.Partition)
}

// Retain checks one partition's retention now, and says whether this broker has it.
func (b *Broker) Retain(topic string, index int32) bool {
	h := b.held(topic, index)
	if h != nil {
		b.retainLog(h, b.env.UnixMilli())
	}
	return h != nil
}

func (b *Broker) expireProducers() {
	now := b.env.UnixMilli()
	for _, h := range b.ordered {
		h.Log.ExpireProducers(now)
	}
}

// describeBudget bounds how many records a second are described in events.
type describeBudget struct {
	spent int64 // thousandths of a record, paid back over time
	since int64 // virtual ns
}

const (
	describedPerSecond = 200
	describedBurst     = 400
)

// Describe, of partition.Host, takes from the budget.
func (b *Broker) Describe(records int32) bool {
	d := &b.describing
	now := b.env.VirtualNow()
	// The time passed is capped first, so that a long quiet spell cannot overflow.
	passed := min(now-d.since, int64(2*time.Second))
	d.since = now
	d.spent = max(0, d.spent-passed*describedPerSecond/int64(time.Millisecond))
	need := int64(records) * 1000
	if d.spent+need > describedBurst*1000 {
		return false
	}
	d.spent += need
	return true
}
