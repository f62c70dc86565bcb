package scenarios

import (
	"strconv"
	"strings"
	"time"

	"highwater/cluster/client"
	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/metadata"
)

// value is a parsed argument. Which fields count follows from its kind.
type value struct {
	position   int
	text       string
	number     int64
	factor     float64
	duration   time.Duration
	partition  int32
	replicas   [][]event.NodeID
	implied    bool        // not written: the argument's fallback
	expression *expression // also a node, which is only known when the command runs
	link       link
	fault      disk.Fault
}

// link is one pair of nodes.
type link struct {
	all      bool
	from, to *expression
	both     bool
}

func (a *argument) parse(w word) (value, *Error) {
	v := value{position: w.position}
	var err *Error
	switch a.kind {
	case kindExpression:
		v.expression, err = parseExpression(w.text, w.position)
		return v, err
	case kindNode, kindNodeOrAll:
		if a.kind == kindNodeOrAll && w.text == "all" {
			v.text, v.link.all = w.text, true
			return v, nil
		}
		v.text = w.text
		v.expression, err = parseNode(w.text, w.position)
		return v, err
	case kindLink, kindLinkOrAll:
		v.text = w.text
		v.link, err = parseLink(w, a.kind == kindLinkOrAll)
		return v, err
	}
	if v.text, err = unquote(w.text, w.position); err != nil {
		return v, err
	}
	if v.text == "" && a.kind != kindText {
		return v, inputError(w.position, "%s is empty", a.name)
	}
	return v, a.parsePlain(word{w.position, v.text}, &v)
}

func (a *argument) parsePlain(w word, v *value) (err *Error) {
	switch a.kind {
	case kindTopic:
		if problem := metadata.ValidateTopicName(w.text); problem != nil {
			return inputError(w.position, "%s", problem)
		}
	case kindTopics:
		for _, name := range strings.Split(w.text, ",") {
			if problem := metadata.ValidateTopicName(name); problem != nil {
				return inputError(w.position, "%s", problem)
			}
		}
	case kindClient, kindProducer, kindConsumer, kindNewName:
		return checkClientName(w)
	case kindPartition:
		topic, partition, ok := cutPartition(w.text)
		if !ok {
			return inputError(w.position, "%q names no partition", w.text).example(w.text + "-0")
		}
		v.text, v.partition = topic, partition
	case kindInteger:
		v.number, err = a.integer(w)
	case kindDuration:
		v.duration, err = duration(w)
	case kindChoice:
		if !contains(a.choices, w.text) {
			return inputError(w.position, "%s cannot be %q", a.name, w.text).meant(w.text, a.choices)
		}
	case kindReplicas:
		v.replicas, err = parseReplicas(w)
	case kindFault:
		v.fault, err = parseFault(w)
	case kindClock:
		v.duration, err = parseClock(w)
	case kindRate:
		v.factor, err = parseRate(w)
	case kindPosition:
		v.number, err = parsePosition(w)
	case kindFactor:
		v.factor, err = parseFactor(w)
	}
	return err
}

// checkClientName refuses what could not be told from a number, a function or a partition.
func checkClientName(w word) *Error {
	for i := range len(w.text) {
		if c := w.text[i]; !isLetter(c) && (i == 0 || !isDigit(c)) {
			e := inputError(w.position, "%q cannot be the name of a client", w.text)
			return e.example("shop or billing_2: letters, digits and _")
		}
	}
	reserved := append(functionNames(), "true", "false", "none", "all")
	if contains(reserved, w.text) {
		return inputError(w.position, "%q cannot be the name of a client: expressions have a meaning "+
			"for it", w.text)
	}
	if len(w.text) > clientNameMax {
		return inputError(w.position, "the name of a client has at most %d letters", clientNameMax)
	}
	return nil
}

const clientNameMax = 40

func (a *argument) integer(w word) (int64, *Error) {
	n, err := strconv.ParseInt(w.text, 10, 64)
	if err != nil {
		return 0, inputError(w.position, "%s must be a whole number, not %q", a.name, w.text)
	}
	if n < a.minimum || n > a.maximum {
		return 0, inputError(w.position, "%s lies between %d and %d", a.name, a.minimum, a.maximum)
	}
	return n, nil
}

func parsePosition(w word) (int64, *Error) {
	switch w.text {
	case "earliest":
		return client.FromEarliest, nil
	case "latest":
		return client.FromLatest, nil
	}
	n, err := strconv.ParseInt(w.text, 10, 64)
	if err != nil || n < 0 {
		return 0, inputError(w.position, "%q is neither an offset nor earliest nor latest", w.text).
			meant(w.text, []string{"earliest", "latest"})
	}
	return n, nil
}

func parseFactor(w word) (float64, *Error) {
	f, ok := SlowFactor(w.text)
	if !ok {
		return 0, inputError(w.position, "%q is not a factor from 0.001 to 1000000", w.text)
	}
	return f, nil
}

// SlowFactor reads how many times slower than the wall clock time is to run, 0.001 to 1000000.
func SlowFactor(text string) (factor float64, ok bool) {
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && f >= 0.001 && f <= 1e6
}

// replicasMax bounds what one command may assign.
const replicasMax = 10000

func parseReplicas(w word) ([][]event.NodeID, *Error) {
	var all [][]event.NodeID
	at := w.position
	for _, list := range strings.Split(w.text, ";") {
		var ids []event.NodeID
		for _, text := range strings.Split(list, ",") {
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil || n < 0 {
				return nil, inputError(at, "%q is not a broker", text).example("replicas=1,3")
			}
			ids = append(ids, event.NodeID(n))
			at += len(text) + 1
		}
		if all = append(all, ids); len(all) > replicasMax {
			return nil, inputError(at, "at most %d partitions can be assigned", replicasMax)
		}
	}
	return all, nil
}

// parseLink reads 1-3 or 1>3; an end may also be a function.
func parseLink(w word, orAll bool) (link, *Error) {
	if orAll && w.text == "all" {
		return link{all: true}, nil
	}
	p := &parser{lexer: lexer{text: w.text, base: w.position}, nodes: true}
	if err := p.advance(); err != nil {
		return link{}, err
	}
	from, err := p.primary()
	if err != nil {
		return link{}, linkExample(err)
	}
	both := p.isSign("-")
	if !both && !p.isSign(">") {
		return link{}, linkExample(inputError(p.token.position, "%q is not a link", w.text))
	}
	if err := p.advance(); err != nil {
		return link{}, err
	}
	to, err := p.primary()
	if err != nil {
		return link{}, linkExample(err)
	}
	if p.token.kind != tokenEnd {
		return link{}, linkExample(inputError(p.token.position, "a link has two ends"))
	}
	return link{from: from, to: to, both: both}, nil
}

func linkExample(e *Error) *Error {
	if e.Hint == "" {
		return e.example("1-3, or 1>3 for one direction")
	}
	return e
}

func parseFault(w word) (disk.Fault, *Error) {
	if delay, ok := strings.CutPrefix(w.text, "slow="); ok {
		d, err := duration(word{w.position + len("slow="), delay})
		return disk.Fault{Kind: disk.Slow, Delay: d}, err
	}
	kinds := map[string]disk.FaultKind{"ok": disk.None, "full": disk.Full, "hung": disk.Hung,
		"read-error": disk.ReadError, "write-error": disk.WriteError, "eio": disk.WriteError,
		"sync-error": disk.SyncError}
	kind, known := kinds[w.text]
	if !known {
		return disk.Fault{}, inputError(w.position, "%q is not a disk fault", w.text).
			meant(w.text, faultWords())
	}
	return disk.Fault{Kind: kind}, nil
}

func faultWords() []string {
	return []string{"full", "slow=50ms", "read-error", "write-error", "eio", "sync-error", "hung",
		"ok"}
}

func parseClock(w word) (time.Duration, *Error) {
	text, sign := w.text, time.Duration(1)
	switch text[0] {
	case '+':
		text = text[1:]
	case '-':
		text, sign = text[1:], -1
	}
	d, ok := parseTime(text)
	if !ok {
		return 0, inputError(w.position, "%q is no change of a clock", w.text).
			example("+1h, -5s or rate=2")
	}
	return sign * d, checkDuration(word{w.position, text}, d)
}

func parseRate(w word) (float64, *Error) {
	f, err := parseFactor(w)
	if err != nil || f > 100 {
		return 0, inputError(w.position, "%q is not a rate from 0.001 to 100", w.text)
	}
	return f, nil
}
