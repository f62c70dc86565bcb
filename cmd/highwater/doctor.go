package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"highwater/scenarios"
)

// finding is one thing that doctor looked at. Only what is needed makes it fail.
type finding struct {
	what   string
	detail string
	err    error
	needed bool
}

// doctorCommand says whether this machine can run Highwater, and what it lacks.
func doctorCommand(args []string, stdout, stderr io.Writer) int {
	set := newFlags("doctor", "", stderr)
	if code, ok := parseAlone(set, args); !ok {
		return code
	}
	code := exitGood
	for _, f := range examine() {
		mark, detail := "ok  ", f.detail
		if f.err != nil {
			mark, detail = "note", f.err.Error()
			if f.needed {
				mark, code = "FAIL", exitMistakes
			}
		}
		fmt.Fprintf(stdout, "%s %-18s %s\n", mark, f.what, detail)
	}
	return code
}

func examine() []finding {
	all := []finding{{what: "machine", detail: fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS,
		runtime.GOARCH, runtime.NumCPU(), runtime.Version())}}
	all = append(all, examineCluster(), examineDirectory())
	for _, address := range []string{"127.0.0.1:8080", "127.0.0.1:9092", "127.0.0.1:9093",
		"127.0.0.1:9094"} {
		all = append(all, examinePort(address))
	}
	for _, tool := range []string{"kcat", "node", "java"} {
		all = append(all, examineTool(tool))
	}
	return all
}

// examineCluster runs a cluster in memory and kills a broker of it.
func examineCluster() finding {
	f := finding{what: "cluster", needed: true}
	s, err := scenarios.Library("kill-leader")
	if err != nil {
		f.err = err
		return f
	}
	report, err := scenarios.Play(context.Background(), s, scenarios.Options{})
	if err == nil && !report.OK {
		err = errors.New("the scenario kill-leader fails: highwater run kill-leader says where")
	}
	f.detail, f.err = "three brokers in memory survive the death of a leader", err
	return f
}

// examineDirectory makes, syncs and removes a file where serve keeps its data by default.
func examineDirectory() finding {
	f := finding{what: "data directory"}
	cache, err := os.UserCacheDir()
	if err != nil {
		f.err = fmt.Errorf("%w; give --data or --memory", err)
		return f
	}
	dir := filepath.Join(cache, "highwater")
	f.detail = dir + " can be written and synced"
	if f.err = os.MkdirAll(dir, 0o755); f.err != nil {
		return f
	}
	file, err := os.CreateTemp(dir, "doctor-")
	if err != nil {
		f.err = fmt.Errorf("%w; give --data or --memory", err)
		return f
	}
	_, err = file.WriteString("highwater")
	f.err = errors.Join(err, file.Sync(), file.Close(), os.Remove(file.Name()))
	return f
}

func examinePort(address string) finding {
	f := finding{what: address, detail: "free"}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		f.err = fmt.Errorf("%w; choose others with --kafka and --http, port 0 takes a free one", err)
		return f
	}
	f.err = listener.Close()
	return f
}

func examineTool(name string) finding {
	f := finding{what: name}
	path, err := exec.LookPath(name)
	if err != nil {
		f.err = errors.New("not found; not needed, but nice to have")
		return f
	}
	f.detail = path
	return f
}
