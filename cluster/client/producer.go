package client

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/event"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

// Producer is one incarnation of a built-in producer, built as Kafka's Java producer is: the
// application's calls fill an accumulator of batches, one queue a partition, and a sender takes
// batches from it, a request to a broker at a time. Skipped: interceptors, and splitting a batch
// that is too large for its topic, which fails instead.
type Producer struct {
	network
	accumulator
	name   string
	config ProducerConfig

	// calls are those of the application, which makes them one after the other: while one blocks,
	// the rest wait.
	calls     []*call
	running   bool
	lookAgain bool // what the running call waited for may be there
	blocked   *block
	stickies  map[string]*chooser
	counts    Beliefs
	latencies latencies

	identity identity
	// bump are the partitions whose sequences begin anew in the next epoch.
	bump        []*queue
	idAsked     bool // InitProducerId is under way
	transaction transaction
	flushing    bool
	closing     bool

	inFlight   map[event.NodeID]int // requests by broker
	refreshing map[string]bool      // topics whose leaders are being asked for
	refreshed  map[string]time.Duration
	scheduled  bool         // the sender will run at once
	wake       *world.Timer // the sender runs when a batch becomes ready
	expiry     *world.Timer // or when one has lived too long
}

// Beliefs counts the records of a producer by what it believes of them.
type Beliefs struct{ Pending, Sent, Acknowledged, Failed, Unknown int64 }

// call is one call of the application. step goes on with it, as far as it can, and says whether it
// has returned.
type call struct{ step func() (returned bool) }

// block is what the application stands still for.
type block struct {
	job   int64
	what  string
	since time.Duration
	timer *world.Timer
	over  bool // max.block.ms have passed
}

// delivery is what one call of send() comes to.
type delivery struct {
	open   int // records without a final belief, and one more until all are buffered
	result SendOutcome
	done   func(SendOutcome)
}

// SendOutcome counts what became of the records of a send. Code is Kafka's error code of the first
// record that was not acknowledged.
type SendOutcome struct {
	Acknowledged, Failed, Unknown int
	Landed                        Landings
	Code                          int16
	Message                       string
}

// NewProducer makes the state of a fresh incarnation. place is its number among the named clients:
// which broker it asks first follows from it.
func NewProducer(env *world.Env, name string, brokers []event.NodeID, place int,
	config ProducerConfig) *Producer {
	p := &Producer{network: newNetwork(env, brokers, name), name: name, config: config,
		stickies: map[string]*chooser{}, identity: nobody(),
		inFlight: map[event.NodeID]int{}, refreshing: map[string]bool{},
		refreshed: map[string]time.Duration{}}
	p.turn = place
	p.byKey = map[topicPartition]*queue{}
	event.ClientStarted{Name: name, Role: "producer", Settings: written(config.given),
		BufferMemory: config.BufferBytes}.Emit(env.Events, event.RuleNone)
	p.transaction.init(p)
	return p
}

// Name is what commands call the producer.
func (p *Producer) Name() string { return p.name }

// Beliefs are the records by what is believed of them now.
func (p *Producer) Beliefs() Beliefs { return p.counts }

// ProducerID is what the cluster calls the producer, -1 as long as it has no id.
func (p *Producer) ProducerID() int64 { return p.identity.id }

// BufferedBytes is what is taken of buffer.memory.
func (p *Producer) BufferedBytes() int64 { return p.taken }

func (p *Producer) call(step func() bool) {
	p.calls = append(p.calls, &call{step})
	p.application()
}

// application goes on with the application's calls as far as it can.
func (p *Producer) application() {
	if p.running { // from within a call: it looks again when it is done
		p.lookAgain = true
		return
	}
	p.running = true
	defer func() { p.running = false }()
	for len(p.calls) > 0 {
		p.lookAgain = false
		first := p.calls[0]
		blocked := p.blocked
		returned := first.step()
		if len(p.touched) > 0 || returned || p.blocked != blocked {
			p.schedule()
		}
		p.tellBuffered()
		if !returned && !p.lookAgain {
			break
		}
		if returned {
			p.calls = p.calls[1:]
		}
	}
}

// resume lets a call that stands still look again, or the end of a transaction whose call timed
// out.
func (p *Producer) resume() {
	if len(p.calls) > 0 {
		p.application()
	} else if e := p.transaction.under; e != nil && !e.ended {
		p.transaction.goOn(e)
	}
}

// blockFor notes that the application stands still, and says whether max.block.ms are over.
func (p *Producer) blockFor(what, topic string) (over bool) {
	if p.blocked == nil {
		b := &block{job: p.env.NextID(), what: what, since: p.env.Now()}
		p.blocked = b
		event.SendBlocked{Job: b.job, What: what, Topic: topic, Memory: p.taken,
			Due: p.env.VirtualDue(p.config.MaxBlock)}.Emit(p.env.Events, event.RuleNone)
		b.timer = p.env.AfterQuiet("max-block", p.config.MaxBlock, func() {
			b.over = true
			p.resume()
		})
	}
	if p.blocked.over {
		p.unblock("timed-out", event.RuleMaxBlock)
		return true
	}
	return false
}

// patience is how long a call waits that stands still without filling anything: max.block.ms.
type patience struct {
	timer *world.Timer
	over  bool
}

func (p *Producer) patience() *patience {
	n := &patience{}
	n.timer = p.env.AfterQuiet("max-block", p.config.MaxBlock, func() {
		n.over = true
		p.resume()
	})
	return n
}

func (p *Producer) unblock(outcome string, rule event.Rule) {
	if p.blocked == nil {
		return
	}
	p.blocked.timer.Stop()
	event.SendUnblocked{Job: p.blocked.job, Outcome: outcome}.Emit(p.env.Events, rule)
	p.blocked = nil
}

// Send makes the application send records, as often as the request says. done hears what became of
// all of them; it may be nil. Acks, timeout and idempotence are the producer's own, not the
// request's.
func (p *Producer) Send(request SendRequest, done func(SendOutcome)) {
	d := &delivery{open: 1, done: done}
	sent := 0
	p.call(func() bool {
		for sent < max(request.Times, 1) {
			blocked, failed := p.sendOne(&request, sent+1, d)
			if blocked {
				return false
			}
			if failed { // an exception, which ends the application's loop
				break
			}
			sent++
		}
		d.settle(1)
		return true
	})
}

// settle counts records down and tells when the last one has its belief.
func (d *delivery) settle(records int) {
	if d.open -= records; d.open == 0 && d.done != nil {
		d.done(d.result)
	}
}

// sendOne is one call of Java's send().
func (p *Producer) sendOne(request *SendRequest, n int, d *delivery) (blocked, failed bool) {
	if code, message := p.transaction.refusesSend(); code != 0 {
		p.notBuffered(request.Topic, d, code, message)
		return false, true
	}
	t := p.topics[request.Topic]
	if t == nil || len(t.partitions) == 0 {
		p.refresh(request.Topic)
		if !p.blockFor("metadata", request.Topic) {
			return true, false
		}
		p.notBuffered(request.Topic, d, kerr.RequestTimedOut.Code, fmt.Sprintf(
			"topic %s not present in metadata after %v", request.Topic, p.config.MaxBlock))
		return false, true
	}
	r := outgoing{timestamp: request.TimestampMs}
	if r.timestamp == 0 {
		r.timestamp = p.env.UnixMilli()
	}
	key, value := request.record(n)
	r.key, r.value = bytesOf(key), bytesOf(value)
	for _, h := range request.Headers {
		r.headers = append(r.headers, record.RecordHeader{Key: h.Key, Value: bytesOf(h.Value)})
	}
	partition := request.Partition
	if partition < 0 {
		partition = p.partitionFor(request.Topic, t, r)
	}
	return p.accept(p.queue(topicPartition{request.Topic, partition}), r, d)
}

// accept finds room for a record, or blocks until there is some.
func (p *Producer) accept(q *queue, r outgoing, d *delivery) (blocked, failed bool) {
	size := record.NewBuilder().SizeWith(r.timestamp, r.key, r.value, r.headers...)
	if size > p.config.RequestBytesMax || int64(size) > p.config.BufferBytes {
		p.notBuffered(q.key.topic, d, kerr.MessageTooLarge.Code, fmt.Sprintf("the record takes "+
			"%d bytes, more than max.request.size or buffer.memory", size))
		return false, true
	}
	grown, ok := p.append(q, r, d)
	if !ok {
		if !p.blockFor("buffer.memory", q.key.topic) {
			return true, false
		}
		p.notBuffered(q.key.topic, d, kerr.RequestTimedOut.Code, fmt.Sprintf("failed to allocate "+
			"%d bytes within the configured max blocking time %v", size, p.config.MaxBlock))
		return false, true
	}
	p.unblock("satisfied", event.RuleNone)
	d.open++
	if r.key == nil || p.config.IgnoreKeys {
		p.stuck(q, grown)
	}
	p.transaction.touches(q)
	return false, false
}

// notBuffered is the end of a record whose send() failed. The transaction that it was to be part of
// cannot be committed any more, unless the call itself was the mistake (KafkaProducer.doSend).
func (p *Producer) notBuffered(topic string, d *delivery, code int16, message string) {
	p.counts.Failed++
	if code != kerr.InvalidTxnState.Code {
		p.transaction.failed(code, message)
	}
	rule := event.RuleNone
	if code == kerr.RequestTimedOut.Code {
		rule = event.RuleMaxBlock
	}
	event.RecordsNotBuffered{Topic: topic, Records: 1, ErrorCode: int32(code), Reason: message}.
		Emit(p.env.Events, rule)
	d.result.Failed++
	d.blame(code, message)
}

func (d *delivery) blame(code int16, message string) {
	if d.result.Code == 0 {
		d.result.Code, d.result.Message = code, message
	}
}

// Flush makes the application wait until everything sent before has its belief.
func (p *Producer) Flush(done func()) {
	p.call(func() bool {
		if p.drained() {
			done()
			return true
		}
		return false
	})
}

// Close flushes, and then ends the application's calls; done hears of it.
func (p *Producer) Close(done func()) {
	p.closing = true
	p.Flush(done)
}

// drained says whether every batch has its belief; until then all are sent without lingering.
func (p *Producer) drained() bool {
	open := p.counts.Pending+p.counts.Sent > 0
	if open && !p.flushing {
		p.schedule()
	}
	p.flushing = open
	return !open
}

// refresh asks for the leaders of a topic, not sooner than retry.backoff.ms after the last time, and
// again until there is an answer.
func (p *Producer) refresh(name string) {
	if p.refreshing[name] {
		return
	}
	p.refreshing[name] = true
	ended := func() {
		delete(p.refreshing, name)
		p.refreshed[name] = p.env.Now()
		p.resume()
		p.schedule()
	}
	ask := func() {
		o := p.begin(p.config.MaxBlock, func(int16) { ended() })
		o.attempt = func() {
			o.lookUp(name, func(t *topic) {
				p.topics[name] = t
				ended()
			})
		}
		o.attempt()
	}
	last, before := p.refreshed[name]
	if wait := last + p.config.RetryBackoff - p.env.Now(); before && wait > 0 {
		p.env.AfterQuiet("metadata", wait, ask)
		return
	}
	ask()
}
