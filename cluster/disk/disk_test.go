package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
)

// onEachDisk runs a promise on real files and in memory.
func onEachDisk(t *testing.T, promise func(t *testing.T, d *Disk)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { promise(t, NewMemory(Options{})) })
	t.Run("real", func(t *testing.T) { promise(t, realDisk(t)) })
}

func realDisk(t testing.TB) *Disk {
	t.Helper()
	d, err := NewReal(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("got error %v, want %v", got, want)
	}
}

func create(t testing.TB, d *Disk, name string) File {
	t.Helper()
	f, err := d.Create(name)
	must(t, err)
	return f
}

func write(t testing.TB, f File, text string, off int64) {
	t.Helper()
	_, err := f.WriteAt([]byte(text), off)
	must(t, err)
}

func wantContent(t testing.TB, d *Disk, name, want string) {
	t.Helper()
	got, err := d.ReadFile(name)
	must(t, err)
	if string(got) != want {
		t.Fatalf("%s holds %q, want %q", name, got, want)
	}
}

// tree lists everything on a disk with its content, as text.
func tree(t testing.TB, d *Disk) string {
	t.Helper()
	var text strings.Builder
	var walk func(dir string)
	walk = func(dir string) {
		entries, err := d.List(dir)
		must(t, err)
		for _, entry := range entries {
			name := path.Join(dir, entry.Name)
			if entry.Dir {
				fmt.Fprintf(&text, "%s/\n", name)
				walk(name)
				continue
			}
			content, err := d.ReadFile(name)
			must(t, err)
			fmt.Fprintf(&text, "%s %d %x\n", name, entry.Size, content)
		}
	}
	walk(".")
	return text.String()
}

func TestNamesBehaveAlikeOnBothDisks(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		must(t, d.Mkdir("orders-0/deep/er"))
		must(t, d.Mkdir("orders-0"))
		must(t, create(t, d, "orders-0/b.log").Close())
		must(t, create(t, d, "orders-0/a.log").Close())
		must(t, create(t, d, "plain").Close())

		_, err := d.Open("missing")
		wantError(t, err, fs.ErrNotExist)
		_, err = d.Create("missing/file")
		wantError(t, err, fs.ErrNotExist)
		_, err = d.Create("plain/file")
		wantError(t, err, fs.ErrNotExist)
		_, err = d.Open("orders-0")
		wantError(t, err, ErrIsDirectory)
		_, err = d.Create("orders-0")
		wantError(t, err, ErrIsDirectory)
		wantError(t, d.Mkdir("plain"), fs.ErrExist)
		wantError(t, d.Mkdir("plain/below"), fs.ErrExist)
		wantError(t, d.Remove("orders-0"), ErrNotEmpty)
		wantError(t, d.Remove("missing"), fs.ErrNotExist)
		wantError(t, d.Remove("."), ErrBadName)
		wantError(t, d.Rename("plain", "orders-0"), fs.ErrExist)
		wantError(t, d.Rename("orders-0", "orders-0/inside"), ErrBadName)
		wantError(t, d.Rename("missing", "other"), fs.ErrNotExist)
		wantError(t, d.SyncDir("plain"), fs.ErrNotExist)

		entries, err := d.List("orders-0")
		must(t, err)
		want := []Entry{{Name: "a.log"}, {Name: "b.log"}, {Name: "deep", Dir: true}}
		if !slices.Equal(entries, want) {
			t.Fatalf("listed %v, want %v", entries, want)
		}
		must(t, d.RemoveAll("orders-0"))
		must(t, d.RemoveAll("orders-0"))
		_, err = d.Stat("orders-0")
		wantError(t, err, fs.ErrNotExist)
		if err.Error() != "disk: stat orders-0: file does not exist" {
			t.Fatalf("the text is %q", err)
		}
	})
}

func TestHandlesFollowRenamesOfFilesAndDirectories(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		must(t, d.Mkdir("orders-0"))
		f := create(t, d, "orders-0/0.log")
		must(t, d.Rename("orders-0", "orders-0.delete"))
		must(t, d.Rename("orders-0.delete/0.log", "orders-0.delete/0.log.deleted"))
		if f.Name() != "orders-0.delete/0.log.deleted" {
			t.Fatalf("the handle is called %s", f.Name())
		}
		write(t, f, "still writable", 0)
		wantContent(t, d, "orders-0.delete/0.log.deleted", "still writable")
	})
}

func TestReadsAndWritesBehaveAlikeOnBothDisks(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		f := create(t, d, "0.log")
		n, err := f.WriteVAt([][]byte{[]byte("one"), nil, []byte("two"), {}}, 2)
		if n != 6 || err != nil {
			t.Fatal(n, err)
		}
		wantContent(t, d, "0.log", "\x00\x00onetwo")
		p := make([]byte, 10)
		if n, err := f.ReadAt(p, 5); n != 3 || err != io.EOF {
			t.Fatal(n, err)
		}
		if n, err := f.ReadAt(p, 8); n != 0 || err != io.EOF {
			t.Fatal(n, err)
		}
		must(t, f.Truncate(3))
		must(t, f.Preallocate(chunkBytes+5))
		must(t, f.Preallocate(1))
		want := "\x00\x00o" + strings.Repeat("\x00", chunkBytes+2)
		wantContent(t, d, "0.log", want)
		wantError(t, f.Truncate(-1), ErrBadOffset)
		_, err = f.WriteAt(p, -1)
		wantError(t, err, ErrBadOffset)
		_, err = f.ReadAt(p, -1)
		wantError(t, err, ErrBadOffset)
	})
}

func TestWriteVAtWritesMoreBuffersThanOneCallTakes(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		var buffers [][]byte
		var want []byte
		for i := range 2500 {
			buffers = append(buffers, bytes.Repeat([]byte{byte(i)}, i%7))
			want = append(want, buffers[i]...)
		}
		n, err := create(t, d, "0.log").WriteVAt(buffers, 0)
		if n != int64(len(want)) || err != nil {
			t.Fatal(n, err)
		}
		wantContent(t, d, "0.log", string(want))
	})
}

func TestNoNameEscapesTheDirectory(t *testing.T) {
	parts := []string{
		"..", "../", "/", "\x00", "\\", "..\\", "//", "./", "a/../..", "C:", "a/./b", "\n", "a:b",
		strings.Repeat("x", 256), "?", "*", "\xff", "a/", "\x7f", "<", "|", `"`,
	}
	var payloads []string
	for _, first := range parts {
		for _, second := range parts {
			payloads = append(payloads, first+"/x/"+second, first+"/etc/passwd"+second)
		}
	}
	payloads = append(payloads, "", strings.Repeat("a/", 3000)+"a")
	if len(payloads) < 500 {
		t.Fatalf("only %d payloads", len(payloads))
	}
	onEachDisk(t, func(t *testing.T, d *Disk) {
		must(t, create(t, d, "inside").Close())
		for _, name := range payloads {
			_, openError := d.Open(name)
			_, createError := d.Create(name)
			_, statError := d.Stat(name)
			_, listError := d.List(name)
			_, readError := d.ReadFile(name)
			for _, err := range []error{
				openError, createError, statError, listError, readError, d.Mkdir(name),
				d.Remove(name), d.RemoveAll(name), d.SyncDir(name), d.Rename(name, "new"),
				d.Rename("inside", name),
			} {
				if !errors.Is(err, ErrBadName) {
					t.Fatalf("%q: %v", name, err)
				}
			}
		}
		if got := tree(t, d); got != "inside 0 \n" {
			t.Fatalf("the disk holds %q", got)
		}
	})
}

func TestSecondHolderIsToldWhoHoldsTheDirectory(t *testing.T) {
	dir := t.TempDir()
	first, err := NewReal(dir, Options{})
	must(t, err)
	second, err := NewReal(dir, Options{})
	must(t, err)
	must(t, first.Lock())
	err = second.Lock()
	wantError(t, err, ErrLocked)
	if !strings.Contains(err.Error(), "by process ") {
		t.Fatalf("%v names nobody", err)
	}
	wantError(t, first.Lock(), ErrLocked)
	first.Kill()
	must(t, second.Lock())
	must(t, second.Unlock())
	wantContent(t, second, lockName, "")
	must(t, first.Lock())
	must(t, first.Close())
	must(t, second.Lock())
	must(t, second.Close())
}

func TestLockIsExclusiveOnBothDisks(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		must(t, d.Lock())
		wantError(t, d.Lock(), ErrLocked)
		must(t, d.Unlock())
		must(t, d.Lock())
	})
}

func TestUsageCountsByClass(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d *Disk) {
		f := create(t, d, "0.log")
		write(t, f, "12345", 0)
		must(t, f.Sync())
		wantContent(t, d, "0.log", "12345")
		must(t, create(t, d, "cleaner-offset-checkpoint").Close())
		want := []Usage{
			{Class: ".log", Reads: 1, ReadBytes: 5, Writes: 1, WrittenBytes: 5, Syncs: 1},
			{Class: "cleaner-offset-checkpoint"},
		}
		if got := d.Usage(); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
