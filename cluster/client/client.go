package client

import (
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/event"
	"highwater/cluster/world"
)

// ID is the client id that brokers see.
const ID = "highwater"

// Kafka's defaults, but for metadataTimeout: whoever asks a broker that stands still for metadata
// goes on to the next one sooner than after request.timeout.ms, because somebody watches.
const (
	requestTimeout  = 30 * time.Second
	DeliveryTimeout = 120 * time.Second // delivery.timeout.ms and the bound of everything else
	metadataTimeout = 5 * time.Second
	backoffMin      = 100 * time.Millisecond // retry.backoff.ms
	backoffMax      = time.Second            // retry.backoff.max.ms
)

// Client is one incarnation of the built-in client. Its methods belong to the loop, and each calls
// its done exactly once, unless the incarnation ends before.
type Client struct {
	env     *world.Env
	brokers []event.NodeID
	// turn counts the changes from one bootstrap broker to the next.
	turn     int
	topics   map[string]*topic
	stickies map[string]*sticky
	producer producer
}

// topic is what the client knows of a topic, until an error says that it is out of date.
type topic struct {
	partitions []leadership // by partition
}

type leadership struct {
	leader event.NodeID
	epoch  int32
}

// New makes the state of a fresh incarnation.
func New(env *world.Env, brokers []event.NodeID) *Client {
	return &Client{env: env, brokers: brokers, topics: map[string]*topic{},
		stickies: map[string]*sticky{}, producer: newProducer()}
}

// Deliver, of world.Node: nobody sends requests to a client.
func (c *Client) Deliver(call *world.Call) { call.Reply(&broker.Close{Reason: "not a broker"}) }

// Disconnected, of world.Node: a client has no outside connections.
func (c *Client) Disconnected(event.NodeID) {}

// Because makes an event the cause of what the client is asked to do next.
func (c *Client) Because(cause event.Seq) { c.env.Events.Cause = cause }

// After calls f when a time has passed, without events; it serves those who wait on the loop.
func (c *Client) After(d time.Duration, f func()) { c.env.AfterQuiet("command", d, f) }

// operation is something that is tried until it ends or its time is over.
type operation struct {
	c        *Client
	deadline time.Duration // by the client's clock
	tries    int
	attempt  func()
	// failed is called with the last code when the time is over.
	failed func(code int16)
}

func (c *Client) begin(timeout time.Duration, failed func(code int16)) *operation {
	if timeout <= 0 {
		timeout = DeliveryTimeout
	}
	return &operation{c: c, deadline: c.env.Now() + timeout, failed: failed}
}

// left is how long the operation may still take.
func (o *operation) left() time.Duration { return o.deadline - o.c.env.Now() }

// retry tries again after a back-off that doubles, or gives up when the time would be over.
func (o *operation) retry(code int16) {
	wait := min(backoffMin<<min(o.tries, 10), backoffMax)
	o.tries++
	if o.left() <= wait {
		o.failed(code)
		return
	}
	o.c.env.After("client-retry", wait, o.attempt)
}

// ask sends a request. A connection that is reset or silent gives Kafka's NETWORK_EXCEPTION or
// REQUEST_TIMED_OUT as code.
func (c *Client) ask(to event.NodeID, r *broker.Request, timeout time.Duration,
	done func(body any, code int16)) {
	r.ClientID, r.Software = ID, "highwater"
	r.Key = r.Body.Key()
	r.Version = r.Body.GetVersion()
	r.Bytes += len(r.Body.AppendTo(nil))
	c.env.Request(to, kmsg.NameForKey(r.Key), r, timeout, func(body any, err error) {
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
func (c *Client) bootstrap() event.NodeID { return c.brokers[c.turn%len(c.brokers)] }

// askAny asks one broker after the other until one answers.
func askAny[R kmsg.Response](o *operation, body kmsg.Request, version int16, answered func(R)) {
	body.SetVersion(version)
	timeout := min(requestTimeout, o.left())
	if body.Key() == metadataKey {
		timeout = min(metadataTimeout, o.left())
	}
	o.c.ask(o.c.bootstrap(), &broker.Request{Body: body}, timeout, func(got any, code int16) {
		response, ok := got.(R)
		if code != 0 || !ok {
			o.c.turn++
			o.retry(max(code, kerr.RequestTimedOut.Code))
			return
		}
		answered(response)
	})
}

const metadataKey = 3

// withTopic calls f with what is known of a topic, and asks a broker first where nothing is.
func (o *operation) withTopic(name string, f func(*topic)) {
	if known := o.c.topics[name]; known != nil {
		f(known)
		return
	}
	request := kmsg.NewPtrMetadataRequest()
	row := kmsg.NewMetadataRequestTopic()
	row.Topic = &name
	request.Topics = []kmsg.MetadataRequestTopic{row}
	askAny(o, request, 12, func(response *kmsg.MetadataResponse) {
		if len(response.Topics) != 1 {
			o.retry(kerr.UnknownTopicOrPartition.Code)
			return
		}
		if code := response.Topics[0].ErrorCode; code != 0 {
			o.c.turn++ // this broker may lag behind the metadata log; another may not
			o.retryOrFail(code)
			return
		}
		t := topicOf(&response.Topics[0])
		o.c.topics[name] = t
		f(t)
	})
}

func topicOf(row *kmsg.MetadataResponseTopic) *topic {
	t := &topic{partitions: make([]leadership, len(row.Partitions))}
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
	delete(o.c.topics, name)
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
