package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"highwater/scenarios"
)

// The exit codes of commands that judge something.
const (
	exitGood     = 0
	exitMistakes = 1 // a check failed, a promise is broken, two things differ
	exitBadInput = 2
)

// newFlags makes the flags of one command.
func newFlags(name, arguments string, stderr io.Writer) *flag.FlagSet {
	set := flag.NewFlagSet("highwater "+name, flag.ContinueOnError)
	set.SetOutput(stderr)
	set.Usage = func() {
		fmt.Fprintf(stderr, "usage: highwater %s %s\n", name, arguments)
		set.PrintDefaults()
	}
	return set
}

// parseFlags prints the usage where it is asked for, and otherwise returns an error that says what
// is wrong in one line, with the nearest known flag for one that is not known.
func parseFlags(set *flag.FlagSet, args []string) error {
	usage, out := set.Usage, set.Output()
	if usage == nil {
		usage = func() {
			fmt.Fprintf(out, "usage: %s [flags]\n", set.Name())
			set.PrintDefaults()
		}
	}
	set.Usage = func() {}
	set.SetOutput(io.Discard)
	err := set.Parse(args)
	set.SetOutput(out)
	set.Usage = usage
	switch {
	case err == nil:
		return nil
	case errors.Is(err, flag.ErrHelp):
		usage()
		return err
	}
	if name, unknown := strings.CutPrefix(err.Error(), undefinedFlag); unknown {
		var known []string
		set.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
		hint := meant(strings.TrimLeft(name, "-"), known...)
		err = fmt.Errorf("there is no flag --%s%s", name, strings.Replace(hint, "mean ", "mean --", 1))
	}
	return fmt.Errorf("%w (%s --help lists the flags)", err, set.Name())
}

// undefinedFlag is how package flag begins its error.
const undefinedFlag = "flag provided but not defined: -"

// parseMixed lets flags stand before, between and behind the other arguments. A bare -- ends the
// flags. ok is false when the command ends here, with the exit code.
func parseMixed(set *flag.FlagSet, args []string) (rest []string, code int, ok bool) {
	for len(args) > 0 {
		if err := parseFlags(set, args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, exitGood, false
			}
			complain(set.Output(), "%v", err)
			return nil, exitBadInput, false
		}
		left := set.Args()
		used := len(args) - len(left)
		if used > 0 && args[used-1] == "--" {
			return append(rest, left...), exitGood, true
		}
		if len(left) == 0 {
			break
		}
		rest, args = append(rest, left[0]), left[1:]
	}
	return rest, exitGood, true
}

// parseAlone is parseMixed for a command that takes flags and nothing else.
func parseAlone(set *flag.FlagSet, args []string) (code int, ok bool) {
	rest, code, ok := parseMixed(set, args)
	if ok && len(rest) > 0 {
		name := strings.TrimPrefix(set.Name(), "highwater ")
		complain(set.Output(), "%s takes no argument; %q is one", name, rest[0])
		return exitBadInput, false
	}
	return code, ok
}

// meant is a hint at the nearest of the valid words, or nothing.
func meant(word string, valid ...string) string {
	if near := scenarios.Nearest(word, valid); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

func complain(stderr io.Writer, format string, args ...any) {
	fmt.Fprintf(stderr, "highwater: "+format+"\n", args...)
}
