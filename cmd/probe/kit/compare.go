package kit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
)

func readGolden(path string) (map[string]Result, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	results := map[string]Result{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var result Result
		if err := json.Unmarshal(lines.Bytes(), &result); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		results[result.Name] = result
	}
	return results, lines.Err()
}

var errDiffers = errors.New("the cluster differs from the golden file")

// comparison prints the probes that differ and counts.
type comparison struct {
	out           io.Writer
	golden        map[string]Result
	known         map[string]known // by probe: the answers that may differ
	strict        bool
	same, differ  int
	expected      int // differ as the known answers do
	withoutGolden int
	differing     []Result
	stale         []string // rows of the known answers that are as the golden file again
}

func (c *comparison) add(got Result) {
	want, known := c.golden[got.Name]
	if !known {
		c.withoutGolden++
		return
	}
	texts := !c.strict || slices.Equal(want.Messages, got.Messages)
	if encode(want.Got) == encode(reread(got).Got) && texts {
		c.same++
		if _, listed := c.known[got.Name]; listed {
			c.stale = append(c.stale, got.Name)
		}
		return
	}
	c.differing = append(c.differing, got)
	if k, listed := c.known[got.Name]; listed {
		if encode(k.Got) == encode(reread(got).Got) {
			c.expected++
			return
		}
		fmt.Fprintf(c.out, "%s is known to differ, but not like this\n", got.Name)
		want.Got = k.Got
	}
	c.differ++
	fmt.Fprintf(c.out, "%s: %s\n", got.Name, got.Intent)
	for i := range max(len(want.Got), len(got.Got)) {
		w, g := stepAt(want, i), stepAt(got, i)
		if w != g {
			fmt.Fprintf(c.out, "  step %d\n    expected %s\n    got      %s\n", i+1, w, g)
		}
	}
	if !texts {
		fmt.Fprintf(
			c.out,
			"  texts\n    expected %q\n    got      %q\n",
			want.Messages,
			got.Messages,
		)
	}
}

func (c *comparison) finish() error {
	for _, name := range c.stale {
		fmt.Fprintf(c.out, "%s no longer differs: take it off the known answers\n", name)
	}
	fmt.Fprintf(c.out, "%d same, %d differ", c.same, c.differ)
	if c.expected > 0 {
		fmt.Fprintf(c.out, ", %d differ as known", c.expected)
	}
	if c.withoutGolden > 0 {
		fmt.Fprintf(c.out, ", %d without golden", c.withoutGolden)
	}
	fmt.Fprintln(c.out)
	if c.differ > 0 || len(c.stale) > 0 {
		return errDiffers
	}
	return nil
}

// known is one line of the file of known differences: what a probe may answer instead of the
// golden file's answer, and the reason.
type known struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	Got    []Step `json:"got"`
}

func readKnown(path string) (map[string]known, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rows := map[string]known{}
	for line := range strings.Lines(string(text)) {
		var row known
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if row.Reason == "" || row.Reason == reasonMissing {
			return nil, fmt.Errorf("%s: %s has no reason", path, row.Name)
		}
		rows[row.Name] = row
	}
	return rows, nil
}

// reasonMissing stands where a person must write why an answer differs.
const reasonMissing = "TODO"

// accept rewrites the file of known differences with the answers of this run.
func (c *comparison) accept(path string) error {
	var b strings.Builder
	for _, got := range c.differing {
		row := known{got.Name, reasonMissing, got.Got}
		if before, listed := c.known[got.Name]; listed {
			row.Reason = before.Reason
		}
		b.WriteString(encode(row) + "\n")
	}
	fmt.Fprintf(c.out, "%d same, %d written to %s\n", c.same, len(c.differing), path)
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

func stepAt(r Result, i int) string {
	if i >= len(r.Got) {
		return "nothing"
	}
	return r.Got[i].Step + ": " + encode(r.Got[i].Got)
}

// reread brings a fresh result into the types that a golden file is read with.
func reread(r Result) Result {
	var out Result
	if err := json.Unmarshal([]byte(encode(r)), &out); err != nil ||
		reflect.DeepEqual(out, Result{}) {
		return r
	}
	return out
}
