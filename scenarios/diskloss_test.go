package scenarios

import (
	"context"
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
			s, mistakes := ParseScenario("disk.md", []byte("---\ntitle: A disk that fails\nseed: 1\n---\n"+
				"```highwater\n"+text+"```\n"))
			if len(mistakes) > 0 {
				t.Fatal(mistakes)
			}
			if report, err := Play(context.Background(), s, Options{}); err != nil || !report.OK {
				t.Fatalf("%v %+v", err, report)
			}
		})
	}
}
