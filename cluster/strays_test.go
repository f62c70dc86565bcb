package cluster

import (
	"strings"
	"testing"
	"time"

	"highwater/cluster/disk"
	"highwater/cluster/event"
)

// What a broker finds of a topic that was deleted while it was away is nobody's: it is set aside,
// under a name that no topic can have, and stays there.
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
	names := func() []string { return directoriesOf(t, c, 1, "gone") }
	isAside := func() bool {
		list := names()
		return len(list) == 1 && isStray(list[0])
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

// directoriesOf lists a broker's directories of a topic, with those that are set aside.
func directoriesOf(t *testing.T, c *Cluster, id event.NodeID, topic string) (list []string) {
	entries, err := c.Disk(id).List(".")
	must(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name, topic+"-") {
			list = append(list, e.Name)
		}
	}
	return list
}

func isStray(name string) bool {
	return strings.Contains(name, "-0.") && strings.HasSuffix(name, "-stray")
}

// A log whose topic id is lost took the id of today's topic of that name, so that the records of
// one that was deleted became its own, and were read when the broker led.
func TestLogWithoutTopicIDIsSetAside(t *testing.T) {
	for _, damage := range []string{"missing", "garbage", "of another version"} {
		c, _ := start(t, Config{Seed: 8, Latency: time.Millisecond})
		d := drive(t, c)
		d.ready()
		send := func(value string, times int) {
			for range times {
				leader, _ := c.Leader("again", 0)
				if got, err := d.send(leader, "again", -1, "k", value); err != nil || got.ErrorCode != 0 {
					t.Fatalf("%+v, %v", got, err)
				}
			}
		}
		d.topic("again", "1", 1, 2, 3)
		send("old", 5)
		must(t, c.Kill(3))
		d.until("out of the ISR", time.Minute, func() bool {
			isr, _ := c.Isr("again", 0)
			return len(isr) == 2
		})
		d.deleteTopic("again")
		c.World().RunFor(time.Second)
		d.partitionsOf("again", 1, "1")
		c.World().RunFor(time.Second)
		send("new", 2)
		name := "again-0/partition.metadata"
		switch damage {
		case "missing":
			must(t, c.Disk(3).Remove(name))
		case "garbage":
			must(t, disk.WriteFileAtomically(c.Disk(3), name, []byte("garbage\n")))
		default:
			must(t, disk.WriteFileAtomically(c.Disk(3), name, []byte("version: 1\ntopic_id: x")))
		}
		must(t, c.Restart(3))
		d.settled("again")
		if values, _ := contents(t, c, 3, "again"); len(values) != 2 || values[0] != "new" {
			t.Errorf("%s: broker 3 has %v", damage, values)
		}
		if list := directoriesOf(t, c, 3, "again"); len(list) != 2 || list[0] != "again-0" ||
			!isStray(list[1]) {
			t.Errorf("%s: %v", damage, list)
		}
	}
}
