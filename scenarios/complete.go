package scenarios

import (
	"slices"
	"strings"
)

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
	rows := table()
	at := slices.IndexFunc(rows, func(s spec) bool {
		return s.name == words[0].text || words[0].text == "consume" && s.name == "consumer"
	})
	if at < 0 {
		return nil
	}
	if rows[at].argument("expression") != nil {
		return startingWith(last, append(functionNames(), "within"))
	}
	if key, text, ok := (word{0, last}).cutKey(); ok {
		return e.completeValue(rows[at].argument(key), key, text.text)
	}
	return e.completeWord(&rows[at], words[1:], last)
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
	case kindClient:
		return c.Programs()
	case kindPartition:
		for _, topic := range c.Topics() {
			list = append(list, topic+"-0")
		}
	case kindNode, kindNodeOrAll:
		for _, id := range slices.Concat(c.Brokers(), c.Controllers()) {
			list = append(list, show(int64(id)))
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
