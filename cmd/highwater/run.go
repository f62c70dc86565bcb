package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"highwater/cluster/event"
	"highwater/scenarios"
	"highwater/viz/audit"
	"highwater/viz/hub"
	"highwater/viz/trace"
)

// runFlags are the flags of run.
type runFlags struct {
	seed   *uint64
	trace  string
	junit  string
	data   string
	json   bool
	quiet  bool
	inputs []string
}

// runCommand runs scenarios in virtual time, without a page.
func runCommand(args []string, stdout, stderr io.Writer) int {
	f, code, ok := parseRun(args, stderr)
	if !ok {
		return code
	}
	chosen, code := loadScenarios(f.inputs, stderr)
	if code != exitGood {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var reports []scenarios.Report
	for _, s := range chosen {
		report, err := runOne(ctx, s, f)
		if err != nil {
			complain(stderr, "%s: %v", s.Name, err)
			return exitBadInput
		}
		reports = append(reports, report)
		if err := f.print(stdout, report); err != nil {
			complain(stderr, "%v", err)
			return exitBadInput
		}
		if !report.OK {
			code = exitMistakes
		}
	}
	if f.junit != "" {
		if err := writeFile(f.junit, func(w io.Writer) error {
			return scenarios.WriteJUnit(w, reports)
		}); err != nil {
			complain(stderr, "%v", err)
			return exitBadInput
		}
	}
	return code
}

func parseRun(args []string, stderr io.Writer) (*runFlags, int, bool) {
	f := &runFlags{}
	set := newFlags("run", "NAME|FILE… [flags]", stderr)
	set.Func("seed", "`number` instead of each scenario's own seed", func(text string) error {
		n, err := strconv.ParseUint(text, 10, 64)
		f.seed = &n
		return err
	})
	set.StringVar(&f.trace, "trace", "", "write the trace to this `file`")
	set.StringVar(&f.junit, "junit", "", "write a JUnit report to this `file`")
	set.StringVar(&f.data, "data", "", "keep the nodes' files in this `directory`, not in memory")
	set.BoolVar(&f.json, "json", false, "print one JSON object a scenario")
	set.BoolVar(&f.quiet, "quiet", false, "print steps only of scenarios that fail")
	rest, code, ok := parseMixed(set, args)
	if !ok {
		return nil, code, false
	}
	f.inputs = rest
	switch {
	case len(rest) == 0:
		complain(stderr, "which scenario? highwater scenarios lists them")
		return nil, exitBadInput, false
	case len(rest) > 1 && (f.trace != "" || f.data != ""):
		complain(stderr, "--trace and --data are for one scenario at a time")
		return nil, exitBadInput, false
	}
	return f, exitGood, true
}

// loadScenarios finds each input in the library or on disk, and reports all mistakes.
func loadScenarios(inputs []string, stderr io.Writer) ([]*scenarios.Scenario, int) {
	var all []*scenarios.Scenario
	code := exitGood
	for _, input := range inputs {
		file, text, err := scenarioText(input)
		if err != nil {
			complain(stderr, "%v", err)
			code = exitBadInput
			continue
		}
		s, mistakes := scenarios.ParseScenario(file, text)
		for _, m := range mistakes {
			fmt.Fprintln(stderr, m)
			code = exitBadInput
		}
		all = append(all, s)
	}
	return all, code
}

// scenarioText takes a name from the library, and anything that looks like a file, or is one,
// from disk.
func scenarioText(input string) (file string, text []byte, err error) {
	if !strings.ContainsAny(input, `./\`) {
		text, err = scenarios.Source(input)
		if err == nil {
			return input + ".md", text, nil
		}
		if _, missing := os.Stat(input); missing != nil {
			return "", nil, err
		}
	}
	text, err = os.ReadFile(input)
	return input, text, err
}

// runOne plays a scenario with the referee beside it: a broken promise fails the scenario, whatever
// its own checks say.
func runOne(ctx context.Context, s *scenarios.Scenario, f *runFlags) (scenarios.Report, error) {
	referee := audit.New()
	sink := &runSink{referee: referee}
	options := scenarios.Options{Seed: f.seed, DataDir: f.data, Survive: true, Events: sink}
	if s.Asks() {
		sink.recording = hub.New(hub.Config{EventsMax: recordedEventsMax})
		defer sink.recording.Close()
		options.Recording = sink.recording
	}
	if f.trace == "" {
		report, err := scenarios.Play(ctx, s, options)
		return judge(s, report, referee), err
	}
	var report scenarios.Report
	err := writeFile(f.trace, func(w io.Writer) error {
		sink.trace = &traceSink{w: w}
		var err error
		report, err = scenarios.Play(ctx, s, options)
		return errors.Join(err, sink.trace.close())
	})
	if err == nil {
		var found []trace.Violation
		for _, v := range referee.Violations() {
			found = append(found, trace.Violation(v))
		}
		err = sealTrace(f.trace, sink.trace.header.WithVerdict(found, 0, sink.trace.last))
	}
	return judge(s, report, referee), err
}

// judge tells a report what the referee saw.
func judge(s *scenarios.Scenario, report scenarios.Report, referee *audit.Auditor) scenarios.Report {
	broken := map[string]string{}
	for _, v := range referee.Violations() {
		if _, known := broken[v.Promise]; !known {
			broken[v.Promise] = v.String()
		}
	}
	report.Judge(s, broken)
	return report
}

// runSink shows a world's events to all who look at a run.
type runSink struct {
	referee   *audit.Auditor
	trace     *traceSink // nil when no trace is written
	recording *hub.Hub   // nil when nothing is asked
}

// Publish, of world.Sink.
func (s *runSink) Publish(full *event.Chunk) *event.Chunk {
	s.referee.Chunk(full)
	if s.trace != nil {
		s.trace.write(full)
	}
	if s.recording != nil {
		return s.recording.Publish(full)
	}
	full.Reset()
	return full
}

func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(file)
	return errors.Join(write(buffered), buffered.Flush(), file.Close())
}

// sealTrace puts what the referee found, which is known at the end, into the header at the beginning.
// What is no file, as a pipe, stays without a verdict.
func sealTrace(name string, header trace.Header) error {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	from, err := os.Open(name)
	if err != nil {
		return err
	}
	sealed := name + ".sealed"
	err = writeFile(sealed, func(w io.Writer) error { return trace.CopyWithHeader(w, from, header) })
	if err = errors.Join(err, from.Close()); err != nil {
		return errors.Join(err, os.Remove(sealed))
	}
	return os.Rename(sealed, name)
}

// traceSink writes a world's events to a trace as they come. WorldStarted, the first of them,
// has what the header says.
type traceSink struct {
	w      io.Writer
	header trace.Header
	writer *trace.Writer
	last   event.Seq
	err    error
}

func (t *traceSink) write(full *event.Chunk) {
	records := full.Records
	if len(records) == 0 {
		return
	}
	if t.writer == nil {
		if records[0].Kind == event.KindWorldStarted {
			started := full.WorldStarted(&records[0])
			t.header = trace.Header{Seed: started.Seed, Origin: started.Origin,
				Software: started.Version}
		}
		t.writer = trace.NewWriter(t.w, t.header)
	}
	t.last = records[len(records)-1].Seq
	if err := t.writer.Chunk(full, records[0].Seq, t.last); err != nil {
		t.err = err
	}
}

func (t *traceSink) close() error {
	if t.writer == nil {
		return t.err
	}
	return errors.Join(t.err, t.writer.Flush())
}

func (f *runFlags) print(w io.Writer, r scenarios.Report) error {
	if f.json {
		return json.NewEncoder(w).Encode(r)
	}
	fmt.Fprintf(w, "%s: %s (seed %d)\n", r.Name, r.Title, r.Seed)
	for _, step := range r.Steps {
		if f.quiet && r.OK {
			break
		}
		mark := "ok  "
		if !step.OK {
			mark = "FAIL"
		}
		fmt.Fprintf(w, "  %s %10s  line %-3d %s\n", mark, round(step.At), step.Line, step.Command)
		if !step.OK || !strings.HasPrefix(step.Text, "holds") {
			for line := range strings.Lines(step.Text) {
				fmt.Fprintf(w, "                           %s\n", strings.TrimSuffix(line, "\n"))
			}
		}
	}
	for _, g := range r.Predictions {
		if g.OK() && !(f.quiet && r.OK) {
			fmt.Fprintf(w, "  ok   %10s  line %-3d predict: %s\n", "", g.Line, g.Question)
			fmt.Fprintf(w, "                           %s\n", g.Answer)
		}
	}
	if r.Failure != "" {
		fmt.Fprintf(w, "  FAIL %s\n", r.Failure)
	}
	verdict := "holds"
	if !r.OK {
		verdict = "FAILED"
	}
	_, err := fmt.Fprintf(w, "%s %s: %d steps, %d checks, %s of virtual time\n", r.Name, verdict,
		len(r.Steps), r.Checks, round(r.Virtual))
	return err
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
