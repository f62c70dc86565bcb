package commitlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"sort"

	"highwater/cluster/disk"
	"highwater/cluster/event"
)

const (
	indexEntryBytes     = 8
	timeIndexEntryBytes = 12
	// indexChunkBytes is how much of an index file is read at once; a multiple of both entries.
	indexChunkBytes = 8 * 12 * 512
)

// indexFile is a sparse, preallocated index: what it holds in memory is exactly what its file
// begins with, so that a flush is one write and a lookup needs no file.
type indexFile struct {
	files disk.FS
	name  string
	file  disk.File // nil once the segment is closed
	entry int       // bytes of one entry
	// full is the file's length while it takes entries, in bytes, a multiple of entry.
	full int64
	// entries is the index's content, in the file's encoding; entries[:written] is in the file.
	entries []byte
	written int
}

func newIndexFile(files disk.FS, name string, entry int, bytes int64) indexFile {
	return indexFile{files: files, name: name, entry: entry, full: bytes - bytes%int64(entry)}
}

// create starts an empty preallocated file, whatever the name held before.
func (x *indexFile) create() error {
	if err := x.removeFile(); err != nil {
		return err
	}
	file, err := x.files.Create(x.name)
	if err != nil {
		return err
	}
	if err := file.Preallocate(x.full); err != nil {
		return errors.Join(err, file.Close())
	}
	x.file, x.written = file, 0
	return nil
}

// recreate gives the index a fresh file with its present entries. A new file, not the old one cut
// back: the entries cut off would otherwise still lie behind the end, and a ticket that trims
// the old file may still be under way. A disk that takes no new file leaves the old one.
func (x *indexFile) recreate() error {
	file, err := replaceFile(x.files, x.name, x.full, x.entries)
	if err != nil {
		return err
	}
	err = x.close()
	x.file, x.written = file, len(x.entries)
	return err
}

// replaceFile puts a file of at least so many bytes, which begins with the content, in the place of
// one that may be there, and gives it open. What is left of an attempt that failed, Open clears
// away.
func replaceFile(files disk.FS, name string, bytes int64, content []byte) (disk.File, error) {
	file, err := files.Create(name + suffixTemporary)
	if err != nil {
		return nil, err
	}
	if bytes > int64(len(content)) {
		err = file.Preallocate(bytes)
	}
	if err == nil && len(content) > 0 {
		_, err = file.WriteAt(content, 0)
	}
	if err == nil {
		err = files.Rename(name+suffixTemporary, name)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func (x *indexFile) removeFile() error {
	err := x.close()
	if removeErr := x.files.Remove(x.name); !errors.Is(removeErr, fs.ErrNotExist) {
		err = errors.Join(err, removeErr)
	}
	return err
}

// flush writes the entries that the file does not have yet.
func (x *indexFile) flush() error {
	if x.written == len(x.entries) || x.file == nil {
		return nil
	}
	if _, err := x.file.WriteAt(x.entries[x.written:], int64(x.written)); err != nil {
		return err
	}
	x.written = len(x.entries)
	return nil
}

func (x *indexFile) close() error {
	if x.file == nil {
		return nil
	}
	file := x.file
	x.file = nil
	return file.Close()
}

// trim cuts the preallocated rest off.
func (x *indexFile) trim() error {
	if x.file == nil {
		return nil
	}
	return x.file.Truncate(int64(len(x.entries)))
}

func (x *indexFile) count() int { return len(x.entries) / x.entry }

// load reads the entries up to the zero tail; grows says whether an entry may follow another. It
// reports false when the file is missing or cannot be an index.
func (x *indexFile) load(grows func(previous, next []byte) bool) (bool, error) {
	file, err := x.files.Open(x.name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	x.entries = x.entries[:0]
	if file.Size()%int64(x.entry) != 0 {
		return false, file.Close()
	}
	// A trimmed index grows exactly to its size; a preallocated one ends at its zeroes.
	for done := false; !done; {
		start := len(x.entries)
		take := min(file.Size()-int64(start), indexChunkBytes)
		if take <= 0 {
			break
		}
		chunk := make([]byte, take)
		if _, err := file.ReadAt(chunk, int64(start)); err != nil && err != io.EOF {
			return false, errors.Join(err, file.Close())
		}
		done = !x.take(chunk, grows)
	}
	x.file, x.written = file, len(x.entries)
	return true, nil
}

// endsWell says whether what stands behind the entries of an index that was loaded is nothing, or
// the zeroes that it was preallocated with. Anything else is damage.
func (x *indexFile) endsWell() (bool, error) {
	if int64(len(x.entries)) >= x.file.Size() {
		return true, nil
	}
	next := make([]byte, x.entry)
	if _, err := x.file.ReadAt(next, int64(len(x.entries))); err != nil && err != io.EOF {
		return false, err
	}
	return bytes.Equal(next, make([]byte, x.entry)), nil
}

// take adds the entries of a chunk until one does not grow.
func (x *indexFile) take(chunk []byte, grows func(previous, next []byte) bool) bool {
	for len(chunk) > 0 {
		next := chunk[:x.entry]
		var previous []byte
		if n := len(x.entries); n > 0 {
			previous = x.entries[n-x.entry:]
		}
		if !grows(previous, next) {
			return false
		}
		x.entries = append(x.entries, next...)
		chunk = chunk[x.entry:]
	}
	return true
}

// offsetIndex maps offsets to file positions. An entry is the last offset of a batch, relative to
// the segment's base, and the position at which that batch begins.
type offsetIndex struct {
	indexFile
	base event.Offset
}

func newOffsetIndex(files disk.FS, name string, base event.Offset, bytes int64) offsetIndex {
	return offsetIndex{newIndexFile(files, name, indexEntryBytes, bytes), base}
}

func (x *offsetIndex) isFull() bool { return int64(len(x.entries)) >= x.full }

func (x *offsetIndex) append(last event.Offset, position int64) {
	x.entries = binary.BigEndian.AppendUint32(x.entries, uint32(last-x.base))
	x.entries = binary.BigEndian.AppendUint32(x.entries, uint32(position))
}

func (x *offsetIndex) at(i int) (event.Offset, int64) {
	e := x.entries[i*indexEntryBytes:]
	relative := int32(binary.BigEndian.Uint32(e))
	return x.base + event.Offset(relative), int64(int32(binary.BigEndian.Uint32(e[4:])))
}

// floor finds the largest entry at or below the offset; without one, the segment's start.
func (x *offsetIndex) floor(offset event.Offset) (event.Offset, int64) {
	i := sort.Search(x.count(), func(i int) bool { o, _ := x.at(i); return o > offset })
	if i == 0 {
		return x.base, 0
	}
	return x.at(i - 1)
}

// floorPosition finds the largest indexed position at or below the given one.
func (x *offsetIndex) floorPosition(position int64) int64 {
	i := sort.Search(x.count(), func(i int) bool { _, p := x.at(i); return p > position })
	if i == 0 {
		return 0
	}
	_, p := x.at(i - 1)
	return p
}

// truncate drops the entries at or above the offset, in memory.
func (x *offsetIndex) truncate(offset event.Offset) {
	i := sort.Search(x.count(), func(i int) bool { o, _ := x.at(i); return o >= offset })
	x.entries = x.entries[:i*indexEntryBytes]
	x.written = min(x.written, len(x.entries))
}

func (x *offsetIndex) load() (bool, error) {
	return x.indexFile.load(func(previous, next []byte) bool {
		if previous == nil {
			// The first entry belongs to the second batch at the earliest, so it cannot be zero.
			return int32(binary.BigEndian.Uint32(next)) >= 0 && int32(binary.BigEndian.Uint32(next[4:])) > 0
		}
		return int32(binary.BigEndian.Uint32(next)) > int32(binary.BigEndian.Uint32(previous)) &&
			int32(binary.BigEndian.Uint32(next[4:])) > int32(binary.BigEndian.Uint32(previous[4:]))
	})
}

// timeIndex maps timestamps to offsets. An entry is the largest timestamp so far and the last
// offset of the batch that holds it.
type timeIndex struct {
	indexFile
	base event.Offset
}

func newTimeIndex(files disk.FS, name string, base event.Offset, bytes int64) timeIndex {
	return timeIndex{newIndexFile(files, name, timeIndexEntryBytes, bytes), base}
}

// isFull keeps one entry free for the one that a roll or a close adds.
func (x *timeIndex) isFull() bool {
	return int64(len(x.entries)) >= x.full-timeIndexEntryBytes
}

func (x *timeIndex) at(i int) (int64, event.Offset) {
	e := x.entries[i*timeIndexEntryBytes:]
	relative := int32(binary.BigEndian.Uint32(e[8:]))
	return int64(binary.BigEndian.Uint64(e)), x.base + event.Offset(relative)
}

// last is the newest entry; without one, no timestamp at the segment's base.
func (x *timeIndex) last() (int64, event.Offset) {
	if n := x.count(); n > 0 {
		return x.at(n - 1)
	}
	return -1, x.base
}

// append adds the largest timestamp so far unless the newest entry has it.
func (x *timeIndex) append(timestamp int64, offset event.Offset) {
	if newest, _ := x.last(); timestamp <= newest || int64(len(x.entries)) >= x.full {
		return
	}
	x.entries = binary.BigEndian.AppendUint64(x.entries, uint64(timestamp))
	x.entries = binary.BigEndian.AppendUint32(x.entries, uint32(offset-x.base))
}

// floor finds the offset up to which no record is younger than the timestamp.
func (x *timeIndex) floor(timestamp int64) event.Offset {
	i := sort.Search(x.count(), func(i int) bool { t, _ := x.at(i); return t > timestamp })
	if i == 0 {
		return x.base
	}
	_, o := x.at(i - 1)
	return o
}

func (x *timeIndex) truncate(offset event.Offset) {
	i := sort.Search(x.count(), func(i int) bool { _, o := x.at(i); return o >= offset })
	x.entries = x.entries[:i*timeIndexEntryBytes]
	x.written = min(x.written, len(x.entries))
}

func (x *timeIndex) load() (bool, error) {
	return x.indexFile.load(func(previous, next []byte) bool {
		timestamp := int64(binary.BigEndian.Uint64(next))
		relative := int32(binary.BigEndian.Uint32(next[8:]))
		if previous == nil {
			return relative >= 0 && timestamp >= 0 && (timestamp > 0 || relative > 0)
		}
		return timestamp > int64(binary.BigEndian.Uint64(previous)) &&
			relative > int32(binary.BigEndian.Uint32(previous[8:]))
	})
}

// fitsRelative says whether an offset can be written in the segment's indexes.
func fitsRelative(base, offset event.Offset) bool {
	return offset >= base && offset-base <= math.MaxInt32
}
