package explain

import (
	"fmt"
	"io"
	"strings"
	"time"

	"highwater/cluster/event"
	"highwater/viz/model"
)

// Sentence is one reason, the event it rests on, and the rule of Kafka's that makes it one.
type Sentence struct {
	Text string `json:"text"`
	// Seq is the event that the sentence rests on; 0 where no kept event tells it.
	Seq event.Seq `json:"seq,string"`
	At  int64     `json:"at,string"` // of that event
	// Rule to Source are empty where no rule is worth naming.
	Rule     string `json:"rule,omitempty"`
	RuleText string `json:"ruleText,omitempty"`
	Source   string `json:"source,omitempty"`
}

// say is Sprintf with offsets as the page writes them.
func say(format string, args ...any) string {
	for i, arg := range args {
		if n, is := arg.(event.Offset); is {
			args[i] = spelled(n)
		}
	}
	return fmt.Sprintf(format, args...)
}

// spelled is an offset that a sentence tells.
type spelled event.Offset

// Format is fmt.Formatter's.
func (o spelled) Format(s fmt.State, _ rune) {
	_, _ = io.WriteString(s, event.Group(int64(o))) // fmt keeps it in memory
}

// because makes a sentence that rests on an event, nil for none.
func because(f *fact, rule event.Rule, format string, args ...any) Sentence {
	row := rule.Row()
	s := Sentence{Text: say(format, args...), Seq: f.seq(), Rule: row.Name,
		RuleText: row.Text, Source: row.Source}
	if f != nil {
		s.At = f.At
	}
	return s
}

// naming says who somebody is: by role, and clients by the name they gave.
func naming(s *model.State, id event.NodeID) string {
	if p := s.Program(id); p != nil {
		return p.Name
	}
	if n := s.Node(id); n != nil && n.Role == "client" {
		return "the built-in client"
	} else if n != nil && n.Role != "" {
		return fmt.Sprintf("%s %d", n.Role, id)
	}
	for _, c := range s.Clients {
		if c.Connection == id && c.ClientID != "" {
			return c.ClientID
		}
	}
	switch {
	case id == event.NoNode:
		return "nobody"
	case id >= event.FirstOutside:
		return fmt.Sprintf("client %d", id-event.FirstOutside)
	}
	return fmt.Sprintf("node %d", id)
}

// capital begins a sentence with a broker or a controller; clients keep their names as typed.
func capital(name string) string {
	if strings.HasPrefix(name, "broker ") || strings.HasPrefix(name, "controller ") {
		return strings.ToUpper(name[:1]) + name[1:]
	}
	return name
}

// clock writes a moment as the page's transport does, close enough to find it.
func clock(at int64) string {
	d := time.Duration(at)
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", float64(at)/1e6)
	}
	if d < 100*time.Second {
		return fmt.Sprintf("%.3f s", d.Seconds())
	}
	minutes := int64(d / time.Minute)
	rest := (d - time.Duration(minutes)*time.Minute).Seconds()
	if minutes < 60 {
		return fmt.Sprintf("%d:%04.1f", minutes, rest)
	}
	return fmt.Sprintf("%d:%02d:%04.1f", minutes/60, minutes%60, rest)
}

// span writes how long something takes.
func span(d int64) string {
	switch {
	case d < int64(time.Millisecond):
		return fmt.Sprintf("%d µs", d/1000)
	case d < int64(time.Second):
		return fmt.Sprintf("%d ms", d/int64(time.Millisecond))
	}
	return fmt.Sprintf("%.1f s", float64(d)/1e9)
}

func recordCount[N int32 | int64](n N) string {
	if n == 1 {
		return "one record"
	}
	return event.Group(int64(n)) + " records"
}

func nodeList(ids []event.NodeID) string {
	return strings.ReplaceAll(fmt.Sprint(ids), " ", ", ")
}
