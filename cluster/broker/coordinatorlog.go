package broker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/partition"
	"highwater/cluster/record"
)

// replayed is a coordinator whose state is what the replay of its partition's log comes to.
type replayed interface {
	// replay takes over a committed batch that an earlier leader, or this one before it died, wrote.
	replay(batch *loadedBatch)
	// loaded says that everything from before this leader's epoch was replayed.
	loaded()
	// ended says that this broker no longer leads the partition.
	ended()
}

// coordinatorLog is a coordinator's partition of an internal topic while this broker leads it: it
// loads the coordinator from the log, and lets it hear of its own records once they are committed.
type coordinatorLog struct {
	b     *Broker
	h     *held
	epoch event.Epoch // the leader epoch that it serves in
	state replayed
	// what names the coordinator in events; timeout bounds how long a client waits for a record.
	what     string
	timeout  time.Duration
	tooLarge int16 // the code for a record that the topic does not take
	active   bool  // the log was replayed
	closed   bool
	next     event.Offset // up to which the log was replayed
	pending  []*coordinatorWrite
}

// coordinatorWrite is a batch that a coordinator appended and that is not committed yet.
type coordinatorWrite struct {
	pendingWait
	of *coordinatorLog
	// apply replays what the batch says.
	apply func()
	needs event.Offset
	then  func(code int16) // nil once it was told
}

// loadedBatch is one batch that was read back.
type loadedBatch struct {
	header  record.Header
	commits bool // of a transaction's marker
	records []loadedRecord
}

type loadedRecord struct{ key, value []byte }

func (p *coordinatorLog) isActive() bool { return p.active }

// coordinatorReadBytes bounds what is read at once while a coordinator loads.
const coordinatorReadBytes = 1 << 20

func (p *coordinatorLog) open(b *Broker, h *held) {
	p.b, p.h, p.epoch, p.next = b, h, h.LeaderEpoch(), h.Log.LogStartOffset()
}

// serves says whether the broker still has the role that the coordinator was opened for.
func (p *coordinatorLog) serves(h *held) bool {
	return p.h == h && h.Leads() && p.epoch == h.LeaderEpoch()
}

func (p *coordinatorLog) close() {
	p.closed = true
	p.state.ended()
	for _, w := range p.pending {
		w.tell(kerr.NotCoordinator.Code)
	}
	p.pending = nil
}

// load replays the log up to where this leader's epoch begins. All of it has to be committed: what
// is not might still be lost, and then a client would have seen the coordinator go back.
func (p *coordinatorLog) load() {
	if p.closed || p.b.env.Dead() {
		return
	}
	end := p.h.EpochStart()
	if p.next >= end {
		p.active = true
		p.state.loaded()
		p.drain()
		return
	}
	if p.next >= p.h.HighWatermark() {
		p.h.WaitForHighWatermark(p.next+1, p)
		return
	}
	limit := min(end, p.h.HighWatermark())
	read, err := p.h.Log.Read(p.next, coordinatorReadBytes, limit, true)
	if err != nil {
		p.unreadable(err)
		return
	}
	if read.NextOffset == p.next { // compaction left nothing from here to the limit
		read.Release()
		p.next = limit
		p.load()
		return
	}
	next := read.NextOffset // the work releases what was read
	p.b.env.Work("load-"+p.what+"s", ticketCost, func() any {
		defer read.Release()
		return batchesOf(&read)
	}, func(result any) { p.loadedChunk(result.(loadedChunk), next) })
}

func (p *coordinatorLog) unreadable(err error) {
	p.b.unreadable(err, "a coordinator's partition cannot be read", "topic", p.h.key.Topic,
		"partition", p.h.key.Index, "offset", p.next)
}

// Passed, of partition.Waiter: more of the log is committed.
func (p *coordinatorLog) Passed(_ *partition.Partition, code int16) {
	if code == 0 || code == kerr.NotEnoughReplicasAfterAppend.Code {
		p.b.env.AfterQuiet("load-"+p.what+"s", 0, p.load)
	}
}

// loadedChunk is what one read of a log came to.
type loadedChunk struct {
	batches []loadedBatch
	err     error
}

// batchesOf takes batches apart.
func batchesOf(read *commitlog.Slices) (chunk loadedChunk) {
	buffers, err := read.Load()
	if err != nil {
		return loadedChunk{err: err}
	}
	for _, buffer := range buffers {
		chunk.err = commitlog.EachBatch(buffer, func(h record.Header, batch record.Buffer) error {
			loaded := loadedBatch{header: h}
			err := record.EachRecord(batch.Bytes, coordinatorReadBytes*100, func(r record.Record) error {
				if h.Attributes.Control() {
					end, err := record.ParseEndTxn(r)
					loaded.commits = end.Commit
					return err
				}
				loaded.records = append(loaded.records,
					loadedRecord{key: keptBytes(r.Key), value: keptBytes(r.Value)})
				return nil
			})
			chunk.batches = append(chunk.batches, loaded)
			return err
		})
		if chunk.err != nil {
			return chunk
		}
	}
	return chunk
}

// keptBytes keeps bytes beyond the buffer that they lie in; null stays null.
func keptBytes(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

func (p *coordinatorLog) loadedChunk(chunk loadedChunk, next event.Offset) {
	if p.closed {
		return
	}
	if chunk.err != nil {
		p.unreadable(chunk.err)
		return
	}
	for i := range chunk.batches {
		p.state.replay(&chunk.batches[i])
	}
	p.next = next
	p.load()
}

// skipped notes a record that nobody can read, as Kafka does: it says nothing about the others.
func (p *coordinatorLog) skipped(err error) {
	p.b.log.Warn("a coordinator's record was skipped", "broker", p.b.env.ID(),
		"topic", p.h.key.Topic, "partition", p.h.key.Index, "error", err)
}

// append writes one batch, which apply replays when the high watermark has passed it. Unless it is
// refused, then hears: 0 after apply, or another code when that took too long or the leadership
// ended before.
func (p *coordinatorLog) append(batch *record.Builder, apply func(), then func(code int16)) (
	refused int16) {
	needs, code := p.appendBatch(batch)
	if code != 0 {
		return code
	}
	p.await(needs, apply, then)
	return 0
}

// await has apply run once the high watermark is at needs, after what was appended before.
func (p *coordinatorLog) await(needs event.Offset, apply func(), then func(code int16)) {
	w := &coordinatorWrite{of: p, apply: apply, needs: needs, then: then}
	w.waiter = w
	p.pending = append(p.pending, w)
	p.b.waits.begin(&w.pendingWait, p.timeout, event.WaitBegan{What: p.what + "-append",
		For: p.b.env.ID(), Topic: p.h.key.Topic, Partition: p.h.key.Index, Needs: needs})
	if !p.h.WaitForHighWatermark(needs, w) {
		// Committed already: this is the only replica. Who appended is still at work, though.
		p.b.env.AfterQuiet(p.what+"-append", 0, func() { w.Passed(p.h.Partition, 0) })
	}
}

func (p *coordinatorLog) appendBatch(batch *record.Builder) (needs event.Offset, code int16) {
	if p.closed || !p.serves(p.h) {
		return 0, kerr.NotCoordinator.Code
	}
	if p.h.UnderMinIsr() {
		return 0, kerr.CoordinatorNotAvailable.Code
	}
	bytes, err := batch.Bytes()
	if err == nil && len(bytes) > int(p.h.Log.Config().MaxMessageBytes) {
		return 0, p.tooLarge
	}
	var header record.Header
	if err == nil {
		header, err = record.ParseHeader(bytes)
	}
	if err != nil {
		return 0, kerr.UnknownServerError.Code
	}
	appended, err := p.h.AppendOwn(record.Buffer{Bytes: bytes}, header)
	if err != nil {
		return 0, p.appendFailed(err)
	}
	return appended.LastOffset + 1, 0
}

// appendFailed tells a batch that its producer's state refuses from a log that takes none.
func (p *coordinatorLog) appendFailed(err error) int16 {
	if code := logRefusal(err); code != 0 {
		return code
	}
	p.b.failDisk("append", err)
	return kerr.NotCoordinator.Code
}

// Passed, of partition.Waiter: the batch is committed, and so is everything before it; or another
// broker leads now.
func (w *coordinatorWrite) Passed(_ *partition.Partition, code int16) {
	p := w.of
	if p.closed {
		return
	}
	if code != 0 && code != kerr.NotEnoughReplicasAfterAppend.Code {
		return // the partition has another role now, and close will tell
	}
	p.drain()
}

// drain replays what is committed, in order. Markers are written to a partition that is still being
// loaded, too; they take effect behind what is loaded.
func (p *coordinatorLog) drain() {
	for p.active && !p.closed && len(p.pending) > 0 &&
		p.pending[0].needs <= p.h.HighWatermark() {
		first := p.pending[0]
		p.pending = p.pending[1:]
		first.apply()
		p.next = first.needs
		first.tell(0)
	}
}

// expired, of waiter: the batch may still be committed, but nobody waits for it any longer.
func (w *coordinatorWrite) expired() { w.tell(kerr.CoordinatorNotAvailable.Code) }

func (w *coordinatorWrite) tell(code int16) {
	outcome := "satisfied"
	if code != 0 {
		outcome = kerr.ErrorForCode(code).Error()
	}
	w.of.b.waits.end(&w.pendingWait, outcome)
	if then := w.then; then != nil {
		w.then = nil
		then(code)
	}
}
