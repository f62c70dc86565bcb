package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
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

// parseMixed lets flags stand before, between and behind the other arguments. A bare -- ends the
// flags. ok is false when the command ends here, with the exit code.
func parseMixed(set *flag.FlagSet, args []string) (rest []string, code int, ok bool) {
	for len(args) > 0 {
		if err := set.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, exitGood, false
			}
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

func complain(stderr io.Writer, format string, args ...any) {
	fmt.Fprintf(stderr, "highwater: "+format+"\n", args...)
}
