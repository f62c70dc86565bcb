package main

import (
	"bytes"
	"encoding/json"
	"fmt"
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
		"of the event or message that led to it.\n64-bit values are strings.\n")
	area := ""
	for _, row := range event.Rows() {
		if row.Area != area {
			area = row.Area
			fmt.Fprintf(&b, "\n## %s\n", strings.ToUpper(area[:1])+area[1:])
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n> %s\n", row.Name, row.Emitted, row.Narration)
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

// kindsModule holds what a page needs of the catalogue, and no more: every viewer loads it.
func kindsModule() []byte {
	var b bytes.Buffer
	b.WriteString("// Generated from cluster/event: area, class and narration of each kind; the rules.\n" +
		"const fact = (area, narration) => ({ area, class: \"fact\", narration });\n" +
		"const detail = (area, narration) => ({ area, class: \"detail\", narration });\n" +
		"const rule = (text, source) => ({ text, source });\n\n" +
		"export const kinds = {\n")
	for _, row := range event.Rows() {
		class := "fact"
		if row.Class == event.Detail {
			class = "detail"
		}
		fmt.Fprintf(&b, "\t%s: %s(%q, %q),\n", row.Name, class, row.Area, row.Narration)
	}
	b.WriteString("};\n\nexport const rules = {\n")
	for _, r := range event.Rules() {
		fmt.Fprintf(&b, "\t%q: rule(%q, %q),\n", r.Name, r.Text, r.Source)
	}
	b.WriteString("};\n")
	return b.Bytes()
}
