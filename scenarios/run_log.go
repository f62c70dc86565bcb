package scenarios

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"highwater/cluster/broker"
	"highwater/cluster/client"
	"highwater/cluster/event"
)

// logCommands are about what becomes of a log as it ages.
func logCommands() []spec {
	partition := argument{name: "partition", kind: kindPartition, required: true,
		help: "such as users-0"}
	return []spec{
		{name: "clean", run: runClean,
			arguments: []argument{partition, {name: "on", kind: kindNode, keyed: true,
				help: "one broker only; every living replica without it"}},
			help:    "compact a partition's closed segments now, whatever is dirty in them",
			example: "clean users-0 on 2"},
		{name: "retain", run: runRetain, arguments: []argument{partition},
			help:    "check a partition's retention now, on every living replica",
			example: "retain orders-0"},
		{name: "send-rounds", outcome: true, run: runSendRounds,
			arguments: []argument{topicArgument(),
				{name: "keys", kind: kindText, keyed: true, required: true,
					help: "a record of each key is a round; separated by commas"},
				{name: "value", kind: kindText, keyed: true, required: true,
					help: "the records' value; {n} in it is the round's number"},
				{name: "from", kind: kindInteger, keyed: true, fallback: "1", maximum: 1 << 30,
					help: "the first round's number"},
				{name: "to", kind: kindInteger, keyed: true, required: true, maximum: 1 << 30,
					help: "the last round's number"},
				{name: "acks", kind: kindChoice, keyed: true, fallback: "all",
					choices: []string{"all", "0", "1", "-1"}, help: "who must have a record first"}},
			help:    "produce round after round, each record as a batch of its own",
			example: "send-rounds users keys=alice,bob,carol value=v{n} from=1 to=30"},
	}
}

// runClean compacts the replicas one after the other, so that the report has one order.
func runClean(x *execution) {
	v := x.command.value("partition")
	if !x.partition(v.text, v.position, v.partition, v.position) {
		return
	}
	var todo []event.NodeID
	if x.command.given("on") {
		id, err := x.node(x.command.value("on").expression)
		if err != nil {
			x.end(Result{}, err)
			return
		}
		todo = []event.NodeID{id}
	} else {
		for _, id := range x.config.Cluster.Replicas(v.text, v.partition) {
			if x.config.Cluster.Alive(id) {
				todo = append(todo, id)
			}
		}
	}
	x.clean(v, todo, nil)
}

// cleanWithin bounds a pass in virtual time: a broker that dies meanwhile never reports.
const cleanWithin = time.Minute

func (x *execution) clean(v value, todo []event.NodeID, said []string) {
	if len(todo) == 0 {
		if len(said) == 0 {
			x.nobodyHolds(v)
			return
		}
		x.ok("%s-%d: %s", v.text, v.partition, strings.Join(said, "; "))
		return
	}
	id := todo[0]
	reported := false
	err := x.config.Cluster.Clean(id, v.text, v.partition, func(r broker.CleaningReport) {
		reported = true
		x.clean(v, todo[1:], append(said, fmt.Sprintf("broker %d: %s", id, report(r))))
	})
	if err != nil {
		x.did(err, "")
		return
	}
	x.client.After(cleanWithin, func() {
		if !reported {
			x.end(Result{}, &Error{Kind: Failed, Position: v.position,
				Message: fmt.Sprintf("broker %d did not compact %s-%d within %v", id, v.text,
					v.partition, cleanWithin)})
		}
	})
}

func report(r broker.CleaningReport) string {
	switch r.Outcome {
	case "cleaned":
		return fmt.Sprintf("%s before, %s after", counted(r.RecordsBefore, "record"), grouped(r.RecordsAfter))
	case "nothing":
		return "no closed segment is committed"
	}
	return r.Outcome
}

// nobodyHolds ends a command for which no broker with the log runs.
func (x *execution) nobodyHolds(v value) {
	x.end(Result{}, &Error{Kind: Refused, Position: v.position, Hint: "restart all",
		Message: fmt.Sprintf("no broker that holds %s-%d runs", v.text, v.partition)})
}

func runRetain(x *execution) {
	v := x.command.value("partition")
	if !x.partition(v.text, v.position, v.partition, v.position) {
		return
	}
	var said []string
	for _, id := range x.config.Cluster.Retain(v.text, v.partition) {
		start, _ := x.config.Cluster.LogStartOffset(id, v.text, v.partition)
		said = append(said, fmt.Sprintf("on broker %d it starts at %d", id, start))
	}
	if len(said) == 0 {
		x.nobodyHolds(v)
		return
	}
	x.ok("%s-%d: %s", v.text, v.partition, strings.Join(said, ", "))
}

func runSendRounds(x *execution) {
	c := x.command
	topic := c.value("topic")
	if !x.partition(topic.text, topic.position, 0, topic.position) {
		return
	}
	keys := strings.Split(c.value("keys").text, ",")
	x.round(keys, c.value("from").number, 0)
}

// round sends the record of one key in one round, and then the next.
func (x *execution) round(keys []string, n int64, at int) {
	c := x.command
	from, to := c.value("from").number, c.value("to").number
	if n > to {
		x.outcome(0, "", Result{Text: "sent " + counted((to-from+1)*int64(len(keys)), "record")})
		return
	}
	text := strings.ReplaceAll(c.value("value").text, "{n}", strconv.FormatInt(n, 10))
	request := client.SendRequest{Topic: c.value("topic").text, Partition: -1, Key: &keys[at],
		Value: &text, Times: 1, Acks: acksOf(c.value("acks").text)}
	x.client.Send(request, func(r client.SendResult) {
		switch {
		case r.Code != 0:
			x.outcome(r.Code, fmt.Sprintf("at %s of round %d; %s", keys[at], n, r.Message), Result{})
		case at+1 < len(keys):
			x.round(keys, n, at+1)
		default:
			x.round(keys, n+1, 0)
		}
	})
}
