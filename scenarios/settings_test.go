package scenarios

import (
	"strings"
	"testing"

	"highwater/cluster"
	"highwater/cluster/client"
)

// What a topic does not say itself a broker's configuration says, and the topic's own word goes
// first.
func TestTopicsFallBackToTheBrokersSettings(t *testing.T) {
	large := strings.Repeat("x", 4000)
	s := scenarioOf(t,
		"topic a replicas=1,2,3", "topic own replicas=1,2,3 max.message.bytes=100000",
		"send a value="+large+" timeout=5s -> MESSAGE_TOO_LARGE",
		"send own value="+large,
		"send own value="+large, // a second segment begins: the first can go
		"send own value=last",
		"sleep 20s",
		`expect start("own-0") > 0`,
		"kill 2", "kill 3", "sleep 15s",
		"send own value=x timeout=15s -> NOT_ENOUGH_REPLICAS",
	)
	for name, value := range map[string]string{"message.max.bytes": "3000", "min.insync.replicas": "2",
		"replica.fetch.response.max.bytes": "0", "log.segment.bytes": "1048576",
		"log.retention.ms": "5000", "log.roll.ms": "1000",
		"log.retention.check.interval.ms": "1000"} {
		s.Settings = append(s.Settings, client.Setting{Name: name, Value: value})
		if !cluster.SettingCounts(name) {
			t.Errorf("%s is said to change nothing", name)
		}
	}
	scenarioHolds(t, s)
	for _, name := range []string{"broker.heartbeat.interval.ms", "replica.fetch.backoff.ms",
		"replica.fetch.wait.max.ms", "replica.lag.time.max.ms"} {
		if cluster.CheckSetting(name, "0") == nil || cluster.CheckSetting(name, "1") != nil {
			t.Errorf("%s: 0 is taken, or 1 is not", name)
		}
	}
	if cluster.SettingCounts("num.io.threads") {
		t.Error("num.io.threads is said to count")
	}
}

// Blanks around a value, and around the members of a list, mean nothing.
func TestValuesCountWithoutTheBlanksAroundThem(t *testing.T) {
	s := scenarioOf(t,
		`topic a replicas=1,2,3 retention.ms=" 604800000" min.insync.replicas=" 2" segment.ms=1000`,
		"send a value=1", "sleep 5s", "send a value=2", "sleep 20s", `expect start("a-0") == 0`,
		`config a retention.ms="604800000 "`, "sleep 10s", `expect start("a-0") == 0`,
		`config a retention.ms=" 1000"`, "sleep 10s", `expect start("a-0") > 0`,
		`topic c replicas=1,2,3 cleanup.policy="compact, delete"`, "send c key=k value=1",
		"clean c-0",
		`topic n replicas=1,2,3 cleanup.policy="" retention.ms=1000 segment.ms=1000`,
		"send n value=1", "sleep 5s", "send n value=2", "sleep 10s", `expect start("n-0") == 0`,
		"topic z max.message.bytes=0", "send z value=1 timeout=5s -> MESSAGE_TOO_LARGE",
		"kill 2", "kill 3", "sleep 15s", "send a value=x timeout=15s -> NOT_ENOUGH_REPLICAS",
	)
	s.Settings = append(s.Settings,
		client.Setting{Name: "log.retention.check.interval.ms", Value: " 1000"})
	scenarioHolds(t, s)
}
