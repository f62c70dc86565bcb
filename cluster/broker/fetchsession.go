package broker

import (
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
)

// fetchSessionIdle is how long a session must be unused before another may take its place
// (min.incremental.fetch.session.eviction.ms).
const fetchSessionIdle = 2 * time.Minute

// fetchSession is an incremental fetch session: the client names only what changed and is told only
// what changed (KIP-227).
type fetchSession struct {
	id          int32
	epoch       int32 // the next request's
	byID        bool  // topics are named by id, as from version 13
	incremental bool
	wanted      []*wanted
	index       map[wantedKey]*wanted
	lastUsed    int64
	waiting     *fetchWait // nil when none waits
}

// fetchSessions is the cache of all sessions of this broker.
type fetchSessions struct {
	byID map[int32]*fetchSession
	used []*fetchSession // oldest first
}

func (s *fetchSessions) init() { s.byID = map[int32]*fetchSession{} }

func (s *fetchSessions) close(id int32) {
	if session := s.byID[id]; session != nil {
		delete(s.byID, id)
		s.used = slices.DeleteFunc(s.used, func(x *fetchSession) bool { return x == session })
	}
}

// openFetch finds what a fetch wants, by itself or together with its session.
func (b *Broker) openFetch(f *fetchWait) int16 {
	r := f.request
	switch {
	case f.version < 7 || r.SessionEpoch == -1:
		b.sessions.close(r.SessionID)
		f.wanted = b.wantedOf(r, f.version)
		return 0
	case r.SessionEpoch == 0:
		b.sessions.close(r.SessionID)
		f.wanted = b.wantedOf(r, f.version)
		f.session = b.newFetchSession(f)
		return 0
	}
	s := b.sessions.byID[r.SessionID]
	switch {
	case s == nil:
		return kerr.FetchSessionIDNotFound.Code
	case s.byID != (f.version >= 13):
		return kerr.FetchSessionTopicIDError.Code
	case s.epoch != r.SessionEpoch:
		return kerr.InvalidFetchSessionEpoch.Code
	}
	if s.waiting != nil {
		// What it waits for may be forgotten now. Kafka begins with a connection's next request
		// when this one is answered, so a client that sends it early cannot tell.
		s.waiting.try(true)
	}
	b.sessions.touch(s, b.env.VirtualNow())
	s.epoch = nextSessionEpoch(s.epoch)
	s.incremental = true
	b.updateSession(s, f)
	f.session = s
	f.wanted = s.wanted
	if len(s.wanted) == 0 {
		b.sessions.close(s.id)
		f.session = nil
	}
	return 0
}

func nextSessionEpoch(epoch int32) int32 {
	if epoch == math.MaxInt32 {
		return 1
	}
	return epoch + 1
}

func (s *fetchSessions) touch(session *fetchSession, now int64) {
	session.lastUsed = now
	s.used = append(slices.DeleteFunc(s.used, func(x *fetchSession) bool { return x == session }),
		session)
}

// newFetchSession grants a session if there is a free place or one that nobody used lately.
func (b *Broker) newFetchSession(f *fetchWait) *fetchSession {
	s := &b.sessions
	now := b.env.VirtualNow()
	if len(s.used) >= b.config.Settings.FetchSessionSlots {
		if len(s.used) == 0 || now-s.used[0].lastUsed < int64(fetchSessionIdle) {
			return nil
		}
		s.close(s.used[0].id)
	}
	id := int32(b.env.Dice().Uint32() & math.MaxInt32)
	for id == 0 || s.byID[id] != nil {
		id = int32(b.env.Dice().Uint32() & math.MaxInt32)
	}
	session := &fetchSession{id: id, epoch: 1, byID: f.version >= 13, wanted: f.wanted,
		index: indexOf(f.wanted)}
	s.byID[id] = session
	s.touch(session, now)
	return session
}

// updateSession takes in what a request names, and then what it forgets, as Kafka does. A topic of
// which this broker had not heard may have a name by now; its client does not name it again.
func (b *Broker) updateSession(s *fetchSession, f *fetchWait) {
	for _, w := range s.wanted {
		if w.unknownID {
			w.topic = b.topicName("", w.id)
			w.unknownID = w.topic == ""
		}
	}
	for _, w := range b.wantedOf(f.request, f.version) {
		if known := s.index[w.key()]; known != nil {
			known.offset, known.bytesMax = w.offset, w.bytesMax
			known.epoch, known.lastEpoch = w.epoch, w.lastEpoch
			continue
		}
		s.wanted = append(s.wanted, w)
		s.index[w.key()] = w
	}
	for i := range f.request.ForgottenTopics {
		t := &f.request.ForgottenTopics[i]
		s.wanted = slices.DeleteFunc(s.wanted, func(w *wanted) bool {
			forgotten := slices.Contains(t.Partitions, w.index) &&
				(s.byID && w.id == t.TopicID || !s.byID && w.topic == t.Topic)
			if forgotten {
				delete(s.index, w.key())
			}
			return forgotten
		})
	}
}

// rotate puts partitions that gave records behind the others, so that none starves.
func (s *fetchSession) rotate() {
	var had, rest []*wanted
	for _, w := range s.wanted {
		if w.hadRecords {
			w.hadRecords = false
			had = append(had, w)
		} else {
			rest = append(rest, w)
		}
	}
	if len(had) > 0 && len(rest) > 0 {
		s.wanted = append(rest, had...)
	}
}

// wantedKey tells partitions apart as the request names them: by the topic's id or by its name.
type wantedKey struct {
	topic string
	id    event.UUID
	index int32
}

func (w *wanted) key() wantedKey {
	if !w.id.IsZero() {
		return wantedKey{id: w.id, index: w.index}
	}
	return wantedKey{topic: w.topic, index: w.index}
}

// wantedComparedMax is up to how many partitions each is compared with those before it, which takes
// no memory.
const wantedComparedMax = 16

// wantedOf lists what a request names. Of a partition that it names twice the last counts.
func (b *Broker) wantedOf(r *kmsg.FetchRequest, version int16) []*wanted {
	var list []*wanted
	var index map[wantedKey]*wanted
	for i := range r.Topics {
		t := &r.Topics[i]
		name, unknown := t.Topic, false
		if version >= 13 {
			name = b.topicName("", t.TopicID)
			unknown = name == ""
		}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			w := &wanted{topic: name, id: t.TopicID, index: p.Partition,
				offset: event.Offset(p.FetchOffset), bytesMax: int(p.PartitionMaxBytes),
				epoch: event.Epoch(p.CurrentLeaderEpoch), lastEpoch: event.Epoch(p.LastFetchedEpoch),
				unknownID: unknown}
			if len(list) == wantedComparedMax && index == nil {
				index = indexOf(list)
			}
			if before := findWanted(list, index, w); before != nil {
				*before = *w
				continue
			}
			if index != nil {
				index[w.key()] = w
			}
			list = append(list, w)
		}
	}
	return list
}

func indexOf(list []*wanted) map[wantedKey]*wanted {
	index := make(map[wantedKey]*wanted, 2*len(list))
	for _, w := range list {
		index[w.key()] = w
	}
	return index
}

// findWanted finds an earlier mention of a partition.
func findWanted(list []*wanted, index map[wantedKey]*wanted, w *wanted) *wanted {
	if index != nil {
		return index[w.key()]
	}
	for _, before := range list {
		if before.key() == w.key() {
			return before
		}
	}
	return nil
}
