package hub

import (
	"fmt"
	"sort"

	"highwater/cluster/event"
	"highwater/viz/model"
)

// recorder keeps the newest events in groups of pages. Each group knows the state before its first
// event, so that dropping the oldest group leaves a right beginning, and seeking folds one group at
// most.
type recorder struct {
	groups        []*group // oldest first; the last one is being filled
	pagesPerGroup int
	groupsMax     int
	dropped       int64  // events that are no longer kept
	recycled      []page // of dropped groups, their memory to be used again
}

// group is a run of events without gaps.
type group struct {
	before *model.State // folded up to just before the first event
	pages  []page
}

// bounds divides the events kept into groups, and those into pages.
func bounds(eventsMax int) (pageEvents, pagesPerGroup, groupsMax int) {
	const groupsKept = 16
	groupEvents := max(1, eventsMax/(groupsKept+1))
	pageEvents = min(pageEventsMax, groupEvents)
	return pageEvents, groupEvents / pageEvents, groupsKept + 1
}

func newRecorder(eventsMax int, begin *model.State) *recorder {
	_, pages, groups := bounds(eventsMax)
	return &recorder{pagesPerGroup: pages, groupsMax: groups,
		groups: []*group{{before: begin.Clone()}}}
}

// put takes a page that is new, or the newest page again with more in it. now is the state before
// whatever is new.
func (r *recorder) put(p page, now *model.State) {
	g := r.groups[len(r.groups)-1]
	if last := len(g.pages) - 1; last >= 0 && g.pages[last].first == p.first {
		g.pages[last] = p
		return
	}
	if len(g.pages) == r.pagesPerGroup {
		g = &group{before: now.Clone(), pages: make([]page, 0, r.pagesPerGroup)}
		r.groups = append(r.groups, g)
		if len(r.groups) > r.groupsMax {
			r.drop()
		}
	}
	g.pages = append(g.pages, p)
}

// drop lets the oldest group go.
func (r *recorder) drop() {
	oldest := r.groups[0]
	copy(r.groups, r.groups[1:])
	r.groups[len(r.groups)-1] = nil
	r.groups = r.groups[:len(r.groups)-1]
	for _, p := range oldest.pages {
		r.dropped += int64(len(p.starts))
	}
	r.recycled = append(r.recycled, oldest.pages...)
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

// each calls f with the events from one to another, both included and all of them kept. The record
// is f's until it returns; what it points to lies in the chunk.
func (r *recorder) each(from, to event.Seq, f func(c *event.Chunk, record *event.Record)) {
	var record event.Record
	for from <= to {
		p := r.groupOf(from).pageOf(from)
		last := min(to, p.last())
		for ; from <= last; from++ {
			p.read(int(from-p.first), &record)
			f(&p.pointed, &record)
		}
	}
}

// pageOf finds the page that holds an event of the group.
func (g *group) pageOf(seq event.Seq) *page {
	i := sort.Search(len(g.pages), func(i int) bool { return g.pages[i].first > seq })
	return &g.pages[i-1]
}

// NotKeptError says that an event left the recording.
type NotKeptError struct{ Seq, First, Last event.Seq }

func (e *NotKeptError) Error() string {
	return fmt.Sprintf("hub: event %d is not kept; the recording has %d to %d", e.Seq, e.First, e.Last)
}
