package event

// Slots is how many field values a Record holds; the catalogue test refuses a kind with more.
const Slots = 13

// Seq numbers the events of a world from 1 without gaps. 0 means "no event", as in a cause that
// is not known.
type Seq uint64

// Kind says which struct a Record carries.
type Kind uint16

// Record is one event in the form the engine writes: no pointers, so that writing costs a copy and
// the garbage collector never looks inside. Texts and lists live beside it in its Chunk.
type Record struct {
	Seq   Seq
	At    int64 // virtual nanoseconds since the world started
	Cause Seq
	Node  NodeID
	Kind  Kind
	Rule  Rule
	// Values holds the fields in catalogue order: integers and booleans as they are, texts and
	// lists as an index into the chunk plus one (0 is the empty text or list).
	Values [Slots]int64
}

// Chunk is what a turn of the loop emitted. Its slices are handed over whole: whoever receives
// a chunk owns it.
type Chunk struct {
	Records []Record
	Texts   []string
	Lists   [][]NodeID
}

// Text returns the text behind a slot value.
func (c *Chunk) Text(value int64) string {
	if value <= 0 || value > int64(len(c.Texts)) {
		return ""
	}
	return c.Texts[value-1]
}

// List returns the node list behind a slot value; callers must not change it.
func (c *Chunk) List(value int64) []NodeID {
	if value <= 0 || value > int64(len(c.Lists)) {
		return nil
	}
	return c.Lists[value-1]
}

// Reset empties the chunk and keeps its memory.
func (c *Chunk) Reset() {
	clear(c.Texts)
	clear(c.Lists)
	c.Records, c.Texts, c.Lists = c.Records[:0], c.Texts[:0], c.Lists[:0]
}

// Log collects the events of one world between two hand-overs. Only the world's loop may touch it.
type Log struct {
	last  Seq
	chunk *Chunk
}

// NewLog returns a log whose first event gets sequence number 1.
func NewLog() *Log { return &Log{chunk: &Chunk{}} }

// Last is the newest sequence number given out.
func (l *Log) Last() Seq { return l.last }

// Pending says how many events wait to be taken.
func (l *Log) Pending() int { return len(l.chunk.Records) }

// Swap gives the collected chunk away and goes on in the empty one given.
func (l *Log) Swap(empty *Chunk) *Chunk {
	full := l.chunk
	l.chunk = empty
	return full
}

// Emitter is how one node emits: it knows who speaks, the world's time, and what the node is
// reacting to. A nil Emitter, or one without a log, records nothing.
type Emitter struct {
	log  *Log
	now  *int64
	node NodeID
	// Cause is the event that the node is reacting to; the world sets it before each call.
	Cause Seq
}

// NewEmitter returns an emitter for node, reading the world's virtual time through now. A nil log
// switches its events off.
func NewEmitter(log *Log, now *int64, node NodeID) *Emitter {
	return &Emitter{log: log, now: now, node: node}
}

// On says whether events are recorded, for callers that would have to compute a field.
func (em *Emitter) On() bool { return em != nil && em.log != nil }

// begin appends a record with its envelope filled in.
func (em *Emitter) begin(kind Kind, rule Rule) *Record {
	l := em.log
	l.last++
	l.chunk.Records = append(l.chunk.Records, Record{
		Seq: l.last, At: *em.now, Cause: em.Cause, Node: em.node, Kind: kind, Rule: rule,
	})
	return &l.chunk.Records[len(l.chunk.Records)-1]
}

func (em *Emitter) text(s string) int64 {
	if s == "" {
		return 0
	}
	c := em.log.chunk
	if n := len(c.Texts); n > 0 && c.Texts[n-1] == s {
		return int64(n)
	}
	c.Texts = append(c.Texts, s)
	return int64(len(c.Texts))
}

func (em *Emitter) list(ids []NodeID) int64 {
	if len(ids) == 0 {
		return 0
	}
	c := em.log.chunk
	c.Lists = append(c.Lists, ids)
	return int64(len(c.Lists))
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
