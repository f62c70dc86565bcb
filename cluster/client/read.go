package client

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/record"
)

// The special positions to read from.
const (
	FromLatest   int64 = -1
	FromEarliest int64 = -2
)

const fetchBytesMax = 1 << 20 // max.partition.fetch.bytes

// ReadRequest asks for the records from an offset, or a special position, up to where the
// partition's readers may see now.
type ReadRequest struct {
	Topic     string
	Partition int32
	From      int64
	Committed bool // isolation.level read_committed
	Max       int  // records, 0 for no bound
	TimeoutMs int
}

// Record is one record that was read. Nil is null.
type Record struct {
	Topic       string // of what a consumer's poll returned
	Partition   int32
	Offset      int64
	TimestampMs int64
	Key, Value  *string
	Headers     []Header
}

// ReadResult is what was read. Code is Kafka's error code.
type ReadResult struct {
	Records          []Record
	HighWatermark    int64
	LastStableOffset int64
	Code             int16
}

// reading is one ReadRequest under way.
type reading struct {
	n         *network
	request   ReadRequest
	result    ReadResult
	next      int64
	done      func(ReadResult)
	operation *operation
	// located ends the reading once a special position has its offset.
	located func(offset int64)
}

// Read consumes a partition once, without waiting for records that are not there yet.
func (c *Client) Read(request ReadRequest, done func(ReadResult)) {
	r := &reading{n: &c.network, request: request, next: request.From, done: done,
		result: ReadResult{HighWatermark: -1, LastStableOffset: -1}}
	timeout := time.Duration(request.TimeoutMs) * time.Millisecond
	if timeout <= 0 {
		timeout = apiTimeout
	}
	r.operation = c.begin(timeout, r.end)
	r.operation.attempt = r.attempt
	r.attempt()
}

func (r *reading) end(code int16) {
	r.result.Code = code
	r.done(r.result)
}

func (r *reading) attempt() {
	r.operation.withLeader(r.request.Topic, r.request.Partition, func(l leadership) {
		if r.next < 0 {
			r.listOffsets(l)
			return
		}
		r.fetch(l)
	})
}

// isolation is the wire form of isolation.level.
func (r *reading) isolation() int8 {
	if r.request.Committed {
		return 1
	}
	return 0
}

func (r *reading) listOffsets(to leadership) {
	body := kmsg.NewPtrListOffsetsRequest()
	body.SetVersion(7)
	body.ReplicaID, body.IsolationLevel = -1, r.isolation()
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = r.request.Topic
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.Timestamp = r.request.Partition, to.epoch, r.next
	t.Partitions = []kmsg.ListOffsetsRequestTopicPartition{p}
	body.Topics = []kmsg.ListOffsetsRequestTopic{t}
	r.n.ask(to.leader, &broker.Request{Body: body}, min(requestTimeout, r.operation.left()),
		func(got any, code int16) {
			response, ok := got.(*kmsg.ListOffsetsResponse)
			if !ok || len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 {
				r.again(max(code, kerr.RequestTimedOut.Code))
				return
			}
			answer := &response.Topics[0].Partitions[0]
			if answer.ErrorCode != 0 {
				r.again(answer.ErrorCode)
				return
			}
			r.next = answer.Offset
			if r.located != nil {
				r.located(r.next)
				return
			}
			r.attempt()
		})
}

func (r *reading) again(code int16) {
	if elsewhere(code) {
		r.operation.stale(r.request.Topic, code)
		return
	}
	r.operation.retryOrFail(code)
}

func (r *reading) fetch(to leadership) {
	body := kmsg.NewPtrFetchRequest()
	body.SetVersion(12)
	body.ReplicaID, body.IsolationLevel, body.SessionEpoch = -1, r.isolation(), -1
	body.MaxBytes = 50 << 20 // fetch.max.bytes
	t := kmsg.NewFetchRequestTopic()
	t.Topic = r.request.Topic
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.FetchOffset = r.request.Partition, to.epoch, r.next
	p.PartitionMaxBytes = fetchBytesMax
	t.Partitions = []kmsg.FetchRequestTopicPartition{p}
	body.Topics = []kmsg.FetchRequestTopic{t}
	r.n.ask(to.leader, &broker.Request{Body: body}, min(requestTimeout, r.operation.left()),
		func(got any, code int16) {
			answer, ok := got.(*broker.FetchAnswer)
			if !ok {
				r.again(max(code, kerr.RequestTimedOut.Code))
				return
			}
			r.fetched(answer)
		})
}

func (r *reading) fetched(answer *broker.FetchAnswer) {
	defer func() {
		for i := range answer.Records {
			answer.Records[i].Release()
		}
	}()
	response := answer.Response
	code := response.ErrorCode
	if code == 0 && (len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1) {
		code = kerr.UnknownServerError.Code
	}
	if code == 0 {
		code = response.Topics[0].Partitions[0].ErrorCode
	}
	if code != 0 {
		r.again(code)
		return
	}
	p := &response.Topics[0].Partitions[0]
	r.result.HighWatermark, r.result.LastStableOffset = p.HighWatermark, p.LastStableOffset
	before := r.next
	if len(answer.Records) == 1 {
		loaded, err := answer.Records[0].Load()
		if err != nil {
			r.end(kerr.KafkaStorageError.Code)
			return
		}
		d := decoding{next: r.next, most: r.request.Max, records: r.result.Records,
			skip: newAborted(p.AbortedTransactions, r.request.Committed)}
		for _, buffer := range loaded {
			if !d.decode(buffer.Bytes) {
				r.end(kerr.CorruptMessage.Code)
				return
			}
		}
		r.next, r.result.Records = d.next, d.records
	}
	if r.full() || r.next == before {
		r.end(0)
		return
	}
	r.attempt()
}

func (r *reading) full() bool {
	return r.request.Max > 0 && len(r.result.Records) >= r.request.Max
}

// decoding takes records out of the batches of a fetch.
type decoding struct {
	next    int64 // offset of the next record that is wanted
	most    int   // records, 0 for no bound
	records []Record
	skip    *aborted
}

// decode takes the records of whole batches; what lies below the offset asked for is dropped, as
// every consumer does.
func (d *decoding) decode(b []byte) bool {
	for len(b) > 0 {
		h, err := record.ParseHeader(b)
		if err != nil || h.Size() > len(b) || !record.ChecksumHolds(b[:h.Size()]) {
			return false
		}
		batch := b[:h.Size()]
		b = b[h.Size():]
		wanted := !d.skip.batch(h, batch)
		if wanted {
			err = record.EachRecord(batch, inflatedMax, func(one record.Record) error {
				d.take(h, one)
				return nil
			})
			if err != nil {
				return false
			}
		}
		if !d.full() {
			d.next = h.LastOffset() + 1
		}
	}
	return true
}

func (d *decoding) full() bool { return d.most > 0 && len(d.records) >= d.most }

func (d *decoding) take(h record.Header, one record.Record) {
	offset := h.BaseOffset + int64(one.OffsetDelta)
	if offset < d.next || d.full() {
		return
	}
	taken := Record{Offset: offset, TimestampMs: h.Timestamp(one), Key: textOf(one.Key),
		Value: textOf(one.Value)}
	for _, header := range one.Headers {
		taken.Headers = append(taken.Headers, Header{Key: header.Key, Value: textOf(header.Value)})
	}
	d.records = append(d.records, taken)
}

func textOf(b []byte) *string {
	if b == nil {
		return nil
	}
	text := string(b)
	return &text
}

// aborted follows the aborted transactions through the batches, as a read_committed consumer does.
type aborted struct {
	listed []kmsg.FetchResponseTopicPartitionAbortedTransaction
	open   map[int64]bool // producers within an aborted transaction
	on     bool
}

func newAborted(listed []kmsg.FetchResponseTopicPartitionAbortedTransaction, on bool) *aborted {
	return &aborted{listed: listed, open: map[int64]bool{}, on: on}
}

// batch says whether a batch is to be passed over: markers always are.
func (a *aborted) batch(h record.Header, batch []byte) bool {
	if a.on {
		left := a.listed[:0]
		for _, t := range a.listed {
			if t.FirstOffset <= h.LastOffset() {
				a.open[t.ProducerID] = true
				continue
			}
			left = append(left, t)
		}
		a.listed = left
	}
	if h.Attributes.Control() {
		delete(a.open, h.ProducerID)
		return true
	}
	return a.on && h.Attributes.Transactional() && a.open[h.ProducerID]
}
