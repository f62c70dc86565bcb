package scenarios

import (
	"slices"
	"strings"
	"testing"
)

// promised are the exact numbers of each scenario, as its checks have to write them: who changes one
// changes what a text or a real cluster has printed, and has to say so here.
func promised() map[string][]string {
	return map[string][]string{
		"toy-log": {`offsets("billing") == [0,1]`, `values("billing") == ["order-1","order-2"]`,
			`offsets("shipping") == [0,1,2,3]`, `offsets("billing") == [0,1,2,3,4]`,
			`values("replay") == ["order-1","order-2","order-3","order-4","order-5"]`},
		"log-vs-mailbox": {`count("left") + count("right") == 5`, `bytes("orders-0") == 166`,
			`committed("tenth","orders-0") == 5`},
		"which-partition": {`keys("orders-0") == ["order-2","order-3","order-6"]`,
			`keys("orders-1") == ["order-1","order-7"]`,
			`keys("orders-2") == ["order-4","order-5","order-8"]`, `values("kitchen-3") == ["soup"]`},
		"one-batch-on-disk": {`file("orders-0",".log") == 123`, `61 + 31 + 31 == 123`,
			`file("orders-0",".index") == 10485760`, `file("orders-0",".timeindex") == 10485756`,
			`file("orders-0","leader-epoch-checkpoint") == 8`, `crc("orders-0",0) == 2772778610`,
			`batch("orders-0",0,"producerId") == 1000`, `batch("orders-0",0,"producerEpoch") == 0`,
			`batch("orders-0",0,"baseSequence") == 0`,
			`batch("orders-0",0,"partitionLeaderEpoch") == 0`},
		"order-3-committed": {`leo(1,"orders-0") == 2 && leo(2,"orders-0") == 1`,
			`leo(2,"orders-0") == 2 && leo(3,"orders-0") == 2`, `hw(1,"orders-0") == 1`,
			`hw(1,"orders-0") == 2`, `hw(2,"orders-0") == 1 && hw(3,"orders-0") == 1`},
		"phantom-read": {`log(1,"orders-0") == ["order-1","order-2","order-3"]`,
			`leo(1,"orders-0") == 3 && hw(1,"orders-0") == 2`,
			`values("billing") == ["order-1","order-2","order-4"]`},
		"acks-0-1-all": {`latency("first",50) <= latency("second",50)`,
			`latency("second",50) < latency("third",50)`,
			`latency("first",99) <= latency("second",99)`,
			`latency("second",99) < latency("third",99)`},
		"isr-shrink":    {`isr("orders-0") == [1,2,3] && !fenced(3)`, `fenced(3) within 2s`},
		"slow-follower": {`isr("orders-0") == [1,2] within 25s`, `isr("orders-0") == [1,2,3]`},
		"record-nobody-can-read": {`-> NOT_ENOUGH_REPLICAS`, `elr("strict-0") == [3]`,
			`batch("strict-0",0,"size") == 73`, `batch("strict-0",1,"size") == 73`,
			`batch("strict-0",1,"baseOffset") == 1`, `batch("strict-0",0,"producerId") == -1`,
			`hw("strict-0") == 0 && leo(1,"strict-0") == 2`, `values("strict-0") == []`,
			`hw("strict-0") == 2`, `isr("strict-0") == [1,3]`},
		"leader-epochs": {`leo(1,"orders-0") == 2 && hw(1,"orders-0") == 1`,
			`log(1,"orders-0") == ["first","kept"]`, `log(1,"orders-0") == log(2,"orders-0")`},
		"truncate-to-hw": {`values("orders-0") == ["first"]`,
			`log(2,"parted-0") == ["first","yours"]`, `log(1,"parted-0") == ["first","mine"]`},
		"unclean-election": {`leader("orders-0") == none && isr("orders-0") == []`,
			`elr("orders-0") == [2]`, `values("orders-0") == ["both-have-it"]`,
			`isr("orders-0") == [3]`, `values("clicks-0") == ["both-have-it"]`},
		"order-8812": {`acked("careful") == 1`, `acked("careful") == 2`,
			`count("quick-0") < 22`, `"order-10","order-16"`, `latency("careful",100) >= 30000`,
			`latency("careful",100) <= 60000`, `count("once-0") == 22`},
		"power-loss": {`count("orders-0") == 3`, `count("orders-0") < 303`},
		"idempotent-retry": {`values("plain-0") == ["order-1","order-3","order-3"]`,
			`values("orders-0") == ["order-1","order-3"]`, `-> OUT_OF_ORDER_SEQUENCE_NUMBER`},
		"transactions": {`batch("orders-0",1001,"endTxnMarker") == "COMMIT"`,
			`batch("orders-0",2021,"endTxnMarker") == "COMMIT"`,
			`batch("orders-0",3002,"endTxnMarker") == "COMMIT"`, `leo("orders-0") == 3003`,
			`batch("orders-0",0,"producerEpoch") == 0`, `batch("orders-0",1001,"producerEpoch") == 1`,
			`batch("orders-0",1002,"producerEpoch") == 1`,
			`batch("orders-0",2021,"producerEpoch") == 2`,
			`batch("orders-0",2022,"producerEpoch") == 2`,
			`batch("orders-0",3002,"producerEpoch") == 3`, `batch("orders-0",1001,"size") == 78`},
		"hanging-transaction": {`count("hasty") == 10 && count("patient") == 0`,
			`sequence("shop","orders-0") == 9`, `open("shop","orders-0") == 0`,
			`leo("orders-0") == 11`, `batch("orders-0",10,"endTxnMarker") == "ABORT"`,
			`count("patient") == 0 && lso("orders-0") == 11`, `values("patient") == ["coffee"]`},
		"zombie-fencing": {`-> INVALID_PRODUCER_EPOCH`,
			`values("patient") == ["new-order-3"]`},
		"compaction-users2": {`segments("users2-0") == [0,90,180]`, `count("users2-0") == 183`,
			`segments(1,"users2-0") == [0,180]`, `segments(2,"users2-0") == [0,180]`,
			`segments(3,"users2-0") == [0,180]`, `count("users2-0") == 6`,
			`offsets("users2-0") == [177,178,179,180,181,182]`,
			`keys("users2-0") == ["alice","bob","carol","alice","bob","carol"]`,
			`values("users2-0") == ["v60","v60","v60","v61","v61","v61"]`},
		"tombstone": {`values("profiles-0") == ["v1",none,"v1"]`, `offsets("profiles-0") == [1,2]`,
			`offsets("profiles-0") == [2]`, `values("slow") == ["v1","v1"]`},
		"retention": {`values("mixed-0") == ["old","young"]`, `segments("rolled-0") == [0,1]`,
			`offsets("quiet-0") == [1]`, `segments("sized-0") == [0,2,4]`,
			`segments("sized-0") == [2,4]`},
		"commit-before-or-after": {`values("billing") == ["order-4"]`,
			`values("shipping") == ["order-3","order-4"]`,
			`committed("billing","orders-0") == 3`, `committed("shipping","orders-0") == 4`},
		"quorum-failover": {`controller() == none`, `leader("more-0") == 2`,
			`values("orders-0") == ["one","two"]`},
	}
}

func TestEveryPromisedScenarioIsThereAndChecksItsNumbers(t *testing.T) {
	for name, numbers := range promised() {
		s, err := Library(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, number := range numbers {
			if !slices.ContainsFunc(s.Steps, func(step Step) bool {
				return step.Checks() && strings.Contains(step.Text, number)
			}) {
				t.Errorf("%s: no step checks %s", name, number)
			}
		}
	}
}
