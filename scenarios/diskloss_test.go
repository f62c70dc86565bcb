package scenarios

import (
	"bytes"
	"strings"
	"testing"
)

// Whether a disk takes a write is known at the end of the turn: nobody may hear before of what was
// appended in it.
func TestWhatADiskDoesNotTakeIsNotAcknowledged(t *testing.T) {
	alone := "topic a replicas=1\nsend a value=x -> ok\n"
	again := "sleep 1s\ndisk 1 ok\nrestart all\nwait leader(\"a-0\") != none within 60s\n" +
		"expect values(\"a-0\") == [\"x\"]\n"
	for name, text := range map[string]string{
		"write-error": alone + "disk 1 write-error\nsend a value=y timeout=3s -> NETWORK_EXCEPTION\n" +
			again,
		"full": alone + "disk 1 full\nsend a value=y timeout=3s acks=1 -> NETWORK_EXCEPTION\n" + again,
		"an idempotent producer": alone + "producer p timeout=5s request.timeout.ms=2000\n" +
			"send a value=x by=p -> ok\ndisk 1 full\nsend a value=y by=p nowait\nsleep 1s\n" +
			"expect acked(\"p\") == 1\n",
		"full followers": "topic a replicas=1,2,3 min.insync.replicas=2\nsend a value=x -> ok\n" +
			"sleep 2s\ndisk 2 full\ndisk 3 full\n" +
			"send a value=y timeout=3s -> REQUEST_TIMED_OUT\nexpect hw(1,\"a-0\") == 1\n",
	} {
		t.Run(name, func(t *testing.T) {
			holds(t, text)
		})
	}
}

// A controller that cannot store a batch stores no part of it, acknowledges none, and gives the
// others none: which part that was depended on the machine.
func TestAControllersDiskThatFailsLeavesTheQuorumTheSame(t *testing.T) {
	for name, text := range map[string]string{
		"of the active controller": "disk 103 full\ntopic b replicas=1 partitions=50 -> ok\nsleep 5s\n" +
			"expect alive(101) && alive(102) && !alive(103) && controller() != none\n",
		"of the only other one": "topic a replicas=1,2,3\nkill 101\ndisk 102 full\nkill 1\nkill 2\n" +
			"sleep 17s\nexpect alive(103) && !alive(102) && controller() == none\n" +
			"expect leader(\"a-0\") == 1\ndisk 102 ok\nrestart 101\nrestart 102\n" +
			"wait leader(\"a-0\") == 3 within 60s\n",
		"while another one catches up": "kill 101\ntopic a replicas=1\ndisk 103 sync-error\n" +
			"restart 101\ntopic b replicas=1 partitions=9 -> ok\nsleep 5s\n" +
			"expect alive(101) && alive(102) && !alive(103) && controller() != none\n",
		"in a change of terms": "sleep 300ms\ndisk 101 sync-error\npause 102\ndelay 102-101 900ms\n" +
			"cut 102>101\nsleep 9s\nresume 102\nsleep 300ms\nheal all\nsleep 9s\n",
		"that hangs for a while": "topic a replicas=1,2,3\ncut 1-103\ndisk 103 hung\nsleep 15s\n" +
			"topic b replicas=1,2,3\nkill 102\nsleep 6s\nheal all\ndisk 103 ok\nsleep 10s\n" +
			"expect alive(1) && alive(2) && alive(3) && leader(\"b-0\") == 1\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := scenarioOf(t, strings.TrimSpace(text))
			first := tracedInto(t, s, "")
			for range 9 {
				if again := tracedInto(t, s, ""); !bytes.Equal(first, again) {
					t.Fatal(firstDifference(first, again))
				}
			}
		})
	}
}

func TestRestartAllStartsWhateverCanStart(t *testing.T) {
	report := playText(t, Options{}, "disk 102 full", "kill 102", "kill 1", "kill 2",
		"restart all")
	last := report.Steps[len(report.Steps)-1].Text
	if report.OK || !strings.Contains(last, "controller 102") ||
		!strings.Contains(last, "restarted 1, 2") {
		t.Errorf("%t %s", report.OK, last)
	}
}
