package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"highwater/cluster"
)

// versionCommand prints the version, and which commit it was built from when that is known.
func versionCommand(args []string, stdout, stderr io.Writer) int {
	set := newFlags("version", "", stderr)
	if code, ok := parseAlone(set, args); !ok {
		return code
	}
	fmt.Fprintf(stdout, "highwater %s", cluster.Version)
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, s := range build.Settings {
			if s.Key == "vcs.revision" || s.Key == "vcs.time" {
				fmt.Fprintf(stdout, " %s", s.Value)
			}
			if s.Key == "vcs.modified" && s.Value == "true" {
				fmt.Fprint(stdout, " (with changes)")
			}
		}
	}
	fmt.Fprintf(stdout, "\n%s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return exitGood
}
