package lesson

import (
	"strings"
	"testing"
	"time"
)

func TestFullRecordingIsToldInTheTrace(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes hundreds of thousands of events")
	}
	_, l := start(t, "toy-log")
	toEnd(t, l)
	l.mu.Lock()
	defer l.mu.Unlock()
	world := l.run.cluster.World()
	dropped := func() bool { first, _ := l.run.hub.Range(); return first > 1 }
	if !world.RunWhile(func() bool { return !dropped() }, world.Now()+24*time.Hour) {
		t.Fatal("a day of cluster time fits into the recording")
	}
	world.RunWhile(dropped, world.Now()+time.Second) // it is told with the next events
	last := l.run.published()
	var b strings.Builder
	first, _ := l.run.hub.Range()
	if err := l.run.hub.WriteTrace(&b, first, last); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"event":"RecordingTruncated"`) {
		t.Errorf("events before %d are gone, and the trace does not tell", first)
	}
}
