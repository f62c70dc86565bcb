package scenarios

import (
	"strings"
	"testing"
	"time"

	"highwater/cluster/event"
)

func TestACommandEndsWithTheClientThatWorksForIt(t *testing.T) {
	for _, long := range []string{"poll m timeout=30s", "send o value=x by=p", "flush p",
		"txn t commit"} {
		c, err := Open(&Scenario{Seed: 1}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		e := Attach(c, nil, nil)
		give := func(command string) *string {
			ended := new(string)
			e.Execute(command, "test", func(r Result, err *Error) {
				if *ended = "ok: " + r.Text; err != nil {
					*ended = err.Message
				}
			})
			c.World().RunFor(3 * time.Second)
			return ended
		}
		for _, command := range []string{"topic o", "consumer m topic=o from=earliest manual", "producer p",
			"producer t transactional=t", "txn t begin", "send o value=y by=t"} {
			give(command)
		}
		for _, id := range []event.NodeID{1, 2, 3} {
			if err := c.Pause(id); err != nil {
				t.Fatal(err)
			}
		}
		give("send o value=z by=p nowait")
		waits := give(long)
		name := strings.Fields(long)[1]
		if strings.HasSuffix(long, "by=p") {
			name = "p"
		}
		if *waits != "" {
			t.Errorf("%s ended with %q", long, *waits)
		}
		give("kill " + name)
		if !strings.Contains(*waits, name) || strings.HasPrefix(*waits, "ok") {
			t.Errorf("%s ended with %q when %s was killed", long, *waits, name)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
