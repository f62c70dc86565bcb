package web

import (
	"regexp"
	"strings"
)

// proseBlock is one block of a lesson's text: a paragraph, a heading or a list.
type proseBlock struct {
	Kind  string // paragraph, heading, bullets, numbers
	Items [][]span
}

// span is a run of characters that are written alike.
type span struct {
	Kind string // text, code, strong, emphasis
	Text string
}

var (
	bullet   = regexp.MustCompile(`^[-*] +(.*)$`)
	numbered = regexp.MustCompile(`^\d+\. +(.*)$`)
	heading  = regexp.MustCompile(`^#{1,6} +(.*?)\s*#*$`)
)

// parseProse reads the part of Markdown that lessons are written in: paragraphs, headings, flat
// lists, code, strong and emphasis. What it does not know stays as it was typed; nothing of it can
// become markup, since templates write it as text.
func parseProse(text string) []proseBlock {
	var blocks []proseBlock
	open := "" // kind of the block that the next line may go on with
	var lines []string
	end := func() {
		if open == "paragraph" {
			blocks = append(blocks, proseBlock{open, [][]span{parseSpans(strings.Join(lines, " "))}})
		} else if open != "" {
			block := proseBlock{Kind: open}
			for _, line := range lines {
				block.Items = append(block.Items, parseSpans(line))
			}
			blocks = append(blocks, block)
		}
		open, lines = "", nil
	}
	item := func(kind, line string) {
		if open != kind {
			end()
		}
		open, lines = kind, append(lines, line)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			end()
		case heading.MatchString(line):
			end()
			item("heading", heading.FindStringSubmatch(line)[1])
			end()
		case bullet.MatchString(line):
			item("bullets", bullet.FindStringSubmatch(line)[1])
		case numbered.MatchString(line):
			item("numbers", numbered.FindStringSubmatch(line)[1])
		case open == "bullets" || open == "numbers":
			lines[len(lines)-1] += " " + line // an item goes on
		default:
			item("paragraph", line)
		}
	}
	end()
	return blocks
}

// marks are what begins and ends a run, the longer ones first.
var marks = []struct{ sign, kind string }{{"`", "code"}, {"**", "strong"}, {"*", "emphasis"},
	{"_", "emphasis"}}

func parseSpans(text string) []span {
	var spans []span
	plain := 0
	for i := 0; i < len(text); {
		kind, inside, length := runAt(text, i)
		if length == 0 {
			i++
			continue
		}
		if plain < i {
			spans = append(spans, span{"text", text[plain:i]})
		}
		spans = append(spans, span{kind, inside})
		i += length
		plain = i
	}
	if plain < len(text) {
		spans = append(spans, span{"text", text[plain:]})
	}
	return spans
}

// runAt finds a run that begins at a place; length is 0 where none does.
func runAt(text string, i int) (kind, inside string, length int) {
	for _, m := range marks {
		rest, begins := strings.CutPrefix(text[i:], m.sign)
		if !begins {
			continue
		}
		inside, _, ends := strings.Cut(rest, m.sign)
		if !ends || strings.TrimSpace(inside) != inside || inside == "" {
			return "", "", 0
		}
		// An underscore within a word belongs to it: __consumer_offsets.
		after := len(m.sign)*2 + len(inside)
		if m.sign == "_" && (i > 0 && isWord(text[i-1]) || i+after < len(text) && isWord(text[i+after])) {
			return "", "", 0
		}
		return m.kind, inside, after
	}
	return "", "", 0
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
