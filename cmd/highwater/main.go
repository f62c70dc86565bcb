// Command highwater runs a three-broker Kafka-style cluster with a page to watch it, runs scenarios
// on such clusters, and reads their traces and files.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// command is one word after the program's name.
type command struct {
	name string
	help string
	run  func(args []string, stdout, stderr io.Writer) int
}

func commands() []command {
	return []command{
		{"serve", "run a cluster and its page (the default)", serveCommand},
		{"run", "run scenarios without a page", runCommand},
		{"scenarios", "list, show or lint scenarios", scenariosCommand},
		{"trace", "check, compare, convert or show trace files", traceCommand},
		{"dump", "print what log files hold", dumpCommand},
		{"doctor", "say what this machine has of what Highwater can use", doctorCommand},
		{"version", "print the version", versionCommand},
	}
}

func main() { os.Exit(dispatch(os.Args[1:], os.Stdout, os.Stderr)) }

// dispatch runs the command that the arguments name. Without one, or with a flag first, it serves.
func dispatch(args []string, stdout, stderr io.Writer) int {
	if len(args) > 1 && args[0] == "help" {
		args = []string{args[1], "--help"}
	}
	if len(args) > 0 && (args[0] == "help" || args[0] == "-h" || args[0] == "--help") {
		usage(stdout)
		return 0
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return serveCommand(args, stdout, stderr)
	}
	all := commands()
	at := slices.IndexFunc(all, func(c command) bool { return c.name == args[0] })
	if at < 0 {
		names := make([]string, len(all))
		for i, c := range all {
			names[i] = c.name
		}
		complain(stderr, "there is no command %q%s\n", args[0], meant(args[0], names...))
		usage(stderr)
		return 2
	}
	return all[at].run(args[1:], stdout, stderr)
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "usage: highwater [command] [flags]")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-10s %s\n", c.name, c.help)
	}
	fmt.Fprintln(w, "highwater serve --help lists the flags of the server.")
}
