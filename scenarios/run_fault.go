package scenarios

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"highwater/cluster/disk"
	"highwater/cluster/event"
)

// nodeAction is a fault that befalls one node.
type nodeAction func(Cluster, event.NodeID) error

func runOnNode(x *execution, do nodeAction) {
	id, err := x.node(x.command.value("node").expression)
	if err != nil {
		x.end(Result{}, err)
		return
	}
	switch err := do(x.config.Cluster, id); {
	case err != nil && !x.config.Cluster.Alive(id) && x.command.Name() != "restart":
		x.end(Result{}, &Error{Kind: Refused, Position: -1, Message: err.Error(),
			Hint: "restart " + x.command.value("node").expression.source})
	default:
		x.did(err, "%s: %s", x.command.Name(), x.named(id))
	}
}

// runRestart starts one node, or all that are down: controllers first, as a cluster would.
func runRestart(x *execution) {
	v := x.command.value("node")
	if !v.link.all {
		runOnNode(x, Cluster.Restart)
		return
	}
	c, started, failed := x.config.Cluster, []event.NodeID{}, []string{}
	for _, id := range slices.Concat(c.Controllers(), c.Brokers()) {
		if !isDown(c, id) {
			continue
		}
		if err := c.Restart(id); err != nil {
			failed = append(failed, err.Error())
			continue
		}
		started = append(started, id)
	}
	switch {
	case len(failed) > 0:
		if len(started) > 0 {
			failed = append(failed, "restarted "+listed(started))
		}
		x.did(errors.New(strings.Join(failed, "; ")), "")
	case len(started) == 0:
		x.did(errAllRun, "")
	default:
		x.ok("restarted %s", listed(started))
	}
}

// isDown says whether a node can be started, which one that stops soon can be already.
func isDown(c Cluster, id event.NodeID) bool { return !c.Alive(id) || c.Stopping(id) }

var errAllRun = errors.New("all nodes are running")

// listed writes nodes for people.
func listed(ids []event.NodeID) string {
	return strings.Join(numbers(ids), ", ")
}

// ends finds the nodes of a link.
func (x *execution) ends(l link) (from, to event.NodeID, ok bool) {
	from, err := x.node(l.from)
	if err == nil {
		to, err = x.node(l.to)
	}
	if err != nil {
		x.end(Result{}, err)
		return 0, 0, false
	}
	return from, to, true
}

func (x *execution) linkText(from, to event.NodeID, both bool) string {
	if both {
		return "between " + x.named(from) + " and " + x.named(to)
	}
	return "from " + x.named(from) + " to " + x.named(to)
}

func runCut(x *execution) {
	l := x.command.value("link").link
	if from, to, ok := x.ends(l); ok {
		x.did(x.config.Cluster.Cut(from, to, l.both), "nothing passes %s", x.linkText(from, to, l.both))
	}
}

func runHeal(x *execution) {
	l := x.command.value("link").link
	if l.all {
		x.did(x.config.Cluster.HealAll(), "all links pass messages")
		return
	}
	if from, to, ok := x.ends(l); ok {
		x.did(x.config.Cluster.Heal(from, to, l.both), "messages pass %s", x.linkText(from, to, l.both))
	}
}

func runDelay(x *execution) {
	l, d := x.command.value("link").link, x.command.value("latency").duration
	if from, to, ok := x.ends(l); ok {
		x.did(x.config.Cluster.Delay(from, to, l.both, d), "messages take %v %s", d,
			x.linkText(from, to, l.both))
	}
}

func runDisk(x *execution) {
	id, err := x.node(x.command.value("node").expression)
	if err != nil {
		x.end(Result{}, err)
		return
	}
	fault := x.command.value("fault").fault
	text := fault.Kind.String()
	switch fault.Kind {
	case disk.None:
		text = "healthy"
	case disk.Slow:
		text = fmt.Sprintf("slow by %v", fault.Delay)
	}
	x.did(x.config.Cluster.DiskFault(id, fault), "the disk of %s is now: %s", x.named(id), text)
}

func runClock(x *execution) {
	c := x.command
	id, err := x.node(c.value("node").expression)
	if err != nil {
		x.end(Result{}, err)
		return
	}
	offset, rate := c.value("offset").duration, c.value("rate").factor
	x.did(x.config.Cluster.Clock(id, offset, int32(math.Round(rate*1000))),
		"the clock of %s is off by %v and runs at %g times the world's", x.named(id), offset, rate)
}

func runSleep(x *execution) {
	d := x.command.value("duration").duration
	x.client.After(d, func() { x.ok("%v passed", d) })
}

func runPacing(x *execution, do func(Pacer) error) {
	if x.config.Pacer == nil {
		x.ok("no wall clock is met here: nothing to do")
		return
	}
	x.did(do(x.config.Pacer), "%s", x.command.Name())
}

func runStep(x *execution) {
	steps := int(x.command.value("steps").number)
	runPacing(x, func(p Pacer) error { return p.Step(steps) })
}

func runSlow(x *execution) {
	factor := x.command.value("factor").factor
	runPacing(x, func(p Pacer) error { return p.Slow(factor) })
}

// Waiting looks again after pollEvery, or after readEvery where a consumer has to read for it.
const (
	pollEvery = 10 * time.Millisecond
	readEvery = 100 * time.Millisecond
)
