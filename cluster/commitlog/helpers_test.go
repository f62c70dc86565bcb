package commitlog

import (
	"errors"
	"testing"

	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/record"
)

const testTime = 1790481955000

// rig is a log on a memory disk with what a test needs to write to it.
type rig struct {
	t     testing.TB
	disk  *disk.Disk
	log   *Log
	cfg   Config
	now   int64
	epoch event.Epoch
}

const rigDir = "orders-0"

func newRig(t testing.TB, change func(*Config)) *rig {
	r := &rig{t: t, disk: disk.NewMemory(disk.Options{}), now: testTime}
	r.cfg = DefaultConfig()
	r.cfg.Topic, r.cfg.TopicID = "orders", event.UUID{7}
	r.cfg.Now = func() int64 { return r.now }
	if change != nil {
		change(&r.cfg)
	}
	r.open(OpenOptions{})
	return r
}

func (r *rig) open(o OpenOptions) Recovered {
	r.t.Helper()
	log, recovered, err := Open(r.disk, rigDir, r.cfg, o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.log = log
	return recovered
}

// reopen closes the log, cleanly or not, and opens it again.
func (r *rig) reopen(clean bool) Recovered {
	r.t.Helper()
	o := OpenOptions{CleanShutdown: clean, RecoveryPoint: r.log.SyncedEnd()}
	o.LogStartOffset = r.log.LogStartOffset()
	r.must(r.log.Close(clean))
	return r.open(o)
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// entry is one record of a test's batch.
type entry struct {
	at         int64
	key, value string
}

func batchOf(t testing.TB, entries []entry, change func(*record.Builder)) []byte {
	t.Helper()
	b := record.NewBuilder()
	if change != nil {
		change(b)
	}
	for _, e := range entries {
		b.Add(e.at, []byte(e.key), []byte(e.value))
	}
	bytes, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func (r *rig) leader(batch []byte, origin Origin) (Appended, error) {
	r.t.Helper()
	h, err := record.ParseHeader(batch)
	r.must(err)
	return r.log.AppendAsLeader(record.Buffer{Bytes: batch}, h, r.epoch, origin)
}

// send appends records as one batch.
func (r *rig) send(entries ...entry) Appended {
	r.t.Helper()
	done, err := r.leader(batchOf(r.t, entries, nil), Client)
	r.must(err)
	return done
}

// sendAs appends n records of an idempotent or transactional producer.
func (r *rig) sendAs(id int64, epoch int16, sequence int32, n int, txn bool) (Appended, error) {
	r.t.Helper()
	entries := make([]entry, n)
	for i := range entries {
		entries[i] = entry{r.now + int64(i), "c", "1"}
	}
	return r.leader(batchOf(r.t, entries, func(b *record.Builder) {
		b.ProducerID, b.ProducerEpoch, b.BaseSequence = id, epoch, sequence
		if txn {
			b.Attributes |= 0x10
		}
	}), Client)
}

func (r *rig) mark(id int64, epoch int16, commit bool) (Appended, error) {
	r.t.Helper()
	return r.leader(record.EndTxnMarker(record.Marker{
		Commit: commit, ProducerID: id, ProducerEpoch: epoch, TimestampMs: r.now,
	}), Coordinator)
}

// runDeferred does what the log handed out.
func (r *rig) runDeferred() {
	r.t.Helper()
	for _, ticket := range r.log.Deferred() {
		r.must(ticket.Done(ticket.Run()))
	}
}

func (r *rig) flush() {
	r.t.Helper()
	r.must(r.log.Flush())
}

func (r *rig) file(name string) []byte {
	r.t.Helper()
	b, err := r.disk.ReadFile(rigDir + "/" + name)
	r.must(err)
	return b
}

// values reads every record's value from the start, and checks that offsets do not repeat.
func (r *rig) values() []string {
	r.t.Helper()
	var values []string
	next := r.log.LogStartOffset()
	_, err := r.log.ReadAll(next, 1<<30, r.log.LogEndOffset(),
		func(h record.Header, batch []byte) error {
			return record.EachRecord(batch, 1<<20, func(rec record.Record) error {
				offset := event.Offset(h.BaseOffset + int64(rec.OffsetDelta))
				if offset >= next {
					values = append(values, string(rec.Value))
					next = offset + 1
				}
				return nil
			})
		})
	r.must(err)
	return values
}

func producerCode(err error) int16 {
	if refused := (*ProducerError)(nil); errors.As(err, &refused) {
		return refused.Code
	}
	return 0
}
