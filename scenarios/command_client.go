package scenarios

import "highwater/cluster/client"

// clientCommands are about named producers and consumers.
func clientCommands() []spec {
	return []spec{
		{name: "producer", outcome: true, run: runProducer, configs: client.ProducerConfigNames,
			arguments: producerArguments(),
			help: "start a producer under a name; any producer configuration may follow by " +
				"Kafka's name",
			example: "producer shop linger=20ms"},
		{name: "flush", run: runFlush, arguments: []argument{clientArgument(kindProducer, "a producer")},
			help:    "send what a producer has, and wait until it knows what became of it",
			example: "flush shop"},
		{name: "txn", outcome: true, run: runTxn,
			arguments: []argument{clientArgument(kindProducer, "a producer with transactional=ID"),
				{name: "action", kind: kindChoice, required: true,
					choices: []string{"begin", "offsets", "commit", "abort"},
					help:    "offsets makes a consumer's positions part of the transaction"},
				{name: "of", kind: kindConsumer, keyed: true, help: "the consumer, with offsets"}},
			help:    "begin a producer's transaction, put something into it, or end it",
			example: "txn shop begin"},
		{name: "consumer", outcome: true, run: runConsumer, configs: client.ConsumerConfigNames,
			arguments: consumerArguments(),
			help: "start a consumer under a name, which polls again and again, or by commands " +
				"with `manual`; `consume` is the same, and any consumer configuration may follow " +
				"by Kafka's name",
			example: "consumer billing topic=orders group=billing from=earliest"},
		{name: "poll", outcome: true, run: runPoll,
			arguments: []argument{clientArgument(kindConsumer, "a consumer that is manual"),
				{name: "max", kind: kindInteger, keyed: true, minimum: 1, maximum: 100000,
					help: "at most that many records; max.poll.records without it"},
				{name: "timeout", kind: kindDuration, keyed: true, fallback: "10s",
					help: "how long to wait for a record"}},
			help: "let a consumer poll once", example: "poll billing max=2"},
		{name: "commit", outcome: true, run: runCommit,
			arguments: []argument{clientArgument(kindConsumer, "a consumer with a group")},
			help:      "commit the positions of a consumer", example: "commit billing"},
		{name: "seek", run: runSeek,
			arguments: []argument{clientArgument(kindConsumer, "a consumer"),
				{name: "offset", kind: kindPosition, required: true,
					help: "earliest, latest or an offset"},
				{name: "partition", kind: kindPartition, keyed: true,
					help: "such as orders-0; every partition without it"}},
			help: "let a consumer read from somewhere else", example: "seek billing 0"},
		{name: "close", run: runClose,
			arguments: []argument{clientArgument(kindClient, "a producer or consumer")},
			help: "close a client: a producer flushes, a consumer leaves its group; `restart` " +
				"brings it back",
			example: "close shop"},
	}
}

func clientArgument(k kind, what string) argument {
	return argument{name: "name", kind: k, required: true, help: "name of " + what}
}

func newClientArgument() argument {
	return argument{name: "name", kind: kindNewName, required: true,
		help: "what commands call it: letters, digits and _"}
}

func producerArguments() []argument {
	return []argument{newClientArgument(),
		{name: "acks", kind: kindText, keyed: true, help: "all, 1 or 0; all without it"},
		{name: "idempotent", kind: kindText, keyed: true,
			help: "enable.idempotence: true, unless acks is not all"},
		{name: "linger", kind: kindText, keyed: true, help: "linger.ms: 5ms without it"},
		{name: "batch", kind: kindText, keyed: true, help: "batch.size: 16384 bytes without it"},
		{name: "buffer", kind: kindText, keyed: true, help: "buffer.memory: 33554432 without it"},
		{name: "in-flight", kind: kindText, keyed: true,
			help: "max.in.flight.requests.per.connection: 5 without it"},
		{name: "transactional", kind: kindText, keyed: true, help: "transactional.id"},
		{name: "timeout", kind: kindText, keyed: true,
			help: "delivery.timeout.ms: 2m without it"}}
}

func consumerArguments() []argument {
	return []argument{newClientArgument(),
		{name: "topic", kind: kindTopics, keyed: true, required: true,
			help: "one topic or several: orders,payments"},
		{name: "partition", kind: kindInteger, keyed: true, maximum: 1 << 30,
			help: "only this partition, assigned by hand"},
		{name: "group", kind: kindText, keyed: true,
			help: "group.id: the group divides the partitions; without it all are assigned"},
		{name: "from", kind: kindPosition, keyed: true,
			help: "where to begin; with a group this is auto.offset.reset; latest without it"},
		{name: "isolation", kind: kindText, keyed: true,
			help: "isolation.level: read_uncommitted without it"},
		{name: "auto-commit", kind: kindText, keyed: true,
			help: "enable.auto.commit: true with a group, unless it is said"},
		{name: "manual", kind: kindChoice, choices: []string{"manual"},
			help: "the consumer polls by commands only"}}
}

// shortNames are Kafka's names of what has a short one here.
func shortNames() [][2]string {
	return [][2]string{{"acks", "acks"}, {"idempotent", "enable.idempotence"},
		{"linger", "linger.ms"}, {"batch", "batch.size"}, {"buffer", "buffer.memory"},
		{"in-flight", "max.in.flight.requests.per.connection"},
		{"transactional", "transactional.id"}, {"timeout", "delivery.timeout.ms"},
		{"group", "group.id"}, {"isolation", "isolation.level"},
		{"auto-commit", "enable.auto.commit"}}
}

// clientSettings are a client's configurations, by Kafka's names.
func (c *Command) clientSettings() []client.Setting {
	var settings []client.Setting
	for _, pair := range shortNames() {
		if c.given(pair[0]) {
			settings = append(settings, client.Setting{Name: pair[1], Value: c.value(pair[0]).text})
		}
	}
	return append(settings, c.settings...)
}

// usedName is a client's name in a command, and where it stands.
type usedName struct {
	position int
	text     string
}

// startsClient is the name of the client that the command starts, "" for any other command.
func (c *Command) startsClient() string {
	if a := c.spec.argument("name"); a != nil && a.kind == kindNewName {
		return c.value("name").text
	}
	return ""
}

// usesClients lists the clients that a command needs to have been started.
func (c *Command) usesClients() []usedName {
	var used []usedName
	note := func(e *expression) {
		if e == nil {
			return
		}
		e.each(func(part *expression) {
			name, isText := part.literal.(string)
			if part.operator == "name" && isText {
				used = append(used, usedName{part.position, name})
			}
			if part.operator != "call" || len(part.operands) == 0 || part.function.forms[0] == "" {
				return
			}
			first := part.operands[0]
			name, isText = first.literal.(string)
			_, _, partition := cutPartition(name)
			if form := part.function.forms[0][0]; isText && (form == 'c' || form == 'r' && !partition) {
				used = append(used, usedName{first.position, name})
			}
		})
	}
	for i := range c.spec.arguments {
		a := &c.spec.arguments[i]
		v := c.value(a.name)
		if a.kind.isClient() && v.text != "" {
			used = append(used, usedName{v.position, v.text})
		}
		note(v.expression)
		note(v.link.from)
		note(v.link.to)
	}
	return used
}
