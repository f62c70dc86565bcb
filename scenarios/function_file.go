package scenarios

import (
	"strings"

	"highwater/cluster/event"
	"highwater/cluster/record"
)

// fileFunctions are what expressions may ask of the bytes that a leader keeps.
func fileFunctions() []function {
	return []function{
		{"batches", []string{"p"}, false, "number", "how many batches the leader's log holds",
			onPartition(func(c Cluster, topic string, partition int32) any {
				n, ok := c.BatchCount(topic, partition)
				return numberOrNone(int64(n), ok)
			})},
		{"bytes", []string{"p"}, false, "number", "the size of the leader's log",
			onPartition(func(c Cluster, topic string, partition int32) any {
				n, ok := c.LogBytes(topic, partition)
				return numberOrNone(n, ok)
			})},
		{"file", []string{"ps"}, false, "number or none",
			"the length of one of the leader's files, named by its end: `.index`", evaluateFile},
		{"crc", []string{"po"}, false, "number",
			"the checksum, computed anew, of the leader's batch that holds an offset",
			onBatch(func(batch []byte, _ record.Header) any { return int64(record.Checksum(batch)) })},
		{"batch", []string{"pos"}, false, "number, true or false, text, or none",
			"one field of the leader's batch that holds an offset, by the name that Kafka's dump tool " +
				"gives it: " + strings.Join(batchFieldNames(), ", "), evaluateBatch},
	}
}

// batchField is one thing that can be asked of a batch.
type batchField struct {
	name string
	of   func(batch []byte, h record.Header) any
}

func batchFields() []batchField {
	number := func(of func(record.Header) int64) func([]byte, record.Header) any {
		return func(_ []byte, h record.Header) any { return of(h) }
	}
	return []batchField{
		{"baseOffset", number(func(h record.Header) int64 { return h.BaseOffset })},
		{"lastOffset", number(record.Header.LastOffset)},
		{"count", number(func(h record.Header) int64 { return int64(h.RecordsCount) })},
		{"baseSequence", number(func(h record.Header) int64 { return int64(h.BaseSequence) })},
		{"lastSequence", number(func(h record.Header) int64 { return int64(h.LastSequence()) })},
		{"producerId", number(func(h record.Header) int64 { return h.ProducerID })},
		{"producerEpoch", number(func(h record.Header) int64 { return int64(h.ProducerEpoch) })},
		{"partitionLeaderEpoch",
			number(func(h record.Header) int64 { return int64(h.PartitionLeaderEpoch) })},
		{"isTransactional",
			func(_ []byte, h record.Header) any { return h.Attributes.Transactional() }},
		{"isControl", func(_ []byte, h record.Header) any { return h.Attributes.Control() }},
		{"size", number(func(h record.Header) int64 { return int64(h.Size()) })},
		{"endTxnMarker", markerOf},
	}
}

func batchFieldNames() []string {
	var names []string
	for _, f := range batchFields() {
		names = append(names, f.name)
	}
	return names
}

// markerBytesMax bounds the inflation of a control batch, which nobody compresses.
const markerBytesMax = 1 << 10

// markerOf is COMMIT or ABORT for a transaction's marker.
func markerOf(batch []byte, h record.Header) (text any) {
	if !h.Attributes.Control() {
		return nil
	}
	err := record.EachRecord(batch, markerBytesMax, func(r record.Record) error {
		end, err := record.ParseEndTxn(r)
		if err == nil {
			text = "ABORT"
			if end.Commit {
				text = "COMMIT"
			}
		}
		return err
	})
	if err != nil {
		return nil
	}
	return text
}

// onBatch asks the leader's batch that holds an offset.
func onBatch(of func(batch []byte, h record.Header) any) evaluator {
	return func(v *evaluation, e *expression, arguments []any) (any, *Error) {
		topic, partition, err := partitionOf(e.operands[0], arguments[0])
		if err != nil {
			return nil, err
		}
		at, ok := arguments[1].(int64)
		if !ok {
			return nil, wrongType(e.operands[1], arguments[1], "an offset")
		}
		batch, ok := v.cluster.BatchOfLeader(topic, partition, event.Offset(at))
		if !ok {
			return nil, nil
		}
		h, problem := record.ParseHeader(batch)
		if problem != nil {
			return nil, nil
		}
		return of(batch, h), nil
	}
}

func evaluateBatch(v *evaluation, e *expression, arguments []any) (any, *Error) {
	name, ok := arguments[2].(string)
	if !ok {
		return nil, wrongType(e.operands[2], arguments[2], "the name of a batch's field")
	}
	for _, f := range batchFields() {
		if f.name == name {
			return onBatch(f.of)(v, e, arguments)
		}
	}
	return nil, inputError(e.operands[2].position, "a batch has no field %q", name).
		meant(name, batchFieldNames())
}

func evaluateFile(v *evaluation, e *expression, arguments []any) (any, *Error) {
	topic, partition, err := partitionOf(e.operands[0], arguments[0])
	if err != nil {
		return nil, err
	}
	name, ok := arguments[1].(string)
	if !ok {
		return nil, wrongType(e.operands[1], arguments[1], "the end of a file's name")
	}
	return numberOrNone(v.cluster.FileBytes(topic, partition, name)), nil
}
