// Command compare holds Highwater against the real thing: it starts a cluster and lets Apache
// Kafka's own command-line tools, kcat, and the differential probe use it; then it stops the
// cluster and lets Kafka's dump tool read every file that was written. It ends with status 1 when
// anything is not as with Kafka. It expects bin/highwater and bin/probe, and is run by make.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	short   bool
	soak    int
	only    string
	bin     string
	source  string // the folder of this program's source, where its data lies
	libs    string
	keep    bool
	records int
}

// shortRecords and longRecords are how many lines go through kcat with every codec.
const (
	shortRecords = 10_000
	longRecords  = 100_000
	wholeTimeout = 50 * time.Minute
)

func parse() (options, error) {
	var o options
	flag.BoolVar(&o.short, "short", false, "leave the long parts out")
	flag.IntVar(&o.soak, "soak", 0, "instead: run every scenario with this `number` of seeds")
	flag.StringVar(&o.only, "run", "", "run only the checks whose name matches this `regexp`")
	flag.StringVar(&o.bin, "bin", "bin", "`folder` of the programs")
	flag.StringVar(&o.source, "source", filepath.Join("cmd", "compare"), "this program's `folder`")
	flag.StringVar(&o.libs, "libs", "", "`folder` with Kafka's jars; fetched by Maven if empty")
	flag.BoolVar(&o.keep, "keep", false, "keep the data directory, and say where it is")
	flag.Parse()
	o.records = longRecords
	if o.short {
		o.records = shortRecords
	}
	_, err := regexp.Compile(o.only)
	return o, err
}

func main() {
	o, err := parse()
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		ctx, cancel := context.WithTimeout(ctx, wholeTimeout)
		defer cancel()
		if o.soak > 0 {
			err = soak(ctx, o)
		} else {
			err = compare(ctx, o)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// check is one thing that must be as with Kafka.
type check struct {
	name string
	run  func(ctx context.Context, l *lab) error
}

// lab is what the checks share.
type lab struct {
	options
	scratch string
	data    string // the cluster's directory
	server  *server
	kafka   *kafka
}

// checkTimeout bounds one check: a tool that waits forever must not stop the rest.
const checkTimeout = 5 * time.Minute

func compare(ctx context.Context, o options) error {
	l := &lab{options: o}
	var err error
	if l.scratch, err = os.MkdirTemp("", "highwater-compare-"); err != nil {
		return err
	}
	if o.keep {
		fmt.Println("everything stays in", l.scratch)
	} else {
		defer os.RemoveAll(l.scratch)
	}
	l.data = filepath.Join(l.scratch, "data")
	if l.kafka, err = findKafka(ctx, o); err != nil {
		return err
	}
	if l.server, err = startServer(ctx, o.bin, l.data); err != nil {
		return err
	}
	defer l.server.kill()
	var failed []string
	for _, c := range checks() {
		if matched, _ := regexp.MatchString(o.only, c.name); !matched && c.name != stopName {
			continue
		}
		began := time.Now()
		limited, cancel := context.WithTimeout(ctx, checkTimeout)
		err := c.run(limited, l)
		cancel()
		if err != nil {
			failed = append(failed, c.name)
			fmt.Printf("FAIL %s (%.1fs)\n     %s\n", c.name, time.Since(began).Seconds(),
				strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "\n     "))
			continue
		}
		fmt.Printf("ok   %s (%.1fs)\n", c.name, time.Since(began).Seconds())
	}
	if len(failed) > 0 {
		return errors.New("not as with Kafka: " + strings.Join(failed, ", "))
	}
	return nil
}

// stopName is the check that ends the cluster; what follows it reads its files.
const stopName = "clean-stop"

// checks are in the order in which they run: later ones read what earlier ones wrote.
func checks() []check {
	var all []check
	all = append(all, toolChecks...)
	all = append(all, kcatChecks...)
	all = append(all, transactionChecks...)
	all = append(all, check{"probe", runProbe}, check{stopName, stopServer})
	return append(all, check{"dump-log", dumpEverything})
}
