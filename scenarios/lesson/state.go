package lesson

import "time"

// State says where a lesson stands, for the page and for programs.
type State struct {
	World    string `json:"world"`
	Scenario string `json:"scenario"`
	Title    string `json:"title"`
	// Free says that this is free play from step From of the lesson in the world Parent.
	Free   bool   `json:"free"`
	Parent string `json:"parent,omitempty"`
	From   int    `json:"from"`
	// Booted are the events before the first step.
	Booted      Range        `json:"booted"`
	Done        int          `json:"done"`
	Failure     string       `json:"failure,omitempty"`
	Steps       []Step       `json:"steps"`
	Predictions []Prediction `json:"predictions"`
}

// Step is one step of a lesson.
type Step struct {
	Line    int    `json:"line"`
	Command string `json:"command"`
	Section int    `json:"section"`
	// Checks says that the step can fail by what it finds.
	Checks bool `json:"checks"`
	// Status is ahead, held or failed; the rest is known once the step ran.
	Status string        `json:"status"`
	Seen   string        `json:"seen,omitempty"`
	At     time.Duration `json:"atNs,string,omitempty"`
	Range
}

// Prediction is one question, and which of its answers the run made right.
type Prediction struct {
	Line     int      `json:"line"`
	Section  int      `json:"section"`
	Question string   `json:"question"`
	Answers  []string `json:"answers"`
	// Right is -1 until the run has decided.
	Right int    `json:"right"`
	Seen  string `json:"seen,omitempty"`
}

// state writes the lesson down. The caller holds mu.
func (l *Lesson) state() State {
	r := l.run
	s := State{World: l.id, Scenario: l.scenario.Name, Title: l.scenario.Title,
		Free: r.live != nil, Parent: l.parent, From: l.from, Booted: r.booted,
		Done: len(r.steps), Failure: r.failure, Steps: []Step{}, Predictions: []Prediction{}}
	for i := range l.scenario.Steps {
		each := &l.scenario.Steps[i]
		step := Step{Line: each.Line, Command: each.Text, Section: each.Section,
			Checks: each.Checks(), Status: "ahead"}
		if i < len(r.steps) {
			done := r.steps[i]
			step.Range, step.Seen, step.At = done.Range, done.report.Text, done.report.At
			step.Status = "held"
			if !done.report.OK {
				step.Status = "failed"
			}
		}
		s.Steps = append(s.Steps, step)
	}
	for _, q := range l.scenario.Predictions {
		p := Prediction{Line: q.Line, Section: q.Section, Question: q.Question, Right: -1}
		for _, a := range q.Answers {
			p.Answers = append(p.Answers, a.Text)
		}
		if g, decided := r.graded[q.Line]; decided {
			p.Right, p.Seen = g.Right, g.Seen
		}
		s.Predictions = append(s.Predictions, p)
	}
	return s
}
