package broker

import (
	"regexp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/txn"
	"highwater/cluster/world"
)

// ListTransactions, versions 0 to 2: the transactional ids that this broker coordinates, filtered
// by state, producer id, duration, and a pattern that has to match the whole id.

// transactionFilter is what a request asks for; an empty list takes everything.
type transactionFilter struct {
	states    []string
	producers []int64
	openMs    int64 // longer than this, -1 for any
	pattern   *regexp.Regexp
	nowMs     int64
}

func (b *Broker) listTransactions(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.ListTransactionsRequest)
	response := kmsg.NewPtrListTransactionsResponse()
	response.Version = r.Version
	filter := transactionFilter{producers: body.ProducerIDFilters, openMs: -1,
		nowMs: b.env.UnixMilli()}
	if r.Version >= 1 {
		filter.openMs = body.DurationFilterMillis
	}
	for _, name := range body.StateFilters {
		if _, known := txn.ParseState(name); known {
			filter.states = append(filter.states, name)
		} else {
			response.UnknownStateFilters = append(response.UnknownStateFilters, name)
		}
	}
	if body.TransactionalIDPattern != nil && *body.TransactionalIDPattern != "" {
		pattern, err := regexp.Compile("^(?:" + *body.TransactionalIDPattern + ")$")
		if err != nil {
			response.ErrorCode = kerr.InvalidRegularExpression.Code
		}
		filter.pattern = pattern
	}
	nothing := len(body.StateFilters) > 0 && len(filter.states) == 0
	for _, p := range b.transactions.list {
		if !p.active {
			response.ErrorCode = kerr.CoordinatorLoadInProgress.Code
		}
		if response.ErrorCode != 0 || nothing {
			break
		}
		for _, d := range p.txns.List() {
			if filter.takes(&d) {
				s := kmsg.NewListTransactionsResponseTransactionState()
				s.TransactionalID, s.ProducerID = d.TransactionalID, d.ProducerID
				s.TransactionState = d.State.String()
				response.TransactionStates = append(response.TransactionStates, s)
			}
		}
	}
	if response.ErrorCode != 0 {
		response.TransactionStates = nil
	}
	b.answer(call, response, answered{code: response.ErrorCode})
}

func (f *transactionFilter) takes(d *txn.Description) bool {
	switch {
	case len(f.states) > 0 && !slices.Contains(f.states, d.State.String()):
	case len(f.producers) > 0 && !slices.Contains(f.producers, d.ProducerID):
	case f.openMs >= 0 && f.nowMs-d.StartTimestamp <= f.openMs:
	case f.pattern != nil && !f.pattern.MatchString(d.TransactionalID):
	default:
		return true
	}
	return false
}
