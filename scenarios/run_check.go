package scenarios

import (
	"fmt"
	"strings"
	"time"

	"highwater/cluster/client"
)

func runExpect(x *execution) {
	e := x.command.value("expression").expression
	x.read(e, readTimeout, func(reads map[string]readBack) {
		holds, saw, err := x.holds(e, reads)
		switch {
		case err != nil:
			x.end(Result{}, err)
		case !holds:
			x.end(Result{}, &Error{Kind: Failed, Position: e.position,
				Message: fmt.Sprintf("%s does not hold%s", e.source, x.explain(e, saw))})
		default:
			x.ok("holds: %s", e.source)
		}
	})
}

// readTimeout bounds the reads that an expect needs.
const readTimeout = 30 * time.Second

func runWait(x *execution) {
	began := x.config.Now()
	x.wait(x.command.value("expression").expression, began,
		began+x.command.value("within").duration)
}

// wait looks, and looks again later, until the expression holds or the time is over.
func (x *execution) wait(e *expression, began, deadline time.Duration) {
	left := max(deadline-x.config.Now(), pollEvery)
	x.read(e, min(left, readTimeout), func(reads map[string]readBack) {
		holds, saw, err := x.holds(e, reads)
		now := x.config.Now()
		switch {
		case err != nil:
			x.end(Result{}, err)
		case holds:
			x.ok("holds after %v: %s", now-began, e.source)
		case now >= deadline:
			x.end(Result{}, &Error{Kind: Failed, Position: e.position,
				Message: fmt.Sprintf("%s did not hold within %v%s", e.source, deadline-began,
					x.explain(e, saw))})
		default:
			every := pollEvery
			if len(partitionsToRead(e)) > 0 {
				every = readEvery
			}
			x.client.After(min(every, deadline-now), func() { x.wait(e, began, deadline) })
		}
	})
}

func (x *execution) holds(e *expression, reads map[string]readBack) (bool, []string, *Error) {
	result, saw, err := x.evaluate(e, reads)
	if err != nil {
		return false, saw, err
	}
	holds, err := truth(e, result)
	return holds, saw, err
}

// explain says what a check saw, and which partitions it asked for that do not exist.
func (x *execution) explain(e *expression, saw []string) string {
	text := ""
	if len(saw) > 0 {
		text = ": " + strings.Join(saw, ", ")
	}
	topics := x.config.Cluster.Topics()
	e.each(func(part *expression) {
		topic, partition, ok := literalPartition(part)
		if !ok || int(partition) < x.config.Cluster.PartitionCount(topic) {
			return
		}
		text += fmt.Sprintf("; there is no partition %s-%d", topic, partition)
		if near := Nearest(topic, topics); near != "" && near != topic {
			text += fmt.Sprintf(", did you mean %s-%d?", near, partition)
		}
	})
	return text
}

// literalPartition recognises a call whose last argument is a written partition.
func literalPartition(e *expression) (topic string, partition int32, ok bool) {
	if e.operator != "call" || len(e.operands) == 0 {
		return "", 0, false
	}
	text, isText := e.operands[len(e.operands)-1].literal.(string)
	if !isText {
		return "", 0, false
	}
	return cutPartition(text)
}

// partitionsToRead lists the partitions that an expression needs a consumer for.
func partitionsToRead(e *expression) []string {
	var list []string
	e.each(func(part *expression) {
		if part.operator != "call" || !part.function.reads {
			return
		}
		text := part.operands[0].literal.(string)
		if _, _, ok := cutPartition(text); ok && !contains(list, text) {
			list = append(list, text)
		}
	})
	return list
}

// read lets the client read what the expression needs, one partition after the other.
func (x *execution) read(e *expression, timeout time.Duration, then func(map[string]readBack)) {
	todo := partitionsToRead(e)
	reads := map[string]readBack{}
	var next func()
	next = func() {
		if len(todo) == 0 {
			then(reads)
			return
		}
		name := todo[0]
		todo = todo[1:]
		topic, partition, _ := cutPartition(name)
		if int(partition) >= x.config.Cluster.PartitionCount(topic) {
			next()
			return
		}
		x.client.Read(client.ReadRequest{Topic: topic, Partition: partition,
			From: client.FromEarliest, TimeoutMs: int(timeout / time.Millisecond)},
			func(r client.ReadResult) {
				reads[name] = readBackOf(r)
				next()
			})
	}
	next()
}

func readBackOf(r client.ReadResult) readBack {
	back := readBack{ok: r.Code == 0, keys: []any{}, values: []any{}, offsets: []any{}}
	for _, record := range r.Records {
		back.offsets = append(back.offsets, record.Offset)
		back.keys = append(back.keys, textOrNone(record.Key))
		back.values = append(back.values, textOrNone(record.Value))
	}
	return back
}

func textOrNone(text *string) any {
	if text == nil {
		return nil
	}
	return *text
}
