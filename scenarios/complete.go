package scenarios

import (
	"slices"
	"strings"
)

// completionsMax bounds what is offered for one word.
const completionsMax = 24

// Help is what is known of a line that somebody is writing.
type Help struct {
	// Usage and What are of its command, empty while it has none.
	Usage string `json:"usage"`
	What  string `json:"what"`
	// Words are what its last word could become, best first.
	Words []Completion `json:"words"`
}

// Completion is one word, and what it does if it is a command.
type Completion struct {
	Word string `json:"word"`
	What string `json:"what"`
}

// Help says what a line is about and how its last word could go on.
func (e *Executor) Help(line string) Help {
	h := Help{Words: []Completion{}}
	first, _, begun := strings.Cut(strings.TrimLeft(line, " \t"), " ")
	if row := rowOf(first); row != nil && begun {
		h.Usage, h.What = row.usage(), row.help
	}
	for _, word := range e.Complete(line) {
		if len(h.Words) == completionsMax {
			break
		}
		c := Completion{Word: word}
		if row := rowOf(word); row != nil && !begun {
			c.What = row.help
		}
		h.Words = append(h.Words, c)
	}
	return h
}

// rowOf finds a command's row in the table; consume is another word for consumer.
func rowOf(name string) *spec {
	rows := table()
	at := slices.IndexFunc(rows, func(s spec) bool {
		return s.name == name || name == "consume" && s.name == "consumer"
	})
	if at < 0 {
		return nil
	}
	return &rows[at]
}

// Complete lists what the last word of a line could become, best first.
func (e *Executor) Complete(line string) []string {
	begin := strings.LastIndexAny(line, " \t") + 1
	last := line[begin:]
	words, err := split(line[:begin])
	if err != nil {
		return nil
	}
	if len(words) == 0 {
		return startingWith(last, append(commandNames(), "consume"))
	}
	row := rowOf(words[0].text)
	if row == nil {
		return nil
	}
	if row.argument("expression") != nil {
		return startingWith(last, append(functionNames(), "within"))
	}
	if key, text, ok := (word{0, last}).cutKey(); ok {
		return e.completeValue(row.argument(key), key, text.text)
	}
	return e.completeWord(row, words[1:], last)
}

func (e *Executor) completeValue(a *argument, key, begun string) []string {
	if a == nil {
		return nil
	}
	var list []string
	for _, each := range startingWith(begun, e.candidates(a)) {
		list = append(list, key+"="+each)
	}
	return list
}

func (e *Executor) completeWord(s *spec, before []word, last string) []string {
	next := 0
	for _, w := range before {
		if _, _, keyed := w.cutKey(); !keyed {
			next++
		}
	}
	var list []string
	position := 0
	for i := range s.arguments {
		a := &s.arguments[i]
		switch {
		case a.keyed:
			list = append(list, a.name+"=")
		case position == next:
			list = append(e.candidates(a), list...)
			position++
		default:
			position++
		}
	}
	if s.configs != nil {
		for _, name := range s.configs() {
			list = append(list, name+"=")
		}
	}
	if s.settings {
		for _, name := range settingNames() {
			list = append(list, name+"=")
		}
	}
	return startingWith(last, list)
}

// candidates are values that an argument could have now.
func (e *Executor) candidates(a *argument) []string {
	c := e.config.Cluster
	var list []string
	switch a.kind {
	case kindTopic, kindTopics:
		return c.Topics()
	case kindClient, kindProducer, kindConsumer:
		return clientsOf(c, a.kind)
	case kindPartition:
		for _, topic := range c.Topics() {
			list = append(list, topic+"-0")
		}
	case kindNode, kindNodeOrAll:
		for _, id := range slices.Concat(c.Brokers(), c.Controllers()) {
			if a.kind == kindNode || isDown(c, id) {
				list = append(list, show(int64(id)))
			}
		}
		list = append(list, c.Programs()...)
		if a.kind == kindNodeOrAll {
			return append(list, "all")
		}
		list = append(list, "controller")
	case kindLink, kindLinkOrAll:
		list = e.links()
		if a.kind == kindLinkOrAll {
			list = append(list, "all")
		}
	case kindChoice:
		return a.choices
	case kindFault:
		return faultWords()
	case kindPosition:
		return []string{"earliest", "latest"}
	}
	return list
}

// isClient says whether an argument names a client that there is.
func (k kind) isClient() bool { return k.role() != "" }

// role is what a client of the kind is called; "" of what is no client.
func (k kind) role() string {
	switch k {
	case kindClient:
		return "client"
	case kindProducer:
		return "producer"
	case kindConsumer:
		return "consumer"
	}
	return ""
}

// clientsOf are the clients that an argument of the kind may name.
func clientsOf(c Cluster, k kind) []string {
	return slices.DeleteFunc(c.Programs(), func(name string) bool {
		return k != kindClient && c.ProgramRole(name) != k.role()
	})
}

func (e *Executor) links() []string {
	var list []string
	brokers := e.config.Cluster.Brokers()
	for i, from := range brokers {
		for _, to := range brokers[i+1:] {
			list = append(list, show(int64(from))+"-"+show(int64(to)))
		}
		for _, name := range e.config.Cluster.Programs() {
			list = append(list, name+"-"+show(int64(from)))
		}
	}
	return list
}

func startingWith(begun string, words []string) []string {
	var list []string
	for _, each := range words {
		if strings.HasPrefix(each, begun) {
			list = append(list, each)
		}
	}
	return list
}
