package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/client"
	"highwater/cluster/event"
)

func runProducer(x *execution) {
	name := x.command.value("name").text
	config, problem := client.ParseProducerConfig(x.command.clientSettings())
	if problem != nil {
		x.outcome(kerr.InvalidConfig.Code, problem.Error(), Result{})
		return
	}
	x.did(x.config.Cluster.AddProducer(name, config), "the producer %s begins", name)
}

func runConsumer(x *execution) {
	c := x.command
	name, settings := c.value("name").text, c.clientSettings()
	from := c.value("from")
	if c.given("group") && c.given("from") {
		if from.number >= 0 {
			e := inputError(from.position, "a group begins at its committed offset")
			e.Hint = "use from=earliest or from=latest, or seek"
			x.end(Result{}, e)
			return
		}
		settings = append(settings, client.Setting{Name: "auto.offset.reset", Value: from.text})
	}
	config, problem := client.ParseConsumerConfig(settings)
	if problem != nil {
		x.outcome(kerr.InvalidConfig.Code, problem.Error(), Result{})
		return
	}
	config.Topics = strings.Split(c.value("topic").text, ",")
	if c.given("partition") {
		config.Partition = int32(c.value("partition").number)
	}
	for _, topic := range config.Topics {
		at := c.value("topic").position
		if !x.partition(topic, at, config.Partition, c.value("partition").position) {
			return
		}
	}
	config.Manual = c.given("manual")
	if c.given("from") {
		config.From = &from.number
	}
	x.did(x.config.Cluster.AddConsumer(name, config), "the consumer %s begins", name)
}

// producer finds a running producer by its name.
func (x *execution) producer(v value) *client.Producer {
	p := x.config.Cluster.Producer(v.text)
	if p == nil {
		x.noClient(v, kindProducer)
		return nil
	}
	if x.standsStill(v) {
		return nil
	}
	p.Because(x.cause)
	return p
}

func (x *execution) consumer(v value) *client.Consumer {
	c := x.config.Cluster.Consumer(v.text)
	if c == nil {
		x.noClient(v, kindConsumer)
		return nil
	}
	if x.standsStill(v) {
		return nil
	}
	c.Because(x.cause)
	return c
}

// standsStill ends a command that a paused client would not hear of.
func (x *execution) standsStill(v value) bool {
	id, _ := x.config.Cluster.Named(v.text)
	if !x.config.Cluster.Paused(id) {
		return false
	}
	e := inputError(v.position, "%s is paused", v.text)
	e.Kind, e.Hint = Refused, "resume "+v.text
	x.end(Result{}, e)
	return true
}

func (x *execution) noClient(v value, k kind) {
	role := k.role()
	e := inputError(v.position, "no %s %s is running", role, v.text)
	id, known := x.config.Cluster.Named(v.text)
	switch own := x.config.Cluster.ProgramRole(v.text); {
	case known && k != kindClient && own != role:
		e.Message = fmt.Sprintf("%s is a %s", v.text, own)
		e = e.meant(v.text, clientsOf(x.config.Cluster, k))
	case known && x.config.Cluster.Fate(id) != "":
		e.Message = fmt.Sprintf("%s %s %s", role, v.text, x.config.Cluster.Fate(id))
		e.Hint = fmt.Sprintf("restart %s begins it anew", v.text)
	default:
		e = e.meant(v.text, slices.DeleteFunc(clientsOf(x.config.Cluster, k),
			func(name string) bool { return name == v.text }))
	}
	e.Kind = Refused
	x.end(Result{}, e)
}

// sendBy sends through a producer of its own.
func (x *execution) sendBy(request client.SendRequest) {
	c := x.command
	p := x.producer(c.value("by"))
	if p == nil {
		return
	}
	for _, name := range []string{"acks", "idempotent", "timeout", "sequence"} {
		if c.given(name) && !c.value(name).implied {
			e := inputError(c.value(name).position, "%s is the producer's own", name)
			e.Hint = "write it where the producer is started"
			x.end(Result{}, e)
			return
		}
	}
	done := x.sentBy
	if c.given("nowait") {
		done = func(client.SendOutcome) {}
		defer x.ok("handed %s to %s", counted(max(request.Times, 1), "record"), p.Name())
	}
	if c.given("every") {
		x.sendEvery(request, done)
		return
	}
	p.Send(request, done)
}

// sentByValue is the data of a send through a producer.
type sentByValue struct {
	sentValue
	Failed  int `json:"failed"`
	Unknown int `json:"unknown"`
}

func (x *execution) sentBy(r client.SendOutcome) {
	text := fmt.Sprintf("acknowledged %s%s", grouped(r.Acknowledged), landed(r.Landed))
	if r.Acknowledged == 1 {
		text = "acknowledged" + landed(r.Landed)
	}
	for _, other := range []struct {
		name string
		n    int
	}{{"failed", r.Failed}, {"unknown", r.Unknown}} {
		if other.n > 0 {
			text += "; " + other.name + " " + grouped(other.n)
		}
	}
	message := r.Message
	if r.Code != 0 {
		message = text
		if r.Message != "" && r.Message != outcome(r.Code) {
			message += ": " + r.Message
		}
	}
	x.outcome(r.Code, message, Result{Text: text, Value: sentByValue{
		sentValue{sentTo(r.Landed), r.Acknowledged}, r.Failed, r.Unknown}})
}

func runFlush(x *execution) {
	if p := x.producer(x.command.value("name")); p != nil {
		p.Flush(func() { x.ok("%s has nothing left to send", p.Name()) })
	}
}

func runTxn(x *execution) {
	p := x.producer(x.command.value("name"))
	if p == nil {
		return
	}
	action := x.command.value("action").text
	ended := func(r client.AdminResult) {
		x.outcome(r.Code, r.Message, Result{Text: transactionText(p.Name(), action)})
	}
	switch action {
	case "begin":
		p.Begin(ended)
	case "offsets":
		x.sendOffsets(p, ended)
	default:
		p.End(action == "commit", ended)
	}
}

func transactionText(name, action string) string {
	switch action {
	case "begin":
		return name + " is in a transaction"
	case "offsets":
		return "the transaction of " + name + " holds the consumer's positions"
	case "commit":
		return name + " has committed its transaction"
	}
	return name + " has aborted its transaction"
}

func (x *execution) sendOffsets(p *client.Producer, ended func(client.AdminResult)) {
	if !x.command.given("of") {
		x.end(Result{}, inputError(x.command.value("action").position, "whose offsets?").
			example("txn shop offsets of=billing"))
		return
	}
	if c := x.consumer(x.command.value("of")); c != nil {
		p.SendOffsets(c.GroupOffsets(), ended)
	}
}

func runPoll(x *execution) {
	c := x.consumer(x.command.value("name"))
	if c == nil {
		return
	}
	if !c.Manual() {
		e := inputError(x.command.value("name").position, "%s polls by itself", c.Name())
		e.Kind, e.Hint = Refused, "start it with manual to poll by commands"
		x.end(Result{}, e)
		return
	}
	c.Poll(int(x.command.value("max").number), x.command.value("timeout").duration,
		func(records []client.Record, code int16) { x.polled(records, code) })
}

// polledValue is one record of a poll's result.
type polledValue struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	readValue
}

func (x *execution) polled(records []client.Record, code int16) {
	list := make([]polledValue, len(records))
	var words []string
	for i, r := range records {
		list[i] = polledValue{r.Topic, r.Partition, readValue{fmt.Sprint(r.Offset),
			fmt.Sprint(r.TimestampMs), r.Key, r.Value}}
		if i < polledShown {
			words = append(words, fmt.Sprintf("(%s, %s)", grouped(r.Offset), show(textOrNone(r.Value))))
		}
	}
	if len(records) > polledShown {
		words = append(words, "…")
	}
	message := ""
	if code == kerr.OffsetOutOfRange.Code {
		message = "auto.offset.reset=none, and a partition has no committed offset or one that is " +
			"not in its log (NoOffsetForPartitionException, OffsetOutOfRangeException); seek decides"
	}
	x.outcome(code, message, Result{Value: map[string]any{"records": list},
		Text: strings.TrimSpace("polled " + counted(len(records), "record") + " " +
			strings.Join(words, " "))})
}

// polledShown is how many records the sentence about a poll names.
const polledShown = 10

func runCommit(x *execution) {
	c := x.consumer(x.command.value("name"))
	if c == nil {
		return
	}
	c.Commit(func(r client.AdminResult) {
		x.outcome(r.Code, r.Message, Result{Text: "committed the positions of " + c.Name()})
	})
}

func runSeek(x *execution) {
	c := x.consumer(x.command.value("name"))
	if c == nil {
		return
	}
	topic, partition := "", int32(-1)
	if x.command.given("partition") {
		topic, partition = x.command.value("partition").text, x.command.value("partition").partition
	}
	offset := x.command.value("offset").number
	if at := x.command.value("partition").position; topic != "" &&
		!x.partition(topic, at, partition, at) {
		return
	}
	moved := c.Seek(topic, partition, offset)
	if len(moved) == 0 {
		x.end(Result{}, &Error{Kind: Refused, Position: x.command.value("offset").position,
			Message: c.Name() + " has no such partition now"})
		return
	}
	var said []string
	for _, p := range moved {
		said = append(said, x.outside(p, offset)...)
	}
	switch {
	case len(said) == 0:
		x.ok("%s will read from there", c.Name())
		return
	case c.OffsetReset() == "none":
		x.ok("%s will fetch from there and find it out of range: %s; then its poll throws, as "+
			"auto.offset.reset=none says", c.Name(), strings.Join(said, ", "))
		return
	}
	x.ok("%s will fetch from there and find it out of range: %s; then auto.offset.reset=%s says "+
		"where to go on", c.Name(), strings.Join(said, ", "), c.OffsetReset())
}

// outside says that an offset is not in a partition's log, in which seek itself takes no interest.
func (x *execution) outside(p client.Sought, offset int64) []string {
	leader, _ := x.config.Cluster.Leader(p.Topic, p.Partition)
	end, known := x.config.Cluster.LogEndOffset(leader, p.Topic, p.Partition)
	start, _ := x.config.Cluster.LogStartOffset(leader, p.Topic, p.Partition)
	switch at := event.Offset(offset); {
	case !known || at < 0:
	case at > end:
		return []string{fmt.Sprintf("the log of %s-%d ends at %s", p.Topic, p.Partition, grouped(end))}
	case at < start:
		return []string{fmt.Sprintf("the log of %s-%d begins at %s", p.Topic, p.Partition, grouped(start))}
	}
	return nil
}

func runClose(x *execution) {
	v := x.command.value("name")
	id, ok := x.config.Cluster.Named(v.text)
	if !ok {
		x.noClient(v, kindClient)
		return
	}
	if x.standsStill(v) {
		return
	}
	err := x.config.Cluster.CloseProgram(id, func() { x.ok("%s is closed", v.text) })
	if err != nil {
		x.did(err, "")
	}
}
