package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"

	"highwater/cluster/record"
)

const (
	markerAbort  = 0
	markerCommit = 1
)

// marker is what a transaction's end marker says.
type marker struct {
	commit           bool
	coordinatorEpoch int32
}

// parseMarker reads the single record of a control batch that belongs to a producer.
func parseMarker(batch []byte) (marker, error) {
	var m marker
	found := false
	err := record.EachRecord(batch, decompressedBytesMax, func(r record.Record) error {
		if len(r.Key) < 4 || len(r.Value) < 6 {
			return fmt.Errorf("%w: a marker of %d and %d bytes", ErrCorrupt, len(r.Key), len(r.Value))
		}
		kind := binary.BigEndian.Uint16(r.Key[2:])
		if kind != markerAbort && kind != markerCommit {
			return fmt.Errorf("%w: a marker of type %d", ErrCorrupt, kind)
		}
		found = true
		m = marker{kind == markerCommit, int32(binary.BigEndian.Uint32(r.Value[2:]))}
		return nil
	})
	if err == nil && !found {
		return m, errNoMarker
	}
	if err != nil && !errors.Is(err, ErrCorrupt) {
		err = fmt.Errorf("%w: a marker: %w", ErrCorrupt, err)
	}
	return m, err
}
