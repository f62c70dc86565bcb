package client

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
)

// What a producer believes its transaction to be (the states of Java's TransactionManager).
const (
	txnNone         = "none" // not transactional
	txnInitializing = "initializing"
	txnReady        = "ready"
	txnOpen         = "in transaction"
	txnEnding       = "ending"
	txnMustAbort    = "must abort"
	txnFatal        = "fatal"
)

// txnVersion2 is the level of the feature transaction.version from which on partitions join a
// transaction by Produce itself and every end of one bumps the epoch (KIP-890).
const txnVersion2 = 2

// transaction is the transactional side of a producer. Without a transactional.id it stands aside.
type transaction struct {
	p           *Producer
	coordinator coordinator
	state       string
	code        int16 // why it must abort, or is over
	reason      string
	version2    bool
	partitions  []*queue
	offsets     bool // a group's offsets take part
	joining     int  // operations under way that the open transaction's end waits for
	adding      bool // AddPartitionsToTxn is one of them
	under       *ending
}

func (t *transaction) init(p *Producer) {
	t.p, t.state = p, txnNone
	if p.config.TransactionalID == "" {
		return
	}
	t.coordinator = coordinatorOf(1, p.config.TransactionalID)
	t.move(txnInitializing, "the producer begins")
	t.learnVersion()
}

func (t *transaction) move(to, reason string) {
	before := t.state
	t.state = to
	event.ClientTransactionChanged{TransactionalID: t.p.config.TransactionalID, Before: before,
		After: to, Reason: reason}.Emit(t.p.env.Events, event.RuleNone)
}

// operation is one that is tried until the producer's incarnation ends.
func (t *transaction) operation(attempt func(o *operation)) {
	o := t.p.begin(timeMax, func(code int16) { t.fatal(code) })
	o.attempt = func() { attempt(o) }
	o.attempt()
}

// joins is an operation that belongs to the open transaction, whose end waits until over was
// called, as Java's requests go one at a time: one that came late would be refused for its epoch,
// or join the next transaction. It is not tried any more when the transaction has failed.
func (t *transaction) joins(attempt func(o *operation, over func())) {
	t.joining++
	ended := false
	over := func() {
		if !ended {
			ended = true
			t.joining--
			t.p.resume()
		}
	}
	t.operation(func(o *operation) {
		if t.state != txnOpen {
			over()
			return
		}
		attempt(o, over)
	})
}

// failedOrWaits is failsOrWaits for what joins the open transaction.
func (t *transaction) failedOrWaits(o *operation, code int16, over func()) bool {
	waits := t.failsOrWaits(o, code)
	if waits && t.state != txnOpen {
		over()
	}
	return waits
}

func (t *transaction) fatal(code int16) {
	t.code, t.reason = code, event.ErrorName(code)
	t.move(txnFatal, t.reason)
	t.p.resume()
	t.p.schedule()
}

// learnVersion asks which version of transactions the cluster has finalized.
func (t *transaction) learnVersion() {
	t.operation(func(o *operation) {
		body := kmsg.NewPtrApiVersionsRequest()
		body.ClientSoftwareName, body.ClientSoftwareVersion = "highwater", "1"
		askAny(o, body, 4, func(response *kmsg.ApiVersionsResponse) {
			for _, f := range response.FinalizedFeatures {
				if f.Name == "transaction.version" {
					t.version2 = f.MaxVersionLevel >= txnVersion2
				}
			}
			t.initProducerID("given by the coordinator")
		})
	})
}

// initProducerID is initTransactions(): it also fences whoever had the id before.
func (t *transaction) initProducerID(reason string) {
	t.operation(func(o *operation) {
		body := kmsg.NewPtrInitProducerIDRequest()
		body.TransactionalID = &t.p.config.TransactionalID
		body.TransactionTimeoutMillis = millis(t.p.config.TransactionTimeout)
		body.ProducerID, body.ProducerEpoch = t.p.identity.id, t.p.identity.epoch
		askCoordinator(o, &t.coordinator, 4, body,
			func(r *kmsg.InitProducerIDResponse) int16 { return r.ErrorCode },
			func(r *kmsg.InitProducerIDResponse, code int16) {
				if t.failsOrWaits(o, code) {
					return
				}
				t.p.become(identity{r.ProducerID, r.ProducerEpoch}, reason, event.RuleNone)
				t.move(txnReady, reason)
				t.p.resume()
			})
	})
}

// failsOrWaits sorts out a coordinator's error: it says whether the caller is done.
func (t *transaction) failsOrWaits(o *operation, code int16) bool {
	switch {
	case code == 0:
		return false
	case code == kerr.ConcurrentTransactions.Code, kerr.IsRetriable(kerr.ErrorForCode(code)):
		o.retry(code)
	case code == kerr.TransactionAbortable.Code:
		t.failed(code, event.ErrorName(code))
		t.p.resume()
	case code == kerr.InvalidProducerEpoch.Code: // as a coordinator says it to old versions
		t.fatal(kerr.ProducerFenced.Code)
	default:
		t.fatal(code)
	}
	return true
}

// failed notes that the open transaction can only be aborted, or that the producer is over. A
// leader that knows a newer epoch leaves it to the coordinator to say that the producer is fenced.
func (t *transaction) failed(code int16, reason string) {
	if t.state != txnOpen && t.state != txnEnding {
		return
	}
	t.code, t.reason = code, reason
	if code == kerr.ProducerFenced.Code {
		t.fatal(code)
		return
	}
	t.move(txnMustAbort, reason)
}

func (t *transaction) refusesSend() (code int16, message string) {
	if t.under != nil {
		r := t.unfinished()
		return r.Code, r.Message
	}
	switch t.state {
	case txnNone, txnOpen:
		return 0, ""
	case txnMustAbort, txnFatal:
		return t.code, t.reason
	}
	return kerr.InvalidTxnState.Code, "no transaction is open"
}

// touches notes that a partition takes part in the open transaction.
func (t *transaction) touches(q *queue) {
	if t.state != txnOpen || q.inTransaction {
		return
	}
	q.inTransaction, q.adding = true, !t.version2
	t.partitions = append(t.partitions, q)
}

func (t *transaction) holdsBack(q *queue) bool { return t.state != txnNone && q.adding }

func (t *transaction) ending() bool { return t.state == txnEnding }

// produceVersion is the last one before transactions of version 2, or the one that implies them.
func (t *transaction) produceVersion() int16 {
	if t.state != txnNone && !t.version2 {
		return 11
	}
	return 12
}

// advance tells the coordinator of partitions that joined, where Produce does not.
func (t *transaction) advance() {
	if t.adding || t.version2 || t.state != txnOpen {
		return
	}
	var joining []*queue
	body := kmsg.NewPtrAddPartitionsToTxnRequest()
	for _, q := range t.partitions {
		if !q.adding {
			continue
		}
		joining = append(joining, q)
		topic := kmsg.NewAddPartitionsToTxnRequestTopic()
		topic.Topic, topic.Partitions = q.key.topic, []int32{q.key.partition}
		body.Topics = append(body.Topics, topic)
	}
	if len(joining) == 0 {
		return
	}
	t.adding = true
	t.joins(func(o *operation, over func()) {
		body.TransactionalID = t.p.config.TransactionalID
		body.ProducerID, body.ProducerEpoch = t.p.identity.id, t.p.identity.epoch
		askCoordinator(o, &t.coordinator, 3, body, worstAdded,
			func(_ *kmsg.AddPartitionsToTxnResponse, code int16) {
				if t.failedOrWaits(o, code, over) {
					return
				}
				for _, q := range joining {
					q.adding = false
				}
				t.adding = false
				over()
				t.p.schedule()
			})
	})
}

func worstAdded(r *kmsg.AddPartitionsToTxnResponse) int16 {
	code := r.ErrorCode
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			code = worse(code, r.Topics[i].Partitions[j].ErrorCode)
		}
	}
	return code
}

// Begin opens a transaction, once the producer has its id.
func (p *Producer) Begin(done func(AdminResult)) {
	t := &p.transaction
	p.call(func() bool {
		switch {
		case t.under != nil:
			done(t.unfinished())
		case t.state == txnInitializing:
			if !p.blockFor("producer id", "") {
				return false
			}
			done(AdminResult{Code: kerr.RequestTimedOut.Code, Message: "no producer id yet"})
		case t.state == txnReady:
			p.unblock("satisfied", event.RuleNone)
			t.move(txnOpen, "begun")
			done(AdminResult{})
		default:
			p.unblock("satisfied", event.RuleNone)
			done(t.refusal())
		}
		return true
	})
}

// refusal says why the transaction is not in the state that a call needs.
func (t *transaction) refusal() AdminResult {
	if t.state == txnMustAbort || t.state == txnFatal {
		return AdminResult{Code: t.code, Message: t.reason}
	}
	return AdminResult{Code: kerr.InvalidTxnState.Code, Message: "the transaction is " + t.state}
}

// ending is a call that ends a transaction, until it is heard how. One that took max.block.ms goes
// on, and the application may only repeat it.
type ending struct {
	commit, asked, ended bool
	result               AdminResult
}

// End commits the open transaction, after everything sent in it was acknowledged, or aborts it.
func (p *Producer) End(commit bool, done func(AdminResult)) {
	t := &p.transaction
	var patience *patience
	p.call(func() bool {
		if e := t.under; e != nil && e.ended && e.result.Code != 0 && !commit {
			t.under = nil // the commit failed meanwhile: nothing is left but to abort
		}
		e := t.under
		switch {
		case e == nil && t.state != txnOpen && (commit || t.state != txnMustAbort):
			done(t.refusal())
			return true
		case e == nil:
			e = &ending{commit: commit}
			t.under = e
			if !commit {
				t.dropUnsent()
			}
		case e.commit != commit:
			done(t.unfinished())
			return true
		}
		if patience == nil {
			patience = p.patience()
		}
		if !t.goOn(e) && !patience.over {
			return false
		}
		patience.timer.Stop()
		if !e.ended {
			done(AdminResult{Code: kerr.RequestTimedOut.Code, Message: fmt.Sprintf(
				"the transaction did not %s within %v; it may be repeated", toEnd(commit),
				p.config.MaxBlock)})
			return true
		}
		t.under = nil
		done(e.result)
		return true
	})
}

// unfinished refuses what may not be done before a call that timed out was repeated.
func (t *transaction) unfinished() AdminResult {
	return AdminResult{Code: kerr.InvalidTxnState.Code, Message: "the call before, to " +
		toEnd(t.under.commit) + ", timed out and must be repeated"}
}

func toEnd(commit bool) string {
	if commit {
		return "commit"
	}
	return "abort"
}

// goOn says whether a transaction has ended.
func (t *transaction) goOn(e *ending) bool {
	if !e.asked {
		if !t.p.drained() || t.joining > 0 && t.state != txnFatal {
			return false
		}
		if t.state == txnFatal || e.commit && t.state != txnOpen {
			e.result, e.ended = t.refusal(), true
			return true
		}
		e.asked = true
		t.end(e.commit, func(r AdminResult) {
			e.result, e.ended = r, true
			t.p.resume()
		})
	}
	if !e.ended && t.state != txnEnding {
		e.result, e.ended = t.refusal(), true
	}
	return e.ended
}

// dropUnsent forgets what an aborted transaction had not sent yet.
func (t *transaction) dropUnsent() {
	for _, q := range t.p.queues {
		for _, b := range slices.Clone(q.batches) {
			if b.attempts == 0 {
				t.p.believe(b, "failed", -1, kerr.OperationNotAttempted.Code,
					"its transaction was aborted", event.RuleNone)
			}
		}
	}
}

// end tells the coordinator. A transaction that nothing took part in ends by itself.
func (t *transaction) end(commit bool, done func(AdminResult)) {
	if len(t.partitions) == 0 && !t.offsets {
		t.move(txnReady, "nothing took part")
		done(AdminResult{})
		return
	}
	failed := t.state == txnMustAbort
	how, version := "aborted", int16(3)
	if commit {
		how = "committed"
	}
	if t.version2 {
		version = 5
	}
	t.move(txnEnding, how)
	t.operation(func(o *operation) {
		body := kmsg.NewPtrEndTxnRequest()
		body.TransactionalID, body.Commit = t.p.config.TransactionalID, commit
		body.ProducerID, body.ProducerEpoch = t.p.identity.id, t.p.identity.epoch
		askCoordinator(o, &t.coordinator, version, body,
			func(r *kmsg.EndTxnResponse) int16 { return r.ErrorCode },
			func(r *kmsg.EndTxnResponse, code int16) {
				if t.failsOrWaits(o, code) {
					return
				}
				t.ended(r, how, failed)
				done(AdminResult{})
			})
	})
}

func (t *transaction) ended(r *kmsg.EndTxnResponse, how string, failed bool) {
	for _, q := range t.partitions {
		q.inTransaction = false
	}
	t.partitions, t.offsets, t.adding = nil, false, false
	if t.version2 && r.ProducerID >= 0 {
		t.p.become(identity{r.ProducerID, r.ProducerEpoch}, "the transaction was "+how,
			event.RuleNone)
	}
	if failed && !t.version2 { // only a new epoch makes sure that nothing late arrives
		t.move(txnInitializing, how)
		t.initProducerID("the last transaction failed")
		return
	}
	t.move(txnReady, how)
}
