package commitlog

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"highwater/cluster/disk"
	"highwater/cluster/event"
)

func TestOffsetCheckpointIsReadBackAndTornOnesAreRefused(t *testing.T) {
	files := disk.NewMemory(disk.Options{})
	want := []CheckpointEntry{{"orders", 0, 6}, {"__consumer_offsets", 4, 2}}
	if err := WriteOffsetCheckpoint(files, HighWatermarkCheckpoint, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadOffsetCheckpoint(files, HighWatermarkCheckpoint)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	b, err := files.ReadFile(HighWatermarkCheckpoint)
	if err != nil || string(b) != "0\n2\norders 0 6\n__consumer_offsets 4 2\n" {
		t.Errorf("%q, %v", b, err)
	}
	for cut := range len(b) {
		if _, err := checkpointLines(b[:cut]); err == nil {
			t.Errorf("%q passes for whole", b[:cut])
		}
	}
}

func TestMetaPropertiesSayWhoseDirectoryItIs(t *testing.T) {
	files := disk.NewMemory(disk.Options{})
	if _, err := ReadMetaProperties(files); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("unformatted: %v", err)
	}
	want := MetaProperties{"4L6g3nShT-eMCtK--X86sw", 1, event.UUID{1, 2}}
	if err := WriteMetaProperties(files, want); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadMetaProperties(files); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCleanShutdownCountsOnce(t *testing.T) {
	files := disk.NewMemory(disk.Options{})
	if err := WriteCleanShutdown(files, 42); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false} {
		marker, clean, err := TakeCleanShutdown(files)
		if err != nil || clean != want || clean && marker.BrokerEpoch != 42 {
			t.Errorf("start %d: %+v, %v, %v", i, marker, clean, err)
		}
	}
}

func TestDirectoryOfAnotherTopicIDIsRefused(t *testing.T) {
	r := newRig(t, nil)
	r.must(r.log.Close(true))
	r.cfg.TopicID = event.UUID{8}
	if _, _, err := Open(r.disk, rigDir, r.cfg, OpenOptions{}); !errors.Is(err, ErrTopicID) {
		t.Error(err)
	}
}

func TestTopicIDThatIsLostIsWrittenAgainOnlyBesideNoRecords(t *testing.T) {
	for _, records := range []int{0, 1} {
		for _, content := range []string{"", "version: 0\ntopic_"} {
			r := newRig(t, nil)
			for range records {
				r.send(entry{testTime, "k", "v"})
			}
			r.must(r.log.Close(true))
			name := rigDir + "/" + partitionMetadataFile
			r.must(r.disk.Remove(name))
			if content != "" {
				r.must(disk.WriteFileAtomically(r.disk, name, []byte(content)))
			}
			_, _, err := Open(r.disk, rigDir, r.cfg, OpenOptions{})
			if id, readErr := ReadPartitionMetadata(r.disk, rigDir); records == 0 &&
				(err != nil || readErr != nil || id != r.cfg.TopicID) {
				t.Errorf("empty, %q: %v, %s, %v", content, err, id, readErr)
			}
			if records > 0 && !errors.Is(err, ErrNoTopicID) {
				t.Errorf("with records, %q: %v", content, err)
			}
		}
	}
}

func TestExpiredSegmentsGoEvenTheActiveOne(t *testing.T) {
	r := newRig(t, func(c *Config) { c.RetentionMs = 10_000 })
	r.send(entry{testTime, "k", "old"})
	r.send(entry{testTime + 9000, "k", "young"})
	r.flush()
	r.must(r.log.RetentionPass(testTime+12_000, 2))
	if r.log.LogStartOffset() != 0 {
		t.Errorf("a younger record in the segment did not keep it")
	}
	r.must(r.log.RetentionPass(testTime+19_001, 1))
	if r.log.LogStartOffset() != 0 {
		t.Errorf("went above the high watermark")
	}
	r.must(r.log.RetentionPass(testTime+19_001, 2))
	r.runDeferred()
	if r.log.LogStartOffset() != 2 || r.log.LogEndOffset() != 2 || len(r.log.Segments()) != 1 {
		t.Errorf("spans %d..%d", r.log.LogStartOffset(), r.log.LogEndOffset())
	}
	r.reopen(true)
	noProblems(t, r)
}
