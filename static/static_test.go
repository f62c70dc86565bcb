package static

import (
	"bytes"
	"io/fs"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

const (
	linesMax   = 500
	columnsMax = 100
	// bytesMax bounds what a browser loads, uncompressed, before the first event.
	bytesMax = 250_000
)

// layers are the folders of scripts from the lowest up; a script imports from its own folder and
// from those before it.
var layers = []string{"protocol", "source", "model", "layout", "view", "ui"}

var (
	importLine = regexp.MustCompile(`(?m)^(?:import|export)\b[^'"]*?from ['"]([^'"]+)['"]`)
	tokenUse   = regexp.MustCompile(`var\((--[a-z0-9-]+)`)
	tokenName  = regexp.MustCompile(`(--[a-z0-9-]+):`)
	rawMarkup  = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|\beval\(|new Function`)
)

func eachFile(t *testing.T, ext string, f func(name, text string)) {
	t.Helper()
	err := fs.WalkDir(Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ext {
			return err
		}
		text, err := fs.ReadFile(Files, name)
		f(name, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func layerOf(name string) int {
	for i, layer := range layers {
		if strings.HasPrefix(name, "js/"+layer+"/") {
			return i
		}
	}
	return -1
}

func TestScriptsImportOnlyDownwards(t *testing.T) {
	imports := 0
	eachFile(t, ".js", func(name, text string) {
		own := layerOf(name)
		if own < 0 {
			t.Errorf("%s lies in no layer of %v", name, layers)
		}
		for _, m := range importLine.FindAllStringSubmatch(text, -1) {
			imports++
			target := path.Join(path.Dir(name), m[1])
			if _, err := fs.Stat(Files, target); err != nil {
				t.Errorf("%s imports %s, which is not there", name, m[1])
			}
			if other := layerOf(target); other > own {
				t.Errorf("%s imports %s: %s is above %s", name, m[1], layers[other], layers[own])
			}
		}
	})
	if imports == 0 {
		t.Fatal("no import was found, so nothing was checked")
	}
}

func TestFilesStayReadableAndWithinTheBudget(t *testing.T) {
	served, err := Serve()
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	check := func(name, text string) {
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) > linesMax {
			t.Errorf("%s has %d lines, more than %d", name, len(lines), linesMax)
		}
		if layerOf(name) < layerOf("js/layout/") && path.Ext(name) == ".js" {
			return
		}
		for i, line := range lines {
			if len([]rune(line)) > columnsMax {
				t.Errorf("%s:%d is longer than %d columns", name, i+1, columnsMax)
			}
		}
	}
	eachFile(t, ".js", check)
	eachFile(t, ".css", check)
	for name, text := range served.files { // a sum has no order
		if kind := path.Ext(name); kind == ".js" || kind == ".css" {
			total += len(text)
		}
	}
	t.Logf("scripts and styles: %d bytes as served", total)
	if total > bytesMax {
		t.Errorf("scripts and styles are %d bytes as served, more than %d", total, bytesMax)
	}
}

func TestStylesNameOnlyKnownTokens(t *testing.T) {
	known := map[string]bool{}
	eachFile(t, ".css", func(_, text string) {
		for _, m := range tokenName.FindAllStringSubmatch(text, -1) {
			known[m[1]] = true
		}
	})
	eachFile(t, ".css", func(name, text string) {
		for _, m := range tokenUse.FindAllStringSubmatch(text, -1) {
			if !known[m[1]] {
				t.Errorf("%s uses %s, which no style sheet sets", name, m[1])
			}
		}
	})
}

func TestScriptsWriteNoMarkup(t *testing.T) {
	eachFile(t, ".js", func(name, text string) {
		if found := rawMarkup.FindString(text); found != "" {
			t.Errorf("%s uses %s: record keys and values could become markup", name, found)
		}
	})
}

func TestModelAndLayoutKnowNoPage(t *testing.T) {
	page := regexp.MustCompile(`\b(document|window|localStorage|requestAnimationFrame)\b[.(]`)
	eachFile(t, ".js", func(name, text string) {
		if !strings.HasPrefix(name, "js/model/") && !strings.HasPrefix(name, "js/layout/") {
			return
		}
		if found := page.FindString(text); found != "" {
			t.Errorf("%s uses %s, so it cannot be tested without a page", name, found)
		}
	})
}

func TestLayoutPutsEqualOffsetsOnOneLine(t *testing.T) { runScript(t, "testdata/layout.mjs") }

func TestLayoutSaysWhoReadsAndWhatBecameOfRecords(t *testing.T) {
	runScript(t, "testdata/clients.mjs")
}

func TestColumnsAreForThoseWhoReadWhatIsOnTheStage(t *testing.T) {
	runScript(t, "testdata/readers.mjs")
}

func TestTraceWithoutItsBeginningIsCountedByWhatIsKnown(t *testing.T) {
	runScript(t, "testdata/beginning.mjs")
}

func TestViewerEndsWhereThePresenterIsWhateverFailsOnTheWay(t *testing.T) {
	runScript(t, "testdata/room.mjs")
}

func TestFollowedIsTheVeryRecordAndNoOtherAtItsPlace(t *testing.T) {
	runScript(t, "testdata/following.mjs")
}

func TestCaptionTellsWhatMatteredAndTheListFoldsCrowds(t *testing.T) {
	runScript(t, "testdata/telling.mjs")
}

func runScript(t *testing.T, name string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: the layout modules are then only checked in a browser")
	}
	var out bytes.Buffer
	cmd := exec.Command(node, "--no-warnings", name)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
}
