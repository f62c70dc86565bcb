package client

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/event"
	"highwater/cluster/world"
)

// network is what every client has: a way to brokers, and what it knows of topics.
type network struct {
	env     *world.Env
	id      string // client.id
	brokers []event.NodeID
	// turn counts the changes from one bootstrap broker to the next.
	turn   int
	topics map[string]*topic
	// seen is the newest that was ever known of a topic.
	seen map[string]*topic
}

// seenTopicsMax bounds what a client remembers of topics that come and go.
const seenTopicsMax = 10_000

// topic is what the client knows of a topic, until an error says that it is out of date.
type topic struct {
	id         [16]byte
	partitions []leadership // by partition
}

// topicPartition names a partition.
type topicPartition struct {
	topic     string
	partition int32
}

func (t topicPartition) String() string { return fmt.Sprintf("%s-%d", t.topic, t.partition) }

type leadership struct {
	leader event.NodeID
	epoch  int32
}

func newNetwork(env *world.Env, brokers []event.NodeID, id string) network {
	return network{env: env, id: id, brokers: brokers, topics: map[string]*topic{},
		seen: map[string]*topic{}}
}

// Deliver, of world.Node: nobody sends requests to a client.
func (n *network) Deliver(call *world.Call) { call.Reply(&broker.Close{Reason: "not a broker"}) }

// Disconnected, of world.Node: a client has no outside connections.
func (n *network) Disconnected(event.NodeID) {}

// Because makes an event the cause of what the client is asked to do next.
func (n *network) Because(cause event.Seq) { n.env.Events.Cause = cause }

// After calls f when a time has passed, without events; it serves those who wait on the loop.
func (n *network) After(d time.Duration, f func()) { n.env.AfterQuiet("command", d, f) }

// operation is something that is tried until it ends or its time is over.
type operation struct {
	n        *network
	deadline time.Duration // by the client's clock
	tries    int
	attempt  func()
	// patience is how long one request may take, requestTimeout when it is 0.
	patience time.Duration
	// failed is called with the last code when the time is over.
	failed func(code int16)
}

func (n *network) begin(timeout time.Duration, failed func(code int16)) *operation {
	if timeout <= 0 {
		timeout = DeliveryTimeout
	}
	return &operation{n: n, deadline: n.env.Now() + timeout, failed: failed}
}

// left is how long the operation may still take.
func (o *operation) left() time.Duration { return o.deadline - o.n.env.Now() }

// retry tries again after a back-off that doubles, or gives up when the time would be over.
func (o *operation) retry(code int16) {
	wait := min(backoffMin<<min(o.tries, 10), backoffMax)
	o.tries++
	if o.left() <= wait {
		o.failed(code)
		return
	}
	o.n.env.After("client-retry", wait, o.attempt)
}

// ask sends a request. A connection that is reset or silent gives Kafka's NETWORK_EXCEPTION or
// REQUEST_TIMED_OUT as code.
func (n *network) ask(to event.NodeID, r *broker.Request, timeout time.Duration,
	done func(body any, code int16)) {
	r.ClientID, r.Software = n.id, "highwater"
	r.Key = r.Body.Key()
	r.Version = r.Body.GetVersion()
	r.Bytes += len(r.Body.AppendTo(nil))
	n.env.Request(to, kmsg.NameForKey(r.Key), r, timeout, func(body any, err error) {
		switch {
		case errors.Is(err, world.ErrTimedOut):
			done(nil, kerr.RequestTimedOut.Code)
		case err != nil:
			done(nil, kerr.NetworkException.Code)
		default:
			if _, closed := body.(*broker.Close); closed {
				done(nil, kerr.NetworkException.Code)
				return
			}
			done(body, 0)
		}
	})
}

// bootstrap is the broker to ask for what any of them answers.
func (n *network) bootstrap() event.NodeID { return n.brokers[n.turn%len(n.brokers)] }

// worse is what tells of two partitions' errors. UNKNOWN_SERVER_ERROR is -1.
func worse(a, b int16) int16 {
	if a == 0 || b == 0 {
		return a + b
	}
	return max(a, b)
}

// askAny asks one broker after the other until one answers.
func askAny[R kmsg.Response](o *operation, body kmsg.Request, version int16, answered func(R)) {
	body.SetVersion(version)
	timeout := min(requestTimeout, o.left())
	if body.Key() == metadataKey {
		timeout = min(metadataTimeout, o.left())
	}
	o.n.ask(o.n.bootstrap(), &broker.Request{Body: body}, timeout, func(got any, code int16) {
		response, ok := got.(R)
		if code != 0 || !ok {
			o.n.turn++
			o.retry(max(code, kerr.RequestTimedOut.Code))
			return
		}
		answered(response)
	})
}

const metadataKey = 3

// withTopic calls f with what is known of a topic, and asks a broker first where nothing is.
func (o *operation) withTopic(name string, f func(*topic)) {
	if known := o.n.topics[name]; known != nil {
		f(known)
		return
	}
	o.lookUp(name, f)
}

// lookUp asks a broker what is to be known of a topic.
func (o *operation) lookUp(name string, f func(*topic)) {
	askAny(o, metadataOf([]string{name}), 12, func(response *kmsg.MetadataResponse) {
		if len(response.Topics) != 1 {
			o.retry(kerr.UnknownTopicOrPartition.Code)
			return
		}
		if code := response.Topics[0].ErrorCode; code != 0 {
			o.n.turn++ // this broker may lag behind the metadata log; another may not
			o.retryOrFail(code)
			return
		}
		t := o.n.newest(name, topicOf(&response.Topics[0]))
		o.n.topics[name] = t
		f(t)
	})
}

// lookUpAll asks a broker what is to be known of topics, and forgets those that it does not know.
func (o *operation) lookUpAll(names []string, f func()) {
	askAny(o, metadataOf(names), 12, func(response *kmsg.MetadataResponse) {
		for _, name := range names {
			delete(o.n.topics, name)
		}
		for i := range response.Topics {
			row := &response.Topics[i]
			if row.Topic != nil && row.ErrorCode == 0 {
				o.n.topics[*row.Topic] = o.n.newest(*row.Topic, topicOf(row))
			}
		}
		f()
	})
}

func metadataOf(names []string) *kmsg.MetadataRequest {
	request := kmsg.NewPtrMetadataRequest()
	request.Topics = []kmsg.MetadataRequestTopic{} // null would be all there are
	for _, name := range names {
		row := kmsg.NewMetadataRequestTopic()
		row.Topic = &name
		request.Topics = append(request.Topics, row)
	}
	return request
}

// newest keeps, of what a broker says of a topic and what is known, the newer leader of each
// partition: a broker that was cut off, and is asked no more for now, says what was (Java's
// Metadata.updateLatestMetadata).
func (n *network) newest(name string, told *topic) *topic {
	known, isOld := n.seen[name], false
	if known != nil && known.id == told.id {
		for i := range min(len(known.partitions), len(told.partitions)) {
			if known.partitions[i].epoch > told.partitions[i].epoch {
				told.partitions[i] = known.partitions[i]
				isOld = true
			}
		}
	}
	if isOld {
		n.turn++
	}
	if len(n.seen) >= seenTopicsMax {
		clear(n.seen)
	}
	n.seen[name] = told
	return told
}

func topicOf(row *kmsg.MetadataResponseTopic) *topic {
	t := &topic{id: row.TopicID, partitions: make([]leadership, len(row.Partitions))}
	for i := range t.partitions {
		t.partitions[i] = leadership{leader: event.NoNode, epoch: -1}
	}
	for i := range row.Partitions {
		p := &row.Partitions[i]
		if p.Partition >= 0 && int(p.Partition) < len(t.partitions) {
			t.partitions[p.Partition] = leadership{leader: event.NodeID(p.Leader), epoch: p.LeaderEpoch}
		}
	}
	return t
}

// withLeader calls f with the leader of a partition.
func (o *operation) withLeader(name string, partition int32, f func(leadership)) {
	o.withTopic(name, func(t *topic) {
		if int(partition) >= len(t.partitions) || partition < 0 {
			o.stale(name, kerr.UnknownTopicOrPartition.Code)
			return
		}
		l := t.partitions[partition]
		if l.leader == event.NoNode {
			o.stale(name, kerr.LeaderNotAvailable.Code)
			return
		}
		f(l)
	})
}

// stale forgets what is known of a topic and tries again.
func (o *operation) stale(name string, code int16) {
	delete(o.n.topics, name)
	o.retry(code)
}

func (o *operation) retryOrFail(code int16) {
	if kerr.IsRetriable(kerr.ErrorForCode(code)) {
		o.retry(code)
		return
	}
	o.failed(code)
}

// elsewhere are the errors after which the leader is looked for anew.
func elsewhere(code int16) bool {
	return slices.Contains([]int16{kerr.NotLeaderForPartition.Code, kerr.LeaderNotAvailable.Code,
		kerr.FencedLeaderEpoch.Code, kerr.UnknownLeaderEpoch.Code,
		kerr.UnknownTopicOrPartition.Code, kerr.UnknownTopicID.Code, kerr.KafkaStorageError.Code,
		kerr.NetworkException.Code, kerr.RequestTimedOut.Code}, code)
}
