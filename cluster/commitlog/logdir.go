package commitlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"highwater/cluster/disk"
	"highwater/cluster/event"
)

const (
	metaPropertiesFile = "meta.properties"
	cleanShutdownFile  = ".kafka_cleanshutdown"
)

// MetaProperties says whose log directory it is.
type MetaProperties struct {
	ClusterID   string
	NodeID      event.NodeID
	DirectoryID event.UUID
}

// WriteMetaProperties writes meta.properties durably.
func WriteMetaProperties(files disk.FS, m MetaProperties) error {
	text := fmt.Sprintf("#\nnode.id=%d\ndirectory.id=%s\nversion=1\ncluster.id=%s\n",
		m.NodeID, m.DirectoryID, m.ClusterID)
	return disk.WriteFileAtomically(files, metaPropertiesFile, []byte(text))
}

// ReadMetaProperties reads meta.properties; fs.ErrNotExist says that the directory is unformatted.
func ReadMetaProperties(files disk.FS) (MetaProperties, error) {
	var m MetaProperties
	b, err := files.ReadFile(metaPropertiesFile)
	if err != nil {
		return m, err
	}
	properties := map[string]string{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if key, value, ok := strings.Cut(line, "="); ok && line[0] != '#' && line[0] != '!' {
			// Java's Properties escapes these two in values.
			value = strings.NewReplacer(`\=`, "=", `\:`, ":").Replace(value)
			properties[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	if v := properties["version"]; v != "1" {
		if n, err := strconv.Atoi(v); err == nil && n > 1 {
			return m, fmt.Errorf("commitlog: %s: version %d; only version 1 is known here, so something "+
				"newer wrote this directory: start that, or give another directory", metaPropertiesFile, n)
		}
		return m, fmt.Errorf("commitlog: %s: version %q, not 1; a damaged file may be removed, it is "+
			"made anew", metaPropertiesFile, v)
	}
	id, err := strconv.ParseInt(properties["node.id"], 10, 32)
	if err != nil {
		return m, fmt.Errorf("commitlog: %s: node.id: %w", metaPropertiesFile, err)
	}
	m.ClusterID, m.NodeID = properties["cluster.id"], event.NodeID(id)
	if m.ClusterID == "" {
		return m, fmt.Errorf("commitlog: %s: there is no cluster.id; a damaged file may be "+
			"removed, it is made anew", metaPropertiesFile)
	}
	if text := properties["directory.id"]; text != "" {
		if m.DirectoryID, err = event.ParseUUID(text); err != nil {
			return m, fmt.Errorf("commitlog: %s: %w", metaPropertiesFile, err)
		}
	}
	return m, nil
}

// CleanShutdown is the content of .kafka_cleanshutdown, which exists only between a clean stop and
// the next start.
type CleanShutdown struct {
	Version     int   `json:"version"`
	BrokerEpoch int64 `json:"brokerEpoch"`
}

// WriteCleanShutdown is a broker's last act, after all its logs were closed.
func WriteCleanShutdown(files disk.FS, brokerEpoch int64) error {
	b, err := json.Marshal(CleanShutdown{BrokerEpoch: brokerEpoch})
	if err != nil {
		return err
	}
	return disk.WriteFileAtomically(files, cleanShutdownFile, b)
}

// TakeCleanShutdown reads the marker of a clean stop and removes it durably, before any log is
// opened: a crash from here on must lead to recovery. False means that the stop was not clean.
func TakeCleanShutdown(files disk.FS) (CleanShutdown, bool, error) {
	b, err := files.ReadFile(cleanShutdownFile)
	if errors.Is(err, fs.ErrNotExist) {
		return CleanShutdown{}, false, nil
	}
	if err != nil {
		return CleanShutdown{}, false, err
	}
	if err := files.Remove(cleanShutdownFile); err != nil {
		return CleanShutdown{}, false, err
	}
	if err := files.SyncDir("."); err != nil {
		return CleanShutdown{}, false, err
	}
	marker := CleanShutdown{BrokerEpoch: -1}
	if err := json.Unmarshal(b, &marker); err != nil {
		// The marker was durable before its content could matter; Kafka takes it as clean too.
		return CleanShutdown{BrokerEpoch: -1}, true, nil
	}
	return marker, true, nil
}

// ReadPartitionMetadata reads the topic id of a partition's directory.
func ReadPartitionMetadata(files disk.FS, dir string) (event.UUID, error) {
	b, err := files.ReadFile(path.Join(dir, partitionMetadataFile))
	if err != nil {
		return event.UUID{}, err
	}
	first, second, _ := strings.Cut(string(b), "\n")
	id, found := strings.CutPrefix(strings.TrimSpace(second), "topic_id: ")
	if first != "version: 0" || !found {
		return event.UUID{}, fmt.Errorf("%w: in %s", errTopicIDTorn, dir)
	}
	topicID, err := event.ParseUUID(id)
	if err != nil {
		return topicID, fmt.Errorf("%w: in %s: %w", errTopicIDTorn, dir, err)
	}
	return topicID, nil
}

// errTopicIDTorn says that partition.metadata has no topic id of version 0.
var errTopicIDTorn = errors.New("commitlog: no topic id of version 0")

// keepTopicID writes partition.metadata, or checks the one that is there. One that is not known to
// be durable is returned open, since it must become so with the log's next sync; one that a power
// cut tore before that is written again, unless there are records, which might be another topic's.
func keepTopicID(files disk.FS, dir string, id event.UUID, durable bool) (disk.File, error) {
	if id.IsZero() {
		return nil, nil
	}
	have, err := ReadPartitionMetadata(files, dir)
	if err == nil && have != id {
		return nil, fmt.Errorf("%w: %s, not %s", ErrTopicID, have, id)
	}
	name := path.Join(dir, partitionMetadataFile)
	if err == nil && durable {
		return nil, nil
	}
	if err == nil {
		return files.Open(name)
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errTopicIDTorn) {
		return nil, err
	}
	used, listErr := holdsOffsets(files, dir)
	if listErr != nil {
		return nil, listErr
	}
	if used && id != event.MetadataTopicID { // of which there is but one
		return nil, fmt.Errorf("%w: %w", ErrNoTopicID, err)
	}
	file, err := files.Create(name)
	if err != nil {
		return nil, err
	}
	// Kafka's file has no newline at its end.
	if _, err := file.WriteAt([]byte("version: 0\ntopic_id: "+id.String()), 0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// holdsOffsets says whether a log's directory has records, or had some that are deleted.
func holdsOffsets(files disk.FS, dir string) (bool, error) {
	entries, err := files.List(dir)
	for _, e := range entries {
		if base, ext, ok := parseName(e.Name); ok && ext == extLog && (e.Size > 0 || base > 0) {
			return true, err
		}
	}
	return false, err
}
