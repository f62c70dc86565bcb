// Command load is a load generator for anything that speaks the Kafka wire
// protocol. It talks to --brokers through franz-go (what a user's program
// would do) and, for the raw-* scenarios, through pre-encoded request frames
// on plain TCP connections, so that the client's own cost does not hide the
// broker's. See the README.md above for the list of scenarios.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sort"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// config is what the flags say; scenarios read it and never change it.
type config struct {
	brokers     []string
	records     int           // records of a batched throughput run
	smallRecs   int           // records of an unbatched throughput run
	size        int           // value bytes a record
	warm        int           // MiB of page cache to touch before each timed part
	warmed      procStat      // what was counted when the last timed part began
	partitions  int           // partitions of each topic
	rf          int           // wanted replication factor
	maxTime     time.Duration // upper bound of one throughput run
	latRate     int           // records/s of the latency scenarios
	e2eRate     int           // records/s of the e2e scenario
	steady      time.Duration // length of one latency or e2e run
	txnRecords  int           // records a transaction
	txnMaxTime  time.Duration // upper bound of one transaction run
	pid         pids          // server processes whose CPU and I/O are read, none: empty
	keep        bool          // leave the topics behind
	compression string
	verbose     bool
}

// metric is one number of one run; the order metrics are added in is the
// order they are printed in.
type metric struct {
	Name  string
	Value float64
}

type result struct{ metrics []metric }

func (r *result) add(name string, v float64) { r.metrics = append(r.metrics, metric{name, v}) }

// scenario is one thing to measure; run is called once per repetition.
type scenario struct {
	name string
	doc  string
	run  func(ctx context.Context, c *config) (*result, error)
}

// options are the flags that say how to run, where config says what.
type options struct {
	brokers, only, out, label string
	runs                      int
	quiet                     float64
	quietWait                 time.Duration
	remote                    bool
}

func parse(c *config, o *options) {
	text := flag.StringVar
	text(&o.brokers, "brokers", "127.0.0.1:9092", "seed `addresses`, comma-separated")
	text(&o.only, "run", "all", "comma-separated scenarios or `groups`; list prints them")
	text(&o.out, "json", "", "append one JSON line per scenario to this `file`")
	text(&o.label, "label", "", "name of the system under test, kept in the JSON")
	text(&c.compression, "compression", "none", "none, snappy, lz4, zstd or gzip")
	flag.Float64Var(&o.quiet, "quiet", 0, "repeat a run during which other processes used more "+
		"than this percentage of the machine (0: take every run)")
	length := flag.DurationVar
	length(&o.quietWait, "quiet-wait", 2*time.Minute, "with -quiet: longest wait for a quiet "+
		"machine, and for all repeats of one scenario")
	length(&c.maxTime, "max-time", 15*time.Second, "upper bound of one throughput run")
	length(&c.steady, "steady", 10*time.Second, "length of one latency or e2e run")
	length(&c.txnMaxTime, "txn-time", 10*time.Second, "upper bound of one transaction run")
	number := flag.IntVar
	number(&o.runs, "runs", 3, "repetitions of each scenario")
	number(&c.records, "records", 1_000_000, "records of a batched throughput run")
	number(&c.smallRecs, "small-records", 100_000, "records of an unbatched throughput run")
	number(&c.size, "size", 100, "value bytes a record")
	number(&c.warm, "warm", 0, "MiB of page cache to touch and give back before each timed part")
	number(&c.partitions, "partitions", 3, "partitions of each topic")
	number(&c.rf, "rf", 3, "replication factor wanted (falls back to 1 if refused)")
	number(&c.latRate, "latency-rate", 3000, "records/s of the latency scenarios")
	number(&c.e2eRate, "e2e-rate", 1000, "records/s of the e2e scenario")
	number(&c.txnRecords, "txn-records", 1000, "records a transaction")
	flag.Var(&c.pid, "pid", "server process `ids`: report their CPU, syscalls, memory")
	flag.BoolVar(&o.remote, "allow-remote", false, "accept brokers that are not on loopback")
	flag.BoolVar(&c.keep, "keep", false, "do not delete the topics")
	flag.BoolVar(&c.verbose, "v", false, "print every run's metrics, not only min/median/max")
	flag.Parse()
}

func main() {
	var c config
	var o options
	parse(&c, &o)
	c.brokers = strings.Split(o.brokers, ",")
	for _, b := range c.brokers {
		if !o.remote && !isLoopback(b) {
			fatal(fmt.Errorf("broker %q is not on loopback; pass -allow-remote to mean it", b))
		}
	}
	if o.only == "list" {
		for _, s := range scenarios() {
			fmt.Printf("%-18s %s\n", s.name, s.doc)
		}
		return
	}
	picked := pick(scenarios(), o.only)
	if len(picked) == 0 {
		fatal(fmt.Errorf("no scenario matches -run %q", o.only))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed := false
	for _, s := range picked {
		if ctx.Err() != nil {
			break
		}
		all, err := repeat(ctx, &c, &o, s)
		if len(all) == 0 {
			failed = true
			fmt.Printf("%-18s FAILED: %v\n", s.name, err)
			continue
		}
		print3(s.name, all)
		if o.out != "" {
			if err := appendJSON(o.out, o.label, s.name, all); err != nil {
				fatal(err)
			}
		}
	}
	if failed {
		os.Exit(1)
	}
}

// repeat runs one scenario as often as asked, and again whatever others disturbed.
func repeat(ctx context.Context, c *config, o *options, s scenario) ([]*result, error) {
	var all []*result
	giveUp := time.Now().Add(o.quietWait)
	for i := 0; len(all) < o.runs && ctx.Err() == nil; i++ {
		if o.quiet > 0 {
			awaitQuiet(ctx, c.pid, o.quiet, giveUp)
		}
		before := readProc(c.pid)
		r, err := s.run(ctx, c)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s run %d: %v\n", s.name, i+1, err)
			return all, err // a broken scenario rarely mends itself; go on to the next
		}
		if c.warmed.when.After(before.when) {
			before = c.warmed // warming is not the load's
		}
		other := addProc(r, before, readProc(c.pid))
		if o.quiet > 0 && other > o.quiet && time.Now().Before(giveUp) {
			fmt.Fprintf(os.Stderr, "%s run %d: repeated, others used %.0f%% of the machine\n",
				s.name, i+1, other)
			continue
		}
		if c.verbose {
			fmt.Printf("  %s run %d:", s.name, i+1)
			for _, m := range r.metrics {
				fmt.Printf(" %s=%s", m.Name, human(m.Value))
			}
			fmt.Println()
		}
		all = append(all, r)
	}
	return all, nil
}

// pick keeps the scenarios named by spec: a name, a name's first word
// ("produce"), or "all".
func pick(all []scenario, spec string) []scenario {
	want := map[string]bool{}
	for w := range strings.SplitSeq(spec, ",") {
		want[strings.TrimSpace(w)] = true
	}
	var out []scenario
	for _, s := range all {
		group, _, _ := strings.Cut(s.name, "-")
		if want["all"] || want[s.name] || want[group] {
			out = append(out, s)
		}
	}
	return out
}

// print3 prints min / median / max of every metric over the runs.
func print3(name string, all []*result) {
	fmt.Printf("%s  (%d runs)\n", name, len(all))
	for i, m := range all[0].metrics {
		v := column(all, i)
		fmt.Printf(
			"    %-22s min %12s   median %12s   max %12s\n",
			m.Name,
			human(v[0]),
			human(median(v)),
			human(v[len(v)-1]),
		)
	}
}

func column(all []*result, i int) []float64 {
	v := make([]float64, 0, len(all))
	for _, r := range all {
		if i < len(r.metrics) {
			v = append(v, r.metrics[i].Value)
		}
	}
	sort.Float64s(v)
	return v
}

func median(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

func appendJSON(path, label, name string, all []*result) error {
	type mmm struct{ Min, Median, Max float64 }
	row := struct {
		Time     string
		Label    string
		Scenario string
		Runs     int
		Metrics  map[string]mmm
	}{time.Now().UTC().Format(time.RFC3339), label, name, len(all), map[string]mmm{}}
	for i, m := range all[0].metrics {
		v := column(all, i)
		row.Metrics[m.Name] = mmm{v[0], median(v), v[len(v)-1]}
	}
	b, err := json.Marshal(row)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(b, '\n'))
	return err
}

func human(v float64) string {
	a := v
	if a < 0 {
		a = -a
	}
	switch {
	case a >= 1000:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.3f", v)
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "load:", err)
	os.Exit(2)
}

func (c *config) codec() kgo.CompressionCodec {
	switch c.compression {
	case "snappy":
		return kgo.SnappyCompression()
	case "lz4":
		return kgo.Lz4Compression()
	case "zstd":
		return kgo.ZstdCompression()
	case "gzip":
		return kgo.GzipCompression()
	}
	return kgo.NoCompression()
}
