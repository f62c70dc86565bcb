package hub

import "highwater/cluster/event"

// pageEventsMax bounds a page. The loop writes into one while its events are still in the cache,
// and whoever reads is woken once a few of them are full.
const pageEventsMax = 4096

// page is a run of events without gaps, each with as many values as its kind has fields. The loop
// appends to the newest page; a copy of this struct shows what was there when it was made, and
// that never changes, whatever is appended later.
type page struct {
	first  event.Seq
	words  []int64 // of each event: when, its cause, who and what, and its values
	starts []int32 // where each event begins in words
	// pointed holds the texts and lists that values stand for, and no records.
	pointed event.Chunk
}

// headWords is how many words lie before an event's values.
const headWords = 3

// last is the seq of the page's last event; it is below first when there is none.
func (p *page) last() event.Seq { return p.first + event.Seq(len(p.starts)) - 1 }

// add appends a chunk's records, with what they point to. known finds most texts in the page
// already: the same few topics and APIs come again and again.
func (p *page) add(from *event.Chunk, records []event.Record, known *knownTexts) {
	for i := range records {
		r := &records[i]
		shape := shapeOf(r.Kind)
		at := len(p.words)
		p.starts = append(p.starts, int32(at))
		p.words = append(p.words, r.At, int64(r.Cause),
			int64(r.Node)<<32|int64(r.Kind)<<16|int64(r.Rule))
		p.words = append(p.words, r.Values[:shape.fields]...)
		shape.relink(&p.pointed, from, p.words[at+headWords:], known)
	}
}

// read takes one event apart.
func (p *page) read(i int, r *event.Record) {
	at, end := int(p.starts[i]), len(p.words)
	if i+1 < len(p.starts) {
		end = int(p.starts[i+1])
	}
	r.Seq = p.first + event.Seq(i)
	r.At, r.Cause = p.words[at], event.Seq(p.words[at+1])
	what := p.words[at+2]
	r.Node, r.Kind, r.Rule = event.NodeID(what>>32), event.Kind(what>>16), event.Rule(what)
	n := copy(r.Values[:], p.words[at+headWords:end])
	clear(r.Values[n:])
}

// empty makes the page's memory ready for events from first on.
func (p *page) empty(first event.Seq) page {
	p.pointed.Reset()
	return page{first: first, words: p.words[:0], starts: p.starts[:0], pointed: p.pointed}
}

// shape says which of a kind's values point into a chunk.
type shape struct {
	fields       int
	texts, lists []uint8
}

var shapes = makeShapes()

func makeShapes() []shape {
	shapes := make([]shape, len(event.Rows())+1)
	for _, row := range event.Rows() {
		s := &shapes[row.Kind]
		s.fields = len(row.Fields)
		for i, f := range row.Fields {
			switch f.Type {
			case event.Text:
				s.texts = append(s.texts, uint8(i))
			case event.Nodes:
				s.lists = append(s.lists, uint8(i))
			}
		}
	}
	return shapes
}

func shapeOf(kind event.Kind) *shape { return &shapes[kind] }

// relink makes values that point into one chunk point into another, which gets what they mean.
func (s *shape) relink(to, from *event.Chunk, values []int64, known *knownTexts) {
	for _, slot := range s.texts {
		if v := values[slot]; v > 0 {
			values[slot] = known.add(to, from.Text(v))
		}
	}
	for _, slot := range s.lists {
		if v := values[slot]; v > 0 {
			to.Lists = append(to.Lists, from.List(v))
			values[slot] = int64(len(to.Lists))
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
