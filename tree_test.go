package highwater_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// folders are the only ones at the top; a new one is a change of the design.
var folders = []string{".ci", "cluster", "cmd", "docs", "scenarios", "server", "static", "viz",
	"web"}

func TestTopLevelHoldsOnlyTheFoldersOfTheDesign(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !skipped(e.Name()) && !slices.Contains(folders, e.Name()) {
			t.Errorf("the folder %s is not one of the design's", e.Name())
		}
		if slices.Contains([]string{"util", "common", "helpers"}, e.Name()) {
			t.Errorf("the folder %s says nothing about what is in it", e.Name())
		}
	}
}

// machinePath finds absolute paths of somebody's machine. A path below the root that every
// system has (/dev, /proc, /etc, /usr) is no such path.
var machinePath = regexp.MustCompile(`(^|[\s"'(=:` + "`" + `])/(home|root|work|Users|mnt)/[a-z]`)

func TestNoFileNamesAPlaceOnSomebodysMachine(t *testing.T) {
	walk(t, func(path string, text []byte) {
		if bytes.IndexByte(text, 0) >= 0 || strings.HasSuffix(path, ".jsonl") {
			return
		}
		number := 0
		for line := range bytes.Lines(text) {
			number++
			if found := machinePath.Find(line); found != nil {
				t.Errorf("%s:%d names %q", path, number, found)
			}
		}
	})
}

func TestNoFileIsBig(t *testing.T) {
	walk(t, func(path string, text []byte) {
		if len(text) > longestFileAllowed {
			t.Errorf("%s has %d bytes, over %d", path, len(text), longestFileAllowed)
		}
	})
}

// TestGeneratedFilesAreCurrent runs every generator in a copy of the tree and compares: what is
// committed must be what its source says.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("building the generators takes a while")
	}
	copied := t.TempDir()
	committed := map[string][]byte{}
	walk(t, func(path string, text []byte) {
		committed[path] = text
		to := filepath.Join(copied, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			t.Fatal(err)
		}
	})
	generate := exec.Command("go", "generate", "./...")
	generate.Dir = copied
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("go generate: %v\n%s", err, out)
	}
	for path, text := range committed {
		now, err := os.ReadFile(filepath.Join(copied, filepath.FromSlash(path)))
		if err != nil || !bytes.Equal(now, text) {
			t.Errorf("%s is not what its generator writes: run make generate", path)
		}
	}
}
