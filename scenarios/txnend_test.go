package scenarios

import (
	"slices"
	"testing"
)

// Java's producer cannot commit a transaction one of whose sends failed.
func TestATransactionThatLacksARecordIsNotCommitted(t *testing.T) {
	holds(t, "topic a replicas=1,2,3\nproducer t transactional=tt\nsleep 3s\n"+
		"kill 1\nkill 2\nkill 3\ntxn t begin\nsend a value=x by=t -> REQUEST_TIMED_OUT\n"+
		"txn t commit -> REQUEST_TIMED_OUT\ntxn t abort -> ok\nrestart all\nsleep 20s\n"+
		"txn t begin\nsend a value=y by=t -> ok\ntxn t commit -> ok\n"+
		"expect values(\"a-0\") == [\"y\"]\n")
}

// Whom the group threw out since may not put its positions into a transaction: another one has the
// partition by now.
func TestAConsumerWithoutItsMembershipSendsNoOffsets(t *testing.T) {
	holds(t, "topic in replicas=1,2,3", "send in value=x times=3",
		"consumer c topic=in group=g from=earliest manual session.timeout.ms=6000",
		"producer t transactional=tt", "poll c", "txn t begin", "cut c-1", "cut c-2", "cut c-3",
		"sleep 15s", "heal all", "sleep 5s", "txn t offsets of=c -> UNKNOWN_MEMBER_ID",
		"txn t abort")
}

// A follower whose leader has deleted all that it had, a transaction's begin too, begins anew above it.
func TestAFollowerThatBeginsAnewKnowsOfNoTransactionBefore(t *testing.T) {
	holds(t, "topic a replicas=1,2,3 min.insync.replicas=1 internal.segment.bytes=300",
		"producer t transactional=tt", "txn t begin", "send a value=x times=3 by=t", "sleep 1s",
		"kill 3", "txn t commit", "send a value=yyyyyyyyyyyyyyyyyyy{n} times=40",
		"config a retention.bytes=100", "retain a-0", "restart 3", "sleep 3s", "txn t begin",
		"send a value=z times=3 by=t", "txn t commit", "sleep 3s", `expect isr("a-0") == [1,2,3]`)
}

// The call gives up after max.block.ms, the transaction does not: the application may only repeat it.
func TestTheEndOfATransactionWaitsForMaxBlock(t *testing.T) {
	begun := "topic a replicas=1,2,3\nproducer t transactional=tt\ntxn t begin\n" +
		"send a value=x by=t -> ok\nkill 1\nkill 2\nkill 3\n"
	for end, other := range map[string]string{"commit": "abort", "abort": "commit"} {
		t.Run(end, func(t *testing.T) {
			holds(t, begun+"txn t "+end+" -> REQUEST_TIMED_OUT\n"+
				"txn t "+other+" -> INVALID_TXN_STATE\ntxn t begin -> INVALID_TXN_STATE\n"+
				"send a value=y by=t -> INVALID_TXN_STATE\nrestart all\nsleep 20s\n"+
				"txn t "+end+" -> ok\ntxn t begin -> ok\ntxn t commit -> ok\n")
		})
	}
	t.Run("before its records are sent", func(t *testing.T) {
		holds(t, "topic a replicas=1,2,3\nproducer t transactional=tt\ntxn t begin\n"+
			"send a value=w by=t -> ok\nkill 1\nkill 2\nkill 3\nsend a value=x by=t nowait\n"+
			"txn t commit -> REQUEST_TIMED_OUT\nsend a value=y by=t -> INVALID_TXN_STATE\n"+
			"restart all\nsleep 30s\nexpect count(\"a-0\") == 2\ntxn t commit -> ok\n")
	})
}

// A transaction may begin while the markers of the one before are under way: whoever leads asks the
// coordinator again, about what is then begun.
func TestATransactionBeginsBehindTheMarkersOfTheOneBefore(t *testing.T) {
	lines := []string{"topic a replicas=1", "topic b replicas=2", "topic c replicas=3",
		"producer p transactional=tp linger=0ms", "delay 1-2 10ms", "delay 1-3 10ms", "delay 2-3 10ms"}
	for range 3 {
		lines = append(lines, "txn p begin", "send a by=p value=x nowait", "send b by=p value=x nowait",
			"send c by=p value=x -> ok", "txn p commit -> ok")
	}
	holds(t, append(lines, "sleep 1s", `expect failed("p") == 0`,
		`expect count("a-0") == 3 && count("b-0") == 3 && count("c-0") == 3`)...)
}

// The end of a transaction waits for offsets that are under way, as in Java, whose requests go one at
// a time: a commit had been without them, and late ones had the producer fenced.
func TestATransactionsEndWaitsForItsOffsets(t *testing.T) {
	begun := []string{"topic in replicas=1,2,3", "topic out replicas=1,2,3",
		"send in value=r{n} times=3", "consumer c topic=in group=g from=earliest manual", "poll c",
		"producer p transactional=pp max.block.ms=5000", "txn p begin", "send out value=x by=p",
		`cut p-leader("__consumer_offsets-3")`, "txn p offsets of=c -> REQUEST_TIMED_OUT"}
	for _, rest := range [][]string{
		{"txn p commit -> REQUEST_TIMED_OUT", "heal all", "sleep 60s", "txn p commit",
			`expect committed("g", "in-0") == 3`, `expect keys("out-0") != []`},
		{"txn p abort -> REQUEST_TIMED_OUT", "heal all", "sleep 60s", "txn p abort", "txn p begin",
			"send out value=y by=p", "txn p offsets of=c", "txn p commit",
			`expect committed("g", "in-0") == 3`},
		{"heal all", "poll c", "txn p offsets of=c", "txn p commit",
			`expect committed("g", "in-0") == 3`},
	} {
		holds(t, append(slices.Clone(begun), rest...)...)
	}
}
