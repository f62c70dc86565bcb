package scenarios

import (
	"regexp"
	"strconv"
	"strings"
)

// template matches what a text of send may hold in braces: {n}, {n+4}, {n/3} and {a|b|c}. Anything
// else in braces, JSON for one, stays as it is.
var template = regexp.MustCompile(`\{(?:n(?:\+([0-9]{1,9})|/([1-9][0-9]{0,8}))?|([^{}"]*\|[^{}"]*))\}`)

// fillIn writes a text for the nth record, counted from 1: {n} is n, {n+4} begins at 5, {n/3} grows
// with every third record from 1 on, and {a|b|c} takes turns.
func fillIn(text string, n int) string {
	if !strings.Contains(text, "{") {
		return text
	}
	return template.ReplaceAllStringFunc(text, func(part string) string {
		match := template.FindStringSubmatch(part)
		if match[3] != "" {
			choices := strings.Split(match[3], "|")
			return choices[(n-1)%len(choices)]
		}
		if each, err := strconv.Atoi(match[2]); err == nil {
			return strconv.Itoa((n-1)/each + 1)
		}
		more, _ := strconv.Atoi(match[1])
		return strconv.Itoa(n + more)
	})
}
