package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/txn"
	"highwater/cluster/world"
)

// EndTxn, versions 0 to 5: commits or aborts a transaction. Answered when the decision is committed
// to __transaction_state; the markers are written after that. From version 5 on the answer names
// the producer id and epoch of the next transaction (KIP-890).

// epochBumpsFrom is the version whose clients have an epoch for each transaction.
const epochBumpsFrom = 5

func (b *Broker) endTxn(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.EndTxnRequest)
	done := func(next txn.Identity) {
		response := kmsg.NewPtrEndTxnResponse()
		response.Version, response.ErrorCode = r.Version, fencedBefore(r.Version, 2, next.Code)
		response.ProducerID, response.ProducerEpoch = next.ID, next.Epoch
		b.answer(call, response, answered{code: response.ErrorCode})
	}
	refuse := func(code int16) { done(txn.Identity{Code: code, ID: -1, Epoch: -1}) }
	if body.TransactionalID == "" {
		refuse(kerr.InvalidRequest.Code)
		return
	}
	c, code := b.txnCoordinator(body.TransactionalID)
	if code != 0 {
		refuse(code)
		return
	}
	asked := txn.End{Producer: txn.Producer{TransactionalID: body.TransactionalID,
		ID: body.ProducerID, Epoch: body.ProducerEpoch}, Commit: body.Commit}
	if r.Version >= epochBumpsFrom {
		asked.Version = txn.VersionEpochBumps
	}
	c.End(asked, done)
}
