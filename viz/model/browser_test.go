package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"reflect"
	"slices"
	"testing"
)

// TestBrowserFoldsToTheSameState runs the page's own modules in Node.js, where it is installed.
func TestBrowserFoldsToTheSameState(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("SKIPPED: there is no node here, so nothing compared the browser's fold with this one")
	}
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { compareFolds(t, node, seed) })
	}
}

func compareFolds(t *testing.T, node string, seed uint64) {
	const events = 4000
	moments := []int{events, 1, 299, 300, 301, 1777, events - 1}
	c := randomChunk(seed, events)
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
	command := exec.CommandContext(t.Context(), node, "testdata/fold.mjs", "../../static/js")
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
