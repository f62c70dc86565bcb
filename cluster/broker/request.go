package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/commitlog"
	"highwater/cluster/event"
	"highwater/cluster/record"
)

// Request is a client's request as the edge, or a built-in client, hands it to a broker.
type Request struct {
	Key      int16
	Version  int16
	ClientID string
	Body     kmsg.Request
	// Batches holds, for a Produce, the batches of its topics and partitions in the order of the
	// request. Whoever answers the request releases them.
	Batches []Batch
	// Bytes is the size of the whole request without its length field.
	Bytes int
	// Software is the client library's name and version, once it told.
	Software string

	id       int64     // in events
	received event.Seq // the event that says so
	waiting  *waitingAnswer
}

// Batch is the record bytes that a Produce carries for one partition, checked before they reach
// the broker.
type Batch struct {
	Buffer record.Buffer
	Facts  record.Facts
	// Err is why the bytes are no good batch, nil when they are.
	Err *record.InvalidError

	// verification is the number under which the transaction was asked about, refused what its
	// coordinator said against the batch.
	verification int64
	refused      int16
}

// Range is an API key with the versions that brokers serve. Advertised is the minimum that
// ApiVersions names where it differs from Min.
type Range struct {
	Key, Min, Max int16
	Advertised    int16
}

// FetchAnswer is a fetch response whose record bytes are held by reference. Response has a nil
// RecordBatches wherever Records has something; Records follows the order of its topics and
// partitions. The edge releases Records when the bytes have left.
type FetchAnswer struct {
	Response *kmsg.FetchResponse
	Records  []commitlog.Slices
}

// Close asks the edge to close the connection, as Kafka does when an acks=0 produce failed.
type Close struct{ Reason string }
