package static

import "embed"

// Files are the embedded files by their path below /static/, for example js/ui/main.js.
//
//go:embed css js icon.svg
var Files embed.FS
