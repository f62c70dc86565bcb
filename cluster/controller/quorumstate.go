package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"highwater/cluster/disk"
	"highwater/cluster/event"
)

const (
	metadataTopic    = "__cluster_metadata"
	metadataDir      = metadataTopic + "-0"
	quorumStateFile  = "quorum-state"
	metadataLogIndex = 0 // the topic's only partition
)

// MetadataBytes is how long the metadata log on a controller's disk is.
func MetadataBytes(files disk.FS) (int64, error) {
	entries, err := files.List(metadataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var bytes int64
	for _, entry := range entries {
		if path.Ext(entry.Name) == ".log" {
			bytes += entry.Size
		}
	}
	return bytes, err
}

// quorumState is Kafka's quorum-state file of a static quorum (data_version 0). Term and vote are
// in one file, so that one synced write holds both.
type quorumState struct {
	ClusterID     string        `json:"clusterId"`
	LeaderID      event.NodeID  `json:"leaderId"`
	LeaderEpoch   int32         `json:"leaderEpoch"`
	VotedID       event.NodeID  `json:"votedId"`
	AppliedOffset int64         `json:"appliedOffset"`
	CurrentVoters []quorumVoter `json:"currentVoters"`
	DataVersion   int           `json:"data_version"`
}

type quorumVoter struct {
	VoterID event.NodeID `json:"voterId"`
}

func emptyQuorumState(voters []event.NodeID) quorumState {
	s := quorumState{LeaderID: event.NoNode, VotedID: event.NoNode}
	for _, id := range voters {
		s.CurrentVoters = append(s.CurrentVoters, quorumVoter{id})
	}
	return s
}

// readQuorumState reads the file; a missing one is an empty state.
func readQuorumState(files disk.FS, voters []event.NodeID) (quorumState, error) {
	s := emptyQuorumState(voters)
	b, err := files.ReadFile(path.Join(metadataDir, quorumStateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.CurrentVoters = nil
	err = json.Unmarshal(b, &s)
	if err == nil && (s.LeaderEpoch < 0 || s.DataVersion != 0) {
		err = fmt.Errorf("epoch %d, data version %d", s.LeaderEpoch, s.DataVersion)
	}
	if err != nil {
		// A vote must not be forgotten, so nobody but a person may decide to go on without it.
		return s, fmt.Errorf("controller: %s is damaged: %w; copy the file of another controller here "+
			"with votedId -1, or give another data directory",
			path.Join(files.Path(), metadataDir, quorumStateFile), err)
	}
	return s, nil
}

func writeQuorumState(files disk.FS, s quorumState) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return disk.WriteFileAtomically(files, path.Join(metadataDir, quorumStateFile), b)
}
