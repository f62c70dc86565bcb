package wire

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/commitlog"
)

// encodeFetch writes a FetchResponse as kmsg does, but puts references in the place of record
// bytes. A test holds it against kmsg for every version.
func (c *connection) encodeFetch(answer *broker.FetchAnswer, start frameStart) {
	response := answer.Response
	e := fetchEncoder{version: response.Version, flexible: response.IsFlexible(), b: c.scratch}
	e.int32(response.ThrottleMillis)
	if e.version >= 7 {
		e.int16(response.ErrorCode)
		e.int32(response.SessionID)
	}
	records := answer.Records
	e.length(len(response.Topics), false)
	for i := range response.Topics {
		topic := &response.Topics[i]
		if e.version >= 13 {
			e.b = append(e.b, topic.TopicID[:]...)
		} else {
			e.text(topic.Topic)
		}
		e.length(len(topic.Partitions), false)
		for j := range topic.Partitions {
			partition := &topic.Partitions[j]
			e.beforeRecords(partition)
			if len(records) > 0 && records[0].Bytes > 0 {
				e.length(records[0].Bytes, false)
				c.scratch = e.b
				c.cutPart(start)
				c.refer(&records[0])
			} else {
				e.bytes(partition.RecordBatches)
			}
			if len(records) > 0 {
				records = records[1:]
			}
			e.partitionTags(partition)
		}
		e.noTags()
	}
	e.brokers(response.Brokers)
	c.scratch = e.b
}

// refer makes parts of record bytes, and takes over their references.
func (c *connection) refer(records *commitlog.Slices) {
	for _, file := range records.Ranges {
		c.parts = append(c.parts, part{file: file})
	}
	for _, buffer := range records.Buffers {
		c.parts = append(c.parts, part{buffer: buffer})
	}
	*records = commitlog.Slices{}
}

// fetchEncoder writes the fields of a FetchResponse.
type fetchEncoder struct {
	version  int16
	flexible bool
	b        []byte
}

func (e *fetchEncoder) int16(v int16) { e.b = binary.BigEndian.AppendUint16(e.b, uint16(v)) }
func (e *fetchEncoder) int32(v int32) { e.b = binary.BigEndian.AppendUint32(e.b, uint32(v)) }
func (e *fetchEncoder) int64(v int64) { e.b = binary.BigEndian.AppendUint64(e.b, uint64(v)) }
func (e *fetchEncoder) uvarint(v int) { e.b = binary.AppendUvarint(e.b, uint64(v)) }

// length writes the length of an array or of bytes.
func (e *fetchEncoder) length(n int, null bool) {
	if null {
		n = -1
	}
	if e.flexible {
		e.uvarint(n + 1)
	} else {
		e.int32(int32(n))
	}
}

func (e *fetchEncoder) bytes(b []byte) {
	e.length(len(b), b == nil)
	e.b = append(e.b, b...)
}

func (e *fetchEncoder) text(s string) {
	if e.flexible {
		e.uvarint(len(s) + 1)
	} else {
		e.int16(int16(len(s)))
	}
	e.b = append(e.b, s...)
}

func (e *fetchEncoder) noTags() {
	if e.flexible {
		e.b = append(e.b, 0)
	}
}

func (e *fetchEncoder) beforeRecords(p *kmsg.FetchResponseTopicPartition) {
	e.int32(p.Partition)
	e.int16(p.ErrorCode)
	e.int64(p.HighWatermark)
	e.int64(p.LastStableOffset)
	if e.version >= 5 {
		e.int64(p.LogStartOffset)
	}
	e.length(len(p.AbortedTransactions), p.AbortedTransactions == nil)
	for i := range p.AbortedTransactions {
		e.int64(p.AbortedTransactions[i].ProducerID)
		e.int64(p.AbortedTransactions[i].FirstOffset)
		e.noTags()
	}
	if e.version >= 11 {
		e.int32(p.PreferredReadReplica)
	}
}

// Sizes of the tagged fields of a partition, each with its own empty tags.
const (
	divergingEpochBytes = 4 + 8 + 1
	currentLeaderBytes  = 4 + 4 + 1
	snapshotIDBytes     = 8 + 4 + 1
)

func (e *fetchEncoder) partitionTags(p *kmsg.FetchResponseTopicPartition) {
	if !e.flexible {
		return
	}
	diverging := p.DivergingEpoch.Epoch != -1 || p.DivergingEpoch.EndOffset != -1
	leader := p.CurrentLeader.LeaderID != -1 || p.CurrentLeader.LeaderEpoch != -1
	snapshot := p.SnapshotID.EndOffset != -1 || p.SnapshotID.Epoch != -1
	count := 0
	for _, given := range [...]bool{diverging, leader, snapshot} {
		if given {
			count++
		}
	}
	e.uvarint(count)
	if diverging {
		e.b = append(e.b, 0, divergingEpochBytes)
		e.int32(p.DivergingEpoch.Epoch)
		e.int64(p.DivergingEpoch.EndOffset)
		e.noTags()
	}
	if leader {
		e.b = append(e.b, 1, currentLeaderBytes)
		e.int32(p.CurrentLeader.LeaderID)
		e.int32(p.CurrentLeader.LeaderEpoch)
		e.noTags()
	}
	if snapshot {
		e.b = append(e.b, 2, snapshotIDBytes)
		e.int64(p.SnapshotID.EndOffset)
		e.int32(p.SnapshotID.Epoch)
		e.noTags()
	}
}

// brokers writes the node endpoints, the response's only tagged field.
func (e *fetchEncoder) brokers(brokers []kmsg.FetchResponseBroker) {
	if !e.flexible {
		return
	}
	if len(brokers) == 0 {
		e.noTags()
		return
	}
	field := fetchEncoder{version: e.version, flexible: true}
	field.length(len(brokers), false)
	for i := range brokers {
		broker := &brokers[i]
		field.int32(broker.NodeID)
		field.text(broker.Host)
		field.int32(broker.Port)
		if broker.Rack == nil {
			field.uvarint(0)
		} else {
			field.text(*broker.Rack)
		}
		field.noTags()
	}
	e.b = append(e.b, 1, 0)
	e.uvarint(len(field.b))
	e.b = append(e.b, field.b...)
}
