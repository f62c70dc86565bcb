package scenarios

import "testing"

// The checkpoints name logs by their topic's name, which may be another topic's by the time that they
// are read.
func TestCheckpointsOfADeletedTopicSayNothingOfTheNextOne(t *testing.T) {
	begun := []string{"topic del replicas=1,2,3 internal.segment.bytes=300",
		"send del value=old{n} times=40", "config del retention.bytes=100", "retain del-0",
		"expect start(\"del-0\") > 30"}
	again := []string{"delete-topic del", "topic del replicas=1,2,3 min.insync.replicas=2",
		"send del value=new{n} times=60 acks=all", `expect start(1,"del-0") == 0 && count("del-0") == 60`}
	for name, steps := range map[string][][]string{
		"checkpointed, then a crash": {begun, {"sleep 70s"}, again,
			{"kill 1", "kill 2", "kill 3", "restart all", "sleep 20s"}},
		"deleted while a broker is down": {begun, {"sleep 70s", "kill 1"}, again[:3],
			{"restart 1", "sleep 3s", "kill 1", "restart 1", "sleep 20s", "elect del-0"}},
		"read at the start": {begun, {"stop 1", "sleep 3s", "restart 1", "sleep 3s"}, again},
		"read at the start of a follower": {begun, {"stop 1", "sleep 3s", "restart 1", "sleep 3s",
			"delay 2>1 400ms"}, again[:1], {"topic del replicas=2,1,3 min.insync.replicas=2",
			"send del value=new{n} times=60 acks=1", "sleep 20s", "stop 2", "stop 3", "sleep 20s"}},
	} {
		t.Run(name, func(t *testing.T) {
			var all []string
			for _, part := range steps {
				all = append(all, part...)
			}
			holds(t, append(all, "sleep 5s", `expect count("del-0") == 60`,
				`expect start(1,"del-0") == 0`)...)
		})
	}
}

// A group counts its generations from 1 again when the topic that remembers them is gone.
func TestAGroupWhoseTopicIsDeletedBeginsAgain(t *testing.T) {
	holds(t, "topic x replicas=1,2,3;2,3,1", "consumer g1 topic=x group=g from=earliest", "sleep 10s",
		"consumer g2 topic=x group=g from=earliest", "sleep 10s", "delete-topic __consumer_offsets",
		"sleep 60s", `expect members("g") == 2`)
}
