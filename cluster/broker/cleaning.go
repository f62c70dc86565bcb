package broker

import (
	"errors"
	"fmt"
	"strconv"

	"highwater/cluster/cleaner"
	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/world"
)

// cleaning is a broker's cleaner: it compacts one log at a time, the dirtiest first, and looks
// again after log.cleaner.backoff.ms when there is nothing to do. Each replica is cleaned by its
// own broker at its own time, so replicas agree about the newest record of each key, not about
// bytes.
type cleaning struct {
	b     *Broker
	timer *world.Timer
	job   *cleaningJob
	// asked are the logs that somebody wants compacted whatever their dirty ratio.
	asked []*cleaningJob
}

// cleaningJob is a pass, waiting or under way.
type cleaningJob struct {
	h      *held
	id     int64
	forced bool
	look   cleaner.Look
	rule   event.Rule
	left   int // of the outputs, to be swapped in
	result cleaner.Result
	told   []func(CleaningReport)
}

// CleaningReport is how a pass that was asked for ended.
type CleaningReport struct {
	Outcome                     string // as in event CleanerPassEnded, or why there was no pass
	RecordsBefore, RecordsAfter int64
}

// The outcomes of a pass.
const (
	outcomeCleaned     = "cleaned"
	outcomeSuperseded  = "superseded"  // the segments changed meanwhile, so it counts for nothing
	outcomeUncleanable = "uncleanable" // a batch cannot be read
	outcomeRemoved     = "removed"     // the replica went away
	outcomeNothing     = "nothing"     // no segment is closed and committed
)

// askedMax bounds the passes that wait because somebody asked for them.
const askedMax = 1000

func (c *cleaning) start(b *Broker) {
	c.b = b
	if b.config.Settings.CleanerEnabled {
		c.timer = b.env.AfterQuiet("log-cleaner", b.config.Settings.CleanerBackoff, c.next)
	}
}

// next begins the pass that is wanted most, or waits.
func (c *cleaning) next() {
	if c.job != nil || c.b.env.Dead() || c.b.stopping {
		return
	}
	if len(c.asked) > 0 {
		job := c.asked[0]
		c.asked = c.asked[1:]
		c.begin(job)
		return
	}
	job, err := c.dirtiest()
	if err != nil {
		c.b.failDisk("clean", err)
		return
	}
	if job != nil {
		c.begin(job)
	} else if c.timer != nil {
		c.timer.Reset(c.b.config.Settings.CleanerBackoff)
	}
}

// dirtiest finds the log with the largest dirty ratio among those that are dirty enough.
func (c *cleaning) dirtiest() (*cleaningJob, error) {
	if c.timer == nil {
		return nil, nil
	}
	var best *cleaningJob
	for _, h := range c.b.ordered {
		if h.Log.Config().CleanupPolicy&commitlog.CleanupCompact == 0 || h.uncleanable {
			continue
		}
		settings := c.b.cleanerSettings(h.key.Topic)
		look, err := c.look(h, &settings)
		if err != nil {
			return nil, err
		}
		rule, wanted := look.Wanted(&settings)
		if wanted && (best == nil || look.Ratio() > best.look.Ratio()) {
			best = &cleaningJob{h: h, look: look, rule: rule}
		}
	}
	return best, nil
}

func (c *cleaning) look(h *held, s *cleaner.Settings) (cleaner.Look, error) {
	bound := h.Log.LastStableOffset(h.HighWatermark())
	return cleaner.LookAt(h.Log, s, c.b.env.UnixMilli(), bound)
}

func (b *Broker) cleanerSettings(topic string) cleaner.Settings {
	ratio, err := strconv.ParseFloat(b.effectiveConfig(topic, "min.cleanable.dirty.ratio"), 64)
	if err != nil {
		ratio = 0.5 // validated before it was committed
	}
	log := b.logConfig(topic)
	return cleaner.Settings{
		DirtyRatioMin:     ratio,
		LagMinMs:          b.configNumber(topic, "min.compaction.lag.ms"),
		LagMaxMs:          b.configNumber(topic, "max.compaction.lag.ms"),
		DeleteRetentionMs: b.configNumber(topic, "delete.retention.ms"),
		SegmentBytes:      log.SegmentBytes,
		IndexBytes:        log.SegmentIndexBytes,
		BufferBytes:       b.config.Settings.CleanerBufferBytes,
	}
}

// Clean compacts a partition's closed segments as soon as the cleaner is free, dirty or not: it
// forgets that they were compacted before. done runs once, unless the broker goes down before.
func (b *Broker) Clean(topic string, index int32, done func(CleaningReport)) error {
	h := b.held(topic, index)
	switch {
	case h == nil:
		return fmt.Errorf("broker %d holds no replica of %s-%d", b.env.ID(), topic, index)
	case h.Log.Config().CleanupPolicy&commitlog.CleanupCompact == 0:
		return fmt.Errorf("topic %s is not compacted: its cleanup.policy is %s", topic,
			b.effectiveConfig(topic, "cleanup.policy"))
	case len(b.cleaning.asked) >= askedMax:
		return fmt.Errorf("%d passes wait already", askedMax)
	}
	c := &b.cleaning
	c.asked = append(c.asked, &cleaningJob{h: h, forced: true,
		told: []func(CleaningReport){done}})
	c.next()
	return nil
}

func (c *cleaning) begin(job *cleaningJob) {
	h, b := job.h, c.b
	c.job = job
	settings := b.cleanerSettings(h.key.Topic)
	if job.forced {
		h.Log.SetFirstDirtyOffset(h.Log.LogStartOffset())
		settings.LagMinMs = 0
		var err error
		if job.look, err = c.look(h, &settings); err != nil {
			b.failDisk("clean", err)
			return
		}
		if job.look.UpTo <= job.look.FirstDirty {
			c.end(job, outcomeNothing)
			return
		}
	}
	pass, err := cleaner.Begin(h.Log, job.look, settings, b.env.UnixMilli())
	if err != nil {
		b.failDisk("clean", err)
		return
	}
	job.id = b.env.NextID()
	began := event.CleanerPassBegan{Topic: h.key.Topic, Partition: h.key.Index, Job: job.id,
		FirstDirtyOffset: job.look.FirstDirty, UpTo: job.look.UpTo,
		CleanBytes: job.look.CleanBytes, DirtyBytes: job.look.DirtyBytes,
		Forced: job.forced}.Emit(b.env.Events, job.rule)
	if began != 0 {
		cause := b.env.Events.Cause
		b.env.Events.Cause = began
		defer func() { b.env.Events.Cause = cause }()
	}
	b.env.Work("clean", pass.Cost(), func() any {
		result, err := pass.Run()
		return passed{result, err}
	}, func(result any) { c.ran(job, pass, result.(passed)) })
	b.runTickets(h.Log)
}

type passed struct {
	result cleaner.Result
	err    error
}

// ran swaps in what a pass has written.
func (c *cleaning) ran(job *cleaningJob, pass *cleaner.Pass, p passed) {
	if c.job != job {
		c.discard(p.result.Outputs) // the replica is gone
		return
	}
	unreadable := errors.Is(p.err, commitlog.ErrCorrupt)
	switch {
	case !pass.Current(job.h.Log) && (p.err == nil || unreadable):
		c.discard(p.result.Outputs)
		c.end(job, outcomeSuperseded)
		return
	case unreadable:
		c.b.log.Error("a log cannot be compacted", "broker", c.b.env.ID(), "topic", job.h.key.Topic,
			"partition", job.h.key.Index, "error", p.err)
		job.h.uncleanable = true
		c.end(job, outcomeUncleanable)
		return
	case p.err != nil:
		c.b.failDisk("clean", p.err)
		return
	}
	job.result = p.result
	outputs := p.result.Outputs
	job.left = len(outputs)
	for i, output := range outputs {
		err := job.h.Log.Swap(output, func() { c.swapped(job) })
		if errors.Is(err, commitlog.ErrSuperseded) {
			// What was swapped in stays: each segment holds all that its originals had to keep.
			c.discard(outputs[i:])
			c.end(job, outcomeSuperseded)
			return
		}
		if err != nil {
			c.b.failDisk("clean", err)
			return
		}
	}
	c.b.runTickets(job.h.Log)
	if job.left == 0 {
		c.finished(job)
	}
}

func (c *cleaning) discard(outputs []*commitlog.Output) {
	if len(outputs) == 0 {
		return
	}
	c.b.env.Work("clean", ticketCost, func() any { return cleaner.Discard(outputs) },
		func(result any) {
			if err, _ := result.(error); err != nil {
				c.b.log.Warn("the cleaner's unused output stays behind", "error", err)
			}
		})
}

// swapped counts the segments that are in place for good.
func (c *cleaning) swapped(job *cleaningJob) {
	if job.left--; job.left == 0 && c.job == job {
		c.finished(job)
	}
}

// finished notes how far the log is compacted now. That comes last: if it is lost, the same part is
// compacted again.
func (c *cleaning) finished(job *cleaningJob) {
	job.h.Log.SetFirstDirtyOffset(job.result.FirstDirty)
	c.b.writeCheckpoint(&c.b.checkpoints.firstDirty)
	c.end(job, outcomeCleaned)
}

func (c *cleaning) end(job *cleaningJob, outcome string) {
	c.job = nil
	r := &job.result
	if outcome != outcomeCleaned {
		*r = cleaner.Result{FirstDirty: job.h.Log.FirstDirtyOffset()}
	}
	if job.id != 0 {
		event.CleanerPassEnded{Topic: job.h.key.Topic, Partition: job.h.key.Index, Job: job.id,
			Outcome: outcome, FirstDirtyOffset: r.FirstDirty, RecordsBefore: r.RecordsBefore,
			RecordsAfter: r.RecordsAfter, BytesBefore: r.BytesBefore, BytesAfter: r.BytesAfter,
			TombstonesKept: r.TombstonesKept, TombstonesExpired: r.TombstonesExpired,
			Survivors: r.Survivors}.Emit(c.b.env.Events, job.rule)
	}
	for _, tell := range job.told {
		tell(CleaningReport{outcome, r.RecordsBefore, r.RecordsAfter})
	}
	c.b.env.AfterQuiet("log-cleaner", 0, c.next)
}

// dropped ends what was about a replica that is no longer held.
func (c *cleaning) dropped(h *held) {
	waiting := c.asked[:0]
	for _, job := range c.asked {
		if job.h == h {
			for _, tell := range job.told {
				tell(CleaningReport{Outcome: outcomeRemoved})
			}
			continue
		}
		waiting = append(waiting, job)
	}
	c.asked = waiting
	if c.job != nil && c.job.h == h {
		c.end(c.job, outcomeRemoved)
	}
}
