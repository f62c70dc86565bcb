package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/group"
	"highwater/cluster/partition"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

// groupCoordinators are the coordinators of the partitions of __consumer_offsets that this broker
// leads.
type groupCoordinators struct {
	b *Broker
	// byPartition has one for each partition led; list is the same by index.
	byPartition map[int32]*groupPartition
	list        []*groupPartition
	creating    bool // __consumer_offsets is being asked of the controller
}

// groupPartition is one coordinator with its log.
type groupPartition struct {
	b       *Broker
	h       *held
	epoch   event.Epoch // the leader epoch that it serves in
	groups  *group.Coordinator
	active  bool // the log was replayed
	closed  bool
	next    event.Offset // up to which the log was replayed
	pending []*groupWrite
}

// groupWrite is a batch that a coordinator appended and that is not committed yet.
type groupWrite struct {
	pendingWait
	of      *groupPartition
	records []group.Record
	by      group.Author
	needs   event.Offset
	then    func(code int16) // nil once it was told
}

// groupReadBytes bounds what is read at once while a coordinator loads.
const groupReadBytes = 1 << 20

func (c *groupCoordinators) init(b *Broker) {
	c.b, c.byPartition = b, map[int32]*groupPartition{}
	b.every("offsets-retention", b.config.Settings.OffsetsRetentionCheck, func() {
		for _, p := range c.list {
			if p.active {
				p.groups.Expire()
			}
		}
	})
}

// roleChanged begins, ends or leaves alone a partition's coordinator, after the partition took over
// what the metadata log says.
func (c *groupCoordinators) roleChanged(h *held) {
	if h.key.Topic != group.Topic {
		return
	}
	old := c.byPartition[h.key.Index]
	if old != nil && old.h == h && h.Leads() && old.epoch == h.LeaderEpoch() {
		return
	}
	if old != nil {
		c.close(old)
	}
	if h.Leads() {
		c.open(h)
	}
}

func (c *groupCoordinators) close(p *groupPartition) {
	p.closed = true
	delete(c.byPartition, p.h.key.Index)
	c.relist()
	p.groups.Close()
	for _, w := range p.pending {
		w.tell(kerr.NotCoordinator.Code)
	}
	p.pending = nil
}

func (c *groupCoordinators) relist() {
	c.list = c.list[:0]
	for _, h := range c.b.ordered {
		if h.key.Topic == group.Topic && c.byPartition[h.key.Index] != nil {
			c.list = append(c.list, c.byPartition[h.key.Index])
		}
	}
}

func (c *groupCoordinators) open(h *held) {
	p := &groupPartition{b: c.b, h: h, epoch: h.LeaderEpoch(), next: h.Log.LogStartOffset()}
	p.groups = group.New(c.b.env, p, c.b.config.Settings.Groups)
	c.byPartition[h.key.Index] = p
	c.relist()
	p.load()
}

// topicDeleted has every coordinator forget the topic's offsets.
func (c *groupCoordinators) topicDeleted(topic string) {
	for _, p := range c.list {
		if p.active {
			p.groups.TopicDeleted(topic)
		}
	}
}

// load replays the log up to where this leader's epoch begins. All of it has to be committed: what
// is not might still be lost, and then a group would have seen offsets go back.
func (p *groupPartition) load() {
	if p.closed || p.b.env.Dead() {
		return
	}
	end := p.h.EpochStart()
	if p.next >= end {
		p.active = true
		p.groups.Loaded()
		return
	}
	if p.next >= p.h.HighWatermark() {
		p.h.WaitForHighWatermark(p.next+1, p)
		return
	}
	read, err := p.h.Log.Read(p.next, groupReadBytes, min(end, p.h.HighWatermark()), true)
	if err != nil || read.NextOffset == p.next {
		p.b.log.Error("a partition of groups cannot be read", "broker", p.b.env.ID(),
			"partition", p.h.key.Index, "offset", p.next, "error", err)
		return
	}
	next := read.NextOffset // the work releases what was read
	p.b.env.Work("load-groups", ticketCost, func() any {
		defer read.Release()
		return recordsOf(&read)
	}, func(result any) { p.loadedChunk(result.(groupChunk), next) })
}

// Passed, of partition.Waiter: more of the log is committed.
func (p *groupPartition) Passed(_ *partition.Partition, code int16) {
	if code == 0 || code == kerr.NotEnoughReplicasAfterAppend.Code {
		p.b.env.AfterQuiet("load-groups", 0, p.load)
	}
}

// groupChunk is what one read of a log came to.
type groupChunk struct {
	records []group.Record
	err     error
}

// recordsOf takes the records out of batches. Control batches say nothing of groups, and no group
// takes part in transactions here.
func recordsOf(read *commitlog.Slices) (chunk groupChunk) {
	buffers, err := read.Load()
	if err != nil {
		return groupChunk{err: err}
	}
	for _, buffer := range buffers {
		chunk.err = commitlog.EachBatch(buffer, func(h record.Header, batch record.Buffer) error {
			if h.Attributes.Control() {
				return nil
			}
			return record.EachRecord(batch.Bytes, groupReadBytes*100, func(r record.Record) error {
				chunk.records = append(chunk.records, group.Record{Key: keptBytes(r.Key),
					Value: keptBytes(r.Value)})
				return nil
			})
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

func (p *groupPartition) loadedChunk(chunk groupChunk, next event.Offset) {
	if p.closed {
		return
	}
	if chunk.err != nil {
		p.b.log.Error("a partition of groups cannot be read", "broker", p.b.env.ID(),
			"partition", p.h.key.Index, "offset", p.next, "error", chunk.err)
		return
	}
	for _, r := range chunk.records {
		p.replay(r, group.Author{})
	}
	p.next = next
	p.load()
}

// replay skips a record that nobody can read, as Kafka does: it says nothing about the others.
func (p *groupPartition) replay(r group.Record, by group.Author) {
	if err := p.groups.Replay(r, by); err != nil {
		p.b.log.Warn("a record of groups was skipped", "broker", p.b.env.ID(),
			"partition", p.h.key.Index, "error", err)
	}
}

// Append, of group.Log: one batch, whose records are replayed when the high watermark has passed
// it. Who waits hears at the latest after offsets.commit.timeout.ms.
func (p *groupPartition) Append(records []group.Record, by group.Author, then func(code int16)) {
	needs, code := p.append(records)
	if code != 0 {
		p.b.env.AfterQuiet("group-append-refused", 0, func() { then(code) })
		return
	}
	w := &groupWrite{of: p, records: records, by: by, needs: needs, then: then}
	w.waiter = w
	p.pending = append(p.pending, w)
	p.b.waits.begin(&w.pendingWait, p.b.config.Settings.OffsetsCommitTimeout,
		event.WaitBegan{What: "group-append", For: p.b.env.ID(), Topic: group.Topic,
			Partition: p.h.key.Index, Needs: needs})
	if !p.h.WaitForHighWatermark(needs, w) {
		// Committed already: this is the only replica. Who appended is still at work, though.
		p.b.env.AfterQuiet("group-append", 0, func() { w.Passed(p.h.Partition, 0) })
	}
}

func (p *groupPartition) append(records []group.Record) (needs event.Offset, code int16) {
	if p.closed || !p.h.Leads() || p.h.LeaderEpoch() != p.epoch {
		return 0, kerr.NotCoordinator.Code
	}
	if p.h.UnderMinIsr() {
		return 0, kerr.CoordinatorNotAvailable.Code
	}
	batch := record.NewBuilder()
	batch.BaseSequence = 0 // what Kafka's coordinators write beside no producer id
	for _, r := range records {
		batch.Add(p.b.env.UnixMilli(), r.Key, r.Value)
	}
	bytes, err := batch.Bytes()
	if err == nil && len(bytes) > int(p.h.Log.Config().MaxMessageBytes) {
		return 0, kerr.InvalidCommitOffsetSize.Code
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
		p.b.failDisk("append", err)
		return 0, kerr.NotCoordinator.Code
	}
	return appended.LastOffset + 1, 0
}

// Passed, of partition.Waiter: the batch is committed, and so is everything before it; or another
// broker leads now.
func (w *groupWrite) Passed(_ *partition.Partition, code int16) {
	p := w.of
	if p.closed {
		return
	}
	if code != 0 && code != kerr.NotEnoughReplicasAfterAppend.Code {
		return // the partition has another role now, and close will tell
	}
	for len(p.pending) > 0 && p.pending[0].needs <= w.needs {
		first := p.pending[0]
		p.pending = p.pending[1:]
		for _, r := range first.records {
			p.replay(r, first.by)
		}
		p.next = first.needs
		first.tell(0)
	}
}

// expired, of waiter: the batch may still be committed, but nobody waits for it any longer.
func (w *groupWrite) expired() { w.tell(kerr.CoordinatorNotAvailable.Code) }

func (w *groupWrite) tell(code int16) {
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

// coordinator finds who coordinates a group here, or why nobody does.
func (b *Broker) coordinator(id string) (*group.Coordinator, int16) {
	topic := b.metadata.image.TopicByName(group.Topic)
	if topic == nil {
		return nil, kerr.NotCoordinator.Code
	}
	p := b.groups.byPartition[group.PartitionFor(id, int32(len(topic.Partitions)))]
	switch {
	case p == nil:
		return nil, kerr.NotCoordinator.Code
	case !p.active:
		return nil, kerr.CoordinatorLoadInProgress.Code
	}
	return p.groups, 0
}

// Committed is the offset that a group which is coordinated here has committed for a partition.
func (b *Broker) Committed(id, topic string, partition int32) (event.Offset, bool) {
	c, code := b.coordinator(id)
	if code != 0 {
		return 0, false
	}
	committed, ok := c.Offset(id, group.Partition{Topic: topic, Index: partition})
	return event.Offset(committed.Offset), ok
}

// GroupMembers lists the members of a group which is coordinated here, and tells its generation.
func (b *Broker) GroupMembers(id string) (members []string, generation int32, ok bool) {
	c, code := b.coordinator(id)
	if code != 0 {
		return nil, 0, false
	}
	return c.Members(id)
}

// groupClient is who a request comes from, as groups remember it.
func (b *Broker) groupClient(call *world.Call, r *Request) group.Client {
	return group.Client{ID: r.ClientID, Host: "/" + b.client(call.From).host}
}
