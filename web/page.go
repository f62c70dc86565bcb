package web

import (
	_ "embed" // the sprite
	"fmt"
	"strconv"
)

// mainPath leads to the cluster that outside clients talk to. It names the world, because the page
// without a name begins a first visit with the story.
const mainPath = "/?world=main"

// sprite holds every sign of the page. It is part of the page, because a browser does not ask again
// for a file that it did not get, and signs would be missing until the page is loaded anew.
//
//go:embed icons.svg
var sprite string

// Page is what the main page shows before its first event arrives.
type Page struct {
	// WorldID names the world whose events the page follows; "main" is the one that outside Kafka
	// clients talk to.
	WorldID string
	// Token goes back to the server with every command; empty for a viewer, who can only look.
	Token string
	// ViewerToken is what the link for viewers carries; empty where there are no viewers' links.
	ViewerToken string
	// Theme is "dark", "light", or empty to follow the system's preference.
	Theme string
	// Version is the program's version as it is shown in the legend.
	Version string
	// Brokers and Controllers are the nodes in the order in which they stand on the stage.
	Brokers     []Node
	Controllers []Node
	// Library lists the scenarios that can be opened as lessons.
	Library []Entry
	// Lesson is the open lesson; nil on the page of the main world. Without a WorldID its world is
	// opened by the page itself.
	Lesson *Lesson
	// Story names the lesson that a first visit begins with, "" for none.
	Story string
}

// Node is one broker or controller.
type Node struct {
	ID int
	// Address is where Kafka clients reach a broker; empty for a controller.
	Address string
}

// Problem is a page that says what went wrong.
type Problem struct {
	// Status is the HTTP status code.
	Status int
	// Title says in a few words what happened, Detail in one sentence why and what to do.
	Title  string
	Detail string
}

// Bootstrap is the list of addresses that a Kafka client can start from.
func (p Page) Bootstrap() string {
	list := ""
	for _, n := range p.Brokers {
		if n.Address == "" {
			continue
		}
		if list != "" {
			list += ","
		}
		list += n.Address
	}
	return list
}

// Viewer says whether the page may only look.
func (p Page) Viewer() bool { return p.Token == "" }

// role is what the page may do.
func (p Page) role() string {
	if p.Viewer() {
		return "viewer"
	}
	return "presenter"
}

func (p Page) themeOrDark() string {
	if p.Theme == "light" {
		return "light"
	}
	return "dark"
}

func (n Node) text() string { return strconv.Itoa(n.ID) }

func (n Node) testID(what string) string { return fmt.Sprintf("%s-%d", what, n.ID) }

// styleSheets lists the style sheets in the order in which they apply.
func styleSheets() []string {
	return []string{
		"tokens", "shell", "transport", "stage", "log", "strata", "columns", "clients", "panels",
		"inspector", "timeline", "dialogs", "lesson", "room",
	}
}

// lever is one thing that can be done to a node.
type lever struct {
	// Command is the word of the command language, and names the lever's test id.
	Command string
	Icon    string
	Word    string
	Title   string
}

// levers lists what can be done to a node, in the order in which it is shown.
func levers(role string) []lever {
	return []lever{
		{"kill", "kill", "kill -9", "Kill " + role + ": its memory is lost, its files stay"},
		{"power-cut", "power", "power", "Cut the power of " + role + ": unsynced bytes are lost"},
		{"pause", "pause", "pause", "Pause " + role + ": it handles nothing until it is resumed"},
		{"restart", "restart", "restart", "Restart " + role},
	}
}

// binding is one row of the list of keys.
type binding struct {
	Keys []string
	Does string
}

func bindings() []binding {
	return []binding{
		{[]string{"space"}, "play or pause"},
		{[]string{"←", "→"}, "step back, step on"},
		{[]string{"L"}, "newest moment; again: let time run"},
		{[]string{"S"}, "write a record"},
		{[]string{"F"}, "follow the picked record"},
		{[]string{"1", "2", "3"}, "pick a broker"},
		{[]string{"K", "U", "R"}, "kill, power cut, restart the picked broker"},
		{[]string{"X"}, "cut or heal a link of the picked broker"},
		{[]string{"Ctrl K", "/"}, "command bar"},
		{[]string{"N", "B"}, "lesson: next step, back to before this one"},
		{[]string{"G"}, "step by event, by request, or by a whole step"},
		{[]string{"M"}, "lessons"},
		{[]string{"E"}, "lesson: its text or the events"},
		{[]string{"O"}, "open a trace file, or save one"},
		{[]string{"W"}, "viewer: follow the presenter, or look around"},
		{[]string{"I"}, "inspector"},
		{[]string{"T"}, "space-time diagram"},
		{[]string{"P"}, "projector or desk"},
		{[]string{"D"}, "dark or light"},
		{[]string{"?"}, "legend and keys"},
		{[]string{"Esc"}, "close"},
	}
}
