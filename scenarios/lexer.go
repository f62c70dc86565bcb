package scenarios

import (
	"strconv"
	"strings"
)

// word is a run of characters without spaces; quotes protect spaces within.
type word struct {
	position int
	text     string // as written
}

const lineBytesMax = 16 << 10

// split takes a line apart. A # that begins a word begins a comment.
func split(line string) ([]word, *Error) {
	if len(line) > lineBytesMax {
		return nil, inputError(lineBytesMax, "a command has at most %d bytes", lineBytesMax)
	}
	var words []word
	for i := 0; i < len(line); {
		if isSpace(line[i]) {
			i++
			continue
		}
		if line[i] == '#' {
			break
		}
		begin := i
		for i < len(line) && !isSpace(line[i]) {
			if line[i] != '"' {
				i++
				continue
			}
			end := quotedEnd(line, i)
			if end < 0 {
				return nil, inputError(i, "a quote is not closed")
			}
			i = end
		}
		words = append(words, word{begin, line[begin:i]})
	}
	return words, nil
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// quotedEnd is the position behind the quoted text that begins at i, -1 when it has no end.
func quotedEnd(line string, i int) int {
	for j := i + 1; j < len(line); j++ {
		switch line[j] {
		case '\\':
			j++
		case '"':
			return j + 1
		}
	}
	return -1
}

// unquote gives what a word, or the part of it behind a key, stands for.
func unquote(text string, position int) (string, *Error) {
	if !strings.HasPrefix(text, `"`) {
		return text, nil
	}
	plain, err := strconv.Unquote(text)
	if err != nil {
		return "", inputError(position, "%s is not a quoted text", text)
	}
	return plain, nil
}

// cutKey takes key=value apart. A word is one only if its key could be the name of an argument.
func (w word) cutKey() (key string, value word, ok bool) {
	at := strings.IndexByte(w.text, '=')
	if at <= 0 {
		return "", word{}, false
	}
	for i := range at {
		if c := w.text[i]; !isLetter(c) && !isDigit(c) && c != '.' && c != '-' {
			return "", word{}, false
		}
	}
	return w.text[:at], word{w.position + at + 1, w.text[at+1:]}, true
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// tokenKind is what a token of an expression is.
type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenNumber
	tokenText
	tokenName
	tokenSign
)

type token struct {
	kind     tokenKind
	position int
	text     string // of a text, without its quotes
	number   int64
}

// lexer takes an expression apart; base is where the expression begins in its command.
type lexer struct {
	text string
	base int
	at   int
}

// signs are the operators and brackets, the longer ones first.
func signs() []string {
	return []string{"==", "!=", "<=", ">=", "&&", "||",
		"<", ">", "!", "(", ")", "[", "]", ",", "+", "-"}
}

func (l *lexer) next() (token, *Error) {
	for l.at < len(l.text) && isSpace(l.text[l.at]) {
		l.at++
	}
	position := l.base + l.at
	if l.at == len(l.text) {
		return token{kind: tokenEnd, position: position}, nil
	}
	switch c := l.text[l.at]; {
	case isDigit(c):
		return l.number(position)
	case isLetter(c):
		begin := l.at
		for l.at < len(l.text) && (isLetter(l.text[l.at]) || isDigit(l.text[l.at])) {
			l.at++
		}
		return token{kind: tokenName, position: position, text: l.text[begin:l.at]}, nil
	case c == '"':
		end := quotedEnd(l.text, l.at)
		if end < 0 {
			return token{}, inputError(position, "a quote is not closed")
		}
		plain, err := unquote(l.text[l.at:end], position)
		l.at = end
		return token{kind: tokenText, position: position, text: plain}, err
	}
	for _, sign := range signs() {
		if strings.HasPrefix(l.text[l.at:], sign) {
			l.at += len(sign)
			return token{kind: tokenSign, position: position, text: sign}, nil
		}
	}
	e := inputError(position, "%q does not belong in an expression", string([]rune(l.text[l.at:])[0]))
	if l.text[l.at] == '=' {
		e.Hint = "did you mean ==?"
	}
	return token{}, e
}

// opens says whether a parenthesis comes next.
func (l *lexer) opens() bool { return strings.HasPrefix(l.text[l.at:], "(") }

func (l *lexer) number(position int) (token, *Error) {
	begin := l.at
	for l.at < len(l.text) && isDigit(l.text[l.at]) {
		l.at++
	}
	n, err := strconv.ParseInt(l.text[begin:l.at], 10, 64)
	if err != nil {
		return token{}, inputError(position, "%s is too large", l.text[begin:l.at])
	}
	return token{kind: tokenNumber, position: position, text: l.text[begin:l.at], number: n}, nil
}
