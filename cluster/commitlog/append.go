package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"

	"highwater/cluster/event"
	"highwater/cluster/record"
)

// Places in a batch that a leader rewrites for LogAppendTime.
const (
	attributesLowByte   = 22
	logAppendTimeBit    = 1 << 3
	maxTimestampAtBytes = 35
)

// Appended says where a leader put a batch.
type Appended struct {
	BaseOffset, LastOffset event.Offset
	// Duplicate says that the batch was there already, at these offsets; nothing was appended.
	Duplicate bool
	// LogAppendTime is the time stamped on the batch, -1 unless the topic asks for it.
	LogAppendTime int64
}

// AppendAsLeader appends one batch: it gives it the next offset and the leader epoch, in place,
// after all checks that need the log's state. The log takes its own reference to the buffer;
// nobody may write to the bytes afterwards. Refusals are *AppendError and *ProducerError.
func (l *Log) AppendAsLeader(
	buf record.Buffer, h record.Header, epoch event.Epoch, origin Origin,
) (Appended, error) {
	if l.failed != nil {
		return Appended{}, l.failed
	}
	size := int64(len(buf.Bytes))
	if err := l.checkSize(&h, size, origin); err != nil {
		return Appended{}, err
	}
	h.BaseOffset, h.PartitionLeaderEpoch = int64(l.end), int32(epoch)
	if h.HasProducer() {
		if done, found := l.findDuplicate(&h, origin); found {
			return done, nil
		}
		if err := l.producers.check(&h, origin); err != nil {
			return Appended{}, err
		}
	}
	m, isMarker, err := l.markerOf(buf.Bytes, &h)
	if err != nil {
		return Appended{}, err
	}
	if isMarker {
		if err := l.producers.checkMarker(h.ProducerID, m); err != nil {
			return Appended{}, err
		}
	}
	done := Appended{
		BaseOffset: l.end, LastOffset: event.Offset(h.LastOffset()), LogAppendTime: -1,
	}
	record.Stamp(buf.Bytes, h.BaseOffset, h.PartitionLeaderEpoch)
	if l.cfg.TimestampType == LogAppendTime {
		done.LogAppendTime = l.stampTime(buf.Bytes, &h)
	}
	if err := l.append(buf, &h, true); err != nil {
		return Appended{}, err
	}
	l.noteProducer(&h, m, isMarker)
	return done, nil
}

// checkSize refuses what the topic or a segment cannot hold.
func (l *Log) checkSize(h *record.Header, size int64, origin Origin) error {
	if size != int64(h.Size()) || h.LastOffsetDelta < 0 {
		return &AppendError{codeCorruptMessage, fmt.Sprintf(
			"a batch of %d bytes in a buffer of %d", h.Size(), size)}
	}
	if size > l.cfg.MaxMessageBytes && origin == Client {
		return &AppendError{codeMessageTooLarge, fmt.Sprintf(
			"the batch has %d bytes, max.message.bytes is %d", size, l.cfg.MaxMessageBytes)}
	}
	if size > l.cfg.SegmentBytes {
		return &AppendError{codeRecordListTooLarge, fmt.Sprintf(
			"the batch has %d bytes, segment.bytes is %d", size, l.cfg.SegmentBytes)}
	}
	return nil
}

// findDuplicate recognises a client's retry of one of its producer's remembered batches.
func (l *Log) findDuplicate(h *record.Header, origin Origin) (Appended, bool) {
	p := l.producers.byID[h.ProducerID]
	if p == nil || origin != Client || h.Attributes.Control() {
		return Appended{}, false
	}
	b, found := p.duplicate(h)
	if !found {
		return Appended{}, false
	}
	base := b.lastOffset - event.Offset(b.offsetDelta)
	event.DuplicateSuppressed{
		Topic: l.cfg.Topic, Partition: l.cfg.Partition, ProducerID: h.ProducerID,
		ProducerEpoch: int32(h.ProducerEpoch), BaseSequence: h.BaseSequence, BaseOffset: base,
	}.Emit(l.cfg.Events, event.RuleDuplicateOfLastFive)
	done := Appended{
		BaseOffset: base, LastOffset: b.lastOffset, Duplicate: true, LogAppendTime: -1,
	}
	if l.cfg.TimestampType == LogAppendTime {
		done.LogAppendTime = b.timestamp
	}
	return done, true
}

// markerOf reads the marker of a producer's control batch; an empty one, as the cleaner leaves
// it, is none.
func (l *Log) markerOf(batch []byte, h *record.Header) (marker, bool, error) {
	if !h.HasProducer() || !h.Attributes.Control() {
		return marker{}, false, nil
	}
	m, err := parseMarker(batch)
	if errors.Is(err, errNoMarker) {
		return marker{}, false, nil
	}
	return m, err == nil, err
}

// stampTime gives the whole batch the broker's time. That lies inside the CRC.
func (l *Log) stampTime(batch []byte, h *record.Header) int64 {
	now := l.cfg.Now()
	h.MaxTimestamp = now
	batch[attributesLowByte] |= logAppendTimeBit
	h.Attributes |= logAppendTimeBit
	binary.BigEndian.PutUint64(batch[maxTimestampAtBytes:], uint64(now))
	record.Reseal(batch)
	h.CRC = record.Checksum(batch)
	return now
}

// AppendAsFollower appends one batch as the leader stored it. Its bytes are shared, so nothing is
// written to them; the CRC is checked again because they crossed memory and a network.
func (l *Log) AppendAsFollower(buf record.Buffer, h record.Header) error {
	if l.failed != nil {
		return l.failed
	}
	if len(buf.Bytes) != h.Size() || h.LastOffsetDelta < 0 || !record.ChecksumHolds(buf.Bytes) {
		return fmt.Errorf("%w: offset %d, %d bytes", ErrCorrupt, h.BaseOffset, len(buf.Bytes))
	}
	if h.BaseOffset < int64(l.end) {
		return fmt.Errorf("%w: %d below %d", ErrUnexpectedOffset, h.BaseOffset, l.end)
	}
	m, isMarker, err := l.markerOf(buf.Bytes, &h)
	if err != nil {
		return err
	}
	if err := l.append(buf, &h, false); err != nil {
		return err
	}
	l.noteProducer(&h, m, isMarker)
	return nil
}

// append puts a stamped batch at the end: rolls if it must, notes its epoch, and queues it for the
// next flush.
func (l *Log) append(buf record.Buffer, h *record.Header, leader bool) error {
	size := int64(len(buf.Bytes))
	rule, roll := l.active().shouldRoll(h, size, l.cfg.Now(), &l.cfg)
	if roll {
		if err := l.roll(l.rollBase(h), rule); err != nil {
			return err
		}
	}
	epoch := event.Epoch(h.PartitionLeaderEpoch)
	if epoch >= 0 && epoch != l.LastEpoch() {
		if err := l.assignEpoch(epoch, event.Offset(h.BaseOffset)); err != nil {
			return err
		}
	}
	l.active().note(h, size, l.cfg.IndexIntervalBytes)
	l.pending = append(l.pending, buf.Bytes)
	l.tail.add(buf, h)
	l.end = event.Offset(h.LastOffset()) + 1
	if !l.cfg.Events.On() {
		return nil
	}
	event.BatchAppended{
		Topic: l.cfg.Topic, Partition: l.cfg.Partition,
		BaseOffset: event.Offset(h.BaseOffset), LastOffset: l.end - 1,
		Records: h.RecordsCount, Bytes: int32(size), LeaderEpoch: epoch,
		ProducerID: h.ProducerID, BaseSequence: h.BaseSequence,
		Codec: h.Attributes.Codec().String(), Control: h.Attributes.Control(), Leader: leader,
		Transactional: h.Attributes.Transactional(),
	}.Emit(l.cfg.Events, event.RuleNone)
	return nil
}

// rollBase is where the segment for a batch begins: where the log ends, also when the batch lies
// above that because the leader's cleaner has removed what was between. So no offset is ever
// missing between two segments, and recovery can tell a lost end from a compacted one.
func (l *Log) rollBase(h *record.Header) event.Offset {
	if l.end > l.active().base && fitsRelative(l.end, event.Offset(h.LastOffset())) {
		return l.end
	}
	return event.Offset(h.BaseOffset)
}

// noteProducer takes an appended batch into the producers' state and, if it aborts a transaction,
// into the .txnindex of the segment that holds the marker.
func (l *Log) noteProducer(h *record.Header, m marker, isMarker bool) {
	switch {
	case !h.HasProducer():
	case isMarker:
		txn, ended := l.producers.marked(h, m)
		if ended && !m.commit {
			l.active().aborted.append(txn)
		}
		l.emitMarker(h, m, txn, ended)
	case !h.Attributes.Control():
		if l.producers.appended(h) {
			event.TransactionBegan{
				Topic: l.cfg.Topic, Partition: l.cfg.Partition, ProducerID: h.ProducerID,
				ProducerEpoch: int32(h.ProducerEpoch), FirstOffset: event.Offset(h.BaseOffset),
			}.Emit(l.cfg.Events, event.RuleNone)
		}
	}
}

func (l *Log) emitMarker(h *record.Header, m marker, txn AbortedTxn, ended bool) {
	first := noOffset
	if ended {
		first = txn.FirstOffset
	}
	event.TransactionMarkerWritten{
		Topic: l.cfg.Topic, Partition: l.cfg.Partition, ProducerID: h.ProducerID,
		ProducerEpoch: int32(h.ProducerEpoch), CoordinatorEpoch: m.coordinatorEpoch,
		Commit: m.commit, Offset: event.Offset(h.BaseOffset), FirstOffset: first,
	}.Emit(l.cfg.Events, event.RuleNone)
}

// Roll begins a new segment at the log end offset, if the active one holds anything.
func (l *Log) Roll() error {
	if l.failed != nil || l.active().size == 0 {
		return l.failed
	}
	return l.roll(l.end, event.RuleNone)
}

// roll closes the active segment and begins a new one. What is pending is written, and the
// producers' state with it; syncing, trimming and closing are left to a ticket.
func (l *Log) roll(base event.Offset, rule event.Rule) error {
	if err := l.Flush(); err != nil {
		return err
	}
	old := l.active()
	if old.base == base {
		return l.fail("roll", fmt.Errorf("a segment at %d exists", base))
	}
	err := old.finish()
	if old.log.Size() > old.written {
		// Not in the ticket: by then a truncation may have made this segment active again.
		err = errors.Join(err, old.log.Truncate(old.written))
	}
	if err != nil {
		return l.fail("roll", err)
	}
	// The snapshot is named by where the new segment begins, which in a follower's log with a gap
	// lies above the end of the old one.
	l.end = base
	if err := l.writeSnapshot(); err != nil {
		return err
	}
	s, err := l.createSegment(base)
	if err != nil {
		return l.fail("roll", err)
	}
	l.written = l.end
	l.segments = append(l.segments, s)
	l.deferred = append(l.deferred, l.rollTicket(old, base))
	event.SegmentRolled{
		Topic: l.cfg.Topic, Partition: l.cfg.Partition, BaseOffset: base, Before: old.base,
		Bytes: old.size,
	}.Emit(l.cfg.Events, rule)
	return nil
}

// rollTicket trims and syncs a rolled segment off the loop, and everything older that is not yet
// synced; then the recovery point may move to the new segment.
func (l *Log) rollTicket(old *segment, upTo event.Offset) Ticket {
	first := min(l.segmentFor(l.synced), len(l.segments)-2)
	trim := old.trimLater() // which syncs the two indexes that it trims
	// The indexes are in memory; once the ticket has run nobody needs their files.
	offsets, times, aborted := old.offsets.file, old.times.file, old.aborted.file
	old.offsets.file, old.times.file = nil, nil
	ticket := l.syncTicket("roll", l.segments[first:len(l.segments)-1], upTo)
	old.aborted.file = nil
	run := ticket.Run
	ticket.Run = func() error {
		err := errors.Join(trim(), run(), offsets.Close(), times.Close())
		if aborted != nil {
			err = errors.Join(err, aborted.Close())
		}
		return err
	}
	return ticket
}

// trimLater trims the indexes on another goroutine: it looks at nothing that may change meanwhile,
// and nobody else writes to them any more.
func (s *segment) trimLater() func() error {
	offsets, offsetBytes := s.offsets.file, int64(len(s.offsets.entries))
	times, timeBytes := s.times.file, int64(len(s.times.entries))
	return func() error {
		return errors.Join(offsets.Truncate(offsetBytes), times.Truncate(timeBytes),
			offsets.Sync(), times.Sync())
	}
}
