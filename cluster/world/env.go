package world

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"time"

	"highwater/cluster/event"
)

// Env is what one incarnation of one node sees of the world. After the incarnation has ended its
// timers never fire and its callbacks never run.
type Env struct {
	// Events emits in the node's name; its Cause is what the node is reacting to.
	Events *event.Emitter

	world   *World
	node    *node
	state   Node
	dice    *rand.Rand
	dead    bool
	turnEnd []func()
	works   *worker
	// atTurnEnd is runTurnEnd as a value made once: one a turn would be garbage.
	atTurnEnd func()
}

// clock is how a node's own clock differs from the world's time.
type clock struct {
	rate   int64 // permille
	since  int64 // world time at which rate began
	shown  int64 // what the clock showed then
	offset int64 // the wall clock's from what the clock shows
}

func (c *clock) read(now int64) int64 {
	passed := now - c.since
	return c.shown + passed/1000*c.rate + passed%1000*c.rate/1000
}

// timeMax is how far ahead anything can be due: some 146 years.
const timeMax = math.MaxInt64 / 2

// scaled is d*by/per, rounded up, and no more than timeMax.
func scaled(d, by, per int64) int64 {
	high, low := bits.Mul64(uint64(max(0, d)), uint64(by))
	if high >= uint64(per) {
		return timeMax
	}
	n, rest := bits.Div64(high, low, uint64(per))
	if rest > 0 {
		n++
	}
	return int64(min(n, timeMax))
}

// ID is the node's id.
func (e *Env) ID() event.NodeID { return e.node.spec.ID }

// Incarnation counts the node's starts from 1.
func (e *Env) Incarnation() int32 { return e.node.incarnation }

// Dead says whether the incarnation has ended.
func (e *Env) Dead() bool { return e.dead }

// Now is the time by the node's own steady clock.
func (e *Env) Now() time.Duration { return time.Duration(e.node.clock.read(e.world.now)) }

// UnixMilli is the node's wall clock in milliseconds.
func (e *Env) UnixMilli() int64 {
	shown := e.node.clock.read(e.world.now) + e.node.clock.offset
	return e.world.config.Origin.UnixMilli() + shown/int64(time.Millisecond)
}

// Dice are the incarnation's own.
func (e *Env) Dice() *rand.Rand { return e.dice }

// NextID numbers waits and other things that events speak of.
func (e *Env) NextID() int64 { return e.world.NextID() }

// VirtualNow is the world's time in nanoseconds, as events carry it.
func (e *Env) VirtualNow() int64 { return e.world.now }

// VirtualDue is the virtual time at which the node's own clock will have advanced by d. It is never
// now for a d above zero, or a timer for the rest of a wait could fire for ever.
func (e *Env) VirtualDue(d time.Duration) int64 {
	return e.world.now + scaled(int64(d), 1000, e.node.clock.rate)
}

// Until is how far the node's own clock will advance until a virtual time.
func (e *Env) Until(due int64) time.Duration {
	return time.Duration(scaled(due-e.world.now, e.node.clock.rate, 1000))
}

// UUID throws a random version-4 identifier that does not start with a dash, as Kafka's do.
func (e *Env) UUID() event.UUID { return RandomUUID(e.dice) }

// RandomUUID throws an identifier like Kafka's Uuid.randomUuid.
func RandomUUID(dice *rand.Rand) event.UUID {
	for {
		var u event.UUID
		for i := 0; i < len(u); i += 8 {
			v := dice.Uint64()
			for j := range 8 {
				u[i+j] = byte(v >> (8 * j))
			}
		}
		u[6] = u[6]&0x0f | 0x40
		u[8] = u[8]&0x3f | 0x80
		if u.String()[0] != '-' {
			return u
		}
	}
}

// AtTurnEnd runs f once everything that is due now has been handled, before answers to outside
// clients leave: where logs write what the turn appended.
func (e *Env) AtTurnEnd(f func()) {
	if len(e.turnEnd) == 0 {
		if e.atTurnEnd == nil {
			e.atTurnEnd = e.runTurnEnd
		}
		e.world.turnEnd = append(e.world.turnEnd, e.atTurnEnd)
	}
	e.turnEnd = append(e.turnEnd, f)
}

func (e *Env) runTurnEnd() {
	for i := 0; i < len(e.turnEnd); i++ { // one may add another
		if e.dead {
			return
		}
		e.world.guard(e, e.turnEnd[i])
	}
	clear(e.turnEnd)
	e.turnEnd = e.turnEnd[:0]
}

// Fail takes this node down from within, as a broken invariant or a failed disk does.
func (e *Env) Fail(how, reason string) {
	if e.dead {
		return
	}
	// What it has under way would otherwise reach the disk of whoever comes after it.
	e.AwaitWork()
	id := e.ID()
	e.world.StopNode(id, Stopping{How: how, Reason: reason})
	if e.world.config.NodeFailed != nil {
		e.world.config.NodeFailed(id, reason)
	}
}

// Timer wakes its node once.
type Timer struct {
	env   *Env
	id    int64
	name  string
	due   int64
	shown int64 // what the node's own clock shows then
	armed int64 // counts armings; a queue entry of an older one is void
	cause event.Seq
	quiet bool
	f     func()
}

// After calls f when the node's own clock has advanced by d, unless the incarnation ends or the
// timer is stopped. The name is what the page and the trace call it.
func (e *Env) After(name string, d time.Duration, f func()) *Timer {
	t := &Timer{env: e, name: name, f: f}
	t.Reset(d)
	return t
}

// AfterQuiet is After without events, for the idle machinery nobody asks about.
func (e *Env) AfterQuiet(name string, d time.Duration, f func()) *Timer {
	t := &Timer{env: e, name: name, f: f, quiet: true}
	t.Reset(d)
	return t
}

// Reset arms the timer anew, d from now.
func (t *Timer) Reset(d time.Duration) {
	w := t.env.world
	if t.env.dead {
		return
	}
	t.Stop()
	t.id = w.NextID()
	t.armed++
	t.due = t.env.VirtualDue(d)
	t.shown = int64(t.env.Now() + d)
	if !t.quiet {
		t.cause = event.TimerArmed{Timer: t.id, Name: t.name, Due: t.due}.
			Emit(t.env.Events, event.RuleNone)
	}
	w.push(item{due: t.due, kind: itemTimer, timer: t, arming: t.armed})
}

// Stop disarms the timer; stopping one that is not armed does nothing.
func (t *Timer) Stop() {
	if t == nil || t.id == 0 {
		return
	}
	if !t.quiet && !t.env.dead {
		event.TimerCancelled{Timer: t.id, Name: t.name}.Emit(t.env.Events, event.RuleNone)
	}
	t.id = 0
	t.armed++
}

// Armed says whether the timer will fire.
func (t *Timer) Armed() bool { return t != nil && t.id != 0 && !t.env.dead }

// Due is the virtual time, in nanoseconds, at which an armed timer fires.
func (t *Timer) Due() int64 { return t.due }
