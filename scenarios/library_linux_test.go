package scenarios

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
)

func TestIndexesOfOneBatchAreLongAndTakeNoBlockOfTheDisk(t *testing.T) {
	s, err := Library("one-batch-on-disk")
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	c, err := Open(s, Options{DataDir: directory})
	if err != nil {
		t.Fatal(err)
	}
	if report := NewPlayer(c, nil).Run(context.Background(), s); !report.OK {
		t.Errorf("%+v", report)
	}
	for name, length := range map[string]int64{".index": 10485760, ".timeindex": 10485756} {
		path := filepath.Join(directory, "broker-1", "orders-0", "00000000000000000000"+name)
		var file syscall.Stat_t
		if err := syscall.Stat(path, &file); err != nil {
			t.Error(err)
		}
		if file.Size != length || file.Blocks != 0 {
			t.Errorf("%s has %d bytes and %d blocks, want %d and none", name, file.Size, file.Blocks,
				length)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
