package event

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// AppendJSON writes the record as one JSON object without a newline. The bytes depend only on the
// record, so equal traces are equal files.
func (c *Chunk) AppendJSON(b []byte, r *Record) []byte {
	row, ok := RowOf(r.Kind)
	if !ok {
		return b
	}
	b = append(b, `{"seq":"`...)
	b = strconv.AppendUint(b, uint64(r.Seq), 10)
	b = append(b, `","at":"`...)
	b = strconv.AppendInt(b, r.At, 10)
	b = append(b, `","node":`...)
	b = strconv.AppendInt(b, int64(r.Node), 10)
	b = append(b, `,"cause":"`...)
	b = strconv.AppendUint(b, uint64(r.Cause), 10)
	b = append(b, `","rule":"`...)
	b = append(b, r.Rule.String()...)
	b = append(b, `","event":"`...)
	b = append(b, row.Name...)
	b = append(b, `","fields":{`...)
	for i := range row.Fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, row.Fields[i].Name...)
		b = append(b, `":`...)
		b = c.appendValue(b, row.Fields[i].Type, r.Values[i])
	}
	return append(b, "}}"...)
}

func (c *Chunk) appendValue(b []byte, t FieldType, v int64) []byte {
	switch t {
	case Int64:
		b = append(b, '"')
		b = strconv.AppendInt(b, v, 10)
		return append(b, '"')
	case Text:
		return appendString(b, c.Text(v))
	case Bool:
		return strconv.AppendBool(b, v != 0)
	case Nodes:
		b = append(b, '[')
		for i, id := range c.List(v) {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, int64(id), 10)
		}
		return append(b, ']')
	}
	return strconv.AppendInt(b, v, 10)
}

// appendString quotes s for JSON; bytes that are not UTF-8 become U+FFFD, as a browser reads them.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' || r == '<' || r == '>' || r == '&':
			b = append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// line is the JSON form while it is read.
type line struct {
	Seq    string                     `json:"seq"`
	At     string                     `json:"at"`
	Node   NodeID                     `json:"node"`
	Cause  string                     `json:"cause"`
	Rule   string                     `json:"rule"`
	Event  string                     `json:"event"`
	Fields map[string]json.RawMessage `json:"fields"`
}

// AppendParsed reads one JSON event into the chunk. An event of an unknown kind is not an error:
// known is false, and the caller keeps the line as it is.
func (c *Chunk) AppendParsed(text []byte) (known bool, err error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return false, fmt.Errorf("event: not a JSON event: %w", err)
	}
	kind := ParseKind(l.Event)
	if kind == 0 {
		return false, nil
	}
	r := Record{Node: l.Node, Kind: kind, Rule: ParseRule(l.Rule)}
	if err := parseEnvelope(&r, l); err != nil {
		return false, err
	}
	for i, f := range rows[kind].Fields {
		raw, ok := l.Fields[f.Name]
		if !ok {
			continue
		}
		if r.Values[i], err = c.parseValue(f.Type, raw); err != nil {
			return false, fmt.Errorf("event %s: %s: field %s: %w", l.Seq, l.Event, f.Name, err)
		}
	}
	c.Records = append(c.Records, r)
	return true, nil
}

func parseEnvelope(r *Record, l line) error {
	seq, err := strconv.ParseUint(l.Seq, 10, 64)
	if err != nil {
		return fmt.Errorf("event: seq %q is not a number", l.Seq)
	}
	r.Seq = Seq(seq)
	if r.At, err = strconv.ParseInt(l.At, 10, 64); err != nil {
		return fmt.Errorf("event %d: at %q is not a number", seq, l.At)
	}
	if l.Cause == "" {
		return nil
	}
	cause, err := strconv.ParseUint(l.Cause, 10, 64)
	if err != nil {
		return fmt.Errorf("event %d: cause %q is not a number", seq, l.Cause)
	}
	r.Cause = Seq(cause)
	return nil
}

func (c *Chunk) parseValue(t FieldType, raw json.RawMessage) (int64, error) {
	switch t {
	case Int64:
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return 0, err
		}
		return strconv.ParseInt(s, 10, 64)
	case Text:
		var s string
		if err := json.Unmarshal(raw, &s); err != nil || s == "" {
			return 0, err
		}
		c.Texts = append(c.Texts, s)
		return int64(len(c.Texts)), nil
	case Bool:
		var v bool
		err := json.Unmarshal(raw, &v)
		return flag(v), err
	case Nodes:
		var ids []NodeID
		if err := json.Unmarshal(raw, &ids); err != nil || len(ids) == 0 {
			return 0, err
		}
		c.Lists = append(c.Lists, ids)
		return int64(len(c.Lists)), nil
	}
	var v int32
	err := json.Unmarshal(raw, &v)
	return int64(v), err
}
