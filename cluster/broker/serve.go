package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/world"
)

// clientConnection is what a broker knows of an outside connection.
type clientConnection struct {
	clientID string
	software string
	waits    []*fetchWait // the fetches that wait on it, oldest first
}

// answered is what an answer's event tells.
type answered struct {
	code      int16
	topic     string
	partition int32
	offset    event.Offset
	records   int32
	bytes     int32
	idle      bool
}

// served is one row of the table of API keys.
type served struct {
	Range
	handle func(b *Broker, call *world.Call, r *Request)
}

// table is every API that brokers answer, with exactly the versions that they implement.
func table() []served {
	return []served{
		{Range{0, 3, 13, 0}, (*Broker).produce},
		{Range{1, 4, 18, 4}, (*Broker).fetch},
		{Range{2, 1, 11, 1}, (*Broker).listOffsets},
		{Range{3, 0, 13, 0}, (*Broker).metadataRequest},
		{Range{18, 0, 5, 0}, (*Broker).apiVersions},
		{Range{19, 2, 7, 2}, (*Broker).createTopics},
		{Range{20, 1, 6, 1}, (*Broker).deleteTopics},
		{Range{22, 0, 5, 0}, (*Broker).initProducerID},
		{Range{23, 2, 4, 2}, (*Broker).offsetForLeaderEpoch},
		{Range{32, 1, 4, 1}, (*Broker).describeConfigs},
		{Range{33, 0, 2, 0}, (*Broker).alterConfigs},
		{Range{37, 0, 3, 0}, (*Broker).createPartitions},
		{Range{43, 0, 2, 0}, (*Broker).electLeaders},
		{Range{44, 0, 1, 0}, (*Broker).incrementalAlterConfigs},
		{Range{55, 0, 2, 0}, (*Broker).describeQuorum},
		{Range{60, 0, 2, 0}, (*Broker).describeCluster},
		{Range{61, 0, 0, 0}, (*Broker).describeProducers},
		{Range{75, 0, 0, 0}, (*Broker).describeTopicPartitions},
	}
}

var (
	servedRows = table()
	servedBy   = indexTable(servedRows)
)

func indexTable(rows []served) map[int16]*served {
	index := make(map[int16]*served, len(rows))
	for i := range rows {
		index[rows[i].Key] = &rows[i]
	}
	return index
}

// Served lists the API keys and versions that brokers answer.
func Served() []Range {
	ranges := make([]Range, 0, len(servedRows))
	for _, row := range servedRows {
		ranges = append(ranges, row.Range)
	}
	return ranges
}

// serve answers a client's request. Versions outside the table never get here: the edge turns
// them away.
func (b *Broker) serve(call *world.Call, r *Request) {
	row := servedBy[r.Key]
	if row == nil || r.Version < row.Min || r.Version > row.Max {
		b.releaseBatches(r)
		call.Reply(&Close{Reason: "an API key or version that is not served"})
		return
	}
	b.identify(call.From, r)
	b.received(call, r)
	row.handle(b, call, r)
}

func (b *Broker) releaseBatches(r *Request) {
	for i := range r.Batches {
		r.Batches[i].Buffer.Release()
	}
}

func (b *Broker) client(id event.NodeID) *clientConnection {
	c := b.clients[id]
	if c == nil {
		c = &clientConnection{}
		b.clients[id] = c
	}
	return c
}

// identify says once who a connection is, and again when it tells more.
func (b *Broker) identify(connection event.NodeID, r *Request) {
	c := b.client(connection)
	if c.clientID == r.ClientID && (c.software == r.Software || r.Software == "") {
		return
	}
	c.clientID = r.ClientID
	if r.Software != "" {
		c.software = r.Software
	}
	event.ClientIdentified{Connection: connection, ClientID: c.clientID, Software: c.software}.
		Emit(b.env.Events, event.RuleNone)
}

// received emits what came in and makes it the cause of what follows.
func (b *Broker) received(call *world.Call, r *Request) {
	r.id = b.env.NextID()
	if !b.env.Events.On() {
		return
	}
	e := event.RequestReceived{Connection: call.From, Request: r.id, API: kmsg.NameForKey(r.Key),
		Version: int32(r.Version), Bytes: int32(r.Bytes)}
	switch body := r.Body.(type) {
	case *kmsg.ProduceRequest:
		e.Acks = int32(body.Acks)
		if len(body.Topics) > 0 && len(body.Topics[0].Partitions) > 0 {
			e.Topic, e.Partition = b.topicName(body.Topics[0].Topic, body.Topics[0].TopicID),
				body.Topics[0].Partitions[0].Partition
		}
		for i := range r.Batches {
			e.Records += r.Batches[i].Facts.RecordsCount
		}
	case *kmsg.FetchRequest:
		if len(body.Topics) > 0 && len(body.Topics[0].Partitions) > 0 {
			p := &body.Topics[0].Partitions[0]
			e.Topic, e.Partition = b.topicName(body.Topics[0].Topic, body.Topics[0].TopicID), p.Partition
			e.Offset = event.Offset(p.FetchOffset)
		}
		e.Idle = len(body.Topics) == 0
	}
	b.env.Events.Cause = e.Emit(b.env.Events, event.RuleNone)
}

func (b *Broker) topicName(name string, id event.UUID) string {
	if name == "" && !id.IsZero() {
		if t := b.metadata.image.TopicByID(id); t != nil {
			return t.Name
		}
	}
	return name
}

// answer sends a response and emits what it told.
func (b *Broker) answer(call *world.Call, body any, a answered) {
	if b.env.Events.On() {
		r := call.Body.(*Request)
		event.ResponseSent{Connection: call.From, Request: r.id, API: kmsg.NameForKey(r.Key),
			ErrorCode: int32(a.code), Topic: a.topic, Partition: a.partition, Offset: a.offset,
			Records: a.records, Bytes: a.bytes, Idle: a.idle}.Emit(b.env.Events, event.RuleNone)
	}
	call.Reply(body)
}

// Disconnected, of world.Node: whoever waited on the connection waits no more.
func (b *Broker) Disconnected(connection event.NodeID) {
	c := b.clients[connection]
	if c == nil {
		return
	}
	delete(b.clients, connection)
	for _, f := range slices.Clone(c.waits) {
		f.leave("disconnected")
	}
}
