package client

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// option is one configuration of Kafka's clients by its name, and where its value goes.
type option struct {
	name string
	set  func(text string) error
}

func wholeOption[T ~int | ~int32 | ~int64](name string, to *T, least, most int64) option {
	return option{name, func(text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < least || n > most {
			return fmt.Errorf("%s must be a whole number from %d to %d, not %q", name, least, most, text)
		}
		*to = T(n)
		return nil
	}}
}

// timeOption takes milliseconds, as Kafka does, or a time such as 5ms.
func timeOption(name string, to *time.Duration) option {
	return option{name, func(text string) error {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			text = strconv.FormatInt(n, 10) + "ms"
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || d > timeMax {
			return fmt.Errorf("%s must be milliseconds or a time such as 5ms, not %q", name, text)
		}
		*to = d
		return nil
	}}
}

// timeMax bounds what a client's timeout may be.
const timeMax = 30 * 24 * time.Hour

func choiceOption(name string, to *string, choices ...string) option {
	return option{name, func(text string) error {
		if !slices.Contains(choices, text) {
			return fmt.Errorf("%s is one of %s, not %q", name, strings.Join(choices, ", "), text)
		}
		*to = text
		return nil
	}}
}

func truthOption(name string, to *bool) option {
	return option{name, func(text string) error {
		if text != "true" && text != "false" {
			return fmt.Errorf("%s is true or false, not %q", name, text)
		}
		*to = text == "true"
		return nil
	}}
}

func textOption(name string, to *string) option {
	return option{name, func(text string) error {
		if text == "" {
			return fmt.Errorf("%s is empty", name)
		}
		*to = text
		return nil
	}}
}

// apply sets the given settings, and says which names were among them.
func apply(options []option, settings []Setting) (given map[string]bool, err error) {
	given = map[string]bool{}
	for _, s := range settings {
		at := slices.IndexFunc(options, func(o option) bool { return o.name == s.Name })
		if at < 0 {
			return nil, fmt.Errorf("there is no configuration %q here", s.Name)
		}
		if err := options[at].set(s.Value); err != nil {
			return nil, err
		}
		given[s.Name] = true
	}
	return given, nil
}

func namesOf(options []option) []string {
	names := make([]string, len(options))
	for i, o := range options {
		names[i] = o.name
	}
	return names
}

// written is how settings are told to viewers.
func written(settings []Setting) string {
	words := make([]string, len(settings))
	for i, s := range settings {
		words[i] = s.Name + "=" + s.Value
	}
	return strings.Join(words, " ")
}
