// Package highwater_test holds the rules that no single package can check about itself: who may
// import whom, what the engine may not do, and how long code may get. Each rule is a test.
package highwater_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// ourImports says which of our packages each of our packages may import in its own code and in
// its tests. A row is "folder: folders". Change a row in a commit of its own that says why.
//
// Read it from the bottom of the engine upwards: event, record, world, disk and metadata know
// nothing above them, commitlog stands on the files, partition on the log, replica on the
// partition, broker composes them, wire and client meet brokers through their request type, and
// cluster builds everything. What draws (viz, server, web, static) never reaches the engine but
// through events, and the engine never reaches what draws.
const ourImports = `
cluster/event:
cluster/record:
cluster/world: cluster/event
cluster/disk:
cluster/metadata: cluster/event
cluster/commitlog: cluster/disk cluster/event cluster/record
cluster/cleaner: cluster/commitlog cluster/event cluster/record
cluster/controller: cluster/commitlog cluster/disk cluster/event cluster/metadata cluster/record cluster/world
cluster/partition: cluster/commitlog cluster/event cluster/metadata cluster/record cluster/world
cluster/replica: cluster/event cluster/partition cluster/record cluster/world
cluster/group: cluster/event cluster/world
cluster/txn: cluster/event cluster/world
cluster/broker: cluster/cleaner cluster/commitlog cluster/controller cluster/disk cluster/event cluster/group cluster/metadata cluster/partition cluster/record cluster/replica cluster/txn cluster/world
cluster/client: cluster/broker cluster/event cluster/record cluster/world
cluster/wire: cluster/broker cluster/commitlog cluster/event cluster/record cluster/world
cluster: cluster/broker cluster/client cluster/commitlog cluster/controller cluster/disk cluster/event cluster/metadata cluster/partition cluster/record cluster/replica cluster/wire cluster/world
cluster/event/generate: cluster/event
cluster/wire/generate:
viz/model: cluster/event cluster/record
viz/explain: cluster/event cluster/record viz/model
viz/audit: cluster/event cluster/record viz/model
viz/trace: cluster/event cluster/record
viz/hub: cluster/event viz/audit viz/model viz/trace
web:
static:
server: cluster/event cluster/record viz/explain viz/hub viz/model viz/trace web
scenarios: cluster cluster/broker cluster/client cluster/disk cluster/event cluster/metadata cluster/record cluster/world viz/audit viz/explain
scenarios/generate: scenarios
scenarios/lesson: cluster cluster/event cluster/world scenarios viz/hub viz/trace
cmd/highwater: *
cmd/compare:
`

// testImports are what only tests may import on top of ourImports: engine tests end in the audit
// of their trace, and a few tests need a package beside or below theirs to stand on.
const testImports = `
cluster: viz/audit viz/model viz/trace
cluster/cleaner: cluster/disk
cluster/controller: cluster/broker
cluster/partition: cluster/disk
cluster/replica: cluster/commitlog cluster/disk cluster/metadata
cluster/wire: cluster/commitlog cluster/disk cluster/partition cluster/replica
cluster/client: cluster/commitlog cluster/disk cluster/metadata
scenarios: viz/trace
viz/audit: viz/trace
viz/explain: scenarios viz/trace
viz/model: static
server: static viz/trace
web: static
`

// outsideImports says which single packages may import an outside library; a test may import a
// library that the package it tests talks to. A library in no row needs a row, and a reason.
const outsideImports = `
github.com/hashicorp/raft: cluster/controller
github.com/hashicorp/go-hclog: cluster/controller
golang.org/x/sys: cluster/disk cluster/wire
github.com/klauspost/compress: cluster/record
github.com/pierrec/lz4/v4: cluster/record
github.com/twmb/franz-go/pkg/kerr: cluster cluster/broker cluster/client cluster/controller cluster/event cluster/group cluster/partition cluster/replica cluster/txn cluster/wire scenarios
github.com/twmb/franz-go/pkg/kmsg: cluster cluster/broker cluster/client cluster/controller cluster/group cluster/txn cluster/wire cluster/wire/generate scenarios
github.com/go-chi/chi/v5: server
github.com/coder/websocket: server
github.com/a-h/templ: web server
github.com/evanw/esbuild/pkg/api: static
`

// testOnlyImports are outside libraries that tests alone may use.
const testOnlyImports = `
github.com/twmb/franz-go: cluster cmd/highwater cluster/wire
github.com/chromedp: server web static cmd/highwater
github.com/coder/websocket: cmd/highwater
github.com/twmb/franz-go/pkg/kmsg: cluster/record cmd/highwater
github.com/klauspost/compress: cluster/wire
`

// source is one parsed Go file of the module.
type source struct {
	path   string // from the module's root, with slashes
	folder string
	text   []byte
	file   *ast.File
	test   bool
}

func (s *source) generated() bool { return ast.IsGenerated(s.file) }

// skipped are folders that hold nothing of the project's own.
func skipped(name string) bool {
	return name == ".git" || name == "node_modules" || name == "bin" || name == "data"
}

// walk calls visit for every file of the working tree that belongs to the project.
func walk(t *testing.T, visit func(path string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if skipped(entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		visit(filepath.ToSlash(path), text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// sources parses every Go file, those of the tools' own modules under cmd included.
func sources(t *testing.T, set *token.FileSet) []*source {
	t.Helper()
	var all []*source
	walk(t, func(path string, text []byte) {
		if !strings.HasSuffix(path, ".go") || strings.Contains(path, "/testdata/") {
			return
		}
		file, err := parser.ParseFile(set, path, text, parser.ParseComments)
		if err != nil {
			t.Errorf("%v", err)
			return
		}
		folder := filepath.ToSlash(filepath.Dir(path))
		test := strings.HasSuffix(path, "_test.go")
		all = append(all, &source{path: path, folder: folder, text: text, file: file, test: test})
	})
	return all
}

// ownModule says that a folder is a module of its own, whose imports are its own business.
func ownModule(folder string) bool {
	for _, tool := range []string{"cmd/bench", "cmd/probe"} {
		if folder == tool || strings.HasPrefix(folder, tool+"/") {
			return true
		}
	}
	return false
}

// rows reads a policy: from each row's name to its list.
func rows(t *testing.T, policy string) map[string][]string {
	t.Helper()
	table := map[string][]string{}
	for line := range strings.Lines(policy) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, list, ok := strings.Cut(line, ":")
		if !ok {
			t.Fatalf("the policy's row %q has no colon", line)
		}
		if _, double := table[name]; double {
			t.Fatalf("the policy has two rows for %s", name)
		}
		table[name] = strings.Fields(list)
	}
	return table
}

func imports(s *source) []string {
	var list []string
	for _, spec := range s.file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err == nil {
			list = append(list, path)
		}
	}
	return list
}

func TestOurPackagesImportOnlyWhatThePolicyAllows(t *testing.T) {
	allowed, inTests := rows(t, ourImports), rows(t, testImports)
	for _, s := range sources(t, token.NewFileSet()) {
		if ownModule(s.folder) || s.folder == "." {
			continue
		}
		list, known := allowed[s.folder]
		if !known {
			t.Errorf("%s: no row of the import policy names the folder %s", s.path, s.folder)
			continue
		}
		for _, path := range imports(s) {
			ours, is := strings.CutPrefix(path, "highwater/")
			switch {
			case !is, ours == s.folder, slices.Contains(list, "*"), slices.Contains(list, ours):
			case s.test && slices.Contains(inTests[s.folder], ours):
			default:
				t.Errorf("%s imports %s, which the policy does not allow", s.path, ours)
			}
		}
	}
}

// longestRow is the row whose library the path belongs to.
func longestRow(table map[string][]string, path string) (library string, folders []string) {
	for name, list := range table {
		if path != name && !strings.HasPrefix(path, name+"/") {
			continue
		}
		if len(name) > len(library) {
			library, folders = name, list
		}
	}
	return library, folders
}

func TestOutsideLibrariesStayWhereTheyBelong(t *testing.T) {
	allowed, inTests := rows(t, outsideImports), rows(t, testOnlyImports)
	for _, s := range sources(t, token.NewFileSet()) {
		if ownModule(s.folder) {
			continue
		}
		for _, path := range imports(s) {
			first, _, _ := strings.Cut(path, "/")
			if !strings.Contains(first, ".") {
				continue
			}
			_, folders := longestRow(allowed, path)
			_, tests := longestRow(inTests, path)
			ok := slices.Contains(folders, s.folder) ||
				s.test && slices.Contains(tests, s.folder)
			if !ok {
				t.Errorf("%s imports %s, which no row allows there", s.path, path)
			}
		}
	}
}

// engineEdges are the parts of the cluster that meet the real world on the engine's behalf: the
// loop itself, sockets, files, and Raft's own goroutines.
func engineEdge(folder string) bool {
	for _, edge := range []string{"world", "wire", "disk", "controller"} {
		if f := "cluster/" + edge; folder == f || strings.HasPrefix(folder, f+"/") {
			return true
		}
	}
	return strings.HasSuffix(folder, "/generate")
}

// exceptions are files that may do what the engine may not, each for its reason.
var exceptions = map[string]string{
	// Run starts the one goroutine that is the loop of a live cluster, and Close waits for it;
	// the disks' modelled delays need a real timer there.
	"cluster/cluster.go": "lives beside the loop",
	// Buffers of records are given back from the edge's goroutines too.
	"cluster/record/slab.go": "reference counts that the edge shares",
}

// forbiddenCalls are what would let the wall clock, the scheduler or shared dice into a run.
var forbiddenCalls = map[string][]string{
	"time": {"Now", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Since",
		"Until"},
	"rand": {"Int", "IntN", "Int32", "Int32N", "Int64", "Int64N", "Uint32", "Uint64", "Uint64N",
		"Float64", "N", "Perm", "Shuffle"},
}

func TestEngineAsksTheWorldForTimeDiceAndTurns(t *testing.T) {
	set := token.NewFileSet()
	for _, s := range sources(t, set) {
		if !strings.HasPrefix(s.folder, "cluster") || engineEdge(s.folder) || s.test ||
			exceptions[s.path] != "" {
			continue
		}
		for _, path := range imports(s) {
			if path == "sync" || path == "sync/atomic" || path == "math/rand" {
				t.Errorf("%s imports %s: the loop is the engine's only lock", s.path, path)
			}
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.GoStmt:
				t.Errorf("%s starts a goroutine: ask Env.Work", set.Position(n.Pos()))
			case *ast.SelectorExpr:
				pkg, ok := n.X.(*ast.Ident)
				if ok && pkg.Obj == nil && slices.Contains(forbiddenCalls[pkg.Name], n.Sel.Name) {
					t.Errorf("%s calls %s.%s: ask the Env", set.Position(n.Pos()),
						pkg.Name, n.Sel.Name)
				}
			}
			return true
		})
	}
}

func TestTestsOfTheEngineNeverSleep(t *testing.T) {
	set := token.NewFileSet()
	for _, s := range sources(t, set) {
		if !s.test {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			if n, ok := node.(*ast.SelectorExpr); ok && n.Sel.Name == "Sleep" {
				if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "time" {
					t.Errorf("%s sleeps: wait for what must happen", set.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

// The limits of STYLE: a file is a sitting, a function a screen, a line fits beside another.
const (
	fileLinesMax       = 500
	functionLinesMax   = 70
	lineCharactersMax  = 100
	longFunctionShare  = 0.02
	templateSuffix     = "_templ.go"
	longLineShare      = 0.002
	lineEverMax        = 120
	longestFileAllowed = 1 << 20
)

func TestFilesAndFunctionsFitTheReader(t *testing.T) {
	set := token.NewFileSet()
	functions, long := 0, []string{}
	for _, s := range sources(t, set) {
		if s.generated() || strings.HasSuffix(s.path, templateSuffix) {
			continue
		}
		if n := bytes.Count(s.text, []byte("\n")); n > fileLinesMax {
			t.Errorf("%s has %d lines, over %d", s.path, n, fileLinesMax)
		}
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			functions++
			from, to := set.Position(f.Pos()), set.Position(f.End())
			if n := to.Line - from.Line + 1; n > functionLinesMax {
				long = append(long, from.String()+": "+f.Name.Name)
			}
		}
	}
	if share := float64(len(long)) / float64(functions); share >= longFunctionShare {
		t.Errorf("%.1f %% of the functions have over %d lines:\n%s", 100*share,
			functionLinesMax, strings.Join(long, "\n"))
	}
}

// policyRow exempts the tables of this file, whose rows are one line each.
var policyRow = regexp.MustCompile(`^[a-z./0-9-]+: [a-z*]`)

func TestLinesFitBesideAnother(t *testing.T) {
	lines, long := 0, []string{}
	for _, s := range sources(t, token.NewFileSet()) {
		if s.generated() {
			continue
		}
		number := 0
		for line := range strings.Lines(string(s.text)) {
			number++
			n := utf8.RuneCountInString(strings.TrimRight(line, "\n"))
			if n <= lineCharactersMax || policyRow.MatchString(line) {
				continue
			}
			long = append(long, fmt.Sprintf("%s:%d: %d", s.path, number, n))
			if n > lineEverMax {
				t.Errorf("%s:%d has %d characters", s.path, number, n)
			}
		}
		lines += number
	}
	if share := float64(len(long)) / float64(lines); share >= longLineShare {
		t.Errorf("%.2f %% of the lines have over %d characters:\n%s", 100*share,
			lineCharactersMax, strings.Join(long, "\n"))
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	said := map[string]bool{}
	for _, s := range sources(t, token.NewFileSet()) {
		if s.test {
			continue
		}
		said[s.folder] = said[s.folder] || s.file.Doc != nil && len(s.file.Doc.Text()) > 40
	}
	for folder, ok := range said {
		if !ok {
			t.Errorf("%s: no file says what the package is", folder)
		}
	}
}
