package scenarios

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"highwater/cluster"
	"highwater/cluster/client"
	"highwater/cluster/event"
	"highwater/viz/audit"
)

// misfortune gives commands by dice: all of the faults befall all of the nodes, while clients write
// and topics come. What was acknowledged, or committed, must be there in the end.
type misfortune struct {
	t    *testing.T
	c    *cluster.Cluster
	e    *Executor
	dice *rand.Rand
	text bytes.Buffer // what was done, as a scenario's commands

	acknowledged, aborted []string
	open                  []string // records of the open transaction
	lacking               bool     // one of them failed
	dark                  bool     // power was cut
	topics                []string
}

// give gives a command and does not wait for its end.
func (m *misfortune) give(ended func(err *Error), format string, args ...any) {
	command := fmt.Sprintf(format, args...)
	fmt.Fprintln(&m.text, command)
	m.e.Execute(command, "test", func(_ Result, err *Error) {
		if err != nil && err.Kind == Input && !strings.Contains(err.Message, "topic") {
			m.t.Errorf("%s: %v", command, err)
		}
		if ended != nil {
			ended(err)
		}
	})
}

func (m *misfortune) sleep(d time.Duration) {
	fmt.Fprintf(&m.text, "sleep %v\n", d)
	m.c.World().RunFor(d)
}

func (m *misfortune) pick(words ...string) string { return words[m.dice.IntN(len(words))] }

func (m *misfortune) node() string { return m.pick("1", "2", "3", "101", "102", "103") }

func (m *misfortune) act(i int) {
	value := fmt.Sprintf("v%d", i)
	kept := func(err *Error) {
		if err == nil {
			m.acknowledged = append(m.acknowledged, value)
		}
	}
	switch m.dice.IntN(20) {
	case 0, 1, 2:
		m.give(kept, "send a value=%s idempotent=true timeout=%s", value, m.pick("2s", "20s"))
	case 3:
		m.give(nil, "send keyed key=k{n} value=%s times=%d", value, 1+m.dice.IntN(30))
	case 4, 5:
		m.give(kept, "send a value=%s by=p times=%s", value, m.pick("1", "30"))
	case 6, 7, 8:
		m.give(func(err *Error) {
			if err != nil && (strings.Contains(err.Message, "INVALID_TXN_STATE") ||
				!strings.Contains(err.Message, "failed 1") &&
					!strings.Contains(err.Message, "unknown 1")) {
				return // it is no part of a transaction, or t was never told to send
			}
			m.open = append(m.open, value)
			m.lacking = m.lacking || err != nil
		}, "send a value=%s by=t", value)
	case 9:
		m.give(func(err *Error) {
			if err == nil {
				m.open, m.lacking = nil, false
			}
		}, "txn t begin")
	case 10, 11:
		m.give(m.committed, "txn t commit")
	case 12:
		m.give(func(err *Error) {
			if err == nil {
				m.aborted = append(m.aborted, m.open...)
				m.open = nil
			}
		}, "txn t abort")
	case 13:
		m.administer(i)
	default:
		m.fault()
	}
	if m.dice.IntN(3) > 0 {
		m.sleep(time.Duration(m.dice.IntN(30)) * time.Millisecond)
	} else {
		m.sleep(time.Duration(m.dice.IntN(12_000)) * time.Millisecond)
	}
}

// administer changes topics, of which those that were made must be there in the end.
func (m *misfortune) administer(i int) {
	name := fmt.Sprintf("n%d", i)
	other := m.pick(append(m.topics, "n0")...)
	switch m.dice.IntN(11) {
	case 8, 9:
		m.give(nil, "delete-topic again")
		m.give(nil, "topic again rf=3")
	case 10:
		m.give(nil, "send again value=%s times=%d acks=%s", name, 1+m.dice.IntN(9), m.pick("1", "all"))
	case 0, 1, 2, 3:
		m.give(func(err *Error) {
			if err == nil {
				m.topics = append(m.topics, name)
			}
		}, "topic %s rf=%s partitions=%s", name, m.pick("1", "3"), m.pick("1", "7", "40"))
	case 4:
		m.topics = slices.DeleteFunc(m.topics, func(t string) bool { return t == other })
		m.give(nil, "delete-topic %s", other)
	case 5:
		m.give(nil, "elect a-0 %s", m.pick("preferred", "preferred"))
	case 6:
		m.give(nil, "send %s value=x times=20", other)
	default:
		m.give(nil, "%s keyed-0", m.pick("clean", "retain"))
	}
}

func (m *misfortune) committed(err *Error) {
	if err != nil {
		return
	}
	if m.lacking {
		m.t.Errorf("a transaction was committed of whose records %v one failed", m.open)
	}
	m.acknowledged = append(m.acknowledged, m.open...)
	m.open, m.lacking = nil, false
}

func (m *misfortune) fault() {
	switch n := m.dice.IntN(16); {
	case n < 5:
		m.give(nil, "disk %s %s", m.node(),
			m.pick("full", "write-error", "sync-error", "read-error", "slow=5ms", "hung", "ok", "ok"))
	case n < 9:
		m.give(nil, "restart all")
	case n == 9 && m.dark:
		m.give(nil, "power-cut %s", m.node())
	case n < 11:
		m.give(nil, "%s %s", m.pick("kill", "stop", "restart"), m.node())
	case n < 13:
		m.give(nil, "%s %s", m.pick("pause", "resume", "resume"), m.node())
	case n == 13:
		if from, to := m.node(), m.node(); from != to {
			link := from + m.pick("-", ">") + to
			m.give(nil, "%s", m.pick("cut "+link, "heal "+link,
				"delay "+link+" "+m.pick("0s", "3ms", "400ms")))
		}
	case n == 14:
		m.give(nil, "heal all")
	default:
		m.give(nil, "clock %s offset=%s", m.node(), m.pick("2s", "-2s", "0s"))
	}
}

// mend ends all faults and waits until the cluster is whole again.
func (m *misfortune) mend() {
	m.give(nil, "heal all")
	for _, from := range []string{"1", "2", "3", "101", "102", "103"} {
		for _, to := range []string{"1", "2", "3", "101", "102", "103"} {
			if from != to {
				m.give(nil, "delay %s>%s 0s", from, to)
			}
		}
	}
	for _, id := range []int{1, 2, 3, 101, 102, 103} {
		m.give(nil, "disk %d ok", id)
		m.give(nil, "resume %d", id)
	}
	for range 3 { // a node may be on its way down, and wait for others
		m.sleep(20 * time.Second)
		m.give(nil, "restart all")
	}
	m.sleep(2 * time.Minute)
	for id := range event.NodeID(3) {
		if !m.c.Alive(id+1) || !m.c.Alive(id+101) {
			m.t.Errorf("broker %d or controller %d is down", id+1, id+101)
		}
	}
}

// whole checks that every partition is: all replicas are in sync and have all that there is.
func (m *misfortune) whole() {
	ends := map[string]event.Offset{}
	for round := range 2 {
		for _, topic := range m.c.Image().Topics() {
			for _, p := range topic.Partitions {
				name := fmt.Sprintf("%s-%d", topic.Name, p.Index)
				if isr, _ := m.c.Isr(topic.Name, p.Index); len(isr) != len(p.Replicas) {
					m.t.Errorf("of %v, which hold %s, only %v are in sync", p.Replicas, name, isr)
				}
				if round == 0 {
					ends[name], _ = m.c.LogEndOffset(p.Leader, topic.Name, p.Index)
					continue
				}
				for _, id := range p.Replicas {
					if hw, _ := m.c.HighWatermarkOn(id, topic.Name, p.Index); hw < ends[name] {
						m.t.Errorf("on broker %d the high watermark of %s is %d, want %d", id, name, hw,
							ends[name])
					}
				}
			}
		}
		m.sleep(5 * time.Second)
	}
}

// judge reads everything back.
func (m *misfortune) judge() {
	there, read := map[string]bool{}, map[string]string{}
	ended := false
	m.e.Execute("read a isolation=read_committed max=100000", "test", func(r Result, err *Error) {
		if ended = true; err != nil {
			m.t.Errorf("%+v", err)
			return
		}
		for _, record := range r.Value.(map[string]any)["records"].([]readValue) {
			there[*record.Value] = true
			read[record.Offset] = *record.Value
		}
	})
	m.sleep(time.Minute)
	if !ended {
		m.t.Error("topic a cannot be read")
		return
	}
	for _, value := range m.acknowledged {
		if !there[value] && !m.dark {
			m.t.Errorf("%s was acknowledged, and is gone", value)
		}
	}
	for _, value := range m.aborted {
		if there[value] {
			m.t.Errorf("%s was aborted, and is read", value)
		}
	}
	for _, name := range []string{"c", "d"} {
		for _, record := range m.c.Consumer(name).Seen() {
			if offset := fmt.Sprint(record.Offset); record.Topic == "a" && read[offset] == *record.Value {
				delete(read, offset)
			}
		}
	}
	if len(read) > 0 && !m.dark {
		m.t.Errorf("the group was not given %v", read)
	}
	for _, topic := range m.topics {
		if m.c.PartitionCount(topic) == 0 {
			m.t.Errorf("topic %s was made, and is gone", topic)
		}
	}
	for _, topic := range []string{"a", "again"} {
		first, _ := m.c.Stored(1, topic, 0)
		for id := range event.NodeID(2) {
			if other, _ := m.c.Stored(id+2, topic, 0); !reflect.DeepEqual(first, other) {
				m.t.Errorf("broker %d has other records of %s than broker 1", id+2, topic)
			}
		}
	}
}

// judged is a tracer that has the referee look on.
type judged struct {
	*tracer
	referee *audit.Auditor
}

func (j judged) Publish(full *event.Chunk) *event.Chunk {
	j.referee.Chunk(full)
	return j.tracer.Publish(full)
}

// play lets misfortune happen to a fresh cluster, and gives its trace.
func play(t *testing.T, seed uint64) (m *misfortune, recorded []byte) {
	t.Helper()
	sink := judged{newTracer(), audit.New()}
	s := &Scenario{Seed: seed}
	segment := ""
	if seed%3 == 0 { // answers and segments are full soon
		s.Settings = []client.Setting{{Name: "replica.fetch.response.max.bytes", Value: "500"}}
		segment = " internal.segment.bytes=1500"
	}
	c, err := Open(s, Options{Events: sink, Survive: true})
	if err != nil {
		t.Fatal(err)
	}
	m = &misfortune{t: t, c: c, e: Attach(c, nil, nil), dice: rand.New(rand.NewPCG(seed, 7)),
		dark: seed%2 == 0}
	m.sleep(2 * time.Second)
	m.give(nil, "topic a replicas=1,2,3 min.insync.replicas=2%s", segment)
	m.give(nil, "topic keyed rf=3 cleanup.policy=compact internal.segment.bytes=500 "+
		"min.cleanable.dirty.ratio=0.1")
	m.sleep(time.Second)
	m.give(nil, "producer p timeout=8s request.timeout.ms=2000")
	m.give(nil, "producer t transactional=tt timeout=8s request.timeout.ms=2000 max.block.ms=9000")
	m.give(nil, "consumer c topic=a group=g from=earliest isolation.level=read_committed "+
		"auto.commit.interval.ms=500")
	m.give(nil, "consumer d topic=a,keyed group=g from=earliest session.timeout.ms=6000")
	for i := range 40 {
		m.act(i)
	}
	m.mend()
	m.whole()
	m.judge()
	for _, v := range sink.referee.Violations() {
		t.Errorf("event %d breaks %s: %s", v.Seq, v.Promise, v.Text)
	}
	if broken := c.Broken(); broken != "" {
		t.Error(broken)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if sink.err != nil || sink.writer.Flush() != nil {
		t.Fatalf("the trace: %v", sink.err)
	}
	return m, sink.text.Bytes()
}

// A seed that fails prints what it did, which is a scenario but for commands that were refused.
// HIGHWATER_SEEDS is how many seeds there are.
func TestMisfortuneOfAllKindsBreaksNoPromise(t *testing.T) {
	seeds := uint64(24)
	if asked := os.Getenv("HIGHWATER_SEEDS"); asked != "" {
		n, err := strconv.ParseUint(asked, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		seeds = n
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			m, first := play(t, seed)
			if _, again := play(t, seed); !bytes.Equal(first, again) {
				t.Error(firstDifference(first, again))
			}
			if t.Failed() {
				t.Logf("seed: %d\n%s", seed, &m.text)
			}
		})
	}
}
