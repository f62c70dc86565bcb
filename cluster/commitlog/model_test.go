package commitlog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"highwater/cluster/disk"
	"highwater/cluster/event"
)

// model is what a log should hold: one value an offset, from start on.
type model struct {
	start  event.Offset
	values []string
	synced event.Offset
}

func (m *model) end() event.Offset { return m.start + event.Offset(len(m.values)) }

// modelRun is one random history of a log beside its model.
type modelRun struct {
	*rig
	m       model
	dice    *rand.Rand
	next    int
	tickets []Ticket
	// everSynced says that a sync of this log has ended.
	everSynced bool
}

// TestRandomHistoriesKeepWhatWasSynced runs random operations, restarts, kills and power cuts
// against a slice of values. What was synced must survive, what is left must be a prefix of what
// was written, and Check must find nothing wrong at any restart.
func TestRandomHistoriesKeepWhatWasSynced(t *testing.T) {
	histories := 150
	if testing.Short() {
		histories = 30
	}
	for seed := range uint64(histories) {
		t.Run(fmt.Sprintf("seed%d", seed), func(t *testing.T) { runModel(t, seed) })
	}
}

func runModel(t *testing.T, seed uint64) {
	run := &modelRun{dice: rand.New(rand.NewPCG(seed, 1))}
	run.rig = newRig(t, func(c *Config) {
		c.SegmentBytes, c.IndexIntervalBytes, c.SegmentIndexBytes = 700, 150, 200
		c.RetentionMs, c.TailBytes = -1, 400
		c.Preallocate = seed%4 == 0
	})
	for range 120 {
		run.step()
		run.compare()
	}
}

func (run *modelRun) step() {
	switch n := run.dice.IntN(100); {
	case n < 50:
		run.append()
	case n < 65:
		run.must(run.log.Flush())
	case n < 72:
		run.finishTickets(len(run.tickets)) // as the owner of a log does, in order
		run.must(run.log.Sync())
		run.m.synced = run.m.end()
		run.everSynced = true
	case n < 76:
		run.tickets = append(run.tickets, run.log.PrepareSync())
	case n < 82:
		run.finishTickets(run.dice.IntN(len(run.tickets) + 1))
	case n < 86:
		run.truncate()
	case n < 89:
		run.advanceStart()
	case n < 91:
		run.epoch++
	case n < 94:
		run.finishTickets(len(run.tickets))
		run.m.synced = run.m.end()
		run.restart(true)
	case n < 97:
		run.kill(false)
	default:
		run.kill(true)
	}
	run.tickets = append(run.tickets, run.log.Deferred()...)
}

func (run *modelRun) append() {
	var entries []entry
	for range run.dice.IntN(3) + 1 {
		run.next++
		v := fmt.Sprintf("%d-%0*d", run.next, run.dice.IntN(60), 0)
		run.m.values = append(run.m.values, v)
		entries = append(entries, entry{testTime + int64(run.dice.IntN(1000)), "k", v})
	}
	run.send(entries...)
}

// finishTickets runs the oldest tickets, in order, as the owner of a log would.
func (run *modelRun) finishTickets(n int) {
	for _, ticket := range run.tickets[:n] {
		run.must(ticket.Done(ticket.Run()))
		run.everSynced = true
	}
	run.tickets = run.tickets[n:]
	run.m.synced = max(run.m.synced, run.log.SyncedEnd())
}

func (run *modelRun) truncate() {
	to := run.m.start + event.Offset(run.dice.IntN(len(run.m.values)+1))
	run.must(run.log.Truncate(to, event.RuleTruncateToEndOfEpoch))
	if end := run.log.LogEndOffset(); end > to || to-end > 2 {
		run.t.Fatalf("truncated to %d, ends at %d", to, end)
	}
	run.m.start = min(run.m.start, run.log.LogEndOffset())
	run.m.values = run.m.values[:max(run.log.LogEndOffset()-run.m.start, 0)]
	run.m.synced = min(run.m.synced, run.m.end())
}

func (run *modelRun) advanceStart() {
	run.must(run.log.Flush())
	to := run.m.start + event.Offset(run.dice.IntN(len(run.m.values)/2+1))
	run.must(run.log.AdvanceStart(to, event.RuleRetentionStartOffset))
	run.must(run.log.RetentionPass(testTime, run.m.end()))
	run.m.values = run.m.values[to-run.m.start:]
	run.m.start = to
}

func (run *modelRun) restart(clean bool) {
	o := OpenOptions{CleanShutdown: clean, RecoveryPoint: run.log.SyncedEnd(),
		LogStartOffset: run.log.LogStartOffset()}
	if clean {
		run.must(run.log.Close(true))
	} else {
		run.log.Drop()
	}
	run.tickets = nil
	if problems := slices.Collect(Check(run.disk, rigDir)); clean && len(problems) > 0 {
		run.t.Fatalf("after a clean close: %v", problems)
	}
	run.open(o)
	run.noProblemsNow()
}

// kill ends the node in the middle of everything, by a crash or by a power cut.
func (run *modelRun) kill(power bool) {
	if power {
		run.must(run.disk.PowerCut(run.dice))
		_, err := ReadPartitionMetadata(run.disk, rigDir)
		if used, listErr := holdsOffsets(run.disk, rigDir); err != nil && used && listErr == nil {
			// Only a log of which nothing was synced may be nobody's; its owner sets it aside.
			if run.m.synced > run.m.start || run.everSynced {
				run.t.Fatalf("synced to %d: %v", run.m.synced, err)
			}
			run.log.Drop()
			run.must(run.disk.RemoveAll(rigDir))
			run.tickets, run.m = nil, model{}
			run.open(OpenOptions{})
			return
		}
	} else {
		run.m.synced = max(run.m.synced, run.log.WrittenEnd())
		run.disk.Kill()
	}
	run.restart(false)
	end := run.log.LogEndOffset()
	if end < run.m.synced || end > run.m.end() {
		run.t.Fatalf("power %v: ends at %d, synced %d, written %d",
			power, end, run.m.synced, run.m.end())
	}
	run.m.values = run.m.values[:end-run.m.start]
	run.m.synced = min(run.m.synced, run.log.SyncedEnd())
}

func (run *modelRun) noProblemsNow() {
	run.t.Helper()
	if problems := slices.Collect(Check(run.disk, rigDir)); len(problems) > 0 {
		run.t.Fatalf("%v", problems)
	}
}

func (run *modelRun) compare() {
	run.t.Helper()
	if run.log.LogStartOffset() != run.m.start || run.log.LogEndOffset() != run.m.end() {
		run.t.Fatalf("log spans %d..%d, model %d..%d", run.log.LogStartOffset(),
			run.log.LogEndOffset(), run.m.start, run.m.end())
	}
	if got := run.values(); !slices.Equal(got, run.m.values) {
		run.t.Fatalf("log holds %q\nmodel %q", got, run.m.values)
	}
}

// TestSameHistoryLeavesTheSameBytes holds for files and for what recovery makes of them.
func TestSameHistoryLeavesTheSameBytes(t *testing.T) {
	contents := func() map[string]string {
		run := &modelRun{dice: rand.New(rand.NewPCG(5, 1))}
		run.rig = newRig(t, func(c *Config) {
			c.SegmentBytes, c.IndexIntervalBytes, c.RetentionMs = 700, 150, -1
		})
		for range 200 {
			run.step()
		}
		run.finishTickets(len(run.tickets))
		run.must(run.log.Close(true))
		return tree(t, run.disk)
	}
	first, second := contents(), contents()
	for name, content := range first {
		if second[name] != content {
			t.Errorf("%s differs", name)
		}
	}
	if len(first) != len(second) || len(first) < 4 {
		t.Errorf("%d and %d files", len(first), len(second))
	}
}

func tree(t *testing.T, files disk.FS) map[string]string {
	t.Helper()
	entries, err := files.List(rigDir)
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{}
	for _, e := range entries {
		b, err := files.ReadFile(rigDir + "/" + e.Name)
		if err != nil {
			t.Fatal(err)
		}
		contents[e.Name] = string(b)
	}
	return contents
}
