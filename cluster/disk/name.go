package disk

import (
	"io/fs"
	"strings"
)

// Bounds on names. Real file systems have them, so memory has them too.
const (
	nameBytesMax      = 4000
	componentBytesMax = 255
)

// checkName accepts a clean relative path that means the same on every system. The real disk's
// os.Root would refuse escapes too; refusing here makes memory and Windows behave alike.
func checkName(name string) error {
	if len(name) > nameBytesMax || !fs.ValidPath(name) {
		return ErrBadName
	}
	component := 0
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c < ' ' || c == 0x7f || strings.IndexByte(`\:*?"<>|`, c) >= 0 {
			return ErrBadName
		}
		if component++; c == '/' {
			component = 0
		}
		if component > componentBytesMax {
			return ErrBadName
		}
	}
	return nil
}

// within says whether name is dir or lies below it.
func within(name, dir string) bool {
	return name == dir || dir == "." ||
		(len(name) > len(dir) && name[len(dir)] == '/' && name[:len(dir)] == dir)
}
