package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"highwater/cluster/disk"
	"highwater/cluster/event"
)

// The offset checkpoints of a log directory.
const (
	RecoveryPointCheckpoint  = "recovery-point-offset-checkpoint"
	LogStartOffsetCheckpoint = "log-start-offset-checkpoint"
	HighWatermarkCheckpoint  = "replication-offset-checkpoint"
	CleanerOffsetCheckpoint  = "cleaner-offset-checkpoint"
)

// CheckpointEntry is one line of an offset checkpoint.
type CheckpointEntry struct {
	Topic     string
	Partition int32
	Offset    event.Offset
}

// ReadOffsetCheckpoint reads an offset checkpoint of the log directory.
func ReadOffsetCheckpoint(files disk.FS, name string) ([]CheckpointEntry, error) {
	b, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	lines, err := checkpointLines(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	entries := make([]CheckpointEntry, 0, len(lines))
	for _, line := range lines {
		fields := strings.Split(line, " ")
		if len(fields) != 3 {
			return nil, fmt.Errorf("commitlog: %s: line %q is not three words", name, line)
		}
		partition, partitionErr := strconv.ParseInt(fields[1], 10, 32)
		offset, offsetErr := strconv.ParseInt(fields[2], 10, 64)
		if err := errors.Join(partitionErr, offsetErr); err != nil {
			return nil, fmt.Errorf("commitlog: %s: line %q: %w", name, line, err)
		}
		entries = append(entries,
			CheckpointEntry{fields[0], int32(partition), event.Offset(offset)})
	}
	return entries, nil
}

// WriteOffsetCheckpoint replaces an offset checkpoint durably, in the order given.
func WriteOffsetCheckpoint(files disk.FS, name string, entries []CheckpointEntry) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "0\n%d\n", len(entries))
	for _, e := range entries {
		fmt.Fprintf(&b, "%s %d %d\n", e.Topic, e.Partition, e.Offset)
	}
	return disk.WriteFileAtomically(files, name, b.Bytes())
}

// checkpointLines reads what all of Kafka's text checkpoints share: a version, a count, and that
// many lines. The last line must be complete, or a number cut short would pass for a smaller one.
func checkpointLines(b []byte) ([]string, error) {
	text, complete := strings.CutSuffix(string(b), "\n")
	lines := strings.Split(text, "\n")
	if !complete || len(lines) < 2 || lines[0] != "0" {
		return nil, errors.New("commitlog: not a checkpoint of version 0")
	}
	count, err := strconv.Atoi(lines[1])
	if err != nil || count != len(lines)-2 {
		return nil, fmt.Errorf("commitlog: the checkpoint has %d lines and says %q",
			len(lines)-2, lines[1])
	}
	return lines[2:], nil
}
