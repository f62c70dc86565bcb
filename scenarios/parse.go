package scenarios

import (
	"math"
	"regexp"
	"strings"
	"time"

	"highwater/cluster/client"
	"highwater/cluster/event"
	"highwater/cluster/metadata"
)

// Command is one parsed command.
type Command struct {
	Text     string
	spec     *spec
	values   map[string]value
	settings []client.Setting
	// expects is the outcome that -> names, "" without one.
	expects   string
	expectsAt int
}

// Name is the command's first word.
func (c *Command) Name() string { return c.spec.name }

// given says whether an argument was written or has a fallback.
func (c *Command) given(name string) bool {
	_, ok := c.values[name]
	return ok
}

func (c *Command) value(name string) value { return c.values[name] }

// Parse reads one command. A line without one, empty or a comment, gives nil.
func Parse(line string) (*Command, *Error) {
	words, err := split(line)
	if err != nil || len(words) == 0 {
		return nil, err
	}
	rows := table()
	c := &Command{Text: strings.TrimSpace(line), values: map[string]value{}}
	for i := range rows {
		if rows[i].name == words[0].text || words[0].text == "consume" && rows[i].name == "consumer" {
			c.spec = &rows[i]
		}
	}
	if c.spec == nil {
		return nil, inputError(words[0].position, "there is no command %q", words[0].text).
			meant(words[0].text, commandNames())
	}
	if c.spec.argument("expression") != nil {
		err = c.parseCheck(line, words)
	} else {
		err = c.parseArguments(line, words)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// parseCheck reads wait and expect, whose expression goes to the end of the line, or to within.
func (c *Command) parseCheck(line string, words []word) *Error {
	last := words[len(words)-1]
	end := last.position + len(last.text)
	begin := words[0].position + len(words[0].text)
	if within := c.spec.argument("within"); within != nil {
		text := word{end, within.fallback}
		switch n := len(words); {
		case n >= 2 && words[n-2].text == "within":
			text, end = last, words[n-2].position
		case n >= 3 && words[n-3].text == "within":
			return inputError(words[n-2].position, "a time is one word").example("within 30s")
		case last.text == "within":
			return inputError(end, "a time is missing after within").example("within 30s")
		}
		parsed, err := within.parse(text)
		if err != nil {
			return err
		}
		c.values["within"] = parsed
	}
	e, err := parseExpression(line[begin:end], begin)
	if err != nil {
		if _, isTime := time.ParseDuration(strings.TrimSpace(line[begin:end])); isTime == nil {
			err.Hint = "to let time pass: sleep" + line[begin:end]
		}
		return err
	}
	c.values["expression"] = value{position: e.position, text: e.source, expression: e}
	return nil
}

func (c *Command) parseArguments(line string, words []word) *Error {
	rest, err := c.cutExpectation(words[1:])
	if err != nil {
		return err
	}
	next := 0 // of the arguments without a key
	for i := 0; i < len(rest); i++ {
		w := rest[i]
		if on := c.spec.argument("on"); on != nil && w.text == "on" {
			// Which broker reads better as a word: clean users-0 on 2.
			if i++; i == len(rest) {
				return inputError(w.position, "a node is missing after on").example(c.spec.example)
			}
			if err := c.set(on, rest[i]); err != nil {
				return err
			}
			continue
		}
		if key, text, ok := w.cutKey(); ok && !c.takesWhole(next) {
			if err := c.keyed(key, w, text); err != nil {
				return err
			}
			continue
		}
		a := c.positional(&next)
		if a == nil || len(a.choices) == 1 && Nearest(w.text, a.choices) == "" {
			return c.tooMany(w)
		}
		if err := c.set(a, w); err != nil {
			return err
		}
	}
	return c.fill(len(strings.TrimRight(line, " \t\r\n")))
}

// positional is the next argument without a key, nil when there is none.
func (c *Command) positional(next *int) *argument {
	for ; *next < len(c.spec.arguments); *next++ {
		if a := &c.spec.arguments[*next]; !a.keyed {
			*next++
			return a
		}
	}
	return nil
}

// takesWhole says that the argument which comes next holds an equals sign itself: slow=50ms.
func (c *Command) takesWhole(next int) bool {
	a := c.positional(&next)
	return a != nil && a.kind == kindFault
}

func (c *Command) tooMany(w word) *Error {
	keys := c.spec.keys()
	e := inputError(w.position, "%s takes no further argument %q", c.spec.name, w.text)
	if near := Nearest(w.text, keys); near != "" {
		e.Hint = "write " + near + "=…"
	} else if len(keys) > 0 {
		e.Hint = "its options are " + strings.Join(keys, ", ") + ", written key=value"
	}
	return e
}

func (c *Command) keyed(key string, whole, text word) *Error {
	if a := c.spec.argument(key); a != nil {
		return c.set(a, text)
	}
	if c.spec.configs != nil {
		return c.clientSetting(key, whole, text)
	}
	if !c.spec.settings {
		return inputError(whole.position, "%s has no option %q", c.spec.name, key).
			meant(key, c.spec.keys())
	}
	def, known := metadata.TopicConfig(key)
	if !known {
		e := inputError(whole.position, "topics have no configuration %q", key)
		return e.meant(key, append(c.spec.keys(), settingNames()...))
	}
	plain, err := unquote(text.text, text.position)
	if err != nil {
		return err
	}
	if problem := def.Validate(plain); problem != nil {
		return inputError(text.position, "%s", problem)
	}
	c.settings = append(c.settings, client.Setting{Name: key, Value: plain})
	return nil
}

// clientSetting takes a configuration of a producer or consumer by Kafka's name.
func (c *Command) clientSetting(key string, whole, text word) *Error {
	if names := c.spec.configs(); !contains(names, key) {
		e := inputError(whole.position, "a %s has no configuration %q", c.spec.name, key)
		return e.meant(key, append(c.spec.keys(), names...))
	}
	plain, err := unquote(text.text, text.position)
	if err != nil {
		return err
	}
	c.settings = append(c.settings, client.Setting{Name: key, Value: plain})
	return nil
}

func settingNames() []string {
	var names []string
	for _, def := range metadata.TopicConfigs() {
		names = append(names, def.Name)
	}
	return names
}

func (c *Command) set(a *argument, w word) *Error {
	if c.given(a.name) {
		return inputError(w.position, "%s is given twice", a.name)
	}
	parsed, err := a.parse(w)
	if err != nil {
		return err
	}
	c.values[a.name] = parsed
	return nil
}

// fill completes what was not written, and misses what must be.
func (c *Command) fill(end int) *Error {
	for i := range c.spec.arguments {
		a := &c.spec.arguments[i]
		if c.given(a.name) {
			continue
		}
		if a.required {
			return inputError(end, "%s needs a %s", c.spec.name, a.name).example(c.spec.example)
		}
		if a.fallback != "" {
			parsed, err := a.parse(word{end, a.fallback})
			if err != nil {
				return err
			}
			parsed.implied = true
			c.values[a.name] = parsed
		}
	}
	if c.spec.name == "config" && len(c.settings) == 0 {
		return inputError(end, "config needs a setting").example(c.spec.example)
	}
	if c.spec.name == "clock" && c.value("offset").implied && c.value("rate").implied {
		return inputError(end, "clock needs an offset or a rate").example("clock 2 +1h rate=2")
	}
	if c.spec.name == "send" && c.given("sequence") && !c.given("by") &&
		c.value("idempotent").text != "true" {
		return inputError(c.value("sequence").position, "only an idempotent producer has sequences").
			example("send orders value=a idempotent=true sequence=5")
	}
	if c.spec.name == "topic" && c.given("replicas") && c.given("rf") {
		return inputError(c.value("rf").position, "replicas already says how many replicas there are")
	}
	return nil
}

// cutExpectation takes "-> OUTCOME" from the end.
func (c *Command) cutExpectation(words []word) ([]word, *Error) {
	at := -1
	for i, w := range words {
		if w.text == "->" {
			at = i
			break
		}
	}
	if at < 0 {
		return words, nil
	}
	arrow := words[at]
	switch {
	case !c.spec.outcome:
		return nil, inputError(arrow.position, "%s has no outcome to compare", c.spec.name)
	case at+1 == len(words):
		return nil, inputError(arrow.position+2, "an outcome is missing after ->").
			example("-> ok or -> NOT_ENOUGH_REPLICAS")
	case at+2 < len(words):
		return nil, inputError(words[at+2].position, "the command should end before %q",
			words[at+2].text)
	}
	w := words[at+1]
	if names := outcomeNames(); !contains(names, w.text) {
		return nil, inputError(w.position, "%q is not an outcome", w.text).meant(w.text, names)
	}
	c.expects, c.expectsAt = w.text, w.position
	return words[:at], nil
}

// outcome is Kafka's name of an error code; 0 is ok.
func outcome(code int16) string {
	if code == 0 {
		return "ok"
	}
	return event.ErrorName(code)
}

func outcomeNames() []string {
	names := []string{"ok", outcome(-1)}
	for _, name := range event.ErrorNames() {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// duration reads a time such as 15ms, 30s or 1m30s.
func duration(w word) (time.Duration, *Error) {
	d, ok := parseTime(w.text)
	if !ok {
		return 0, inputError(w.position, "%q is not a time", w.text).example("15ms, 30s or 5m")
	}
	return d, checkDuration(w, d)
}

// parseTime reads a time of any length; the longest stands for what no duration can hold.
func parseTime(text string) (d time.Duration, ok bool) {
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, d >= 0
	}
	one, _ := time.ParseDuration(digits.ReplaceAllString(text, "1"))
	return math.MaxInt64, one > 0
}

var digits = regexp.MustCompile("[0-9]+")

func checkDuration(w word, d time.Duration) *Error {
	if d > durationMax {
		return inputError(w.position, "%s is longer than %s", w.text, durationMax)
	}
	return nil
}

// durationMax bounds every time: nothing that Kafka does takes longer than its retention.
const durationMax = 30 * 24 * time.Hour
