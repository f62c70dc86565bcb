package model

import "highwater/cluster/event"

// Log is one node's replica: its role and its log. It outlives the node's incarnation, as files do.
type Log struct {
	Node           event.NodeID `json:"node"`
	Role           string       `json:"role"`   // leader, follower; empty: none, or its node is down
	Leader         event.NodeID `json:"leader"` // whom it follows, -1: nobody
	LeaderEpoch    event.Epoch  `json:"leaderEpoch"`
	LogStartOffset event.Offset `json:"logStartOffset,string"`
	LogEndOffset   event.Offset `json:"leo,string"`
	HighWatermark  event.Offset `json:"hw,string"`
	SyncedOffset   event.Offset `json:"synced,string"` // everything below is on the disk
	// Unpowered says that the node lost its power and has not opened the log since: what is left of
	// it from SyncedOffset on is not known.
	Unpowered bool `json:"unpowered"`
	// LastStableOffset is the high watermark, unless a transaction holds readers with
	// read_committed back.
	LastStableOffset event.Offset `json:"lso,string"`
	// Isr is what this replica counts; Proposed is what a leader asked the controller for, null
	// when nothing is open.
	Isr      []event.NodeID `json:"isr"`
	Proposed []event.NodeID `json:"proposed"`
	// Followers is what a leader knows of the others' log ends.
	Followers []Follower `json:"followers"`
	Epochs    []Epoch    `json:"epochs"` // the epoch checkpoint, newest last
	// Segments are base offsets, as far as events told them; SegmentCount is how many there are.
	Segments     Offsets       `json:"segments"`
	SegmentCount int64         `json:"segmentCount"`
	Batches      Window[Batch] `json:"batches"` // the newest
	// Transactions are those that this log holds batches of, in the order in which they began:
	// all that are open, and the newest that have ended.
	Transactions []LogTransaction `json:"transactions"`
	Totals       Totals           `json:"totals"`
	// Cut holds the newest batches that the last truncation or recovery took. Truncation and Refusal
	// are the last of their sort, null before the first.
	Cut        []Batch     `json:"cut"`
	Truncation *Truncation `json:"truncation"`
	Refusal    *Refusal    `json:"refusal"`
	// Cleaning is the cleaner's pass under way, Cleaned the last one that ended, null without one.
	// Holes are the newest runs of offsets left without a record, and all there are from HolesFrom.
	Cleaning  *Cleaning    `json:"cleaning"`
	Cleaned   *Cleaned     `json:"cleaned"`
	Holes     []Run        `json:"holes"`
	HolesFrom event.Offset `json:"holesFrom,string"`
	// KnownFrom is the offset from which on events told of everything that is in this log.
	KnownFrom event.Offset `json:"knownFrom,string"`
}

// Cleaning is a pass of the cleaner over the offsets below UpTo.
type Cleaning struct {
	Job        int64        `json:"job,string"`
	FirstDirty event.Offset `json:"firstDirty,string"`
	UpTo       event.Offset `json:"upTo,string"`
	Since      int64        `json:"since,string"`
}

// Cleaned is how a pass of the cleaner ended; records below FirstDirty are compacted.
type Cleaned struct {
	Outcome       string       `json:"outcome"`
	FirstDirty    event.Offset `json:"firstDirty,string"`
	RecordsBefore int64        `json:"recordsBefore,string"`
	RecordsAfter  int64        `json:"recordsAfter,string"`
	Survivors     string       `json:"survivors"`
	At            int64        `json:"at,string"`
	Seq           event.Seq    `json:"seq,string"`
}

// Follower is what a leader learned from a follower's fetches.
type Follower struct {
	Node   event.NodeID `json:"node"`
	Offset event.Offset `json:"leo,string"`
	At     int64        `json:"at,string"`
}

// Epoch is one line of a leader epoch checkpoint.
type Epoch struct {
	Epoch       event.Epoch  `json:"epoch"`
	StartOffset event.Offset `json:"startOffset,string"`
}

// Batch is a record batch in a log.
type Batch struct {
	BaseOffset   event.Offset `json:"baseOffset,string"`
	LastOffset   event.Offset `json:"lastOffset,string"`
	Records      int32        `json:"records"`
	Bytes        int32        `json:"bytes"`
	LeaderEpoch  event.Epoch  `json:"epoch"`
	BaseSequence int32        `json:"sequence"`
	ProducerID   int64        `json:"producerId,string"`
	Codec        string       `json:"codec"`
	Control      bool         `json:"control"`
	// Transactional batches count for read_committed once their transaction is committed.
	Transactional bool `json:"transactional"`
}

// Totals count what happened to a log since its trace began.
type Totals struct {
	Batches     int64 `json:"batches"`
	Records     int64 `json:"records"`
	Bytes       int64 `json:"bytes"`
	Duplicates  int64 `json:"duplicates"`
	Refused     int64 `json:"refused"`
	Truncations int64 `json:"truncations"`
}

// Truncation says where a log was cut.
type Truncation struct {
	Before  event.Offset `json:"before,string"`
	After   event.Offset `json:"after,string"`
	At      int64        `json:"at,string"`
	Seq     event.Seq    `json:"seq,string"`
	Batches int64        `json:"batches"` // the log's total then; while it is the same, Cut is news
}

// Refusal is a batch that was not appended.
type Refusal struct {
	ErrorCode int32     `json:"errorCode"`
	Detail    string    `json:"detail"`
	At        int64     `json:"at,string"`
	Seq       event.Seq `json:"seq,string"`
}
