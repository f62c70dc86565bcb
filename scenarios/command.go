package scenarios

import (
	"math"
	"slices"
)

// kind is what an argument must look like.
type kind uint8

const (
	kindTopic     kind = iota
	kindPartition      // orders-0
	kindNode           // 3, controller, leader("orders-0")
	kindNodeOrAll
	kindLink // 1-3 both ways, 1>3 one way
	kindLinkOrAll
	kindInteger
	kindDuration
	kindChoice
	kindText
	kindReplicas // 1,3 or 1,3;3,1
	kindFault
	kindClock
	kindPosition // earliest, latest or an offset
	kindFactor
	kindRate
	kindExpression
	kindClient // name of a producer or consumer
	kindProducer
	kindConsumer
	kindNewName // of a client that may be new
	kindTopics  // orders or orders,payments
)

// argument is one argument of a command. Those with a key are written key=value.
type argument struct {
	name     string
	kind     kind
	keyed    bool
	required bool
	fallback string // what stands for a missing one, as written
	choices  []string
	minimum  int64
	maximum  int64
	help     string
}

// spec is one row of the command table.
type spec struct {
	name      string
	arguments []argument
	// settings says that further key=value pairs are the topic's configuration.
	settings bool
	// configs are the names of other key=value pairs, where they configure a client; what they may
	// be is found out when the command runs.
	configs func() []string
	// outcome says that the command ends with one of Kafka's error codes, or ok, which -> compares.
	outcome bool
	// paces says that the command changes how time is watched, and nothing in the cluster.
	paces   bool
	help    string
	example string
	run     func(x *execution)
}

// table is the whole command language: the parser, the help, completion and docs/COMMANDS.md read
// it, and nothing else knows a command's name.
func table() []spec {
	return slices.Concat(topicCommands(), logCommands(), clientCommands(), faultCommands(),
		whyCommands(), checkCommands())
}

func topicCommands() []spec {
	return []spec{
		{name: "topic", settings: true, outcome: true, run: runTopic,
			arguments: []argument{topicArgument(),
				{name: "partitions", kind: kindInteger, keyed: true, minimum: 1, maximum: 10000,
					help: "number of partitions; the cluster's num.partitions without it"},
				{name: "rf", kind: kindInteger, keyed: true, minimum: 1, maximum: 100,
					help: "replication factor; the cluster's default without it"},
				{name: "replicas", kind: kindReplicas, keyed: true,
					help: "brokers of every partition, the preferred leader first; " +
						"`1,3;3,1` differs by partition"}},
			help:    "create a topic; any topic configuration may follow",
			example: "topic strict replicas=1,3 min.insync.replicas=2"},
		{name: "delete-topic", outcome: true, run: runDeleteTopic,
			arguments: []argument{topicArgument()},
			help:      "delete a topic and its records", example: "delete-topic strict"},
		{name: "config", settings: true, outcome: true, run: runConfig,
			arguments: []argument{topicArgument()},
			help:      "change a topic's configuration",
			example:   "config strict min.insync.replicas=1"},
		{name: "send", outcome: true, run: runSend, arguments: sendArguments(),
			help: "produce records: each as a batch of its own, one after the other, or by a " +
				"producer, which makes its own batches. Key and value may hold {n}, the record's " +
				"number from 1 on, {n+4}, which begins at 5, {n/3}, which grows with every third " +
				"record, and {a|b|c}, which take turns",
			example: "send strict value=hello acks=all -> NOT_ENOUGH_REPLICAS"},
		{name: "read", outcome: true, run: runRead, arguments: readArguments(),
			help:    "read what a consumer can see of a partition now",
			example: "read strict partition=0 from=earliest"},
		{name: "elect", outcome: true, run: runElect,
			arguments: []argument{
				{name: "partition", kind: kindPartition, required: true, help: "such as orders-0"},
				{name: "election", kind: kindChoice, fallback: "preferred",
					choices: []string{"preferred", "unclean"},
					help:    "preferred: the first replica; unclean: whoever lives"}},
			help: "ask for a leader election", example: "elect strict-0 preferred"},
	}
}

func topicArgument() argument {
	return argument{name: "topic", kind: kindTopic, required: true, help: "name of a topic"}
}

func sendArguments() []argument {
	return []argument{topicArgument(),
		{name: "key", kind: kindText, keyed: true, help: "the record's key; null without it"},
		{name: "value", kind: kindText, keyed: true, help: "the record's value; null without it"},
		{name: "acks", kind: kindChoice, keyed: true, fallback: "all",
			choices: []string{"all", "0", "1", "-1"}, help: "who must have the record first"},
		{name: "times", kind: kindInteger, keyed: true, fallback: "1", minimum: 1, maximum: 100000,
			help: "how many records"},
		{name: "every", kind: kindDuration, keyed: true,
			help: "from one record to the next; needs by, and all go at once without it"},
		{name: "partition", kind: kindInteger, keyed: true, maximum: 1 << 30,
			help: "by key without it (murmur2), or without a key a sticky one"},
		{name: "idempotent", kind: kindChoice, keyed: true, fallback: "false",
			choices: []string{"true", "false"}, help: "enable.idempotence; needs acks=all"},
		{name: "timeout", kind: kindDuration, keyed: true, fallback: "2m",
			help: "delivery.timeout.ms"},
		{name: "sequence", kind: kindInteger, keyed: true, maximum: math.MaxInt32,
			help: "with idempotent=true: a sequence of your own, to see what the broker says"},
		{name: "timestamp", kind: kindInteger, keyed: true, maximum: math.MaxInt64,
			help: "the records' timestamp in unix milliseconds; the moment of sending without it"},
		{name: "by", kind: kindProducer, keyed: true,
			help: "the producer that sends; acks, idempotent and timeout are its own then"},
		{name: "nowait", kind: kindChoice, choices: []string{"nowait"},
			help: "do not wait until a producer has its acknowledgements"}}
}

func readArguments() []argument {
	return []argument{topicArgument(),
		{name: "partition", kind: kindInteger, keyed: true, fallback: "0", maximum: 1 << 30,
			help: "the partition's number"},
		{name: "from", kind: kindPosition, keyed: true, fallback: "earliest",
			help: "earliest, latest or an offset"},
		{name: "isolation", kind: kindChoice, keyed: true, fallback: "read_uncommitted",
			choices: []string{"read_uncommitted", "read_committed"}, help: "isolation.level"},
		{name: "max", kind: kindInteger, keyed: true, fallback: "1000", minimum: 1,
			maximum: 100000, help: "at most that many records"}}
}

func faultCommands() []spec {
	return []spec{
		nodeFault("kill", "end a node as SIGKILL does: its memory is lost, its files stay",
			Cluster.Kill),
		nodeFault("power-cut", "end a node and take what its disk had not synced, but for a "+
			"seeded part", Cluster.PowerCut),
		nodeFault("stop", "stop a node in order: leaderships move first", Cluster.Stop),
		{name: "restart", run: runRestart,
			arguments: []argument{{name: "node", kind: kindNodeOrAll, required: true,
				help: "a node's number, or all that are down"}},
			help: "start a node that is down", example: "restart 3"},
		nodeFault("pause", "let a node stand still, as a long garbage collection does",
			Cluster.Pause),
		nodeFault("resume", "let a paused node go on", Cluster.Resume),
		{name: "cut", run: runCut,
			arguments: []argument{{name: "link", kind: kindLink, required: true,
				help: "1-3 both ways, 1>3 from 1 to 3 only"}},
			help: "let nothing pass between two nodes", example: "cut 1-3"},
		{name: "heal", run: runHeal,
			arguments: []argument{{name: "link", kind: kindLinkOrAll, fallback: "all",
				help: "1-3, 1>3 or all"}},
			help: "let messages pass again", example: "heal all"},
		{name: "delay", run: runDelay,
			arguments: []argument{
				{name: "link", kind: kindLink, required: true, help: "1-3 both ways, 1>3 one way"},
				{name: "latency", kind: kindDuration, required: true, help: "of each message"}},
			help: "set how long messages take between two nodes", example: "delay 1-3 15ms"},
		{name: "disk", run: runDisk,
			arguments: []argument{nodeArgument(),
				{name: "fault", kind: kindFault, required: true,
					help: "full, slow=DURATION, read-error, write-error (or eio), sync-error, " +
						"hung, or ok to end it"}},
			help: "make a node's disk misbehave", example: "disk 2 slow=50ms"},
		{name: "clock", run: runClock,
			arguments: []argument{nodeArgument(),
				{name: "offset", kind: kindClock, fallback: "+0s",
					help: "+1h or -5s puts the wall clock off"},
				{name: "rate", kind: kindRate, keyed: true, fallback: "1",
					help: "2 runs the clock twice as fast as the world's"}},
			help:    "put a node's clock wrong; of offset and rate, what is not named is put right",
			example: "clock 2 +1h"},
	}
}

func nodeArgument() argument {
	return argument{name: "node", kind: kindNode, required: true,
		help: `a node's number, controller, or leader("orders-0")`}
}

func checkCommands() []spec {
	return []spec{
		{name: "wait", run: runWait, arguments: []argument{
			{name: "expression", kind: kindExpression, required: true, help: "what must become true"},
			{name: "within", kind: kindDuration, fallback: "30s",
				help: "at most that much virtual time; written after the expression"}},
			help:    "wait until an expression is true, and fail when it does not become so",
			example: `wait isr("strict-0") == [1] within 30s`},
		{name: "expect", run: runExpect, arguments: []argument{
			{name: "expression", kind: kindExpression, required: true, help: "what must be true"}},
			help:    "fail unless an expression is true now",
			example: `expect hw("strict-0") == 0 && leo(1, "strict-0") == 2`},
		{name: "sleep", run: runSleep, arguments: []argument{
			{name: "duration", kind: kindDuration, required: true, help: "of virtual time"}},
			help: "let virtual time pass", example: "sleep 5s"},
		pacing("pause-time", "stop virtual time", Pacer.PauseTime),
		pacing("resume-time", "let virtual time go on", Pacer.ResumeTime),
		{name: "step", paces: true, run: runStep, arguments: []argument{
			{name: "steps", kind: kindInteger, fallback: "1", minimum: 1, maximum: 1000,
				help: "how many deliveries, timers or completions"}},
			help: "let one thing happen while time is paused", example: "step 3"},
		{name: "slow", paces: true, run: runSlow, arguments: []argument{
			{name: "factor", kind: kindFactor, required: true, help: "how many times slower"}},
			help: "let virtual time run slower than the wall clock", example: "slow 10"},
		pacing("live", "let virtual time keep up with the wall clock", Pacer.Live),
	}
}

func nodeFault(name, help string, do nodeAction) spec {
	return spec{name: name, arguments: []argument{nodeArgument()}, help: help,
		example: name + " 3", run: func(x *execution) { runOnNode(x, do) }}
}

func pacing(name, help string, do func(Pacer) error) spec {
	return spec{name: name, paces: true, help: help, example: name,
		run: func(x *execution) { runPacing(x, do) }}
}

func commandNames() []string {
	var names []string
	for _, row := range table() {
		names = append(names, row.name)
	}
	return names
}

func (s *spec) keys() []string {
	var keys []string
	for _, a := range s.arguments {
		if a.keyed {
			keys = append(keys, a.name)
		}
	}
	return keys
}

func (s *spec) argument(name string) *argument {
	for i := range s.arguments {
		if s.arguments[i].name == name {
			return &s.arguments[i]
		}
	}
	return nil
}
