package cleaner

import (
	"fmt"
	"strings"
	"testing"

	"highwater/cluster/commitlog"
	"highwater/cluster/event"
)

// gaps are the offsets below an end that contents does not have, as events write them.
func (r *rig) gaps(end event.Offset) string {
	texts, _ := r.contents()
	var runs []string
	next := event.Offset(0)
	skipTo := func(offset event.Offset) {
		if next < offset {
			runs = append(runs, fmt.Sprintf("%d-%d", next, offset-1))
		}
		next = offset + 1
	}
	for _, text := range texts {
		var offset event.Offset
		if _, err := fmt.Sscan(text, &offset); err != nil {
			r.t.Fatal(err)
		}
		skipTo(offset)
	}
	skipTo(end)
	return strings.Join(runs, ",")
}

// openTold opens the log again and returns what the event says.
func (r *rig) openTold() event.LogOpened {
	r.t.Helper()
	r.must(r.log.Close(true))
	log, now := event.NewLog(), int64(0)
	r.cfg.Events = event.NewEmitter(log, &now, 1)
	r.open(commitlog.OpenOptions{CleanShutdown: true, FirstDirtyOffset: r.log.FirstDirtyOffset()})
	c := log.Swap(&event.Chunk{})
	for i := range c.Records {
		if c.Records[i].Kind == event.KindLogOpened {
			return c.LogOpened(&c.Records[i])
		}
	}
	r.t.Fatal("nobody said that the log was opened")
	return event.LogOpened{}
}

func TestHolesAreToldWhenTheLogIsOpened(t *testing.T) {
	r := crashRig(t)
	// One segment was compacted while the log was made, then all closed ones are.
	for range 2 {
		got := r.openTold()
		want := r.gaps(got.LogEndOffset)
		if want == "" || got.Holes != want || got.HolesFrom != 0 {
			t.Errorf("holes %q from %d, want %q from 0", got.Holes, got.HolesFrom, want)
		}
		r.clean(true)
	}
}

// Of many holes the newest are told, and from where on they are all.
func TestOnlyTheNewestHolesAreToldWhenTheLogIsOpened(t *testing.T) {
	r := newRig(t)
	for n := range 100 {
		r.send(put(fmt.Sprint("k", n), "v"))
		r.send(put("all", fmt.Sprint(n)))
	}
	r.roll()
	r.send(put("k", "active"))
	r.clean(true)
	got := r.openTold()
	if runs := strings.Split(got.Holes, ","); len(runs) != 64 || got.HolesFrom != 71 ||
		runs[0] != "71-71" || runs[63] != "197-197" {
		t.Errorf("%d holes from %d: %s", len(runs), got.HolesFrom, got.Holes)
	}
}
