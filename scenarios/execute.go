package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster"
	"highwater/cluster/broker"
	"highwater/cluster/client"
	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/viz/explain"
)

// Cluster is what commands do to a cluster, and what expressions ask of it. All of it belongs to
// the loop; an error is a sentence for people.
type Cluster interface {
	Brokers() []event.NodeID
	Controllers() []event.NodeID

	Kill(event.NodeID) error
	PowerCut(event.NodeID) error
	Stop(event.NodeID) error
	Restart(event.NodeID) error
	Pause(event.NodeID) error
	Resume(event.NodeID) error
	Cut(a, b event.NodeID, bothWays bool) error
	Heal(a, b event.NodeID, bothWays bool) error
	HealAll() error
	Delay(a, b event.NodeID, bothWays bool, d time.Duration) error
	DiskFault(event.NodeID, disk.Fault) error
	Clock(id event.NodeID, offset time.Duration, ratePermille int32) error

	Isr(topic string, partition int32) ([]event.NodeID, bool)
	Elr(topic string, partition int32) ([]event.NodeID, bool)
	Leader(topic string, partition int32) (event.NodeID, bool)
	LeaderEpoch(topic string, partition int32) (event.Epoch, bool)
	HighWatermark(topic string, partition int32) (event.Offset, bool)
	HighWatermarkOn(id event.NodeID, topic string, partition int32) (event.Offset, bool)
	LogEndOffset(id event.NodeID, topic string, partition int32) (event.Offset, bool)
	Stored(id event.NodeID, topic string, partition int32) ([]string, bool)
	LogEndOffsetOfLeader(topic string, partition int32) (event.Offset, bool)
	LastStableOffset(topic string, partition int32) (event.Offset, bool)
	LastStableOffsetOn(id event.NodeID, topic string, partition int32) (event.Offset, bool)
	TransactionState(transactionalID string) (string, bool)
	Controller() (event.NodeID, bool)
	Alive(event.NodeID) bool
	// Serves says whether some broker has the metadata and is counted as present.
	Serves() bool
	Stopping(event.NodeID) bool
	Fenced(event.NodeID) bool
	Topics() []string
	PartitionCount(topic string) int
	Clean(id event.NodeID, topic string, partition int32, done func(broker.CleaningReport)) error
	Retain(topic string, partition int32) []event.NodeID
	Replicas(topic string, partition int32) []event.NodeID
	Segments(id event.NodeID, topic string, partition int32) ([]event.Offset, bool)
	LogStartOffset(id event.NodeID, topic string, partition int32) (event.Offset, bool)
	FirstDirtyOffset(id event.NodeID, topic string, partition int32) (event.Offset, bool)
	LogBytes(topic string, partition int32) (int64, bool)
	BatchCount(topic string, partition int32) (int, bool)
	FileBytes(topic string, partition int32, name string) (int64, bool)
	BatchOfLeader(topic string, partition int32, offset event.Offset) ([]byte, bool)
	ProducerState(topic string, partition int32, producerID int64) (
		lastSequence int32, txnStart event.Offset, ok bool)

	Programs
}

// Programs are the named producers and consumers of a cluster, and what their groups have.
type Programs interface {
	Programs() []string
	Named(name string) (event.NodeID, bool)
	AddProducer(name string, config client.ProducerConfig) error
	AddConsumer(name string, config client.ConsumerConfig) error
	// Producer and Consumer are nil for one that is down, or that is something else.
	Producer(name string) *client.Producer
	Consumer(name string) *client.Consumer
	// ProgramRole is producer or consumer, of one that is down too.
	ProgramRole(name string) string
	CloseProgram(id event.NodeID, done func()) error
	// Paused says whether one stands still.
	Paused(id event.NodeID) bool
	// Fate says how one that is down went down, "" for one that runs or never ran.
	Fate(id event.NodeID) string
	// Guard runs what is done within one, so that its panic takes down it alone.
	Guard(id event.NodeID, f func())
	Committed(group, topic string, partition int32) (int64, bool)
	GroupMembers(group string) (members []string, generation int32, ok bool)
}

// Client is the built-in client; *client.Client is one.
type Client interface {
	Because(cause event.Seq)
	After(d time.Duration, f func())
	Send(client.SendRequest, func(client.SendResult))
	Read(client.ReadRequest, func(client.ReadResult))
	CreateTopic(client.TopicRequest, func(client.AdminResult))
	DeleteTopic(name string, done func(client.AdminResult))
	AlterTopic(name string, settings []client.Setting, done func(client.AdminResult))
	Elect(topic string, partition int32, unclean bool, done func(client.AdminResult))
}

// Pacer changes how virtual time meets the wall clock.
type Pacer interface {
	PauseTime() error
	ResumeTime() error
	Step(steps int) error
	Slow(factor float64) error
	Live() error
}

// Result is what a command gave, as a sentence and as data.
type Result struct {
	Text  string `json:"text"`
	Value any    `json:"value,omitempty"`
}

// Config is what an Executor acts on.
type Config struct {
	Cluster Cluster
	// Client gives the built-in client's present incarnation, nil when it has failed.
	Client func() Client
	// Events is the world's own emitter; nil without events.
	Events *event.Emitter
	// Now is the virtual time.
	Now func() time.Duration
	// Pacer is nil where no wall clock is met; commands about it then do nothing.
	Pacer Pacer
	// Recording is what why answers from; nil where no events are kept.
	Recording explain.Source
}

// Executor runs commands. It belongs to the loop.
type Executor struct {
	config  Config
	waiting []waiting // oldest first
}

// New makes an executor.
func New(config Config) *Executor { return &Executor{config: config} }

// Execute runs a command for somebody. done runs once, on the loop: at once, or later when the
// command takes virtual time. The returned event is the command's own, 0 when it was no command.
func (e *Executor) Execute(text, by string, done func(Result, *Error)) event.Seq {
	command, err := Parse(text)
	switch {
	case err != nil:
		done(Result{}, err)
		return 0
	case command == nil:
		done(Result{}, inputError(-1, "there is no command in an empty line"))
		return 0
	}
	return e.Run(command, by, done)
}

// Run runs a parsed command as Execute does.
func (e *Executor) Run(command *Command, by string, done func(Result, *Error)) event.Seq {
	x := &execution{Executor: e, command: command, by: by, done: done, client: e.config.Client()}
	if x.client == nil {
		done(Result{}, &Error{Kind: Refused, Position: -1, Message: "the built-in client is down"})
		return 0
	}
	cause := event.CommandRan{Command: command.Text, By: by}.Emit(e.config.Events, event.RuleNone)
	x.cause = cause
	if !command.spec.paces { // what happens as time goes on is not because it does
		if e.config.Events != nil {
			e.config.Events.Cause = cause
			defer func() { e.config.Events.Cause = 0 }()
		}
		x.client.Because(cause)
	}
	id := e.within(command)
	if e.config.Cluster.Alive(id) {
		e.waiting = append(e.waiting, waiting{x, id})
	}
	e.config.Cluster.Guard(id, func() { command.spec.run(x) })
	e.endOfTheDead()
	return cause
}

// waiting is a command that did not end yet, and the client that works for it.
type waiting struct {
	*execution
	on event.NodeID
}

// endOfTheDead ends the commands whose client is gone: nobody else will.
func (e *Executor) endOfTheDead() {
	for _, w := range slices.Clone(e.waiting) {
		if !e.config.Cluster.Alive(w.on) {
			w.end(Result{}, &Error{Kind: Refused, Position: -1,
				Message: w.named(w.on) + " " + e.config.Cluster.Fate(w.on)})
		}
	}
	e.waiting = slices.DeleteFunc(e.waiting, func(w waiting) bool { return w.ended })
}

// within is the client in which a command does its work: the one that it names, or the built-in.
func (e *Executor) within(command *Command) event.NodeID {
	for _, argument := range []string{"by", "name"} {
		if id, ok := e.config.Cluster.Named(command.value(argument).text); ok {
			return id
		}
	}
	return cluster.ClientID
}

// execution is one command that runs.
type execution struct {
	*Executor
	command *Command
	by      string
	client  Client
	cause   event.Seq // the command's own event
	done    func(Result, *Error)
	ended   bool
}

// end ends the command once; what still comes in afterwards is late.
func (x *execution) end(result Result, err *Error) {
	if x.ended {
		return
	}
	x.ended = true
	if err != nil && !x.command.spec.paces && x.by != grader {
		x.tell(err)
	}
	x.done(result, err)
}

// grader is who asks which answer of a prediction is right; that one is not is no failure.
const grader = "predict"

// tell makes an error an event, for those who did not give the command. A command that paces has
// none: where time has no pace, as in a re-run, it fails otherwise.
func (x *execution) tell(err *Error) {
	events := x.config.Events
	if events == nil {
		return
	}
	before := events.Cause
	events.Cause = x.cause
	event.CommandFailed{Command: x.command.Text, Error: err.Message}.Emit(events, event.RuleNone)
	events.Cause = before
}

func (x *execution) ok(format string, args ...any) {
	x.end(Result{Text: fmt.Sprintf(format, args...)}, nil)
}

// did ends a command by what the cluster said of it.
func (x *execution) did(err error, format string, args ...any) {
	if err != nil {
		x.end(Result{}, &Error{Kind: Refused, Position: -1, Message: err.Error()})
		return
	}
	x.ok(format, args...)
}

// outcome ends a command that one of Kafka's error codes answers.
func (x *execution) outcome(code int16, message string, result Result) {
	got, wanted := outcome(code), x.command.expects
	detail := got
	if message != "" && message != got {
		detail += ": " + message
	}
	switch {
	case got == wanted && code != 0:
		x.end(Result{Text: detail + ", as expected", Value: result.Value}, nil)
	case got == wanted, wanted == "" && code == 0:
		x.end(result, nil)
	case wanted == "":
		x.end(Result{}, &Error{Kind: Failed, Position: -1,
			Outcome: got, Message: x.command.Name() + " failed: " + detail, Hint: x.remedy(code)})
	default:
		x.end(Result{}, &Error{Kind: Failed, Position: x.command.expectsAt, Outcome: got,
			Message: fmt.Sprintf("the outcome was %s, not %s", detail, wanted)})
	}
}

// remedy is what to do where the cluster, and not the command, is at fault; "" for nothing.
func (x *execution) remedy(code int16) string {
	c := x.config.Cluster
	if !slices.ContainsFunc(c.Brokers(), c.Alive) {
		return "no broker runs: restart all"
	}
	if code != kerr.LeaderNotAvailable.Code && code != kerr.PreferredLeaderNotAvailable.Code {
		return ""
	}
	for _, v := range []value{x.command.value("topic"), x.command.value("partition")} {
		for p := range c.PartitionCount(v.text) {
			if _, led := c.Leader(v.text, int32(p)); !led {
				return fmt.Sprintf("why leader %s-%d tells who could lead it", v.text, p)
			}
		}
	}
	return ""
}

// evaluate looks at the cluster now. Functions that need a consumer see what was read before.
func (x *execution) evaluate(e *expression, reads map[string]readBack) (any, []string, *Error) {
	v := &evaluation{cluster: x.config.Cluster, reads: reads}
	value, err := v.value(e)
	return value, v.saw, err
}

// node finds out which node an argument means.
func (x *execution) node(e *expression) (event.NodeID, *Error) {
	result, _, err := x.evaluate(e, nil)
	if err != nil {
		return 0, err
	}
	if result == nil {
		none := &Error{Kind: Refused, Position: e.position, Message: e.source + " is none now"}
		if e.source == "controller" {
			none.Hint = "a majority of the controllers must run: restart all"
		}
		return 0, none
	}
	id, err := nodeOf(e, result)
	if err != nil {
		return 0, err
	}
	known := slices.Concat(x.config.Cluster.Brokers(), x.config.Cluster.Controllers())
	for _, name := range x.config.Cluster.Programs() {
		id, _ := x.config.Cluster.Named(name)
		known = append(known, id)
	}
	if !slices.Contains(known, id) {
		e := inputError(e.position, "there is no node %d", id)
		e.Hint = "the nodes are " + strings.Join(x.nodeWords(), ", ")
		return 0, e
	}
	return id, nil
}

// nodeWords are the nodes that the command may name: clients have names, no log and no disk.
func (x *execution) nodeWords() []string {
	c := x.config.Cluster
	words := numbers(c.Brokers())
	if x.command.given("on") {
		return words
	}
	words = append(words, numbers(c.Controllers())...)
	if x.command.Name() == "disk" {
		return words
	}
	return append(words, c.Programs()...)
}

func numbers(ids []event.NodeID) []string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = fmt.Sprint(id)
	}
	return words
}

// counted writes how many there are of something.
func counted[N int | int32 | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", grouped(n), what)
}

// grouped writes 40117 as 40,117, as the page does.
func grouped[N ~int | ~int32 | ~int64](n N) string { return event.Group(int64(n)) }

// named writes a node for people.
func (x *execution) named(id event.NodeID) string {
	if slices.Contains(x.config.Cluster.Controllers(), id) {
		return fmt.Sprintf("controller %d", id)
	}
	if id == cluster.ClientID {
		return "the built-in client"
	}
	for _, name := range x.config.Cluster.Programs() {
		if named, _ := x.config.Cluster.Named(name); named == id {
			return name
		}
	}
	return fmt.Sprintf("broker %d", id)
}

// topic checks that a topic exists before a client would look for it in vain for minutes.
func (x *execution) topic(name string, position int) bool {
	topics := x.config.Cluster.Topics()
	if slices.Contains(topics, name) {
		return true
	}
	if x.command.expects == "UNKNOWN_TOPIC_OR_PARTITION" {
		x.ok("UNKNOWN_TOPIC_OR_PARTITION, as expected")
		return false
	}
	err := inputError(position, "there is no topic %q", name).meant(name, topics)
	err.Kind = Refused
	if c := x.config.Cluster; !c.Serves() {
		err.Message, err.Hint = "no broker serves yet, so the topics are not known", "try again in a second"
		if !slices.ContainsFunc(c.Brokers(), c.Alive) {
			err.Message, err.Hint = "no broker runs, so the topics are not known", "restart all"
		}
	}
	x.end(Result{}, err)
	return false
}

// partition checks a topic's partition likewise.
func (x *execution) partition(topic string, position int, partition int32, at int) bool {
	if !x.topic(topic, position) {
		return false
	}
	if count := x.config.Cluster.PartitionCount(topic); int(partition) >= count {
		err := inputError(at, "%s has no partition %d", topic, partition)
		err.Kind, err.Hint = Refused, fmt.Sprintf("it has %d, counted from 0", count)
		x.end(Result{}, err)
		return false
	}
	return true
}
