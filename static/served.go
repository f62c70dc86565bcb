package static

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"

	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/js"
)

// Served are the files as a browser gets them: scripts and style sheets without the comments,
// spaces and long local names that only readers of the source need. It is made once, at start, so
// that nothing built lies in the repository.
type Served struct{ files map[string][]byte }

// ReadFile gives a file by its path below /static/.
func (s *Served) ReadFile(name string) ([]byte, error) {
	if text, ok := s.files[name]; ok {
		return text, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Serve makes the files ready. An error names the script that cannot be parsed.
func Serve() (*Served, error) {
	m := minify.New()
	m.AddFunc(".css", css.Minify)
	m.AddFunc(".js", js.Minify)
	s := &Served{files: map[string][]byte{}}
	err := fs.WalkDir(Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(Files, name)
		if kind := path.Ext(name); err == nil && kind != ".svg" {
			var out bytes.Buffer
			if err = m.Minify(kind, &out, bytes.NewReader(text)); err != nil {
				return fmt.Errorf("static: %s: %w", name, err)
			}
			text = out.Bytes()
		}
		s.files[name] = text
		return err
	})
	return s, err
}
