package cluster

import (
	"strings"
	"testing"
	"time"
)

// What a broker finds of a topic that was deleted while it was away is nobody's: it is set aside, under
// a name that no topic can have, and stays there.
func TestLogsOfATopicDeletedMeanwhileAreSetAside(t *testing.T) {
	c, _ := start(t, Config{Seed: 7, Latency: time.Millisecond})
	d := drive(t, c)
	d.ready()
	d.topic("gone", "1", 1, 2, 3)
	if _, err := d.send(1, "gone", -1, "k", "v"); err != nil {
		t.Fatal(err)
	}
	must(t, c.Kill(1))
	d.deleteTopic("gone")
	must(t, c.Restart(1))
	names := func() (list []string) {
		entries, err := c.Disk(1).List(".")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name, "gone-") {
				list = append(list, e.Name)
			}
		}
		return list
	}
	isAside := func() bool {
		list := names()
		return len(list) == 1 && strings.HasPrefix(list[0], "gone-0.") &&
			strings.HasSuffix(list[0], "-stray")
	}
	d.until("set aside", time.Minute, isAside)
	d.ready()
	must(t, c.Kill(1))
	must(t, c.Restart(1))
	d.ready()
	if !isAside() {
		t.Errorf("after another start: %v", names())
	}
}
