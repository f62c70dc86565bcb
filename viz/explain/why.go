package explain

import (
	"fmt"
	"slices"

	"highwater/cluster/event"
	"highwater/viz/model"
)

// Question asks about one value of one partition at one moment.
type Question struct {
	Of        string // one of Subjects
	Topic     string
	Partition int32
	At        event.Seq
}

// Answer says what a value is, why it is that, and why it is not more or other yet.
type Answer struct {
	Of        string     `json:"of"`
	Topic     string     `json:"topic"`
	Partition int32      `json:"partition"`
	Seq       event.Seq  `json:"seq,string"`
	Title     string     `json:"title"`
	Why       []Sentence `json:"why"`
	// NotYet is empty when nothing is missing.
	NotYet []Sentence `json:"notYet"`
	// From is the oldest event that was looked at.
	From event.Seq `json:"from,string"`
}

// subject is one thing that can be asked about.
type subject struct {
	name, help string
	answer     func(*witness, *Answer)
}

func subjects() []subject {
	return []subject{
		{"hw", "the high watermark", (*witness).whyHighWatermark},
		{"lso", "the last stable offset", (*witness).whyLastStable},
		{"leo", "the leader's log end offset", (*witness).whyLogEnd},
		{"isr", "the in-sync replicas", (*witness).whyIsr},
		{"leader", "the leader", (*witness).whyLeader},
		{"ack", "produces that wait for their acknowledgement", (*witness).whyAck},
		{"fetch", "fetches that wait for records", (*witness).whyFetch},
	}
}

// Subjects names what can be asked about.
func Subjects() []string {
	var names []string
	for _, s := range subjects() {
		names = append(names, s.name)
	}
	return names
}

// UnknownError says that there is nothing of that name to explain.
type UnknownError struct{ text string }

func (e *UnknownError) Error() string { return e.text }

func unknown(format string, args ...any) error {
	return &UnknownError{fmt.Sprintf(format, args...)}
}

// Why answers a question from a recording.
func Why(src Source, q Question) (*Answer, error) {
	all := subjects()
	at := slices.IndexFunc(all, func(s subject) bool { return s.name == q.Of })
	if at < 0 {
		return nil, unknown("%q cannot be explained; there are %v", q.Of, Subjects())
	}
	w, from, err := witnessOf(src, q.Topic, q.Partition, q.At)
	if err != nil {
		return nil, err
	}
	a := &Answer{Of: q.Of, Topic: q.Topic, Partition: q.Partition, Seq: q.At, From: from,
		Why: []Sentence{}, NotYet: []Sentence{}}
	all[at].answer(w, a)
	return a, nil
}

func witnessOf(src Source, topic string, index int32, at event.Seq) (*witness, event.Seq, error) {
	s, err := src.State(at)
	if err != nil {
		return nil, 0, err
	}
	p := s.Partition(topic, index)
	if p == nil {
		return nil, 0, unknown("there is no partition %s-%d at event %d", topic, index, at)
	}
	if s.Topic(topic).Deleted {
		return nil, 0, unknown("the topic %s is deleted at event %d; its logs go when their brokers "+
			"are back", topic, at)
	}
	w := newWitness(s, p)
	from, err := scan(src, at, w.see)
	return w, from, err
}

func (w *witness) name() string { return fmt.Sprintf("%s-%d", w.partition.Topic, w.partition.Index) }

// who names somebody, also a client that has left.
func (w *witness) who(id event.NodeID) string {
	if name := w.names[id]; name != "" {
		return name
	}
	return naming(w.state, id)
}

// leading is the leader's replica as long as its node lives, nil otherwise.
func (w *witness) leading() *model.Log {
	l := w.partition.Log(w.partition.Leader)
	if l == nil || l.Role != "leader" {
		return nil
	}
	return l
}

// teller adds a sentence to an answer: its why, or its notYet.
type teller func(f *fact, rule event.Rule, format string, args ...any)

func (a *Answer) why(f *fact, rule event.Rule, format string, args ...any) {
	a.Why = append(a.Why, because(f, rule, format, args...))
}

func (a *Answer) notYet(f *fact, rule event.Rule, format string, args ...any) {
	a.NotYet = append(a.NotYet, because(f, rule, format, args...))
}

// noLeader says why nobody leads, or why the one who should does not; it reports whether that is so.
func (w *witness) noLeader(a *Answer) bool {
	if w.leading() != nil {
		return false
	}
	id := w.partition.Leader
	if id == event.NoNode {
		a.notYet(w.leader, event.RuleNoLeader, "%s has no leader, so nobody moves its values.",
			w.name())
		w.candidates(a)
		w.noController(a)
		return true
	}
	if n := w.state.Node(id); n == nil || !n.Alive {
		w.absence(a, id, "leads "+w.name()+" on paper")
		w.noController(a)
		return true
	}
	a.notYet(w.leader, event.RuleLeaderEpochBump,
		"%s has been elected and has not replayed that metadata record yet.", capital(w.who(id)))
	return true
}

// absence says how a node is not there, and when the cluster will notice.
func (w *witness) absence(a *Answer, id event.NodeID, role string) {
	n, who := w.state.Node(id), capital(w.who(id))
	switch {
	case n == nil:
	case !n.Alive:
		a.notYet(w.last(event.KindNodeStopped, id), event.RuleNone, "%s %s and is gone (%s) since %s.",
			who, role, n.Stopped, clock(n.StoppedAt))
		w.fencing(a, n)
	case n.Paused:
		f, what := w.standing(n)
		a.notYet(f, event.RuleNone, "%s %s and %s: it handles nothing.", who, role, what)
		w.fencing(a, n)
	}
}

// standing says why a node that is there handles nothing: somebody paused it, or its disk hangs.
func (w *witness) standing(n *model.Node) (*fact, string) {
	if n.DiskFault == diskHung {
		return w.last(event.KindDiskFaultSet, n.ID), "waits for its disk"
	}
	return w.last(event.KindNodePaused, n.ID), "is paused"
}

// diskHung is the fault of a disk that answers nothing; its node stands still as a paused one does.
const diskHung = "hung"

// noController says that nobody is there who could elect a leader.
func (w *witness) noController(a *Answer) {
	isActive := func(n *model.Node) bool { return n.Alive && !n.Paused && n.State == "leader" }
	if !slices.ContainsFunc(w.state.Nodes, isActive) {
		a.notYet(nil, event.RuleNone, "No controller is active that could elect another leader.")
	}
}

// fencing says when a silent broker will be fenced at the latest.
func (w *witness) fencing(a *Answer, n *model.Node) {
	if n.Fenced {
		f := w.last(event.KindBrokerFenced, n.ID)
		a.notYet(f, event.RuleSessionTimeout, "%s is fenced.", capital(w.who(n.ID)))
		return
	}
	name := fmt.Sprintf("broker-session-%d", n.ID)
	w.state.Timers.Each(func(t *model.Timer) {
		if t.Name == name && t.Due >= w.state.At {
			a.notYet(newer(w.last(event.KindNodeStopped, n.ID), w.last(event.KindNodePaused, n.ID)),
				event.RuleSessionTimeout, "The session of %s ends in %s, at %s, unless it is heard "+
					"of before; then it is fenced.", w.who(n.ID), span(t.Due-w.state.At), clock(t.Due))
		}
	})
}
