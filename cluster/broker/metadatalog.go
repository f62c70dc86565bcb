package broker

import (
	"errors"
	"fmt"
	"time"

	"highwater/cluster/commitlog"
	"highwater/cluster/controller"
	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/record"
	"highwater/cluster/replica"
)

const (
	metadataTopic      = "__cluster_metadata"
	metadataDir        = metadataTopic + "-0"
	metadataWaitMax    = 500 * time.Millisecond
	metadataReadBytes  = 8 << 20
	metadataInflateMax = 64 << 20
)

// metadataFollower is this broker's copy of the metadata log and the image that it makes. Records
// are applied only below the high watermark that the active controller told: what is stored but
// not committed may still be taken back.
type metadataFollower struct {
	log           *commitlog.Log
	image         *metadata.Image
	acted         *metadata.Image // the image whose changes have been acted on
	pending       []pendingRecord
	highWatermark event.Offset
	applied       event.Offset // everything below is in image
	leader        event.NodeID
	epoch         event.Epoch // the newest one of a leader that was heard of
	acting        bool        // this incarnation's registration was replayed
	settled       bool        // the image was acted on once, so every log that is this broker's is open
}

// pendingRecord is a metadata record that is stored and not yet applied.
type pendingRecord struct {
	offset event.Offset
	value  []byte // nil for a control record
}

// openMetadataLog replays what the disk has. After a clean stop the log is not recovered; should it
// be damaged nevertheless, it is cut where the damage begins. The controllers have all of it, so
// one with nothing whole in it begins anew. A disk that fails is no damage: the log stays as it is.
func (b *Broker) openMetadataLog() error {
	err := b.readMetadataLog(b.checkpoints.clean)
	if metadataDamaged(err) && b.checkpoints.clean {
		b.log.Warn("the metadata log is damaged; what can be read is kept, the rest is fetched again",
			"broker", b.env.ID(), "error", err)
		err = b.readMetadataLog(false)
	}
	if metadataDamaged(err) {
		b.log.Warn("nothing of the metadata log is whole; all of it is fetched again",
			"broker", b.env.ID(), "error", err)
		if err = b.disk.RemoveAll(metadataDir); err == nil {
			err = b.readMetadataLog(false)
		}
	}
	return err
}

// metadataDamaged says whether what was read of the metadata log is wrong.
func metadataDamaged(err error) bool {
	return commitlog.IsCorrupt(err) || errors.Is(err, commitlog.ErrTopicID)
}

func (b *Broker) readMetadataLog(clean bool) error {
	cfg := commitlog.DefaultConfig()
	cfg.Topic, cfg.TopicID = metadataTopic, event.MetadataTopicID
	cfg.Now, cfg.Log = b.env.UnixMilli, b.log
	log, _, err := commitlog.Open(b.disk, metadataDir, cfg,
		commitlog.OpenOptions{CleanShutdown: clean})
	if err != nil {
		return err
	}
	image := metadata.NewImage(b.config.ClusterID)
	b.metadata = metadataFollower{log: log, image: image, acted: image, leader: event.NoNode,
		epoch: log.LastEpoch()}
	keep := func(h record.Header, batch []byte) error {
		if !record.ChecksumHolds(batch) {
			return fmt.Errorf("%w: at offset %d", commitlog.ErrCorrupt, h.BaseOffset)
		}
		if err := b.metadata.keep(batch); err != nil {
			return fmt.Errorf("%w: at offset %d: %w", commitlog.ErrCorrupt, h.BaseOffset, err)
		}
		return nil
	}
	for at := log.LogStartOffset(); at < log.LogEndOffset(); {
		if at, err = log.ReadAll(at, metadataReadBytes, log.LogEndOffset(), keep); err != nil {
			return errors.Join(err, log.Close(false))
		}
	}
	return nil
}

// keep remembers a stored batch's records until they are committed.
func (m *metadataFollower) keep(batch []byte) error {
	h, err := record.ParseHeader(batch)
	if err != nil {
		return err
	}
	return record.EachRecord(batch, metadataInflateMax, func(r record.Record) error {
		p := pendingRecord{offset: event.Offset(h.BaseOffset) + event.Offset(r.OffsetDelta)}
		if !h.Attributes.Control() {
			p.value = append([]byte(nil), r.Value...)
		}
		m.pending = append(m.pending, p)
		return nil
	})
}

// followMetadata asks the active controller for more of the metadata log, always.
func (b *Broker) followMetadata() {
	m := &b.metadata
	request := &controller.MetadataFetch{Replica: b.env.ID(), Epoch: m.epoch, From: m.log.LogEndOffset(),
		LastEpoch: m.log.LastEpoch(), WaitMax: metadataWaitMax, HighWatermark: m.highWatermark}
	b.controller.call(replica.FetchAPI, request, time.Minute, func(body any, err error) {
		answer, ok := body.(*controller.MetadataFetched)
		if err != nil || !ok {
			b.env.AfterQuiet("metadata-fetch-backoff", controllerBackoff, b.followMetadata)
			return
		}
		b.takeMetadata(answer)
		if !b.env.Dead() {
			b.followMetadata()
		}
	})
}

func (b *Broker) takeMetadata(answer *controller.MetadataFetched) {
	m := &b.metadata
	if answer.Epoch < m.epoch {
		return // of a leader that does not know yet that it is none
	}
	m.leader, m.epoch = answer.Leader, answer.Epoch
	if answer.Diverging != nil {
		if err := b.truncateMetadata(answer.Diverging.EndOffset); err != nil {
			b.failDisk("truncate", err)
		}
		return
	}
	for _, batch := range answer.Batches {
		h, err := record.ParseHeader(batch.Bytes)
		if err == nil {
			err = m.log.AppendAsFollower(batch, h)
		}
		if err == nil {
			err = m.keep(batch.Bytes)
		}
		if err != nil {
			b.failDisk("append", fmt.Errorf("metadata log: %w", err))
			return
		}
	}
	if len(answer.Batches) > 0 {
		if err := m.log.Flush(); err != nil {
			b.failDisk("write", err)
			return
		}
		b.runTickets(m.log)
		for _, batch := range answer.Batches {
			batch.Release()
		}
	}
	m.highWatermark = max(m.highWatermark, min(answer.HighWatermark, m.log.LogEndOffset()))
	b.applyMetadata()
}

// truncateMetadata forgets stored records that the quorum has replaced. They were never applied.
func (b *Broker) truncateMetadata(end event.Offset) error {
	m := &b.metadata
	if end < m.applied {
		panic(fmt.Sprintf("broker %d: metadata log to be cut to %d, applied to %d", b.env.ID(), end,
			m.applied))
	}
	for len(m.pending) > 0 && m.pending[len(m.pending)-1].offset >= end {
		m.pending = m.pending[:len(m.pending)-1]
	}
	return m.log.Truncate(end, event.RuleTruncateToEndOfEpoch)
}

// applyMetadata replays what is committed and acts on what changed. Within a metadata transaction
// nothing is acted on.
func (b *Broker) applyMetadata() {
	m := &b.metadata
	before := m.applied
	n := 0
	for n < len(m.pending) && m.pending[n].offset < m.highWatermark {
		p := &m.pending[n]
		n++
		m.applied = p.offset + 1
		if p.value == nil {
			continue
		}
		if err := m.apply(p.value); err != nil {
			panic(fmt.Sprintf("broker %d: metadata record at offset %d: %v", b.env.ID(), p.offset, err))
		}
	}
	if m.applied == before {
		return
	}
	left := copy(m.pending, m.pending[n:])
	clear(m.pending[left:])
	m.pending = m.pending[:left]
	replayed := event.MetadataReplayed{Before: before, Offset: m.applied, Leader: m.leader}.
		Emit(b.env.Events, event.RuleQuorumMajority)
	if replayed != 0 {
		b.env.Events.Cause = replayed
	}
	b.actOnMetadata()
}

// actOnMetadata does what the image asks, once this incarnation's registration is in it. Before,
// the image may still say that the former incarnation leads: acting on that would append in an
// epoch whose tail this one may have lost.
func (b *Broker) actOnMetadata() {
	m := &b.metadata
	if b.session.epoch < 0 && !m.acting || int64(m.applied) <= b.session.epoch {
		return
	}
	m.acting = true
	if !m.image.InTransaction() && m.acted != m.image {
		changes := metadata.Changes(m.acted, m.image)
		m.acted = m.image
		b.act(changes)
		if !m.settled && !b.env.Dead() {
			m.settled = true
			b.setStraysAside()
		}
	}
	if b.session.fenced && b.session.epoch >= 0 && !b.env.Dead() {
		b.heartbeatNow()
	}
}

func (m *metadataFollower) apply(value []byte) error {
	r, err := metadata.Decode(value)
	if err != nil {
		return err
	}
	image, err := m.image.Apply(r)
	if err != nil {
		return err
	}
	m.image = image
	return nil
}

// Applied is the offset below which this broker has replayed the metadata log.
func (b *Broker) Applied() event.Offset { return b.metadata.applied }
