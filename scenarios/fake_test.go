package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"highwater/cluster/broker"
	"highwater/cluster/client"
	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/record"
)

// fakeCluster is a cluster of tables: faults only write down that they happened.
type fakeCluster struct {
	did      []string
	programs []string
	down     map[event.NodeID]bool
	isr      []event.NodeID
	hw       event.Offset
}

func (f *fakeCluster) note(format string, args ...any) error {
	f.did = append(f.did, fmt.Sprintf(format, args...))
	return nil
}

func (f *fakeCluster) Brokers() []event.NodeID     { return []event.NodeID{1, 2, 3} }
func (f *fakeCluster) Controllers() []event.NodeID { return []event.NodeID{101, 102, 103} }

func (f *fakeCluster) Kill(id event.NodeID) error {
	if f.down[id] {
		return errors.New("broker 3 is down")
	}
	f.down[id] = true
	return f.note("kill %d", id)
}

func (f *fakeCluster) PowerCut(id event.NodeID) error { return f.note("power-cut %d", id) }
func (f *fakeCluster) Stop(id event.NodeID) error     { return f.note("stop %d", id) }
func (f *fakeCluster) Pause(id event.NodeID) error    { return f.note("pause %d", id) }
func (f *fakeCluster) Resume(id event.NodeID) error   { return f.note("resume %d", id) }
func (f *fakeCluster) HealAll() error                 { return f.note("heal all") }

func (f *fakeCluster) Restart(id event.NodeID) error {
	delete(f.down, id)
	return f.note("restart %d", id)
}

func (f *fakeCluster) Cut(a, b event.NodeID, both bool) error {
	return f.note("cut %d %d %t", a, b, both)
}

func (f *fakeCluster) Heal(a, b event.NodeID, both bool) error {
	return f.note("heal %d %d %t", a, b, both)
}

func (f *fakeCluster) Delay(a, b event.NodeID, both bool, d time.Duration) error {
	return f.note("delay %d %d %t %v", a, b, both, d)
}

func (f *fakeCluster) DiskFault(id event.NodeID, fault disk.Fault) error {
	return f.note("disk %d %v %v", id, fault.Kind, fault.Delay)
}

func (f *fakeCluster) Clock(id event.NodeID, offset time.Duration, rate int32) error {
	return f.note("clock %d %v %d", id, offset, rate)
}

func (f *fakeCluster) PartitionCount(topic string) int {
	if topic == "t" {
		return 1
	}
	return 0
}

func (f *fakeCluster) has(topic string, partition int32) bool {
	return int(partition) < f.PartitionCount(topic)
}

func (f *fakeCluster) Isr(topic string, p int32) ([]event.NodeID, bool) {
	return f.isr, f.has(topic, p)
}

func (f *fakeCluster) Elr(topic string, p int32) ([]event.NodeID, bool) {
	return nil, f.has(topic, p)
}

func (f *fakeCluster) Leader(topic string, p int32) (event.NodeID, bool) {
	return 2, f.has(topic, p)
}

func (f *fakeCluster) LeaderEpoch(topic string, p int32) (event.Epoch, bool) {
	return 5, f.has(topic, p)
}

func (f *fakeCluster) HighWatermark(topic string, p int32) (event.Offset, bool) {
	return f.hw, f.has(topic, p)
}

func (f *fakeCluster) Stored(event.NodeID, string, int32) ([]string, bool) {
	return []string{"first"}, true
}

func (f *fakeCluster) HighWatermarkOn(id event.NodeID, topic string, p int32) (event.Offset, bool) {
	return f.hw - 1, f.has(topic, p) && !f.down[id]
}

func (f *fakeCluster) LogEndOffset(id event.NodeID, topic string, p int32) (event.Offset, bool) {
	return f.hw + 1, f.has(topic, p) && !f.down[id]
}

func (f *fakeCluster) LogEndOffsetOfLeader(topic string, p int32) (event.Offset, bool) {
	return f.hw + 1, f.has(topic, p)
}

func (f *fakeCluster) Clean(
	id event.NodeID, topic string, p int32, done func(broker.CleaningReport),
) error {
	f.did = append(f.did, fmt.Sprintf("clean %d %s-%d", id, topic, p))
	done(broker.CleaningReport{Outcome: "cleaned", RecordsBefore: 183, RecordsAfter: 6})
	return nil
}

func (f *fakeCluster) Retain(topic string, p int32) []event.NodeID {
	f.did = append(f.did, fmt.Sprintf("retain %s-%d", topic, p))
	return []event.NodeID{1, 2}
}

func (f *fakeCluster) Replicas(string, int32) []event.NodeID { return []event.NodeID{2, 1} }

func (f *fakeCluster) Segments(id event.NodeID, topic string, p int32) ([]event.Offset, bool) {
	return []event.Offset{0, event.Offset(id)}, f.has(topic, p) && !f.down[id]
}

func (f *fakeCluster) LogStartOffset(id event.NodeID, topic string, p int32) (event.Offset, bool) {
	return event.Offset(id) * 10, f.has(topic, p) && !f.down[id]
}

func (f *fakeCluster) FirstDirtyOffset(
	id event.NodeID, topic string, p int32,
) (event.Offset, bool) {
	return event.Offset(id) * 100, f.has(topic, p) && !f.down[id]
}

func (f *fakeCluster) LastStableOffset(topic string, p int32) (event.Offset, bool) {
	return f.hw - 2, f.has(topic, p)
}

func (f *fakeCluster) LastStableOffsetOn(id event.NodeID, topic string, p int32) (
	event.Offset, bool) {
	return f.hw - 3, f.has(topic, p) && !f.down[id]
}

func (f *fakeCluster) TransactionState(id string) (string, bool) { return "Ongoing", id == "billing" }

func (f *fakeCluster) Controller() (event.NodeID, bool) { return 102, true }
func (f *fakeCluster) Alive(id event.NodeID) bool       { return !f.down[id] }
func (f *fakeCluster) Serves() bool                     { return true }
func (f *fakeCluster) Stopping(event.NodeID) bool       { return false }
func (f *fakeCluster) Fenced(id event.NodeID) bool      { return f.down[id] }
func (f *fakeCluster) Topics() []string                 { return []string{"t"} }

// fakeWorld is virtual time and a client in it that answers at once from what it was given.
type fakeWorld struct {
	cluster *fakeCluster
	now     time.Duration
	timers  []fakeTimer
	cause   event.Seq
	sent    []client.SendRequest
	result  client.SendResult
	values  []string
	code    int16
}

type fakeTimer struct {
	due time.Duration
	f   func()
}

func newFake() (*fakeWorld, *Executor) {
	w := &fakeWorld{cluster: &fakeCluster{down: map[event.NodeID]bool{},
		isr: []event.NodeID{1, 2, 3}, hw: 7}}
	return w, New(Config{Cluster: w.cluster, Client: func() Client { return w }, Now: w.Now})
}

func (w *fakeWorld) Now() time.Duration      { return w.now }
func (w *fakeWorld) Because(cause event.Seq) { w.cause = cause }

func (w *fakeWorld) After(d time.Duration, f func()) {
	w.timers = append(w.timers, fakeTimer{w.now + d, f})
}

func (w *fakeWorld) Publish() {}

func (w *fakeWorld) RunWhile(condition func() bool, until time.Duration) bool {
	for condition() {
		first := -1
		for i, t := range w.timers {
			if first < 0 || t.due < w.timers[first].due {
				first = i
			}
		}
		if first < 0 || w.timers[first].due > until {
			w.now = until
			return !condition()
		}
		t := w.timers[first]
		w.timers = slices.Delete(w.timers, first, first+1)
		w.now = t.due
		t.f()
	}
	return true
}

func (w *fakeWorld) Send(r client.SendRequest, done func(client.SendResult)) {
	w.sent = append(w.sent, r)
	done(w.result)
}

func (w *fakeWorld) Read(r client.ReadRequest, done func(client.ReadResult)) {
	result := client.ReadResult{HighWatermark: int64(len(w.values)), Code: w.code}
	for i, v := range w.values {
		result.Records = append(result.Records, client.Record{Offset: int64(i), Value: &v})
	}
	done(result)
}

func (w *fakeWorld) CreateTopic(r client.TopicRequest, done func(client.AdminResult)) {
	_ = w.cluster.note("create %+v", r)
	done(client.AdminResult{Code: w.code})
}

func (w *fakeWorld) DeleteTopic(name string, done func(client.AdminResult)) {
	_ = w.cluster.note("delete %s", name)
	done(client.AdminResult{Code: w.code})
}

func (w *fakeWorld) AlterTopic(name string, s []client.Setting, done func(client.AdminResult)) {
	_ = w.cluster.note("alter %s %v", name, s)
	done(client.AdminResult{Code: w.code})
}

func (w *fakeWorld) Elect(topic string, p int32, unclean bool, done func(client.AdminResult)) {
	_ = w.cluster.note("elect %s-%d %t", topic, p, unclean)
	done(client.AdminResult{Code: w.code})
}

// The named clients of a fake cluster are names only: nobody of them runs.

func (f *fakeCluster) Programs() []string { return slices.Clone(f.programs) }

func (f *fakeCluster) Named(name string) (event.NodeID, bool) {
	at := slices.Index(f.programs, name)
	return event.NodeID(1002 + at), at >= 0
}

func (f *fakeCluster) AddProducer(name string, config client.ProducerConfig) error {
	f.programs = append(f.programs, name)
	return f.note("producer %s acks=%d linger=%v", name, config.Acks, config.Linger)
}

func (f *fakeCluster) AddConsumer(name string, config client.ConsumerConfig) error {
	f.programs = append(f.programs, name)
	return f.note("consumer %s %v group=%s", name, config.Topics, config.Group)
}

func (f *fakeCluster) Producer(string) *client.Producer { return nil }
func (f *fakeCluster) Consumer(string) *client.Consumer { return nil }

func (f *fakeCluster) CloseProgram(id event.NodeID, done func()) error {
	done()
	return f.note("close %d", id)
}

func (f *fakeCluster) Committed(group, topic string, p int32) (int64, bool) {
	return 3, group == "billing" && f.has(topic, p)
}

func (f *fakeCluster) GroupMembers(group string) ([]string, int32, bool) {
	return []string{"a", "b"}, 7, group == "billing"
}

func (f *fakeCluster) LogBytes(topic string, p int32) (int64, bool) { return 123, f.has(topic, p) }
func (f *fakeCluster) BatchCount(topic string, p int32) (int, bool) { return 2, f.has(topic, p) }

func (f *fakeCluster) FileBytes(topic string, p int32, name string) (int64, bool) {
	return 8, f.has(topic, p) && name == "leader-epoch-checkpoint"
}

// BatchOfLeader is a marker that commits, at offset 0.
func (f *fakeCluster) BatchOfLeader(topic string, p int32, at event.Offset) ([]byte, bool) {
	batch := record.EndTxnMarker(record.Marker{ProducerID: 7, ProducerEpoch: 1, Commit: true})
	return batch, f.has(topic, p) && at == 0
}

func (f *fakeCluster) ProducerState(string, int32, int64) (int32, event.Offset, bool) {
	return 0, 0, false
}

func (f *fakeCluster) ProgramRole(string) string { return "consumer" }

func (f *fakeCluster) Paused(event.NodeID) bool { return false }

func (f *fakeCluster) Fate(id event.NodeID) string {
	if f.down[id] {
		return "was killed at 1s"
	}
	return ""
}

func (f *fakeCluster) Guard(_ event.NodeID, run func()) { run() }
