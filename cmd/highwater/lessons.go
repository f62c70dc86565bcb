package main

import (
	"highwater/cluster"
	"highwater/cluster/event"
	"highwater/scenarios"
	"highwater/scenarios/lesson"
	"highwater/server"
	"highwater/web"
)

// stories are the lessons that a first visit may begin with, the best first.
var stories = [...]string{"order-3-committed", "kill-leader"}

// story is the first of the stories that the library has.
func story() string {
	for _, name := range stories {
		if _, err := scenarios.Source(name); err == nil {
			return name
		}
	}
	return ""
}

// library lists the scenarios for the page's menu.
func library() []web.Entry {
	var entries []web.Entry
	for _, name := range scenarios.Names() {
		s, err := scenarios.Library(name)
		if err != nil {
			continue // a test keeps the library free of mistakes
		}
		entries = append(entries, web.Entry{Name: name, Title: s.Title, Level: s.Level,
			Minutes: s.Minutes})
	}
	return entries
}

// lessonWorlds gives the server the worlds of lessons.
type lessonWorlds struct {
	main    *mainWorld
	lessons *lesson.Lessons
}

// Start, of server.Lessons, opens a world for a scenario.
func (l lessonWorlds) Start(name string) (string, error) {
	opened, err := l.lessons.Start(name)
	if err != nil {
		return "", commandError(err)
	}
	return opened.ID(), nil
}

// List, of server.Lessons, says where all open lessons stand.
func (l lessonWorlds) List() any { return l.lessons.List() }

// Page, of server.Lessons, is a scenario's page while no world is open for it.
func (l lessonWorlds) Page(name string) (web.Page, error) {
	s, err := scenarios.Library(name)
	if err != nil {
		return web.Page{}, commandError(err)
	}
	return l.page("", s, false, 0), nil
}

// World, of server.Lessons, finds an open world.
func (l lessonWorlds) World(id string) (server.World, error) {
	found, err := l.lessons.Find(id)
	if err != nil {
		return server.World{}, err
	}
	w := server.World{Hub: found.Hub(), Batches: lessonBatches{found}, Save: found.Save,
		Lesson: oneLesson{found, l.lessons},
		Page: func() web.Page {
			state := found.State()
			return l.page(id, found.Scenario(), state.Free, state.From)
		}}
	if live := found.Live(); live != nil {
		w.Commands = commander{live}
	}
	return w, nil
}

func (l lessonWorlds) page(id string, s *scenarios.Scenario, free bool, from int) web.Page {
	p := web.Page{WorldID: id, Token: l.main.token, Version: cluster.Version, Library: library(),
		Lesson: panel(s)}
	p.Lesson.Free, p.Lesson.From = free, from
	for _, node := range s.Brokers {
		p.Brokers = append(p.Brokers, web.Node{ID: int(node)})
	}
	for _, node := range s.Voters {
		p.Controllers = append(p.Controllers, web.Node{ID: int(node)})
	}
	return p
}

// panel lays a scenario out as the page shows it.
func panel(s *scenarios.Scenario) *web.Lesson {
	l := &web.Lesson{Name: s.Name, Title: s.Title, Level: s.Level, Minutes: s.Minutes,
		Steps: len(s.Steps)}
	section, question := 0, 0
	for _, block := range s.Blocks {
		switch block.Language {
		case "":
			l.Parts = append(l.Parts, web.LessonPart{Prose: block.Text})
		case "highwater":
			part := web.LessonPart{Section: section}
			for i := range s.Steps {
				if each := &s.Steps[i]; each.Section == section {
					part.Steps = append(part.Steps, web.LessonStep{Index: i, Command: each.Text,
						Checks: each.Checks()})
				}
			}
			section++
			if len(part.Steps) > 0 {
				l.Parts = append(l.Parts, part)
			}
		case "predict":
			q := s.Predictions[question]
			question++
			asked := &web.Question{Line: q.Line, Text: q.Question}
			for _, a := range q.Answers {
				asked.Answers = append(asked.Answers, a.Text)
			}
			l.Parts = append(l.Parts, web.LessonPart{Question: asked})
		default:
			l.Parts = append(l.Parts, web.LessonPart{Shown: block.Text})
		}
	}
	return l
}

// oneLesson gives the server one lesson.
type oneLesson struct {
	lesson  *lesson.Lesson
	lessons *lesson.Lessons
}

func (o oneLesson) Scenario() string { return o.lesson.Scenario().Name }

func (o oneLesson) State() any { return o.lesson.State() }

func (o oneLesson) Next(after int) (any, error) { return o.lesson.Next(after) }

func (o oneLesson) Reset() (any, error) { return o.lesson.Reset() }

func (o oneLesson) Free(steps int) (string, error) {
	opened, err := o.lessons.Free(o.lesson.ID(), steps)
	if err != nil {
		return "", err
	}
	return opened.ID(), nil
}

// lessonBatches reads batches of a lesson's cluster.
type lessonBatches struct{ lesson *lesson.Lesson }

// Batch, of server.Batches, reads one batch for the inspector.
func (b lessonBatches) Batch(node int32, topic string, partition int32, offset int64) ([]byte,
	error) {
	return b.lesson.Batch(event.NodeID(node), topic, partition, event.Offset(offset))
}
