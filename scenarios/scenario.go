package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"highwater/cluster"
	"highwater/cluster/client"
	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/viz/audit"
)

// Scenario is one parsed file: what kind of cluster it wants, its prose, and its steps.
type Scenario struct {
	Name     string
	Title    string
	Level    int // 1 for everybody, up to 3
	Minutes  int
	Seed     uint64
	Kind     string // exact, or measured where this machine's speed counts
	Latency  time.Duration
	Brokers  []event.NodeID
	Voters   []event.NodeID // the controllers
	Settings []client.Setting
	// Breaks are the promises that the scenario is there to break, as the referee names them.
	Breaks []string
	Blocks []Block
	Steps  []Step
	// Predictions are the questions, in the order of the file.
	Predictions []Prediction
}

// Block is a stretch of a scenario's text: prose as Markdown, or the inside of a fenced block.
type Block struct {
	Line     int
	Language string // "" for prose
	Text     string
}

// Step is one command of a scenario.
type Step struct {
	Line    int
	Column  int // of the command's beginning, from 1
	Text    string
	Command *Command
	// Section counts the fenced blocks of steps, from 0.
	Section int
}

// EndsSection says whether the step at an index is the last one of its block.
func (s *Scenario) EndsSection(step int) bool {
	return step+1 == len(s.Steps) || s.Steps[step+1].Section != s.Steps[step].Section
}

// Mistake is something wrong in a scenario file. Line and Column count from 1.
type Mistake struct {
	File         string
	Line, Column int
	Message      string
	Hint         string
}

func (m Mistake) String() string {
	text := fmt.Sprintf("%s:%d:%d: %s", m.File, m.Line, m.Column, m.Message)
	if m.Hint != "" {
		text += " (" + m.Hint + ")"
	}
	return text
}

// Bounds of a scenario.
const (
	scenarioBytesMax = 1 << 20
	stepsMax         = 10000
	nodesMax         = 9
)

// reading takes a scenario file apart, line by line.
type fileReader struct {
	file     string
	scenario *Scenario
	mistakes []Mistake
	lines    []string
	line     int      // index of the next one
	clients  []string // those that steps so far have started
	sections int      // fenced blocks of steps that ended
}

func (r *fileReader) mistake(line, column int, hint, format string, args ...any) {
	r.mistakes = append(r.mistakes, Mistake{r.file, line, column, fmt.Sprintf(format, args...), hint})
}

// ParseScenario reads a scenario file. One whose name does not end in .md is nothing but steps.
// It finds all mistakes, not only the first.
func ParseScenario(file string, text []byte) (*Scenario, []Mistake) {
	base := file[strings.LastIndexAny(file, `/\`)+1:]
	markdown := strings.HasSuffix(base, ".md")
	r := &fileReader{file: file, scenario: &Scenario{Name: strings.TrimSuffix(base, ".md"),
		Title: base, Level: 1, Seed: 1, Kind: "exact", Brokers: numbered(1, 3),
		Voters: numbered(101, 3)}}
	if len(text) > scenarioBytesMax {
		r.mistake(1, 1, "", "a scenario has at most %d bytes", scenarioBytesMax)
		return r.scenario, r.mistakes
	}
	r.lines = strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	hint := "write one command a line"
	if markdown {
		hint = "fence commands with ```highwater"
		r.frontMatter()
		r.body()
	} else {
		for i, line := range r.lines {
			r.step(i+1, line)
		}
	}
	if len(r.scenario.Steps) == 0 && len(r.mistakes) == 0 {
		r.mistake(len(r.lines), 1, hint, "the scenario has no steps")
	}
	return r.scenario, r.mistakes
}

func numbered(first event.NodeID, count int) []event.NodeID {
	ids := make([]event.NodeID, count)
	for i := range ids {
		ids[i] = first + event.NodeID(i)
	}
	return ids
}

// frontMatter reads the "key: value" lines between two lines of dashes.
func (r *fileReader) frontMatter() {
	if r.lines[0] != "---" {
		r.mistake(1, 1, "begin with ---, title: …, level: …, ---", "the front matter is missing")
		return
	}
	titled := false
	for r.line = 1; r.line < len(r.lines); r.line++ {
		line := r.lines[r.line]
		if line == "---" {
			r.line++
			if !titled {
				r.mistake(1, 1, "", "the front matter has no title")
			}
			return
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		key, text, ok := strings.Cut(line, ":")
		if !ok {
			r.mistake(r.line+1, 1, "write key: value", "%q is not front matter", line)
			continue
		}
		titled = titled || key == "title"
		column := len(line) - len(strings.TrimLeft(text, " ")) + 1
		r.setting(key, strings.TrimSpace(text), column)
	}
	r.mistake(1, 1, "end it with ---", "the front matter has no end")
}

func (r *fileReader) setting(key, text string, column int) {
	s, line := r.scenario, r.line+1
	switch key {
	case "title":
		s.Title = text
	case "kind":
		s.Kind = text
		if text != "exact" && text != "measured" {
			r.mistake(line, column, "exact or measured", "there is no kind %q", text)
		}
	case "level":
		s.Level = r.number(text, column, 1, 3)
	case "minutes":
		s.Minutes = r.number(text, column, 0, 600)
	case "seed":
		s.Seed = uint64(r.number(text, column, 0, 1<<53))
	case "brokers":
		s.Brokers = numbered(1, r.number(text, column, 1, nodesMax))
	case "controllers":
		s.Voters = numbered(101, r.number(text, column, 1, nodesMax))
	case "breaks":
		s.Breaks = strings.Fields(text)
		for _, promise := range s.Breaks {
			if !slices.Contains(audit.Promises(), promise) {
				e := inputError(0, "").meant(promise, audit.Promises())
				r.mistake(line, column+strings.Index(text, promise), e.Hint, "there is no promise %q", promise)
			}
		}
	case "latency":
		d, err := duration(word{0, text})
		if err != nil {
			r.mistake(line, column, err.Hint, "%s", err.Message)
		}
		s.Latency = d
	default:
		r.brokerSetting(key, text, column)
	}
}

// brokerSetting reads "set NAME: value", one of Kafka's broker configurations.
func (r *fileReader) brokerSetting(key, text string, column int) {
	name, ok := strings.CutPrefix(key, "set ")
	if !ok {
		keys := []string{"title", "level", "minutes", "seed", "kind", "brokers", "controllers",
			"latency", "breaks", "set"}
		e := inputError(0, "").meant(key, keys)
		r.mistake(r.line+1, 1, e.Hint, "the front matter has no %q", key)
		return
	}
	if err := CheckSetting(name, text); err != nil {
		hint, message := "", err.Error()
		if unknown := (*Error)(nil); errors.As(err, &unknown) { // it is the name that is wrong
			column, hint, message = len("set ")+1, unknown.Hint, unknown.Message
		}
		r.mistake(r.line+1, column, hint, "%s", message)
		return
	}
	r.scenario.Settings = append(r.scenario.Settings, client.Setting{Name: name, Value: text})
}

// CheckSetting says what is wrong with a broker configuration; for an unknown one with the name
// that may have been meant.
func CheckSetting(name, value string) error {
	err := cluster.CheckSetting(name, value)
	if !errors.Is(err, cluster.ErrUnknownSetting) {
		return err
	}
	var names []string
	for _, def := range metadata.BrokerConfigs() {
		names = append(names, def.Name)
	}
	return inputError(-1, "brokers have no configuration %q", name).meant(name, names)
}

func (r *fileReader) number(text string, column, low, high int) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		r.mistake(r.line+1, column, "", "%q is not a whole number from %d to %d", text, low, high)
		return low
	}
	return n
}

const fence = "```"

// languages are what a fenced block may hold: steps, questions, or something only to be shown.
func languages() []string { return []string{"highwater", "predict", "text"} }

func (r *fileReader) body() {
	begin := r.line
	for ; r.line < len(r.lines); r.line++ {
		language, fenced := strings.CutPrefix(r.lines[r.line], fence)
		if !fenced {
			continue
		}
		r.block(begin, r.line, "")
		r.fenced(strings.TrimSpace(language))
		begin = r.line + 1
	}
	r.block(begin, len(r.lines), "")
	r.decidable()
}

// fenced reads a block up to its closing fence, on which it stops.
func (r *fileReader) fenced(language string) {
	opened := r.line
	if !slices.Contains(languages(), language) {
		e := inputError(0, "").meant(language, languages())
		r.mistake(opened+1, len(fence)+1, e.Hint, "there is no kind of block %q", language)
	}
	for r.line++; r.line < len(r.lines); r.line++ {
		if strings.TrimRight(r.lines[r.line], " ") == fence {
			r.block(opened+1, r.line, language)
			switch language {
			case "highwater":
				r.sections++
			case "predict":
				r.prediction(opened, opened+1, r.line)
			}
			return
		}
		if language == "highwater" {
			r.step(r.line+1, r.lines[r.line])
		}
	}
	r.mistake(opened+1, 1, "close it with "+fence, "the block has no end")
}

func (r *fileReader) block(from, to int, language string) {
	if from >= to { // a block without an end reached the end of the file
		return
	}
	text := strings.Trim(strings.Join(r.lines[from:to], "\n"), "\n")
	if text != "" {
		r.scenario.Blocks = append(r.scenario.Blocks, Block{from + 1, language, text})
	}
}

func (r *fileReader) step(line int, text string) {
	command, err := Parse(text)
	if err != nil {
		r.mistake(line, err.Position+1, err.Hint, "%s", err.Message)
		return
	}
	if command == nil {
		return
	}
	for _, used := range command.usesClients() {
		if !contains(r.clients, used.text) {
			e := inputError(used.position, "").meant(used.text, append(functionNames(), r.clients...))
			r.mistake(line, used.position+1, e.Hint, "no client %s was started", used.text)
		}
	}
	if name := command.startsClient(); name != "" {
		r.clients = append(r.clients, name)
	}
	if len(r.scenario.Steps) == stepsMax {
		r.mistake(line, 1, "", "a scenario has at most %d steps", stepsMax)
	}
	if len(r.scenario.Steps) >= stepsMax {
		return
	}
	column := len(text) - len(strings.TrimLeft(text, " \t")) + 1
	r.scenario.Steps = append(r.scenario.Steps, Step{line, column, strings.TrimSpace(text),
		command, r.sections})
}
