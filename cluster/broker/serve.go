package broker

import (
	"net"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/world"
)

// clientConnection is what a broker knows of an outside connection.
type clientConnection struct {
	clientID string
	host     string // its address, without the port
	software string
	waits    []*fetchWait // the fetches that wait on it, oldest first
	asks     asks
	// produces are those that wait for a transaction's verification, and those behind them.
	produces []queuedRequest
	order    requestOrder
	// unanswered are its requests in their order, in which the answers leave it.
	unanswered []*Request
}

// answered is what an answer's events tell of one partition.
type answered struct {
	code      int16
	topic     string
	partition int32
	offset    event.Offset
	records   int32
	bytes     int32
	idle      bool
}

// ranges is every API that brokers answer, with exactly the versions that they implement.
var ranges = []Range{
	{Key: 0, Min: 3, Max: 13, Advertised: 0},
	{Key: 1, Min: 4, Max: 18, Advertised: 4},
	{Key: 2, Min: 1, Max: 11, Advertised: 1},
	{Key: 3, Min: 0, Max: 13},
	{Key: 8, Min: 2, Max: 10, Advertised: 2},
	{Key: 9, Min: 1, Max: 10, Advertised: 1},
	{Key: 10, Min: 0, Max: 6},
	{Key: 11, Min: 0, Max: 9},
	{Key: 12, Min: 0, Max: 4},
	{Key: 13, Min: 0, Max: 5},
	{Key: 14, Min: 0, Max: 5},
	{Key: 15, Min: 0, Max: 6},
	{Key: 16, Min: 0, Max: 5},
	{Key: 17, Min: 0, Max: 1},
	{Key: 18, Min: 0, Max: 5},
	{Key: 19, Min: 2, Max: 7, Advertised: 2},
	{Key: 20, Min: 1, Max: 6, Advertised: 1},
	{Key: 21, Min: 0, Max: 2},
	{Key: 22, Min: 0, Max: 5},
	{Key: 23, Min: 2, Max: 4, Advertised: 2},
	{Key: 24, Min: 0, Max: 5},
	{Key: 25, Min: 0, Max: 4},
	{Key: 26, Min: 0, Max: 5},
	{Key: 27, Min: 1, Max: 2, Advertised: 1},
	{Key: 28, Min: 0, Max: 6},
	{Key: 32, Min: 1, Max: 4, Advertised: 1},
	{Key: 33, Min: 0, Max: 2},
	{Key: 36, Min: 0, Max: 2},
	{Key: 37, Min: 0, Max: 3},
	{Key: 42, Min: 0, Max: 3},
	{Key: 43, Min: 0, Max: 2},
	{Key: 44, Min: 0, Max: 1},
	{Key: 47, Min: 0, Max: 0},
	{Key: 55, Min: 0, Max: 2},
	{Key: 60, Min: 0, Max: 2},
	{Key: 61, Min: 0, Max: 0},
	{Key: 65, Min: 0, Max: 0},
	{Key: 66, Min: 0, Max: 2},
	{Key: 74, Min: 0, Max: 1},
	{Key: 75, Min: 0, Max: 0},
}

// Served lists the API keys and versions that brokers answer.
func Served() []Range { return slices.Clone(ranges) }

func serves(key, version int16) bool {
	at := slices.IndexFunc(ranges, func(r Range) bool { return r.Key == key })
	return at >= 0 && version >= ranges[at].Min && version <= ranges[at].Max
}

// handle gives a request to the method of its key.
func (b *Broker) handle(call *world.Call, r *Request) {
	switch r.Key {
	case 0:
		b.produce(call, r)
	case 1:
		b.fetch(call, r)
	case 2:
		b.listOffsets(call, r)
	case 3:
		b.metadataRequest(call, r)
	case 17:
		b.saslHandshake(call, r)
	case 18:
		b.apiVersions(call, r)
	case 19:
		b.createTopics(call, r)
	case 20:
		b.deleteTopics(call, r)
	case 21:
		b.deleteRecords(call, r)
	case 22:
		b.initProducerID(call, r)
	case 23:
		b.offsetForLeaderEpoch(call, r)
	case 32:
		b.describeConfigs(call, r)
	case 33:
		b.alterConfigs(call, r)
	case 36:
		b.saslAuthenticate(call, r)
	case 37:
		b.createPartitions(call, r)
	case 43:
		b.electLeaders(call, r)
	case 44:
		b.incrementalAlterConfigs(call, r)
	case 55:
		b.describeQuorum(call, r)
	case 60:
		b.describeCluster(call, r)
	case 61:
		b.describeProducers(call, r)
	case 74:
		b.listConfigResources(call, r)
	case 75:
		b.describeTopicPartitions(call, r)
	default:
		b.handleGroups(call, r)
	}
}

// handleGroups is handle for the requests of consumer groups.
func (b *Broker) handleGroups(call *world.Call, r *Request) {
	switch r.Key {
	case 8:
		b.offsetCommit(call, r)
	case 9:
		b.offsetFetch(call, r)
	case 10:
		b.findCoordinator(call, r)
	case 11:
		b.joinGroup(call, r)
	case 12:
		b.heartbeat(call, r)
	case 13:
		b.leaveGroup(call, r)
	case 14:
		b.syncGroup(call, r)
	case 15:
		b.describeGroups(call, r)
	case 16:
		b.listGroups(call, r)
	case 42:
		b.deleteGroups(call, r)
	case 47:
		b.offsetDelete(call, r)
	default:
		b.handleTransactions(call, r)
	}
}

// handleTransactions is handle for the requests of transactional producers.
func (b *Broker) handleTransactions(call *world.Call, r *Request) {
	switch r.Key {
	case 24:
		b.addPartitionsToTxn(call, r)
	case 25:
		b.addOffsetsToTxn(call, r)
	case 26:
		b.endTxn(call, r)
	case 27:
		b.writeTxnMarkers(call, r)
	case 28:
		b.txnOffsetCommit(call, r)
	case 65:
		b.describeTransactions(call, r)
	case 66:
		b.listTransactions(call, r)
	}
}

// earlyMax is how many requests wait for a broker that is starting.
const earlyMax = 4096

// earlyCall is a request that came before the broker took any.
type earlyCall struct {
	call    *world.Call
	request *Request
}

// takeRequests lets requests in, those that have waited first. A broker that has not read the
// metadata yet would tell clients of no brokers and of unknown topics; Kafka's takes nothing until
// the controllers have unfenced it.
func (b *Broker) takeRequests() {
	b.session.open = true
	early := b.early
	b.early = nil
	for _, e := range early {
		b.env.Events.Cause = e.call.Sent()
		b.serve(e.call, e.request)
	}
}

// serve answers a client's request. Versions outside the table never get here: the edge turns
// them away.
func (b *Broker) serve(call *world.Call, r *Request) {
	if !b.session.open {
		if len(b.early) < earlyMax {
			b.early = append(b.early, earlyCall{call, r})
			return
		}
		b.releaseBatches(r)
		call.Reply(&Close{Reason: "too many requests wait for the broker to start"})
		return
	}
	if !serves(r.Key, r.Version) {
		b.releaseBatches(r)
		call.Reply(&Close{Reason: "an API key or version that is not served"})
		return
	}
	b.identify(call.From, r)
	b.received(call, r)
	b.handleInOrder(call, r)
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
	if call.From >= event.FirstOutside {
		c := b.client(call.From)
		c.unanswered = append(c.unanswered, r)
	}
	if !b.env.Events.On() {
		return
	}
	e := event.RequestReceived{Connection: call.From, Request: r.id, API: kmsg.NameForKey(r.Key),
		Version: int32(r.Version), Bytes: int32(r.Bytes)}
	switch body := r.Body.(type) {
	case *kmsg.ProduceRequest:
		e.Acks = int32(body.Acks)
		b.receivedProduce(e, body, r)
		return
	case *kmsg.FetchRequest:
		if len(body.Topics) > 0 && len(body.Topics[0].Partitions) > 0 {
			p := &body.Topics[0].Partitions[0]
			e.Topic, e.Partition = b.topicName(body.Topics[0].Topic, body.Topics[0].TopicID), p.Partition
			e.Offset = event.Offset(p.FetchOffset)
		}
		e.Idle = len(body.Topics) == 0
	}
	b.emitReceived(r, e)
}

func (b *Broker) emitReceived(r *Request, e event.RequestReceived) {
	r.received = e.Emit(b.env.Events, event.RuleNone)
	b.env.Events.Cause = r.received
}

// receivedProduce tells of the first partition with the request, and of each other by itself.
func (b *Broker) receivedProduce(e event.RequestReceived, body *kmsg.ProduceRequest, r *Request) {
	next := 0
	for i := range body.Topics {
		topic := &body.Topics[i]
		name := b.topicName(topic.Topic, topic.TopicID)
		for j := range topic.Partitions {
			partition, records := topic.Partitions[j].Partition, r.Batches[next].Facts.RecordsCount
			if next == 0 {
				e.Topic, e.Partition, e.Records = name, partition, records
				b.emitReceived(r, e)
			} else {
				event.PartitionReceived{Connection: e.Connection, Request: r.id, API: e.API, Topic: name,
					Partition: partition, Records: records}.Emit(b.env.Events, event.RuleNone)
			}
			next++
		}
	}
	if next == 0 {
		b.emitReceived(r, e)
	}
}

// requestOf is what events call a client's request.
func requestOf(call *world.Call) int64 { return call.Body.(*Request).id }

func (b *Broker) topicName(name string, id event.UUID) string {
	if name == "" && !id.IsZero() {
		if t := b.metadata.image.TopicByID(id); t != nil {
			return t.Name
		}
	}
	return name
}

// answer sends a response and emits what it told, once it leaves: a connection's answers do so in
// the order of its requests. Nothing is told to a client that is gone.
func (b *Broker) answer(call *world.Call, body any, told ...answered) {
	if b.disk.Fault().Kind != disk.None && len(b.dirty) > 0 {
		// It leaves only if what this turn appends can be written, which the turn's end will tell.
		kept := slices.Clone(told)
		b.env.AtTurnEnd(func() { b.leaves(call, kept) })
	} else {
		b.leaves(call, told)
	}
	call.Reply(body)
}

// leaves tells of an answer, or keeps for later what it will tell.
func (b *Broker) leaves(call *world.Call, told []answered) {
	r := call.Body.(*Request)
	c := b.clients[call.From]
	switch {
	case c == nil:
	case len(c.unanswered) == 0: // a client of the cluster, whose messages pass each other
		b.tellAnswer(call.From, r, told)
	case c.unanswered[0] != r:
		r.waiting = &waitingAnswer{slices.Clone(told), b.env.Events.Cause}
	default:
		b.tellAnswer(call.From, r, told)
		b.tellWaiting(call.From, c)
	}
	b.handled(call, r)
}

// waitingAnswer is what an answer tells that leaves after those before it.
type waitingAnswer struct {
	told  []answered
	cause event.Seq
}

// tellWaiting tells of the answers that leave behind the first one.
func (b *Broker) tellWaiting(to event.NodeID, c *clientConnection) {
	cause := b.env.Events.Cause
	next := 1
	for ; next < len(c.unanswered) && c.unanswered[next].waiting != nil; next++ {
		r := c.unanswered[next]
		b.env.Events.Cause = r.waiting.cause
		b.tellAnswer(to, r, r.waiting.told)
		r.waiting = nil
	}
	b.env.Events.Cause = cause
	c.unanswered = slices.Delete(c.unanswered, 0, next)
}

// tellAnswer emits what an answer tells: of the first partition with the response, of each other by
// itself.
func (b *Broker) tellAnswer(to event.NodeID, r *Request, told []answered) {
	if !b.env.Events.On() {
		return
	}
	var a answered
	if len(told) > 0 {
		a = told[0]
	}
	for i := 1; i < len(told); i++ {
		other := &told[i]
		event.PartitionAnswered{Connection: to, Request: r.id, API: kmsg.NameForKey(r.Key),
			ErrorCode: int32(other.code), Topic: other.topic, Partition: other.partition,
			Offset: other.offset, Records: other.records, Bytes: other.bytes}.
			Emit(b.env.Events, event.RuleNone)
	}
	reason := ""
	if produce, is := r.Body.(*kmsg.ProduceRequest); is && produce.Acks == 0 {
		reason = "acks=0"
	}
	event.ResponseSent{Connection: to, Request: r.id, API: kmsg.NameForKey(r.Key),
		ErrorCode: int32(a.code), Topic: a.topic, Partition: a.partition, Offset: a.offset,
		Records: a.records, Bytes: a.bytes, Idle: a.idle, Reason: reason}.
		Emit(b.env.Events, event.RuleNone)
}

// Connected, of world.Greeter: from where a client speaks.
func (b *Broker) Connected(connection event.NodeID, address string) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	b.client(connection).host = host
}

// Disconnected, of world.Node: whoever waited on the connection waits no more.
func (b *Broker) Disconnected(connection event.NodeID) {
	b.early = slices.DeleteFunc(b.early, func(e earlyCall) bool {
		if e.call.From == connection {
			b.releaseBatches(e.request)
		}
		return e.call.From == connection
	})
	c := b.clients[connection]
	if c == nil {
		return
	}
	delete(b.clients, connection)
	b.dropProduces(c)
	for _, q := range c.order.behind {
		b.releaseBatches(q.r)
	}
	c.order.behind = nil
	for _, f := range slices.Clone(c.waits) {
		f.leave("disconnected")
	}
}
