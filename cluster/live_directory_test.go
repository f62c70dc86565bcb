package cluster

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"highwater/cluster/event"
)

// directoryFiles maps every file below a directory to its size and the hash of its content.
func directoryFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(dir, name)
		files[inside] = fmt.Sprintf("%d bytes, %x", len(content), sha256.Sum256(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// write sends so many numbered records to the one partition of a topic, all acknowledged by all.
func (l *liveCluster) write(ctx context.Context, topic string, from, to int) {
	l.t.Helper()
	client := l.client(kgo.RequiredAcks(kgo.AllISRAcks()))
	defer client.Close()
	for i := from; i < to; i++ {
		client.Produce(ctx, &kgo.Record{Topic: topic, Value: []byte(strconv.Itoa(i))},
			func(_ *kgo.Record, err error) {
				if err != nil {
					l.t.Errorf("record %d: %v", i, err)
				}
			})
	}
	if err := client.Flush(ctx); err != nil {
		l.t.Fatal(err)
	}
}

// holds reads the topic back and expects exactly the first n records.
func (l *liveCluster) holds(ctx context.Context, topic string, n int) {
	l.t.Helper()
	for i, r := range l.consume(ctx, topic, n)[0] {
		if string(r.Value) != strconv.Itoa(i) {
			l.t.Fatalf("record %d reads %s", i, r.Value)
		}
	}
	l.level(topic)
	l.do("", func() {
		if end, _ := l.c.LogEndOffsetOfLeader(topic, 0); end != event.Offset(n) {
			l.t.Errorf("the log ends at %d, %d records were written", end, n)
		}
	})
	l.equalReplicas(topic)
}

func TestClosedDirectoryOpensAgainWithAllRecords(t *testing.T) {
	dir := t.TempDir()
	ctx := within(t, 60*time.Second)
	l := startLive(t, Config{Seed: 51, DataDir: dir})
	id := l.c.ID()
	l.topic(ctx, "orders", 1)
	l.write(ctx, "orders", 0, 1000)
	l.level("orders")
	l.close()
	for range 2 {
		l = startLive(t, Config{Seed: 52, DataDir: dir})
		if l.c.ID() != id {
			t.Errorf("the cluster's id was %s and is %s", id, l.c.ID())
		}
		l.holds(ctx, "orders", 1000)
		l.close()
	}
	l = startLive(t, Config{Seed: 53, DataDir: dir})
	l.write(ctx, "orders", 1000, 1100)
	l.holds(ctx, "orders", 1100)
}

// copyRunning copies a directory whose files are being written, as a crash of the machine would
// leave it if the kernel had written everything back: file by file, none of them closed.
func copyRunning(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(to, inside), 0o755)
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, inside), content, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDirectoryOfACrashedClusterOpensWithAllAcknowledgedRecords(t *testing.T) {
	dir, crashed := t.TempDir(), t.TempDir()
	ctx := within(t, 60*time.Second)
	l := startLive(t, Config{Seed: 54, DataDir: dir})
	l.topic(ctx, "orders", 1)
	l.write(ctx, "orders", 0, 1000)
	l.do("", func() { copyRunning(t, dir, crashed) })
	l.close()
	l = startLive(t, Config{Seed: 55, DataDir: crashed})
	l.holds(ctx, "orders", 1000)
	l.write(ctx, "orders", 1000, 1100)
	l.holds(ctx, "orders", 1100)
}

func TestDirectoryInUseIsRefusedUntouched(t *testing.T) {
	dir := t.TempDir()
	l := startLive(t, Config{Seed: 56, DataDir: dir})
	refused := func(when string) {
		t.Helper()
		var before, after map[string]string
		var err error
		l.do("", func() {
			before = directoryFiles(t, dir)
			_, err = New(Config{Seed: 57, DataDir: dir})
			after = directoryFiles(t, dir)
		})
		if err == nil || !strings.Contains(err.Error(), "in use") {
			t.Errorf("%s: a second cluster on the directory: %v", when, err)
		}
		if !maps.Equal(before, after) {
			t.Errorf("%s: the second cluster changed files", when)
		}
	}
	refused("all run")
	l.do("", func() { must(t, l.c.Kill(1)) })
	refused("broker 1 is down")
	l.do("", func() { must(t, l.c.Restart(1)) })
	refused("broker 1 runs again")
	l.do("", func() { must(t, l.c.PowerCut(1)) })
	refused("broker 1 has no power")
	l.do("", func() { must(t, l.c.Restart(1)) })
	l.await("readiness", 20*time.Second, func() bool { return len(l.c.Ready()) == 0 })
}

func TestDirectoryOfAnotherClusterIsRefusedUntouched(t *testing.T) {
	dir := t.TempDir()
	l := startLive(t, Config{Seed: 58, DataDir: dir})
	l.close()
	before := directoryFiles(t, dir)
	_, err := New(Config{DataDir: dir, ClusterID: "AAAAAAAAAAAAAAAAAAAAAA"})
	if err == nil || !strings.Contains(err.Error(), l.c.ID()) {
		t.Errorf("the directory of cluster %s was opened as another's: %v", l.c.ID(), err)
	}
	for name, sum := range directoryFiles(t, dir) {
		if filepath.Base(name) != ".lock" && before[name] != sum {
			t.Errorf("the refused cluster changed %s", name)
		}
	}
}

// Directories that do not belong together are refused, and nothing is made beside them.
func TestDirectoriesThatDoNotBelongTogetherAreRefused(t *testing.T) {
	whole, other := t.TempDir(), t.TempDir()
	for i, dir := range []string{whole, other} {
		l := startLive(t, Config{Seed: 58, DataDir: dir, Origin: time.UnixMilli(int64(i))})
		l.close()
	}
	for name, c := range map[string]struct {
		mix  map[string]string // directories of the mixture, and where they come from
		want string
	}{
		"brokers of two": {map[string]string{"broker-1": whole, "broker-2": other},
			"belongs to cluster"},
		"controllers of another": {map[string]string{"broker-1": whole, "controller-101": other},
			"belongs to cluster"},
		"no controllers": {map[string]string{"broker-1": whole, "broker-2": whole},
			"put them back"},
	} {
		dir := t.TempDir()
		for folder, from := range c.mix {
			must(t, os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join(from, folder))))
		}
		_, err := New(Config{Seed: 58, DataDir: dir})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		entries, err := os.ReadDir(dir)
		must(t, err)
		if len(entries) != len(c.mix) {
			t.Errorf("%s: there are %v now", name, entries)
		}
	}
}

func TestTakenPortIsNamedWithWhatToDo(t *testing.T) {
	other, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	defer other.Close()
	goroutines := runtime.NumGoroutine()
	files, _ := descriptors(t)
	c, err := New(Config{Live: true, Origin: time.Now(), DataDir: t.TempDir(),
		Kafka: []string{"127.0.0.1:0", other.Addr().String(), "127.0.0.1:0"}})
	must(t, err)
	err = c.Start()
	_, port, _ := net.SplitHostPort(other.Addr().String())
	if err == nil || !strings.Contains(err.Error(), port) ||
		!strings.Contains(err.Error(), "port 0") {
		t.Errorf("start on a taken port: %v", err)
	}
	must(t, c.Close())
	settleDescriptors(t, goroutines, files)
}

// A stop found the periodic checkpoint on its way: both wrote through one temporary file, and the
// stop's rename found nothing to rename.
func TestStopWaitsForTheCheckpointOnItsWay(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		l := startLive(t, Config{Seed: 3, DataDir: dir, Settings: map[string]string{
			"replica.high.watermark.checkpoint.interval.ms": "1"}})
		wait(20 * time.Millisecond)
		l.close()
	}
}

func TestDamagedMetadataLogOfABrokerIsCutAndFetchedAgain(t *testing.T) {
	dir := t.TempDir()
	ctx := within(t, 60*time.Second)
	l := startLive(t, Config{Seed: 58, DataDir: dir})
	l.topic(ctx, "orders", 1)
	l.write(ctx, "orders", 0, 100)
	l.close()
	for name, bytes := range map[string]int{
		"broker-2/__cluster_metadata-0/00000000000000000000.log": 64,
		"broker-3/__cluster_metadata-0/partition.metadata":       4,
	} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range bytes {
			content[len(content)/2+i] ^= 0x5a
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l = startLive(t, Config{Seed: 59, DataDir: dir})
	l.holds(ctx, "orders", 100)
}
