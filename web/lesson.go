package web

import (
	"fmt"
	"strconv"
)

// Lesson is a scenario as its panel shows it: its parts in the order of the file. How far it has
// come is drawn by the page's scripts.
type Lesson struct {
	Name    string
	Title   string
	Level   int
	Minutes int
	Steps   int
	// Free says that the page's world is free play that left the lesson after From steps.
	Free  bool
	From  int
	Parts []LessonPart
}

// LessonPart is one part of a lesson's text; exactly one of its kinds is there.
type LessonPart struct {
	// Prose is Markdown.
	Prose string
	// Shown is a block that is shown as it was typed.
	Shown string
	// Steps are a section, which Section counts from 0.
	Steps   []LessonStep
	Section int
	// Question is to be answered before the next section runs.
	Question *Question
}

// LessonStep is one step; Index counts all steps of the lesson from 0.
type LessonStep struct {
	Index   int
	Command string
	Checks  bool
}

// Question is a prediction; Line is its place in the file, which names it.
type Question struct {
	Line    int
	Text    string
	Answers []string
}

// Entry is one scenario of the library.
type Entry struct {
	Name    string
	Title   string
	Level   int
	Minutes int
}

func (e Entry) facts() string { return facts(e.Level, e.Minutes) }

func (l Lesson) facts() string { return facts(l.Level, l.Minutes) }

func facts(level, minutes int) string {
	if minutes == 0 {
		return fmt.Sprintf("level %d", level)
	}
	return fmt.Sprintf("level %d · %d min", level, minutes)
}

func (s LessonStep) number() string { return strconv.Itoa(s.Index + 1) }

func (s LessonStep) index() string { return strconv.Itoa(s.Index) }

func (q Question) line() string { return strconv.Itoa(q.Line) }

// letter names an answer.
func letter(i int) string { return string(rune('A' + i)) }

func (p Page) worldPath() string { return "/api/worlds/" + p.WorldID }

// side is what the left column shows first.
func (p Page) side() string {
	if p.Lesson != nil {
		return "lesson"
	}
	return "events"
}

// newest is what the button says that leads back to the newest event.
func (p Page) newest() string {
	if p.Lesson != nil && !p.Lesson.Free {
		return "Newest"
	}
	return "Live"
}
