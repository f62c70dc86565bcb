package hub

import (
	"fmt"

	"highwater/cluster/event"
	"highwater/viz/model"
)

// recorder keeps the newest events in groups. Each group knows the state before its first event, so
// that dropping the oldest group leaves a right beginning, and seeking folds one group at most.
type recorder struct {
	groups      []*group // oldest first; the last one is being filled
	groupEvents int      // how many events fill a group
	groupsMax   int
	dropped     int64 // events that are no longer kept
	spare       *group
	links       []slots // by kind
}

// group is a run of events without gaps. Its records are copied out of the loop's chunks: those
// are small and come back to the loop at once, so that a quiet world does not keep their slack.
type group struct {
	before *model.State // folded up to just before the first event
	events event.Chunk
	known  knownTexts
}

// slots names the slots of a kind that point into a chunk.
type slots struct{ texts, lists []uint8 }

func newRecorder(eventsMax int, begin *model.State) *recorder {
	const groupsKept = 16
	r := &recorder{groupEvents: max(1, eventsMax/(groupsKept+1)), groupsMax: groupsKept + 1}
	r.links = make([]slots, len(event.Rows())+1)
	for _, row := range event.Rows() {
		for i, f := range row.Fields {
			switch f.Type {
			case event.Text:
				r.links[row.Kind].texts = append(r.links[row.Kind].texts, uint8(i))
			case event.Nodes:
				r.links[row.Kind].lists = append(r.links[row.Kind].lists, uint8(i))
			}
		}
	}
	r.groups = []*group{{before: begin.Clone()}}
	return r
}

// room says how many more events fit into the group being filled.
func (r *recorder) room() int {
	return r.groupEvents - len(r.groups[len(r.groups)-1].events.Records)
}

// next begins a new group at this state and drops the oldest beyond the bound.
func (r *recorder) next(now *model.State) {
	g := r.spare
	r.spare = nil
	if g == nil {
		g = &group{events: event.Chunk{Records: make([]event.Record, 0, r.groupEvents)}}
	}
	g.before = now.Clone()
	r.groups = append(r.groups, g)
	if len(r.groups) <= r.groupsMax {
		return
	}
	oldest := r.groups[0]
	copy(r.groups, r.groups[1:])
	r.groups = r.groups[:len(r.groups)-1]
	r.dropped += int64(len(oldest.events.Records))
	oldest.events.Reset()
	oldest.known = knownTexts{}
	oldest.before = nil
	r.spare = oldest
}

// add copies a run of a chunk's records, at most as many as there is room for.
func (r *recorder) add(c *event.Chunk, records []event.Record) {
	g := r.groups[len(r.groups)-1]
	r.copyInto(&g.events, c, records, &g.known)
}

// copyInto appends records of the chunk from to another chunk, with what they point to. The same
// few topics and APIs come again and again: known finds most of their texts in the chunk already.
func (r *recorder) copyInto(to, from *event.Chunk, records []event.Record, known *knownTexts) {
	at := len(to.Records)
	to.Records = append(to.Records, records...)
	for i := at; i < len(to.Records); i++ {
		record := &to.Records[i]
		if int(record.Kind) >= len(r.links) {
			continue
		}
		links := &r.links[record.Kind]
		for _, slot := range links.texts {
			if v := record.Values[slot]; v > 0 {
				record.Values[slot] = known.add(to, from.Text(v))
			}
		}
		for _, slot := range links.lists {
			if v := record.Values[slot]; v > 0 {
				to.Lists = append(to.Lists, from.List(v))
				record.Values[slot] = int64(len(to.Lists))
			}
		}
	}
}

// knownTexts remembers where in a chunk a text was put last, by a cheap hash; a miss only costs
// a second copy of a text.
type knownTexts [128]int32

func (k *knownTexts) add(c *event.Chunk, text string) int64 {
	if text == "" {
		return 0
	}
	n := len(text)
	at := &k[(n*31+int(text[0])+int(text[n-1])*7)&(len(k)-1)]
	if *at > 0 && c.Texts[*at-1] == text {
		return int64(*at)
	}
	c.Texts = append(c.Texts, text)
	*at = int32(len(c.Texts))
	return int64(*at)
}

// first is the seq of the oldest event kept; it is above last when there is none.
func (r *recorder) first() event.Seq { return r.groups[0].before.Seq + 1 }

// groupOf finds the group that holds an event.
func (r *recorder) groupOf(seq event.Seq) *group {
	for i := len(r.groups) - 1; i >= 0; i-- {
		if r.groups[i].before.Seq < seq {
			return r.groups[i]
		}
	}
	return nil
}

// from returns the records of one group from seq on.
func (g *group) from(seq event.Seq) []event.Record {
	at := min(int(seq-g.before.Seq-1), len(g.events.Records))
	return g.events.Records[at:]
}

// NotKeptError says that an event left the recording.
type NotKeptError struct{ Seq, First, Last event.Seq }

func (e *NotKeptError) Error() string {
	return fmt.Sprintf("hub: event %d is not kept; the recording has %d to %d", e.Seq, e.First, e.Last)
}
