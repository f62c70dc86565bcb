package static

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Served are the files as a browser gets them: one script for each page and one for what pages
// share, and style sheets, all without what only readers of the source need. A map beside each of
// them leads a browser's debugger back to the source; whoever serves a file names its map. It is
// made once, at start, so that nothing built lies in the repository.
type Served struct{ files map[string][]byte }

// ReadFile gives a file by its path below /static/.
func (s *Served) ReadFile(name string) ([]byte, error) {
	if text, ok := s.files[name]; ok {
		return text, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// pages are the scripts that pages name; the others come with them.
var pages = []string{"js/ui/main.js", "js/ui/start.js"}

// Serve makes the files ready. An error names the file that cannot be parsed, and the line.
func Serve() (*Served, error) {
	s := &Served{files: map[string][]byte{}}
	entries := append([]string(nil), pages...)
	err := fs.WalkDir(Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch path.Ext(name) {
		case ".css":
			entries = append(entries, name)
		case ".svg":
			s.files[name], err = fs.ReadFile(Files, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	built := api.Build(api.BuildOptions{
		EntryPoints: entries, Outdir: "/", EntryNames: "[dir]/[name]", ChunkNames: "js/[hash]",
		Bundle: true, Splitting: true, Format: api.FormatESModule, Target: api.ES2022,
		MinifyWhitespace: true, MinifySyntax: true, MinifyIdentifiers: true,
		Sourcemap: api.SourceMapExternal, Plugins: []api.Plugin{embedded}})
	if len(built.Errors) > 0 {
		return nil, sourceErrors(built.Errors)
	}
	for _, f := range built.OutputFiles {
		name := filepath.ToSlash(f.Path[len(filepath.VolumeName(f.Path)):])
		s.files[strings.TrimPrefix(name, "/")] = f.Contents
	}
	return s, nil
}

// embedded lets the bundler read Files instead of the disk.
var embedded = api.Plugin{Name: "embedded", Setup: func(build api.PluginBuild) {
	resolve := func(at api.OnResolveArgs) (api.OnResolveResult, error) {
		name := path.Clean(at.Path)
		if at.Kind != api.ResolveEntryPoint {
			name = path.Join(path.Dir(at.Importer), at.Path)
		}
		return api.OnResolveResult{Path: name, Namespace: "static"}, nil
	}
	load := func(at api.OnLoadArgs) (api.OnLoadResult, error) {
		text, err := fs.ReadFile(Files, at.Path)
		contents, loader := string(text), api.LoaderJS
		if path.Ext(at.Path) == ".css" {
			loader = api.LoaderCSS
		}
		return api.OnLoadResult{Contents: &contents, Loader: loader}, err
	}
	build.OnResolve(api.OnResolveOptions{Filter: ".*"}, resolve)
	build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: "static"}, load)
}}

func sourceErrors(messages []api.Message) error {
	errs := make([]error, 0, len(messages))
	for _, m := range messages {
		where := ""
		if m.Location != nil {
			where = fmt.Sprintf("%s:%d: ", m.Location.File, m.Location.Line)
		}
		errs = append(errs, fmt.Errorf("static: %s%s", where, m.Text))
	}
	return errors.Join(errs...)
}
