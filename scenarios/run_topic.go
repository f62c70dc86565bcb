package scenarios

import (
	"fmt"
	"strings"
	"time"

	"highwater/cluster/client"
	"highwater/cluster/event"
)

// visibleWithin bounds how long a new topic may take to reach its leaders.
const visibleWithin = 10 * time.Second

func runTopic(x *execution) {
	c := x.command
	request := client.TopicRequest{Name: c.value("topic").text, Settings: c.settings,
		Partitions: int32(c.value("partitions").number), Replicas: c.value("replicas").replicas,
		ReplicationFactor: int16(c.value("rf").number)}
	if c.given("replicas") && c.given("partitions") {
		count := int(c.value("partitions").number)
		switch len(request.Replicas) {
		case 1:
			same := request.Replicas[0]
			request.Replicas = make([][]event.NodeID, count)
			for i := range request.Replicas {
				request.Replicas[i] = same
			}
		case count:
		default:
			x.end(Result{}, inputError(c.value("replicas").position,
				"%d lists of replicas for %s", len(request.Replicas), counted(count, "partition")))
			return
		}
	}
	x.client.CreateTopic(request, func(r client.AdminResult) {
		if r.Code != 0 {
			x.administered(r, Result{})
			return
		}
		x.untilVisible(request.Name, x.config.Now()+visibleWithin)
	})
}

// administered ends a command that the active controller answers, and says so when there was none.
func (x *execution) administered(r client.AdminResult, result Result) {
	if _, active := x.config.Cluster.Controller(); r.Code != 0 && !active {
		r.Message = "no controller is active, which needs a majority of them to run and to reach each other"
	}
	x.outcome(r.Code, r.Message, result)
}

// untilVisible ends the command when every partition of the new topic has a leader that serves it,
// so that the next command finds what this one made.
func (x *execution) untilVisible(topic string, deadline time.Duration) {
	count := x.config.Cluster.PartitionCount(topic)
	visible := count > 0
	for i := range count {
		_, led := x.config.Cluster.LogEndOffsetOfLeader(topic, int32(i))
		visible = visible && led
	}
	if !visible && x.config.Now() < deadline {
		x.client.After(pollEvery, func() { x.untilVisible(topic, deadline) })
		return
	}
	x.outcome(0, "", Result{Text: "created " + topic + " with " + counted(count, "partition")})
}

func runDeleteTopic(x *execution) {
	v := x.command.value("topic")
	if !x.topic(v.text, v.position) {
		return
	}
	x.client.DeleteTopic(v.text, func(r client.AdminResult) {
		x.administered(r, Result{Text: "deleted " + v.text})
	})
}

func runConfig(x *execution) {
	v := x.command.value("topic")
	if !x.topic(v.text, v.position) {
		return
	}
	x.client.AlterTopic(v.text, x.command.settings, func(r client.AdminResult) {
		x.administered(r, Result{Text: "changed " + v.text})
	})
}

func runElect(x *execution) {
	v := x.command.value("partition")
	if !x.partition(v.text, v.position, v.partition, v.position) {
		return
	}
	unclean := x.command.value("election").text == "unclean"
	x.client.Elect(v.text, v.partition, unclean, func(r client.AdminResult) {
		x.administered(r, Result{Text: fmt.Sprintf("elected a leader of %s-%d", v.text,
			v.partition)})
	})
}

func runSend(x *execution) {
	c := x.command
	topic, partition := c.value("topic"), int32(-1)
	if c.given("partition") {
		partition = int32(c.value("partition").number)
	}
	if !x.partition(topic.text, topic.position, max(partition, 0), c.value("partition").position) {
		return
	}
	request := client.SendRequest{Topic: topic.text, Partition: partition,
		Times: int(c.value("times").number), Acks: acksOf(c.value("acks").text),
		TimeoutMs:  int(c.value("timeout").duration / time.Millisecond),
		Idempotent: c.value("idempotent").text == "true"}
	if request.Idempotent && request.Acks != -1 {
		err := inputError(c.value("acks").position, "an idempotent producer needs acks=all")
		err.Hint = "Kafka's producer refuses this configuration, too"
		x.end(Result{}, err)
		return
	}
	request.Key, request.Value = optional(c, "key"), optional(c, "value")
	if c.given("sequence") {
		sequence := int32(c.value("sequence").number)
		request.Sequence = &sequence
	}
	request.TimestampMs = c.value("timestamp").number
	request.Make = func(n int) (key, value *string) {
		return filledIn(request.Key, n), filledIn(request.Value, n)
	}
	switch {
	case c.given("by"):
		x.sendBy(request)
		return
	case c.given("every"), c.given("nowait"):
		name := "every"
		if !c.given(name) {
			name = "nowait"
		}
		err := inputError(c.value(name).position, "%s needs a producer of its own", name)
		err.Hint = "start one with producer NAME and add by=NAME"
		x.end(Result{}, err)
		return
	}
	x.client.Send(request, func(r client.SendResult) { x.sent(r) })
}

func acksOf(text string) int16 {
	switch text {
	case "0":
		return 0
	case "1":
		return 1
	}
	return -1
}

func optional(c *Command, name string) *string {
	if !c.given(name) {
		return nil
	}
	text := c.value(name).text
	return &text
}

func filledIn(text *string, n int) *string {
	if text == nil {
		return nil
	}
	filled := fillIn(*text, n)
	return &filled
}

// landedValue is where records lie in one partition. Offsets are texts, for JSON's sake.
type landedValue struct {
	Partition   int32  `json:"partition"`
	FirstOffset string `json:"firstOffset"`
	LastOffset  string `json:"lastOffset"`
	Records     int    `json:"records"`
}

func sentTo(all client.Landings) []landedValue {
	values := make([]landedValue, len(all))
	for i, l := range all {
		values[i] = landedValue{l.Partition, fmt.Sprint(l.First), fmt.Sprint(l.Last), l.Records}
	}
	return values
}

// sentValue is the data of a send's result.
type sentValue struct {
	Partitions   []landedValue `json:"partitions"`
	Acknowledged int           `json:"acknowledged"`
}

func (x *execution) sent(r client.SendResult) {
	text := fmt.Sprintf("acknowledged %s%s", grouped(r.Acknowledged), landed(r.Landed))
	switch {
	case len(r.Landed) == 1 && r.Landed[0].First < 0:
		text = fmt.Sprintf("sent %s to partition %d without an answer", grouped(r.Acknowledged),
			r.Landed[0].Partition)
	case len(r.Landed) > 0 && r.Landed[0].First < 0:
		text = fmt.Sprintf("sent %s to %d partitions without an answer", grouped(r.Acknowledged),
			len(r.Landed))
	case r.Acknowledged == 1:
		text = "acknowledged" + landed(r.Landed)
	}
	message := r.Message
	if r.Code != 0 && r.Acknowledged > 0 {
		message = fmt.Sprintf("%s acknowledged before; %s", grouped(r.Acknowledged), r.Message)
	}
	x.outcome(r.Code, message, Result{Text: text,
		Value: sentValue{sentTo(r.Landed), r.Acknowledged}})
}

// landed goes on from what was acknowledged with where it lies, partition by partition.
func landed(all client.Landings) string {
	var parts []string
	for _, l := range all {
		text := fmt.Sprintf("at offsets %s to %s of partition %d", grouped(l.First), grouped(l.Last), l.Partition)
		if l.First == l.Last {
			text = fmt.Sprintf("at offset %s of partition %d", grouped(l.First), l.Partition)
		}
		if len(all) > 1 {
			text = grouped(l.Records) + " " + text
		}
		if l.First >= 0 {
			parts = append(parts, text)
		}
	}
	switch len(parts) {
	case 0:
		return ""
	case 1:
		return " " + parts[0]
	}
	return ": " + strings.Join(parts, "; ")
}

func runRead(x *execution) {
	c := x.command
	topic, partition := c.value("topic"), int32(c.value("partition").number)
	if !x.partition(topic.text, topic.position, partition, c.value("partition").position) {
		return
	}
	x.client.Read(client.ReadRequest{Topic: topic.text, Partition: partition,
		From: c.value("from").number, Max: int(c.value("max").number),
		Committed: c.value("isolation").text == "read_committed"}, x.wasRead)
}

// readValue is one record of a read's result.
type readValue struct {
	Offset    string  `json:"offset"`
	Timestamp string  `json:"timestamp"`
	Key       *string `json:"key"`
	Value     *string `json:"value"`
}

func (x *execution) wasRead(r client.ReadResult) {
	records := make([]readValue, len(r.Records))
	for i, record := range r.Records {
		records[i] = readValue{fmt.Sprint(record.Offset), fmt.Sprint(record.TimestampMs), record.Key,
			record.Value}
	}
	text := fmt.Sprintf("read %s; the high watermark is %s", counted(len(records), "record"),
		grouped(r.HighWatermark))
	x.outcome(r.Code, "", Result{Text: text, Value: map[string]any{"records": records,
		"highWatermark": fmt.Sprint(r.HighWatermark)}})
}
