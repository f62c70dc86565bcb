package client

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/event"
)

// coordinator is the way to whoever coordinates a group or a transactional id.
type coordinator struct {
	kind int8 // of FindCoordinator: 0 for groups, 1 for transactions
	key  string
	node event.NodeID
}

func coordinatorOf(kind int8, key string) coordinator {
	return coordinator{kind: kind, key: key, node: event.NoNode}
}

// find calls then when it is known who coordinates.
func (c *coordinator) find(o *operation, then func()) {
	if c.node != event.NoNode {
		then()
		return
	}
	body := kmsg.NewPtrFindCoordinatorRequest()
	body.CoordinatorType, body.CoordinatorKeys = c.kind, []string{c.key}
	askAny(o, body, 4, func(response *kmsg.FindCoordinatorResponse) {
		if len(response.Coordinators) != 1 {
			o.retry(kerr.UnknownServerError.Code)
			return
		}
		found := &response.Coordinators[0]
		if found.ErrorCode != 0 {
			o.n.turn++
			o.retryOrFail(found.ErrorCode)
			return
		}
		c.node = event.NodeID(found.NodeID)
		then()
	})
}

// askCoordinator asks for something, and again elsewhere when the coordinator is gone or has
// moved. code tells the error of an answer.
func askCoordinator[R kmsg.Response](o *operation, c *coordinator, version int16,
	body kmsg.Request, code func(R) int16, answered func(R, int16)) {
	c.find(o, func() {
		body.SetVersion(version)
		patience := cmp.Or(o.patience, requestTimeout)
		o.n.ask(c.node, &broker.Request{Body: body}, min(patience, max(o.left(), 1)),
			func(got any, failure int16) {
				response, ok := got.(R)
				if failure != 0 || !ok {
					c.node = event.NoNode
					o.retry(max(failure, kerr.RequestTimedOut.Code))
					return
				}
				said := code(response)
				switch {
				case slices.Contains([]int16{kerr.NotCoordinator.Code,
					kerr.CoordinatorNotAvailable.Code}, said):
					c.node = event.NoNode
					o.retry(said)
				case said == kerr.CoordinatorLoadInProgress.Code:
					o.retry(said)
				default:
					answered(response, said)
				}
			})
	})
}
