package scenarios

import (
	"context"
	"testing"
)

// played runs a scenario that is nothing but steps.
func played(t *testing.T, steps string) Report {
	t.Helper()
	s, mistakes := ParseScenario("steps.txt", []byte(steps))
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	report, err := Play(context.Background(), s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestRecordsGoOutAsFarApartAsAsked(t *testing.T) {
	report := played(t, `
topic t replicas=1
producer shop linger=0ms
send t by=shop value=first
send t by=shop value=order-{n} times=5 every=10ms nowait
sleep 1ms
expect leo("t-0") == 2
sleep 10ms
expect leo("t-0") == 3
sleep 30ms
expect values("t-0") == ["first","order-1","order-2","order-3","order-4","order-5"]
send t by=shop value=again-{n} times=3 every=1s -> ok
expect leo("t-0") == 9 && acked("shop") == 9 && batches("t-0") == 9`)
	if !report.OK {
		t.Errorf("%+v", report.Steps[len(report.Steps)-1])
	}
	last := report.Steps[len(report.Steps)-2]
	if before := report.Steps[len(report.Steps)-3]; last.At-before.At < 2e9 {
		t.Errorf("three records, a second apart, took %v", last.At-before.At)
	}
}

func TestRecordsStopWhenTheirProducerIsKilled(t *testing.T) {
	report := played(t, `
topic t replicas=1
producer shop linger=0ms
send t by=shop value=first
send t by=shop value=x times=100 every=10ms nowait
sleep 25ms
kill shop
sleep 1s
expect leo("t-0") == 4`)
	if !report.OK {
		t.Errorf("%+v", report.Steps[len(report.Steps)-1])
	}
}

func TestRecordsApartNeedAProducerOfTheirOwn(t *testing.T) {
	report := played(t, "topic t replicas=1\nsend t value=x times=2 every=1s")
	if report.OK {
		t.Error("the built-in client took it")
	}
}

func TestBatchTellsItsFieldsByTheNamesOfKafkasDumpTool(t *testing.T) {
	report := played(t, `
topic t replicas=1
producer shop linger=0ms
send t by=shop value=hello times=2
expect batch("t-0",0,"producerEpoch") == 0 && batch("t-0",1,"baseOffset") == 0
expect batch("t-0",0,"lastOffset") == 1 && batch("t-0",0,"count") == 2
expect batch("t-0",0,"lastSequence") == 1 && batch("t-0",0,"partitionLeaderEpoch") == 0
expect !batch("t-0",0,"isTransactional") && !batch("t-0",0,"isControl")
expect batch("t-0",0,"endTxnMarker") == none && batch("t-0",2,"count") == none
expect batch("t-0",0,"size") == bytes("t-0") && latency("shop",50) >= 0
expect latency("shop",101) == none && sequence("shop","t-0") == 1 && open("shop","t-0") == none`)
	if !report.OK {
		t.Errorf("%+v", report.Steps[len(report.Steps)-1])
	}
	for _, wrong := range []string{`expect batch("t-0",0,"magic") == 2`,
		`expect latency("shop","x") == 1`} {
		_, mistakes := ParseScenario("s.txt", []byte("topic t\nproducer shop\n"+wrong))
		if len(mistakes) == 0 && played(t, "topic t\nproducer shop\nsend t value=x\n"+wrong).OK {
			t.Errorf("%s is taken", wrong)
		}
	}
}
