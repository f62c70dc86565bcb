package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
)

// chunkBytes is the unit in which a memory file takes memory; a chunk never written is a hole.
const chunkBytes = 16 << 10

// memory is the backing that keeps everything in memory, for seeded runs and tests.
type memory struct {
	mu     sync.Mutex
	root   *memoryDir
	locked bool
}

// memoryDir is one directory; each name is a *memoryDir or a *memoryFile.
type memoryDir struct{ entries map[string]any }

func newMemory() *memory { return &memory{root: &memoryDir{entries: map[string]any{}}} }

// find walks to a name; the root is ".".
func (m *memory) find(name string) (any, error) {
	var at any = m.root
	if name == "." {
		return at, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		dir, isDir := at.(*memoryDir)
		if !isDir {
			return nil, fs.ErrNotExist
		}
		next, exists := dir.entries[part]
		if !exists {
			return nil, fs.ErrNotExist
		}
		at = next
	}
	return at, nil
}

// parent finds the directory that holds a name.
func (m *memory) parent(name string) (*memoryDir, error) {
	at, err := m.find(path.Dir(name))
	if err != nil {
		return nil, err
	}
	dir, isDir := at.(*memoryDir)
	if !isDir {
		return nil, fs.ErrNotExist
	}
	return dir, nil
}

func (m *memory) open(name string, create bool) (node, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, err := m.parent(name)
	if err != nil {
		return nil, 0, err
	}
	at, exists := dir.entries[path.Base(name)]
	if !exists && create {
		at = &memoryFile{}
		dir.entries[path.Base(name)] = at
	} else if !exists {
		return nil, 0, fs.ErrNotExist
	}
	file, isFile := at.(*memoryFile)
	if !isFile {
		return nil, 0, ErrIsDirectory
	}
	return file, file.length(), nil
}

func (m *memory) remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, err := m.parent(name)
	if err != nil {
		return err
	}
	at, exists := dir.entries[path.Base(name)]
	if !exists {
		return fs.ErrNotExist
	}
	if below, isDir := at.(*memoryDir); isDir && len(below.entries) > 0 {
		return ErrNotEmpty
	}
	delete(dir.entries, path.Base(name))
	return nil
}

func (m *memory) rename(old, new string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	from, err := m.parent(old)
	if err != nil {
		return err
	}
	to, err := m.parent(new)
	if err != nil {
		return err
	}
	at, exists := from.entries[path.Base(old)]
	if !exists {
		return fs.ErrNotExist
	}
	delete(from.entries, path.Base(old))
	to.entries[path.Base(new)] = at
	return nil
}

func (m *memory) mkdir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, err := m.parent(name)
	if err != nil {
		return err
	}
	if _, exists := dir.entries[path.Base(name)]; exists {
		return fs.ErrExist
	}
	dir.entries[path.Base(name)] = &memoryDir{entries: map[string]any{}}
	return nil
}

func (m *memory) list(name string) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.find(name)
	if err != nil {
		return nil, err
	}
	dir, isDir := at.(*memoryDir)
	if !isDir {
		return nil, fs.ErrNotExist
	}
	entries := make([]Entry, 0, len(dir.entries))
	for base, at := range dir.entries {
		entries = append(entries, entryOf(base, at))
	}
	sortEntries(entries)
	return entries, nil
}

func sortEntries(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
}

func (m *memory) stat(name string) (Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.find(name)
	if err != nil {
		return Entry{}, err
	}
	return entryOf(path.Base(name), at), nil
}

func entryOf(base string, at any) Entry {
	if file, isFile := at.(*memoryFile); isFile {
		return Entry{Name: base, Size: file.length()}
	}
	return Entry{Name: base, Dir: true}
}

func (m *memory) restore(name string, held node) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	file, isFile := held.(*memoryFile)
	if !isFile {
		return errors.New("the held file is not of this disk")
	}
	dir, err := m.parent(name)
	if err != nil {
		return err
	}
	dir.entries[path.Base(name)] = file
	return nil
}

func (m *memory) lock() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locked {
		return fmt.Errorf("%w by process %d", ErrLocked, os.Getpid())
	}
	m.locked = true
	m.root.entries[lockName] = &memoryFile{}
	return nil
}

func (m *memory) unlock() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.locked = false
	return nil
}

func (m *memory) syncDir(string) error { return nil }
func (m *memory) path() string         { return "" }
func (m *memory) close() error         { return nil }

// memoryFile is the content of one file. Its mutex lets the edge read while the node appends.
type memoryFile struct {
	mu     sync.RWMutex
	size   int64
	chunks []*[chunkBytes]byte // nil is a hole; bytes at and after size are zero
}

func (f *memoryFile) length() int64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.size
}

func (f *memoryFile) readAt(p []byte, off int64) (int, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if off >= f.size {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	end := min(off+int64(len(p)), f.size)
	n := 0
	for at := off; at < end; {
		within := at % chunkBytes
		part := p[n:min(n+int(chunkBytes-within), int(end-off))]
		if chunk := f.chunk(at); chunk == nil {
			clear(part)
		} else {
			copy(part, chunk[within:])
		}
		n += len(part)
		at += int64(len(part))
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// chunk is the chunk that holds an offset, or nil.
func (f *memoryFile) chunk(off int64) *[chunkBytes]byte {
	if i := off / chunkBytes; i < int64(len(f.chunks)) {
		return f.chunks[i]
	}
	return nil
}

func (f *memoryFile) writeAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(p, off)
	return len(p), nil
}

func (f *memoryFile) writeVectors(buffers [][]byte, off int64) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	start := off
	for _, buffer := range buffers {
		f.put(buffer, off)
		off += int64(len(buffer))
	}
	return off - start, nil
}

func (f *memoryFile) put(p []byte, off int64) {
	for len(p) > 0 {
		i, within := off/chunkBytes, off%chunkBytes
		for int64(len(f.chunks)) <= i {
			f.chunks = append(f.chunks, nil)
		}
		if f.chunks[i] == nil {
			f.chunks[i] = new([chunkBytes]byte)
		}
		n := copy(f.chunks[i][within:], p)
		p = p[n:]
		off += int64(n)
		f.size = max(f.size, off)
	}
}

func (f *memoryFile) truncate(size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if size < f.size {
		keep := (size + chunkBytes - 1) / chunkBytes
		if keep < int64(len(f.chunks)) {
			clear(f.chunks[keep:])
			f.chunks = f.chunks[:keep]
		}
		if chunk := f.chunk(size); chunk != nil && size%chunkBytes != 0 {
			clear(chunk[size%chunkBytes:])
		}
	}
	f.size = size
	return nil
}

func (f *memoryFile) sync() error  { return nil }
func (f *memoryFile) close() error { return nil }
func (f *memoryFile) os() *os.File { return nil }
