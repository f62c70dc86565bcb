package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Values of expressions are nil (none: there is no such thing now), bool, int64, string and []any
// of these.

// evaluation is one look at a cluster.
type evaluation struct {
	cluster Cluster
	// reads holds what was read for the functions that need a consumer, by partition.
	reads map[string]readBack
	// saw lists the functions that were asked and their answers, for the message of a failure.
	saw []string
}

func (v *evaluation) value(e *expression) (any, *Error) {
	switch e.operator {
	case "literal":
		return e.literal, nil
	case "name":
		name, _ := e.literal.(string)
		id, ok := v.cluster.Named(name)
		if !ok {
			err := inputError(e.position, "there is no node or client %s", name)
			return nil, err.meant(name, append(v.cluster.Programs(), functionNames()...))
		}
		return int64(id), nil
	case "call":
		return v.call(e)
	case "&&", "||":
		return v.logic(e)
	}
	operands := make([]any, len(e.operands))
	for i, operand := range e.operands {
		value, err := v.value(operand)
		if err != nil {
			return nil, err
		}
		operands[i] = value
	}
	switch e.operator {
	case "list":
		return operands, nil
	case "==":
		return equal(operands[0], operands[1]), nil
	case "!=":
		return !equal(operands[0], operands[1]), nil
	case "unary!":
		b, err := truth(e.operands[0], operands[0])
		return !b, err
	case "unary-":
		n, ok := operands[0].(int64)
		if !ok {
			return nil, wrongType(e.operands[0], operands[0], "a number")
		}
		return -n, nil
	}
	return arithmetic(e, operands[0], operands[1])
}

// logic stops at the first operand that decides.
func (v *evaluation) logic(e *expression) (any, *Error) {
	for _, operand := range e.operands {
		value, err := v.value(operand)
		if err != nil {
			return nil, err
		}
		b, err := truth(operand, value)
		if err != nil {
			return nil, err
		}
		if b == (e.operator == "||") {
			return b, nil
		}
	}
	return e.operator == "&&", nil
}

func (v *evaluation) call(e *expression) (any, *Error) {
	arguments := make([]any, len(e.operands))
	for i, operand := range e.operands {
		value, err := v.value(operand)
		if err != nil {
			return nil, err
		}
		arguments[i] = value
	}
	value, err := e.function.evaluate(v, e, arguments)
	if err != nil {
		return nil, err
	}
	line := e.source + " was " + show(value)
	if !slices.Contains(v.saw, line) {
		v.saw = append(v.saw, line)
	}
	return value, nil
}

func truth(e *expression, value any) (bool, *Error) {
	b, ok := value.(bool)
	if !ok && value != nil {
		return false, wrongType(e, value, "true or false")
	}
	return b, nil // none is not true
}

func wrongType(e *expression, value any, wanted string) *Error {
	return inputError(e.position, "%s is %s, not %s", e.source, show(value), wanted)
}

func equal(a, b any) bool {
	x, isList := a.([]any)
	y, both := b.([]any)
	if isList != both {
		return false
	}
	if isList {
		return slices.EqualFunc(x, y, equal)
	}
	return a == b
}

// arithmetic also orders. Nothing is smaller or larger than none, and no sum has it.
func arithmetic(e *expression, a, b any) (any, *Error) {
	for i, value := range []any{a, b} {
		if _, ok := value.(int64); !ok && value != nil {
			return nil, wrongType(e.operands[i], value, "a number")
		}
	}
	x, someX := a.(int64)
	y, someY := b.(int64)
	some := someX && someY
	switch e.operator {
	case "<":
		return some && x < y, nil
	case "<=":
		return some && x <= y, nil
	case ">":
		return some && x > y, nil
	case ">=":
		return some && x >= y, nil
	}
	if !some {
		return nil, nil
	}
	if e.operator == "-" {
		return x - y, nil
	}
	return x + y, nil
}

// show writes a value the way expressions do.
func show(value any) string {
	switch v := value.(type) {
	case nil:
		return "none"
	case string:
		return strconv.Quote(v)
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = show(item)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return fmt.Sprint(value)
}
