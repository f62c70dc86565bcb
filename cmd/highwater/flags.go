package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"highwater/cluster/world"
	"highwater/scenarios"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	http, kafka string
	data        string
	memory      bool
	seed        uint64
	clock       string
	settings    settings
	open, json  bool
	token       string
	viewerToken string
	allowHosts  string
	verbose     bool
	noEvents    bool
}

// settings collects --set key=value.
type settings map[string]string

func (s settings) String() string { return "" }

func (s settings) Set(text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" {
		return fmt.Errorf("%q is not key=value", text)
	}
	if err := scenarios.CheckSetting(key, value); err != nil {
		return err
	}
	s[key] = value
	return nil
}

func parseServe(args []string, stderr io.Writer) (*serveFlags, error) {
	f := &serveFlags{settings: settings{}}
	set := flag.NewFlagSet("highwater serve", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&f.http, "http", "127.0.0.1:8080", "`address` of the page; port 0 takes a free one")
	set.StringVar(&f.kafka, "kafka", "127.0.0.1:9092,127.0.0.1:9093,127.0.0.1:9094",
		"`addresses` of the three brokers; port 0 takes a free one")
	set.StringVar(&f.data, "data", "", "data `directory`; a fresh one in the user's cache by default")
	set.BoolVar(&f.memory, "memory", false, "keep all data in memory")
	set.Uint64Var(&f.seed, "seed", 1, "seed of everything random")
	set.StringVar(&f.clock, "clock", "live", "live, slow=`factor`, or step (starts paused)")
	set.Var(f.settings, "set", "a Kafka broker configuration, `key=value`; may be given often")
	set.BoolVar(&f.open, "open", false, "open the page in a browser")
	set.BoolVar(&f.json, "json", false, "print one JSON object when ready")
	set.StringVar(
		&f.token,
		"token",
		"",
		"`token` that changes need; needed for any address but loopback",
	)
	set.StringVar(&f.viewerToken, "viewer-token", "",
		"`token` of the viewers' link, which can look and nothing else; a random one by default")
	set.StringVar(&f.allowHosts, "allow-host", "", "further host `names` of the page, comma-separated")
	set.BoolVar(&f.verbose, "verbose", false, "log more")
	set.BoolVar(&f.noEvents, "no-events", false,
		"record no events, and so show nothing on the page: to measure what they cost")
	if err := parseFlags(set, args); err != nil {
		return nil, err
	}
	if set.NArg() > 0 {
		return nil, fmt.Errorf("serve takes no argument; %q is one", set.Arg(0))
	}
	return f, f.check()
}

func (f *serveFlags) check() error {
	if f.memory && f.data != "" {
		return errors.New("--memory and --data exclude each other")
	}
	if f.token != "" && f.token == f.viewerToken {
		return errors.New("--token and --viewer-token are the same: every viewer could act")
	}
	brokers := f.kafkaAddresses()
	if n := len(brokers); n != 3 {
		return fmt.Errorf("--kafka names %d addresses; three brokers need three", n)
	}
	for i, address := range brokers {
		if j := slices.Index(brokers, address); j < i && !strings.HasSuffix(address, ":0") {
			return fmt.Errorf("--kafka gives brokers %d and %d the same address, %s", j+1, i+1, address)
		}
	}
	for _, address := range append(brokers, f.http) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return fmt.Errorf("%q is not an address: %w", address, err)
		}
		if !isLoopback(host) && f.token == "" {
			return fmt.Errorf("%s can be reached from other machines: give a --token, "+
				"or an address on 127.0.0.1", address)
		}
	}
	_, err := f.pace()
	return err
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func (f *serveFlags) kafkaAddresses() []string { return strings.Split(f.kafka, ",") }

func (f *serveFlags) hosts() []string {
	if f.allowHosts == "" {
		return nil
	}
	return strings.Split(strings.ToLower(f.allowHosts), ",")
}

// pace is what --clock asks for.
func (f *serveFlags) pace() (world.Pace, error) {
	switch f.clock {
	case "live":
		return world.Pace{Rate: 1}, nil
	case "step":
		return world.Pace{Rate: 1, Paused: true}, nil
	}
	text, slow := strings.CutPrefix(f.clock, "slow=")
	if !slow {
		return world.Pace{}, fmt.Errorf("--clock %s: there are live, slow=FACTOR and step", f.clock)
	}
	factor, ok := scenarios.SlowFactor(text)
	if !ok {
		return world.Pace{}, fmt.Errorf(
			"--clock slow=%s: the factor is a number from 0.001 to 1000000", text)
	}
	return world.Pace{Rate: 1 / factor}, nil
}
