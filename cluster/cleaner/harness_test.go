package cleaner

import (
	"fmt"
	"testing"

	"highwater/cluster/commitlog"
	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/record"
)

const (
	testTime = 1790481955000
	testDir  = "users-0"
)

// rig is a log on a memory disk.
type rig struct {
	t    testing.TB
	disk *disk.Disk
	log  *commitlog.Log
	cfg  commitlog.Config
	now  int64
	s    Settings
}

func newRig(t testing.TB) *rig {
	r := &rig{t: t, disk: disk.NewMemory(disk.Options{}), now: testTime}
	r.cfg = commitlog.DefaultConfig()
	r.cfg.Topic, r.cfg.CleanupPolicy = "users", commitlog.CleanupCompact
	r.cfg.SegmentIndexBytes, r.cfg.IndexIntervalBytes = 4096, 100
	r.cfg.Now = func() int64 { return r.now }
	r.s = Settings{DirtyRatioMin: 0.5, LagMaxMs: 1 << 62, DeleteRetentionMs: 10_000,
		SegmentBytes: 1 << 20, IndexBytes: 4096, BufferBytes: 1 << 20}
	r.open(commitlog.OpenOptions{})
	return r
}

func (r *rig) open(o commitlog.OpenOptions) {
	r.t.Helper()
	log, _, err := commitlog.Open(r.disk, testDir, r.cfg, o)
	r.must(err)
	r.log = log
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// one is a record; a nil value is a deletion.
type one struct {
	key   string
	value *string
}

func put(key, value string) one { return one{key, &value} }
func del(key string) one        { return one{key, nil} }

// batch builds records as one batch.
func (r *rig) batch(change func(*record.Builder), records ...one) []byte {
	r.t.Helper()
	b := record.NewBuilder()
	if change != nil {
		change(b)
	}
	for i, each := range records {
		var value []byte
		if each.value != nil {
			value = []byte(*each.value)
		}
		var key []byte
		if each.key != "" {
			key = []byte(each.key)
		}
		b.Add(r.now+int64(i), key, value)
	}
	bytes, err := b.Bytes()
	r.must(err)
	return bytes
}

func (r *rig) append(batch []byte) event.Offset {
	r.t.Helper()
	h, err := record.ParseHeader(batch)
	r.must(err)
	done, err := r.log.AppendAsLeader(record.Buffer{Bytes: batch}, h, 0, commitlog.Coordinator)
	r.must(err)
	return done.BaseOffset
}

func (r *rig) send(records ...one) event.Offset { return r.append(r.batch(nil, records...)) }

// roll closes the active segment, durably.
func (r *rig) roll() {
	r.t.Helper()
	r.must(r.log.Roll())
	r.tickets()
}

func (r *rig) tickets() {
	r.t.Helper()
	for tickets := r.log.Deferred(); len(tickets) > 0; tickets = r.log.Deferred() {
		for _, ticket := range tickets {
			r.must(ticket.Done(ticket.Run()))
		}
	}
}

// clean runs one whole pass over what is dirty, or over everything.
func (r *rig) clean(all bool) Result {
	r.t.Helper()
	result, err := r.tryClean(all)
	r.must(err)
	return result
}

func (r *rig) tryClean(all bool) (Result, error) {
	if all {
		r.log.SetFirstDirtyOffset(r.log.LogStartOffset())
	}
	look, err := LookAt(r.log, &r.s, r.now, r.log.LastStableOffset(r.log.LogEndOffset()))
	if err != nil {
		return Result{}, err
	}
	pass, err := Begin(r.log, look, r.s, r.now)
	if err != nil {
		return Result{}, err
	}
	result, err := pass.Run()
	if err != nil {
		return result, err
	}
	for _, output := range result.Outputs {
		if err := r.log.Swap(output, func() {}); err != nil {
			return result, err
		}
	}
	for tickets := r.log.Deferred(); len(tickets) > 0; tickets = r.log.Deferred() {
		for _, ticket := range tickets {
			if err := ticket.Done(ticket.Run()); err != nil {
				return result, err
			}
		}
	}
	r.log.SetFirstDirtyOffset(result.FirstDirty)
	return result, nil
}

// contents are all records as "offset key=value" and the batches' headers.
func (r *rig) contents() (texts []string, headers []record.Header) {
	r.t.Helper()
	_, err := r.log.ReadAll(r.log.LogStartOffset(), 1<<30, r.log.LogEndOffset(),
		func(h record.Header, batch []byte) error {
			if !record.ChecksumHolds(batch) {
				r.t.Errorf("the CRC of batch %d does not hold", h.BaseOffset)
			}
			headers = append(headers, h)
			return record.EachRecord(batch, 1<<20, func(one record.Record) error {
				text := fmt.Sprintf("%d %s=%s", h.BaseOffset+int64(one.OffsetDelta), one.Key, one.Value)
				if one.Value == nil {
					text = fmt.Sprintf("%d -%s", h.BaseOffset+int64(one.OffsetDelta), one.Key)
				}
				if h.Attributes.Control() {
					text = fmt.Sprintf("%d marker", h.BaseOffset)
				}
				texts = append(texts, text)
				return nil
			})
		})
	r.must(err)
	return texts, headers
}

// sound fails for anything in the directory that contradicts anything else.
func (r *rig) sound() {
	r.t.Helper()
	r.must(r.log.Flush())
	for problem := range commitlog.Check(r.disk, testDir) {
		r.t.Errorf("%v", problem)
	}
}

func (r *rig) bases() []event.Offset {
	var bases []event.Offset
	for _, s := range r.log.Segments() {
		bases = append(bases, s.BaseOffset)
	}
	return bases
}
