package kit

import "github.com/twmb/franz-go/pkg/kmsg"

// Coordinator types of FindCoordinator.
const (
	groupCoordinator       = 0
	transactionCoordinator = 1
)

const (
	codeCoordinatorLoading      = 14
	codeCoordinatorNotAvailable = 15
	codeNotCoordinator          = 16
	codeConcurrentTransactions  = 51
)

// GroupCoordinator returns a connection to the loaded coordinator of a group.
func (p *P) GroupCoordinator(group string) *Conn {
	c := p.coordinator(group, groupCoordinator)
	p.Await("the group coordinator", func() bool {
		request := kmsg.NewPtrDescribeGroupsRequest()
		request.Groups = []string{group}
		response := Ask[*kmsg.DescribeGroupsResponse](p, c, 5, request)
		return !coordinatorMoved(response.Groups[0].ErrorCode)
	})
	return c
}

// TxnCoordinator returns a connection to the loaded coordinator of a transactional id.
func (p *P) TxnCoordinator(id string) *Conn {
	c := p.coordinator(id, transactionCoordinator)
	p.Await("the transaction coordinator", func() bool {
		request := kmsg.NewPtrDescribeTransactionsRequest()
		request.TransactionalIDs = []string{id}
		response := Ask[*kmsg.DescribeTransactionsResponse](p, c, 0, request)
		return !coordinatorMoved(response.TransactionStates[0].ErrorCode)
	})
	return c
}

func (p *P) coordinator(key string, kind int8) *Conn {
	index := -1
	p.Await("a coordinator", func() bool {
		request := kmsg.NewPtrFindCoordinatorRequest()
		request.CoordinatorType = kind
		request.CoordinatorKeys = []string{key}
		response := Ask[*kmsg.FindCoordinatorResponse](p, p.Broker(0), 4, request)
		if len(response.Coordinators) == 1 && response.Coordinators[0].ErrorCode == 0 {
			index = p.cluster.index(response.Coordinators[0].NodeID)
		}
		return index >= 0
	})
	return p.Broker(index)
}

func coordinatorMoved(code int16) bool {
	return code == codeCoordinatorLoading || code == codeCoordinatorNotAvailable ||
		code == codeNotCoordinator
}

// Producer is a producer id with its epoch.
type Producer struct {
	ID    int64
	Epoch int16
}

// Idempotent asks for a producer id without a transactional id.
func (p *P) Idempotent() Producer {
	request := kmsg.NewPtrInitProducerIDRequest()
	request.TransactionTimeoutMillis = 60000
	return p.initProducer(p.Broker(0), request)
}

// Transactional initialises a transactional id, waiting for an earlier transaction to finish.
func (p *P) Transactional(c *Conn, id string) Producer {
	request := kmsg.NewPtrInitProducerIDRequest()
	request.TransactionalID = &id
	request.TransactionTimeoutMillis = 60000
	return p.initProducer(c, request)
}

func (p *P) initProducer(c *Conn, request *kmsg.InitProducerIDRequest) Producer {
	var response *kmsg.InitProducerIDResponse
	p.Await("a producer id", func() bool {
		response = Ask[*kmsg.InitProducerIDResponse](p, c, 4, request)
		return !coordinatorMoved(response.ErrorCode) &&
			response.ErrorCode != codeConcurrentTransactions
	})
	if response.ErrorCode != 0 {
		p.Fail("init producer id: %s", ErrorName(response.ErrorCode))
	}
	p.names.registerProducer(response.ProducerID)
	return Producer{response.ProducerID, response.ProducerEpoch}
}
