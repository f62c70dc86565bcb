package controller

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"highwater/cluster/event"
	"highwater/cluster/record"
)

// entry is one entry of Raft's log, which is one record of the metadata log: the record's offset
// is the entry's index minus one, and the batch's leader epoch is the entry's term.
type entry struct {
	term uint64
	kind raft.LogType
	// value is the metadata record's framed bytes, or the message of a control record.
	value []byte
	// batch is the index of the batch that holds the record.
	batch int
}

// storedBatch is one batch of the metadata log. Its bytes are what all controllers and brokers
// have on disk; nobody ever writes to them.
type storedBatch struct {
	first     uint64 // index of the first entry
	count     int
	term      uint64
	timestamp int64 // unix ms
	bytes     []byte
}

func (b *storedBatch) last() uint64             { return b.first + uint64(b.count) - 1 }
func (b *storedBatch) baseOffset() event.Offset { return offsetOf(b.first) }

func offsetOf(index uint64) event.Offset { return event.Offset(index) - 1 }
func indexOf(offset event.Offset) uint64 { return uint64(offset) + 1 }

// placement travels with an entry in Raft's Extensions. Raft groups entries as its goroutines
// happen to run; the placement says which entries make one batch and what time it carries, so
// that every controller writes the same bytes.
type placement struct {
	timestamp int64
	position  int
	count     int
	// control is the message of a control record, which Raft itself does not carry.
	control []byte
}

const placementBytes = 16

func (p placement) encode() []byte {
	b := make([]byte, 0, placementBytes+len(p.control))
	b = binary.BigEndian.AppendUint64(b, uint64(p.timestamp))
	b = binary.BigEndian.AppendUint32(b, uint32(p.position))
	b = binary.BigEndian.AppendUint32(b, uint32(p.count))
	return append(b, p.control...)
}

func decodePlacement(b []byte) (placement, error) {
	if len(b) < placementBytes {
		return placement{}, fmt.Errorf("controller: an entry's placement has %d bytes", len(b))
	}
	return placement{
		timestamp: int64(binary.BigEndian.Uint64(b)),
		position:  int(binary.BigEndian.Uint32(b[8:])),
		count:     int(binary.BigEndian.Uint32(b[12:])),
		control:   b[placementBytes:],
	}, nil
}

// controlTypeOf says which control record stands for a kind of entry.
func controlTypeOf(kind raft.LogType) (record.ControlType, bool) {
	switch kind {
	case raft.LogNoop:
		return record.ControlLeaderChange, true
	case raft.LogConfiguration:
		return record.ControlKRaftVoters, true
	}
	return 0, false
}

// buildBatch makes the batch of entries that follow each other, all of one term.
func buildBatch(first uint64, entries []entry, timestamp int64) (storedBatch, error) {
	b := storedBatch{first: first, count: len(entries), term: entries[0].term, timestamp: timestamp}
	if t, ok := controlTypeOf(entries[0].kind); ok {
		if len(entries) != 1 {
			return b, errors.New("controller: a control record shares its batch")
		}
		b.bytes = record.ControlBatch(t, entries[0].value, int64(b.baseOffset()),
			int32(b.term), timestamp)
		return b, nil
	}
	builder := record.NewBuilder()
	builder.BaseOffset, builder.LeaderEpoch = int64(b.baseOffset()), int32(b.term)
	for _, e := range entries {
		if e.kind != raft.LogCommand || e.term != b.term {
			return b, fmt.Errorf("controller: a batch of term %d holds %s of term %d",
				b.term, e.kind, e.term)
		}
		builder.Add(timestamp, nil, e.value)
	}
	var err error
	b.bytes, err = builder.Bytes()
	return b, err
}

// parseBatch reads the entries back from a batch's bytes, of which it keeps a copy.
func parseBatch(h record.Header, batch []byte) (storedBatch, []entry, error) {
	b := storedBatch{
		first: indexOf(event.Offset(h.BaseOffset)), count: int(h.RecordsCount),
		term: uint64(h.PartitionLeaderEpoch), timestamp: h.BaseTimestamp,
		bytes: append([]byte(nil), batch...),
	}
	entries := make([]entry, 0, b.count)
	err := record.EachRecord(b.bytes, len(b.bytes), func(r record.Record) error {
		e := entry{term: b.term, kind: raft.LogCommand, value: r.Value}
		if h.Attributes.Control() {
			t, err := record.ParseControlType(r.Key)
			if err != nil {
				return err
			}
			switch t {
			case record.ControlLeaderChange:
				e.kind = raft.LogNoop
			case record.ControlKRaftVoters:
				e.kind = raft.LogConfiguration
			default:
				return fmt.Errorf("unexpected control record %s", t)
			}
		}
		entries = append(entries, e)
		return nil
	})
	if err == nil && (len(entries) != b.count || b.count == 0) {
		err = fmt.Errorf("%d records where the header says %d", len(entries), b.count)
	}
	if err != nil {
		return b, nil, fmt.Errorf("controller: metadata batch at offset %d: %w", h.BaseOffset, err)
	}
	return b, entries, nil
}
