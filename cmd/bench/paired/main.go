// Command paired measures Highwater beside kfake on this machine: it starts both with files, lets
// the load generator run one round on each in turn, and prints the ratio of every figure. Rounds
// alternate who goes first, because the first of two equal servers can look a quarter slower. It
// expects its three companions (highwater, kfaked, load) beside itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// options are the flags.
type options struct {
	rounds    int
	scenarios string
	fsync     bool
	warm      int
	out       string
	rest      []string // further flags of load
}

func parse() options {
	var o options
	flag.IntVar(&o.rounds, "rounds", 6, "rounds; an even number is fair")
	flag.StringVar(&o.scenarios, "scenarios", "produce-nobatch-5,produce-linger0,produce-64k,"+
		"consume,e2e,latency-all,raw-produce-1x5,raw-produce-16k,raw-produce-64k,"+
		"raw-produce-1m,raw-fetch", "scenarios or groups of load, comma-separated")
	flag.BoolVar(&o.fsync, "fsync", false, "let kfake sync every batch (Highwater, as Kafka, does not)")
	flag.IntVar(&o.warm, "warm", 3000, "before each timed part, MiB of page cache to touch and give back")
	flag.StringVar(&o.out, "json", "", "keep every round's figures in this `file`")
	flag.Parse()
	o.rest = flag.Args()
	return o
}

func main() {
	o := parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "paired:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	bin := filepath.Dir(self)
	scratch, err := os.MkdirTemp("", "highwater-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if o.out == "" {
		o.out = filepath.Join(scratch, "results.jsonl")
	}
	kfake, err := startKfake(ctx, bin, scratch, o.fsync)
	if err != nil {
		return err
	}
	defer kfake.stop()
	highwater, err := startHighwater(ctx, bin, scratch)
	if err != nil {
		return err
	}
	defer highwater.stop()
	for round := range o.rounds {
		order := []*server{kfake, highwater}
		if round%2 == 1 {
			slices.Reverse(order)
		}
		// Scenario by scenario, so that the two are compared within seconds of each other.
		for scenario := range strings.SplitSeq(o.scenarios, ",") {
			for _, s := range order {
				if ctx.Err() != nil {
					return errors.New("interrupted")
				}
				if err := load(ctx, bin, s, scenario, o); err != nil {
					fmt.Fprintf(os.Stderr, "paired: round %d of %s on %s: %v\n", round+1, scenario,
						s.label, err)
				}
			}
		}
		fmt.Fprintf(os.Stderr, "round %d of %d done\n", round+1, o.rounds)
	}
	return report(os.Stdout, o.out, kfake.label)
}

// load lets the load generator run a scenario once on one server.
func load(ctx context.Context, bin string, s *server, scenario string, o options) error {
	args := append([]string{"-brokers", s.brokers, "-pid", strconv.Itoa(s.pid()), "-label",
		s.label, "-runs", "1", "-quiet", "20", "-quiet-wait", "30s", "-json", o.out, "-warm",
		strconv.Itoa(o.warm), "-run", scenario}, o.rest...)
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "load"), args...)
	cmd.Stderr = os.Stderr
	return cmd.Run()
}
