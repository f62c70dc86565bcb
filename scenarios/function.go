package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"highwater/cluster/event"
)

// function is one row of what expressions may ask.
type function struct {
	name string
	// parameters of each form: p is a partition such as "orders-0", n a node, t a topic, c a client's
	// name, r a partition or a consumer's name, g a group, o an offset, q a percentage, i a transactional
	// id and s any text.
	forms []string
	// reads says that a consumer has to read the partition first.
	reads    bool
	returns  string
	help     string
	evaluate func(v *evaluation, e *expression, arguments []any) (any, *Error)
}

// readBack is what a consumer could read of a partition.
type readBack struct {
	ok           bool
	keys, values []any
	offsets      []any
}

func functions() []function {
	return slices.Concat(clusterFunctions(), clientFunctions(), fileFunctions())
}

func clusterFunctions() []function {
	return []function{
		{"isr", []string{"p"}, false, "list of nodes", "in-sync replicas by the metadata log",
			onPartition(isrOf)},
		{"elr", []string{"p"}, false, "list of nodes", "eligible leader replicas (KIP-966)",
			onPartition(elrOf)},
		{"leader", []string{"p"}, false, "node or none", "the partition's leader",
			onPartition(leaderOf)},
		{"epoch", []string{"p"}, false, "number", "the partition's leader epoch",
			onPartition(epochOf)},
		{"hw", []string{"p", "np"}, false, "number", "high watermark on the leader, or on a broker",
			onReplica(Cluster.HighWatermark, Cluster.HighWatermarkOn)},
		{"leo", []string{"p", "np"}, false, "number", "log end offset on the leader, or on a broker",
			onReplica(Cluster.LogEndOffsetOfLeader, Cluster.LogEndOffset)},
		{"log", []string{"np"}, false, "list of texts",
			"the values that lie in a broker's own log, committed or not", onLog(storedOf)},
		{"lso", []string{"p", "np"}, false, "number",
			"last stable offset, the end of what read_committed sees, on the leader or on a broker",
			onReplica(Cluster.LastStableOffset, Cluster.LastStableOffsetOn)},
		{"txn", []string{"i"}, false, "text or none",
			"a transactional id's state: Empty, Ongoing, PrepareCommit, CompleteCommit and so on",
			transactionOf},
		{"alive", []string{"n"}, false, "true or false", "the node runs", onNode(Cluster.Alive)},
		{"fenced", []string{"n"}, false, "true or false",
			"the controllers count the broker as absent", onNode(Cluster.Fenced)},
		{"controller", []string{""}, false, "node or none", "the active controller",
			func(v *evaluation, _ *expression, _ []any) (any, *Error) {
				id, ok := v.cluster.Controller()
				return node(id, ok), nil
			}},
		{"count", []string{"r"}, true, "number",
			"how many records a consumer can read of a partition, or one has polled",
			onRead(func(r readBack) any { return int64(len(r.values)) })},
		{"values", []string{"r"}, true, "list of texts",
			"the values that a consumer can read of a partition, or one has polled",
			onRead(func(r readBack) any { return r.values })},
		{"read", []string{"r"}, true, "list of texts", "the same as values",
			onRead(func(r readBack) any { return r.values })},
		{"keys", []string{"r"}, true, "list of texts",
			"the keys that a consumer can read of a partition, or one has polled",
			onRead(func(r readBack) any { return r.keys })},
		{"offsets", []string{"r"}, true, "list of numbers",
			"the offsets that a consumer can read of a partition, or one has polled",
			onRead(func(r readBack) any { return r.offsets })},
		{"segments", []string{"p", "np"}, false, "list of numbers",
			"base offsets of the segments on the leader, or on a broker", onLog(segmentsOf)},
		{"start", []string{"p", "np"}, false, "number",
			"log start offset on the leader, or on a broker", onLog(startOf)},
		{"dirty", []string{"p", "np"}, false, "number",
			"offset from which on nothing was compacted, on the leader or on a broker", onLog(dirtyOf)},
		{"partitions", []string{"t"}, false, "number",
			"how many partitions a topic has, 0 when it does not exist",
			func(v *evaluation, e *expression, arguments []any) (any, *Error) {
				name, ok := arguments[0].(string)
				if !ok {
					return nil, wrongType(e.operands[0], arguments[0], "a topic")
				}
				return int64(v.cluster.PartitionCount(name)), nil
			}},
	}
}

func findFunction(name string) *function {
	all := functions()
	for i := range all {
		if all[i].name == name {
			return &all[i]
		}
	}
	return nil
}

func functionNames() []string {
	var names []string
	for _, f := range functions() {
		names = append(names, f.name)
	}
	return names
}

// usage writes the function's forms.
func (f *function) usage() string {
	words := map[byte]string{'p': `"TOPIC-PARTITION"`, 'n': "NODE", 't': `"TOPIC"`, 'c': `"CLIENT"`,
		'r': `"TOPIC-PARTITION or CONSUMER"`, 'g': `"GROUP"`, 'o': "OFFSET", 's': `"TEXT"`,
		'i': `"TRANSACTIONAL-ID"`, 'q': "PERCENT"}
	var forms []string
	for _, form := range f.forms {
		var parameters []string
		for i := range len(form) {
			parameters = append(parameters, words[form[i]])
		}
		forms = append(forms, f.name+"("+strings.Join(parameters, ", ")+")")
	}
	return strings.Join(forms, " or ")
}

// check finds what can be wrong with a call before there is a cluster.
func (f *function) check(e *expression) *Error {
	form, fits := "", false
	for _, each := range f.forms {
		if len(each) == len(e.operands) {
			form, fits = each, true
		}
	}
	if !fits {
		err := inputError(e.position, "%s has not %d arguments", f.name, len(e.operands))
		err.Hint = "write " + f.usage()
		return err
	}
	for i, operand := range e.operands {
		literal := operand.operator == "literal"
		if f.reads && !literal {
			return inputError(operand.position,
				"%s needs its partition or client as a quoted text", f.name)
		}
		if !literal {
			continue
		}
		if err := checkLiteral(operand, form[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkLiteral(operand *expression, parameter byte) *Error {
	text, isText := operand.literal.(string)
	_, isNumber := operand.literal.(int64)
	switch {
	case parameter == 'n' && !isNumber:
		return inputError(operand.position, "%s is not a node", operand.source).
			example(`3 or leader("t-0")`)
	case parameter == 'o' && !isNumber:
		return inputError(operand.position, "%s is not an offset", operand.source)
	case parameter == 'q' && !isNumber:
		return inputError(operand.position, "%s is no number of percent", operand.source)
	case strings.IndexByte("noq", parameter) < 0 && !isText:
		return inputError(operand.position, "%s is not a quoted text", operand.source)
	case parameter == 'p':
		if _, _, ok := cutPartition(text); !ok {
			return inputError(operand.position, "%s names no partition", operand.source).
				example(strconv.Quote(strings.TrimSuffix(text, "-") + "-0"))
		}
	case parameter == 'c' || parameter == 'r':
		if _, _, ok := cutPartition(text); ok && parameter == 'r' {
			return nil
		}
		return checkClientName(word{operand.position, text})
	}
	return nil
}

// cutPartition takes "orders-0" apart. Topic names may hold dashes themselves.
func cutPartition(text string) (topic string, partition int32, ok bool) {
	at := strings.LastIndexByte(text, '-')
	if at <= 0 {
		return "", 0, false
	}
	n, err := strconv.ParseUint(text[at+1:], 10, 31)
	if err != nil {
		return "", 0, false
	}
	return text[:at], int32(n), true
}

func partitionOf(e *expression, value any) (string, int32, *Error) {
	text, ok := value.(string)
	topic, partition, cut := cutPartition(text)
	if !ok || !cut {
		return "", 0, wrongType(e, value, "a partition")
	}
	return topic, partition, nil
}

func nodeOf(e *expression, value any) (event.NodeID, *Error) {
	id, ok := value.(int64)
	if !ok || int64(event.NodeID(id)) != id {
		return 0, wrongType(e, value, "a node")
	}
	return event.NodeID(id), nil
}

type evaluator = func(v *evaluation, e *expression, arguments []any) (any, *Error)

func onPartition(ask func(c Cluster, topic string, partition int32) any) evaluator {
	return func(v *evaluation, e *expression, arguments []any) (any, *Error) {
		topic, partition, err := partitionOf(e.operands[0], arguments[0])
		if err != nil {
			return nil, err
		}
		return ask(v.cluster, topic, partition), nil
	}
}

// place is a function of one partition, on its leader or on a named broker.
func place(
	ofLeader func(c Cluster, topic string, partition int32) any,
	on func(c Cluster, id event.NodeID, topic string, partition int32) any,
) evaluator {
	return func(v *evaluation, e *expression, arguments []any) (any, *Error) {
		last := len(arguments) - 1
		topic, partition, err := partitionOf(e.operands[last], arguments[last])
		if err != nil {
			return nil, err
		}
		if last == 0 {
			return ofLeader(v.cluster, topic, partition), nil
		}
		if arguments[0] == nil {
			return nil, nil
		}
		id, err := nodeOf(e.operands[0], arguments[0])
		if err != nil {
			return nil, err
		}
		return on(v.cluster, id, topic, partition), nil
	}
}

// onReplica asks for an offset that the cluster tells of a leader and of a broker.
func onReplica(
	leaders func(Cluster, string, int32) (event.Offset, bool),
	on func(Cluster, event.NodeID, string, int32) (event.Offset, bool),
) evaluator {
	return place(func(c Cluster, topic string, partition int32) any {
		return offset(leaders(c, topic, partition))
	}, func(c Cluster, id event.NodeID, topic string, partition int32) any {
		return offset(on(c, id, topic, partition))
	})
}

// onLog asks one replica's log: the leader's, or a broker's.
func onLog(ask func(c Cluster, id event.NodeID, topic string, partition int32) any) evaluator {
	return place(func(c Cluster, topic string, partition int32) any {
		id, led := c.Leader(topic, partition)
		if !led {
			return nil
		}
		return ask(c, id, topic, partition)
	}, ask)
}

func onNode(ask func(Cluster, event.NodeID) bool) evaluator {
	return func(v *evaluation, e *expression, arguments []any) (any, *Error) {
		if arguments[0] == nil {
			return nil, nil
		}
		id, err := nodeOf(e.operands[0], arguments[0])
		if err != nil {
			return nil, err
		}
		return ask(v.cluster, id), nil
	}
}

func onRead(of func(readBack) any) evaluator {
	return func(v *evaluation, e *expression, arguments []any) (any, *Error) {
		name := fmt.Sprint(arguments[0])
		r := v.reads[name]
		if _, _, partition := cutPartition(name); !partition {
			var err *Error
			if r, err = v.polledBack(e.operands[0], arguments[0]); err != nil {
				return nil, err
			}
		}
		if !r.ok {
			return nil, nil
		}
		return of(r), nil
	}
}

func isrOf(c Cluster, topic string, partition int32) any { return nodes(c.Isr(topic, partition)) }
func elrOf(c Cluster, topic string, partition int32) any { return nodes(c.Elr(topic, partition)) }
func leaderOf(c Cluster, topic string, partition int32) any {
	return node(c.Leader(topic, partition))
}

func transactionOf(v *evaluation, e *expression, arguments []any) (any, *Error) {
	id, ok := arguments[0].(string)
	if !ok {
		return nil, wrongType(e.operands[0], arguments[0], "a transactional id")
	}
	state, known := v.cluster.TransactionState(id)
	if !known {
		return nil, nil
	}
	return state, nil
}

func epochOf(c Cluster, topic string, partition int32) any {
	epoch, ok := c.LeaderEpoch(topic, partition)
	if !ok {
		return nil
	}
	return int64(epoch)
}

func node(id event.NodeID, ok bool) any {
	if !ok || id == event.NoNode {
		return nil
	}
	return int64(id)
}

func nodes(ids []event.NodeID, ok bool) any {
	if !ok {
		return nil
	}
	return each(ids, func(id event.NodeID) any { return int64(id) })
}

func offset(o event.Offset, ok bool) any {
	if !ok {
		return nil
	}
	return int64(o)
}

func storedOf(c Cluster, id event.NodeID, topic string, partition int32) any {
	values, ok := c.Stored(id, topic, partition)
	if !ok {
		return nil
	}
	return each(values, func(value string) any { return value })
}

func segmentsOf(c Cluster, id event.NodeID, topic string, partition int32) any {
	bases, ok := c.Segments(id, topic, partition)
	if !ok {
		return nil
	}
	return each(bases, func(base event.Offset) any { return int64(base) })
}

func startOf(c Cluster, id event.NodeID, topic string, partition int32) any {
	return offset(c.LogStartOffset(id, topic, partition))
}

func dirtyOf(c Cluster, id event.NodeID, topic string, partition int32) any {
	return offset(c.FirstDirtyOffset(id, topic, partition))
}
