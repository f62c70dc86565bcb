package broker

import (
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/record"
	"highwater/cluster/replica"
)

// topicRules is what a topic's configuration asks of the batches that clients append.
type topicRules struct {
	codec         record.Codec // of every batch, when ownCodec
	ownCodec      bool         // compression.type is not "producer"
	beforeMaxMs   int64        // message.timestamp.before.max.ms
	afterMaxMs    int64        // message.timestamp.after.max.ms
	logAppendTime bool         // the broker's time counts, not the records'
	keysRequired  bool         // a compacted topic
	batchBytesMax int64        // max.message.bytes
}

func (b *Broker) topicRules(key replica.PartitionKey) topicRules {
	cfg := b.logConfig(key.Topic)
	rules := topicRules{
		beforeMaxMs:   b.configNumber(key.Topic, "message.timestamp.before.max.ms"),
		afterMaxMs:    b.configNumber(key.Topic, "message.timestamp.after.max.ms"),
		logAppendTime: cfg.TimestampType == commitlog.LogAppendTime,
		keysRequired:  cfg.CleanupPolicy&commitlog.CleanupCompact != 0,
		batchBytesMax: cfg.MaxMessageBytes,
	}
	codec, err := record.ParseCodec(b.effectiveConfig(key.Topic, "compression.type"))
	rules.codec, rules.ownCodec = codec, err == nil
	return rules
}

// breaks says, from what the edge learned of a batch, whether any of its records breaks a rule.
func (r *topicRules) breaks(facts *record.Facts, nowMs, aheadMs int64) bool {
	if r.keysRequired && facts.NullKey >= 0 {
		return true
	}
	if r.logAppendTime || facts.LatestTimestamp < 0 {
		return false
	}
	w := r.window(nowMs, aheadMs)
	return facts.EarliestTimestamp < w.EarliestMs || facts.LatestTimestamp > w.LatestMs
}

// window is which timestamps are taken. A world that stood still lags the wall clock, which the
// producer's records have: they are not from the future for that.
func (r *topicRules) window(nowMs, aheadMs int64) record.TimestampWindow {
	w := record.TimestampWindow{EarliestMs: nowMs - r.beforeMaxMs, LatestMs: math.MaxInt64}
	if latest := nowMs + aheadMs; r.afterMaxMs < math.MaxInt64-latest {
		w.LatestMs = latest + r.afterMaxMs
	}
	return w
}

// refuseRecords names the records that break the rules (KIP-467), for which the batch is read
// again.
func (r *topicRules) refuseRecords(batch *Batch, nowMs, aheadMs int64) *record.InvalidError {
	// The edge has inflated the batch once, within its bound.
	v := record.Validation{InflatedMax: math.MaxInt32, KeysRequired: r.keysRequired}
	if !r.logAppendTime {
		v.Timestamps = r.window(nowMs, aheadMs)
	}
	_, bad := record.Validate(batch.Buffer.Bytes, v)
	return bad
}

// fit makes a batch what the topic stores: with the largest timestamp that its records really have
// and the topic's type of timestamps, and in its own codec. Most batches are that already, and are
// not touched.
func (r *topicRules) fit(batch *Batch) error {
	facts := &batch.Facts
	if !r.logAppendTime &&
		(facts.MaxTimestamp != facts.LatestTimestamp || facts.Attributes.LogAppendTime()) {
		record.SetTimestamps(batch.Buffer.Bytes, facts.LatestTimestamp, false)
		facts.Header = headerOf(batch.Buffer.Bytes, facts.Header)
	}
	if !r.ownCodec || facts.Attributes.Codec() == r.codec {
		return nil
	}
	if int64(len(batch.Buffer.Bytes)) > r.batchBytesMax {
		return &commitlog.AppendError{Code: kerr.MessageTooLarge.Code, Message: fmt.Sprintf(
			"the batch has %d bytes, max.message.bytes is %d", len(batch.Buffer.Bytes),
			r.batchBytesMax)}
	}
	other, err := record.Transcode(batch.Buffer.Bytes, r.codec, math.MaxInt32)
	if err != nil {
		return &commitlog.AppendError{Code: kerr.InvalidRecord.Code, Message: err.Error()}
	}
	batch.Buffer.Release()
	batch.Buffer = record.Buffer{Bytes: other}
	facts.Header = headerOf(other, facts.Header)
	return nil
}

// headerOf reads the header of a batch that was sound before it was changed.
func headerOf(batch []byte, before record.Header) record.Header {
	h, err := record.ParseHeader(batch)
	if err != nil {
		return before
	}
	return h
}

// refuseBatch checks a batch that has reached its leader, in the order in which Kafka's log does,
// and writes what it answers. It is false for a good batch. ahead is world.Call's.
func (b *Broker) refuseBatch(out *kmsg.ProduceResponseTopicPartition, h *held, batch *Batch,
	ahead time.Duration) bool {
	bad, now := batch.Err, b.env.UnixMilli()
	if bad == nil && h.rules.breaks(&batch.Facts, now, ahead.Milliseconds()) {
		bad = h.rules.refuseRecords(batch, now, ahead.Milliseconds())
	}
	if bad == nil {
		return false
	}
	refusedByLog(out, h, bad.Code)
	// Kafka says no more than the code, unless it can name records. Where its code is
	// UNKNOWN_SERVER_ERROR, for records that do not inflate, ours says why.
	if len(bad.Records) > 0 || bad.Stage == record.StageInflate {
		out.ErrorMessage = &bad.Message
	}
	for i := range bad.Records {
		row := kmsg.NewProduceResponseTopicPartitionErrorRecord()
		row.RelativeOffset, row.ErrorMessage = bad.Records[i].BatchIndex, &bad.Records[i].Message
		out.ErrorRecords = append(out.ErrorRecords, row)
	}
	return true
}

// refusedByLog sets an error with which the log refused a batch. Only some of them tell where the
// log starts (Kafka's ReplicaManager.appendRecordsToLeader).
func refusedByLog(out *kmsg.ProduceResponseTopicPartition, h *held, code int16) {
	out.ErrorCode = code
	switch code {
	case kerr.CorruptMessage.Code, kerr.MessageTooLarge.Code, kerr.RecordListTooLarge.Code,
		kerr.KafkaStorageError.Code, kerr.NotLeaderForPartition.Code:
	default:
		out.LogStartOffset = int64(h.Log.LogStartOffset())
	}
}

// transactionWithoutID says whether a Produce carries transactional batches but no transactional
// id, by which all of it is refused.
func transactionWithoutID(body *kmsg.ProduceRequest, r *Request) bool {
	if body.TransactionID != nil {
		return false
	}
	for i := range r.Batches {
		if r.Batches[i].Facts.Attributes.Transactional() {
			return true
		}
	}
	return false
}

// partitionsComparedMax is up to how many partitions each is compared with all others, which takes
// no memory.
const partitionsComparedMax = 16

// namedTwice says whether a Produce names a partition more than once.
func namedTwice(body *kmsg.ProduceRequest, partitions int) bool {
	if partitions < 2 {
		return false
	}
	if partitions > partitionsComparedMax {
		return len(lastNamed(body, partitions)) < partitions
	}
	for i := range body.Topics {
		for j := range body.Topics[i].Partitions {
			if namedBefore(body, i, j) {
				return true
			}
		}
	}
	return false
}

func namedBefore(body *kmsg.ProduceRequest, topic, row int) bool {
	t := &body.Topics[topic]
	for i := 0; i <= topic; i++ {
		other := &body.Topics[i]
		if other.Topic != t.Topic || other.TopicID != t.TopicID {
			continue
		}
		for j := range other.Partitions {
			if i == topic && j == row {
				break
			}
			if other.Partitions[j].Partition == t.Partitions[row].Partition {
				return true
			}
		}
	}
	return false
}

// namedPartition is a partition as a Produce names it.
type namedPartition struct {
	topic string
	id    event.UUID
	index int32
}

// lastNamed finds for each partition the batch that counts, which is the last.
func lastNamed(body *kmsg.ProduceRequest, partitions int) map[namedPartition]int {
	last, next := make(map[namedPartition]int, partitions), 0
	for i := range body.Topics {
		t := &body.Topics[i]
		for j := range t.Partitions {
			last[namedPartition{t.Topic, t.TopicID, t.Partitions[j].Partition}] = next
			next++
		}
	}
	return last
}

// keepLast drops all but the last batch of each partition, as Kafka does by keeping them in a map.
func keepLast(body *kmsg.ProduceRequest, r *Request) {
	last, next := lastNamed(body, len(r.Batches)), 0
	var batches []Batch
	for i := range body.Topics {
		t := &body.Topics[i]
		var rows []kmsg.ProduceRequestTopicPartition
		for j := range t.Partitions {
			key := namedPartition{t.Topic, t.TopicID, t.Partitions[j].Partition}
			if last[key] == next {
				rows = append(rows, t.Partitions[j])
				batches = append(batches, r.Batches[next])
			} else {
				r.Batches[next].Buffer.Release()
			}
			next++
		}
		t.Partitions = rows
	}
	r.Batches = batches
}
