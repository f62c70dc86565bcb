package kit

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Result is what one probe saw; it is one line of the golden file.
type Result struct {
	Name     string   `json:"name"`
	Intent   string   `json:"intent"`
	Got      []Step   `json:"got"`
	Messages []string `json:"messages,omitempty"` // error texts: for reading, compared only with -strict
}

type options struct {
	brokers, run, golden, known, suffix string
	list, json, strict, timing, accept  bool
}

// Main is the program: it runs the probes that the command line selects and returns the exit
// status.
func Main(args []string, out io.Writer, probes ...[]Probe) int {
	var o options
	flags := flag.NewFlagSet("probe", flag.ExitOnError)
	flags.StringVar(&o.brokers, "brokers", "", "addresses of the brokers, comma separated")
	flags.StringVar(&o.run, "run", "", "run only the probes whose name matches this `regexp`")
	flags.StringVar(
		&o.golden,
		"golden",
		"",
		"compare with this `file` instead of printing the results",
	)
	flags.StringVar(&o.known, "known", "", "with -golden: this `file` holds the answers that may "+
		"differ, and why")
	flags.BoolVar(&o.accept, "accept", false, "rewrite the -known file with today's answers; "+
		"rows that are new get the reason TODO")
	flags.StringVar(&o.suffix, "suffix", strconv.FormatInt(time.Now().Unix(), 36),
		"part of every name the probes create; must differ from run to run")
	flags.BoolVar(&o.list, "list", false, "list the probes")
	flags.BoolVar(
		&o.json,
		"json",
		false,
		"print one JSON line a probe (the form of the golden file)",
	)
	flags.BoolVar(&o.strict, "strict", false, "compare the error texts too")
	flags.BoolVar(&o.timing, "timing", false, "print on standard error how long each probe took")
	_ = flags.Parse(args)

	selected, err := choose(slices.Concat(probes...), o.run)
	if err == nil && !o.list {
		err = o.start(out, selected)
	} else if err == nil {
		for _, probe := range selected {
			fmt.Fprintf(out, "%-45s %s\n", probe.Name, probe.Intent)
		}
	}
	switch {
	case errors.Is(err, errDiffers):
		return 1
	case err != nil:
		fmt.Fprintln(os.Stderr, "probe:", err)
		return 2
	}
	return 0
}

func choose(probes []Probe, pattern string) ([]Probe, error) {
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("-run: %w", err)
	}
	probes = slices.DeleteFunc(probes, func(p Probe) bool { return !wanted.MatchString(p.Name) })
	slices.SortFunc(probes, func(a, b Probe) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(probes); i++ {
		if probes[i].Name == probes[i-1].Name {
			return nil, fmt.Errorf("two probes are called %s", probes[i].Name)
		}
	}
	return probes, nil
}

func (o options) start(out io.Writer, probes []Probe) error {
	if o.brokers == "" {
		return errors.New("-brokers is required")
	}
	cluster, err := connect(strings.Split(o.brokers, ","), o.suffix)
	if err != nil {
		return err
	}
	var golden map[string]Result
	if o.golden != "" {
		if golden, err = readGolden(o.golden); err != nil {
			return err
		}
	}
	comparison := comparison{out: out, golden: golden, strict: o.strict}
	if o.known != "" {
		if comparison.known, err = readKnown(o.known); err != nil {
			return err
		}
	}
	for _, probe := range probes {
		began := time.Now()
		result := cluster.run(probe)
		if o.timing {
			fmt.Fprintf(os.Stderr, "%6d ms %s\n", time.Since(began).Milliseconds(), probe.Name)
		}
		switch {
		case golden != nil:
			comparison.add(result)
		case o.json:
			fmt.Fprintln(out, encode(result))
		default:
			fmt.Fprintf(out, "%s: %s\n", result.Name, result.Intent)
			for _, step := range result.Got {
				fmt.Fprintf(out, "    %s: %s\n", step.Step, encode(step.Got))
			}
		}
	}
	if golden == nil {
		return nil
	}
	if o.accept {
		return comparison.accept(o.known)
	}
	return comparison.finish()
}

// run runs one probe; a broken probe or an unusable answer becomes its last step.
func (c *Cluster) run(probe Probe) (result Result) {
	p := &P{cluster: c, name: probe.Name, names: newNames(c), conns: map[int]*Conn{},
		deadline: time.Now().Add(probeTimeout)}
	defer p.close()
	defer func() {
		if caught := recover(); caught != nil {
			reason := fmt.Sprint(caught)
			if early, ok := caught.(giveUp); ok {
				reason = p.names.text(early.reason)
			}
			p.steps = append(p.steps, Step{"gave up", reason})
		}
		result = Result{probe.Name, probe.Intent, p.steps, p.names.messages}
	}()
	probe.Run(p)
	return result
}

// encode writes JSON without escaping the placeholders' angle brackets.
func encode(v any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return strconv.Quote(err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Cluster is what the probes know of the cluster under test.
type Cluster struct {
	Suffix  string
	id      string
	brokers []broker // by id
	now     int64    // milliseconds
}

type broker struct {
	id      int32
	address string
}

func connect(seeds []string, suffix string) (*Cluster, error) {
	c, err := Dial(seeds[0])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	request := kmsg.NewPtrMetadataRequest()
	request.Topics = []kmsg.MetadataRequestTopic{}
	correlation, err := c.Send(9, request)
	if err != nil {
		return nil, err
	}
	response, err := c.Receive(request, correlation)
	if err != nil {
		return nil, err
	}
	metadata := response.(*kmsg.MetadataResponse)
	hour := time.Now().Add(-time.Hour).Truncate(time.Hour)
	cluster := &Cluster{Suffix: suffix, now: hour.UnixMilli()}
	if metadata.ClusterID != nil {
		cluster.id = *metadata.ClusterID
	}
	for _, b := range metadata.Brokers {
		cluster.brokers = append(
			cluster.brokers,
			broker{b.NodeID, fmt.Sprintf("%s:%d", b.Host, b.Port)},
		)
	}
	if len(cluster.brokers) != len(seeds) {
		return nil, fmt.Errorf(
			"%d addresses given, the cluster has %d brokers",
			len(seeds),
			len(cluster.brokers),
		)
	}
	slices.SortFunc(cluster.brokers, func(a, b broker) int { return int(a.id - b.id) })
	return cluster, nil
}

// index returns the position of a broker in the order of ids, or -1.
func (c *Cluster) index(id int32) int {
	return slices.IndexFunc(c.brokers, func(b broker) bool { return b.id == id })
}
