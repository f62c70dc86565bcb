package commitlog

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"

	"highwater/cluster/disk"
	"highwater/cluster/event"
)

const (
	snapshotVersion     = 1
	snapshotHeaderBytes = 10
	snapshotEntryBytes  = 46
	snapshotCRCOffset   = 2
	snapshotCountOffset = 6
)

// errNoMarker says that a control batch is empty, as the cleaner leaves a producer's last one.
var errNoMarker = errors.New("commitlog: a control batch without a record")

// encode writes the producer state as Kafka's ProducerStateManager.writeSnapshot does, by
// producer id. Of the remembered batches only the newest is kept.
func (ps *producers) encode() []byte {
	b := make([]byte, snapshotHeaderBytes, snapshotHeaderBytes+len(ps.byID)*snapshotEntryBytes)
	binary.BigEndian.PutUint16(b, snapshotVersion)
	binary.BigEndian.PutUint32(b[snapshotCountOffset:], uint32(len(ps.byID)))
	for _, id := range ps.ids() {
		p := ps.byID[id]
		newest := producerBatch{lastSequence: noSequence, lastOffset: noOffset}
		if p.count > 0 {
			newest = p.batches[p.count-1]
		}
		b = binary.BigEndian.AppendUint64(b, uint64(id))
		b = binary.BigEndian.AppendUint16(b, uint16(p.epoch))
		b = binary.BigEndian.AppendUint32(b, uint32(newest.lastSequence))
		b = binary.BigEndian.AppendUint64(b, uint64(newest.lastOffset))
		b = binary.BigEndian.AppendUint32(b, uint32(newest.offsetDelta))
		b = binary.BigEndian.AppendUint64(b, uint64(p.lastTimestamp))
		b = binary.BigEndian.AppendUint32(b, uint32(p.coordinatorEpoch))
		b = binary.BigEndian.AppendUint64(b, uint64(p.txnFirstOffset))
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	crc := crc32.Checksum(b[snapshotCountOffset:], table)
	binary.BigEndian.PutUint32(b[snapshotCRCOffset:], crc)
	return b
}

// decode reads a snapshot into an empty state; it reports false for a broken one.
func (ps *producers) decode(b []byte) bool {
	if len(b) < snapshotHeaderBytes || binary.BigEndian.Uint16(b) != snapshotVersion {
		return false
	}
	crc := crc32.Checksum(b[snapshotCountOffset:], crc32.MakeTable(crc32.Castagnoli))
	count := int64(binary.BigEndian.Uint32(b[snapshotCountOffset:]))
	if crc != binary.BigEndian.Uint32(b[snapshotCRCOffset:]) ||
		count*snapshotEntryBytes != int64(len(b)-snapshotHeaderBytes) {
		return false
	}
	for b = b[snapshotHeaderBytes:]; len(b) > 0; b = b[snapshotEntryBytes:] {
		id := int64(binary.BigEndian.Uint64(b))
		p := newProducer()
		p.epoch = int16(binary.BigEndian.Uint16(b[8:]))
		newest := producerBatch{
			lastSequence: int32(binary.BigEndian.Uint32(b[10:])),
			lastOffset:   event.Offset(binary.BigEndian.Uint64(b[14:])),
			offsetDelta:  int32(binary.BigEndian.Uint32(b[22:])),
			timestamp:    int64(binary.BigEndian.Uint64(b[26:])),
		}
		p.lastTimestamp = newest.timestamp
		p.coordinatorEpoch = int32(binary.BigEndian.Uint32(b[34:]))
		p.txnFirstOffset = event.Offset(binary.BigEndian.Uint64(b[38:]))
		if newest.lastOffset >= 0 {
			p.remember(newest)
		}
		if p.txnFirstOffset >= 0 {
			insertTxn(&ps.ongoing, openTxn{id, p.txnFirstOffset, noOffset})
		}
		ps.byID[id] = p
	}
	return true
}

// writeSnapshot writes the producer state at the log's end, to be made durable by the next sync. A
// torn snapshot is found out by its CRC and the state is replayed from an older one, so a roll
// does not wait for the disk.
func (l *Log) writeSnapshot() error {
	file, err := l.fs.Create(l.name(l.end, extSnapshot))
	if err != nil {
		return l.fail("write snapshot", err)
	}
	if _, err = file.WriteAt(l.producers.encode(), 0); err != nil {
		return l.fail("write snapshot", errors.Join(err, file.Close()))
	}
	l.namesDirty++
	l.producers.snapshotEnd = l.end
	l.loose = append(l.loose, file)
	return nil
}

// snapshots lists the offsets of the snapshot files, ascending.
func (l *Log) snapshots() ([]event.Offset, error) {
	entries, err := l.fs.List(l.dir)
	if err != nil {
		return nil, err
	}
	var offsets []event.Offset
	for _, e := range entries {
		if offset, ext, ok := parseName(e.Name); ok && ext == extSnapshot {
			offsets = append(offsets, offset)
		}
	}
	return offsets, nil
}

// removeSnapshots removes the snapshot files that the condition names.
func (l *Log) removeSnapshots(which func(event.Offset) bool) error {
	offsets, err := l.snapshots()
	for _, offset := range offsets {
		if which(offset) {
			err = errors.Join(err, removeIfThere(l.fs, l.name(offset, extSnapshot)))
		}
	}
	l.namesDirty++
	return err
}

func removeIfThere(files disk.FS, name string) error {
	if err := files.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// restoreProducers rebuilds the producer state at the log's end: the newest whole snapshot at or
// below it, then the batches from there on. It returns how many batches were replayed.
func (l *Log) restoreProducers() (int, error) {
	offsets, err := l.snapshots()
	if err != nil {
		return 0, err
	}
	l.producers = newProducers()
	from := l.segments[0].base
	for i := len(offsets) - 1; i >= 0; i-- {
		if offsets[i] > l.end {
			continue
		}
		name := l.name(offsets[i], extSnapshot)
		b, err := l.fs.ReadFile(name)
		if err != nil {
			return 0, err
		}
		if l.producers.decode(b) {
			l.producers.snapshotEnd, from = offsets[i], offsets[i]
			break
		}
		l.producers = newProducers()
		if err := removeIfThere(l.fs, name); err != nil {
			return 0, err
		}
	}
	l.producers.expire(l.cfg.Now(), l.cfg.ProducerExpirationMs)
	return l.replayProducers(from)
}

// replayProducers takes the batches from an offset on into the producer state.
func (l *Log) replayProducers(from event.Offset) (int, error) {
	replayed := 0
	if from >= l.end {
		return 0, nil
	}
	for _, s := range l.segments[l.segmentFor(from):] {
		_, position := s.offsets.floor(from)
		batches := scan(s.log, position, s.written, make([]byte, scanChunkBytes))
		for batches.next() {
			h := &batches.header
			if h.BaseOffset < int64(from) || !h.HasProducer() {
				continue
			}
			if err := l.replayProducer(&batches); err != nil {
				return replayed, err
			}
			replayed++
		}
		if batches.err != nil {
			return replayed, batches.err
		}
	}
	return replayed, nil
}

// replayProducer takes one batch into the producer state. The .txnindex is not touched: it has its
// own life on disk.
func (l *Log) replayProducer(batches *scanner) error {
	if !batches.header.Attributes.Control() {
		l.producers.appended(&batches.header)
		return nil
	}
	batch := batches.batch()
	if batches.err != nil {
		return batches.err
	}
	m, err := parseMarker(batch)
	if errors.Is(err, errNoMarker) {
		return nil
	}
	if err != nil {
		return err
	}
	l.producers.marked(&batches.header, m)
	return nil
}
