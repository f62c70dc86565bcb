package scenarios

import "testing"

// What comes with the answer to a fetch belongs to the topic that was asked for, not to the one
// that has its name now.
func TestAnAnswerFromBeforeATopicsDeletionIsNotAppendedToTheNewOne(t *testing.T) {
	holds(t, "topic del replicas=1,2,3", "producer p", "send del value=old times=10 by=p", "sleep 2s",
		"delay 1>3 500ms", "sleep 2s", "send del value=old{n} times=5 acks=1", "delete-topic del",
		"topic del replicas=1,2,3", "send del value=new{n} times=20 acks=1", "sleep 23s",
		`expect isr("del-0") == [1,2,3]`, `expect log(1,"del-0") == log(3,"del-0")`,
		"kill 1", "kill 2", "sleep 20s", `expect count("del-0") == 20`)
}

// A broker that stood still says who led before: whoever has heard of the next leader does not go
// back.
func TestAClientKeepsTheNewestLeaderThatItHeardOf(t *testing.T) {
	holds(t, "topic a replicas=1,2,3", "send a value=v times=5", "sleep 2s", "pause 1",
		`wait leader("a-0") == 2 within 60s`, "consumer e topic=a from=earliest", "sleep 10s",
		"send a value=w times=10", "sleep 3s", `expect position("e","a-0") == 15`,
		"kill 101", "kill 102", "kill 103", "resume 1", "kill 2", "kill 3", "sleep 10s",
		`expect position("e","a-0") == 15`)
}
