package scenarios

import (
	"fmt"
	"strings"
)

// ErrorKind says whose fault an error is.
type ErrorKind uint8

const (
	// Input is a text that is no command.
	Input ErrorKind = iota
	// Refused is a command that cannot be done now, such as killing what is down.
	Refused
	// Failed is a check that does not hold, or an outcome other than the expected one.
	Failed
)

// Error says what was wrong with a command, and where.
type Error struct {
	Kind     ErrorKind
	Message  string
	Position int    // bytes from the beginning of the command; -1 when no place is at fault
	Hint     string // the nearest valid word, or what to do
	// Outcome is Kafka's name of the error code that a command ended with, "" without one.
	Outcome string
}

func (e *Error) Error() string {
	text := e.Message
	if e.Position >= 0 {
		text = fmt.Sprintf("at column %d: %s", e.Position+1, text)
	}
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

func inputError(position int, format string, args ...any) *Error {
	return &Error{Kind: Input, Position: position, Message: fmt.Sprintf(format, args...)}
}

// meant adds the nearest of the valid words as a hint; without a near one, all of a few.
func (e *Error) meant(word string, valid []string) *Error {
	if near := Nearest(word, valid); near != "" {
		e.Hint = fmt.Sprintf("did you mean %s?", near)
	} else if len(valid) > 0 && len(valid) <= hintWordsMax {
		e.Hint = "one of " + strings.Join(valid, ", ")
	}
	return e
}

const hintWordsMax = 16

// Nearest is the valid word with the smallest edit distance, "" when none is near enough for
// a slip of the hand. Of equals the first wins.
func Nearest(word string, valid []string) string {
	best, bestDistance := "", 1+max(1, len(word)/3)
	for _, candidate := range valid {
		if apart := len(word) - len(candidate); max(apart, -apart) >= bestDistance {
			continue // at least that many edits
		}
		d := distance(strings.ToLower(word), strings.ToLower(candidate))
		if d < bestDistance && d < len(word) {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// distance is the Levenshtein distance, with a swap of neighbours counted as one edit.
func distance(a, b string) int {
	before := make([]int, len(b)+1)
	above := make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}
