package scenarios

import (
	"strings"
	"testing"

	"highwater/cluster/client"
)

// A follower's answer has room for the batches of one partition and a part of the next one's: what
// found no room has to come with the next answers, though the follower's position stays what it
// was.
func TestAFollowerCatchesUpOnPartitionsThatFoundNoRoom(t *testing.T) {
	large := strings.Repeat("x", 400)
	s := scenarioOf(t,
		"topic a replicas=1,2,3;1,2,3;1,2,3 min.insync.replicas=2",
		"kill 2",
		"send a value="+large+" partition=0 times=7",
		"send a value="+large+" partition=1 times=7",
		"send a value="+large+" partition=2 times=7",
		"restart 2",
		`wait isr("a-0") == [1,2,3] && isr("a-1") == [1,2,3] && isr("a-2") == [1,2,3] within 10s`,
		// In sync, but behind: what is acknowledged by the leader alone waits for the follower.
		"pause 2",
		"send a value="+large+" partition=0 times=7 acks=1",
		"send a value="+large+" partition=1 times=7 acks=1",
		"send a value="+large+" partition=2 times=7 acks=1",
		"resume 2",
		`wait hw("a-0") == 14 && hw("a-1") == 14 && hw("a-2") == 14 within 2s`,
	)
	s.Settings = append(s.Settings,
		client.Setting{Name: "replica.fetch.response.max.bytes", Value: "1000"})
	scenarioHolds(t, s)
}

// A follower comes back into the ISR by a fetch that has reached the high watermark, and not
// because the high watermark stands still below min.insync.replicas where it once was.
func TestFollowersThatCannotFetchStayOutOfTheIsr(t *testing.T) {
	holds(t,
		"topic a replicas=1,2,3 min.insync.replicas=2", "send a value=1",
		"cut 1-2", "cut 1-3", "cut 2-3", "send a value=2 acks=1",
		"sleep 60s", `expect isr("a-0") == [1]`,
		"sleep 16s", `expect isr("a-0") == [1]`,
		"send a value=3 timeout=5s -> NOT_ENOUGH_REPLICAS",
		"heal all", `wait isr("a-0") == [1,2,3] within 10s`)
}

// The controllers may have let a follower in although nobody hears of it: until the metadata log
// tells, its leader counts it.
func TestAProposalWhoseAnswerIsLostStaysOpen(t *testing.T) {
	holds(t,
		"topic a replicas=1,2", "producer p linger=0ms", "send a key=k1 value=1 by=p",
		"cut 1-2", "send a key=k2 value=2 by=p nowait", "sleep 45s", `expect isr("a-0") == [1]`,
		"cut 101>1", "cut 102>1", "cut 103>1", "heal 1-2", "sleep 2s", "cut 1-2",
		`expect isr("a-0") == [1,2]`, "sleep 50s",
		"send a key=k3 value=3 by=p nowait", "sleep 5s", `expect acked("p") == 2`,
		"heal all", "sleep 15s", `expect isr("a-0") == [1,2]`)
}

// A controller that stands still in the middle of its election is one voter less, and no more; when
// it goes on, what it has won is over.
func TestACandidateThatStandsStillKeepsNobodyFromBeingElected(t *testing.T) {
	s := scenarioOf(t,
		"topic a rf=3 min.insync.replicas=2", "send a value=1",
		"delay 101-102 500ms", "delay 101-103 500ms", "delay 102-103 500ms", "sleep 5s",
		"kill controller", "sleep 2s", "pause 102", "restart 101", "delay 101-103 0ms", "sleep 30s",
		"topic b rf=1 -> ok", "kill 1", "wait alive(1) == false && isr(\"a-0\") == [2,3] within 20s",
		"resume 102", "sleep 20s", "topic c rf=1 -> ok", "restart 1",
		`wait isr("a-0") == [1,2,3] within 20s`)
	s.Seed = 7 // 101 leads, and 102 campaigns
	scenarioHolds(t, s)
}

// Compaction may leave a hole over the high watermark that the brokers had written down: a
// coordinator's partition is loaded beyond it all the same.
func TestACoordinatorLoadsOverAHole(t *testing.T) {
	again := []string{"txn p begin", "send t key=a value=1 by=p", "txn p commit", "sleep 10ms"}
	commands := []string{"topic t rf=3", "producer p transactional=tx"}
	commands = append(commands, again...)
	commands = append(commands, "config __transaction_state segment.ms=1", "sleep 21s")
	for range 3 {
		commands = append(commands, again...)
	}
	commands = append(commands, "sleep 1s", "clean __transaction_state-16", "sleep 10ms", "kill 1",
		"kill 2", "kill 3", "restart all", "sleep 30s")
	holds(t, append(commands, again...)...)
}

// A member may leave its group while a transaction's coordinator is asked about its offsets.
func TestOffsetsOfAMemberThatIsGoneMeanwhileAreRefused(t *testing.T) {
	s := scenarioOf(t,
		"topic in replicas=1,2,3;1,2,3", "topic out replicas=1,2,3", "send in value=r0 partition=0",
		"send in value=r1 partition=1", "producer pa transactional=a linger=0ms",
		"producer pc transactional=c linger=0ms max.block.ms=200ms",
		"consumer ca topic=in group=g from=earliest auto-commit=false manual session.timeout.ms=6s "+
			"heartbeat.interval.ms=500ms",
		"consumer cb topic=in group=g from=earliest auto-commit=false manual session.timeout.ms=6s "+
			"heartbeat.interval.ms=500ms",
		"poll ca max=1", "sleep 3s", "txn pc begin", "send out value=A by=pc", "sleep 1s", "delay 2>3 9s",
		"txn pc offsets of=ca -> REQUEST_TIMED_OUT", "kill ca", "sleep 6s", "poll cb max=1 timeout=2s",
		"txn pa begin", "send out value=B by=pa", "txn pa offsets of=cb", "txn pa commit", "sleep 10s",
		"txn pc commit -> UNKNOWN_MEMBER_ID")
	s.Seed = 7
	s.Settings = []client.Setting{{Name: "group.initial.rebalance.delay.ms", Value: "0"}}
	scenarioHolds(t, s)
}

// Who is fenced by another process of its group.instance.id is out for good, and that the other one
// owns its partitions in the same generation breaks no promise.
func TestAStaticMemberIsReplacedByAnotherProcessOfItsId(t *testing.T) {
	const static = " topic=a group=g from=earliest group.instance.id=one session.timeout.ms=6s"
	holds(t, "topic a rf=3", "consumer s1"+static, "sleep 11s", "send a value=v{n} times=3", "sleep 3s",
		"consumer s2"+static, "sleep 10s", "send a value=w{n} times=4", "sleep 3s",
		`expect position("s2", "a-0") == 7`, `expect position("s1", "a-0") == none`)
}

func TestTheActiveControllerIsThatOfTheNewestTerm(t *testing.T) {
	s := scenarioOf(t, "pause controller", "sleep 30s", "expect controller() != 101", "resume 101",
		"sleep 5s", "expect controller() != none")
	s.Seed = 2 // 101 leads at first
	scenarioHolds(t, s)
}

// What was put right is right for whoever connects anew: nothing waits behind messages of an older
// connection, and timers go by the clock's new rate.
func TestWhatIsPutRightHoldsUpNobody(t *testing.T) {
	holds(t,
		"topic t replicas=1,2,3", "sleep 5s", "delay 1-2 4m", "delay 1-3 4m", "sleep 1s",
		"delay 1-2 0ms", "delay 1-3 0ms", "sleep 31s",
		`wait isr("t-0") == [1,2,3] within 20s`, "send t value=x acks=all",
		"disk 2 slow=10m", "sleep 1s", "disk 2 ok", "sleep 31s",
		`wait fenced(2) == false && isr("t-0") == [1,2,3] within 20s`,
		"clock 2 rate=0.001", "sleep 3s", "clock 2 rate=1", "sleep 10s",
		"expect fenced(2) == false")
}

// A slow link between two controllers deposes nobody whom the majority hears, and one that nobody
// can be elected over in time holds up no other election.
func TestSlowLinksBetweenControllersDeposeNobody(t *testing.T) {
	play := func(lines ...string) {
		t.Helper()
		s := scenarioOf(t, lines...)
		s.Seed = 2 // 101 leads
		scenarioHolds(t, s)
	}
	play("topic t replicas=1,2,3", "sleep 5s", "expect controller() == 101",
		"delay 101-102 1500ms", "sleep 10s", `kill leader("t-0")`, "sleep 30s",
		"expect controller() == 101 && leader(\"t-0\") == 2")
	play("topic t replicas=1,2,3", "sleep 5s", "kill 101", "sleep 10s", "restart 101", "sleep 5s",
		"delay 101-102 2m", "delay 101-103 2m", "sleep 5s",
		"delay 101-102 0ms", "delay 101-103 0ms",
		"sleep 10s", `kill leader("t-0")`, "sleep 15s", "expect leader(\"t-0\") == 2",
		"pause 101", "sleep 5s", "resume 101", "sleep 2s", "expect controller() != 101")
}

// A producer that gives a batch up after brokers refused it begins its sequences anew.
func TestWhatComesBehindAnExpiredBatchIsAcknowledged(t *testing.T) {
	holds(t,
		"topic w replicas=1,2 min.insync.replicas=2", "producer p delivery.timeout.ms=6000 "+
			"request.timeout.ms=1000", "send w by=p key=a", "kill 2", "sleep 12s",
		"send w by=p key=x nowait", "sleep 8s", `expect failed("p") == 1`, "restart 2",
		"sleep 10s", "send w by=p key=e -> ok", "send w by=p key=f -> ok",
		`expect keys("w-0") == ["a","e","f"]`)
}

// A coordinators' topic that is made while brokers are down has its copies on them all the same.
func TestCoordinatorsTopicsHaveAllTheirCopiesWhoeverIsDown(t *testing.T) {
	holds(t,
		"topic t replicas=1,2,3", "send t value=x", "kill 2", "kill 3", "sleep 15s",
		"consumer c topic=t group=g from=earliest", "sleep 10s", "restart 2", "restart 3",
		`wait isr("__consumer_offsets-0") == [1,2,3] within 40s`)
}

// A candidate takes over a higher term that a voter has stored, also from one whose log is behind:
// neither could be elected any more, not even after all had been started anew.
func TestAHigherTermOfAVoterThatIsBehindIsTakenOver(t *testing.T) {
	play := func(lines ...string) {
		t.Helper()
		s := scenarioOf(t, append([]string{"topic t replicas=1,2,3", "sleep 5s"}, lines...)...)
		s.Seed = 2 // 101 leads
		scenarioHolds(t, s)
	}
	play("expect controller() == 101", "cut 101-102", "cut 101-103", "disk 103 sync-error",
		"topic u replicas=1,2,3 -> REQUEST_TIMED_OUT", "heal all", "sleep 20s",
		"topic w replicas=1,2,3 -> ok")
	play("disk 103 full", "pause 101", "sleep 10s", "disk 103 ok", "restart 103", "disk 103 full",
		"sleep 10s", "cut 102-101", "cut 102-103", "resume 101", "disk 103 ok", "restart 103",
		"sleep 10s", "topic v replicas=1,2,3 -> ok", "heal all", "sleep 20s",
		"topic w replicas=1,2,3 -> ok")
}

// A static member that leads its group and came back divides nothing, and still sees that its topic
// has other partitions.
func TestAStaticLeaderThatCameBackLooksAfterThePartitions(t *testing.T) {
	holds(t, "topic a partitions=1 replicas=1,2,3", "consumer c topic=a group=g group.instance.id=i",
		"sleep 10s", "kill c", "restart c", "sleep 60s", `expect assigned("c") == ["a-0"]`,
		"delete-topic a", "topic a partitions=3 rf=3",
		`wait assigned("c") == ["a-0", "a-1", "a-2"] within 10m`)
}
