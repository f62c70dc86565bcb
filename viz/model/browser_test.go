package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"highwater/cluster/event"
)

const modules = "../../static/js"

// nodeOrSkip finds Node.js, in which the page's own modules run without a browser.
func nodeOrSkip(t *testing.T) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("SKIPPED: there is no node here, so nothing checked the page's modules")
	}
	// Reading the modules here makes go test run again when one of them changed.
	for _, folder := range []string{"model", "source", "protocol"} {
		files, err := filepath.Glob(filepath.Join(modules, folder, "*.js"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no modules in %s (%v)", folder, err)
		}
		for _, file := range files {
			if _, err := os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	return node
}

func TestBrowserFoldsToTheSameState(t *testing.T) {
	node := nodeOrSkip(t)
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			compareFolds(t, node, randomChunk(seed, 4000), []int{4000, 1, 299, 300, 301, 1777, 3999})
		})
	}
	t.Run("outside readers", func(t *testing.T) {
		c := deliveriesChunk()
		compareFolds(t, node, c, []int{len(c.Records), 9, 20, 30, len(c.Records) - 3})
	})
	t.Run("many partitions", func(t *testing.T) {
		wide := wideChunk()
		compareFolds(t, node, wide, []int{len(wide.Records), len(wide.Records) - 600})
	})
}

func TestModulesOfThePageKeepTheirPromises(t *testing.T) {
	command := exec.CommandContext(t.Context(), nodeOrSkip(t), "--test", "testdata/page.mjs")
	command.Env = append(os.Environ(), "HIGHWATER_MODULES="+modules)
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// wideChunk has more partitions than a state keeps, so that windows shrink to their minimum.
func wideChunk() *event.Chunk {
	log, now := event.NewLog(), int64(0)
	em := event.NewEmitter(log, &now, 1)
	for round := range 30 {
		for index := range int32(partitionsMax + 10) {
			if round > 0 && index > 50 {
				break
			}
			o := event.Offset(round)
			event.BatchAppended{Topic: "orders", Partition: index, BaseOffset: o, LastOffset: o}.Emit(em, 0)
			event.RecordDescribed{Topic: "orders", Partition: index, Offset: o}.Emit(em, 0)
		}
	}
	return log.Swap(&event.Chunk{})
}

// compareFolds folds events here and in the browser's modules; the first moment must be the last
// event, the others are sought.
func compareFolds(t *testing.T, node string, c *event.Chunk, moments []int) {
	var input bytes.Buffer
	want := map[int][]byte{}
	s := New()
	for i := range c.Records {
		r := &c.Records[i]
		if i%50 == 49 {
			s.ApplyUnknown(r.Seq, r.At, fmt.Sprintf("Future%d", i/50))
			fmt.Fprintf(&input, `{"event":{"seq":"%d","at":"%d","node":1,"event":"Future%d","fields":{}}}`,
				r.Seq, r.At, i/50)
		} else {
			s.Apply(c, r)
			fmt.Fprintf(&input, `{"event":%s}`, c.AppendJSON(nil, r))
		}
		input.WriteByte('\n')
		if slices.Contains(moments, i+1) {
			want[i+1] = s.AppendJSON(nil)
		}
	}
	for _, at := range moments {
		fmt.Fprintf(&input, `{"at":%d}`+"\n", at)
	}
	command := exec.CommandContext(t.Context(), node, "testdata/fold.mjs", modules)
	command.Stdin = &input
	var failure bytes.Buffer
	command.Stderr = &failure
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, failure.Bytes())
	}
	answers := bufio.NewScanner(bytes.NewReader(output))
	answers.Buffer(nil, 64<<20)
	for _, at := range moments {
		if !answers.Scan() {
			t.Fatalf("no answer for event %d", at)
		}
		if diff := difference("", decoded(t, answers.Bytes()), decoded(t, want[at])); diff != "" {
			t.Fatalf("after event %d (%v): %s", at, c.Records[at-1].Kind, diff)
		}
	}
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// difference names the first place where two JSON values differ.
func difference(path string, browser, server any) string {
	switch b := browser.(type) {
	case map[string]any:
		s, ok := server.(map[string]any)
		for key := range b {
			if ok && s[key] == nil && b[key] != nil {
				return fmt.Sprintf("%s.%s is only in the browser: %v", path, key, b[key])
			}
		}
		for key := range s {
			if diff := difference(path+"."+key, b[key], s[key]); diff != "" {
				return diff
			}
		}
	case []any:
		s, ok := server.([]any)
		for i := range min(len(b), len(s)) {
			if diff := difference(fmt.Sprintf("%s[%d]", path, i), b[i], s[i]); diff != "" {
				return diff
			}
		}
		if ok && len(b) != len(s) {
			return fmt.Sprintf("%s has %d elements in the browser, %d in the server", path, len(b), len(s))
		}
	}
	if !reflect.DeepEqual(browser, server) {
		return fmt.Sprintf("%s is %v in the browser, %v in the server", path, browser, server)
	}
	return ""
}
