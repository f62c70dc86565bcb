package scenarios

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"highwater/cluster/event"
	"highwater/viz/trace"
)

// tracer is a sink that writes a trace into memory.
type tracer struct {
	text   bytes.Buffer
	writer *trace.Writer
	err    error
}

func newTracer() *tracer {
	t := &tracer{}
	t.writer = trace.NewWriter(&t.text, trace.Header{})
	return t
}

func (t *tracer) Publish(full *event.Chunk) *event.Chunk {
	if n := len(full.Records); n > 0 {
		t.err = t.writer.Chunk(full, full.Records[0].Seq, full.Records[n-1].Seq)
	}
	full.Reset()
	return full
}

// tracedInto plays a scenario with its files in a directory, and gives its trace.
func tracedInto(t *testing.T, s *Scenario, directory string) []byte {
	t.Helper()
	sink := newTracer()
	report, err := Play(context.Background(), s, Options{Events: sink, DataDir: directory})
	if err != nil || !report.OK {
		t.Fatalf("%v %+v", err, report)
	}
	if sink.err != nil || sink.writer.Flush() != nil {
		t.Fatalf("the trace: %v", sink.err)
	}
	return sink.text.Bytes()
}

// sums are the checksums of all files below a directory.
func sums(t *testing.T, directory string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(directory, path)
		found[name] = fmt.Sprintf("%d bytes %x", len(content), sha256.Sum256(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// firstDifference is the first line in which two traces differ.
func firstDifference(a, b []byte) string {
	first, second := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(first), len(second)) {
		if !bytes.Equal(first[i], second[i]) {
			return fmt.Sprintf("line %d is\n%s and\n%s", i+1, first[i], second[i])
		}
	}
	return fmt.Sprintf("they have %d and %d lines", len(first), len(second))
}

// shortRuns are those of the library that a short run of the tests repeats: one with power cuts, one
// with groups, and one with transactions.
var shortRuns = []string{"power-loss", "commit-before-or-after", "zombie-fencing"}

func TestSameSeedGivesTheSameTraceAndTheSameFiles(t *testing.T) {
	names := Names()
	if testing.Short() {
		names = shortRuns
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // as many at a time as -parallel says
			s, err := Library(name)
			if err != nil {
				t.Fatal(err)
			}
			directories := [2]string{t.TempDir(), t.TempDir()}
			first := tracedInto(t, s, directories[0])
			second := tracedInto(t, s, directories[1])
			if !bytes.Equal(first, second) {
				t.Errorf("the traces differ: %s", firstDifference(first, second))
			}
			a, b := sums(t, directories[0]), sums(t, directories[1])
			for _, file := range slices.Sorted(maps.Keys(a)) {
				if a[file] != b[file] {
					t.Errorf("%s has %s and %s", file, a[file], b[file])
				}
			}
			if len(a) != len(b) || len(a) == 0 {
				t.Errorf("%d and %d files", len(a), len(b))
			}
		})
	}
}
