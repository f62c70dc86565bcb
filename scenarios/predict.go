package scenarios

import (
	"fmt"
	"strings"
)

// Prediction is a question that is answered before a section of steps runs and graded at its end,
// by expressions that are evaluated on the run: nobody writes down which answer is right.
type Prediction struct {
	Line     int
	Question string
	Answers  []Answer
	// Section is the stretch of steps whose end decides, as in Step.Section.
	Section int
}

// Answer is one of a prediction's answers. It is right when its expression holds; one without an
// expression is always wrong.
type Answer struct {
	Line int
	Text string
	When *Command // an expect, or nil
}

// Bounds of a prediction.
const (
	answersMin = 2
	answersMax = 6
)

const (
	answerSign = "- [ ] "
	whenSign   = "when:"
)

// prediction reads the inside of a predict block, whose lines are those from one index to another.
func (r *fileReader) prediction(opened, from, to int) {
	p := Prediction{Line: opened + 1, Section: r.sections}
	for i := from; i < to; i++ {
		r.predictionLine(&p, i)
	}
	switch decided := 0; {
	case p.Question == "":
		r.mistake(opened+1, 1, "begin the block with a question", "the prediction asks nothing")
	case len(p.Answers) < answersMin || len(p.Answers) > answersMax:
		r.mistake(opened+1, 1, "write each as "+answerSign+"text", "a prediction has %d to %d answers, "+
			"not %d", answersMin, answersMax, len(p.Answers))
	default:
		for _, a := range p.Answers {
			if a.When != nil {
				decided++
			}
		}
		if decided == 0 && !r.mistakenSince(opened+1) {
			r.mistake(opened+1, 1, `write below the right answer: when: hw("orders-0") == 1`,
				"no answer says when it is right")
		}
	}
	r.scenario.Predictions = append(r.scenario.Predictions, p)
}

func (r *fileReader) mistakenSince(line int) bool {
	for _, m := range r.mistakes {
		if m.Line >= line {
			return true
		}
	}
	return false
}

// predictionLine reads the line at an index: of the question, an answer, or when one is right.
func (r *fileReader) predictionLine(p *Prediction, i int) {
	line := r.lines[i]
	text := strings.TrimSpace(line)
	column := strings.Index(line, text) + 1
	answer, isAnswer := strings.CutPrefix(text+" ", answerSign)
	when, isWhen := strings.CutPrefix(text, whenSign)
	switch {
	case text == "":
	case isAnswer:
		if answer = strings.TrimSpace(answer); answer == "" {
			r.mistake(i+1, column, "", "the answer is empty")
		}
		p.Answers = append(p.Answers, Answer{Line: i + 1, Text: answer})
	case isWhen:
		r.when(p, i, column+len(whenSign), when)
	case strings.HasPrefix(text, "- "):
		r.mistake(i+1, column, "write "+answerSign+"text, and below it when: EXPRESSION",
			"answers have an empty box: the run says which is right")
	case len(p.Answers) > 0:
		r.mistake(i+1, column, "an answer is one line", "after the answers begin there is only %q or %q",
			strings.TrimSpace(answerSign), whenSign)
	default:
		p.Question = strings.TrimSpace(p.Question + " " + text)
	}
}

const whenCommand = "expect "

// when reads the expression of the last answer; column is where its text begins.
func (r *fileReader) when(p *Prediction, i, column int, text string) {
	switch n := len(p.Answers); {
	case n == 0:
		r.mistake(i+1, column-len(whenSign), "write it below its answer", "there is no answer yet")
		return
	case p.Answers[n-1].When != nil:
		r.mistake(i+1, column-len(whenSign), "join them with || or &&",
			"the answer has an expression already")
		return
	}
	command, err := Parse(whenCommand + text)
	if err != nil {
		r.mistake(i+1, max(column, column+err.Position-len(whenCommand)), err.Hint, "%s", err.Message)
		return
	}
	p.Answers[len(p.Answers)-1].When = command
}

// decidable reports predictions behind which no steps come.
func (r *fileReader) decidable() {
	for _, p := range r.scenario.Predictions {
		if p.Section >= r.sections {
			r.mistake(p.Line, 1, "put it before the steps that decide it",
				"no steps come after the prediction")
		}
	}
}

// Graded is what a run says of a prediction. Right is the index of the right answer, -1 when the
// run does not decide between them.
type Graded struct {
	Line     int    `json:"line"`
	Question string `json:"question"`
	Right    int    `json:"right"`
	Answer   string `json:"answer"`
	Seen     string `json:"seen"`
}

// OK says whether exactly one answer is right.
func (g Graded) OK() bool { return g.Right >= 0 }

// Grade finds out which answer the run makes right. Exactly one must be: a question whose answers
// all fail, or of which two hold, is wrong itself.
func (p *Player) Grade(q *Prediction) Graded {
	g := Graded{Line: q.Line, Question: q.Question, Right: -1}
	var seen []string
	held := 0
	for i, a := range q.Answers {
		if a.When == nil {
			continue
		}
		ok, text, _ := p.run(a.When, grader)
		seen = append(seen, text)
		if ok {
			held++
			g.Right, g.Answer, g.Seen = i, a.Text, text
		}
	}
	if held != 1 {
		g.Right, g.Answer = -1, ""
		g.Seen = fmt.Sprintf("%d answers are right, not one: %s", held, strings.Join(seen, "; "))
	}
	return g
}
