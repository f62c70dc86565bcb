package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"highwater/cluster/event"
)

func typeText(f event.Field) string {
	switch f.Type {
	case event.Int64:
		return "string of a 64-bit number"
	case event.Text:
		return "string"
	case event.Bool:
		return "boolean"
	case event.Nodes:
		return "list of node ids"
	}
	return "number"
}

func eventsPage() []byte {
	var b bytes.Buffer
	b.WriteString("# Events\n\nGenerated from `cluster/event` by `go generate ./cluster/event`.\n\n")
	b.WriteString("An event is `{seq, at, node, cause, rule, event, fields}`: `seq` counts from 1 " +
		"without gaps, `at` is\nvirtual nanoseconds since the world started, `cause` is the seq " +
		"of the event or message that led to it.\n64-bit values are strings.\n\n")
	b.WriteString("A trace file has a header in its first line, `{highwater: \"trace\", version, minor, " +
		"seed, origin,\nsoftware, judged, violations, last}`, the state before the first event in " +
		"the second, unless that is event 1,\nand then an event a line. Since minor version 1 `judged` says that " +
		"the referee saw all of it, and\n`violations` are what it found, `{seq, promise, text}` each; " +
		"a page shows them. Since minor version 2 `last` is the number of the last event.\n")
	area := ""
	for _, row := range event.Rows() {
		if row.Area != area {
			area = row.Area
			fmt.Fprintf(&b, "\n## %s\n", strings.ToUpper(area[:1])+area[1:])
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n> %s\n", row.Name, row.Emitted, row.Narration)
		for _, s := range row.States {
			fmt.Fprintf(&b, ">\n> %s: %s\n", s.State, s.Narration)
		}
		if row.Pair != "" {
			fmt.Fprintf(&b, "\nIt ends with `%s`.\n", row.Pair)
		}
		if len(row.Fields) == 0 {
			continue
		}
		b.WriteString("\n| field | type | unit |\n|---|---|---|\n")
		for _, f := range row.Fields {
			unit := f.Unit
			if unit == "" && (f.Of == "Offset" || f.Of == "Epoch") {
				unit = strings.ToLower(f.Of)
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Name, typeText(f), unit)
		}
	}
	b.WriteString("\n## Rules\n\n| rule | what it says | source |\n|---|---|---|\n")
	for _, r := range event.Rules() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, r.Text, r.Source)
	}
	return b.Bytes()
}

type object = map[string]any

func fieldSchema(f event.Field) object {
	switch f.Type {
	case event.Int64:
		return object{"type": "string", "pattern": "^-?[0-9]+$"}
	case event.Text:
		return object{"type": "string"}
	case event.Bool:
		return object{"type": "boolean"}
	case event.Nodes:
		return object{"type": "array", "items": object{"type": "integer"}}
	}
	return object{"type": "integer"}
}

// traceSchema describes a trace file: a header line and one event a line.
func traceSchema() []byte {
	defs := object{}
	var known []object
	for _, row := range event.Rows() {
		properties := object{}
		for _, f := range row.Fields {
			properties[f.Name] = fieldSchema(f)
		}
		defs[row.Name] = object{"type": "object", "properties": properties}
		known = append(known, object{"properties": object{
			"event": object{"const": row.Name}, "fields": object{"$ref": "#/$defs/" + row.Name}}})
	}
	number := object{"type": "string", "pattern": "^[0-9]+$"}
	schema := object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "One event of a Highwater trace, version 1",
		"type":    "object",
		"properties": object{
			"seq": number, "at": number, "cause": number,
			"node": object{"type": "integer"}, "rule": object{"type": "string"},
			"event": object{"type": "string"}, "fields": object{"type": "object"},
		},
		"required": []string{"seq", "at", "node", "event", "fields"},
		"anyOf":    append(known, object{"$comment": "unknown kinds are kept as they are"}),
		"$defs":    defs,
	}
	b, err := json.MarshalIndent(schema, "", " ")
	if err != nil {
		panic(err) // maps of plain values always marshal
	}
	return append(b, '\n')
}

// namesInLine keeps the lines of the module readable.
const namesInLine = 3

// marked is a narration with a # at the fields whose digits are grouped.
func marked(row event.Row, narration string) string {
	for _, field := range row.Fields {
		if field.Grouped() {
			narration = strings.ReplaceAll(narration, "{"+field.Name+"}", "{#"+field.Name+"}")
		}
	}
	return narration
}

// kindsModule holds what a page needs of the catalogue, and no more: every viewer loads it. A kind
// takes its area from the list that it stands in, and a "~" before its narration marks a detail.
func kindsModule() []byte {
	var b bytes.Buffer
	b.WriteString("// Generated from cluster/event: the kinds, the rules and the errors.\n" +
		"const words = " + wordsOfSigns() + ";\n" +
		"const spelled = (text) => text.replace(/[@%&+!^$*?<§]/g, (sign) => words[sign]);\n" +
		"const each = (rows, make) => Object.fromEntries(\n" +
		"\trows.trim().split(\"\\n\").map((row) => row.split(\"|\")).map(([name, ...row]) => " +
		"[name, make(row)]));\n" +
		"const area = (area, rows) => each(spelled(rows), ([text]) =>\n" +
		"\ttext[0] === \"~\" ? { area, class: \"detail\", narration: text.slice(1) } :\n" +
		"\t{ area, class: \"fact\", narration: text });\n" +
		"const said = (rows) => Object.assign(Object.create(null), " +
		"each(spelled(rows), ([text]) => text));\n\n" +
		"export const kinds = {\n")
	last := ""
	for _, row := range event.Rows() {
		if row.Area != last {
			if last != "" {
				b.WriteString("`),\n")
			}
			fmt.Fprintf(&b, "...area(%q, `\n", row.Area)
			last = row.Area
		}
		mark := ""
		if row.Class == event.Detail {
			mark = "~"
		}
		fmt.Fprintf(&b, "%s|%s\n", row.Name, mark+shortened(marked(row, row.Narration)))
	}
	b.WriteString("`),\n};\n\n/** What narrates a kind in a state of its field after, or of that and its " +
		"reason. */\nexport const states = {\n")
	for _, row := range event.Rows() {
		if len(row.States) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s: said(`\n", row.Name)
		for _, s := range row.States {
			fmt.Fprintf(&b, "%s|%s\n", s.State, shortened(marked(row, s.Narration)))
		}
		b.WriteString("`),\n")
	}
	b.WriteString("};\n\nexport const rules = each(spelled(`\n")
	for _, r := range event.Rules() {
		fmt.Fprintf(&b, "%s|%s|%s\n", r.Name, shortened(r.Text), r.Source)
	}
	b.WriteString("`), ([text, source]) => ({ text, source }));\n\n" +
		"/** Kafka's names of the error codes from 1 on. */\nexport const errorNames = spelled(\n")
	for line := range slices.Chunk(event.ErrorNames(), namesInLine) {
		fmt.Fprintf(&b, "%q +\n", shortened(strings.Join(line, " ")+" "))
	}
	b.WriteString("\"\").split(\" \");\n")
	return b.Bytes()
}

// signs stand for what narrations and error names say most often.
var signs = []string{"{topic}-{partition}", "@", "{node}", "%", "INVALID_", "&", "DELEGATION_TOKEN_", "+",
	"UNSUPPORTED_", "!", "ransaction", "^",
	"offset", "$", "AUTHORIZATION_FAILED", "*", "NOT_FOUND", "?", " the ", "<", "producer", "§"}

func shortened(text string) string { return strings.NewReplacer(signs...).Replace(text) }

// wordsOfSigns is what the page needs to spell them.
func wordsOfSigns() string {
	words := make([]string, 0, len(signs)/2)
	for i := 0; i < len(signs); i += 2 {
		words = append(words, fmt.Sprintf("%q: %q", signs[i+1], signs[i]))
	}
	return "{ " + strings.Join(words, ", ") + " }"
}
