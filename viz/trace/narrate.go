package trace

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"highwater/cluster/event"
)

// Narrator tells events in sentences, from the catalogue's templates and as the page does, with
// the names that it has heard of.
type Narrator struct{ names map[event.NodeID]string }

// NewNarrator knows nobody's name yet.
func NewNarrator() *Narrator { return &Narrator{names: map[event.NodeID]string{}} }

// Know gives somebody a name.
func (n *Narrator) Know(id event.NodeID, name string) { n.names[id] = name }

// happening is what a sentence needs of a line.
type happening struct {
	Event  string         `json:"event"`
	Node   event.NodeID   `json:"node"`
	Fields map[string]any `json:"fields"`
}

var (
	placeholder = regexp.MustCompile(`\{(\w+)\}`)
	oneOf       = regexp.MustCompile(`\b1 (record|partition|segment|batche?)s\b`)
	oneCopy     = regexp.MustCompile(`\b1 copies`)
)

// Say tells an event; a kind that is not known is told by its name.
func (n *Narrator) Say(line Line) string {
	var e happening
	row, known := event.RowOf(event.ParseKind(line.Kind))
	if err := json.Unmarshal(line.Raw, &e); err != nil || !known {
		return line.Kind
	}
	if row.Kind == event.KindRecordDescribed {
		return describe(e.Fields)
	}
	narration := row.NarrationOf(e.Fields)
	sentence := placeholder.ReplaceAllStringFunc(narration, func(field string) string {
		name := strings.Trim(field, "{}")
		if name == "node" {
			return n.name(e.Node)
		}
		isGrouped := func(f event.Field) bool { return f.Name == name && f.Grouped() }
		if slices.ContainsFunc(row.Fields, isGrouped) {
			return grouped(e.Fields[name])
		}
		return n.show(&e, name)
	})
	sentence = oneCopy.ReplaceAllString(oneOf.ReplaceAllString(sentence, "1 $1"), "1 copy")
	if strings.HasPrefix(narration, "{topic}") || strings.HasPrefix(narration, "{resource}") {
		return sentence // names stay as typed
	}
	first, size := utf8.DecodeRuneInString(sentence)
	return string(unicode.ToUpper(first)) + sentence[size:]
}

// Hear learns who somebody is.
func (n *Narrator) Hear(line Line) {
	kind := event.ParseKind(line.Kind)
	switch kind {
	case event.KindNodeStarted, event.KindClientStarted, event.KindClientIdentified:
	default:
		return
	}
	var e happening
	if json.Unmarshal(line.Raw, &e) != nil {
		return
	}
	text := func(name string) string { return fmt.Sprint(e.Fields[name]) }
	switch {
	case kind == event.KindClientStarted:
		n.Know(e.Node, text("role")+" "+text("name"))
	case kind == event.KindClientIdentified:
		// Inside the world a client's connection is its node, which has a name already.
		number, _ := e.Fields["connection"].(float64)
		if connection := event.NodeID(number); connection >= event.FirstOutside {
			n.Know(connection, text("clientId"))
		}
	case text("role") == "client":
		n.Know(e.Node, "the built-in client")
	default:
		n.Know(e.Node, fmt.Sprintf("%s %d", text("role"), e.Node))
	}
}

// firstController is Kafka's habit of numbering controllers from 100 on.
const firstController = 100

func (n *Narrator) name(id event.NodeID) string {
	if name := n.names[id]; name != "" {
		return name
	}
	switch {
	case id == 0:
		return "the world"
	case id < 0:
		return "nobody"
	case id >= event.FirstOutside:
		return fmt.Sprintf("client %d", id-event.FirstOutside)
	case id >= firstController:
		return fmt.Sprintf("controller %d", id)
	}
	return fmt.Sprintf("broker %d", id)
}

func (n *Narrator) show(e *happening, field string) string {
	switch v := e.Fields[field].(type) {
	case nil:
		return "?"
	case string:
		switch {
		case field == "resource" && v == "":
			return "The cluster"
		case e.Event == "LinkDelayed" && field == "latency",
			e.Event == "NodeClockChanged" && field == "offset":
			return durationOf(v)
		case field == "fault" && e.Fields["delay"] != "0":
			return v + "=" + durationOf(e.Fields["delay"])
		}
		return v
	case bool:
		return map[bool]string{true: "a commit", false: "an abort"}[v]
	case []any:
		return strings.ReplaceAll(fmt.Sprint(v), " ", ", ")
	case float64:
		switch field {
		case "ratePermille":
			return strconv.FormatFloat(v/1000, 'f', -1, 64)
		case "errorCode":
			if v == 0 {
				return "ok"
			}
			return event.ErrorName(int16(v))
		case "from", "to", "leader", "leaderBefore", "replica", "broker", "candidate", "for",
			"connection":
			return n.name(event.NodeID(v))
		}
		return strconv.FormatInt(int64(v), 10)
	default:
		return fmt.Sprint(v)
	}
}

// grouped writes 40117 as 40,117, and ? for nothing. JSON's numbers are floats, and Kafka's longs texts.
func grouped(number any) string {
	switch n := number.(type) {
	case nil:
		return "?"
	case float64:
		return event.Group(int64(n))
	}
	n, err := strconv.ParseInt(fmt.Sprint(number), 10, 64)
	if err != nil {
		return fmt.Sprint(number)
	}
	return event.Group(n)
}

func durationOf(field any) string {
	text, _ := field.(string)
	ns, _ := strconv.ParseInt(text, 10, 64)
	return duration(ns)
}

// duration writes a time as people do: 250 µs, 15 ms, 1.5 s, 2 min.
func duration(ns int64) string {
	size := max(ns, -ns)
	for _, unit := range []struct {
		below, of int64
		name      string
	}{{1e3, 1, "ns"}, {1e6, 1e3, "µs"}, {1e9, 1e6, "ms"}, {120e9, 1e9, "s"}} {
		if size == 0 {
			return "0 ms"
		}
		if size < unit.below {
			return rounded(float64(ns)/float64(unit.of)) + " " + unit.name
		}
	}
	return rounded(float64(ns)/60e9) + " min"
}

func rounded(n float64) string {
	if max(n, -n) >= 100 {
		return strconv.FormatFloat(n, 'f', 0, 64)
	}
	short, _ := strconv.ParseFloat(strconv.FormatFloat(n, 'g', 3, 64), 64)
	return strconv.FormatFloat(short, 'f', -1, 64)
}

func describe(fields map[string]any) string {
	what := "a record without a key"
	if bytes, _ := fields["keyBytes"].(float64); bytes >= 0 {
		if what = fmt.Sprint(fields["key"]); what == "" {
			what = "an empty key"
		}
	}
	partition, _ := fields["partition"].(float64)
	return fmt.Sprintf("Offset %s of %v-%d holds %s.", grouped(fields["offset"]), fields["topic"],
		int64(partition), what)
}
