package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// dumpEverything lets Kafka's dump tool read all files that the cluster left: segments with every
// record, both indexes checked against them, producer snapshots, and the metadata log decoded
// into its records. Two replicas of a partition must read the same.
func dumpEverything(ctx context.Context, l *lab) error {
	folders, err := partitionFolders(l.data)
	if err != nil {
		return err
	}
	if len(folders) == 0 {
		return errors.New("no partition's folder in the data directory")
	}
	byDecoder := map[string][]string{}
	for _, folder := range folders {
		decoder := decoderOf(filepath.Base(folder))
		byDecoder[decoder] = append(byDecoder[decoder], folder)
	}
	read := map[string]string{} // by partition and file: what the first replica's dump says
	var problems []error
	files := 0
	for _, decoder := range slices.Sorted(maps.Keys(byDecoder)) {
		for some := range slices.Chunk(byDecoder[decoder], foldersOfARun) {
			n, err := dumpFolders(ctx, l, decoder, some, read)
			files += n
			if err != nil {
				problems = append(problems, err)
			}
		}
	}
	fmt.Printf("     %d files of %d replicas read\n", files, len(folders))
	return errors.Join(problems...)
}

// foldersOfARun bounds how many folders one run of the dump tool reads, for the sake of the
// command line and of who looks for the one with the trouble.
const foldersOfARun = 30

// deletedSuffix ends the folder of a deleted partition, whose files are about to go. It was not
// closed as others are: its empty, preallocated index is one that Kafka's tool cannot read.
const deletedSuffix = "-delete"

// partitionFolders are the folders with a segment below root, those of deleted partitions aside.
func partitionFolders(root string) ([]string, error) {
	var list []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".log") && !entry.IsDir() {
			folder := filepath.Dir(path)
			if !slices.Contains(list, folder) && !strings.HasSuffix(folder, deletedSuffix) {
				list = append(list, folder)
			}
		}
		return err
	})
	return list, err
}

// trouble are the words with which the dump tool says that a file is not as it must be.
var trouble = regexp.MustCompile(`(?m)^(.*isvalid: false.*|.*[Mm]ismatch.*|.*Found timestamp.*|` +
	`.*[Oo]ut of order.*|.*Could not (decode|deserialize|skip).*|.*Error at .*|` +
	`.*[Nn]on-?[Cc]onsecutive.*|.*Exception.*|.*does not exist.*|.*bytes? are? (not|in)valid.*)$`)

// dumpFolders lets one run of the tool read many folders, because starting it takes longer than
// reading. The tool checks an index against the segment beside it.
func dumpFolders(ctx context.Context, l *lab, decoder string, folders []string,
	read map[string]string) (int, error) {
	var files []string
	for _, folder := range folders {
		for _, kind := range []string{"log", "index", "timeindex", "txnindex", "snapshot"} {
			found, err := filepath.Glob(filepath.Join(folder, "*."+kind))
			if err != nil {
				return 0, err
			}
			files = append(files, found...)
		}
	}
	out, err := l.kafka.tool(ctx, "", "dump-log", "--files", strings.Join(files, ","), decoder)
	parts := strings.Split(out, "Dumping ")[1:]
	if err != nil {
		where := "before the first file"
		if len(parts) > 0 {
			where, _, _ = strings.Cut(parts[len(parts)-1], "\n")
		}
		return 0, fmt.Errorf("%s: %w", where, err)
	}
	var problems []error
	for _, part := range parts {
		path, text, _ := strings.Cut(part, "\n")
		if found := trouble.FindAllString(text, 5); len(found) > 0 {
			problems = append(problems, fmt.Errorf("%s: %s", path, strings.Join(found, "\n")))
		}
		if err := sameAsOtherReplicas(read, path, text); err != nil {
			problems = append(problems, err)
		}
	}
	if n := len(parts); n != len(files) {
		problems = append(problems, fmt.Errorf("%d of %d files were read of %s", n, len(files),
			strings.Join(folders, ", ")))
	}
	return len(parts), errors.Join(problems...)
}

// decoderOf is how the tool is asked to read a partition's records.
func decoderOf(partition string) string {
	switch {
	case partition == "__cluster_metadata-0":
		return "--cluster-metadata-decoder"
	case strings.HasPrefix(partition, "__transaction_state-"):
		return "--transaction-log-decoder"
	case strings.HasPrefix(partition, "__consumer_offsets-"):
		return "--offsets-decoder"
	}
	return "--deep-iteration"
}

// sameAsOtherReplicas compares the dump of a segment with that of the replica that came first.
// After a clean stop of a cluster nobody wrote to, every replica holds the same.
func sameAsOtherReplicas(read map[string]string, path, text string) error {
	partition, name := filepath.Base(filepath.Dir(path)), filepath.Base(path)
	if !strings.HasSuffix(name, ".log") || partition == "__cluster_metadata-0" {
		return nil
	}
	key := filepath.Join(partition, name)
	first, known := read[key]
	if !known {
		read[key] = text
		return nil
	}
	if first != text {
		return fmt.Errorf("%s differs from another replica's", path)
	}
	return nil
}
