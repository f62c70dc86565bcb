package explain

import (
	"fmt"
	"slices"

	"highwater/cluster/event"
	"highwater/cluster/record"
	"highwater/viz/model"
)

// Record names one record. Two records can have been at one offset, in different leader epochs.
type Record struct {
	Topic     string       `json:"topic"`
	Partition int32        `json:"partition"`
	Offset    event.Offset `json:"offset,string"`
	Epoch     event.Epoch  `json:"epoch"` // AnyEpoch: the newest that was appended there
	// TopicID tells topics of one name apart; empty: the one that is there, or else the last one.
	TopicID string `json:"topicId"`
}

// AnyEpoch asks for the newest record at an offset.
const AnyEpoch event.Epoch = -1

// The named fates of a record.
const (
	FateNotYet       = "not yet"
	FateCommitted    = "committed"
	FateUnknown      = "unknown to the client"
	FateDuplicate    = "duplicate suppressed"
	FateTruncated    = "lost by truncation"
	FateRecovery     = "lost by recovery"
	FateCompacted    = "compacted"
	FateDeleted      = "deleted"
	FateTopicDeleted = "deleted with its topic"
	FateAborted      = "aborted"
	FateMarker       = "a marker, no record"
	FateBelow        = "below the high watermark" // and what it is, or became, is not known
	FateUnrecorded   = "not recorded"
)

// Passport is the way of one record, as far as it had come at one event.
type Passport struct {
	Record
	Seq event.Seq `json:"seq,string"`
	// Known says that a kept event tells of the record.
	Known bool   `json:"known"`
	Key   string `json:"key"`
	Value string `json:"value"`
	// Hash is murmur2 of the key, as a signed number like Kafka's; null without a whole key.
	Hash       *int32 `json:"hash"`
	Partitions int    `json:"partitions"`
	Copies     []Copy `json:"copies"`
	// Steps are in the order in which they happened.
	Steps []Step `json:"steps"`
	// Fate is the name, Epoch and Offset in FateText say where it was sealed.
	Fate     string     `json:"fate"`
	FateText string     `json:"fateText"`
	FateSeq  event.Seq  `json:"fateSeq,string"`
	NotYet   []Sentence `json:"notYet"`
	From     event.Seq  `json:"from,string"`
}

// Copy is the record on one replica.
type Copy struct {
	Node event.NodeID `json:"node"`
	// Appended to Gone are events, 0 while they have not happened.
	Appended event.Seq `json:"appended,string"`
	Below    event.Seq `json:"below,string"` // this replica's high watermark passed the record
	Gone     event.Seq `json:"gone,string"`
	Holds    bool      `json:"holds"`
	OnDisk   bool      `json:"onDisk"`
	// Unpowered says that its broker's page cache is gone, with what was only there, and that the log
	// has not been opened since.
	Unpowered bool `json:"unpowered"`
}

// Step is one station of the way.
type Step struct {
	Kind string       `json:"kind"` // key, sent, appended, below-hw, committed, acked, …
	Who  string       `json:"who"`
	Node event.NodeID `json:"node"`
	Sentence
}

// PassportOf tells the way of a record up to an event.
func PassportOf(src Source, of Record, at event.Seq) (*Passport, error) {
	s, err := src.State(at)
	if err != nil {
		return nil, err
	}
	var p *Passport
	if isThere(s, of) {
		if p, err = passportOf(src, of, at); err != nil || p.Fate != FateUnrecorded {
			return p, err
		}
	}
	deletion, err := deletionOf(src, of, at)
	switch {
	case err != nil:
		return nil, err
	case deletion == nil && p == nil:
		return nil, unknown("there is no partition %s-%d at event %d", of.Topic, of.Partition, at)
	case deletion == nil:
		return p, nil
	}
	former, err := passportOf(src, of, deletion.Seq-1)
	if err != nil || p != nil && former.Fate == FateUnrecorded {
		return p, err
	}
	former.bury(deletion, at)
	return former, nil
}

// name is what sentences call the record.
func (p *Passport) name() string {
	if p.Key == "" {
		return say("offset %d", p.Offset)
	}
	return p.Key
}

// isThere says whether the topic that is meant exists.
func isThere(s *model.State, of Record) bool {
	t := s.Topic(of.Topic)
	return t != nil && !t.Deleted && s.Partition(of.Topic, of.Partition) != nil &&
		(of.TopicID == "" || t.TopicID == "" || t.TopicID == of.TopicID)
}

// deletionOf finds the newest deletion of the topic that is meant, nil for none.
func deletionOf(src Source, of Record, at event.Seq) (deletion *fact, err error) {
	_, err = scan(src, at, func(f *fact) {
		if f.Kind != event.KindTopicDeleted {
			return
		}
		e := f.chunk.TopicDeleted(f.Record)
		if e.Topic == of.Topic && (of.TopicID == "" || e.TopicID == of.TopicID) {
			deletion = f
		}
	})
	return deletion, err
}

// bury adds that the topic was deleted, and with it what it still held of the record.
func (p *Passport) bury(deletion *fact, at event.Seq) {
	p.Seq, p.NotYet = at, []Sentence{}
	p.Steps = append(p.Steps, Step{Kind: "topic-deleted", Who: p.Topic, Node: deletion.Node,
		Sentence: because(deletion, event.RuleNone, "The topic %s is deleted.", p.Topic)})
	isHeld := false
	for i := range p.Copies {
		if c := &p.Copies[i]; c.Holds {
			c.Holds, c.OnDisk, c.Gone, isHeld = false, false, deletion.Seq, true
		}
	}
	if isHeld && p.Fate != FateUnrecorded && p.Fate != FateTruncated {
		p.end(FateTopicDeleted, deletion, "%s is deleted with its topic, %s. Until then: %s", p.name(),
			p.Topic, p.FateText)
	}
}

// passportOf is PassportOf of a record whose topic exists at the event.
func passportOf(src Source, of Record, at event.Seq) (*Passport, error) {
	w, from, err := witnessOf(src, of.Topic, of.Partition, at)
	if err != nil {
		return nil, err
	}
	if of.Epoch == AnyEpoch {
		if of.Epoch, err = newestEpoch(src, w, of, at); err != nil {
			return nil, err
		}
	}
	topic := w.state.Topic(of.Topic)
	of.TopicID = topic.TopicID
	j, err := newJourneyFrom(src, w.state, of, from)
	if err != nil {
		return nil, err
	}
	if _, err := scan(src, at, j.see); err != nil {
		return nil, err
	}
	j.nature = j.natureOf(w)
	p := &Passport{Record: of, Seq: at, From: from, Known: j.known(), Key: j.key, Value: j.value,
		Partitions: partitionsOf(topic), Copies: []Copy{}, Steps: j.steps(w), NotYet: []Sentence{}}
	if j.described != nil && j.hasKey {
		hash := int32(record.KeyHash([]byte(j.key)))
		p.Hash = &hash
		p.addKeyStep(j)
	}
	p.Copies = j.copiesOf(w)
	p.seal(j, w)
	if !j.nature.known && p.Fate == FateUnrecorded {
		p.Copies = []Copy{} // who holds it is not known either
	}
	return p, nil
}

// partitionsOf counts what the metadata log knows of a topic. A broker that was down may still hold
// replicas of a former topic of this name that had more.
func partitionsOf(t *model.Topic) int {
	n := 0
	for _, p := range t.Partitions {
		if p.Known {
			n++
		}
	}
	if n == 0 {
		return len(t.Partitions) // nothing of the metadata log is recorded
	}
	return n
}

// newestEpoch finds in which epoch the record at an offset was appended last.
func newestEpoch(src Source, w *witness, of Record, at event.Seq) (event.Epoch, error) {
	epoch := AnyEpoch
	_, err := scan(src, at, func(f *fact) {
		if w.isAnother(f) {
			epoch = AnyEpoch
		}
		if f.Kind != event.KindBatchAppended {
			return
		}
		e := f.chunk.BatchAppended(f.Record)
		if w.isHere(e.Topic, e.Partition) && e.BaseOffset <= of.Offset && of.Offset <= e.LastOffset {
			epoch = max(epoch, e.LeaderEpoch)
		}
	})
	if epoch != AnyEpoch {
		return epoch, err
	}
	for _, l := range w.partition.Logs {
		for _, known := range l.Epochs {
			if known.StartOffset <= of.Offset && of.Offset < l.LogEndOffset {
				epoch = max(epoch, known.Epoch)
			}
		}
	}
	return max(epoch, 0), err
}

// addKeyStep tells what the producer did with the key, before all that it sent.
func (p *Passport) addKeyStep(j *journey) {
	step := p.keyStep(j)
	at := 0
	for at < len(p.Steps) && p.Steps[at].At < step.At {
		at++
	}
	p.Steps = slices.Insert(p.Steps, at, step)
}

func (p *Passport) keyStep(j *journey) Step {
	f := j.chosen()
	hash := *p.Hash & 0x7fffffff
	n := int32(max(1, p.Partitions))
	how := say("modulo %d it is partition %d", n, hash%n)
	if hash%n != p.Partition {
		how += ", so the producer chose partition " + fmt.Sprint(p.Partition) + " otherwise"
	}
	return Step{Kind: "key", Who: p.Key, Node: f.Node,
		Sentence: because(f, event.RuleNone, "The key %s hashes to %d (murmur2 %d "+
			"without its sign bit); %s.", p.Key, hash, *p.Hash, how)}
}

// Find looks for the newest record with a key, at or before an event.
func Find(src Source, key string, at event.Seq) (Record, error) {
	found, ok := Record{Epoch: AnyEpoch}, false
	var batch *fact
	_, err := scan(src, at, func(f *fact) {
		switch f.Kind {
		case event.KindBatchAppended:
			batch = f
		case event.KindTopicDeleted:
			if e := f.chunk.TopicDeleted(f.Record); e.Topic == found.Topic && found.TopicID == "" {
				found.TopicID = e.TopicID
			}
		case event.KindRecordDescribed:
			e := f.chunk.RecordDescribed(f.Record)
			if e.KeyBytes < 0 || e.Key != key {
				return
			}
			found = Record{Topic: e.Topic, Partition: e.Partition, Offset: e.Offset, Epoch: AnyEpoch}
			if batch != nil {
				found.Epoch = batch.chunk.BatchAppended(batch.Record).LeaderEpoch
			}
			ok = true
		}
	})
	if err == nil && !ok {
		err = unknown("no kept event tells of a record with the key %q", key)
	}
	return found, err
}

// holds says whether a replica has the record and not another one at its offset.
func holds(l *model.Log, of Record) bool {
	return of.Epoch >= 0 && epochIn(l, of.Offset) == of.Epoch
}

// epochIn is the leader epoch of what a log holds at an offset, -1 where it holds nothing.
func epochIn(l *model.Log, offset event.Offset) (epoch event.Epoch) {
	if l == nil || offset >= l.LogEndOffset || offset < l.LogStartOffset ||
		model.Tells(l.Holes, offset) {
		return -1
	}
	for _, b := range l.Batches.Items() {
		if b.BaseOffset <= offset && offset <= b.LastOffset {
			return b.LeaderEpoch
		}
	}
	epoch = -1
	for _, e := range l.Epochs {
		if e.StartOffset <= offset {
			epoch = e.Epoch
		}
	}
	return epoch
}
