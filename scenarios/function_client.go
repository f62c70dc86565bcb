package scenarios

import (
	"highwater/cluster/client"
	"highwater/cluster/event"
)

// clientFunctions are what expressions may ask of producers, consumers and groups.
func clientFunctions() []function {
	return []function{
		{"position", []string{"cp"}, false, "number", "where a consumer's next poll begins",
			evaluatePosition},
		{"assigned", []string{"c"}, false, "list of texts", "the partitions that a consumer owns",
			onConsumer(func(c *client.Consumer) any {
				return each(c.Assigned(), func(text string) any { return text })
			})},
		{"acked", []string{"c"}, false, "number", "the records that a producer believes acknowledged",
			onBeliefs(func(b client.Beliefs) int64 { return b.Acknowledged })},
		{"failed", []string{"c"}, false, "number", "the records that a producer believes failed",
			onBeliefs(func(b client.Beliefs) int64 { return b.Failed })},
		{"unknown", []string{"c"}, false, "number",
			"the records of which a producer does not know what became",
			onBeliefs(func(b client.Beliefs) int64 { return b.Unknown })},
		{"pending", []string{"c"}, false, "number",
			"the records in a producer's accumulator that were never sent",
			onBeliefs(func(b client.Beliefs) int64 { return b.Pending })},
		{"sent", []string{"c"}, false, "number",
			"the records that a producer sent and has no answer for",
			onBeliefs(func(b client.Beliefs) int64 { return b.Sent })},
		{"buffered", []string{"c"}, false, "number", "bytes taken of a producer's buffer.memory",
			onProducer(func(p *client.Producer) any { return p.BufferedBytes() })},
		{"committed", []string{"gp"}, false, "number or none",
			"the offset that a group has committed", evaluateCommitted},
		{"members", []string{"g"}, false, "number or none", "how many members a group has",
			onGroup(func(members []string, _ int32) any { return int64(len(members)) })},
		{"generation", []string{"g"}, false, "number or none", "the group's generation",
			onGroup(func(_ []string, generation int32) any { return int64(generation) })},
		{"latency", []string{"cq"}, false, "number or none",
			"microseconds from send() to the acknowledgement that so many percent of a producer's " +
				"batches did not exceed", evaluateLatency},
		{"sequence", []string{"cp"}, false, "number or none",
			"the last sequence of a producer that the leader remembers, -1 after a marker",
			onProducerState(func(last int32, _ event.Offset) any { return int64(last) })},
		{"open", []string{"cp"}, false, "number or none",
			"the offset where a producer's open transaction begins on the leader",
			onProducerState(func(_ int32, start event.Offset) any {
				return numberOrNone(int64(start), start >= 0)
			})},
	}
}

func numberOrNone(n int64, ok bool) any {
	if !ok {
		return nil
	}
	return n
}

func each[T any](list []T, f func(T) any) []any {
	values := make([]any, len(list))
	for i, item := range list {
		values[i] = f(item)
	}
	return values
}

// clientNamed checks that a name is one of a client at all; a client that is down gives none.
func (v *evaluation) clientNamed(e *expression, value any) (string, *Error) {
	name, ok := value.(string)
	if !ok {
		return "", wrongType(e, value, "the name of a client")
	}
	if _, known := v.cluster.Named(name); !known {
		return "", inputError(e.position, "there is no client %q", name).
			meant(name, v.cluster.Programs())
	}
	return name, nil
}

func onConsumer(ask func(*client.Consumer) any) evaluator {
	return func(v *evaluation, e *expression, arguments []any) (any, *Error) {
		name, err := v.clientNamed(e.operands[0], arguments[0])
		if err != nil {
			return nil, err
		}
		c := v.cluster.Consumer(name)
		if c == nil {
			return nil, nil
		}
		return ask(c), nil
	}
}

func onProducer(ask func(*client.Producer) any) evaluator {
	return func(v *evaluation, e *expression, arguments []any) (any, *Error) {
		name, err := v.clientNamed(e.operands[0], arguments[0])
		if err != nil {
			return nil, err
		}
		p := v.cluster.Producer(name)
		if p == nil {
			return nil, nil
		}
		return ask(p), nil
	}
}

func onBeliefs(of func(client.Beliefs) int64) evaluator {
	return onProducer(func(p *client.Producer) any { return of(p.Beliefs()) })
}

func onGroup(ask func(members []string, generation int32) any) evaluator {
	return func(v *evaluation, e *expression, arguments []any) (any, *Error) {
		name, ok := arguments[0].(string)
		if !ok {
			return nil, wrongType(e.operands[0], arguments[0], "a group")
		}
		members, generation, ok := v.cluster.GroupMembers(name)
		if !ok {
			return nil, nil
		}
		return ask(members, generation), nil
	}
}

func evaluatePosition(v *evaluation, e *expression, arguments []any) (any, *Error) {
	topic, partition, err := partitionOf(e.operands[1], arguments[1])
	if err != nil {
		return nil, err
	}
	return onConsumer(func(c *client.Consumer) any {
		return numberOrNone(c.Position(topic, partition))
	})(v, e, arguments)
}

func evaluateCommitted(v *evaluation, e *expression, arguments []any) (any, *Error) {
	group, ok := arguments[0].(string)
	if !ok {
		return nil, wrongType(e.operands[0], arguments[0], "a group")
	}
	topic, partition, err := partitionOf(e.operands[1], arguments[1])
	if err != nil {
		return nil, err
	}
	return numberOrNone(v.cluster.Committed(group, topic, partition)), nil
}

func evaluateLatency(v *evaluation, e *expression, arguments []any) (any, *Error) {
	percent, ok := arguments[1].(int64)
	if !ok {
		return nil, wrongType(e.operands[1], arguments[1], "a number of percent")
	}
	return onProducer(func(p *client.Producer) any {
		d, ok := p.Latency(int(percent))
		return numberOrNone(d.Microseconds(), ok)
	})(v, e, arguments)
}

// onProducerState asks the leader of a partition about a producer.
func onProducerState(of func(lastSequence int32, txnStart event.Offset) any) evaluator {
	return func(v *evaluation, e *expression, arguments []any) (any, *Error) {
		topic, partition, err := partitionOf(e.operands[1], arguments[1])
		if err != nil {
			return nil, err
		}
		return onProducer(func(p *client.Producer) any {
			last, start, ok := v.cluster.ProducerState(topic, partition, p.ProducerID())
			if !ok {
				return nil
			}
			return of(last, start)
		})(v, e, arguments)
	}
}

// polledBack is what a consumer's polls returned, in the form of what was read of a partition.
func (v *evaluation) polledBack(e *expression, value any) (readBack, *Error) {
	name, err := v.clientNamed(e, value)
	if err != nil {
		return readBack{}, err
	}
	c := v.cluster.Consumer(name)
	if c == nil {
		return readBack{}, nil
	}
	back := readBack{ok: true, keys: []any{}, values: []any{}, offsets: []any{}}
	for _, r := range c.Seen() {
		back.offsets = append(back.offsets, r.Offset)
		back.keys = append(back.keys, textOrNone(r.Key))
		back.values = append(back.values, textOrNone(r.Value))
	}
	return back, nil
}
